#include "analysis/timeline/paje_trace.h"
#include "trace_fixture.h"

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

typedef struct Fixture {
    char *path;
    TraceSink *sink;
    char *events; /* what stands behind the containers */
    char *all;
} Fixture;

static void set_up(Fixture *fixture, gconstpointer data) {
    (void)data;
    g_autoptr(GError) error = NULL;
    fixture->path = g_strdup_printf("%s/trace-%d.paje", g_get_tmp_dir(), getpid());
    fixture->sink = paje_trace_new(fixture->path, &error);
    g_assert_no_error(error);
    name_lanes(fixture->sink);
}

static void tear_down(Fixture *fixture, gconstpointer data) {
    (void)data;
    g_remove(fixture->path);
    g_free(fixture->path);
    g_free(fixture->events);
    g_free(fixture->all);
}

/* Its events are those from definition 8 (push) on. */
static void finish(Fixture *fixture) {
    g_autoptr(GError) error = NULL;
    g_autoptr(GString) events = g_string_new(NULL);
    g_assert_true(trace_sink_finish(fixture->sink, &error));
    trace_sink_free(fixture->sink);
    g_assert_true(g_file_get_contents(fixture->path, &fixture->all, NULL, &error));
    g_auto(GStrv) lines = g_strsplit(fixture->all, "\n", -1);
    for (char **line = lines; *line != NULL; line++)
        if (g_ascii_isdigit(**line) && g_ascii_strtoull(*line, NULL, 10) >= 8)
            g_string_append_printf(events, "%s\n", *line);
    fixture->events = g_string_free(g_steal_pointer(&events), FALSE);
}

static void test_containers_are_made_and_destroyed(Fixture *fixture, gconstpointer data) {
    (void)data;
    put_slice(fixture->sink, 2, 1, "decode", 500000000, 2000000001);
    finish(fixture);
    static const char *const expected[] = {
        "6 0 system System 0 \"timeline\"\n",
        "6 0 g2 Group system \"pool 0 decode 0\"\n",
        "6 0 l2.1 Lane g2 \"pool 0 decode 0 stage 0 (tp 4)\"\n",
        "7 2.000000001 Lane l2.1\n",
        "7 2.000000001 System system\n",
        "5 v0 S \"decode\"",
    };
    for (guint i = 0; i < G_N_ELEMENTS(expected); i++)
        g_assert_nonnull(strstr(fixture->all, expected[i]));
}

/* Told backwards: slices that nest and touch, one without length between two, one inside that
 * begins with the one around it. */
static void test_slices_nest_whatever_the_order(Fixture *fixture, gconstpointer data) {
    (void)data;
    put_slice(fixture->sink, 2, 1, "decode", 30, 40);
    put_slice(fixture->sink, 2, 1, "mixed", 30, 30);
    put_slice(fixture->sink, 2, 1, "all-reduce", 10, 30);
    put_slice(fixture->sink, 2, 1, "decode", 10, 30);
    finish(fixture);
    g_assert_cmpstr(fixture->events, ==,
                    "8 0.000000010 S l2.1 v2 \"\"\n"
                    "8 0.000000010 S l2.1 v0 \"\"\n"
                    "9 0.000000030 S l2.1\n"
                    "9 0.000000030 S l2.1\n"
                    "8 0.000000030 S l2.1 v1 \"\"\n"
                    "9 0.000000030 S l2.1\n"
                    "8 0.000000030 S l2.1 v0 \"\"\n"
                    "9 0.000000040 S l2.1\n");
}

static void test_flows_and_phases_are_links(Fixture *fixture, gconstpointer data) {
    (void)data;
    put_point(fixture->sink, TRACE_ASYNC_BEGIN, 4, 0, "waiting", 0);
    put_point(fixture->sink, TRACE_ASYNC_END, 4, 0, "waiting", 5);
    put_point(fixture->sink, TRACE_ASYNC_BEGIN, 4, 0, "waiting", 5); /* once more: preempted */
    put_point(fixture->sink, TRACE_ASYNC_END, 4, 0, "waiting", 6);
    put_point(fixture->sink, TRACE_FLOW_START, 1, 1, "request", 1);
    put_point(fixture->sink, TRACE_FLOW_STEP, 3, 1, "request", 2);
    put_point(fixture->sink, TRACE_FLOW_END, 2, 1, "request", 3);
    finish(fixture);
    g_assert_cmpstr(fixture->events, ==,
                    "11 0.000000000 P system g4 \"waiting\" \"0\"\n"
                    "11 0.000000001 F system l1.1 \"request\" \"2\"\n"
                    "11 0.000000002 F system l3.1 \"request\" \"3\"\n"
                    "12 0.000000002 F system l3.1 \"request\" \"2\"\n"
                    "12 0.000000003 F system l2.1 \"request\" \"3\"\n"
                    "11 0.000000005 P system g4 \"waiting\" \"1\"\n"
                    "12 0.000000005 P system g4 \"waiting\" \"0\"\n"
                    "12 0.000000006 P system g4 \"waiting\" \"1\"\n");
}

static void test_counters_are_variables_and_marks_events(Fixture *fixture, gconstpointer data) {
    (void)data;
    put_point(fixture->sink, TRACE_MARK, 1, 1, "first token", 1000000000);
    put_point(fixture->sink, TRACE_COUNTER, 4, 0, "queue", 250000000);
    finish(fixture);
    g_assert_cmpstr(fixture->events, ==,
                    "10 0.250000000 c0 g4 3\n"
                    "13 1.000000000 M l1.1 \"first token\" \"requests=3\"\n");
    g_assert_nonnull(strstr(fixture->all, "2 c0 Group \"queue (requests)\""));
}

static void test_names_have_no_commas_and_quotes(Fixture *fixture, gconstpointer data) {
    (void)data;
    trace_sink_name_process(fixture->sink, 9, "a \"mesh\"");
    trace_sink_name_thread(fixture->sink, 9, 0, "core (1, 2)");
    finish(fixture);
    g_assert_nonnull(strstr(fixture->all, "\"a 'mesh' core (1; 2)\""));
}

static void add(const char *name, void (*test)(Fixture *, gconstpointer)) {
    g_autofree char *path = g_strdup_printf("/paje_trace/%s", name);
    g_test_add(path, Fixture, NULL, set_up, test, tear_down);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    add("containers_are_made_and_destroyed", test_containers_are_made_and_destroyed);
    add("slices_nest_whatever_the_order", test_slices_nest_whatever_the_order);
    add("flows_and_phases_are_links", test_flows_and_phases_are_links);
    add("counters_are_variables_and_marks_events", test_counters_are_variables_and_marks_events);
    add("names_have_no_commas_and_quotes", test_names_have_no_commas_and_quotes);
    return g_test_run();
}
