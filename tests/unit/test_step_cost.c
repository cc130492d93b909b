/* Step costs against the sum of unit costs over the operator graph: two ways to one number. */
#include "platforms/step_cost.h"

#include <math.h>

#define SEED 20240611

/* Figures of the MT-3000's order of magnitude. */
static Platform platform_like_mt3000(void) {
    return (Platform){
        .kind = DEVICE_MT3000,
        .cluster = {.peak_fp32_macs_per_s = 4.147e12,
                    .peak_fp16_macs_per_s = 8.294e12,
                    .ddr_usable_bytes = 20e9,
                    .ddr_bytes_per_s = 30e9,
                    .linear_efficiency = 0.7,
                    .attention_efficiency = 0.4},
        .hthreads = {.create_group_s = 40e-6, .launch_group_s = 10e-6},
        .power = {.cluster_idle_watts = 5.0, .cluster_busy_watts = 20.0},
    };
}

static const Model llama_2_7b = {.hidden = 4096,
                                 .layers = 32,
                                 .heads = 32,
                                 .kv_heads = 32,
                                 .head_dim = 128,
                                 .ffn = 11008,
                                 .vocab = 32000};
static const Model grouped = {.hidden = 8192,
                              .layers = 80,
                              .heads = 64,
                              .kv_heads = 8,
                              .head_dim = 128,
                              .ffn = 29568,
                              .vocab = 152064,
                              .qkv_bias = TRUE,
                              .data_type = DATA_TYPE_BF16};
static const Model single_kv = {.hidden = 1024,
                                .layers = 6,
                                .heads = 16,
                                .kv_heads = 1,
                                .head_dim = 64,
                                .ffn = 2816,
                                .vocab = 4096,
                                .data_type = DATA_TYPE_FP32};
static const Model *const models[] = {&llama_2_7b, &grouped, &single_kv};

static const StageShape shapes[] = {
    {.layers = 32, .tp = 1, .first = TRUE, .last = TRUE},
    {.layers = 10, .tp = 2, .first = TRUE, .last = FALSE},
    {.layers = 7, .tp = 3, .first = FALSE, .last = FALSE},
    {.layers = 1, .tp = 8, .first = FALSE, .last = TRUE},
};

static void assert_near(double actual, double expected) {
    g_assert_cmpfloat_with_epsilon(actual, expected, 1e-12 * fabs(expected));
}

static void add_graph(UnitCost *sum, const DeviceModel *device, const OpGraph *graph) {
    for (guint i = 0; i < graph->units->len; i++) {
        UnitCost cost =
            device->class->unit_cost(device, &g_array_index(graph->units, FusionUnit, i));
        unit_cost_add(sum, &cost);
    }
}

/* The oracle: every unit of every layer, one after another. */
static UnitCost walk_graphs(const DeviceModel *device, const Model *model, StageShape shape,
                            const BatchShape *batch) {
    UnitCost sum = {0};
    g_autoptr(OpGraph) embedding = op_graph_embedding(model, batch, shape.tp);
    g_autoptr(OpGraph) layer = op_graph_layer(model, batch, shape.tp);
    g_autoptr(OpGraph) head = op_graph_head(model, batch, shape.tp);
    if (shape.first)
        add_graph(&sum, device, embedding);
    for (guint i = 0; i < shape.layers; i++)
        add_graph(&sum, device, layer);
    if (shape.last)
        add_graph(&sum, device, head);
    return sum;
}

static void assert_same_cost(const UnitCost *actual, const UnitCost *expected) {
    assert_near(actual->seconds, expected->seconds);
    assert_near(actual->compute_s, expected->compute_s);
    assert_near(actual->memory_s, expected->memory_s);
    assert_near(actual->launch_s, expected->launch_s);
    assert_near(actual->macs, expected->macs);
    assert_near(actual->memory_bytes, expected->memory_bytes);
    assert_near(actual->joules, expected->joules);
}

#define MAX_SEGMENTS 300

static BatchShape random_batch(GRand *rand, Segment segments[MAX_SEGMENTS], gboolean decode) {
    guint n = (guint)g_rand_int_range(rand, 1, MAX_SEGMENTS + 1);
    for (guint i = 0; i < n; i++) {
        gboolean chunk = !decode && g_rand_int_range(rand, 0, 4) == 0;
        segments[i].new_tokens = chunk ? (guint32)g_rand_int_range(rand, 1, 600) : 1;
        segments[i].past_tokens = (guint32)g_rand_int_range(rand, 0, 130000);
    }
    guint32 sampled = decode ? n : (guint32)g_rand_int_range(rand, 0, (gint32)n + 1);
    return (BatchShape){segments, n, sampled};
}

