/* The MT-3000's costs: what tables say of Linear and attention, and the rest by hand. */
#include "tests/unit/synthetic_costs.h"

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
                    .sm_bytes = 64 * 1024,
                    .am_bytes = 768 * 1024,
                    .gsm_bytes = 6 * 1024 * 1024,
                    .peak_fp32_macs_per_s = 0.5e12,
                    .peak_fp16_macs_per_s = 1e12,
                    .ddr_bytes = 32e9,
                    .ddr_usable_bytes = 20e9,
                    .ddr_bytes_per_s = 10e9,
                    .reference_bytes_per_s = 1e9},
        .hthreads = {.create_group_s = 30e-6, .launch_group_s = 20e-6},
        .power = {.cluster_idle_watts = 5.0, .cluster_busy_watts = 25.0, .node_watts = 100.0},
    };
}

static const Model small = {.hidden = 100,
                            .heads = 10,
                            .kv_heads = 5,
                            .head_dim = 10,
                            .ffn = 300,
                            .vocab = 1000,
                            .layers = 1};

typedef struct Machine {
    Platform platform;
    OpCosts *costs;
    DeviceModel device;
} Machine;

static void machine_init_fused(Machine *machine, OpModes modes, gboolean fuse) {
    SyntheticModel served = {&small, &machine->platform.cluster, 1, fuse};
    machine->platform = round_platform();
    machine->costs = op_costs_new(modes);
    synthetic_add_model(machine->costs, &served);
    machine->device = device_model(&machine->platform, machine->costs);
}

static void machine_init(Machine *machine, OpModes modes) {
    machine_init_fused(machine, modes, TRUE);
}

static UnitCost cost_of(const Machine *machine, Op op) {
    return machine->device.class->op_cost(&machine->device, &op);
}

static void assert_near(double actual, double expected) {
    g_assert_cmpfloat_with_epsilon(actual, expected, 1e-12 * fabs(expected) + 1e-12);
}

static void test_the_platforms_kind_picks_the_class(void) {
    Machine machine;
    machine_init(&machine, (OpModes){0});
    g_assert_cmpstr(machine.device.class->name, ==, "mt3000");
    g_assert_true(machine.device.platform == &machine.platform);
    assert_near(machine.device.class->memory_capacity(&machine.device), 20e9);
    op_costs_free(machine.costs);
}

static void test_linear_and_attention_are_looked_up(void) {
    Machine machine;
    machine_init(&machine, (OpModes){0});
    static const guint64 rows[] = {1, 7, 2048, 3000, 100000};
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        Op op = op_linear("out", rows[i], 100, 100, DATA_TYPE_FP16);
        OpCostKey key = op_cost_key(&op, OP_ATTENTION_MT);
        UnitCost cost = cost_of(&machine, op);
        assert_near(cost.seconds, synthetic_linear_s(&key, (double)rows[i]));
        assert_near(cost.joules, 20.0 * cost.seconds);
        assert_near(cost.compute_s, (double)rows[i] * 1e4 / 1e12);
        assert_near(cost.memory_bytes, 2.0 * (1e4 + 200.0 * (double)rows[i]));
        g_assert_cmpfloat(cost.launch_s, ==, 0.0);
    }
    Op op = op_attention(&small, (Segment){1, 999}, 1);
    OpCostKey key = op_cost_key(&op, OP_ATTENTION_MT);
    assert_near(cost_of(&machine, op).seconds, synthetic_attention_s(&key, 1, 1000));
    op = op_attention(&small, (Segment){2, 1000}, 1);
    assert_near(cost_of(&machine, op).seconds, synthetic_attention_s(&key, 2, 1002));
    op_costs_free(machine.costs);
}

static void test_an_all_reduce_costs_the_device_nothing(void) {
    Machine machine;
    machine_init(&machine, (OpModes){.launch_each = TRUE});
    UnitCost cost = cost_of(&machine, (Op){.kind = OP_ALL_REDUCE, .bytes_out = 1e6});
    g_assert_cmpfloat(cost.seconds + cost.memory_bytes + cost.joules, ==, 0.0);
    op_costs_free(machine.costs);
}

/* 1000 x 100 elements of one operation each on 500 lanes at 1 GHz: 0.2 us. */
static void test_low_density_is_computing_or_its_off_chip_bytes(void) {
    Machine machine;
    machine_init(&machine, (OpModes){0});
    Op add = {.kind = OP_ADD, .name = "add", .m = 1000, .n = 100, .data_type = DATA_TYPE_FP16};
    assert_near(cost_of(&machine, add).seconds, 0.2e-6);
    add.bytes_in = 400e3;
    add.bytes_out = 200e3;
    assert_near(cost_of(&machine, add).seconds, 60e-6);
    op_costs_free(machine.costs);
}

