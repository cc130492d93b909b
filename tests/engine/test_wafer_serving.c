/* Requests on wafers: a life is the sum of its phases, fast-forward and watching change nothing,
 * books balance on randomly drawn systems, times between simulated points are close to what a
 * simulation gives, and the chosen grids are the best of those tried. */
#include "tests/engine/run.h"

#include "analysis/costs/wafer_fill.h"
#include "workloads/random.h"
#include <math.h>

/* A small wafer, so that its operators are simulated in no time. */
#define HEADER                                                                                     \
    "version: 1\nplatform: wse2\nmodel: tiny-llama\n"                                              \
    "policy:\n  mode: wafer\n  max_context: 200\n"
static const char *const small[] = {"platform.mesh.columns=24", "platform.mesh.rows=36",
                                    "platform.wafers=3", NULL};

#define REQUESTS(n, prompt, output)                                                                \
    "workload:\n  synthetic:\n    requests: " n "\n    arrivals: {process: batch}\n"               \
    "    prompt: {distribution: fixed, tokens: " prompt "}\n"                                      \
    "    output: {distribution: fixed, tokens: " output "}\n"

static OpCosts *times_of(const char *text) {
    g_autoptr(Experiment) experiment = experiment_of(text, small);
    return costs_of(experiment);
}

static void test_a_life_is_the_sum_of_its_phases(void) {
    const char *text =
        HEADER "  wafer: {prefill_grid: 20, decode_grid: 12}\n" REQUESTS("1", "50", "30");
    g_autoptr(RunResult) result = run_well(text, &(RunOptions){.overrides = small});
    g_autoptr(OpCosts) costs = times_of(text);
    const WaferTimes *times = op_costs_wafer(costs);
    const ServedRequest *served = &result->requests[0];
    double now_s = wafer_times_seconds(times, WAFER_PREFILL, 50);
    g_assert_cmpfloat(served->first_token_s, ==, now_s);
    now_s += wafer_times_seconds(times, WAFER_TRANSITION, 50);
    for (guint32 context = 51; context < 51 + 29; context++)
        now_s += wafer_times_seconds(times, WAFER_DECODE, context);
    g_assert_cmpfloat(served->completed_s, ==, now_s);
    g_assert_cmpfloat(result->stages[0].totals.transition_s, >, 0);
    assert_close(result->stages[0].totals.busy_s, now_s, 1e-12);
}

/* The last row gets each new token: as if all rows were as full as it. With shift, a token's K and
 * V go up a row in each layer. */
static void test_decode_goes_by_the_fullest_row(void) {
    const char *text = HEADER
        "  wafer: {prefill_grid: 20, decode_grid: 12, kv: concat}\n" REQUESTS("1", "50", "30");
    const char *const shift[] = {small[0], small[1], small[2], "policy.wafer.kv=shift", NULL};
    g_autoptr(RunResult) concat = run_well(text, &(RunOptions){.overrides = small});
    g_autoptr(RunResult) shifted = run_well(text, &(RunOptions){.overrides = shift});
    g_autoptr(Experiment) experiment = experiment_of(text, small);
    g_autoptr(OpCosts) costs = costs_of(experiment);
    double now_s = concat->requests[0].first_token_s +
                   wafer_times_seconds(op_costs_wafer(costs), WAFER_TRANSITION, 50);
    for (guint generated = 1; generated < 30; generated++) {
        g_autoptr(GError) error = NULL;
        WaferPoint point = {.model = experiment->model,
                            .grid = 12,
                            .tokens = MAX(50 / 12 + generated, 5) * 12,
                            .k_tree = (guint)experiment->plan->wafer.spec.k_tree,
                            .with_head = TRUE,
                            .regions = (guint)experiment->plan->wafer.spec.regions};
        double cycles = wafer_decode_cycles(experiment->wafer_costs, &point, &error);
        g_assert_no_error(error);
        now_s += cycles / experiment->platform->mesh.clock_hz;
    }
    assert_close(concat->requests[0].completed_s, now_s, 2e-3);
    g_assert_cmpfloat(concat->requests[0].completed_s, >, shifted->requests[0].completed_s);
    g_assert_cmpuint(concat->ledger.kv_moves, ==, 0);
    g_assert_cmpfloat(concat->ledger.kv_skew, ==, (4 + 29) * 12 / 79.0);
    g_assert_cmpuint(shifted->ledger.kv_moves, >, 0);
    g_assert_cmpfloat(shifted->ledger.kv_skew, ==, 7 * 12 / 79.0);
}

