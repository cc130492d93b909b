/* The fusion pass on real layers: it must find the regions of THInfer figure 4 by itself. */
#include "policies/attention_blocks.h"
#include "policies/fusion_layout.h"
#include "tests/unit/fusion_fixture.h"

static const Model llama_mha = {.hidden = 4096, /* Llama-2 7B */
                                .layers = 32,
                                .heads = 32,
                                .kv_heads = 32,
                                .head_dim = 128,
                                .ffn = 11008,
                                .data_type = DATA_TYPE_FP16};
static const Model llama_gqa = {.hidden = 8192, /* Llama-2 70B */
                                .layers = 80,
                                .heads = 64,
                                .kv_heads = 8,
                                .head_dim = 128,
                                .ffn = 28672,
                                .data_type = DATA_TYPE_FP16};
static const Model qwen2 = {.hidden = 3584, /* Qwen2 7B */
                            .layers = 28,
                            .heads = 28,
                            .kv_heads = 4,
                            .head_dim = 128,
                            .ffn = 18944,
                            .data_type = DATA_TYPE_BF16,
                            .qkv_bias = TRUE};
static const Model *const models[] = {&llama_mha, &llama_gqa, &qwen2};

/* One request that ends up with 'context' tokens of which 'tokens' are new. */
static OpList *layer_of(const Model *model, guint32 tokens, guint32 context, guint tp) {
    Segment segment = {.new_tokens = tokens, .past_tokens = context - tokens};
    BatchShape batch = {.segments = &segment, .n_segments = 1, .sampled = 1};
    return op_list_layer(model, &batch, tp);
}

#define FIGURE_4                                                                                   \
    "attention_norm q q_rope | k k_rope | v | scores scale mask softmax values | "                 \
    "out attention_add | ffn_norm gate silu | up mul | down ffn_add"

static void test_prefill_has_the_regions_of_figure_4(void) {
    static const guint32 prompts[] = {512, 1024, 1500, 2048, 4096, 30000};
    for (gsize i = 0; i < G_N_ELEMENTS(models); i++) {
        for (gsize j = 0; j < G_N_ELEMENTS(prompts); j++) {
            g_autoptr(OpList) list = layer_of(models[i], prompts[j], prompts[j], 1);
            g_autoptr(Fusion) fusion = fuse(list, &mt3000);
            g_autofree char *found = regions(list, fusion);
            g_assert_cmpstr(found, ==, FIGURE_4);
        }
    }
}

/* In FP32 a normalised row of 4096 fits neither beside Xg in GSM nor in what W2 leaves of AM. */
static void test_fp32_leaves_no_room_for_the_norms(void) {
    Model wide = llama_mha;
    wide.data_type = DATA_TYPE_FP32;
    g_autoptr(OpList) list = layer_of(&wide, 1024, 1024, 1);
    FusionInput input = {.list = list, .cluster = &mt3000, .fuse = TRUE};
    g_autoptr(Fusion) fusion = fusion_new(&input);
    g_autofree char *found = regions(list, fusion);
    g_assert_cmpstr(found, ==,
                    "attention_norm | q q_rope | k k_rope | v | "
                    "scores scale mask softmax values | out attention_add | "
                    "ffn_norm | gate silu | up mul | down ffn_add");
    FusionBarrier barrier =
        fusion_barrier(fusion, &input, find(list, "attention_norm"), find(list, "q"));
    g_assert_cmpint(barrier.kind, ==, BARRIER_GSM);
    g_assert_cmpfloat(barrier.asked_bytes, >, barrier.capacity_bytes);
    g_assert_cmpfloat(barrier.capacity_bytes, ==, 6 * MIB);
}

