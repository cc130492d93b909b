/* A transformer layer on one tensor-parallel rank, from kernels: what a simulated stage computes
 * when numerics are on, and what the single-process reference is made of. Tensor parallelism splits
 * heads and the feed-forward width; each half of a layer ends in a partial sum over the hidden
 * vector that an all-reduce completes. Partial sums are float; what is stored between steps is
 * FP16. */
#ifndef ACTORS_KERNELS_LAYER_H
#define ACTORS_KERNELS_LAYER_H

#include "actors/kernels/kernels.h"
#include "workloads/checkpoint.h"

/* The order of summation of a layer's attention. */
#define LAYER_ATTENTION ATTENTION_MT

/* Which part of the model a rank computes. */
typedef struct RankShape {
    const Model *model;
    const Checkpoint *checkpoint; /* borrowed; slices are taken in place */
    guint rank, tp;
} RankShape;

/* K and V of one request in one layer on one rank: tokens × (kv_heads/tp · head_dim), FP16. */
typedef struct LayerKv {
    guint64 tokens;
    GArray *keys, *values; /* guint16 */
} LayerKv;
LayerKv *layer_kv_new(void);
void layer_kv_free(LayerKv *kv);
/* Copies the heads of rank 'rank' of 'tp' out of a whole (tp 1) layer's KV. Caller owns. */
LayerKv *layer_kv_slice(const LayerKv *whole, const Model *model, guint rank, guint tp);

/* x[hidden] of one token at 'position': this rank's part of the attention half. Appends the token's
 * K and V to 'kv'. partial[hidden] is to be summed over the ranks and then added to x. */
void layer_attention_half(const RankShape *shape, guint layer, guint64 position, const float *x,
                          LayerKv *kv, float *partial);
/* The feed-forward half, likewise. */
void layer_feed_forward_half(const RankShape *shape, guint layer, const float *x, float *partial);

/* Embedding row of a token → x[hidden]; final norm and LM head: logits[vocab] (whole, rank 0). */
void layer_embed(const RankShape *shape, guint32 token, float *x);
void layer_logits(const RankShape *shape, const float *x, float *logits);

/* The ring's order of summation: sum[i] = Σ over ranks, as a ring all-reduce of 'tp' ranks adds
 * them (chunk c of tp, from n·c/tp on, starts at rank c). In place in parts[0]; parts is tp vectors
 * of n. */
void layer_ring_sum(guint tp, gsize n, float *const *parts);

#endif
