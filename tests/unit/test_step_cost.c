/* Step costs against the sum of unit costs over the operator graph: two ways to one number. */
#include "platforms/step_cost.h"
#include "tests/unit/synthetic_costs.h"

#include <math.h>

#define SEED 20240611

/* Figures of the MT-3000's order of magnitude. */
static Platform platform_like_mt3000(void) {
    return (Platform){
        .kind = DEVICE_MT3000,
        .cluster = {.dsps = 24,
                    .clock_hz = 1.8e9,
                    .macs_per_cycle_fp32 = 96,
                    .macs_per_cycle_fp16 = 192,
                    .peak_fp32_macs_per_s = 4.147e12,
                    .peak_fp16_macs_per_s = 8.294e12,
                    .sm_bytes = 64 * 1024,
                    .am_bytes = 768 * 1024,
                    .gsm_bytes = 6 * 1024 * 1024,
                    .ddr_usable_bytes = 20e9,
                    .ddr_bytes_per_s = 30e9,
                    .reference_bytes_per_s = 2e9},
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
    g_autoptr(OpGraph) embedding = op_graph_embedding(model, batch);
    g_autoptr(OpGraph) layer = device_layer(device, model, batch, shape.tp);
    g_autoptr(OpGraph) head = device_head(device, model, batch, shape.tp);
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

typedef struct Machine {
    Platform platform;
    OpCosts *costs;
    DeviceModel device;
} Machine;

/* How operators are made, and whether in units. */
typedef struct Setting {
    OpModes modes;
    gboolean fuse;
} Setting;

/* With units and tables for all models and stages. */
static Machine *machine_new(Setting setting) {
    Machine *machine = g_new(Machine, 1);
    machine->platform = platform_like_mt3000();
    machine->costs = op_costs_new(setting.modes);
    machine->device = device_model(&machine->platform, machine->costs);
    for (gsize m = 0; m < G_N_ELEMENTS(models); m++)
        for (gsize s = 0; s < G_N_ELEMENTS(shapes); s++) {
            SyntheticModel served = {models[m], &machine->platform.cluster, shapes[s].tp,
                                     setting.fuse};
            synthetic_add_model(machine->costs, &served);
        }
    return machine;
}

static void machine_free(Machine *machine) {
    op_costs_free(machine->costs);
    g_free(machine);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Machine, machine_free)

typedef void (*Check)(const DeviceModel *device, const Model *model, StageShape shape);

static const Setting settings[] = {
    {{0}, TRUE},
    {{.attention = OP_ATTENTION_FLASH}, FALSE},
    {{.attention = OP_ATTENTION_UNFUSED, .launch_each = TRUE}, FALSE},
    {{.launch_each = TRUE}, TRUE},
    {{.reference = TRUE, .launch_each = TRUE}, FALSE},
};

static void for_every_stage(Check check) {
    for (gsize i = 0; i < G_N_ELEMENTS(settings); i++) {
        g_autoptr(Machine) machine = machine_new(settings[i]);
        for (gsize m = 0; m < G_N_ELEMENTS(models); m++)
            for (gsize s = 0; s < G_N_ELEMENTS(shapes); s++)
                check(&machine->device, models[m], shapes[s]);
    }
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
        guint32 before[MAX_SEGMENTS], further = 1 + g_rand_int(rand);
        for (gsize s = 0; s < batch.n_segments; s++)
            before[s] = segments[s].past_tokens + 1 - further;
        double expected = walk_graphs(device, model, shape, &batch).seconds;
        assert_near(step_cost_decode_seconds(cost, before, (guint)batch.n_segments, further),
                    expected);
        assert_near(step_cost_batch(cost, &batch).seconds, expected);
    }
}

static void test_a_decode_step_is_known_from_its_contexts(void) {
    for_every_stage(check_decode);
}

/* 'batch' requests with as many tokens each. */
static double decode_seconds(StepCost *cost, guint batch, guint32 context) {
    g_autofree guint32 *contexts = g_new(guint32, batch + 1);
    for (guint i = 0; i < batch; i++)
        contexts[i] = context;
    return step_cost_decode_seconds(cost, contexts, batch, 0);
}

static void check_monotone(const DeviceModel *device, const Model *model, StageShape shape) {
    g_autoptr(StepCost) cost = step_cost_new(device, model, shape);
    double last_prefill_s = 0.0, last_context_s = 0.0, last_batch_s = 0.0;
    for (guint32 n = 1; n < 20000; n += 1 + n / 3) {
        Segment prompt = {n, 0}, context = {16, n};
        BatchShape prefill = {&prompt, 1, 1}, chunk = {&context, 1, 0};
        double prefill_s = step_cost_batch(cost, &prefill).seconds;
        double context_s = step_cost_batch(cost, &chunk).seconds;
        double batch_s = decode_seconds(cost, n, 1000);
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

static void test_all_reduces_are_two_a_layer(void) {
    g_autoptr(Machine) machine = machine_new(settings[0]);
    for (gsize s = 0; s < G_N_ELEMENTS(shapes); s++) {
        g_autoptr(StepCost) cost = step_cost_new(&machine->device, &single_kv, shapes[s]);
        g_autoptr(OpGraph) layer =
            device_layer_shared(&machine->device, &single_kv, 5, shapes[s].tp);
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
    g_autoptr(Machine) machine = machine_new(settings[0]);
    g_autoptr(StepCost) cost = step_cost_new(&machine->device, &llama_2_7b, shapes[0]);
    const BatchShape nothing = {NULL, 0, 0};
    g_assert_cmpfloat(step_cost_batch(cost, &nothing).seconds, ==, 0.0);
    g_assert_cmpfloat(step_cost_decode_seconds(cost, NULL, 0, 1), ==, 0.0);
}

/* Tables grow as larger batches come: neither growing nor the order may change an answer. */
static void test_the_order_of_questions_does_not_matter(void) {
    static const guint32 batches[] = {70000, 1, 9000, 64, 8192, 8193, 63, 65};
    g_autoptr(Machine) machine = machine_new(settings[0]);
    g_autoptr(StepCost) used = step_cost_new(&machine->device, &grouped, shapes[3]);
    for (gsize i = 0; i < G_N_ELEMENTS(batches); i++) {
        g_autoptr(StepCost) fresh = step_cost_new(&machine->device, &grouped, shapes[3]);
        double first = decode_seconds(used, batches[i], 1234 + batches[i]);
        g_assert_cmpfloat(first, ==, decode_seconds(fresh, batches[i], 1234 + batches[i]));
        g_assert_cmpfloat(first, ==, decode_seconds(used, batches[i], 1234 + batches[i]));
    }
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/step_cost/a_batch_is_the_sum_of_its_units",
                    test_a_batch_is_the_sum_of_its_units);
    g_test_add_func("/step_cost/a_decode_step_is_known_from_its_contexts",
                    test_a_decode_step_is_known_from_its_contexts);
    g_test_add_func("/step_cost/more_tokens_or_context_never_take_less",
                    test_more_tokens_or_context_never_take_less);
    g_test_add_func("/step_cost/all_reduces_are_two_a_layer", test_all_reduces_are_two_a_layer);
    g_test_add_func("/step_cost/a_step_of_nothing_takes_no_time",
                    test_a_step_of_nothing_takes_no_time);
    g_test_add_func("/step_cost/the_order_of_questions_does_not_matter",
                    test_the_order_of_questions_does_not_matter);
    return g_test_run();
}