/* A single row is small: what a prompt must send through memory can wait on chip. */
static void test_decode_joins_more(void) {
    g_autoptr(OpList) list = layer_of(&llama_mha, 1, 1024, 1);
    FusionInput input = {.list = list, .cluster = &mt3000, .fuse = TRUE};
    g_autoptr(Fusion) fusion = fusion_new(&input);
    g_autofree char *found = regions(list, fusion);
    g_assert_cmpstr(found, ==,
                    "attention_norm q q_rope | k k_rope | v | "
                    "scores scale mask softmax values | out attention_add | "
                    "ffn_norm gate silu up mul | down ffn_add");
    FusionBarrier barrier = fusion_barrier(fusion, &input, find(list, "mul"), find(list, "down"));
    g_assert_cmpint(barrier.kind, ==, BARRIER_AM); /* three times W2 */
}

typedef struct BarrierCase {
    const char *producer, *reader;
    BarrierKind kind;
} BarrierCase;

static void test_every_boundary_has_its_reason(void) {
    static const BarrierCase cases[] = {
        {"attention_norm", "q", BARRIER_NONE},
        {"attention_norm", "k", BARRIER_SHARED},
        {"q_rope", "scores", BARRIER_HEADS},
        {"k_rope", "scores", BARRIER_HEADS},
        {"v", "values", BARRIER_HEADS},
        {"values", "out", BARRIER_HEADS},
        {"attention_add", "ffn_norm", BARRIER_SHARED},
        {"silu", "mul", BARRIER_GSM},
        {"mul", "down", BARRIER_GSM},
    };
    g_autoptr(OpList) list = layer_of(&llama_mha, 1024, 1024, 1);
    FusionInput input = {.list = list, .cluster = &mt3000, .fuse = TRUE};
    g_autoptr(Fusion) fusion = fusion_new(&input);
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        FusionBarrier barrier = fusion_barrier(fusion, &input, find(list, cases[i].producer),
                                               find(list, cases[i].reader));
        g_assert_cmpstr(barrier_kind_name(barrier.kind), ==, barrier_kind_name(cases[i].kind));
    }
}

static void test_all_reduces_end_units(void) {
    g_autoptr(OpList) list = layer_of(&llama_mha, 1, 1024, 4);
    FusionInput input = {.list = list, .cluster = &mt3000, .fuse = TRUE};
    g_autoptr(Fusion) fusion = fusion_new(&input);
    static const char *const sums[] = {"out_all_reduce", "down_all_reduce"};
    for (gsize i = 0; i < G_N_ELEMENTS(sums); i++) {
        guint sum = find(list, sums[i]);
        const FusedUnit *unit = fusion_unit(fusion, fusion->unit_of[sum]);
        g_assert_cmpuint(unit->n_ops, ==, 1);
        g_assert_true(unit->on_network);
        g_assert_cmpfloat(unit->bytes_apart + unit->bytes_fused, ==, 0.0);
        FusionBarrier barrier = fusion_barrier(fusion, &input, sum, sum + 1);
        g_assert_cmpint(barrier.kind, ==, BARRIER_NETWORK);
    }
}

/* Counted from the model: a tensor that stays inside is neither written nor read; of the norms'
 * results only the first of the readings falls away. */
static void test_saved_bytes_are_the_intermediates(void) {
    for (gsize i = 0; i < G_N_ELEMENTS(models); i++) {
        const Model *model = models[i];
        double rows = 1024, hidden = (double)model->hidden, ffn = (double)model->ffn;
        double query = (double)(model->heads * model->head_dim);
        double key = (double)(model->kv_heads * model->head_dim);
        double scores = (double)model->heads * rows;
        double columns = hidden + 2 * query + 2 * key /* norm to q, q to RoPE, k to RoPE */
                         + 2 * 4 * scores             /* scores, scaled, masked, weights */
                         + 2 * hidden                 /* out to residual */
                         + hidden + 2 * ffn           /* norm to gate, gate to SiLU */
                         + 2 * ffn + 2 * hidden;      /* up to product, down to residual */
        g_autoptr(OpList) list = layer_of(model, 1024, 1024, 1);
        g_autoptr(Fusion) fusion = fuse(list, &mt3000);
        g_assert_cmpfloat(bytes_saved(fusion), ==, rows * columns * 2);
    }
}