typedef void (*Check)(const DeviceModel *device, const Model *model, StageShape shape);

static void for_every_stage(Check check) {
    Platform platform = platform_like_mt3000();
    DeviceModel device = device_model(&platform);
    for (gsize m = 0; m < G_N_ELEMENTS(models); m++)
        for (gsize s = 0; s < G_N_ELEMENTS(shapes); s++)
            check(&device, models[m], shapes[s]);
}

static void check_batches(const DeviceModel *device, const Model *model, StageShape shape) {
    Segment segments[MAX_SEGMENTS];
    g_autoptr(GRand) rand = g_rand_new_with_seed(SEED);
    g_autoptr(StepCost) cost = step_cost_new(device, model, shape);
    for (int i = 0; i < 20; i++) {
        BatchShape batch = random_batch(rand, segments, FALSE);
        UnitCost actual = step_cost_batch(cost, &batch);
        UnitCost expected = walk_graphs(device, model, shape, &batch);
        assert_same_cost(&actual, &expected);
    }
}

static void test_a_batch_is_the_sum_of_its_units(void) {
    for_every_stage(check_batches);
}

static void check_decode(const DeviceModel *device, const Model *model, StageShape shape) {
    Segment segments[MAX_SEGMENTS];
    g_autoptr(GRand) rand = g_rand_new_with_seed(SEED + 1);
    g_autoptr(StepCost) cost = step_cost_new(device, model, shape);
    for (int i = 0; i < 20; i++) {
        BatchShape batch = random_batch(rand, segments, TRUE);
        guint64 contexts = 0;
        for (gsize s = 0; s < batch.n_segments; s++)
            contexts += (guint64)segments[s].past_tokens + 1;
        double expected = walk_graphs(device, model, shape, &batch).seconds;
        assert_near(step_cost_decode_seconds(cost, (guint32)batch.n_segments, contexts), expected);
        assert_near(step_cost_batch(cost, &batch).seconds, expected);
    }
}

static void test_a_decode_step_is_known_from_the_sum_of_contexts(void) {
    for_every_stage(check_decode);
}

/* What makes the sum enough: a request's attention is a line in its context. */
static void check_linearity(const DeviceModel *device, const Model *model, StageShape shape) {
    g_autoptr(GRand) rand = g_rand_new_with_seed(SEED + 2);
    g_autoptr(StepCost) cost = step_cost_new(device, model, shape);
    double at_1 = step_cost_decode_seconds(cost, 1, 1);
    double at_1001 = step_cost_decode_seconds(cost, 1, 1001);
    for (int i = 0; i < 100; i++) {
        guint32 context = (guint32)g_rand_int_range(rand, 2, 200000);
        Op op = op_attention(model, (Segment){1, context - 1}, shape.tp);
        Op first = op_attention(model, (Segment){1, 0}, shape.tp);
        double grown_s = shape.layers * (device->class->op_cost(device, &op).seconds -
                                         device->class->op_cost(device, &first).seconds);
        double line_s = (at_1001 - at_1) / 1000.0 * (context - 1);
        g_assert_cmpfloat_with_epsilon(line_s, grown_s, 1e-9 * grown_s);
    }
}

static void test_attention_is_linear_in_the_context(void) {
    for_every_stage(check_linearity);
}

/* A machine whose memory is so fast that attention is bound by computing. */
static void test_attention_bound_by_computing_is_known_too(void) {
    Platform platform = platform_like_mt3000();
    platform.cluster.ddr_bytes_per_s = 1e15;
    DeviceModel device = device_model(&platform);
    check_decode(&device, &llama_2_7b, shapes[0]);
    check_decode(&device, &grouped, shapes[1]);
}

/* Where memory and computing change places within a batch, the sum of contexts cannot tell which
 * requests are on which side: exact for equal contexts, else a lower bound within a hair. */
static void test_attention_between_the_two_regimes(void) {
    for (double bytes_per_s = 1e9; bytes_per_s < 1e16; bytes_per_s *= 1.25) {
        Platform platform = platform_like_mt3000();
        platform.cluster.ddr_bytes_per_s = bytes_per_s;
        DeviceModel device = device_model(&platform);
        g_autoptr(StepCost) cost = step_cost_new(&device, &grouped, shapes[1]);
        const Segment equal[] = {{1, 299}, {1, 299}, {1, 299}}, unequal[] = {{1, 9}, {1, 889}};
        const BatchShape same = {equal, 3, 3}, mixed = {unequal, 2, 2};
        assert_near(step_cost_decode_seconds(cost, 3, 900), step_cost_batch(cost, &same).seconds);
        double mixed_s = step_cost_batch(cost, &mixed).seconds;
        double known_s = step_cost_decode_seconds(cost, 2, 900);
        g_assert_cmpfloat(known_s, <=, mixed_s * (1.0 + 1e-12));
        g_assert_cmpfloat(known_s, >, mixed_s * 0.9999);
    }
}

