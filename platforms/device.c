#include "platforms/device.h"

static const DeviceClass *const classes[] = {[DEVICE_MT3000] = &device_mt3000};

DeviceModel device_model(const Platform *platform) {
    g_assert((guint)platform->kind < G_N_ELEMENTS(classes));
    return (DeviceModel){.class = classes[platform->kind], .platform = platform};
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
