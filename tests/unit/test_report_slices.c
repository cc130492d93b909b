#include "analysis/report/report_phases.h"
#include "analysis/report/report_slices.h"
#include "served_request_fixture.h"
#include "workloads/yaml_reader.h"

#include <string.h>

/* One stage that works all the time. */
static StagePlan stages[] = {{.tp = 1}};
static ReplicaPlan replicas[] = {{.role = ROLE_DECODE, .n_stages = 1, .stages = stages}};
static const Plan plan = {.n_replicas = 1, .replicas = replicas};
static StageTotals totals;
static ReplicaTotals replica = {.n_stages = 1, .stages = &totals};

#define STEP_NS 1000000

static void put_step(TraceSink *sink, guint thread, gint64 number) {
    trace_sink_put(sink, &(TraceEvent){.phase = TRACE_SLICE,
                                       .name = "decode",
                                       .category = "step",
                                       .process = 1,
                                       .thread = thread,
                                       .start_ns = number * STEP_NS,
                                       .end_ns = (number + 1) * STEP_NS,
                                       .arguments = {{"requests", 3}, {"decode_tokens", 3}}});
}

/* The page's item after 'steps' steps, of which the stage was busy without a break. */
static YamlNode *item_after(guint steps, Observer *observer) {
    g_autoptr(GError) error = NULL;
    Ledger ledger = {.n_replicas = 1, .replicas = &replica};
    ReportSeries *series = report_series_new(&plan, &ledger);
    Observer *sampler = report_series_observer(series);
    g_autoptr(TraceSink) sink = report_slices_new(&plan);
    totals.busy_s = 0;
    report_slices_watch(sink, observer);
    trace_sink_name_process(sink, 1, "pool 0 decode 0");
    trace_sink_name_thread(sink, 1, 1, "stage 0 (tp 1)");
    for (guint i = 0; i < steps; i++) {
        ledger.end_s = 1e-9 * (i + 1) * STEP_NS;
        while (sampler->next_sample_s < ledger.end_s)
            sampler->sample(sampler, &(SimulationSample){.time_s = sampler->next_sample_s});
        totals.busy_s = ledger.end_s;
        put_step(sink, 1, i);
    }
    put_step(sink, 7, 0); /* on a lane that nobody named: not shown */
    report_series_finish(series);
    g_autofree char *json = report_slices_json(sink, series);
    report_series_free(series);
    YamlNode *item = yaml_load_text(json, "item.json", &error);
    g_assert_no_error(error);
    return item;
}

static guint length_of(const YamlNode *item, const char *key) {
    return yaml_get(item, key)->values->len;
}

static void test_few_slices_are_all_there(void) {
    Observer observer = {.wants_steps = TRUE, .wants_transfers = TRUE};
    YamlNode *item = item_after(10, &observer);
    g_assert_cmpuint(length_of(item, "slices"), ==, 7 * 10);
    g_assert_cmpuint(length_of(item, "blocks"), ==, 0);
    g_assert_cmpuint(length_of(item, "lanes"), ==, 1);
    g_assert_true(observer.wants_steps && observer.wants_transfers);
    yaml_node_free(item);
}

/* Beyond the bound no more steps are asked for, and how busy the stage was is told instead. */
static void test_many_slices_end_in_shares(void) {
    Observer observer = {.wants_steps = TRUE, .wants_transfers = TRUE};
    YamlNode *item = item_after(3 * REPORT_SLICES_MAX, &observer);
    const YamlNode *blocks = yaml_get(item, "blocks");
    g_assert_cmpuint(length_of(item, "slices"), ==, 7 * REPORT_SLICES_MAX);
    g_assert_false(observer.wants_steps || observer.wants_transfers);
    g_assert_cmpuint(blocks->values->len, >, 4);
    g_assert_cmpuint(blocks->values->len, <=, 4 * REPORT_BLOCKS_MAX);
    for (guint i = 3; i < blocks->values->len; i += 4)
        g_assert_cmpstr(((const YamlNode *)blocks->values->pdata[i])->text, ==, "100");
    yaml_node_free(item);
}

static void test_requests_are_thinned_evenly(void) {
    g_autoptr(GError) error = NULL;
    ReportPhases *phases = report_phases_new();
    for (guint i = 0; i < 5000; i++) {
        ServedRequest served = served_request(i, i, 4);
        served.prefill_start_s = i + 1.0;
        served.first_token_s = served.decode_start_s = i + 2.0;
        served.completed_s = i + 5.0;
        tell(report_phases_observer(phases), EVENT_ARRIVED, i, &served);
        tell(report_phases_observer(phases), EVENT_COMPLETED, i + 5.0, &served);
    }
    guint kept = report_phases_count(phases);
    g_autofree char *json = report_phases_json(phases, 5005);
    YamlNode *item = yaml_load_text(json, "item.json", &error);
    g_assert_no_error(error);
    const YamlNode *lanes = yaml_get(item, "lanes");
    g_assert_cmpuint(kept, <=, REPORT_REQUESTS_MAX);
    g_assert_cmpuint(kept, >, REPORT_REQUESTS_MAX / 2);
    for (guint i = 0; i < kept; i++)
        g_assert_cmpuint(
            g_ascii_strtoull(((const YamlNode *)lanes->values->pdata[i])->text, NULL, 10), ==,
            (guint64)i * 16);
    g_assert_cmpuint(length_of(item, "slices"), ==, 7 * 3 * kept);
    yaml_node_free(item);
    report_phases_free(phases);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/report_slices/few_slices_are_all_there", test_few_slices_are_all_there);
    g_test_add_func("/report_slices/many_slices_end_in_shares", test_many_slices_end_in_shares);
    g_test_add_func("/report_slices/requests_are_thinned_evenly", test_requests_are_thinned_evenly);
    return g_test_run();
}
