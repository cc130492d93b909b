/* The watermark rule of a bounded buffer: admission stops at the high mark and resumes at the low
 * one (THInfer III.D.2). */
#ifndef POLICIES_BACKPRESSURE_H
#define POLICIES_BACKPRESSURE_H

#include "policies/policy.h"

typedef struct Backpressure {
    double high_bytes, low_bytes;
    gboolean paused;
} Backpressure;
Backpressure backpressure_new(const BufferSpec *spec, double capacity_bytes);
/* Tells it the occupancy; TRUE when 'paused' changed. */
gboolean backpressure_update(Backpressure *rule, double occupied_bytes);

#endif
