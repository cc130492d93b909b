#include "analysis/output/json_text.h"
#include "analysis/run/summary.h"
#include "served_request_fixture.h"
#include "workloads/yaml_reader.h"

#include <math.h>
#include <string.h>

/* A hand-made run of 100 s: two pools, each of a prefill replica, a buffer and a decode replica of
 * two stages with two ranks, on a platform of two clusters a node. Everything is static data; only
 * the metrics are built. */
typedef struct Fixture {
    Experiment experiment;
    Ledger ledger;
    Metrics *metrics;
    SummaryInput input;
    Platform platform;
    Model model;
    Policy policy;
    Plan plan;
    ReplicaPlan replicas[4];
    StagePlan stages[6];
    guint clusters[10];
    BufferPlan buffers[2];
    ReplicaTotals totals[4];
    StageTotals stage_totals[6];
    TimeIntegral buffer_bytes[2];
    double paused_s[2];
} Fixture;

static void make_platform(Fixture *fixture) {
    fixture->platform = (Platform){
        .name = (char *)"machine",
        .nodes = 8,
        .processors_per_node = 1,
        .clusters_per_processor = 2,
        .power = {.cluster_idle_watts = 10, .cluster_busy_watts = 50, .node_watts = 100}};
    fixture->model = (Model){.name = (char *)"tiny"};
    fixture->policy = (Policy){.mode = MODE_PBD,
                               .pools = 2,
                               .prefill = {.dp = 1, .pp = 1},
                               .buffer = {.clusters = 1},
                               .decode = {.tp = 2, .pp = 2, .dp = 1}};
}

/* Clusters 0 … 9 in replicas, 10 and 11 in buffers: six nodes of the eight. */
static void make_plan(Fixture *fixture) {
    static const guint first_stage[] = {0, 1, 2, 4};
    guint cluster = 0;
    for (guint i = 0; i < 10; i++)
        fixture->clusters[i] = i;
    for (guint i = 0; i < 6; i++) {
        guint tp = i < 2 ? 1 : 2;
        fixture->stages[i] = (StagePlan){.tp = tp, .clusters = &fixture->clusters[cluster]};
        cluster += tp;
    }
    for (guint i = 0; i < 4; i++)
        fixture->replicas[i] = (ReplicaPlan){.role = i < 2 ? ROLE_PREFILL : ROLE_DECODE,
                                             .pool = i % 2,
                                             .n_stages = i < 2 ? 1 : 2,
                                             .stages = &fixture->stages[first_stage[i]],
                                             .kv_tokens = i < 2 ? 0 : 1000,
                                             .kv_bytes_per_token = i < 2 ? 0 : 8};
    for (guint i = 0; i < 2; i++)
        fixture->buffers[i] = (BufferPlan){.pool = i, .cluster = 10 + i, .bytes = 4000};
    fixture->plan = (Plan){.n_replicas = 4,
                           .replicas = fixture->replicas,
                           .n_buffers = 2,
                           .buffers = fixture->buffers,
                           .clusters_used = 12,
                           .max_context = 4096};
}

static void make_totals(Fixture *fixture) {
    static const guint first_stage[] = {0, 1, 2, 4};
    static const double busy_s[] = {30, 10, 80, 60, 40, 20};
    for (guint i = 0; i < 6; i++)
        fixture->stage_totals[i] =
            (StageTotals){.busy_s = busy_s[i], .all_reduce_s = i < 2 ? 0 : 10, .steps = 5};
    for (guint i = 0; i < 4; i++)
        fixture->totals[i] = (ReplicaTotals){.n_stages = i < 2 ? 1 : 2,
                                             .stages = &fixture->stage_totals[first_stage[i]],
                                             .first_busy_s = 10,
                                             .last_busy_s = 90,
                                             .prefill_tokens = i < 2 ? 150 : 0,
                                             .decode_tokens = i < 2 ? 0 : 20};
    /* Replica 2 holds 400 tokens on average, 900 at most; replica 3 200 and 500. */
    fixture->totals[2].kv_bytes =
        (TimeIntegral){.integral = 400 * 8 * 100, .peak = 900 * 8, .since_s = 100};
    fixture->totals[3].kv_bytes =
        (TimeIntegral){.integral = 200 * 8 * 100, .peak = 500 * 8, .since_s = 100};
    fixture->buffer_bytes[0] = (TimeIntegral){.integral = 1e5, .peak = 3000, .since_s = 100};
    fixture->buffer_bytes[1] = (TimeIntegral){.integral = 2e5, .peak = 2000, .since_s = 100};
    fixture->paused_s[0] = 5;
    fixture->paused_s[1] = 15;
}