/* The second prompt has to wait for the weights to come back. */
static void test_weights_move_back_for_the_next_prompt(void) {
    const char *text =
        HEADER "  wafer: {prefill_grid: 20, decode_grid: 12, dp: 1}\n" REQUESTS("2", "50", "3");
    g_autoptr(RunResult) result = run_well(text, &(RunOptions){.overrides = small});
    g_autoptr(OpCosts) costs = times_of(text);
    const WaferTimes *times = op_costs_wafer(costs);
    double gap_s = result->requests[1].first_token_s - result->requests[0].completed_s;
    assert_close(gap_s,
                 wafer_times_seconds(times, WAFER_TRANSITION, 0) +
                     wafer_times_seconds(times, WAFER_PREFILL, 50),
                 1e-9);
    g_assert_cmpfloat(result->requests[1].prefill_start_s, ==, result->requests[0].completed_s);
}

static void test_wafers_share_the_work(void) {
    const char *text =
        HEADER "  wafer: {prefill_grid: 20, decode_grid: 12}\n" REQUESTS("9", "50", "20");
    const char *const one[] = {small[0], small[1], "platform.wafers=1", NULL};
    g_autoptr(RunResult) three = run_well(text, &(RunOptions){.overrides = small});
    g_autoptr(RunResult) alone = run_well(text, &(RunOptions){.overrides = one});
    g_assert_cmpuint(three->n_stages, ==, 3);
    g_assert_cmpfloat(three->ledger.end_s, <, alone->ledger.end_s / 2.9);
}

static void test_a_row_that_is_full_rejects(void) {
    const char *text = HEADER
        "  wafer: {prefill_grid: 20, decode_grid: 12, kv: concat}\n" REQUESTS("4", "50", "150");
    g_autoptr(Experiment) experiment = experiment_of(text, small);
    g_autofree char *usable = g_strdup_printf("platform.mesh.usable=%.0f B",
                                              experiment->plan->wafer.weight_bytes +
                                                  100 * experiment->plan->wafer.kv_token_bytes);
    const char *const tight[] = {small[0], small[1], usable, NULL};
    g_autoptr(RunResult) result = run_experiment(text, &(RunOptions){.overrides = tight});
    g_assert_cmpuint(result->ledger.rejected[REJECT_KV_CAPACITY], ==, 4);
    const char *const shifted[] = {small[0], small[1], usable, "policy.wafer.kv=shift", NULL};
    g_autoptr(RunResult) served = run_well(text, &(RunOptions){.overrides = shifted});
    g_assert_cmpuint(served->ledger.completed, ==, 4);
}

static guint64 pick(RandomStream *stream, guint64 low, guint64 high) {
    return low + random_below(stream, high - low + 1);
}

static char *draw_experiment(guint64 seed) {
    static const char *const systems[] = {"waferllm", "t10", "ladder"};
    static const char *const arrivals[] = {"{process: batch}", "{process: poisson, rate: 200 /s}",
                                           "{process: closed_loop, users: 4, think_time: 1 ms}"};
    static const char *const reservations[] = {"output", "max_context", "on_demand"};
    RandomStream stream = random_stream(seed, "wafers");
    return g_strdup_printf(
        HEADER "  kv_reservation: %s\n  admission: %s\n  wafer: {prefill_grid: %" G_GUINT64_FORMAT
               ", decode_grid: %" G_GUINT64_FORMAT ", regions: %" G_GUINT64_FORMAT
               ", system: %s, kv: %s, k_tree: %" G_GUINT64_FORMAT "}\n"
               "seed: %" G_GUINT64_FORMAT
               "\nworkload:\n  synthetic:\n    requests: %" G_GUINT64_FORMAT "\n    arrivals: %s\n"
               "    prompt: {distribution: uniform, min: 1, max: %" G_GUINT64_FORMAT "}\n"
               "    output: {distribution: uniform, min: 1, max: %" G_GUINT64_FORMAT "}\n",
        reservations[random_below(&stream, 3)],
        random_below(&stream, 2) ? "fcfs" : "shortest_prompt", pick(&stream, 12, 24),
        pick(&stream, 8, 12), pick(&stream, 1, 2), systems[random_below(&stream, 3)],
        random_below(&stream, 2) ? "shift" : "concat", pick(&stream, 1, 3), seed,
        pick(&stream, 1, 30), arrivals[random_below(&stream, 3)], pick(&stream, 1, 60),
        pick(&stream, 1, 40));
}

