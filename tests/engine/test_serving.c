/* How the serving system behaves: grains agree, buffers push back, KV runs out, requests are
 * rejected, runs are interrupted or get stuck, and the same seed gives the same run. */
#include "tests/engine/run.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#define HEADER "version: 1\nplatform: mt3000\nmodel: llama-2-7b\n"
#define FIXED(requests, prompt, output)                                                            \
    "workload:\n  synthetic:\n    requests: " requests "\n    arrivals: {process: batch}\n"        \
    "    prompt: {distribution: fixed, tokens: " prompt "}\n"                                      \
    "    output: {distribution: fixed, tokens: " output "}\n"

/* A run in which every request is rejected simulated nothing, and says so. */
static RunResult *run_all_rejected(const char *text, const RunOptions *options) {
    RunResult *result = run_experiment(text, options);
    g_assert_true(g_str_has_prefix(result->message, "something happened"));
    return result;
}

static RunResult *run_with(const char *text, const char *override) {
    const char *const overrides[] = {override, NULL};
    return run_well(text, &(RunOptions){.overrides = overrides});
}

/* One request at a time, TP inside a processor, prompts bound by compute: nothing contends. */
static void test_step_grain_is_within_1_percent_of_operator_grain(gconstpointer policy) {
    g_autofree char *text =
        g_strdup_printf("%spolicy:\n%sworkload:\n  synthetic:\n    requests: 3\n"
                        "    arrivals: {process: constant, rate: 0.2 /s}\n"
                        "    prompt: {distribution: fixed, tokens: 700}\n"
                        "    output: {distribution: fixed, tokens: 6}\n",
                        HEADER, (const char *)policy);
    g_autoptr(RunResult) step = run_with(text, "policy.grain=step");
    g_autoptr(RunResult) operator= run_with(text, "policy.grain=operator");
    g_assert_cmpuint(step->n_requests, ==, operator->n_requests);
    for (guint i = 0; i < step->n_requests; i++) {
        const ServedRequest *a = &step->requests[i], *b = &operator->requests[i];
        double arrival_s = a->request.arrival_s;
        assert_close(a->first_token_s - arrival_s, b->first_token_s - arrival_s, 0.01);
        assert_close(a->completed_s - arrival_s, b->completed_s - arrival_s, 0.01);
    }
    assert_close(step->ledger.bytes_sent[PURPOSE_ALL_REDUCE],
                 operator->ledger.bytes_sent[PURPOSE_ALL_REDUCE], 1e-9);
    assert_close(step->ledger.bytes_sent[PURPOSE_KV_MIGRATION],
                 operator->ledger.bytes_sent[PURPOSE_KV_MIGRATION], 1e-9);
}

#define PBD                                                                                        \
    "policy:\n  mode: pbd\n  max_context: 1024\n  prefill: {dp: 4}\n"                              \
    "  buffer: {clusters: 1, high_watermark: 0.5, low_watermark: 0.25}\n"                          \
    "  decode: {tp: 4, slots: 4}\n"

/* Prefill outruns decode: admission stops at the high mark, and the pace becomes that of decode. */
static void test_a_full_buffer_stops_admission(void) {
    g_autoptr(RunResult) result = run_with(HEADER PBD FIXED("200", "900", "64"), NULL);
    double capacity = 19.9e9; /* 20 GB less 0.1 GB of overhead */
    g_assert_cmpfloat(result->paused_s, >, 0.3 * result->ledger.end_s);
    g_assert_cmpfloat(result->buffer_peak_bytes, >=, 0.5 * capacity);
    /* Admission checks the mark before each prompt, so one can be above it. */
    g_assert_cmpfloat(result->buffer_peak_bytes, <, 0.5 * capacity + 900 * 524288.0);
    g_autoptr(RunResult) wide =
        run_with(HEADER PBD FIXED("200", "900", "64"), "policy.buffer.high_watermark=1");
    assert_close(wide->ledger.end_s, result->ledger.end_s, 0.05);
}

