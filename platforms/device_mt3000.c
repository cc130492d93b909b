/* A cluster of the MT-3000: its DSPs share every kernel, its DDR feeds it. Kernels overlap DMA with
 * computing (THInfer section III.B), so an operator lasts as long as the slower of the two. */
#include "platforms/device.h"

static double joules_above_idle(const Platform *platform, double seconds) {
    return (platform->power.cluster_busy_watts - platform->power.cluster_idle_watts) * seconds;
}

static double efficiency(const ClusterSpec *cluster, OpKind kind) {
    return kind == OP_ATTENTION ? cluster->attention_efficiency : cluster->linear_efficiency;
}

static UnitCost mt3000_op_cost(const DeviceModel *device, const Op *op) {
    if (op->kind == OP_ALL_REDUCE)
        return (UnitCost){0};
    const Platform *platform = device->platform;
    double macs_per_s =
        platform_peak_macs(platform, op->data_type) * efficiency(&platform->cluster, op->kind);
    UnitCost cost = {.macs = op->macs,
                     .memory_bytes = op->weight_bytes + op->bytes_in + op->bytes_out};
    cost.compute_s = cost.macs / macs_per_s;
    cost.memory_s = cost.memory_bytes / platform->cluster.ddr_bytes_per_s;
    cost.seconds = MAX(cost.compute_s, cost.memory_s);
    cost.joules = joules_above_idle(platform, cost.seconds);
    return cost;
}

/* T_single = T_create_group + T_launch_group + T_exec_group (THInfer eq. 10). */
static UnitCost mt3000_unit_cost(const DeviceModel *device, const FusionUnit *unit) {
    const HthreadsSpec *hthreads = &device->platform->hthreads;
    double launch_s = hthreads->create_group_s + hthreads->launch_group_s;
    UnitCost cost = {.seconds = launch_s,
                     .launch_s = launch_s,
                     .joules = joules_above_idle(device->platform, launch_s)};
    for (gsize i = 0; i < unit->n_ops; i++) {
        UnitCost op_cost = mt3000_op_cost(device, &unit->ops[i]);
        unit_cost_add(&cost, &op_cost);
    }
    return cost;
}

static double mt3000_memory_capacity(const DeviceModel *device) {
    return device->platform->cluster.ddr_usable_bytes;
}

const DeviceClass device_mt3000 = {
    .name = "mt3000",
    .op_cost = mt3000_op_cost,
    .unit_cost = mt3000_unit_cost,
    .memory_capacity = mt3000_memory_capacity,
};