static void check_monotone(const DeviceModel *device, const Model *model, StageShape shape) {
    g_autoptr(StepCost) cost = step_cost_new(device, model, shape);
    double last_prefill_s = 0.0, last_context_s = 0.0, last_batch_s = 0.0;
    for (guint32 n = 1; n < 20000; n += 1 + n / 3) {
        Segment prompt = {n, 0}, context = {16, n};
        BatchShape prefill = {&prompt, 1, 1}, chunk = {&context, 1, 0};
        double prefill_s = step_cost_batch(cost, &prefill).seconds;
        double context_s = step_cost_batch(cost, &chunk).seconds;
        double batch_s = step_cost_decode_seconds(cost, n, 1000 * (guint64)n);
        g_assert_cmpfloat(prefill_s, >, last_prefill_s);
        g_assert_cmpfloat(context_s, >=, last_context_s);
        g_assert_cmpfloat(batch_s, >, last_batch_s);
        last_prefill_s = prefill_s;
        last_context_s = context_s;
        last_batch_s = batch_s;
    }
}

static void test_more_tokens_or_context_never_take_less(void) {
    for_every_stage(check_monotone);
}

static void test_less_bandwidth_never_takes_less(void) {
    const Segment segments[] = {{256, 0}, {1, 2000}};
    const BatchShape batch = {segments, G_N_ELEMENTS(segments), 2};
    double last_decode_s = 0.0, last_batch_s = 0.0;
    for (double bytes_per_s = 1e12; bytes_per_s > 1e9; bytes_per_s /= 2.0) {
        Platform platform = platform_like_mt3000();
        platform.cluster.ddr_bytes_per_s = bytes_per_s;
        DeviceModel device = device_model(&platform);
        g_autoptr(StepCost) cost = step_cost_new(&device, &llama_2_7b, shapes[0]);
        double decode_s = step_cost_decode_seconds(cost, 4, 4000);
        double batch_s = step_cost_batch(cost, &batch).seconds;
        g_assert_cmpfloat(decode_s, >, last_decode_s);
        g_assert_cmpfloat(batch_s, >, last_batch_s);
        last_decode_s = decode_s;
        last_batch_s = batch_s;
    }
}

/* Worked out by hand for one request of context 512 on a cluster of 30 GB/s:
 *   weights      2 · (6,738,415,616 − 131,072,000) bytes, all but the embedding table
 *   KV           512 · 524,288 bytes
 *   activations  a layer: qkv 4096 + 12288, attention 2 · 4096, out 2 · 4096,
 *                gate_up 4096 + 22016, down 11008 + 4096, in FP16; embedding 2 · 4096; LM head
 *                4096 + 32000
 *   launches     32 layers · 2, embedding and head, 50 us each */
static void test_a_decode_step_of_llama_2_7b_by_hand(void) {
    Platform platform = platform_like_mt3000();
    DeviceModel device = device_model(&platform);
    g_autoptr(StepCost) cost = step_cost_new(&device, &llama_2_7b, shapes[0]);
    double weights = 2.0 * (6738415616.0 - 131072000.0);
    double kv = 512.0 * 524288.0;
    double activations =
        2.0 * (32.0 * (16384.0 + 8192.0 + 8192.0 + 26112.0 + 15104.0) + 8192.0 + 36096.0);
    double expected_s = (weights + kv + activations) / 30e9 + 66.0 * 50e-6;
    assert_near(step_cost_decode_seconds(cost, 1, 512), expected_s);
    g_assert_cmpfloat_with_epsilon(weights / 30e9, 0.4405, 0.0001);
    g_assert_cmpfloat_with_epsilon(expected_s, 0.453, 0.001);
}

/* A long prompt is bound by computing: every matrix weight once a token at 70 % of peak. */
static void test_a_prefill_of_llama_2_7b_by_hand(void) {
    Platform platform = platform_like_mt3000();
    platform.cluster.ddr_bytes_per_s = 1e15;
    platform.hthreads = (HthreadsSpec){0};
    DeviceModel device = device_model(&platform);
    StageShape middle = {.layers = 32, .tp = 1};
    g_autoptr(StepCost) cost = step_cost_new(&device, &llama_2_7b, middle);
    const Segment prompt = {2048, 0};
    const BatchShape batch = {&prompt, 1, 0};
    double linear_macs = 32.0 * 2048.0 * (4.0 * 4096.0 * 4096.0 + 3.0 * 4096.0 * 11008.0);
    double attention_macs = 32.0 * 4096.0 * 2048.0 * 2049.0;
    double expected_s = linear_macs / (0.7 * 8.294e12) + attention_macs / (0.4 * 8.294e12);
    /* only the norms' gains still wait for memory */
    g_assert_cmpfloat_with_epsilon(step_cost_batch(cost, &batch).seconds, expected_s, 1e-8);
}