/* Two prompts computed at the same time by two replicas send their KV to one buffer: both arrive
 * when its port, never idle since the first layer, has taken in all of it. */
static void test_migrations_share_the_port_of_the_buffer(void) {
    const char *text = HEADER "policy:\n  mode: pbd\n  max_context: 1024\n  placement: spread\n"
                              "  prefill: {dp: 2}\n  decode: {tp: 1}\n" FIXED("2", "1000", "2");
    g_autoptr(RunResult) result = run_with(text, "platform.network.port.bandwidth=100 MB/s");
    double bytes = 2 * 1000 * 524288.0, head_s = 0.01;
    for (guint i = 0; i < 2; i++) {
        const ServedRequest *served = &result->requests[i];
        double first_layer_s = served->first_token_s / 32;
        double expected_s = first_layer_s + bytes / 100e6;
        g_assert_cmpfloat(fabs(served->buffered_s - expected_s), <, head_s);
    }
    assert_close(result->ledger.bytes_received[PURPOSE_KV_MIGRATION], bytes, 1e-12);
}

static void squeeze_kv(Experiment *experiment) {
    for (guint i = 0; i < experiment->plan->n_replicas; i++)
        experiment->plan->replicas[i].kv_tokens =
            MIN(experiment->plan->replicas[i].kv_tokens, 1200);
}

/* With room for three prompts but not for their outputs, someone has to go and come back. */
static void test_on_demand_kv_preempts_and_recovers(gconstpointer policy) {
    g_autofree char *text =
        g_strdup_printf("%spolicy:\n  max_context: 1000\n  kv_reservation: on_demand\n%s%s", HEADER,
                        (const char *)policy, FIXED("12", "350", "200"));
    g_autoptr(RunResult) result = run_well(text, &(RunOptions){.tamper = squeeze_kv});
    g_assert_cmpuint(result->ledger.preemptions, >, 0);
    guint preempted = 0;
    for (guint i = 0; i < result->n_requests; i++) {
        g_assert_cmpuint(result->requests[i].generated, ==, 200);
        g_assert_cmpuint(result->requests[i].preemptions, <=, 3);
        preempted += result->requests[i].preemptions;
    }
    g_assert_cmpuint(preempted, ==, result->ledger.preemptions);
}

/* When nothing is short, how KV is reserved makes no difference to any date. */
static void test_ample_kv_makes_reservations_equal(void) {
    const char *text = HEADER "policy:\n  mode: colocated\n  max_context: 700\n"
                              "  colocated: {tp: 4, dp: 2, slots: 8}\n" FIXED("40", "400", "50");
    g_autoptr(RunResult) output = run_with(text, "policy.kv_reservation=output");
    g_autoptr(RunResult) context = run_with(text, "policy.kv_reservation=max_context");
    g_autoptr(RunResult) demand = run_with(text, "policy.kv_reservation=on_demand");
    g_assert_cmpuint(output->event_hash, ==, context->event_hash);
    g_assert_cmpuint(output->event_hash, ==, demand->event_hash);
    g_assert_cmpfloat(demand->kv_peak_bytes[0], <, output->kv_peak_bytes[0]);
    g_assert_cmpfloat(output->kv_peak_bytes[0], <, context->kv_peak_bytes[0]);
}

static void test_what_cannot_be_served_is_rejected_at_arrival(void) {
    const char *text = HEADER
        "policy:\n  mode: pbd\n  max_context: 600\n  decode: {tp: 4}\n" FIXED("5", "500", "101");
    g_autoptr(RunResult) context = run_all_rejected(text, NULL);
    g_assert_cmpuint(context->ledger.rejected[REJECT_CONTEXT], ==, 5);
    g_autoptr(RunResult) fits = run_with(text, "workload.synthetic.output.tokens=100");
    g_assert_cmpuint(fits->ledger.completed, ==, 5);
}

