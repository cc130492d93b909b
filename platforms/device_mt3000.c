/* A cluster of the MT-3000: its DSPs share every kernel, its DDR feeds it. What Linear and
 * attention take was found by simulating their blocks; the operators between them are short. */
#include "platforms/device.h"

/* Computing and off-chip bytes pass side by side. Unblocked FP32 kernels are bound by the pace at
 * which they touch memory. */
static double run_seconds(const DeviceModel *device, const Op *op, const UnitCost *cost) {
    if (op_costs_modes(device->costs).reference)
        return MAX(cost->compute_s,
                   device_fp32_bytes(op) / device->platform->cluster.reference_bytes_per_s);
    return device_is_dense(op) ? op_costs_seconds(device->costs, op)
                               : MAX(cost->compute_s, cost->memory_s);
}

/* Attention part by part launches for itself, head by head; that is in its time. */
static guint64 mt3000_unit_launches(const DeviceModel *device, const FusionUnit *unit) {
    OpModes modes = op_costs_modes(device->costs);
    if (!modes.launch_each)
        return unit->unified_launches;
    return unit->n_ops > 0 && unit->ops[0].apart && !modes.reference ? 0 : unit->launches;
}

/* T_create_group + T_launch_group (THInfer eq. 10), so often. */
static double launch_seconds(const Platform *platform, guint64 launches) {
    return (double)launches *
           (platform->hthreads.create_group_s + platform->hthreads.launch_group_s);
}

static UnitCost mt3000_op_cost(const DeviceModel *device, const Op *op) {
    if (op->kind == OP_ALL_REDUCE)
        return (UnitCost){0};
    const Platform *platform = device->platform;
    gboolean reference = op_costs_modes(device->costs).reference;
    double bytes = op->weight_bytes + op->bytes_in + op->bytes_out;
    DataType type = reference ? DATA_TYPE_FP32 : op->data_type;
    UnitCost cost = {.macs = op->macs, .memory_bytes = reference ? device_fp32_bytes(op) : bytes};
    cost.compute_s = device_is_dense(op) ? cost.macs / platform_peak_macs(platform, type)
                                         : device_low_density_seconds(platform, op);
    cost.memory_s = cost.memory_bytes / platform->cluster.ddr_bytes_per_s;
    cost.seconds = run_seconds(device, op, &cost);
    cost.joules = device_joules(platform, cost.seconds);
    return cost;
}

/* T_single = T_create_group + T_launch_group + T_exec_group (THInfer eq. 10). */
static UnitCost mt3000_unit_cost(const DeviceModel *device, const FusionUnit *unit) {
    double launch_s = launch_seconds(device->platform, mt3000_unit_launches(device, unit));
    UnitCost cost = {.seconds = launch_s,
                     .launch_s = launch_s,
                     .joules = device_joules(device->platform, launch_s)};
    for (gsize i = 0; i < unit->n_ops; i++) {
        UnitCost op_cost = mt3000_op_cost(device, &unit->ops[i]);
        unit_cost_add(&cost, &op_cost);
    }
    return cost;
}

static UnitCost mt3000_layer_cost(const DeviceModel *device) {
    (void)device;
    return (UnitCost){0};
}

static double mt3000_memory_capacity(const DeviceModel *device) {
    return device->platform->cluster.ddr_usable_bytes;
}

const DeviceClass device_mt3000 = {
    .name = "mt3000",
    .op_cost = mt3000_op_cost,
    .unit_launches = mt3000_unit_launches,
    .unit_cost = mt3000_unit_cost,
    .layer_cost = mt3000_layer_cost,
    .memory_capacity = mt3000_memory_capacity,
};
