/* A GPU by its roofline: kernels take what their multiply-accumulates need at the reached share of
 * the peak, or what their bytes need at the reached share of the memory's bandwidth, whichever is
 * longer (Williams, Waterman & Patterson 2009), and each is launched. */
#include "platforms/device.h"

/* Kernels of attention part by part: scores, scale, mask, softmax and sums. */
#define KERNELS_APART 5

/* Part by part, products know no mask: the half that it hides is computed too. */
static double macs_of(const Op *op) {
    if (!op->apart)
        return op->macs;
    return 2.0 * (double)op->heads * (double)op->k * (double)op->m * (double)op->n;
}

/* At the peak. */
static double compute_seconds(const DeviceModel *device, const Op *op, double macs) {
    const Platform *platform = device->platform;

    if (device_is_dense(op))
        return macs / platform_peak_macs(platform, op->data_type);
    return device_vector_operations(op) / platform_peak_macs(platform, DATA_TYPE_FP32);
}

static UnitCost gpu_op_cost(const DeviceModel *device, const Op *op) {
    if (op->kind == OP_ALL_REDUCE)
        return (UnitCost){0};
    const GpuSpec *gpu = &device->platform->gpu;
    UnitCost cost = {.macs = macs_of(op),
                     .memory_bytes = op->weight_bytes + op->bytes_in + op->bytes_out};
    cost.compute_s = compute_seconds(device, op, cost.macs);
    cost.memory_s = cost.memory_bytes / gpu->bytes_per_s;
    cost.seconds = MAX(cost.compute_s / gpu->compute_share, cost.memory_s / gpu->bandwidth_share);
    cost.joules = device_joules(device->platform, cost.seconds);
    return cost;
}

static gboolean is_attention(const FusionUnit *unit) {
    return unit->n_ops > 0 && unit->ops[0].kind == OP_ATTENTION;
}

/* Attention's kernels serve all requests at once: they are the layer's. */
static guint64 gpu_unit_launches(const DeviceModel *device, const FusionUnit *unit) {
    if (is_attention(unit))
        return 0;
    return op_costs_modes(device->costs).launch_each ? unit->launches : unit->unified_launches;
}

static UnitCost launch_cost(const DeviceModel *device, guint64 launches) {
    double seconds = (double)launches * device->platform->gpu.launch_s;

    return (UnitCost){.seconds = seconds,
                      .launch_s = seconds,
                      .joules = device_joules(device->platform, seconds)};
}

static UnitCost gpu_unit_cost(const DeviceModel *device, const FusionUnit *unit) {
    UnitCost cost = launch_cost(device, gpu_unit_launches(device, unit));

    for (gsize i = 0; i < unit->n_ops; i++) {
        UnitCost op_cost = gpu_op_cost(device, &unit->ops[i]);
        unit_cost_add(&cost, &op_cost);
    }
    return cost;
}

static UnitCost gpu_layer_cost(const DeviceModel *device) {
    OpModes modes = op_costs_modes(device->costs);
    gboolean apart = modes.attention == OP_ATTENTION_UNFUSED;

    return launch_cost(device, !modes.launch_each ? 0 : apart ? KERNELS_APART : 1);
}

static double gpu_memory_capacity(const DeviceModel *device) {
    return device->platform->gpu.usable_bytes;
}

const DeviceClass device_gpu = {
    .name = "gpu",
    .op_cost = gpu_op_cost,
    .unit_launches = gpu_unit_launches,
    .unit_cost = gpu_unit_cost,
    .layer_cost = gpu_layer_cost,
    .memory_capacity = gpu_memory_capacity,
};