static void make_ledger(Fixture *fixture) {
    fixture->ledger = (Ledger){.end_s = 100,
                               .arrived = 4,
                               .completed = 3,
                               .rejected = {[REJECT_CONTEXT] = 1},
                               .preemptions = 2,
                               .output_tokens_asked = 15,
                               .output_tokens_done = 15,
                               .cached_prompt_tokens = 512,
                               .prefix_blocks = 8,
                               .prefix_hits = 2,
                               .bytes_sent = {1e6, 2e6, 2e6, 0},
                               .transfers = {4, 2, 2, 0},
                               .n_replicas = 4,
                               .replicas = fixture->totals,
                               .n_pools = 2,
                               .buffer_bytes = fixture->buffer_bytes,
                               .paused_s = fixture->paused_s,
                               .steps = 30};
}

/* Three requests of five tokens that arrive at 0, 40 and 80 s; TTFT 1, 2 and 3 s; TPOT 0.5 s. */
static void make_metrics(Fixture *fixture) {
    const Experiment *experiment = &fixture->experiment;
    fixture->metrics =
        metrics_new(&experiment->slo, &experiment->output, experiment->facts.last_arrival_s);
    for (guint i = 0; i < 3; i++) {
        ServedRequest served = served_request(i, 40 * i, 5);
        served.prefill_start_s = served.request.arrival_s;
        served.first_token_s = served.request.arrival_s + 1 + i;
        served.generated = 5;
        served.completed_s = served.first_token_s + 2;
        tell(metrics_observer(fixture->metrics), EVENT_COMPLETED, served.completed_s, &served);
    }
    metrics_finish(fixture->metrics, fixture->ledger.end_s);
}

static void set_up(Fixture *fixture, gconstpointer data) {
    const Experiment *given = data; /* its slo and output sections, or NULL */
    make_platform(fixture);
    make_plan(fixture);
    make_totals(fixture);
    make_ledger(fixture);
    if (given != NULL)
        fixture->experiment = *given;
    fixture->experiment.seed = 42;
    fixture->experiment.platform = &fixture->platform;
    fixture->experiment.model = &fixture->model;
    fixture->experiment.policy = &fixture->policy;
    fixture->experiment.plan = &fixture->plan;
    fixture->experiment.facts = (WorkloadFacts){.requests = 4,
                                                .rows = 9,
                                                .skipped_outputs = 5,
                                                .prompt_tokens = 400,
                                                .output_tokens = 20,
                                                .last_arrival_s = 80};
    make_metrics(fixture);
    fixture->input = (SummaryInput){.experiment = &fixture->experiment,
                                    .ledger = &fixture->ledger,
                                    .metrics = fixture->metrics,
                                    .outcome = OUTCOME_FINISHED};
}

static void tear_down(Fixture *fixture, gconstpointer data) {
    (void)data;
    metrics_free(fixture->metrics);
}

/* The summary as JSON, read back. Caller frees. */
static YamlNode *summary_of(const Fixture *fixture) {
    g_autoptr(GError) error = NULL;
    g_autofree char *text = summary_json(&fixture->input);
    YamlNode *node = yaml_load_text(text, "summary.json", &error);
    g_assert_no_error(error);
    return node;
}

