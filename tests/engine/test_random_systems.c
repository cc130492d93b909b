/* Properties of whole runs, on randomly drawn systems and loads: every run finishes with all its
 * invariants, fast-forward changes nothing, watching changes nothing, memory is never overdrawn. */
#include "tests/engine/run.h"
#include "workloads/random.h"

static guint64 pick(RandomStream *stream, guint64 low, guint64 high) {
    return low + random_below(stream, high - low + 1);
}

static const char *choose(RandomStream *stream, const char *const *names, guint n) {
    return names[random_below(stream, n)];
}
#define CHOOSE(stream, ...)                                                                        \
    choose(stream, (const char *const[]){__VA_ARGS__},                                             \
           G_N_ELEMENTS(((const char *const[]){__VA_ARGS__})))

static void draw_workload(RandomStream *stream, GString *out) {
    const char *process = CHOOSE(stream, "batch", "constant", "poisson", "gamma", "closed_loop");
    g_string_append_printf(out,
                           "workload:\n  synthetic:\n    requests: %" G_GUINT64_FORMAT
                           "\n    arrivals: {process: %s",
                           pick(stream, 1, 60), process);
    if (g_str_equal(process, "closed_loop"))
        g_string_append_printf(out, ", users: %" G_GUINT64_FORMAT ", think_time: %s s}\n",
                               pick(stream, 1, 12), CHOOSE(stream, "0", "0.25", "3"));
    else if (g_str_equal(process, "batch"))
        g_string_append(out, "}\n");
    else
        g_string_append_printf(out, ", rate: %s /s%s}\n", CHOOSE(stream, "0.5", "4", "50"),
                               g_str_equal(process, "gamma") ? ", cv: 3" : "");
    g_string_append_printf(out,
                           "    prompt: {distribution: uniform, min: 1, max: %" G_GUINT64_FORMAT
                           "}\n    output: {distribution: uniform, min: 1, max: %" G_GUINT64_FORMAT
                           "}\n",
                           pick(stream, 1, 900), pick(stream, 1, 60));
}

static void draw_pbd(RandomStream *stream, GString *out) {
    gboolean on_demand = random_below(stream, 3) == 0;
    gboolean continuous = on_demand || random_below(stream, 2) == 0;
    g_string_append_printf(
        out,
        "  mode: pbd\n  pools: %" G_GUINT64_FORMAT "\n  kv_reservation: %s\n"
        "  prefill: {dp: %" G_GUINT64_FORMAT ", pp: %" G_GUINT64_FORMAT
        ", micro_batch: %" G_GUINT64_FORMAT ", chunk_tokens: %s}\n"
        "  buffer: {clusters: %" G_GUINT64_FORMAT
        ", high_watermark: %s, low_watermark: %s, backpressure: %s}\n"
        "  decode: {tp: %s, pp: %" G_GUINT64_FORMAT ", dp: %" G_GUINT64_FORMAT
        ", slots: %" G_GUINT64_FORMAT ", batching: %s}\n",
        pick(stream, 1, 2), on_demand ? "on_demand" : CHOOSE(stream, "output", "max_context"),
        pick(stream, 1, 3), pick(stream, 1, 3), pick(stream, 1, 4), CHOOSE(stream, "0", "128"),
        pick(stream, 1, 2), CHOOSE(stream, "0.9", "0.01", "0.002"),
        CHOOSE(stream, "0.001", "0.002"), CHOOSE(stream, "watermark", "off"),
        CHOOSE(stream, "1", "2", "4", "8"), pick(stream, 1, 3), pick(stream, 1, 2),
        pick(stream, 1, 9), continuous ? "continuous" : "synchronous");
}

static void draw_colocated(RandomStream *stream, GString *out) {
    gboolean on_demand = random_below(stream, 3) == 0;
    gboolean continuous = on_demand || random_below(stream, 2) == 0;
    g_string_append_printf(
        out,
        "  mode: colocated\n  pools: %" G_GUINT64_FORMAT "\n  kv_reservation: %s\n"
        "  colocated: {tp: %s, pp: %" G_GUINT64_FORMAT ", dp: %" G_GUINT64_FORMAT
        ", slots: %" G_GUINT64_FORMAT ", batching: %s, chunk_tokens: %s, max_batch_tokens: %s}\n",
        pick(stream, 1, 2), on_demand ? "on_demand" : CHOOSE(stream, "output", "max_context"),
        CHOOSE(stream, "1", "2", "4", "8"), pick(stream, 1, 3), pick(stream, 1, 2),
        pick(stream, 1, 9), continuous ? "continuous" : "static",
        continuous ? CHOOSE(stream, "0", "64", "300") : "0", CHOOSE(stream, "100", "8192"));
}

