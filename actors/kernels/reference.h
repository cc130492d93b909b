/* The single-process forward pass: prompt in, tokens out. The truth that tokens leaving a simulated
 * cluster are compared with. */
#ifndef ACTORS_KERNELS_REFERENCE_H
#define ACTORS_KERNELS_REFERENCE_H

#include "actors/kernels/layer.h"

typedef struct ReferenceRun {
    guint32 *tokens; /* 'n' generated tokens; owned */
    guint n;
    float smallest_gap;  /* between the two largest logits, over all steps */
    float largest_logit; /* in magnitude, for error bounds */
} ReferenceRun;
/* 'tp' of the shape sets only the order of summation (1: no partial sums). Of 'sampling' the
 * position is filled in for each token: its place in the sequence, which for the first generated
 * one is 'n_prompt'. */
ReferenceRun reference_generate(const RankShape *shape, const guint32 *prompt, guint n_prompt,
                                guint n_output, const Sampling *sampling);
void reference_run_clear(ReferenceRun *run);
/* The logits after each of n given tokens: [n × vocab]. 'shape' tells the model and tp; its rank
 * does not matter. */
void reference_logits(const RankShape *shape, const guint32 *tokens, guint n, float *logits);
/* The prompt of request 'id': token i is a pure function of (seed, id, i), below vocab. */
void reference_prompt(const Model *model, guint64 seed, guint64 id, guint32 *tokens, guint n);

#endif