/* The node at a dotted path; numbers index arrays. */
static const YamlNode *at(const YamlNode *node, const char *path) {
    g_auto(GStrv) keys = g_strsplit(path, ".", -1);
    for (guint i = 0; keys[i] != NULL && node != NULL; i++)
        node = node->type == YAML_SEQUENCE ? node->values->pdata[atoi(keys[i])]
                                           : yaml_get(node, keys[i]);
    if (node == NULL)
        g_error("no '%s' in summary.json", path);
    return node;
}

typedef struct Figure {
    const char *path;
    double value;
} Figure;

static void assert_figures(const Fixture *fixture, const Figure *figures, gsize n) {
    g_autoptr(YamlNode) summary = summary_of(fixture);
    for (gsize i = 0; i < n; i++) {
        const YamlNode *node = at(summary, figures[i].path);
        double value = g_ascii_strtod(node->text, NULL);
        if (fabs(value - figures[i].value) > 1e-12 * fabs(figures[i].value))
            g_error("%s is %s, not %.17g", figures[i].path, node->text, figures[i].value);
    }
}

static void test_figures_of_the_run_by_hand(Fixture *fixture, gconstpointer data) {
    (void)data;
    static const Figure figures[] = {
        {"simulated.seed", 42},
        {"simulated.clusters", 12},
        {"simulated.steps", 30},
        {"workload.rows", 9},
        {"workload.skipped_zero_output", 5},
        {"requests.arrived", 4},
        {"requests.completed", 3},
        {"requests.rejected", 1},
        {"requests.rejected_context", 1},
        {"requests.rejected_kv_capacity", 0},
        {"requests.preemptions", 2},
        {"requests.prefix_hit_rate", 0.25},
        {"whole.makespan_s", 100},
        {"whole.request_throughput_per_s", 0.03},
        {"whole.output_token_throughput_per_s", 0.15},
        {"whole.total_token_throughput_per_s", (300 + 15) / 100.0},
        {"whole.ttft.mean_s", 2},
        {"whole.ttft.p50_s", 2},
        {"whole.ttft.p90_s", 2.8},
        {"whole.ttft.p95_s", 2.9},
        {"whole.ttft.p99_s", 2.98},
        {"whole.ttft.max_s", 3},
        {"whole.tpot.p99_s", 0.5},
        {"whole.e2e.mean_s", 4},
        {"whole.queueing.max_s", 0},
        {"whole.ttft.count", 3},
    };
    assert_figures(fixture, figures, G_N_ELEMENTS(figures));
}

static void test_figures_of_the_machine_by_hand(Fixture *fixture, gconstpointer data) {
    (void)data;
    static const Figure figures[] = {
        {"roles.prefill.replicas", 2},
        {"roles.prefill.clusters", 2},
        {"roles.prefill.utilisation", (30 + 10) / 200.0},
        {"roles.prefill.bubble_share", 1 - (30 + 10) / 160.0},
        {"roles.prefill.prefill_tokens", 300},
        {"roles.decode.clusters", 8},
        {"roles.decode.steps", 20},
        {"roles.decode.utilisation", (80 + 60 + 40 + 20) / 400.0},
        {"roles.decode.bubble_share", 1 - 200 / 320.0},
        {"roles.decode.all_reduce_share", 40 / 200.0},
        {"roles.decode.kv_capacity_tokens", 2000},
        {"roles.decode.kv_mean_tokens", 600},
        {"roles.decode.kv_mean_share", 0.3},
        {"roles.decode.kv_peak_tokens", 900},
        {"roles.decode.kv_peak_share", 0.9},
        {"pools.0.pool", 0},
        {"pools.1.utilisation", 140 / 200.0},
        {"pools.3.pool", 1},
        {"pools.3.kv_peak_share", 0.5},
        {"buffers.0.capacity_bytes", 4000},
        {"buffers.0.mean_bytes", 1000},
        {"buffers.0.peak_share", 0.75},
        {"buffers.1.backpressure_s", 15},
        {"buffers.1.backpressure_share", 0.15},
        {"buffer.all.capacity_bytes", 8000},
        {"buffer.all.mean_share", 3000 / 8000.0},
        {"buffer.all.backpressure_share", 0.1},
        {"network.kv_pull.bytes", 2e6},
        {"network.kv_pull.transfers", 2},
        {"energy.nodes", 6},
    };
    assert_figures(fixture, figures, G_N_ELEMENTS(figures));
}