static void assert_same(const RunResult *a, const RunResult *b) {
    g_assert_cmpuint(a->event_hash, ==, b->event_hash);
    g_assert_cmpmem(a->requests, a->n_requests * sizeof *a->requests, b->requests,
                    b->n_requests * sizeof *b->requests);
    g_assert_cmpmem(a->stages, sizeof a->stages, b->stages, sizeof b->stages);
    g_assert_cmpuint(a->ledger.steps, ==, b->ledger.steps);
    g_assert_true(a->joules == b->joules);
}

/* run_well holds the invariants, Little's law among them. */
static void test_random_wafers(gconstpointer data) {
    g_autofree char *text = draw_experiment(GPOINTER_TO_SIZE(data));
    g_test_message("%s", text);
    RunOptions plain = {.overrides = small, .sample_interval_s = 0.0007};
    RunOptions stepping = plain, watched = plain;
    stepping.stepping = TRUE;
    watched.watch_steps = TRUE;
    g_autoptr(RunResult) first = run_well(text, &plain);
    g_autoptr(RunResult) stepped = run_well(text, &stepping);
    g_autoptr(RunResult) seen = run_well(text, &watched);
    assert_same(first, stepped);
    assert_same(first, seen);
    for (guint i = 0; i < first->n_requests; i++) {
        const ServedRequest *served = &first->requests[i];
        if (served->rejected == REJECT_NONE)
            g_assert_cmpuint(served->generated, ==, served->request.output_tokens);
    }
}

static void test_an_interrupted_run_keeps_its_books(void) {
    const char *text =
        HEADER "  wafer: {prefill_grid: 20, decode_grid: 12}\n" REQUESTS("9", "50", "20");
    for (guint events = 1; events < 45; events += 11) {
        g_autoptr(RunResult) result = run_experiment(
            text, &(RunOptions){.overrides = small, .interrupt_after_events = events});
        g_assert_cmpstr(result->message, ==, "");
        g_assert_cmpint(result->outcome, ==, OUTCOME_INTERRUPTED);
    }
}

static void assert_near(const WaferTimes *times, WaferPhase phase, guint32 tokens, double cycles,
                        const Experiment *experiment) {
    g_assert_cmpfloat(cycles, >, 0);
    assert_close(wafer_times_seconds(times, phase, tokens),
                 cycles / experiment->platform->mesh.clock_hz, 0.01);
}