/* Little room for KV, so that capacity, watermarks and preemption are met. */
static void squeeze(Experiment *experiment) {
    for (guint i = 0; i < experiment->plan->n_replicas; i++) {
        ReplicaPlan *replica = &experiment->plan->replicas[i];
        if (replica->role != ROLE_PREFILL)
            replica->kv_tokens = MIN(replica->kv_tokens, 1500);
    }
    /* Room in the buffer for one to five of the longest requests, unlike from run to run. */
    for (guint i = 0; i < experiment->plan->n_buffers; i++)
        experiment->plan->buffers[i].bytes =
            (double)(1 + (experiment->seed + i) % 5) * 1000 * 524288;
}

static char *draw_experiment(guint64 seed) {
    RandomStream stream = random_stream(seed, "systems");
    GString *out = g_string_new(NULL);
    g_string_printf(out,
                    "version: 1\nseed: %" G_GUINT64_FORMAT
                    "\nplatform: mt3000\nmodel: llama-2-7b\npolicy:\n"
                    "  max_context: 1000\n  placement: %s\n  routing: %s\n  admission: %s\n",
                    seed, CHOOSE(&stream, "packed", "spread"),
                    CHOOSE(&stream, "round_robin", "least_loaded", "shortest_queue"),
                    CHOOSE(&stream, "fcfs", "shortest_prompt"));
    if (random_below(&stream, 2) == 0)
        draw_pbd(&stream, out);
    else
        draw_colocated(&stream, out);
    draw_workload(&stream, out);
    return g_string_free(out, FALSE);
}

static void assert_same(const RunResult *a, const RunResult *b) {
    g_assert_cmpuint(a->event_hash, ==, b->event_hash);
    g_assert_cmpuint(a->n_requests, ==, b->n_requests);
    g_assert_cmpmem(a->requests, a->n_requests * sizeof *a->requests, b->requests,
                    b->n_requests * sizeof *b->requests);
    g_assert_cmpuint(a->ledger.steps, ==, b->ledger.steps);
    g_assert_cmpmem(a->ledger.bytes_sent, sizeof a->ledger.bytes_sent, b->ledger.bytes_sent,
                    sizeof b->ledger.bytes_sent);
    g_assert_cmpmem(a->stages, sizeof a->stages, b->stages, sizeof b->stages);
    g_assert_true(a->joules == b->joules);
}

/* Dates come in the order of a request's life, and every token has been made. */
static void assert_lives(const RunResult *result) {
    for (guint i = 0; i < result->n_requests; i++) {
        const ServedRequest *served = &result->requests[i];
        if (served->rejected != REJECT_NONE)
            continue;
        g_assert_cmpuint(served->generated, ==, served->request.output_tokens);
        g_assert_cmpfloat(served->prefill_start_s, >=, served->request.arrival_s);
        g_assert_cmpfloat(served->first_token_s, >, served->prefill_start_s);
        g_assert_cmpfloat(served->completed_s, >=, served->first_token_s);
        if (served->request.output_tokens > 1)
            g_assert_cmpfloat(served->decode_start_s, >=, served->first_token_s);
    }
}

static void test_random_system(gconstpointer data) {
    guint64 seed = GPOINTER_TO_SIZE(data);
    g_autofree char *text = draw_experiment(seed);
    g_test_message("%s", text);
    const char *const wide[] = {"platform.nodes=32", NULL};
    RunOptions plain = {.overrides = wide, .tamper = squeeze, .sample_interval_s = 0.7};
    RunOptions stepping = plain, watched = plain, glimpsed = plain;
    stepping.stepping = TRUE;
    watched.watch_steps = TRUE;
    glimpsed.glimpse_steps = 40;
    g_autoptr(RunResult) first = run_well(text, &plain);
    g_autoptr(RunResult) stepped = run_well(text, &stepping);
    g_autoptr(RunResult) seen = run_well(text, &watched);
    g_autoptr(RunResult) half_seen = run_well(text, &glimpsed);
    assert_lives(first);
    assert_same(first, stepped);
    assert_same(first, seen);
    assert_same(first, half_seen);
    g_assert_cmpuint(half_seen->glimpsed_steps, ==, MIN(40, first->ledger.steps));
    g_assert_cmpuint(half_seen->glimpsed_samples, >, 10);
    double capacity = 1500.0 * 524288;
    for (guint i = 0; i < first->n_stages; i++)
        if (first->stages[i].role != ROLE_PREFILL)
            g_assert_cmpfloat(first->kv_peak_bytes[first->stages[i].replica], <=, capacity);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    guint systems = g_test_thorough() ? 2000 : 60;
    for (guint seed = 1; seed <= systems; seed++) {
        g_autofree char *path = g_strdup_printf("/random-systems/%u", seed);
        g_test_add_data_func(path, GSIZE_TO_POINTER((gsize)seed), test_random_system);
    }
    return g_test_run();
}
