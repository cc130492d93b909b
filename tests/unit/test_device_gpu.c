/* A GPU's costs against its roofline by hand, launches, software, and a cache that is copied. */
#include "platforms/step_cost.h"
#include "policies/fusion_units.h"

#include <math.h>

/* 200 TFLOP/s FP16, half of them reached: 50 TMAC/s. 1 TB/s, 80 % of it reached. */
static Platform round_platform(void) {
    return (Platform){
        .kind = DEVICE_GPU,
        .nodes = 1,
        .processors_per_node = 1,
        .clusters_per_processor = 2,
        .cluster = {.ddr_bytes = 32e9, .ddr_usable_bytes = 30e9, .ddr_bytes_per_s = 1e12},
        .gpu = {.peak_fp16_flops_per_s = 200e12,
                .peak_fp32_flops_per_s = 20e12,
                .compute_share = 0.5,
                .memory_bytes = 32e9,
                .usable_bytes = 30e9,
                .bytes_per_s = 1e12,
                .bandwidth_share = 0.8,
                .launch_s = 4e-6},
        .power = {.cluster_idle_watts = 50, .cluster_busy_watts = 250},
    };
}

static const Model model = {.hidden = 1024,
                            .heads = 16,
                            .kv_heads = 8,
                            .head_dim = 64,
                            .ffn = 2816,
                            .vocab = 4096,
                            .layers = 6};

typedef struct Machine {
    Platform platform;
    OpCosts *costs;
    DeviceModel device;
} Machine;

static void machine_init(Machine *machine, OpModes modes) {
    static const AttentionPolicy attentions[] = {[OP_ATTENTION_UNFUSED] = ATTENTION_POLICY_UNFUSED,
                                                 [OP_ATTENTION_FLASH] = ATTENTION_POLICY_FLASH};
    machine->platform = round_platform();
    machine->costs = op_costs_new(modes);
    for (guint tp = 1; tp <= 2; tp++) {
        FusionUnitsInput input = {.model = &model,
                                  .cluster = &machine->platform.cluster,
                                  .tp = tp,
                                  .attention = attentions[modes.attention]};
        op_costs_add_units(machine->costs, fusion_units_new(&input));
    }
    machine->device = device_model(&machine->platform, machine->costs);
}

static UnitCost cost_of(const Machine *machine, Op op) {
    return machine->device.class->op_cost(&machine->device, &op);
}

static UnitCost attention_of(const Machine *machine, Segment segment) {
    return device_attention(&machine->device, op_costs_units(machine->costs, &model, 1), segment);
}

static void assert_near(double actual, double expected) {
    g_assert_cmpfloat_with_epsilon(actual, expected, 1e-12 * fabs(expected));
}

static const OpModes flash = {.attention = OP_ATTENTION_FLASH};

static void test_the_platforms_kind_picks_the_class(void) {
    Machine machine;
    machine_init(&machine, flash);
    g_assert_cmpstr(machine.device.class->name, ==, "gpu");
    assert_near(machine.device.class->memory_capacity(&machine.device), 30e9);
    assert_near(platform_peak_macs(&machine.platform, DATA_TYPE_BF16), 100e12);
    assert_near(platform_peak_macs(&machine.platform, DATA_TYPE_FP32), 10e12);
    op_costs_free(machine.costs);
}

/* max(m·n·k / 50 TMAC/s, 2 (m·k + k·n + m·n) B / 800 GB/s) */
static void test_a_product_takes_its_roofline(void) {
    static const guint64 rows[] = {1, 16, 61, 62, 63, 64, 512, 8192};
    Machine machine;
    guint bound_by_memory = 0;
    machine_init(&machine, flash);
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        double m = (double)rows[i], n = 2816, k = 1024;
        UnitCost cost = cost_of(&machine, op_linear("up", rows[i], 2816, 1024, DATA_TYPE_FP16));
        double compute_s = m * n * k / 50e12, memory_s = 2 * (m * k + k * n + m * n) / 800e9;
        assert_near(cost.seconds, MAX(compute_s, memory_s));
        assert_near(cost.compute_s, compute_s / 2);
        assert_near(cost.memory_s, memory_s * 0.8);
        assert_near(cost.joules, 200 * cost.seconds);
        bound_by_memory += memory_s > compute_s;
    }
    g_assert_cmpuint(bound_by_memory, >, 0);
    g_assert_cmpuint(bound_by_memory, <, G_N_ELEMENTS(rows));
    op_costs_free(machine.costs);
}

