/* What serving takes from the fusion pass, against the pass itself: bytes and launches of a graph
 * and of the units found for the same batch. */
#include "tests/unit/fusion_fixture.h"
#include "tests/unit/synthetic_costs.h"

static const Model llama_7b = {.hidden = 4096,
                               .layers = 32,
                               .heads = 32,
                               .kv_heads = 32,
                               .head_dim = 128,
                               .ffn = 11008,
                               .vocab = 32000,
                               .data_type = DATA_TYPE_FP16};
static const Model qwen2_7b = {.hidden = 3584,
                               .layers = 28,
                               .heads = 28,
                               .kv_heads = 4,
                               .head_dim = 128,
                               .ffn = 18944,
                               .vocab = 152064,
                               .data_type = DATA_TYPE_BF16,
                               .qkv_bias = TRUE};
static const Model wide_types = {.hidden = 2048,
                                 .layers = 4,
                                 .heads = 16,
                                 .kv_heads = 8,
                                 .head_dim = 128,
                                 .ffn = 5632,
                                 .vocab = 32000,
                                 .data_type = DATA_TYPE_FP32};
static const Model tiny = {.hidden = 64,
                           .layers = 2,
                           .heads = 4,
                           .kv_heads = 2,
                           .head_dim = 16,
                           .ffn = 172,
                           .vocab = 256,
                           .data_type = DATA_TYPE_FP16};
static const Model *const models[] = {&llama_7b, &qwen2_7b, &wide_types, &tiny};

/* The MT-3000, and smaller memories that refuse other joins. */
static const ClusterSpec *clusters(gsize *n) {
    static ClusterSpec specs[4];
    for (gsize i = 0; i < G_N_ELEMENTS(specs); i++)
        specs[i] = mt3000;
    specs[1].am_bytes /= 2;
    specs[2].gsm_bytes /= 16;
    specs[3].am_bytes = specs[3].gsm_bytes = specs[3].sm_bytes = 1;
    *n = G_N_ELEMENTS(specs);
    return specs;
}

typedef struct Sums {
    double bytes;
    guint64 launches;
} Sums;

static Sums sums_of_graph(const OpGraph *graph) {
    Sums sums = {0};
    for (guint i = 0; i < graph->units->len; i++) {
        const FusionUnit *unit = &g_array_index(graph->units, FusionUnit, i);
        sums.launches += unit->launches;
        for (gsize j = 0; j < unit->n_ops; j++)
            if (unit->ops[j].kind != OP_ALL_REDUCE)
                sums.bytes +=
                    unit->ops[j].weight_bytes + unit->ops[j].bytes_in + unit->ops[j].bytes_out;
    }
    return sums;
}

/* Attention's parts, where the pass has not made one of them, are one kernel as far as launches
 * go: the unfused one. */
static Sums sums_of_pass(const FusionInput *question) {
    g_autoptr(Fusion) fusion = fusion_new(question);
    Sums sums = {0};
    for (guint i = 0; i < fusion->units->len; i++) {
        const FusedUnit *unit = fusion_unit(fusion, i);
        const Op *first = &op_list_get(question->list, unit->ops[0])->op;
        sums.bytes += unit->bytes_fused;
        if (!unit->on_network && (first->heads == 0 || g_str_equal(first->name, "scores")))
            sums.launches += unit->heads;
    }
    return sums;
}

static void assert_same(Sums graph, Sums pass) {
    g_assert_cmpfloat(graph.bytes, ==, pass.bytes);
    g_assert_cmpuint(graph.launches, ==, pass.launches);
}

typedef void (*Check)(const FusionUnitsInput *input, const BatchShape *batch);

static void for_many(Check check, gboolean fuse) {
    static const Segment requests[][3] = {
        {{1, 0}, {1, 511}, {1, 2000}}, {{512, 0}, {300, 212}, {1, 77}}, {{9, 1}, {1, 5}, {30, 0}}};
    gsize n;
    const ClusterSpec *specs = clusters(&n);
    for (gsize m = 0; m < G_N_ELEMENTS(models); m++)
        for (gsize c = 0; c < n; c++)
            for (guint tp = 1; tp <= 4; tp *= 2)
                for (gsize r = 0; r < 3 * G_N_ELEMENTS(requests); r++) {
                    BatchShape batch = {requests[r / 3], 1 + r % 3, 1};
                    FusionUnitsInput input = {models[m], &specs[c], tp, fuse, ATTENTION_POLICY_MT};
                    check(&input, &batch);
                }
}

/* Memories that hold attention's blocks hold the scores of these requests as well. */
static void check_fused(const FusionUnitsInput *input, const BatchShape *batch) {
    g_autoptr(ModelUnits) units = fusion_units_new(input);
    g_autoptr(OpGraph) layer = op_graph_layer(units, batch);
    g_autoptr(OpList) list = op_list_layer(input->model, batch, input->tp);
    FusionInput question = {list, input->cluster, TRUE};
    gboolean bare = input->cluster->am_bytes == 1;
    g_assert_cmpuint(units->most_fused_contexts == 0, ==, bare);
    g_assert_true(bare || units->most_fused_contexts > 2001);
    assert_same(sums_of_graph(layer), sums_of_pass(&question));
}

