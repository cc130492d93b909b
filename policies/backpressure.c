#include "policies/backpressure.h"

#include "policies/backpressure/rule.h"

#define BACKPRESSURE_ROW(kind, name, rule) [kind] = (rule),
static BackpressureRule *const rules[] = {BACKPRESSURE_RULES(BACKPRESSURE_ROW)};

Backpressure backpressure_new(const BufferSpec *spec, double capacity_bytes) {
    return (Backpressure){.kind = spec->backpressure,
                          .high_bytes = spec->high_watermark * capacity_bytes,
                          .low_bytes = spec->low_watermark * capacity_bytes};
}

gboolean backpressure_update(Backpressure *rule, double occupied_bytes) {
    gboolean was_paused = rule->paused;
    rule->paused = rules[rule->kind](rule, occupied_bytes);
    return rule->paused != was_paused;
}