static void shrink_decoders(Experiment *experiment) {
    for (guint i = 0; i < experiment->plan->n_replicas; i++)
        experiment->plan->replicas[i].kv_tokens = 550;
}

static void shrink_buffers(Experiment *experiment) {
    for (guint i = 0; i < experiment->plan->n_buffers; i++)
        experiment->plan->buffers[i].bytes = 499 * 524288.0;
}

static void test_capacity_rejections_name_what_is_too_small(void) {
    const char *text = HEADER
        "policy:\n  mode: pbd\n  max_context: 600\n  decode: {tp: 4}\n" FIXED("3", "500", "60");
    g_autoptr(RunResult) decoder = run_all_rejected(text, &(RunOptions){.tamper = shrink_decoders});
    g_assert_cmpuint(decoder->ledger.rejected[REJECT_KV_CAPACITY], ==, 3);
    g_autoptr(RunResult) buffer = run_all_rejected(text, &(RunOptions){.tamper = shrink_buffers});
    g_assert_cmpuint(buffer->ledger.rejected[REJECT_BUFFER_CAPACITY], ==, 3);
}

/* One long request holds a synchronous batch; a continuous one lets others pass it. */
static void test_continuous_batching_does_not_wait_for_the_longest(void) {
    const char *text =
        HEADER "policy:\n  mode: pbd\n  max_context: 4000\n  decode: {tp: 4, slots: 4}\n"
               "workload:\n  synthetic:\n    requests: 60\n    arrivals: {process: batch}\n"
               "    prompt: {distribution: fixed, tokens: 64}\n"
               "    output: {distribution: lognormal, mean: 60, cv: 2}\n";
    g_autoptr(RunResult) continuous = run_with(text, "policy.decode.batching=continuous");
    g_autoptr(RunResult) synchronous = run_with(text, "policy.decode.batching=synchronous");
    g_assert_cmpfloat(continuous->ledger.end_s, <, 0.8 * synchronous->ledger.end_s);
}

/* Prompts in chunks between the decode tokens keep the gaps between tokens short. */
static void test_chunked_prefill_shortens_the_longest_gap(void) {
    const char *text = HEADER "policy:\n  mode: colocated\n  colocated: {tp: 4, slots: 16}\n"
                              "workload:\n  synthetic:\n    requests: 30\n"
                              "    arrivals: {process: constant, rate: 1 /s}\n"
                              "    prompt: {distribution: fixed, tokens: 2000}\n"
                              "    output: {distribution: fixed, tokens: 20}\n";
    g_autoptr(RunResult) whole = run_with(text, "policy.colocated.chunk_tokens=0");
    g_autoptr(RunResult) chunked = run_with(text, "policy.colocated.chunk_tokens=256");
    g_assert_cmpuint(chunked->ledger.completed, ==, 30);
    double whole_ttft_s = whole->requests[0].first_token_s;
    double chunked_ttft_s = chunked->requests[0].first_token_s;
    g_assert_cmpfloat(chunked_ttft_s, >=, whole_ttft_s); /* weights are read once a chunk */
    /* A part of a block of 720 rows costs a whole one: 8 chunks pay for 8, 2000 rows for 3. */
    g_assert_cmpfloat(chunked_ttft_s, <, 8.0 / 3 * whole_ttft_s);
    g_assert_cmpuint(chunked->ledger.steps, >, whole->ledger.steps);
}