static void test_serving_moves_and_launches_what_the_pass_found(void) {
    for_many(check_fused, TRUE);
}

/* Nothing stays on chip, attention's scores neither. */
static void check_apart(const FusionUnitsInput *input, const BatchShape *batch) {
    FusionUnitsInput unfused = *input;
    unfused.attention = ATTENTION_POLICY_UNFUSED;
    g_autoptr(ModelUnits) units = fusion_units_new(&unfused);
    g_autoptr(OpGraph) layer = op_graph_layer(units, batch);
    g_autoptr(OpList) list = op_list_layer(input->model, batch, input->tp);
    double apart = 0.0;
    guint kernels = 0, parts = 0;
    for (guint i = 0; i < list->ops->len; i++) {
        const ListedOp *listed = op_list_get(list, i);
        if (listed->on_network)
            continue;
        apart += listed->op.weight_bytes + listed->op.bytes_in + listed->op.bytes_out;
        kernels += listed->op.heads == 0 ? 1 : 0;
        parts += listed->op.heads > 0 ? 1 : 0;
    }
    Sums sums = sums_of_graph(layer);
    g_assert_cmpfloat(sums.bytes, ==, apart);
    guint64 heads = (input->model->heads + input->tp - 1) / input->tp;
    g_assert_cmpuint(sums.launches, ==, kernels + parts / 5 * heads);
    g_assert_cmpuint(units->layer->len, ==, 1);
}

static void test_without_fusion_all_is_as_apart(void) {
    for_many(check_apart, FALSE);
}

static void test_the_head_is_fused_too(void) {
    for (guint32 rows = 1; rows < 200; rows += 33)
        for (gsize m = 0; m < G_N_ELEMENTS(models); m++) {
            g_autoptr(ModelUnits) units = served_units(models[m], &mt3000, 2, TRUE);
            BatchShape batch = {.sampled = rows};
            g_autoptr(OpGraph) head = op_graph_head(units, &batch);
            g_autoptr(OpList) list = op_list_head(models[m], rows, 2);
            FusionInput question = {list, &mt3000, TRUE};
            assert_same(sums_of_graph(head), sums_of_pass(&question));
        }
}

/* Ranges are found by halving between powers of two; the pass is asked for every number of rows. */
static void test_ranges_cover_every_number_of_rows(void) {
    gsize n;
    const ClusterSpec *specs = clusters(&n);
    for (gsize m = 0; m < G_N_ELEMENTS(models); m++)
        for (gsize c = 0; c < n; c++) {
            g_autoptr(ModelUnits) units = served_units(models[m], &specs[c], 1, TRUE);
            for (guint32 rows = 1; rows < 800; rows += 1 + rows / 40) {
                Segment segment = {rows, 0};
                BatchShape batch = {&segment, 1, 0};
                g_autoptr(OpList) list = op_list_layer(models[m], &batch, 1);
                FusionInput question = {list, &specs[c], TRUE};
                g_autoptr(Fusion) fusion = fusion_new(&question);
                g_autoptr(OpGraph) layer = op_graph_layer_shared(units, rows);
                double bytes = 0.0;
                for (guint i = 0; i < fusion->units->len; i++)
                    if (op_list_get(list, fusion_unit(fusion, i)->ops[0])->op.heads == 0)
                        bytes += fusion_unit(fusion, i)->bytes_fused;
                g_assert_cmpfloat(sums_of_graph(layer).bytes, ==, bytes);
            }
        }
}

/* A decoded row of gate and up waits on chip for their product, but a batch's rows do not. */
static void test_a_linear_spares_what_stays_between_two(void) {
    g_autoptr(ModelUnits) units = served_units(&llama_7b, &mt3000, 1, TRUE);
    g_autoptr(OpGraph) one = op_graph_layer_shared(units, 1);
    g_autoptr(OpGraph) many = op_graph_layer_shared(units, 512);
    for (guint i = 0; i < one->ops->len; i++) {
        const Op *op = &g_array_index(one->ops, Op, i);
        if (op->kind != OP_LINEAR)
            continue;
        OpCostKey key = op_cost_key(op, OP_ATTENTION_MT);
        g_assert_cmpint(key.y_on_chip, ==, g_str_equal(op->name, "gate"));
        g_assert_cmpint(key.x_on_chip, ==, g_str_equal(op->name, "up"));
    }
    for (guint i = 0; i < many->ops->len; i++) {
        const Op *op = &g_array_index(many->ops, Op, i);
        if (op->kind == OP_LINEAR)
            g_assert_true(op->bytes_in > 0 && op->bytes_out > 0);
    }
}

/* --- what a smaller machine costs */

