/* When a bounded buffer stops the admission of new requests, and when it lets them in again
 * (THInfer III.D.2). */
#ifndef POLICIES_BACKPRESSURE_H
#define POLICIES_BACKPRESSURE_H

#include "policies/policy.h"

typedef struct Backpressure {
    BackpressureKind kind;
    double high_bytes, low_bytes;
    gboolean paused;
} Backpressure;
Backpressure backpressure_new(const BufferSpec *spec, double capacity_bytes);
/* Tells it the occupancy; TRUE when 'paused' changed. */
gboolean backpressure_update(Backpressure *rule, double occupied_bytes);

#endif
