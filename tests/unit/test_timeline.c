#include "analysis/timeline/chrome_trace.h"
#include "analysis/timeline/timeline.h"
#include "served_request_fixture.h"
#include "workloads/yaml_reader.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

/* A pool of one prefill replica and one decode replica of two stages, and a buffer. */
static guint prefill_clusters[] = {0}, decode_clusters[] = {2, 3, 4, 5};
static StagePlan prefill_stages[] = {{.tp = 1, .clusters = prefill_clusters}};
static StagePlan decode_stages[] = {{.tp = 2, .clusters = decode_clusters},
                                    {.tp = 2, .clusters = decode_clusters + 2}};
static ReplicaPlan replicas[] = {
    {.role = ROLE_PREFILL, .n_stages = 1, .stages = prefill_stages},
    {.role = ROLE_DECODE, .n_stages = 2, .stages = decode_stages},
};
static BufferPlan buffers[] = {{.cluster = 1, .bytes = 1e9}};
static const Plan plan = {
    .n_replicas = 2, .replicas = replicas, .n_buffers = 1, .buffers = buffers};

static const TraceWindow whole = {0, G_MAXINT64};

enum { PREFILL = 1, DECODE, NETWORK, REQUESTS, SYSTEM }; /* processes */

typedef struct Fixture {
    char *path;
    Timeline *timeline;
    YamlNode *trace; /* JSON is YAML */
} Fixture;

static void open_timeline(Fixture *fixture, TimelineOptions options) {
    options.plan = &plan;
    g_autoptr(GError) error = NULL;
    fixture->path = g_strdup_printf("%s/timeline-%p.json", g_get_tmp_dir(), (void *)fixture);
    TraceSink *sink = chrome_trace_new(fixture->path, &error);
    g_assert_no_error(error);
    fixture->timeline = timeline_new(sink, &options);
}

static void close_timeline(Fixture *fixture, double end_s) {
    g_autoptr(GError) error = NULL;
    g_assert_true(timeline_finish(fixture->timeline, end_s, &error));
    g_assert_no_error(error);
    timeline_free(fixture->timeline);
    fixture->trace = yaml_load_file(fixture->path, &error);
    g_assert_no_error(error);
}

static void tear_down(Fixture *fixture, gconstpointer data) {
    (void)data;
    g_remove(fixture->path);
    g_free(fixture->path);
    yaml_node_free(fixture->trace);
}

static const char *text(const YamlNode *event, const char *key) {
    const YamlNode *node = yaml_get(event, key);
    return node != NULL ? node->text : "";
}

/* Events like 'phase' and 'name' (NULL: any), of 'process' (0: any), in file order. */
static GPtrArray *find(const Fixture *fixture, const char *phase, const char *name, guint process) {
    GPtrArray *found = g_ptr_array_new();
    const YamlNode *events = yaml_get(fixture->trace, "traceEvents");
    for (guint i = 0; i < events->values->len; i++) {
        YamlNode *event = events->values->pdata[i];
        guint64 pid = g_ascii_strtoull(text(event, "pid"), NULL, 10);
        if (strcmp(text(event, "ph"), phase) == 0 &&
            (name == NULL || strcmp(text(event, "name"), name) == 0) &&
            (process == 0 || pid == process))
            g_ptr_array_add(found, event);
    }
    return found;
}

static guint count(const Fixture *fixture, const char *phase, const char *name, guint process) {
    g_autoptr(GPtrArray) found = find(fixture, phase, name, process);
    return found->len;
}

/* Nanoseconds of a date or a length. */
/* Microseconds, as a reader of traces adds them up. */
static double us_of(const YamlNode *event, const char *key) {
    return g_ascii_strtod(text(event, key), NULL);
}

typedef struct Step {
    guint replica, stage;
    double start_s, end_s, all_reduce_s;
    gboolean prefill;
} Step;

static void tell_step(Fixture *fixture, const Step *step, const ServedRequest *served) {
    const ServedRequest *members[] = {served};
    Observer *observer = timeline_observer(fixture->timeline);
    observer->notify(observer, &(Event){.kind = EVENT_STEP,
                                        .time_s = step->end_s,
                                        .start_s = step->start_s,
                                        .replica = &replicas[step->replica],
                                        .replica_id = step->replica,
                                        .stage = step->stage,
                                        .prefill_requests = step->prefill ? 1 : 0,
                                        .decode_requests = step->prefill ? 0 : 1,
                                        .prefill_tokens = step->prefill ? 100 : 0,
                                        .all_reduce_s = step->all_reduce_s,
                                        .members = members});
}

