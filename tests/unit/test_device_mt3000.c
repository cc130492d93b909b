/* The MT-3000's costs against rooflines worked out by hand. */
#include "platforms/device.h"

#include <math.h>

/* 1 TMAC/s FP16, half of that FP32, 10 GB/s: round figures, so that the answers are round. */
static Platform round_platform(void) {
    return (Platform){
        .kind = DEVICE_MT3000,
        .nodes = 1,
        .processors_per_node = 1,
        .clusters_per_processor = 1,
        .cluster = {.dsps = 10,
                    .clock_hz = 1e9,
                    .macs_per_cycle_fp32 = 50,
                    .macs_per_cycle_fp16 = 100,
                    .peak_fp32_macs_per_s = 0.5e12,
                    .peak_fp16_macs_per_s = 1e12,
                    .ddr_bytes = 32e9,
                    .ddr_usable_bytes = 20e9,
                    .ddr_bytes_per_s = 10e9,
                    .linear_efficiency = 0.8,
                    .attention_efficiency = 0.25},
        .hthreads = {.create_group_s = 30e-6, .launch_group_s = 20e-6},
        .power = {.cluster_idle_watts = 5.0, .cluster_busy_watts = 25.0, .node_watts = 100.0},
    };
}

static UnitCost cost_of(const Platform *platform, Op op) {
    DeviceModel device = device_model(platform);
    return device.class->op_cost(&device, &op);
}

static void assert_near(double actual, double expected) {
    g_assert_cmpfloat_with_epsilon(actual, expected, 1e-12 * fabs(expected));
}

static void test_the_platforms_kind_picks_the_class(void) {
    Platform platform = round_platform();
    DeviceModel device = device_model(&platform);
    g_assert_cmpstr(device.class->name, ==, "mt3000");
    g_assert_true(device.platform == &platform);
    assert_near(device.class->memory_capacity(&device), 20e9);
}

typedef struct {
    guint64 m, n, k;
    DataType type;
    double compute_s, memory_s;
} Roofline;

static void test_a_linear_lasts_the_longer_of_computing_and_memory(void) {
    static const Roofline rows[] = {
        /* one token: 1e6 MAC at 0.8e12, 2 · (1e6 + 2e3) bytes at 10e9 */
        {1, 1000, 1000, DATA_TYPE_FP16, 1.25e-6, 200.4e-6},
        /* 8000 tokens: 8e9 MAC; 2 · (1e6 + 16e6) bytes */
        {8000, 1000, 1000, DATA_TYPE_FP16, 10e-3, 3.4e-3},
        {8000, 1000, 1000, DATA_TYPE_BF16, 10e-3, 3.4e-3},
        {8000, 1000, 1000, DATA_TYPE_FP32, 20e-3, 6.8e-3},
    };
    Platform platform = round_platform();
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        const Roofline *row = &rows[i];
        UnitCost cost = cost_of(&platform, op_linear("x", row->m, row->n, row->k, row->type));
        assert_near(cost.compute_s, row->compute_s);
        assert_near(cost.memory_s, row->memory_s);
        assert_near(cost.seconds, MAX(row->compute_s, row->memory_s));
        assert_near(cost.joules, 20.0 * cost.seconds);
        g_assert_cmpfloat(cost.launch_s, ==, 0.0);
    }
}

static void test_attention_has_its_own_efficiency(void) {
    Platform platform = round_platform();
    const Model model = {.hidden = 100, .heads = 10, .kv_heads = 10, .head_dim = 10};
    /* 2 · 100 · 1000 · 1001 / 2 MAC at 0.25e12 */
    UnitCost cost = cost_of(&platform, op_attention(&model, (Segment){1000, 0}, 1));
    assert_near(cost.macs, 100.1e6);
    assert_near(cost.compute_s, 400.4e-6);
    /* Q and O: 2 · 1000 · 100, K and V as much, in FP16, at 10e9 */
    assert_near(cost.memory_s, 80e-6);
    assert_near(cost.memory_bytes, 800e3);
}

static void test_an_all_reduce_costs_the_device_nothing(void) {
    Platform platform = round_platform();
    UnitCost cost = cost_of(&platform, (Op){.kind = OP_ALL_REDUCE, .bytes_out = 1e6});
    g_assert_cmpfloat(cost.seconds + cost.memory_bytes + cost.joules, ==, 0.0);
}