/* Sums that are off by their rounding, to either side, are no bubbles; what is more is one. */
static void test_rounding_is_no_bubble(Fixture *fixture, gconstpointer data) {
    (void)data;
    static const struct {
        double from_s, to_s, busy_s, share;
    } cases[] = {{0.1, 0.4, 0.3, 0}, {0, 0.3, 0.1 + 0.2, 0}, {0, 1, 1 - 1e-9, 1e-9}};
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        for (guint replica = 0; replica < 2; replica++) {
            fixture->totals[replica].first_busy_s = cases[i].from_s;
            fixture->totals[replica].last_busy_s = cases[i].to_s;
            fixture->stage_totals[replica].busy_s = cases[i].busy_s;
        }
        g_autoptr(YamlNode) summary = summary_of(fixture);
        double share = g_ascii_strtod(at(summary, "roles.prefill.bubble_share")->text, NULL);
        g_assert_cmpfloat(fabs(share - cases[i].share), <=, 1e-6 * cases[i].share);
    }
}

/* 12 clusters idle at 10 W, 40 W more while busy (stages of two ranks count twice), six nodes. */
static void test_energy_is_power_times_time(Fixture *fixture, gconstpointer data) {
    (void)data;
    double busy_cluster_s = 30 + 10 + 2 * (80 + 60 + 40 + 20);
    double joules = 12 * 10 * 100 + 40 * busy_cluster_s + 6 * 100 * 100;
    g_assert_cmpfloat(summary_energy_joules(&fixture->experiment, &fixture->ledger), ==, joules);
    const Figure figures[] = {{"energy.joules", joules},
                              {"energy.kwh", joules / 3.6e6},
                              {"energy.tokens_per_joule", 15 / joules}};
    assert_figures(fixture, figures, G_N_ELEMENTS(figures));
}

static void test_what_does_not_exist_is_null(Fixture *fixture, gconstpointer data) {
    (void)data;
    static const char *const paths[] = {"requests.prefix_hit_rate", "roles.prefill.kv_mean_share",
                                        "roles.prefill.kv_capacity_tokens", "whole.ttft.p99_s",
                                        "whole.output_token_throughput_per_s"};
    metrics_free(fixture->metrics);
    fixture->metrics = metrics_new(&(Slo){0}, &(OutputSpec){0}, 0);
    fixture->input.metrics = fixture->metrics;
    fixture->ledger.prefix_blocks = fixture->ledger.prefix_hits = 0;
    fixture->ledger.end_s = 0;
    g_autoptr(YamlNode) summary = summary_of(fixture);
    for (guint i = 0; i < G_N_ELEMENTS(paths); i++)
        g_assert_cmpstr(at(summary, paths[i])->text, ==, "null");
    g_assert_null(yaml_get(summary, "steady"));
    g_assert_null(yaml_get(yaml_get(summary, "whole"), "goodput_per_s"));
}

static void test_verified_tokens(Fixture *fixture, gconstpointer data) {
    (void)data;
    TokenCheckResult numbers = {.requests = 4,
                                .equal = 3,
                                .tokens = 40,
                                .different_id = 7,
                                .different_token = 2,
                                .smallest_gap = 0.125,
                                .largest_logit = 8};
    g_autoptr(YamlNode) without = summary_of(fixture);
    g_assert_null(yaml_get(without, "numbers"));
    fixture->input.numbers = &numbers;
    static const Figure figures[] = {
        {"numbers.tokens_checked", 40},       {"numbers.requests_checked", 4},
        {"numbers.requests_equal", 3},        {"numbers.first_different_id", 7},
        {"numbers.first_different_token", 2}, {"numbers.smallest_gap", 0.125},
        {"numbers.largest_logit", 8}};
    assert_figures(fixture, figures, G_N_ELEMENTS(figures));
    numbers = (TokenCheckResult){.smallest_gap = INFINITY}; /* nothing completed */
    g_autoptr(YamlNode) nothing = summary_of(fixture);
    g_assert_cmpstr(at(nothing, "numbers.smallest_gap")->text, ==, "null");
    g_assert_cmpstr(at(nothing, "numbers.first_different_id")->text, ==, "null");
}