static void test_nothing_is_fused_when_switched_off(void) {
    g_autoptr(OpList) list = layer_of(&llama_mha, 1024, 1024, 1);
    FusionInput input = {.list = list, .cluster = &mt3000, .fuse = FALSE};
    g_autoptr(Fusion) fusion = fusion_new(&input);
    g_assert_cmpuint(fusion->units->len, ==, list->ops->len);
    g_assert_cmpfloat(bytes_saved(fusion), ==, 0.0);
    for (guint i = 0; i < list->ops->len; i++)
        g_assert_cmpuint(fusion_unit(fusion, i)->ops[0], ==, i);
}

static void test_units_split_when_memories_shrink(void) {
    g_autoptr(OpList) list = layer_of(&llama_mha, 1024, 1024, 1);
    for (guint tier = 0; tier < 3; tier++) {
        guint fewest = 0, most = 0;
        for (double share = 1.0; share > 1e-7; share *= 0.7) {
            ClusterSpec small = mt3000;
            double *const tiers[] = {&small.sm_bytes, &small.am_bytes, &small.gsm_bytes};
            *tiers[tier] *= share;
            g_autoptr(Fusion) fusion = fuse(list, &small);
            for (guint i = 0; i < fusion->units->len; i++)
                if (fusion_unit(fusion, i)->n_ops > 1)
                    assert_within(fusion_unit(fusion, i), &small);
            fewest = fewest == 0 ? fusion->units->len : MIN(fewest, fusion->units->len);
            most = MAX(most, fusion->units->len);
        }
        g_assert_cmpuint(fewest, <=, 8);
        g_assert_cmpuint(most, >, 8);
    }
}

static void test_no_memory_means_no_fusion(void) {
    ClusterSpec bare = mt3000;
    bare.sm_bytes = bare.am_bytes = bare.gsm_bytes = 1;
    g_autoptr(OpList) list = layer_of(&llama_mha, 1024, 1024, 1);
    g_autoptr(Fusion) fusion = fuse(list, &bare);
    g_assert_cmpuint(fusion->units->len, ==, list->ops->len);
    g_assert_false(fusion_unit(fusion, fusion->unit_of[find(list, "q")])->fits);
}

/* Blocks of K and V (two of each) and sums of O beside the FP32 scores of a row block, which may
 * spill into a DSP's share of GSM: the largest rows of the ladder for which that fits. */
static guint64 expected_rows(double context) {
    static const guint64 ladder[] = {64, 48, 32, 24, 16, 12, 8, 6, 4, 3, 2, 1};
    const double blocks = 2 * (2 * 128 * 128 * 2);
    for (gsize i = 0; i < G_N_ELEMENTS(ladder); i++) {
        double rows = (double)ladder[i];
        double needed = blocks + rows * 128 * 4 + rows * (context * 4 + 8);
        if (needed <= 768 * KIB + 6 * MIB / 24)
            return ladder[i];
    }
    return 0;
}

static guint64 attention_rows(guint32 context) {
    g_autoptr(OpList) list = layer_of(&llama_mha, 64, context, 1);
    g_autoptr(GArray) part = g_array_new(FALSE, FALSE, sizeof(guint));
    for (guint op = find(list, "scores"); op <= find(list, "values"); op++)
        g_array_append_val(part, op);
    FusionInput input = {.list = list, .cluster = &mt3000, .fuse = TRUE};
    FusionLayout layout = fusion_layout(&input, part);
    g_assert_cmpint(layout.lacking, ==, BARRIER_NONE);
    return layout.rows;
}

static void test_row_blocks_shrink_with_the_context(void) {
    static const guint32 contexts[] = {64, 512, 1024, 2048, 3072, 4096, 8192, 16384, 65536, 131072};
    for (gsize i = 0; i < G_N_ELEMENTS(contexts); i++)
        g_assert_cmpuint(attention_rows(contexts[i]), ==, expected_rows(contexts[i]));
}

/* The attention operator finds its blocks by itself; the pass must not promise it other ones. It
 * counts scores by whole columns of all K blocks, which in a few contexts costs a step more. */
