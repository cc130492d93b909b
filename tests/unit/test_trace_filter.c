#include "analysis/timeline/trace_filter.h"
#include "trace_fixture.h"

#include <string.h>

static void put_all(TraceSink *sink) {
    name_lanes(sink);
    put_slice(sink, 1, 1, "prefill", 0, 10);
    put_point(sink, TRACE_COUNTER, 2, 0, "batch", 20);
    put_slice(sink, 3, 1, "kv_pull", 10, 20);
    put_slice(sink, 2, 1, "decode", 20, 30);
    put_point(sink, TRACE_MARK, 1, 1, "first token", 10);
    put_point(sink, TRACE_COUNTER, 4, 0, "queue", 0);
    put_point(sink, TRACE_ASYNC_BEGIN, 4, 0, "waiting", 0);
    put_point(sink, TRACE_ASYNC_END, 4, 0, "waiting", 5);
    put_point(sink, TRACE_FLOW_START, 1, 1, "request", 0);
    put_point(sink, TRACE_FLOW_STEP, 3, 1, "request", 10);
    put_point(sink, TRACE_FLOW_END, 2, 1, "request", 20);
}

#define DECODE_LINES                                                                               \
    "process 2 pool 0 decode 0\nthread 2.1 stage 0 (tp 4)\nC batch 2.0 20\nX decode 2.1 20\n"

static const struct {
    const char *what;
    const char *patterns[3];
    const char *left; /* without "finished" */
} choices[] = {
    {"a_kind_of_replica", {"decode*"}, DECODE_LINES},
    {"a_replica_by_its_whole_name", {"decode 0"}, DECODE_LINES},
    {"a_lane_by_its_own_name",
     {"kv_pull ?"},
     "process 3 network\nthread 3.1 kv_pull 0\nX kv_pull 3.1 10\n"},
    {"a_counter", {"queue"}, "process 4 system\nC queue 4.0 0\n"},
    {"a_phase", {"wait*"}, "process 4 system\nb waiting 4.0 0\ne waiting 4.0 5\n"},
    {"an_arrow_between_lanes_left",
     {"stage 0*"},
     "process 1 pool 0 prefill 0\nthread 1.1 stage 0 (tp 1)\n"
     "process 2 pool 0 decode 0\nthread 2.1 stage 0 (tp 4)\n"
     "X prefill 1.1 0\nX decode 2.1 20\ni first token 1.1 10\ns request 1.1 0\n"
     "f request 2.1 20\n"},
    {"several_patterns",
     {"queue", "network"},
     "process 3 network\nthread 3.1 kv_pull 0\nX kv_pull 3.1 10\nprocess 4 system\n"
     "C queue 4.0 0\n"},
};

static void test_choice(gconstpointer data) {
    guint which = GPOINTER_TO_UINT(data);
    g_autoptr(GString) text = g_string_new(NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(TraceSink) filter =
        trace_filter_new(text_sink_new(text, FALSE), choices[which].patterns);
    put_all(filter);
    g_assert_true(trace_sink_finish(filter, &error));
    g_assert_no_error(error);
    g_autofree char *expected = g_strconcat(choices[which].left, "finished\n", NULL);
    g_assert_cmpstr(text->str, ==, expected);
}

static void test_everything_is_everything(void) {
    const char *const patterns[] = {"*", NULL};
    g_autoptr(GString) plain = g_string_new(NULL), filtered = g_string_new(NULL);
    g_autoptr(TraceSink) direct = text_sink_new(plain, FALSE);
    g_autoptr(TraceSink) filter = trace_filter_new(text_sink_new(filtered, FALSE), patterns);
    put_all(direct);
    put_all(filter);
    g_assert_cmpstr(filtered->str, ==, plain->str);
}

static const struct {
    const char *what, *pattern, *message;
} faults[] = {
    {"a_near_miss", "decdoe*", "--lanes: no lane matches 'decdoe*' (did you mean 'decode*'?)"},
    {"a_near_miss_of_a_lane", "kv_pul 0",
     "--lanes: no lane matches 'kv_pul 0' (did you mean 'kv_pull 0'?)"},
    {"nothing_near", "frontend",
     "--lanes: no lane matches 'frontend'; there are pool 0 prefill 0, pool 0 decode 0, network, "
     "system, idle 0"},
    {"a_lane_where_nothing_happens", "idle*", "--lanes: nothing happens on the lanes chosen"},
};

static void test_fault(gconstpointer data) {
    guint which = GPOINTER_TO_UINT(data);
    const char *const patterns[] = {faults[which].pattern, NULL};
    g_autoptr(GString) text = g_string_new(NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(TraceSink) filter = trace_filter_new(text_sink_new(text, FALSE), patterns);
    put_all(filter);
    trace_sink_name_process(filter, 5, "idle 0");
    g_assert_false(trace_sink_finish(filter, &error));
    g_assert_true(error->domain == INPUT_ERROR);
    g_assert_cmpstr(error->message, ==, faults[which].message);
    g_assert_null(strstr(text->str, "finished"));
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    for (guint i = 0; i < G_N_ELEMENTS(choices); i++) {
        g_autofree char *path = g_strdup_printf("/trace_filter/keeps_%s", choices[i].what);
        g_test_add_data_func(path, GUINT_TO_POINTER(i), test_choice);
    }
    g_test_add_func("/trace_filter/everything_is_everything", test_everything_is_everything);
    for (guint i = 0; i < G_N_ELEMENTS(faults); i++) {
        g_autofree char *path = g_strdup_printf("/trace_filter/tells_%s", faults[i].what);
        g_test_add_data_func(path, GUINT_TO_POINTER(i), test_fault);
    }
    return g_test_run();
}