static void tell_transfer(Fixture *fixture, TransferPurpose purpose, double start_s, double end_s) {
    Observer *observer = timeline_observer(fixture->timeline);
    observer->notify(observer, &(Event){.kind = EVENT_TRANSFER,
                                        .time_s = end_s,
                                        .start_s = start_s,
                                        .purpose = purpose,
                                        .from = 0,
                                        .to = 1,
                                        .bytes = 1e6});
}

/* One request's whole way, 10 s long from 'at_s' on. */
static void serve_request(Fixture *fixture, guint64 id, double at_s) {
    Observer *observer = timeline_observer(fixture->timeline);
    ServedRequest served = served_request(id, at_s, 3);
    served.pool = served.prefill_replica = 0;
    tell(observer, EVENT_ARRIVED, at_s, &served);
    tell(observer, EVENT_PREFILL_STARTED, at_s + 1, &served);
    tell_step(fixture, &(Step){0, 0, at_s + 1, at_s + 2, 0, TRUE}, &served);
    tell(observer, EVENT_FIRST_TOKEN, at_s + 2, &served);
    tell_transfer(fixture, PURPOSE_KV_MIGRATION, at_s + 1.5, at_s + 3);
    tell(observer, EVENT_BUFFERED, at_s + 3, &served);
    tell(observer, EVENT_PULL_STARTED, at_s + 4, &served);
    tell_transfer(fixture, PURPOSE_KV_PULL, at_s + 4, at_s + 5);
    tell(observer, EVENT_PULLED, at_s + 5, &served);
    for (guint step = 0; step < 2; step++) {
        double start_s = at_s + 6 + 2 * step;
        tell_step(fixture, &(Step){1, 0, start_s, start_s + 1, 0.25, FALSE}, &served);
        if (step == 1) /* the end may be told before the step that brings it */
            tell(observer, EVENT_COMPLETED, start_s + 2, &served);
        tell_step(fixture, &(Step){1, 1, start_s + 1, start_s + 2, 0.25, FALSE}, &served);
    }
}

static void test_nothing_happened_is_still_a_trace(Fixture *fixture, gconstpointer data) {
    (void)data;
    open_timeline(fixture, (TimelineOptions){.window = whole});
    close_timeline(fixture, 0);
    g_assert_cmpuint(count(fixture, "X", NULL, 0), ==, 0);
    g_assert_cmpuint(count(fixture, "M", "process_name", 0), ==, 5);
    g_assert_cmpuint(count(fixture, "M", "thread_name", DECODE), ==, 2);
}

static void test_request_is_shown_in_slices_phases_and_a_flow(Fixture *fixture,
                                                              gconstpointer data) {
    (void)data;
    static const struct {
        const char *phase, *name;
        guint process, count;
    } expected[] = {
        {"X", "prefill", PREFILL, 1},      {"X", "decode", DECODE, 4},
        {"X", "all-reduce", DECODE, 4},    {"X", "all-reduce", PREFILL, 0},
        {"X", "kv_migration", NETWORK, 1}, {"X", "kv_pull", NETWORK, 1},
        {"b", "waiting", REQUESTS, 1},     {"e", "waiting", REQUESTS, 1},
        {"b", "buffered", REQUESTS, 1},    {"e", "buffered", REQUESTS, 1},
        {"s", "request", PREFILL, 1},      {"t", "request", NETWORK, 2},
        {"t", "request", DECODE, 1},       {"f", "request", DECODE, 1},
    };
    open_timeline(fixture, (TimelineOptions){.window = whole});
    serve_request(fixture, 7, 0);
    close_timeline(fixture, 10);
    for (guint i = 0; i < G_N_ELEMENTS(expected); i++)
        g_assert_cmpuint(count(fixture, expected[i].phase, expected[i].name, expected[i].process),
                         ==, expected[i].count);
    g_autoptr(GPtrArray) ends = find(fixture, "f", NULL, 0);
    g_assert_cmpstr(text(ends->pdata[0], "ts"), ==, "9000000.000"); /* its last step's last stage */
    g_assert_cmpstr(text(ends->pdata[0], "id"), ==, "7");
    g_assert_cmpstr(text(ends->pdata[0], "bp"), ==, "e");
    g_autoptr(GPtrArray) marks = find(fixture, "i", NULL, 0);
    g_assert_cmpuint(marks->len, ==, 1);
    g_assert_cmpstr(text(marks->pdata[0], "cat"), ==, "ttft");
    g_assert_cmpstr(text(marks->pdata[0], "ts"), ==, "2000000.000");
    g_assert_cmpstr(text(marks->pdata[0], "tid"), ==, "1"); /* its last stage */
    g_assert_cmpstr(text(yaml_get(marks->pdata[0], "args"), "request"), ==, "7");
}

