#include "platforms/platform.h"

#include "platforms/mesh_cycles.h"

void platform_free(Platform *platform) {
    if (platform == NULL)
        return;
    g_free(platform->name);
    g_clear_pointer(&platform->sources, g_ptr_array_unref);
    g_free(platform);
}

guint platform_clusters(const Platform *platform) {
    return (guint)(platform->nodes * platform->processors_per_node *
                   platform->clusters_per_processor);
}

guint platform_processor_of(const Platform *platform, guint cluster) {
    return (guint)(cluster / platform->clusters_per_processor);
}

guint platform_node_of(const Platform *platform, guint cluster) {
    return (guint)(platform_processor_of(platform, cluster) / platform->processors_per_node);
}

static double wafer_peak_macs(const MeshSpec *mesh, DataType type) {
    return (double)(mesh->columns * mesh->rows) * mesh->clock_hz *
           mesh_peak_macs_per_cycle(mesh, type);
}

#define FLOPS_PER_MAC 2

static double gpu_peak_macs(const GpuSpec *gpu, DataType type) {
    double flops = type == DATA_TYPE_FP32 ? gpu->peak_fp32_flops_per_s : gpu->peak_fp16_flops_per_s;

    return flops / FLOPS_PER_MAC;
}

double platform_peak_macs(const Platform *platform, DataType type) {
    if (platform->kind == DEVICE_WAFER)
        return wafer_peak_macs(&platform->mesh, type);
    if (platform->kind == DEVICE_GPU)
        return gpu_peak_macs(&platform->gpu, type);
    if (type == DATA_TYPE_FP32)
        return platform->cluster.peak_fp32_macs_per_s;
    return platform->cluster.peak_fp16_macs_per_s;
}

double platform_memory_bytes_per_s(const Platform *platform) {
    if (platform->kind == DEVICE_GPU)
        return platform->gpu.bytes_per_s * platform->gpu.bandwidth_share;
    return platform->cluster.ddr_bytes_per_s;
}

const char *platform_elements_name(DeviceKind kind, guint64 n) {
    static const char *const names[][2] = {[DEVICE_MT3000] = {"cluster", "clusters"},
                                           [DEVICE_WAFER] = {"wafer", "wafers"},
                                           [DEVICE_GPU] = {"GPU", "GPUs"}};

    return names[kind][n == 1 ? 0 : 1];
}
