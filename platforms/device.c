#include "platforms/device.h"

static const DeviceClass *const classes[] = {
    [DEVICE_MT3000] = &device_mt3000, [DEVICE_GPU] = &device_gpu};

/* Vector operations for an element of the result; exp and division in a few steps. Assumed. */
static const guint operations[N_OP_KINDS] = {
    [OP_NORM] = 4,    [OP_ROPE] = 3, [OP_ACTIVATION] = 10, [OP_ADD] = 1, [OP_SCALE] = 1,
    [OP_SOFTMAX] = 8, [OP_SILU] = 9, [OP_MUL] = 1,         [OP_MASK] = 1};

DeviceModel device_model(const Platform *platform, const OpCosts *costs) {
    DeviceModel device = {.platform = platform, .costs = costs, .wafer = op_costs_wafer(costs)};

    if (platform->kind == DEVICE_WAFER)
        return device;
    g_assert((guint)platform->kind < G_N_ELEMENTS(classes));
    device.class = classes[platform->kind];
    return device;
}

gboolean device_is_dense(const Op *op) {
    return op->kind == OP_LINEAR || op->kind == OP_ATTENTION;
}

double device_vector_operations(const Op *op) {
    return (double)op->m * (double)op->n * operations[op->kind];
}

double device_low_density_seconds(const Platform *platform, const Op *op) {
    const ClusterSpec *cluster = &platform->cluster;
    double lanes = (double)(cluster->dsps * cluster->macs_per_cycle_fp32);

    return device_vector_operations(op) / lanes / cluster->clock_hz;
}

double device_joules(const Platform *platform, double seconds) {
    return (platform->power.cluster_busy_watts - platform->power.cluster_idle_watts) * seconds;
}

double device_fp32_bytes(const Op *op) {
    return (op->weight_bytes + op->bytes_in + op->bytes_out) * sizeof(float) /
           data_type_bytes(op->data_type);
}

OpGraph *device_layer(const DeviceModel *device, const Model *model, const BatchShape *batch,
                      guint tp) {
    return op_graph_layer(op_costs_units(device->costs, model, tp), batch);
}

OpGraph *device_layer_shared(const DeviceModel *device, const Model *model, guint64 tokens,
                             guint tp) {
    return op_graph_layer_shared(op_costs_units(device->costs, model, tp), tokens);
}

OpGraph *device_head(const DeviceModel *device, const Model *model, const BatchShape *batch,
                     guint tp) {
    return op_graph_head(op_costs_units(device->costs, model, tp), batch);
}

UnitCost device_layer_cost(const DeviceModel *device) {
    UnitCost cost = device->class->layer_cost(device);
    double overhead_s = op_costs_modes(device->costs).layer_overhead_s;

    cost.seconds += overhead_s;
    cost.joules += device_joules(device->platform, overhead_s);
    return cost;
}

/* Reading and writing K and V of the whole context, on one rank. */
static UnitCost concat_cost(const DeviceModel *device, const Op *attention) {
    double width = 2.0 * (double)(attention->kv_heads * attention->k);
    double bytes = 2 * (double)attention->n * width * data_type_bytes(attention->data_type);
    double seconds = bytes / platform_memory_bytes_per_s(device->platform);

    return (UnitCost){.seconds = seconds,
                      .memory_s = bytes / device->platform->cluster.ddr_bytes_per_s,
                      .memory_bytes = bytes,
                      .joules = device_joules(device->platform, seconds)};
}

UnitCost device_attention(const DeviceModel *device, const ModelUnits *units, Segment segment) {
    Op op;
    FusionUnit unit = op_graph_attention(units, segment, &op);
    UnitCost cost = device->class->unit_cost(device, &unit);

    if (op_costs_modes(device->costs).kv_concat && segment.past_tokens > 0) {
        UnitCost concat = concat_cost(device, &op);
        unit_cost_add(&cost, &concat);
    }
    return cost;
}

void unit_cost_add(UnitCost *sum, const UnitCost *term) {
    sum->seconds += term->seconds;
    sum->compute_s += term->compute_s;
    sum->memory_s += term->memory_s;
    sum->launch_s += term->launch_s;
    sum->macs += term->macs;
    sum->memory_bytes += term->memory_bytes;
    sum->joules += term->joules;
}