static void test_prefix_hits_shorten_prefill(void) {
    g_autofree char *path = NULL;
    g_autoptr(GError) error = NULL;
    int file = g_file_open_tmp("infergrid-XXXXXX.jsonl", &path, &error);
    g_assert_no_error(error);
    close(file);
    const char *trace = "{\"timestamp\": 0, \"input_length\": 2048, \"output_length\": 2, "
                        "\"hash_ids\": [1, 2, 3, 4]}\n"
                        "{\"timestamp\": 60000, \"input_length\": 2048, \"output_length\": 2, "
                        "\"hash_ids\": [1, 2, 3, 9]}\n"
                        "{\"timestamp\": 120000, \"input_length\": 1024, \"output_length\": 2, "
                        "\"hash_ids\": [1, 2]}\n";
    g_file_set_contents(path, trace, -1, &error);
    g_autofree char *text = g_strdup_printf(
        HEADER "policy:\n  mode: pbd\n  max_context: 2500\n  decode: {tp: 4}\n"
               "  prefill: {prefix_cache: lru, prefix_cache_bytes: 3 GB}\nworkload: {trace: %s}\n",
        path);
    g_autoptr(RunResult) result = run_well(text, NULL);
    unlink(path);
    const ServedRequest *served = result->requests;
    g_assert_cmpuint(served[0].cached_tokens, ==, 0);
    g_assert_cmpuint(served[1].cached_tokens, ==, 3 * 512);
    g_assert_cmpuint(served[2].cached_tokens, ==, 1023); /* one token is always computed */
    g_assert_cmpuint(result->ledger.prefix_hits, ==, 5);
    double cold_s = served[0].first_token_s - served[0].prefill_start_s;
    double warm_s = served[1].first_token_s - served[1].prefill_start_s;
    g_assert_cmpfloat(warm_s, <, 0.5 * cold_s);
    /* All of the prompt's KV goes to the buffer, cached or not. */
    assert_close(result->ledger.bytes_sent[PURPOSE_KV_MIGRATION], (2048 + 2048 + 1024) * 524288.0,
                 1e-12);
}

/* Two pools, and only the second one's decoder can hold a request: nothing can move in the first.
 */
static void starve_first_pool(Experiment *experiment) {
    for (guint i = 0; i < experiment->plan->n_replicas; i++)
        if (experiment->plan->replicas[i].pool == 0)
            experiment->plan->replicas[i].kv_tokens = 10;
}

static void test_a_deadlock_says_who_waits_for_whom(void) {
    const char *text = HEADER "policy:\n  mode: pbd\n  pools: 2\n  routing: round_robin\n"
                              "  max_context: 600\n  decode: {tp: 4}\n" FIXED("4", "500", "60");
    g_autoptr(RunResult) result = run_experiment(text, &(RunOptions){.tamper = starve_first_pool});
    g_assert_cmpint(result->outcome, ==, OUTCOME_DEADLOCK);
    g_assert_nonnull(strstr(result->message, "with 2 requests open"));
    g_assert_nonnull(strstr(result->message, "pool 0: 2 in the buffer wait for a decode replica"));
    g_assert_cmpuint(result->ledger.completed, ==, 2);
    g_assert_cmpuint(result->ledger.dropped, ==, 2);
}

/* KV in the buffer, a full queue behind it, and nobody who can take it. */
static void starve_all_pools(Experiment *experiment) {
    starve_first_pool(experiment);
    experiment->plan->replicas[experiment->plan->n_replicas - 1].kv_tokens = 10000;
}

static void test_a_deadlock_with_a_full_buffer_is_reported_too(void) {
    const char *text = HEADER "policy:\n  mode: pbd\n  pools: 2\n  routing: round_robin\n"
                              "  max_context: 600\n  buffer: {clusters: 1, high_watermark: 0.04, "
                              "low_watermark: 0.01}\n  decode: {tp: 4}\n" FIXED("40", "500", "60");
    g_autoptr(RunResult) result = run_experiment(text, &(RunOptions){.tamper = starve_all_pools});
    g_assert_cmpint(result->outcome, ==, OUTCOME_DEADLOCK);
    g_assert_nonnull(strstr(result->message, "in the buffer wait for a decode replica"));
    g_assert_nonnull(strstr(result->message, "queued"));
}

/* All KV may reach the buffer before the last prompt's step has ended: the short batch must start.
 */