/* Dates that are no whole nanoseconds: what touches or nests must do so in the file. */
static void test_slices_nest_and_touch_in_spite_of_rounding(Fixture *fixture, gconstpointer data) {
    (void)data;
    ServedRequest served = served_request(0, 0, 200);
    const double step_s = 1.0 / 3 * 1e-3 + 0.49e-9;
    open_timeline(fixture, (TimelineOptions){.window = whole});
    tell(timeline_observer(fixture->timeline), EVENT_ARRIVED, 0, &served);
    for (guint i = 0; i < 200; i++) {
        double share = i % 4 == 3 ? 1 : 0.3; /* sometimes all of the step */
        tell_step(fixture, &(Step){1, 0, i * step_s, (i + 1) * step_s, share * step_s, FALSE},
                  &served);
    }
    close_timeline(fixture, 200 * step_s);
    g_autoptr(GPtrArray) steps = find(fixture, "X", "decode", DECODE);
    g_autoptr(GPtrArray) inner = find(fixture, "X", "all-reduce", DECODE);
    g_assert_cmpuint(steps->len, ==, 200);
    g_assert_cmpuint(inner->len, ==, 200);
    for (guint i = 0; i < steps->len; i++) {
        double start = us_of(steps->pdata[i], "ts"), end = start + us_of(steps->pdata[i], "dur");
        double within = us_of(inner->pdata[i], "ts");
        g_assert_cmpfloat(within, >=, start);
        g_assert_cmpfloat(within + us_of(inner->pdata[i], "dur"), ==, end);
        if (i + 1 < steps->len)
            g_assert_cmpfloat(us_of(steps->pdata[i + 1], "ts"), ==, end);
    }
}

static void test_window_keeps_what_touches_it_and_flows_up_to_its_end(Fixture *fixture,
                                                                      gconstpointer data) {
    (void)data;
    open_timeline(fixture, (TimelineOptions){.window = trace_window(99, 208.5)});
    serve_request(fixture, 0, 0);   /* outside */
    serve_request(fixture, 1, 100); /* inside */
    serve_request(fixture, 2, 200); /* its last step begins after the end */
    serve_request(fixture, 3, 300); /* outside */
    close_timeline(fixture, 310);
    g_assert_cmpuint(count(fixture, "X", "prefill", 0), ==, 2);
    g_assert_cmpuint(count(fixture, "X", "decode", 0), ==, 4 + 3);
    g_assert_cmpuint(count(fixture, "b", "waiting", 0), ==, 2);
    g_autoptr(GPtrArray) starts = find(fixture, "s", NULL, 0);
    g_autoptr(GPtrArray) ends = find(fixture, "f", NULL, 0);
    g_assert_cmpuint(starts->len, ==, 2);
    g_assert_cmpuint(ends->len, ==, 2);
    for (guint i = 0; i < 2; i++) {
        g_assert_cmpstr(text(starts->pdata[i], "id"), ==, i == 0 ? "1" : "2");
        g_assert_cmpstr(text(ends->pdata[i], "id"), ==, i == 0 ? "1" : "2");
        g_assert_cmpfloat(us_of(ends->pdata[i], "ts"), <=, 208.5e6);
    }
    g_assert_cmpuint(count(fixture, "t", NULL, 0), ==, 3 + 2);
    g_autoptr(GPtrArray) queue = find(fixture, "C", "queue", 0);
    for (guint i = 0; i < queue->len; i++) {
        g_assert_cmpfloat(us_of(queue->pdata[i], "ts"), >=, 99e6);
        g_assert_cmpfloat(us_of(queue->pdata[i], "ts"), <=, 208.5e6);
    }
}

