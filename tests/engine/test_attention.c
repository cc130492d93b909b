/* Attention block by block in the engine: against the sums without an engine, closed forms, and the
 * counts of THInfer's table III. */
#include "actors/engine.h"
#include "platforms/kernel_cycles.h"
#include "tests/engine/attention_fixture.h"
#include "tests/engine/child.h"
#include "workloads/input_error.h"
#include "workloads/random.h"
#include <math.h>
#include <string.h>

static guint64 draw(RandomStream *stream, const guint64 *choices, gsize n) {
    return choices[random_below(stream, n)];
}
#define DRAW(stream, ...)                                                                          \
    draw(stream, (const guint64[]){__VA_ARGS__},                                                   \
         sizeof((const guint64[]){__VA_ARGS__}) / sizeof(guint64))

/* Any shape that a test of a second can afford. */
static AttentionShape random_shape(RandomStream *stream) {
    AttentionShape shape = {
        .kv_heads = DRAW(stream, 1, 2, 5, 8),
        .head_dim = DRAW(stream, 16, 64, 80, 128, 256),
        .new_tokens = DRAW(stream, 1, 7, 64, 65, 500, 1536, 1537, 4000),
        .past_tokens = DRAW(stream, 0, 1, 255, 256, 5000),
        .batch = DRAW(stream, 1, 3),
        .type = random_below(stream, 4) == 0 ? DATA_TYPE_FP32 : DATA_TYPE_FP16,
        .variant = (AttentionVariant)random_below(stream, 3),
        .causal = random_below(stream, 2) == 0,
    };
    shape.heads = shape.kv_heads * DRAW(stream, 1, 1, 4, 7);
    return shape;
}

/* --- time */

static void check_random_shapes(const ChildJob *job) {
    RandomStream stream = random_stream(1, "attention shapes");
    g_autoptr(Cluster) cluster = cluster_new(job->platform, 0, NULL, NULL);

    for (guint i = 0; i < 150; i++) {
        AttentionShape shape = random_shape(&stream);
        g_autofree char *text = attention_shape_text(&shape);
        g_autoptr(GError) error = NULL;
        double estimate_s = attention_estimate_seconds(&shape, job->platform, &error);
        g_assert_no_error(error);
        AttentionReport stage = attention_run_well(cluster, &shape, ATTENTION_GRAIN_STAGE);
        AttentionReport wave = attention_run_well(cluster, &shape, ATTENTION_GRAIN_WAVE);
        g_test_message("%s: %.6g s", text, estimate_s);
        g_assert_true(attention_close(stage.seconds, estimate_s, 1e-7));
        g_assert_true(attention_close(wave.seconds, estimate_s, 1e-7));
        for (AttentionTensor tensor = 0; tensor < N_ATTENTION_TENSORS; tensor++)
            g_assert_cmpfloat(stage.bytes[tensor], ==, wave.bytes[tensor]);
    }
}

static void test_the_simulation_takes_what_the_estimate_says(void) {
    child_run(check_random_shapes, NULL);
}

static void check_grains(const ChildJob *job) {
    static const AttentionShape shapes[] = {
        {2, 2, 128, 2000, 0, 1, DATA_TYPE_FP16, ATTENTION_MT, FALSE},
        {2, 2, 128, 4096, 0, 1, DATA_TYPE_FP16, ATTENTION_MT, TRUE},
        {4, 1, 64, 700, 900, 2, DATA_TYPE_FP32, ATTENTION_MT, TRUE},
        {2, 2, 128, 3100, 0, 1, DATA_TYPE_FP16, ATTENTION_FLASH, FALSE},
        {4, 2, 128, 1000, 77, 1, DATA_TYPE_FP16, ATTENTION_FLASH, TRUE},
        {4, 2, 128, 1700, 77, 1, DATA_TYPE_FP16, ATTENTION_UNFUSED, TRUE},
        {32, 8, 128, 1, 3333, 4, DATA_TYPE_FP16, ATTENTION_MT, TRUE},
    };
    g_autoptr(Cluster) cluster = cluster_new(job->platform, 0, NULL, NULL);

    for (guint i = 0; i < G_N_ELEMENTS(shapes); i++) {
        AttentionReport block = attention_run_well(cluster, &shapes[i], ATTENTION_GRAIN_BLOCK);
        AttentionReport stage = attention_run_well(cluster, &shapes[i], ATTENTION_GRAIN_STAGE);
        g_assert_true(attention_close(block.seconds, stage.seconds, 1e-7));
        for (AttentionTensor tensor = 0; tensor < N_ATTENTION_TENSORS; tensor++)
            g_assert_cmpfloat(block.bytes[tensor], ==, stage.bytes[tensor]);
    }
}