/* A layer of one prompt of 512 tokens, all kernels launched by themselves. */
static UnitCost layer_cost(const ClusterSpec *cluster, const Segment *segment) {
    Platform platform = {.kind = DEVICE_MT3000,
                         .cluster = *cluster,
                         .hthreads = {.create_group_s = 40e-6, .launch_group_s = 10e-6}};
    platform.cluster.peak_fp16_macs_per_s = 8.294e12;
    g_autoptr(OpCosts) costs = op_costs_new((OpModes){.launch_each = TRUE});
    SyntheticModel served = {&llama_7b, &platform.cluster, 1, TRUE};
    synthetic_add_model(costs, &served);
    DeviceModel device = device_model(&platform, costs);
    BatchShape batch = {segment, 1, 0};
    g_autoptr(OpGraph) layer = device_layer(&device, &llama_7b, &batch, 1);
    UnitCost sum = {0};
    for (guint i = 0; i < layer->units->len; i++) {
        UnitCost cost =
            device.class->unit_cost(&device, &g_array_index(layer->units, FusionUnit, i));
        unit_cost_add(&sum, &cost);
    }
    return sum;
}

/* Without room for any join: the 15 operators beside attention are kernels of their own, which is
 * 8 more than with the regions of THInfer figure 4, and attention is unfused, which launches within
 * its time instead of once for each head. The scores of 32 heads go through memory 8 times. */
static void test_a_machine_that_refuses_joins_costs_more(void) {
    const Segment prompt = {512, 0};
    ClusterSpec bare = mt3000;
    bare.am_bytes = bare.gsm_bytes = bare.sm_bytes = 1;
    UnitCost large = layer_cost(&mt3000, &prompt), small = layer_cost(&bare, &prompt);
    g_assert_cmpfloat_with_epsilon(large.launch_s, 50e-6 * (7 + 32), 1e-12);
    g_assert_cmpfloat_with_epsilon(small.launch_s, 50e-6 * 15, 1e-12);
    double columns = 4096 + 2 * 4096 + 2 * 4096 /* norm to q, q and k to RoPE */
                     + 2 * 4096                 /* out to residual */
                     + 4096 + 2 * 11008         /* norm to gate, gate to SiLU */
                     + 2 * 11008 + 2 * 4096;    /* up to product, down to residual */
    g_assert_cmpfloat(small.memory_bytes - large.memory_bytes, ==,
                      512 * columns * 2 + 8.0 * 32 * 512 * 512 * 2);
    g_assert_cmpfloat(small.seconds - small.launch_s, >, large.seconds - large.launch_s);
    g_assert_cmpfloat(small.macs, ==, large.macs);
}

/* Scores of one row are 4 bytes for each token of context, in AM beside blocks of K and V and in a
 * DSP's share of GSM: so many tokens make one unit, and beyond that attention is unfused. */
static void test_attention_is_one_unit_while_a_row_of_scores_fits(void) {
    for (guint shift = 0; shift < 4; shift++) {
        ClusterSpec cluster = mt3000;
        cluster.am_bytes = 192 * KIB + 768 * KIB / (1 << shift);
        g_autoptr(ModelUnits) units = served_units(&llama_7b, &cluster, 1, TRUE);
        double most = (double)units->most_fused_contexts;
        g_assert_cmpfloat(4 * most, <=, cluster.am_bytes + 256 * KIB - 128 * KIB);
        g_assert_cmpfloat(4 * most, >, cluster.am_bytes + 256 * KIB - 128 * KIB - 4 * 1024);
        Op op;
        op_graph_attention(units, (Segment){1, (guint32)most - 1}, &op);
        g_assert_false(op.apart);
        g_assert_cmpint(op_cost_key(&op, OP_ATTENTION_MT).attention, ==, OP_ATTENTION_MT);
        op_graph_attention(units, (Segment){1, (guint32)most}, &op);
        g_assert_true(op.apart);
        g_assert_cmpint(op_cost_key(&op, OP_ATTENTION_MT).attention, ==, OP_ATTENTION_UNFUSED);
    }
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/fusion_units/serving_moves_and_launches_what_the_pass_found",
                    test_serving_moves_and_launches_what_the_pass_found);
    g_test_add_func("/fusion_units/without_fusion_all_is_as_apart",
                    test_without_fusion_all_is_as_apart);
    g_test_add_func("/fusion_units/the_head_is_fused_too", test_the_head_is_fused_too);
    g_test_add_func("/fusion_units/ranges_cover_every_number_of_rows",
                    test_ranges_cover_every_number_of_rows);
    g_test_add_func("/fusion_units/a_linear_spares_what_stays_between_two",
                    test_a_linear_spares_what_stays_between_two);
    g_test_add_func("/fusion_units/a_machine_that_refuses_joins_costs_more",
                    test_a_machine_that_refuses_joins_costs_more);
    g_test_add_func("/fusion_units/attention_is_one_unit_while_a_row_of_scores_fits",
                    test_attention_is_one_unit_while_a_row_of_scores_fits);
    return g_test_run();
}