static void test_row_blocks_are_those_of_the_attention_operator(void) {
    guint contexts = 0, different = 0;
    for (guint32 context = 256; context <= 131072; context += 256) {
        AttentionProblem problem = {.units = 32,
                                    .group = 1,
                                    .new_tokens = 64,
                                    .context = context,
                                    .head_dim = 128,
                                    .type = DATA_TYPE_FP16};
        AttentionBlocks blocks;
        g_assert_true(attention_blocks(&problem, SCORES_ON_CHIP, &mt3000, &blocks, NULL));
        guint64 rows = attention_rows(context);
        g_assert_cmpuint(rows, >=, blocks.rows);
        contexts++;
        different += rows != blocks.rows ? 1 : 0;
    }
    g_test_message("%u of %u contexts differ", different, contexts);
    g_assert_cmpuint(100 * different, <, 2 * contexts);
}

/* The rules look at no operator's name or kind. */
static void test_names_do_not_matter(void) {
    for (gsize i = 0; i < G_N_ELEMENTS(models); i++) {
        g_autoptr(OpList) list = layer_of(models[i], 777, 1500, 2);
        g_autoptr(Fusion) named = fuse(list, &mt3000);
        for (guint op = 0; op < list->ops->len; op++) {
            g_array_index(list->ops, ListedOp, op).op.name = "x";
            g_array_index(list->ops, ListedOp, op).op.kind = OP_ADD;
        }
        g_autoptr(Fusion) nameless = fuse(list, &mt3000);
        g_assert_cmpmem(named->unit_of, list->ops->len * (int)sizeof(guint), nameless->unit_of,
                        list->ops->len * (int)sizeof(guint));
    }
}

/* Small enough to stay, were it not needed by other cores than those that make it. */
static void test_heads_join_only_heads(void) {
    g_autoptr(OpList) list = layer_of(&llama_mha, 1, 64, 1);
    FusionInput input = {.list = list, .cluster = &mt3000, .fuse = TRUE};
    g_autoptr(Fusion) fusion = fusion_new(&input);
    for (guint i = 0; i < fusion->units->len; i++) {
        const FusedUnit *unit = fusion_unit(fusion, i);
        for (guint j = 0; j < unit->n_ops; j++)
            g_assert_cmpuint(MAX(op_list_get(list, unit->ops[j])->op.heads, 1), ==, unit->heads);
    }
}

static void test_launches_are_counted_by_unit_and_head(void) {
    g_autoptr(OpList) list = layer_of(&llama_mha, 1024, 1024, 1);
    FusionInput off = {.list = list, .cluster = &mt3000, .fuse = FALSE};
    g_autoptr(Fusion) apart = fusion_new(&off);
    g_autoptr(Fusion) fused = fuse(list, &mt3000);
    /* 20 operators, five of them once for each of 32 heads; then 8 units, one of them so. */
    g_assert_cmpuint(fusion_launches(apart, FALSE, 1), ==, 15 + 5 * 32);
    g_assert_cmpuint(fusion_launches(fused, FALSE, 1), ==, 7 + 32);
    g_assert_cmpuint(fusion_launches(fused, FALSE, 32), ==, 32 * (7 + 32));
    g_assert_cmpuint(fusion_launches(apart, TRUE, 1), ==, 1);
    g_assert_cmpuint(fusion_launches(fused, TRUE, 32), ==, 1);
}

/* THInfer eq. 19: two launches a layer with tensor parallelism. */
static void test_all_reduces_interrupt_the_unified_launch(void) {
    g_autoptr(OpList) list = layer_of(&llama_mha, 1, 1024, 4);
    g_autoptr(Fusion) fusion = fuse(list, &mt3000);
    guint64 one = fusion_launches(fusion, TRUE, 10), more = fusion_launches(fusion, TRUE, 11);
    g_assert_cmpuint(more - one, ==, 2);
    g_assert_cmpuint(one, ==, 21);
}