/* Far more steps of the grid than are simulated. */
static void test_times_between_points_are_near(gconstpointer system) {
    g_autofree char *text = g_strconcat(
        HEADER "  wafer: {prefill_grid: 5, decode_grid: 6, regions: 2, system: ", system,
        "}\n" REQUESTS("1", "180", "20"), NULL);
    const char *const longer[] = {small[0],
                                  small[1],
                                  "policy.max_context=500",
                                  "platform.mesh.sram=1 MiB",
                                  "platform.mesh.usable=1 MB",
                                  "model.max_position_embeddings=500",
                                  "workload.synthetic.prompt.tokens=400",
                                  NULL};
    g_autoptr(Experiment) experiment = experiment_of(text, longer);
    g_autoptr(OpCosts) costs = costs_of(experiment);
    const WaferSpec *spec = &experiment->plan->wafer.spec;
    RandomStream stream = random_stream(5, "points");
    for (guint i = 0; i < 8; i++) {
        g_autoptr(GError) error = NULL;
        WaferPoint point = {.model = experiment->model,
                            .system = spec->system,
                            .grid = 5,
                            .tokens = pick(&stream, 1, 400),
                            .k_tree = 2,
                            .with_head = TRUE,
                            .regions = 1};
        WaferTransition turn = {experiment->model, 5, 6, point.tokens, 2, 0};
        double prefill = wafer_prefill_cycles(experiment->wafer_costs, &point, &error);
        point.grid = 6;
        point.regions = 2;
        point.kv_shift = TRUE;
        double decode = wafer_decode_cycles(experiment->wafer_costs, &point, &error);
        double turned = wafer_transition_cycles(experiment->wafer_costs, &turn, &error);
        g_assert_no_error(error);
        const WaferTimes *times = op_costs_wafer(costs);
        assert_near(times, WAFER_PREFILL, (guint32)point.tokens, prefill, experiment);
        assert_near(times, WAFER_DECODE, (guint32)point.tokens, decode, experiment);
        assert_near(times, WAFER_TRANSITION, (guint32)point.tokens, turned, experiment);
    }
}

static void test_no_grid_tried_is_better_than_the_chosen_one(void) {
    const char *const wide[] = {"platform.mesh.columns=130", "platform.mesh.rows=150", NULL};
    const char *text = HEADER REQUESTS("3", "120", "60");
    g_autoptr(Experiment) experiment = experiment_of(text, wide);
    g_autoptr(Experiment) again = experiment_of(text, wide);
    const GArray *pairs = experiment->wafer_pairs;
    const WaferCandidate *chosen = &g_array_index(pairs, WaferCandidate, 0);
    g_assert_cmpuint(pairs->len, ==, 4);
    g_assert_cmpuint(chosen->prefill_grid, ==, experiment->plan->wafer.spec.prefill_grid);
    g_assert_cmpuint(chosen->decode_grid, ==, experiment->plan->wafer.spec.decode_grid);
    for (guint i = 0; i < pairs->len; i++) {
        const WaferCandidate *pair = &g_array_index(pairs, WaferCandidate, i);
        g_assert_cmpfloat(pair->request_s, >=, chosen->request_s);
        assert_close(pair->request_s, pair->prefill_s + pair->transition_s + 59 * pair->decode_s,
                     1e-12);
        g_assert_cmpmem(pair, sizeof *pair, &g_array_index(again->wafer_pairs, WaferCandidate, i),
                        sizeof *pair);
    }
    g_assert_cmpuint(experiment->policy->wafer.prefill_grid, ==, 0); /* and it stays open there */
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/wafer-serving/a-life", test_a_life_is_the_sum_of_its_phases);
    g_test_add_func("/wafer-serving/fullest-row", test_decode_goes_by_the_fullest_row);
    g_test_add_func("/wafer-serving/back-again", test_weights_move_back_for_the_next_prompt);
    g_test_add_func("/wafer-serving/data-parallel", test_wafers_share_the_work);
    g_test_add_func("/wafer-serving/full-row", test_a_row_that_is_full_rejects);
    g_test_add_func("/wafer-serving/interrupted", test_an_interrupted_run_keeps_its_books);
    g_test_add_data_func("/wafer-serving/near/waferllm", "waferllm",
                         test_times_between_points_are_near);
    g_test_add_data_func("/wafer-serving/near/t10", "t10", test_times_between_points_are_near);
    g_test_add_data_func("/wafer-serving/near/ladder", "ladder",
                         test_times_between_points_are_near);
    g_test_add_func("/wafer-serving/tuned", test_no_grid_tried_is_better_than_the_chosen_one);
    for (guint seed = 1; seed <= (g_test_thorough() ? 200 : 8); seed++) {
        g_autofree char *path = g_strdup_printf("/wafer-serving/random/%u", seed);
        g_test_add_data_func(path, GSIZE_TO_POINTER((gsize)seed), test_random_wafers);
    }
    return g_test_run();
}