static const Experiment with_limits = {.slo = {.ttft = {2.5, 0.5}, .e2e = {4.5, 0.99}},
                                       .output = {.warmup_s = 30, .cooldown_s = 20}};

static void test_goodput_and_verdicts(Fixture *fixture, gconstpointer data) {
    (void)data;
    static const Figure figures[] = {
        {"whole.goodput_per_s", 0.02},
        {"whole.good_share", 2 / 3.0},
        {"whole.ttft_limit.limit_s", 2.5},
        {"whole.ttft_limit.percentile", 0.5},
        {"whole.ttft_limit.value_s", 2},
        {"whole.ttft_limit.met_share", 2 / 3.0},
        {"whole.e2e_limit.met_share", 2 / 3.0},
        {"steady.from_s", 30},
        {"steady.to_s", 60},
        {"steady.requests", 1},
        {"steady.request_throughput_per_s", 1 / 30.0},
        {"steady.output_token_throughput_per_s", 5 / 30.0},
        {"steady.goodput_per_s", 1 / 30.0},
    };
    assert_figures(fixture, figures, G_N_ELEMENTS(figures));
    g_autoptr(YamlNode) summary = summary_of(fixture);
    g_assert_cmpstr(at(summary, "whole.ttft_limit.met")->text, ==, "true");
    g_assert_cmpstr(at(summary, "whole.e2e_limit.met")->text, ==, "false");
    g_assert_cmpstr(at(summary, "steady.e2e_limit.met")->text, ==, "true");
    g_assert_null(yaml_get(yaml_get(summary, "whole"), "tpot_limit"));
}

static const Experiment with_empty_window = {.output = {.warmup_s = 50, .cooldown_s = 10}};

static void test_empty_window_says_so(Fixture *fixture, gconstpointer data) {
    (void)data;
    g_autoptr(YamlNode) summary = summary_of(fixture);
    g_autofree char *table = summary_table(&fixture->input);
    g_assert_true(g_str_has_prefix(at(summary, "steady.note")->text, "the window is empty"));
    g_assert_nonnull(strstr(table, "the window is empty"));
}

static void test_interrupted_run_is_marked(Fixture *fixture, gconstpointer data) {
    (void)data;
    g_autoptr(YamlNode) whole = summary_of(fixture);
    g_autofree char *table = summary_table(&fixture->input);
    g_assert_cmpstr(at(whole, "partial")->text, ==, "false");
    g_assert_null(strstr(table, "PARTIAL"));
    fixture->input.outcome = OUTCOME_INTERRUPTED;
    g_autoptr(YamlNode) partial = summary_of(fixture);
    g_autofree char *marked = summary_table(&fixture->input);
    g_assert_cmpstr(at(partial, "partial")->text, ==, "true");
    g_assert_cmpstr(at(partial, "outcome")->text, ==, "interrupted");
    g_assert_true(g_str_has_prefix(marked, "PARTIAL: interrupted"));
}