static void test_unblocked_kernels_touch_fp32_at_their_own_pace(void) {
    Machine machine;
    machine_init(&machine, (OpModes){.reference = TRUE});
    /* 4 · (10,000 + 200) bytes at 1 GB/s */
    UnitCost cost = cost_of(&machine, op_linear("x", 1, 100, 100, DATA_TYPE_FP16));
    assert_near(cost.seconds, 40.8e-6);
    assert_near(cost.memory_bytes, 40.8e3);
    /* or compute: 10^9 · 10^4 MAC at the FP32 peak */
    cost = cost_of(&machine, op_linear("x", 1, 100000000, 100000, DATA_TYPE_FP32));
    g_assert_cmpfloat(cost.seconds, >=, 1e13 / 0.5e12);
    op_costs_free(machine.costs);
}

static void test_a_unit_is_its_launches_and_its_operators(void) {
    Machine machine;
    machine_init(&machine, (OpModes){0});
    Op ops[] = {op_linear("out", 1, 100, 100, DATA_TYPE_FP16),
                {.kind = OP_ROPE, .name = "rope"},
                op_linear("out", 8000, 100, 100, DATA_TYPE_FP16),
                {.kind = OP_ALL_REDUCE, .name = "all_reduce", .bytes_out = 1e9}};
    FusionUnit unit = {.ops = ops, .n_ops = G_N_ELEMENTS(ops), .unified_launches = 1};
    UnitCost cost = machine.device.class->unit_cost(&machine.device, &unit);
    assert_near(cost.launch_s, 50e-6);
    assert_near(cost.seconds, 50e-6 + 2e-6 + 8001e4 * 1e-12);
    assert_near(cost.macs, 8001e4);
    assert_near(cost.joules, 20.0 * cost.seconds);

    FusionUnit empty = {.launches = 7};
    assert_near(machine.device.class->unit_cost(&machine.device, &empty).seconds, 0);
    op_costs_free(machine.costs);
    machine_init(&machine, (OpModes){.launch_each = TRUE});
    assert_near(machine.device.class->unit_cost(&machine.device, &empty).seconds, 7 * 50e-6);
    op_costs_free(machine.costs);
}

static guint64 layer_launches(OpModes modes, gboolean fuse) {
    Machine machine;
    machine_init_fused(&machine, modes, fuse);
    const Segment segments[] = {{1, 9}, {1, 99}};
    const BatchShape batch = {segments, 2, 2};
    g_autoptr(OpGraph) layer = device_layer(&machine.device, &small, &batch, 1);
    double launch_s = 0.0;
    for (guint i = 0; i < layer->units->len; i++) {
        const FusionUnit *unit = &g_array_index(layer->units, FusionUnit, i);
        launch_s += machine.device.class->unit_cost(&machine.device, unit).launch_s;
    }
    op_costs_free(machine.costs);
    return (guint64)llround(launch_s / 50e-6);
}

/* With every operator by itself a layer has norm, q, k, v, two RoPE, out, add, norm, gate, SiLU,
 * up, product, down, add; on so small a model they form the units of q, k, v, and everything behind
 * attention; and there are two requests of ten heads. */
static void test_launches_follow_modes_and_units(void) {
    static const struct {
        OpModes modes;
        gboolean fuse;
        guint64 launches;
    } rows[] = {
        {{0}, TRUE, 2},
        {{0}, FALSE, 2},
        {{.attention = OP_ATTENTION_UNFUSED}, TRUE, 2},
        {{.launch_each = TRUE}, TRUE, 4 + 2 * 10},
        {{.launch_each = TRUE}, FALSE, 15 + 2 * 10},
        /* which launches for itself, within its time */
        {{.launch_each = TRUE, .attention = OP_ATTENTION_UNFUSED}, FALSE, 15},
        {{.launch_each = TRUE, .reference = TRUE}, FALSE, 15 + 2 * 10},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
        g_assert_cmpuint(layer_launches(rows[i].modes, rows[i].fuse), ==, rows[i].launches);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/device_mt3000/the_platforms_kind_picks_the_class",
                    test_the_platforms_kind_picks_the_class);
    g_test_add_func("/device_mt3000/linear_and_attention_are_looked_up",
                    test_linear_and_attention_are_looked_up);
    g_test_add_func("/device_mt3000/an_all_reduce_costs_the_device_nothing",
                    test_an_all_reduce_costs_the_device_nothing);
    g_test_add_func("/device_mt3000/low_density_is_computing_or_its_off_chip_bytes",
                    test_low_density_is_computing_or_its_off_chip_bytes);
    g_test_add_func("/device_mt3000/unblocked_kernels_touch_fp32_at_their_own_pace",
                    test_unblocked_kernels_touch_fp32_at_their_own_pace);
    g_test_add_func("/device_mt3000/a_unit_is_its_launches_and_its_operators",
                    test_a_unit_is_its_launches_and_its_operators);
    g_test_add_func("/device_mt3000/launches_follow_modes_and_units",
                    test_launches_follow_modes_and_units);
    return g_test_run();
}