static void test_low_operators_take_their_bytes(void) {
    Machine machine;
    machine_init(&machine, flash);
    Op add = {.kind = OP_ADD, .m = 100, .n = 1000, .bytes_in = 4e5, .bytes_out = 2e5};
    assert_near(cost_of(&machine, add).seconds, 6e5 / 800e9);
    Op silu = {.kind = OP_SILU, .m = 100, .n = 1000}; /* nothing moves: nine operations each */
    assert_near(cost_of(&machine, silu).seconds, 9e5 / 10e12 / 0.5);
    Op sum = {.kind = OP_ALL_REDUCE, .bytes_out = 1e9};
    g_assert_cmpfloat(cost_of(&machine, sum).seconds, ==, 0);
    op_costs_free(machine.costs);
}

/* Flash reads K and V once; part by part the scores are written and read four times, and the half
 * that the mask hides is computed too. */
static void test_attention_moves_scores_only_part_by_part(void) {
    Machine fused, apart;
    machine_init(&fused, flash);
    machine_init(&apart, (OpModes){.attention = OP_ATTENTION_UNFUSED});
    UnitCost decode = attention_of(&fused, (Segment){1, 999});
    double kv_bytes = 2 * 1000.0 * 8 * 64 * 2, row_bytes = 2 * 16 * 64 * 2;
    assert_near(decode.memory_bytes, kv_bytes + row_bytes);
    assert_near(decode.seconds, (kv_bytes + row_bytes) / 800e9);
    UnitCost unfused = attention_of(&apart, (Segment){1, 999});
    assert_near(unfused.memory_bytes, kv_bytes + row_bytes + 8 * 16 * 1000.0 * 2);

    UnitCost prompt = attention_of(&fused, (Segment){512, 0});
    assert_near(prompt.macs, 2 * 16 * 64 * (512 * 513.0 / 2));
    assert_near(attention_of(&apart, (Segment){512, 0}).macs, 2 * 16 * 64 * 512.0 * 512);
    op_costs_free(fused.costs);
    op_costs_free(apart.costs);
}

static double layer_launches(OpModes modes) {
    Machine machine;
    machine_init(&machine, modes);
    g_autoptr(OpGraph) layer = device_layer_shared(&machine.device, &model, 16, 2);
    double launch_s = device_layer_cost(&machine.device).launch_s;
    for (guint i = 0; i < layer->units->len; i++) {
        const FusionUnit *unit = &g_array_index(layer->units, FusionUnit, i);
        launch_s += machine.device.class->unit_cost(&machine.device, unit).launch_s;
    }
    op_costs_free(machine.costs);
    return launch_s / 4e-6;
}

/* Two norms, q, k, v, two RoPEs, out, two residuals, gate, SiLU, up, product and down are 15
 * kernels; all-reduces are none; attention is one for all requests, or five part by part. */
static void test_every_kernel_is_launched_once_for_the_batch(void) {
    assert_near(layer_launches((OpModes){.attention = OP_ATTENTION_FLASH, .launch_each = TRUE}),
                15 + 1);
    assert_near(layer_launches((OpModes){.attention = OP_ATTENTION_UNFUSED, .launch_each = TRUE}),
                15 + 5);
    assert_near(layer_launches(flash), 2);
}

static void test_attention_of_a_request_launches_nothing(void) {
    Machine machine;
    machine_init(&machine, (OpModes){.attention = OP_ATTENTION_FLASH, .launch_each = TRUE});
    g_assert_cmpfloat(attention_of(&machine, (Segment){1, 99}).launch_s, ==, 0);
    op_costs_free(machine.costs);
}

static StepCost *whole_model(const Machine *machine, StageShape streamed) {
    StageShape shape = streamed;
    shape.layers = (guint)model.layers;
    shape.tp = 1;
    shape.first = shape.last = TRUE;
    return step_cost_new(&machine->device, &model, shape);
}

/* Appending to a copy reads and writes K and V of the whole context once more, in every layer, but
 * not where there is nothing yet to append to. */