static void test_every_grain_takes_the_same_time_and_bytes(void) {
    child_run(check_grains, NULL);
}

static double estimate_s(const Platform *platform, const AttentionShape *shape) {
    g_autoptr(GError) error = NULL;
    double seconds = attention_estimate_seconds(shape, platform, &error);

    g_assert_no_error(error);
    return seconds;
}

/* MT attention of one round written out: S rows at 64 a DSP, both products by the kernel's cycles.
 */
static void test_one_round_is_its_closed_form(void) {
    g_autoptr(Platform) platform = child_platform();
    const ClusterSpec *cluster = &platform->cluster;

    for (guint64 tokens = 256; tokens <= 1536; tokens += 256) {
        AttentionShape shape = attention_table_shape(ATTENTION_MT, 1, tokens);
        shape.batch = 1;
        guint64 blocks = tokens / 256;
        double block_s = 256 * 128 * 2 / cluster->ddr_bytes_per_s;
        KernelTile qk = {64, 256, 128, 6, 256, DATA_TYPE_FP16};
        KernelTile wv = {64, 128, 256, 6, 256, DATA_TYPE_FP16};
        double cycles =
            blocks * (kernel_tile_cycles(&qk, cluster) + kernel_tile_cycles(&wv, cluster)) +
            64.0 * tokens * cluster->softmax_cycles_per_score;
        /* Q, the first block of K, and O in the open; everything else under the computing. */
        double seconds = 2 * blocks * block_s + block_s + cycles / cluster->clock_hz;
        g_assert_cmpfloat_with_epsilon(estimate_s(platform, &shape), seconds, 1e-12);
    }
}

/* With K and V from DDR once and little to compute, decode lasts as long as the bytes take. */
static void test_decode_streams_k_and_v_once(void) {
    g_autoptr(Platform) platform = child_platform();
    static const guint64 contexts[] = {1000, 8192, 131072};
    static const guint64 heads[][2] = {{32, 32}, {32, 8}, {64, 8}, {8, 1}};

    for (guint i = 0; i < G_N_ELEMENTS(contexts); i++)
        for (guint j = 0; j < G_N_ELEMENTS(heads); j++)
            for (AttentionVariant variant = ATTENTION_FLASH; variant <= ATTENTION_MT; variant++) {
                AttentionShape shape = {heads[j][0], heads[j][1],    128,     1,   contexts[i] - 1,
                                        2,           DATA_TYPE_FP16, variant, TRUE};
                double kv_s = 2.0 * 2 * heads[j][1] * contexts[i] * 128 * 2 /
                              platform->cluster.ddr_bytes_per_s;
                double seconds = estimate_s(platform, &shape);
                g_test_message("%s, %d heads on %d, %d tokens: %.3f of the transfer alone",
                               attention_names[variant], (int)heads[j][0], (int)heads[j][1],
                               (int)contexts[i], seconds / kv_s);
                g_assert_cmpfloat(seconds, >=, kv_s);
                g_assert_cmpfloat(seconds, <=, 1.3 * kv_s);
            }
}

static void test_time_is_monotone(void) {
    g_autoptr(Platform) platform = child_platform();
    RandomStream stream = random_stream(2, "attention monotone");

    for (guint i = 0; i < 300; i++) {
        AttentionShape shape = random_shape(&stream), longer = shape, batch = shape;
        longer.past_tokens += 1 + random_below(&stream, 3) * 300;
        batch.batch++;
        double seconds = estimate_s(platform, &shape);
        g_assert_cmpfloat(estimate_s(platform, &batch), >=, seconds);
        /* Fewer rows a block may cost less where they are fewer kernel calls; see the 64 → 48 step.
         */
        AttentionBlocks blocks[2];
        AttentionProblem problems[] = {attention_problem(&shape), attention_problem(&longer)};
        for (guint j = 0; j < 2; j++)
            g_assert_true(attention_blocks(&problems[j], attention_score_place(shape.variant),
                                           &platform->cluster, &blocks[j], NULL));
        if (blocks[0].rows == blocks[1].rows && blocks[0].columns == blocks[1].columns)
            g_assert_cmpfloat(estimate_s(platform, &longer), >=, seconds);
    }
}