static void test_a_unit_is_one_launch_and_its_operators(void) {
    Platform platform = round_platform();
    DeviceModel device = device_model(&platform);
    Op ops[] = {op_linear("a", 1, 1000, 1000, DATA_TYPE_FP16),
                {.kind = OP_ROPE, .name = "rope"},
                op_linear("b", 8000, 1000, 1000, DATA_TYPE_FP16),
                {.kind = OP_ALL_REDUCE, .name = "all_reduce", .bytes_out = 1e9}};
    FusionUnit unit = {.name = "unit", .ops = ops, .n_ops = G_N_ELEMENTS(ops)};
    UnitCost cost = device.class->unit_cost(&device, &unit);
    assert_near(cost.launch_s, 50e-6);
    assert_near(cost.seconds, 50e-6 + 200.4e-6 + 10e-3);
    assert_near(cost.compute_s, 1.25e-6 + 10e-3);
    assert_near(cost.memory_s, 200.4e-6 + 3.4e-3);
    assert_near(cost.macs, 8.001e9);
    assert_near(cost.memory_bytes, 36.004e6);
    assert_near(cost.joules, 20.0 * cost.seconds);

    FusionUnit empty = {.name = "empty"};
    assert_near(device.class->unit_cost(&device, &empty).seconds, 50e-6);
}

/* One decode step of one request reads all of Llama-2 7B's weights but the embedding table. */
static void test_a_decode_step_of_llama_2_7b_is_bound_by_its_weights(void) {
    Platform platform = round_platform();
    platform.cluster.ddr_bytes_per_s = 30e9;
    platform.cluster.peak_fp16_macs_per_s = 8.29e12;
    platform.hthreads = (HthreadsSpec){0};
    DeviceModel device = device_model(&platform);
    const Model llama = {.hidden = 4096,
                         .layers = 32,
                         .heads = 32,
                         .kv_heads = 32,
                         .head_dim = 128,
                         .ffn = 11008,
                         .vocab = 32000};
    const Segment segment = {1, 511};
    const BatchShape batch = {&segment, 1, 1};
    g_autoptr(OpGraph) layer = op_graph_layer(&llama, &batch, 1);
    double layer_s = 0.0;
    for (guint i = 0; i < layer->units->len; i++)
        layer_s +=
            device.class->unit_cost(&device, &g_array_index(layer->units, FusionUnit, i)).seconds;
    /* 202,383,360 parameters of FP16 a layer: 13.49 ms; KV of 512 tokens, 8.39 MB: 0.28 ms;
     * activations below 0.1 %. */
    double expected_s = (2.0 * 202383360.0 + 512.0 * 16384.0) / 30e9;
    g_assert_cmpfloat(layer_s, >, expected_s);
    g_assert_cmpfloat(layer_s, <, expected_s * 1.001);
}

typedef void (*Change)(Platform *platform, double factor);

static void change_bandwidth(Platform *platform, double factor) {
    platform->cluster.ddr_bytes_per_s /= factor;
}

static void change_peak(Platform *platform, double factor) {
    platform->cluster.peak_fp16_macs_per_s /= factor;
}

static void change_efficiency(Platform *platform, double factor) {
    platform->cluster.linear_efficiency /= factor;
}

static void test_a_slower_machine_is_never_faster(void) {
    static const Change changes[] = {change_bandwidth, change_peak, change_efficiency};
    static const guint64 tokens[] = {1, 10, 100, 1000, 10000};
    for (gsize c = 0; c < G_N_ELEMENTS(changes); c++) {
        for (gsize t = 0; t < G_N_ELEMENTS(tokens); t++) {
            double last_s = 0.0;
            for (double factor = 1.0; factor < 100.0; factor *= 1.5) {
                Platform platform = round_platform();
                changes[c](&platform, factor);
                Op op = op_linear("x", tokens[t], 1000, 1000, DATA_TYPE_FP16);
                double seconds = cost_of(&platform, op).seconds;
                g_assert_cmpfloat(seconds, >=, last_s);
                last_s = seconds;
            }
        }
    }
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/device_mt3000/the_platforms_kind_picks_the_class",
                    test_the_platforms_kind_picks_the_class);
    g_test_add_func("/device_mt3000/a_linear_lasts_the_longer_of_computing_and_memory",
                    test_a_linear_lasts_the_longer_of_computing_and_memory);
    g_test_add_func("/device_mt3000/attention_has_its_own_efficiency",
                    test_attention_has_its_own_efficiency);
    g_test_add_func("/device_mt3000/an_all_reduce_costs_the_device_nothing",
                    test_an_all_reduce_costs_the_device_nothing);
    g_test_add_func("/device_mt3000/a_unit_is_one_launch_and_its_operators",
                    test_a_unit_is_one_launch_and_its_operators);
    g_test_add_func("/device_mt3000/a_decode_step_of_llama_2_7b_is_bound_by_its_weights",
                    test_a_decode_step_of_llama_2_7b_is_bound_by_its_weights);
    g_test_add_func("/device_mt3000/a_slower_machine_is_never_faster",
                    test_a_slower_machine_is_never_faster);
    return g_test_run();
}