typedef struct LoadCase {
    guint64 heads, row_blocks;
    gboolean unified;
    guint64 busiest, rounds;
    double busy;
} LoadCase;

static void test_unified_scheduling_balances_short_sequences(void) {
    static const LoadCase cases[] = {
        {32, 1, FALSE, 1, 32, 1.0 / 24},    {32, 1, TRUE, 24, 2, 32.0 / 48},
        {32, 8, FALSE, 8, 32, 8.0 / 24},    {32, 8, TRUE, 24, 11, 256.0 / 264},
        {32, 24, FALSE, 24, 32, 1.0},       {32, 24, TRUE, 24, 32, 1.0},
        {32, 25, FALSE, 24, 64, 25.0 / 48}, {32, 25, TRUE, 24, 34, 800.0 / 816},
        {8, 1, TRUE, 8, 1, 8.0 / 24},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        const LoadCase *expected = &cases[i];
        DspLoad load =
            fusion_dsp_load(expected->heads, expected->row_blocks, 24, expected->unified);
        g_assert_cmpuint(load.tasks, ==, expected->heads * expected->row_blocks);
        g_assert_cmpuint(load.rounds, ==, expected->rounds);
        g_assert_cmpuint(load.busiest_dsps, ==, expected->busiest);
        g_assert_cmpfloat_with_epsilon(load.busy, expected->busy, 1e-12);
    }
}

static void test_unified_scheduling_is_never_slower(void) {
    for (guint64 heads = 1; heads <= 64; heads++) {
        for (guint64 blocks = 1; blocks <= 80; blocks++) {
            DspLoad apart = fusion_dsp_load(heads, blocks, 24, FALSE);
            DspLoad unified = fusion_dsp_load(heads, blocks, 24, TRUE);
            g_assert_cmpuint(unified.rounds, <=, apart.rounds);
            g_assert_cmpfloat(unified.busy, <=, 1.0);
        }
    }
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/fusion/prefill_has_the_regions_of_figure_4",
                    test_prefill_has_the_regions_of_figure_4);
    g_test_add_func("/fusion/fp32_leaves_no_room_for_the_norms",
                    test_fp32_leaves_no_room_for_the_norms);
    g_test_add_func("/fusion/decode_joins_more", test_decode_joins_more);
    g_test_add_func("/fusion/every_boundary_has_its_reason", test_every_boundary_has_its_reason);
    g_test_add_func("/fusion/all_reduces_end_units", test_all_reduces_end_units);
    g_test_add_func("/fusion/saved_bytes_are_the_intermediates",
                    test_saved_bytes_are_the_intermediates);
    g_test_add_func("/fusion/nothing_is_fused_when_switched_off",
                    test_nothing_is_fused_when_switched_off);
    g_test_add_func("/fusion/units_split_when_memories_shrink",
                    test_units_split_when_memories_shrink);
    g_test_add_func("/fusion/no_memory_means_no_fusion", test_no_memory_means_no_fusion);
    g_test_add_func("/fusion/row_blocks_shrink_with_the_context",
                    test_row_blocks_shrink_with_the_context);
    g_test_add_func("/fusion/row_blocks_are_those_of_the_attention_operator",
                    test_row_blocks_are_those_of_the_attention_operator);
    g_test_add_func("/fusion/names_do_not_matter", test_names_do_not_matter);
    g_test_add_func("/fusion/heads_join_only_heads", test_heads_join_only_heads);
    g_test_add_func("/fusion/launches_are_counted_by_unit_and_head",
                    test_launches_are_counted_by_unit_and_head);
    g_test_add_func("/fusion/all_reduces_interrupt_the_unified_launch",
                    test_all_reduces_interrupt_the_unified_launch);
    g_test_add_func("/fusion/unified_scheduling_balances_short_sequences",
                    test_unified_scheduling_balances_short_sequences);
    g_test_add_func("/fusion/unified_scheduling_is_never_slower",
                    test_unified_scheduling_is_never_slower);
    return g_test_run();
}