static void test_request_cut_at_its_start_has_no_flow(Fixture *fixture, gconstpointer data) {
    (void)data;
    open_timeline(fixture, (TimelineOptions){.window = trace_window(5.5, INFINITY)});
    serve_request(fixture, 0, 0);
    close_timeline(fixture, 10);
    g_assert_cmpuint(count(fixture, "X", "decode", 0), ==, 4);
    g_assert_cmpuint(count(fixture, "s", NULL, 0) + count(fixture, "t", NULL, 0) +
                         count(fixture, "f", NULL, 0),
                     ==, 0);
}

static void test_ranks_get_a_track_each(Fixture *fixture, gconstpointer data) {
    (void)data;
    open_timeline(fixture, (TimelineOptions){.ranks = TRUE, .window = whole});
    serve_request(fixture, 0, 0);
    close_timeline(fixture, 10);
    g_assert_cmpuint(count(fixture, "M", "thread_name", DECODE), ==, 4);
    g_assert_cmpuint(count(fixture, "X", "decode", DECODE), ==, 8);
    g_assert_cmpuint(count(fixture, "X", "all-reduce", DECODE), ==, 8);
    g_autoptr(GPtrArray) ends = find(fixture, "f", NULL, DECODE);
    g_assert_cmpuint(ends->len, ==, 1);
    g_assert_cmpstr(text(ends->pdata[0], "tid"), ==, "3"); /* first rank of the second stage */
}

static void test_overlapping_transfers_take_their_own_lanes(Fixture *fixture, gconstpointer data) {
    (void)data;
    static const struct {
        double start_s, end_s;
        const char *thread;
    } transfers[] = {{0, 2, "1"}, {1, 3, "2"},   {2, 4, "1"},
                     {0, 5, "3"}, {4.5, 6, "1"}, {3.5, 6, "2"}};
    open_timeline(fixture, (TimelineOptions){.window = whole});
    for (guint i = 0; i < G_N_ELEMENTS(transfers); i++)
        tell_transfer(fixture, PURPOSE_KV_PULL, transfers[i].start_s, transfers[i].end_s);
    tell_transfer(fixture, PURPOSE_ALL_REDUCE, 0, 6); /* shown within its step only */
    close_timeline(fixture, 6);
    g_autoptr(GPtrArray) slices = find(fixture, "X", "kv_pull", NETWORK);
    g_assert_cmpuint(slices->len, ==, G_N_ELEMENTS(transfers));
    for (guint i = 0; i < slices->len; i++)
        g_assert_cmpstr(text(slices->pdata[i], "tid"), ==, transfers[i].thread);
    g_assert_cmpuint(count(fixture, "M", "thread_name", NETWORK), ==, 3);
    g_assert_cmpuint(count(fixture, "X", NULL, 0), ==, G_N_ELEMENTS(transfers));
}

/* "value@date …" of a counter. Caller frees. */
static char *counter_text(const Fixture *fixture, const char *name, const char *series) {
    GString *out = g_string_new(NULL);
    g_autoptr(GPtrArray) changes = find(fixture, "C", name, 0);
    for (guint i = 0; i < changes->len; i++)
        g_string_append_printf(out, "%s%s@%.3f", i == 0 ? "" : " ",
                               text(yaml_get(changes->pdata[i], "args"), series),
                               us_of(changes->pdata[i], "ts") / 1e6);
    return g_string_free(out, FALSE);
}