static void test_all_reduces_are_two_a_layer(void) {
    Platform platform = platform_like_mt3000();
    DeviceModel device = device_model(&platform);
    for (gsize s = 0; s < G_N_ELEMENTS(shapes); s++) {
        g_autoptr(StepCost) cost = step_cost_new(&device, &single_kv, shapes[s]);
        g_autoptr(OpGraph) layer = op_graph_layer_shared(&single_kv, 5, shapes[s].tp);
        guint count = 0;
        for (guint i = 0; i < layer->ops->len; i++) {
            const Op *op = &g_array_index(layer->ops, Op, i);
            if (op->kind != OP_ALL_REDUCE)
                continue;
            g_assert_cmpfloat(step_cost_all_reduce_bytes(cost, 5), ==, op->bytes_out);
            count++;
        }
        g_assert_cmpuint(step_cost_all_reduces(cost), ==, shapes[s].layers * count);
    }
}

static void test_a_step_of_nothing_takes_no_time(void) {
    Platform platform = platform_like_mt3000();
    DeviceModel device = device_model(&platform);
    g_autoptr(StepCost) cost = step_cost_new(&device, &llama_2_7b, shapes[0]);
    const BatchShape nothing = {NULL, 0, 0};
    g_assert_cmpfloat(step_cost_batch(cost, &nothing).seconds, ==, 0.0);
    g_assert_cmpfloat(step_cost_decode_seconds(cost, 0, 0), ==, 0.0);
}

/* Tables grow as larger batches come: neither growing nor the order may change an answer. */
static void test_the_order_of_questions_does_not_matter(void) {
    static const guint32 batches[] = {70000, 1, 9000, 64, 8192, 8193, 63, 65};
    Platform platform = platform_like_mt3000();
    DeviceModel device = device_model(&platform);
    g_autoptr(StepCost) used = step_cost_new(&device, &grouped, shapes[3]);
    for (gsize i = 0; i < G_N_ELEMENTS(batches); i++) {
        g_autoptr(StepCost) fresh = step_cost_new(&device, &grouped, shapes[3]);
        double first = step_cost_decode_seconds(used, batches[i], 123456789);
        g_assert_cmpfloat(first, ==, step_cost_decode_seconds(fresh, batches[i], 123456789));
        g_assert_cmpfloat(first, ==, step_cost_decode_seconds(used, batches[i], 123456789));
    }
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/step_cost/a_batch_is_the_sum_of_its_units",
                    test_a_batch_is_the_sum_of_its_units);
    g_test_add_func("/step_cost/a_decode_step_is_known_from_the_sum_of_contexts",
                    test_a_decode_step_is_known_from_the_sum_of_contexts);
    g_test_add_func("/step_cost/attention_is_linear_in_the_context",
                    test_attention_is_linear_in_the_context);
    g_test_add_func("/step_cost/attention_bound_by_computing_is_known_too",
                    test_attention_bound_by_computing_is_known_too);
    g_test_add_func("/step_cost/attention_between_the_two_regimes",
                    test_attention_between_the_two_regimes);
    g_test_add_func("/step_cost/more_tokens_or_context_never_take_less",
                    test_more_tokens_or_context_never_take_less);
    g_test_add_func("/step_cost/less_bandwidth_never_takes_less",
                    test_less_bandwidth_never_takes_less);
    g_test_add_func("/step_cost/a_decode_step_of_llama_2_7b_by_hand",
                    test_a_decode_step_of_llama_2_7b_by_hand);
    g_test_add_func("/step_cost/a_prefill_of_llama_2_7b_by_hand",
                    test_a_prefill_of_llama_2_7b_by_hand);
    g_test_add_func("/step_cost/all_reduces_are_two_a_layer", test_all_reduces_are_two_a_layer);
    g_test_add_func("/step_cost/a_step_of_nothing_takes_no_time",
                    test_a_step_of_nothing_takes_no_time);
    g_test_add_func("/step_cost/the_order_of_questions_does_not_matter",
                    test_the_order_of_questions_does_not_matter);
    return g_test_run();
}
