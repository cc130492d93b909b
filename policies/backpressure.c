#include "policies/backpressure.h"

Backpressure backpressure_new(const BufferSpec *spec, double capacity_bytes)
{
    return (Backpressure){.high_bytes = spec->high_watermark * capacity_bytes,
                          .low_bytes = spec->low_watermark * capacity_bytes};
}

gboolean backpressure_update(Backpressure *rule, double occupied_bytes)
{
    gboolean paused = rule->paused ? occupied_bytes > rule->low_bytes
                                   : occupied_bytes >= rule->high_bytes;
    gboolean changed = paused != rule->paused;
    rule->paused = paused;
    return changed;
}