static void test_counters_show_each_change_once(Fixture *fixture, gconstpointer data) {
    (void)data;
    ServedRequest served[4];
    open_timeline(fixture, (TimelineOptions){.window = whole});
    Observer *observer = timeline_observer(fixture->timeline);
    for (guint i = 0; i < 4; i++) {
        served[i] = served_request(i, 0, 2);
        tell(observer, EVENT_ARRIVED, 0, &served[i]);
    }
    tell(observer, EVENT_REJECTED, 0, &served[3]);
    tell(observer, EVENT_PREFILL_STARTED, 1, &served[0]);
    tell(observer, EVENT_PREFILL_STARTED, 1, &served[1]);
    tell_step(fixture, &(Step){0, 0, 1, 2, 0, TRUE}, &served[0]);
    tell_step(fixture, &(Step){0, 0, 2, 3, 0, TRUE}, &served[1]);
    tell(observer, EVENT_PREEMPTED, 4, &served[0]);
    tell_step(fixture, &(Step){0, 0, 5, 6, 0, TRUE}, &served[1]);
    tell(observer, EVENT_DROPPED, 7, &served[0]);
    tell(observer, EVENT_DROPPED, 7, &served[2]);
    close_timeline(fixture, 7);
    g_autofree char *queue = counter_text(fixture, "queue", "requests");
    g_autofree char *batch = counter_text(fixture, "batch", "requests");
    g_assert_cmpstr(queue, ==, "3@0.000 1@1.000 2@4.000 0@7.000");
    g_assert_cmpstr(batch, ==, "1@1.000 0@3.000 1@5.000 0@6.000");
    g_assert_cmpuint(count(fixture, "f", NULL, 0), ==, 0); /* dropped requests have no arrow */
}

static void test_backpressure_open_at_the_end_is_closed(Fixture *fixture, gconstpointer data) {
    (void)data;
    open_timeline(fixture, (TimelineOptions){.window = whole});
    Observer *observer = timeline_observer(fixture->timeline);
    const Event changes[] = {{.kind = EVENT_BACKPRESSURE, .time_s = 1, .paused = TRUE},
                             {.kind = EVENT_BACKPRESSURE, .time_s = 2.5, .paused = FALSE},
                             {.kind = EVENT_BACKPRESSURE, .time_s = 4, .paused = TRUE}};
    for (guint i = 0; i < G_N_ELEMENTS(changes); i++)
        observer->notify(observer, &changes[i]);
    close_timeline(fixture, 10);
    g_autoptr(GPtrArray) pauses = find(fixture, "X", "backpressure", SYSTEM);
    g_assert_cmpuint(pauses->len, ==, 2);
    g_assert_cmpstr(text(pauses->pdata[0], "dur"), ==, "1500000.000");
    g_assert_cmpstr(text(pauses->pdata[1], "dur"), ==, "6000000.000");
}

static void test_samples_become_counters(Fixture *fixture, gconstpointer data) {
    (void)data;
    open_timeline(fixture, (TimelineOptions){.window = whole});
    Observer *observer = timeline_observer(fixture->timeline);
    for (guint i = 0; i < 4; i++)
        observer->sample(
            observer,
            &(SimulationSample){.time_s = i, .buffer_bytes = i < 2 ? 10 : 30, .kv_bytes = 5 * i});
    close_timeline(fixture, 4);
    g_autofree char *buffer = counter_text(fixture, "buffer", "bytes");
    g_autofree char *kv = counter_text(fixture, "kv", "bytes");
    g_assert_cmpstr(buffer, ==, "10@0.000 30@2.000");
    g_assert_cmpstr(kv, ==, "0@0.000 5@1.000 10@2.000 15@3.000");
}

static void add(const char *name, void (*test)(Fixture *, gconstpointer)) {
    g_autofree char *path = g_strdup_printf("/timeline/%s", name);
    g_test_add(path, Fixture, NULL, NULL, test, tear_down);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    add("nothing_happened_is_still_a_trace", test_nothing_happened_is_still_a_trace);
    add("request_is_shown_in_slices_phases_and_a_flow",
        test_request_is_shown_in_slices_phases_and_a_flow);
    add("slices_nest_and_touch_in_spite_of_rounding",
        test_slices_nest_and_touch_in_spite_of_rounding);
    add("window_keeps_what_touches_it_and_flows_up_to_its_end",
        test_window_keeps_what_touches_it_and_flows_up_to_its_end);
    add("request_cut_at_its_start_has_no_flow", test_request_cut_at_its_start_has_no_flow);
    add("ranks_get_a_track_each", test_ranks_get_a_track_each);
    add("overlapping_transfers_take_their_own_lanes",
        test_overlapping_transfers_take_their_own_lanes);
    add("counters_show_each_change_once", test_counters_show_each_change_once);
    add("backpressure_open_at_the_end_is_closed", test_backpressure_open_at_the_end_is_closed);
    add("samples_become_counters", test_samples_become_counters);
    return g_test_run();
}
