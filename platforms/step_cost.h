/* What a step costs on a stage: the sum of unit costs over its layers, and what weights that come
 * from the host take beside it or on top of it, arranged so that a decode step is cheap.
 * Shared-weight operators depend on the number of tokens alone and are remembered by it; so is the
 * attention of one new token, by its context. A test holds this equal to the sum of unit_cost over
 * the operator graph. A wafer's step is one prompt or one decoding request, and costs what is known
 * of the phase as a whole. */
#ifndef PLATFORMS_STEP_COST_H
#define PLATFORMS_STEP_COST_H

#include "platforms/device.h"

/* The part of the model that a stage holds. */
typedef struct StageShape {
    guint layers;
    guint tp;
    gboolean first;           /* embeds */
    gboolean last;            /* final norm and LM head */
    double stream_s;          /* that its weights take to come from the host, in every step; 0: they
                                 rest on the device */
    gboolean stream_overlaps; /* they come beside the computing, which else waits for them */
} StageShape;

typedef struct StepCost StepCost;
/* Borrows device and model. */
StepCost *step_cost_new(const DeviceModel *device, const Model *model, StageShape shape);
void step_cost_free(StepCost *cost);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(StepCost, step_cost_free)

StageShape step_cost_shape(const StepCost *cost);

/* Any mix of prefill chunks and decode tokens; all-reduces not included. */
UnitCost step_cost_batch(StepCost *cost, const BatchShape *batch);
/* Seconds of a decode step of 'batch' requests of which number i has contexts[i] + further tokens
 * (modulo 2^32) after it; the same as step_cost_batch(…).seconds up to rounding. A sum over what is
 * remembered of each context. */
double step_cost_decode_seconds(StepCost *cost, const guint32 *contexts, guint batch,
                                guint32 further);
/* Of them, the seconds after the last layer: final norm and LM head on 'sampled' rows. */
double step_cost_head_seconds(StepCost *cost, guint32 sampled);
/* Bytes of one all-reduce vector for 'tokens' tokens, and how many all-reduces a step has
 * (two a layer; none when tp is 1). */
double step_cost_all_reduce_bytes(const StepCost *cost, guint32 tokens);
guint step_cost_all_reduces(const StepCost *cost);

/* On a wafer, what step_cost_decode_seconds wants in place of a context (wafer_times.h). */
guint32 step_cost_decode_key(const StepCost *cost, guint32 prompt, guint32 context);

/* On a wafer, where prompts and decode steps want weights and KV in different places. */
gboolean step_cost_has_phases(const StepCost *cost);
/* Seconds from one layout to the other with the KV of 'tokens' tokens; 0: weights alone. */
double step_cost_transition_seconds(const StepCost *cost, guint32 tokens);

#endif
