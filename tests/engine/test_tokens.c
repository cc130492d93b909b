/* With numerics on, the tokens that leave the simulated cluster are those of a single-process
 * forward pass, request by request, for every way to split the model; and time is the same. */
#include "tests/engine/run.h"

#include "actors/kernels/reference.h"
#include <string.h>

#define WORKLOAD                                                                                   \
    "workload:\n  synthetic:\n    requests: 6\n    arrivals: {process: poisson, rate: 200 /s}\n"   \
    "    prompt: {distribution: uniform, min: 1, max: 20}\n"                                       \
    "    output: {distribution: uniform, min: 1, max: 10}\n"

/* Logits of tp 2 and 4 differ from those of one process by up to this share of the largest: partial
 * sums are added in another order, and KV that lies between two halves may round the other way. */
#define LOGIT_ERROR 2.1e-4

/* 'seed' is one whose logits are far enough apart. */
static char *experiment_text(guint seed, const char *model, const char *policy) {
    return g_strdup_printf(
        "version: 1\nseed: %u\nplatform: {base: mt3000, nodes: 16}\nmodel: %s\npolicy:\n"
        "  max_context: 64\n%s%s",
        seed, model, policy, WORKLOAD);
}

static gboolean tokens_equal(const RunResult *result, const char *text) {
    g_autoptr(Experiment) experiment = experiment_of(text, NULL);
    g_autoptr(Checkpoint) checkpoint = checkpoint_seeded(experiment->model, experiment->seed);
    gboolean equal = TRUE;
    for (guint i = 0; i < result->n_requests; i++) {
        const Request *request = &result->requests[i].request;
        g_autofree guint32 *prompt = g_new(guint32, request->prompt_tokens);
        reference_prompt(experiment->model, experiment->seed, request->id, prompt,
                         request->prompt_tokens);
        Sampling sampling = {.top_k = 1, .temperature = 1, .request = request->id};
        ReferenceRun run =
            reference_generate(&(RankShape){experiment->model, checkpoint, 0, 1}, prompt,
                               request->prompt_tokens, request->output_tokens, &sampling);
        g_assert_cmpfloat(run.smallest_gap, >, 10 * LOGIT_ERROR * run.largest_logit);
        equal &= memcmp(run.tokens, result->tokens[i], run.n * sizeof(guint32)) == 0;
        reference_run_clear(&run);
    }
    return equal;
}

static void check_tokens(const char *model, const char *policy) {
    g_autofree char *text = experiment_text(45, model, policy);
    g_test_message("%s", text);
    g_autoptr(RunResult) numbers = run_well(text, &(RunOptions){.numerics = TRUE});
    g_autoptr(RunResult) time_only = run_well(text, NULL);
    g_assert_true(tokens_equal(numbers, text));
    g_assert_cmpuint(numbers->event_hash, ==, time_only->event_hash);
}

static const char *const models[] = {"tiny-llama", "tiny-qwen2"};
static const guint degrees[] = {1, 2, 4};

static void test_pbd(void) {
    for (guint m = 0; m < G_N_ELEMENTS(models); m++)
        for (guint t = 0; t < 3; t++)
            for (guint p = 0; p < 3; p++)
                for (guint dp = 1; dp <= 2; dp++) {
                    const char *batching = (t + p + dp) % 2 ? "continuous" : "synchronous";
                    g_autofree char *policy = g_strdup_printf(
                        "  mode: pbd\n  prefill: {dp: %u, pp: %u}\n"
                        "  decode: {tp: %u, pp: %u, dp: %u, slots: 2, batching: %s}\n",
                        dp, degrees[2 - p], degrees[t], degrees[p], dp, batching);
                    check_tokens(models[m], policy);
                }
}

static void test_both_batching_modes(void) {
    for (guint t = 0; t < 3; t++) {
        static const char *const modes[] = {"synchronous", "continuous"};
        for (guint b = 0; b < 2; b++) {
            g_autofree char *policy =
                g_strdup_printf("  mode: pbd\n  prefill: {dp: 2, pp: 2, chunk_tokens: 5}\n"
                                "  decode: {tp: %u, pp: 2, slots: 2, batching: %s}\n",
                                degrees[t], modes[b]);
            check_tokens("tiny-llama", policy);
        }
    }
}

static void test_colocated(void) {
    for (guint t = 0; t < 3; t++)
        for (guint p = 0; p < 3; p++) {
            g_autofree char *policy = g_strdup_printf(
                "  mode: colocated\n  colocated: {tp: %u, pp: %u, slots: 3, "
                "batching: %s, chunk_tokens: %u}\n",
                degrees[t], degrees[p], p == 1 ? "static" : "continuous", p == 2 ? 7 : 0);
            check_tokens("tiny-llama", policy);
        }
}

static void test_operator_grain(void) {
    check_tokens("tiny-llama", "  mode: pbd\n  grain: operator\n  prefill: {pp: 2}\n"
                               "  decode: {tp: 2, pp: 2, slots: 2}\n");
}

/* Dropped KV is computed again, tokens already generated included. */
static void squeeze(Experiment *experiment) {
    for (guint i = 0; i < experiment->plan->n_replicas; i++)
        experiment->plan->replicas[i].kv_tokens = 64;
}

static void test_preempted_requests_go_on_where_they_were(void) {
    const char *policies[] = {"  mode: colocated\n  kv_reservation: on_demand\n"
                              "  colocated: {tp: 2, slots: 4}\n",
                              "  mode: pbd\n  kv_reservation: on_demand\n"
                              "  decode: {tp: 2, pp: 2, slots: 4}\n"};
    const char *const overrides[] = {"workload.synthetic.prompt.min=14",
                                     "workload.synthetic.output.min=20",
                                     "workload.synthetic.output.max=30", NULL};
    for (guint i = 0; i < G_N_ELEMENTS(policies); i++) {
        g_autofree char *text = experiment_text(35, "tiny-llama", policies[i]);
        g_autoptr(RunResult) result = run_well(
            text, &(RunOptions){.numerics = TRUE, .tamper = squeeze, .overrides = overrides});
        g_assert_cmpuint(result->ledger.preemptions, >, 0);
        g_assert_true(tokens_equal(result, text));
    }
}

static void test_a_wrong_transfer_is_noticed(gconstpointer data) {
    NumericsFault fault = (NumericsFault)GPOINTER_TO_INT(data);
    g_autofree char *text = experiment_text(
        45, "tiny-llama", "  mode: pbd\n  prefill: {pp: 2}\n  decode: {tp: 2, pp: 2, slots: 2}\n");
    g_autoptr(RunResult) right = run_well(text, &(RunOptions){.numerics = TRUE});
    g_autoptr(RunResult) wrong = run_well(text, &(RunOptions){.numerics = TRUE, .fault = fault});
    g_assert_true(tokens_equal(right, text));
    g_assert_false(tokens_equal(wrong, text));
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/tokens/pbd", test_pbd);
    g_test_add_func("/tokens/batching", test_both_batching_modes);
    g_test_add_func("/tokens/colocated", test_colocated);
    g_test_add_func("/tokens/operator-grain", test_operator_grain);
    g_test_add_func("/tokens/preemption", test_preempted_requests_go_on_where_they_were);
    g_test_add_data_func("/tokens/fault/all-reduce", GINT_TO_POINTER(NUMERICS_FAULT_ALL_REDUCE),
                         test_a_wrong_transfer_is_noticed);
    g_test_add_data_func("/tokens/fault/migration", GINT_TO_POINTER(NUMERICS_FAULT_MIGRATION),
                         test_a_wrong_transfer_is_noticed);
    return g_test_run();
}