static void test_a_synchronous_batch_starts_short_when_the_buffer_is_full(void) {
    g_autoptr(RunResult) result = run_with(
        HEADER "policy:\n  mode: pbd\n  max_context: 640\n  buffer: {backpressure: off}\n"
               "  decode: {tp: 4, slots: 100, batching: synchronous}\n" FIXED("80", "512", "8"),
        NULL);
    g_assert_cmpuint(result->ledger.completed, ==, 80);
}

static void test_an_interrupted_run_drops_what_is_open(void) {
    g_autoptr(RunResult) result = run_experiment(HEADER PBD FIXED("100", "300", "30"),
                                                 &(RunOptions){.interrupt_after_events = 150});
    g_assert_cmpint(result->outcome, ==, OUTCOME_INTERRUPTED);
    g_assert_cmpstr(result->message, ==, "");
    g_assert_cmpuint(result->ledger.dropped, >, 0);
    g_assert_cmpuint(result->ledger.completed + result->ledger.dropped, ==, result->ledger.arrived);
}

static void test_seeds_decide_the_run(void) {
    const char *text = HEADER PBD "workload:\n  synthetic:\n    requests: 50\n"
                                  "    arrivals: {process: poisson, rate: 2 /s}\n"
                                  "    prompt: {distribution: uniform, min: 10, max: 600}\n"
                                  "    output: {distribution: uniform, min: 1, max: 50}\n";
    g_autoptr(RunResult) first = run_with(text, "seed=5");
    g_autoptr(RunResult) again = run_with(text, "seed=5");
    g_autoptr(RunResult) other = run_with(text, "seed=6");
    g_assert_cmpuint(first->event_hash, ==, again->event_hash);
    g_assert_cmpuint(first->event_hash, !=, other->event_hash);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    const char *pbd =
        "  mode: pbd\n  prefill: {dp: 2, pp: 2}\n  decode: {tp: 4, pp: 2, slots: 2}\n";
    const char *colocated =
        "  mode: colocated\n  colocated: {tp: 2, slots: 3, chunk_tokens: 200}\n";
    g_test_add_data_func("/serving/grains/pbd", pbd,
                         test_step_grain_is_within_1_percent_of_operator_grain);
    g_test_add_data_func("/serving/grains/colocated", colocated,
                         test_step_grain_is_within_1_percent_of_operator_grain);
    g_test_add_func("/serving/backpressure", test_a_full_buffer_stops_admission);
    g_test_add_func("/serving/shared-port", test_migrations_share_the_port_of_the_buffer);
    g_test_add_data_func("/serving/preemption/colocated",
                         "  mode: colocated\n  colocated: {tp: 4, slots: 8}\n",
                         test_on_demand_kv_preempts_and_recovers);
    g_test_add_data_func("/serving/preemption/pbd",
                         "  mode: pbd\n  decode: {tp: 4, pp: 2, slots: 4}\n",
                         test_on_demand_kv_preempts_and_recovers);
    g_test_add_func("/serving/reservations", test_ample_kv_makes_reservations_equal);
    g_test_add_func("/serving/rejected", test_what_cannot_be_served_is_rejected_at_arrival);
    g_test_add_func("/serving/too-small", test_capacity_rejections_name_what_is_too_small);
    g_test_add_func("/serving/continuous", test_continuous_batching_does_not_wait_for_the_longest);
    g_test_add_func("/serving/chunks", test_chunked_prefill_shortens_the_longest_gap);
    g_test_add_func("/serving/prefix-cache", test_prefix_hits_shorten_prefill);
    g_test_add_func("/serving/deadlock", test_a_deadlock_says_who_waits_for_whom);
    g_test_add_func("/serving/deadlock/full-buffer",
                    test_a_deadlock_with_a_full_buffer_is_reported_too);
    g_test_add_func("/serving/short-batch",
                    test_a_synchronous_batch_starts_short_when_the_buffer_is_full);
    g_test_add_func("/serving/interrupted", test_an_interrupted_run_drops_what_is_open);
    g_test_add_func("/serving/seeds", test_seeds_decide_the_run);
    return g_test_run();
}