static void test_concat_adds_exactly_its_bytes(void) {
    static const guint32 contexts[] = {100, 1001, 2000};
    Machine plain, copying;
    machine_init(&plain, flash);
    machine_init(&copying, (OpModes){.attention = OP_ATTENTION_FLASH, .kv_concat = TRUE});
    g_autoptr(StepCost) in_place = whole_model(&plain, (StageShape){0});
    g_autoptr(StepCost) concat = whole_model(&copying, (StageShape){0});
    double tokens = 100 + 1001 + 2000, bytes = 6 * 2 * tokens * 2 * 8 * 64 * 2;
    double more_s = step_cost_decode_seconds(concat, contexts, 3, 0) -
                    step_cost_decode_seconds(in_place, contexts, 3, 0);
    g_assert_cmpfloat_with_epsilon(more_s, bytes / 800e9, 1e-12);

    Segment prompt = {500, 0};
    BatchShape batch = {&prompt, 1, 1};
    g_assert_cmpfloat(step_cost_batch(concat, &batch).seconds, ==,
                      step_cost_batch(in_place, &batch).seconds);
    prompt.past_tokens = 300;
    UnitCost later = step_cost_batch(concat, &batch), before = step_cost_batch(in_place, &batch);
    g_assert_cmpfloat_with_epsilon(later.memory_bytes - before.memory_bytes,
                                   6 * 2 * 800.0 * 2 * 8 * 64 * 2, 1);
    op_costs_free(plain.costs);
    op_costs_free(copying.costs);
}

static void test_software_takes_its_time_in_each_layer(void) {
    static const guint32 contexts[] = {100};
    Machine plain, slow;
    machine_init(&plain, flash);
    machine_init(&slow, (OpModes){.attention = OP_ATTENTION_FLASH, .layer_overhead_s = 1e-3});
    g_autoptr(StepCost) bare = whole_model(&plain, (StageShape){0});
    g_autoptr(StepCost) framework = whole_model(&slow, (StageShape){0});
    double more_s = step_cost_decode_seconds(framework, contexts, 1, 0) -
                    step_cost_decode_seconds(bare, contexts, 1, 0);
    g_assert_cmpfloat_with_epsilon(more_s, 6e-3, 1e-12);
    op_costs_free(plain.costs);
    op_costs_free(slow.costs);
}

/* Beside the computing, the longer of both; before it, their sum. */
static void test_streamed_weights_come_beside_the_computing_or_before_it(void) {
    static const guint32 contexts[] = {100, 200};
    static const double streams_s[] = {1e-9, 1.0};
    Segment prompt = {500, 0};
    BatchShape batch = {&prompt, 1, 1};
    Machine machine;
    machine_init(&machine, flash);
    g_autoptr(StepCost) resident = whole_model(&machine, (StageShape){0});
    double decode_s = step_cost_decode_seconds(resident, contexts, 2, 0);
    double prompt_s = step_cost_batch(resident, &batch).seconds;
    for (gsize i = 0; i < G_N_ELEMENTS(streams_s); i++) {
        double stream_s = streams_s[i];
        g_autoptr(StepCost) beside =
            whole_model(&machine, (StageShape){.stream_s = stream_s, .stream_overlaps = TRUE});
        g_autoptr(StepCost) before = whole_model(&machine, (StageShape){.stream_s = stream_s});
        assert_near(step_cost_decode_seconds(beside, contexts, 2, 0), MAX(decode_s, stream_s));
        assert_near(step_cost_decode_seconds(before, contexts, 2, 0), decode_s + stream_s);
        assert_near(step_cost_batch(beside, &batch).seconds, MAX(prompt_s, stream_s));
        assert_near(step_cost_batch(before, &batch).seconds, prompt_s + stream_s);
        g_assert_cmpfloat(step_cost_batch(before, &batch).seconds, >=, stream_s);
    }
    op_costs_free(machine.costs);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/device_gpu/the_platforms_kind_picks_the_class",
                    test_the_platforms_kind_picks_the_class);
    g_test_add_func("/device_gpu/a_product_takes_its_roofline", test_a_product_takes_its_roofline);
    g_test_add_func("/device_gpu/low_operators_take_their_bytes",
                    test_low_operators_take_their_bytes);
    g_test_add_func("/device_gpu/attention_moves_scores_only_part_by_part",
                    test_attention_moves_scores_only_part_by_part);
    g_test_add_func("/device_gpu/every_kernel_is_launched_once_for_the_batch",
                    test_every_kernel_is_launched_once_for_the_batch);
    g_test_add_func("/device_gpu/attention_of_a_request_launches_nothing",
                    test_attention_of_a_request_launches_nothing);
    g_test_add_func("/device_gpu/concat_adds_exactly_its_bytes",
                    test_concat_adds_exactly_its_bytes);
    g_test_add_func("/device_gpu/software_takes_its_time_in_each_layer",
                    test_software_takes_its_time_in_each_layer);
    g_test_add_func("/device_gpu/streamed_weights_come_beside_the_computing_or_before_it",
                    test_streamed_weights_come_beside_the_computing_or_before_it);
    return g_test_run();
}