static void test_a_causal_mask_never_costs_and_saves_whole_rounds(void) {
    g_autoptr(Platform) platform = child_platform();

    for (AttentionVariant variant = ATTENTION_UNFUSED; variant <= ATTENTION_MT; variant++) {
        AttentionShape one_round = attention_table_shape(variant, 8, 1536), many = one_round;
        double whole_s = estimate_s(platform, &one_round);
        one_round.causal = TRUE;
        g_assert_cmpfloat(estimate_s(platform, &one_round), ==, whole_s);
        many.new_tokens = 12 * 1536;
        whole_s = estimate_s(platform, &many);
        many.causal = TRUE;
        double share = estimate_s(platform, &many) / whole_s;
        g_assert_cmpfloat(share, >, 0.5);
        g_assert_cmpfloat(share, <, 0.6);
    }
}

/* Prompts of 128K tokens and one token after as many: rows shrink to a few, and both the estimate
 * and the simulation stay quick. Unfused, the scores of one head of such a prompt exceed DDR. */
static void check_long_contexts(const ChildJob *job) {
    static const AttentionShape shapes[] = {
        {32, 8, 128, 32768, 98304, 1, DATA_TYPE_FP16, ATTENTION_MT, TRUE},
        {32, 32, 128, 131072, 0, 1, DATA_TYPE_FP16, ATTENTION_MT, FALSE},
        {32, 8, 128, 131072, 0, 1, DATA_TYPE_FP16, ATTENTION_FLASH, TRUE},
        {64, 8, 128, 512, 130560, 2, DATA_TYPE_FP16, ATTENTION_MT, TRUE},
        {64, 8, 128, 512, 130560, 2, DATA_TYPE_FP16, ATTENTION_UNFUSED, TRUE},
        {64, 8, 128, 1, 131071, 4, DATA_TYPE_FP16, ATTENTION_MT, TRUE},
        {64, 8, 128, 1, 131071, 4, DATA_TYPE_FP16, ATTENTION_FLASH, TRUE},
        {64, 8, 128, 1, 131071, 4, DATA_TYPE_FP16, ATTENTION_UNFUSED, TRUE},
    };
    g_autoptr(Cluster) cluster = cluster_new(job->platform, 0, NULL, NULL);

    for (guint i = 0; i < G_N_ELEMENTS(shapes); i++) {
        g_autofree char *text = attention_shape_text(&shapes[i]);
        gint64 start_us = g_get_monotonic_time();
        double seconds = estimate_s(job->platform, &shapes[i]);
        gint64 estimated_us = g_get_monotonic_time();
        AttentionReport report = attention_run_well(cluster, &shapes[i], ATTENTION_GRAIN_WAVE);
        g_test_message("%s: %.4g s, rows %d, %.1f ms to estimate, %.0f ms to simulate", text,
                       seconds, (int)report.blocks.rows, (estimated_us - start_us) * 1e-3,
                       (g_get_monotonic_time() - estimated_us) * 1e-3);
        g_assert_true(attention_close(report.seconds, seconds, 1e-6));
    }
}

static void test_contexts_of_128k_tokens_work(void) {
    child_run(check_long_contexts, NULL);
}

/* --- the timeline */

typedef struct Overlap {
    double k_under_qk_s, k_s; /* K on the lane while scores are computed; at all */
    GArray *k_events;
} Overlap;

static void see_block(gpointer data, const BlockEvent *event) {
    Overlap *overlap = data;

    if (event->on_lane && g_str_equal(event->label, "K"))
        g_array_append_val(overlap->k_events, *event);
    if (event->on_lane || !g_str_equal(event->label, "QK"))
        return;
    for (guint i = 0; i < overlap->k_events->len; i++) {
        const BlockEvent *k = &g_array_index(overlap->k_events, BlockEvent, i);
        double shared = MIN(k->end_s, event->end_s) - MAX(k->start_s, event->start_s);
        overlap->k_under_qk_s += MAX(shared, 0);
    }
}

static double share_of_k_under_qk(const Platform *platform, AttentionVariant variant) {
    Overlap overlap = {.k_events = g_array_new(FALSE, FALSE, sizeof(BlockEvent))};
    g_autoptr(Cluster) cluster = cluster_new(platform, 0, see_block, &overlap);
    AttentionShape shape = attention_table_shape(variant, 1, 2048);

    attention_run_well(cluster, &shape, ATTENTION_GRAIN_BLOCK);
    for (guint i = 0; i < overlap.k_events->len; i++) {
        const BlockEvent *k = &g_array_index(overlap.k_events, BlockEvent, i);
        overlap.k_s += k->end_s - k->start_s;
    }
    g_array_free(overlap.k_events, TRUE);
    return overlap.k_under_qk_s / overlap.k_s;
}