static void test_table_fits_a_terminal(Fixture *fixture, gconstpointer data) {
    (void)data;
    static const char *const needed[] = {
        "tiny on machine: 2 x prefill dp 1 pp 1 + buffer 1 + decode tp 2 pp 2 dp 1\n",
        "12 of 16 clusters, step grain, seed 42\n",
        "longer than the context",
        "requests/s",
        "TTFT",
        "KV tokens",
        "all-reduce",
        "tokens/J",
        "skipped: no output tokens",
        "pool 1",
        "goodput"};
    g_autofree char *table = summary_table(&fixture->input);
    for (guint i = 0; i < G_N_ELEMENTS(needed); i++)
        if (strstr(table, needed[i]) == NULL)
            g_error("no '%s' in:\n%s", needed[i], table);
    g_auto(GStrv) lines = g_strsplit(table, "\n", -1);
    for (guint i = 0; lines[i] != NULL; i++)
        g_assert_cmpint(g_utf8_strlen(lines[i], -1), <=, 80);
}

static void test_long_names_wrap(Fixture *fixture, gconstpointer data) {
    (void)data;
    fixture->model.name = (char *)"a-model-whose-name-is-really-quite-long-for-one";
    fixture->platform.name = (char *)"a-platform-with-a-long-name";
    g_autofree char *table = summary_table(&fixture->input);
    g_auto(GStrv) lines = g_strsplit(table, "\n", -1);
    for (guint i = 0; lines[i] != NULL; i++)
        g_assert_cmpint(g_utf8_strlen(lines[i], -1), <=, 80);
}

static void test_many_pools_are_shown_together(Fixture *fixture, gconstpointer data) {
    (void)data;
    TimeIntegral buffer_bytes[6] = {{0}};
    double paused_s[6] = {0};
    fixture->ledger.n_pools = 6;
    fixture->ledger.buffer_bytes = buffer_bytes;
    fixture->ledger.paused_s = paused_s;
    g_autofree char *table = summary_table(&fixture->input);
    g_autoptr(YamlNode) summary = summary_of(fixture);
    g_assert_null(strstr(table, "pool 0"));
    g_assert_nonnull(strstr(table, "all pools"));
    g_assert_cmpuint(yaml_get(summary, "buffers")->values->len, ==, 6);
}

static void test_json_text_escapes_and_nests(void) {
    JsonText json = json_text_new();
    json_text_open(&json, NULL, '{');
    json_text_string(&json, "a \"b\"", "c\\d\n\x01");
    json_text_open(&json, "empty", '[');
    json_text_close(&json, ']');
    json_text_open(&json, "list", '[');
    json_text_number(&json, NULL, 0.1);
    json_text_null(&json, NULL);
    json_text_close(&json, ']');
    json_text_close(&json, '}');
    g_autofree char *text = json_text_end(&json);
    g_assert_cmpstr(text, ==,
                    "{\n  \"a \\\"b\\\"\": \"c\\\\d\\u000a\\u0001\",\n  \"empty\": [],\n"
                    "  \"list\": [\n    0.1,\n    null\n  ]\n}\n");
}

static void add(const char *name, const Experiment *given, void (*test)(Fixture *, gconstpointer)) {
    g_autofree char *path = g_strdup_printf("/summary/%s", name);
    g_test_add(path, Fixture, given, set_up, test, tear_down);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    add("figures_of_the_run_by_hand", NULL, test_figures_of_the_run_by_hand);
    add("figures_of_the_machine_by_hand", NULL, test_figures_of_the_machine_by_hand);
    add("energy_is_power_times_time", NULL, test_energy_is_power_times_time);
    add("what_does_not_exist_is_null", NULL, test_what_does_not_exist_is_null);
    add("rounding_is_no_bubble", NULL, test_rounding_is_no_bubble);
    add("verified_tokens", NULL, test_verified_tokens);
    add("goodput_and_verdicts", &with_limits, test_goodput_and_verdicts);
    add("empty_window_says_so", &with_empty_window, test_empty_window_says_so);
    add("interrupted_run_is_marked", NULL, test_interrupted_run_is_marked);
    add("table_fits_a_terminal", &with_limits, test_table_fits_a_terminal);
    add("long_names_wrap", NULL, test_long_names_wrap);
    add("many_pools_are_shown_together", NULL, test_many_pools_are_shown_together);
    g_test_add_func("/summary/json_text_escapes_and_nests", test_json_text_escapes_and_nests);
    return g_test_run();
}
