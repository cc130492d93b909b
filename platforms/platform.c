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

double platform_peak_macs(const Platform *platform, DataType type) {
    if (platform->kind == DEVICE_WAFER)
        return wafer_peak_macs(&platform->mesh, type);
    if (type == DATA_TYPE_FP32)
        return platform->cluster.peak_fp32_macs_per_s;
    return platform->cluster.peak_fp16_macs_per_s;
}
