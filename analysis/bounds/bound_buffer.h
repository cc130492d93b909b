/* Private to plan_bound: how fast KV can pass through the buffers of a plan. */
#ifndef ANALYSIS_BOUND_BUFFER_H
#define ANALYSIS_BOUND_BUFFER_H

#include "analysis/bounds/bound_work.h"

/* Seconds a token's KV of all layers, over all buffers, at the least; 0 without buffers. */
typedef struct BoundBuffer {
    double in_s, out_s;
    double memory_s;  /* in one direction, through the buffers' DDR, which both share */
    double out_ports; /* of what goes out, the share through ports at full rate */
} BoundBuffer;

void bound_buffer_fill(BoundBuffer *buffer, const BoundWork *work);

#endif