/* Of eight blocks of K a round, MT moves all but the first under the computing of scores. */
static void check_timeline(const ChildJob *job) {
    g_assert_true(attention_close(share_of_k_under_qk(job->platform, ATTENTION_MT), 7 / 8.0, 1e-6));
    g_assert_cmpfloat(share_of_k_under_qk(job->platform, ATTENTION_UNFUSED), ==, 0);
}

static void test_the_timeline_shows_k_arriving_under_the_computing(void) {
    child_run(check_timeline, NULL);
}

/* --- counts of table III */

static guint64 rounds_up(guint64 a, guint64 b) {
    return (a + b - 1) / b;
}

static void check_counts(const ChildJob *job) {
    RandomStream stream = random_stream(3, "attention counts");
    g_autoptr(Cluster) cluster = cluster_new(job->platform, 0, NULL, NULL);

    for (guint i = 0; i < 200; i++) {
        guint64 tokens = 65 + random_below(&stream, i % 4 == 0 ? 20000 : 5000);
        AttentionVariant variant = i % 2 == 0 ? ATTENTION_MT : ATTENTION_FLASH;
        AttentionShape shape = attention_table_shape(variant, 1 + random_below(&stream, 3), tokens);
        shape.batch = 1 + random_below(&stream, 2);
        shape.type = i % 3 == 0 ? DATA_TYPE_FP32 : DATA_TYPE_FP16;
        shape.head_dim = i % 5 == 0 ? 64 : 128;
        AttentionReport report = attention_run_well(cluster, &shape, ATTENTION_GRAIN_STAGE);
        guint64 kv_blocks = rounds_up(tokens, report.blocks.columns); /* S/Mc */
        guint64 rounds = rounds_up(tokens, report.blocks.rows * 24);  /* S/(Mr·24) */
        gboolean mt = variant == ATTENTION_MT;
        g_assert_cmpfloat(report.passes[ATTENTION_Q], ==, mt ? 1 : kv_blocks);
        g_assert_cmpfloat(report.passes[ATTENTION_O], ==, mt ? 1 : 2 * kv_blocks);
        g_assert_cmpfloat(report.passes[ATTENTION_K], ==, mt ? rounds : 1);
        g_assert_cmpfloat(report.passes[ATTENTION_V], ==, mt ? rounds : 1);
    }
}

static void test_passes_over_the_tensors_are_those_of_table_iii(void) {
    child_run(check_counts, NULL);
}

/* At block grain every transfer is one: counted one by one they are rounds · K/V blocks. */
static void check_operations(const ChildJob *job) {
    static const guint64 lengths[] = {300, 1536, 1537, 4096};
    gint *ok = job->data;

    for (guint i = 0; i < G_N_ELEMENTS(lengths); i++) {
        g_autoptr(Cluster) cluster = cluster_new(job->platform, 0, NULL, NULL);
        AttentionShape shape = attention_table_shape(ATTENTION_MT, 1, lengths[i]);
        AttentionReport report = attention_run_well(cluster, &shape, ATTENTION_GRAIN_BLOCK);
        const ClusterCounts *counts = cluster_counts(cluster);
        guint64 rounds = 4 * rounds_up(lengths[i], report.blocks.rows * 24);
        guint64 kv_blocks = rounds_up(lengths[i], report.blocks.columns);
        g_assert_cmpuint(counts->moves[MOVE_BROADCAST], ==, 2 * rounds * kv_blocks);
        g_assert_cmpuint(counts->moves[MOVE_DDR_TO_SM], ==, rounds);
        g_assert_cmpuint(counts->moves[MOVE_AM_TO_DDR], ==, rounds);
        g_assert_cmpfloat(counts->macs, ==, attention_macs(&shape));
        ++*ok;
    }
}

static void test_every_block_is_one_transfer(void) {
    gint *ok = child_shared(sizeof *ok);

    child_run(check_operations, ok);
    g_assert_cmpint(*ok, ==, 4);
}

/* --- errors */

static void check_errors(const ChildJob *job) {
    static const struct {
        AttentionShape shape;
        const char *message;
    } cases[] = {
        {{8, 3, 128, 5, 0, 1, DATA_TYPE_FP16, ATTENTION_MT, FALSE},
         "8 heads cannot share 3 KV heads evenly"},
        {{8, 8, 128, 0, 5, 1, DATA_TYPE_FP16, ATTENTION_MT, FALSE},
         "'new_tokens' must lie between 1 and 16777216, not 0"},
        {{1, 1, 128, 1, 400000, 1, DATA_TYPE_FP16, ATTENTION_MT, FALSE},
         "attention does not fit AM and the GSM share of a DSP: one row over 400001 tokens needs "
         "1732104 bytes of 1048576"},
        {{1, 1, 128, 1, 400000, 1, DATA_TYPE_FP16, ATTENTION_UNFUSED, FALSE},
         "attention does not fit AM: one row over 400001 tokens needs 866312 bytes of 786432"},
        {{1, 1, 65536, 1, 0, 1, DATA_TYPE_FP16, ATTENTION_MT, FALSE},
         "attention does not fit SM: one row of head dimension 65536 needs 131072 bytes of 65536"},
        {{64, 64, 128, 100000, 0, 4, DATA_TYPE_FP16, ATTENTION_FLASH, FALSE},
         "attention does not fit DDR: its tensors need 26419200000 bytes of 20000000000"},
    };
    g_autoptr(Cluster) cluster = cluster_new(job->platform, 0, NULL, NULL);

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) ran = NULL;
        g_autoptr(GError) estimated = NULL;
        g_assert_false(attention_run(cluster, &cases[i].shape, NULL, &ran));
        g_assert_true(
            isnan(attention_estimate_seconds(&cases[i].shape, job->platform, &estimated)));
        g_assert_cmpstr(ran->message, ==, cases[i].message);
        g_assert_cmpstr(estimated->message, ==, cases[i].message);
        g_assert_true(ran->domain == INPUT_ERROR);
    }
    g_assert_cmpfloat(engine_now(), ==, 0);
    g_assert_cmpuint(cluster_counts(cluster)->launches, ==, 0);
}

static void test_what_is_wrong_or_does_not_fit_is_refused(void) {
    child_run(check_errors, NULL);
}

/* The tiers are booked while an operator runs and free after it. */
static void check_tiers(const ChildJob *job) {
    g_autoptr(Cluster) cluster = cluster_new(job->platform, 0, NULL, NULL);
    AttentionShape shape = attention_table_shape(ATTENTION_MT, 1, 4096);
    g_autoptr(GError) error = NULL;

    g_assert_true(cluster_reserve(cluster, TIER_GSM, 6e6, "weights", &error));
    g_assert_false(attention_run(cluster, &shape, NULL, &error));
    g_assert_nonnull(strstr(error->message, "GSM"));
    g_clear_error(&error);
    cluster_release(cluster, TIER_GSM, 6e6);
    attention_run_well(cluster, &shape, ATTENTION_GRAIN_STAGE);
    const ClusterSpec *spec = &job->platform->cluster;
    const double all[N_TIERS] = {spec->sm_bytes, spec->am_bytes, spec->gsm_bytes,
                                 spec->ddr_usable_bytes};
    for (MemoryTier tier = 0; tier < N_TIERS; tier++)
        g_assert_true(cluster_reserve(cluster, tier, all[tier], "everything", &error));
}

static void test_tiers_are_booked_and_given_back(void) {
    child_run(check_tiers, NULL);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/attention/estimate", test_the_simulation_takes_what_the_estimate_says);
    g_test_add_func("/attention/grains", test_every_grain_takes_the_same_time_and_bytes);
    g_test_add_func("/attention/closed_form", test_one_round_is_its_closed_form);
    g_test_add_func("/attention/decode", test_decode_streams_k_and_v_once);
    g_test_add_func("/attention/monotone", test_time_is_monotone);
    g_test_add_func("/attention/causal", test_a_causal_mask_never_costs_and_saves_whole_rounds);
    g_test_add_func("/attention/long_contexts", test_contexts_of_128k_tokens_work);
    g_test_add_func("/attention/timeline", test_the_timeline_shows_k_arriving_under_the_computing);
    g_test_add_func("/attention/table_iii", test_passes_over_the_tensors_are_those_of_table_iii);
    g_test_add_func("/attention/operations", test_every_block_is_one_transfer);
    g_test_add_func("/attention/errors", test_what_is_wrong_or_does_not_fit_is_refused);
    g_test_add_func("/attention/tiers", test_tiers_are_booked_and_given_back);
    return g_test_run();
}
