/* The numbers behind simulated steps: plain C, one function per formula. Matrices are row-major.
 * Stored values are FP16 (IEEE binary16 as guint16) or float; everything is accumulated in float in
 * a fixed order, so that on one machine the same input gives the same bits however the work is
 * split over blocks. Between machines the last bits may differ: some fuse a multiplication with the
 * addition that follows, and C libraries differ in their exponentials.
 * A weight matrix W[k×n] stands as n rows of k (as checkpoints store it): y = W·x. */
#ifndef ACTORS_KERNELS_KERNELS_H
#define ACTORS_KERNELS_KERNELS_H

#include <glib.h>

/* fp16.c: round to nearest even; exact back. Also whole arrays. The same bits on every machine; NaN
 * becomes quiet and keeps the upper bits of its payload. */
guint16 fp16_from_float(float value);
float fp16_to_float(guint16 value);
void fp16_from_floats(guint16 *out, const float *in, gsize n);
void fp16_to_floats(float *out, const guint16 *in, gsize n);

/* gemm.c: blocked outer product, C[m×n] (+)= A[m×k]·B[k×n], leading dimensions in elements.
 * 'accumulate' adds to C, otherwise C is overwritten. Every element is one chain of multiply-adds
 * in the order of k, from C's value or 0 on: a product has the same bits when it is computed in
 * parts, over m, n or (accumulating, in order) k. */
typedef struct GemmSize {
    gsize m, n, k;
    gsize lda, ldb, ldc;
} GemmSize;
void gemm_f32(const GemmSize *size, const float *a, const float *b, float *c, gboolean accumulate);
/* FP16 operands, FP32 accumulation and result. */
void gemm_f16(const GemmSize *size, const guint16 *a, const guint16 *b, float *c,
              gboolean accumulate);

/* gemv.c: y[n] = W[n rows of k]·x[k], each row a dot product summed in order of k in 8 interleaved
 * partial sums; row i is the same whatever rows are computed beside it. */
void gemv_f16(gsize n, gsize k, const guint16 *weights, const float *x, float *y);
void gemv_f32(gsize n, gsize k, const float *weights, const float *x, float *y);
/* Rows of k that start 'stride' elements apart: a slice of columns, or one head's keys. */
typedef struct GemvSize {
    gsize n, k, stride;
} GemvSize;
void gemv_f16_rows(const GemvSize *size, const guint16 *weights, const float *x, float *y);

/* rmsnorm.c: y[i] = x[i] / sqrt(mean(x²) + epsilon) · gain[i]. */
void rmsnorm(gsize n, const float *x, const float *gain, float epsilon, float *y);

/* softmax.c: in place, by the maximum, which must be finite; the row sum is the pairwise reduction
 * of figure 9. */
void softmax(gsize n, float *x);

/* rope.c: rotates pairs (i, i + dim/2) of each head (the Hugging Face layout) by
 * position · theta^(−2i/dim), computed without a table (THInfer algorithm 1), in place. The angle
 * is a float, so it is uncertain by some position · 2^-23. */
void rope(gsize heads, gsize dim, guint64 position, float theta, float *x);

/* silu_mul.c: y[i] = x[i]·sigmoid(x[i]) · up[i]. */
void silu_mul(gsize n, const float *gate, const float *up, float *y);

/* residual.c: y[i] += x[i]. */
void residual_add(gsize n, const float *x, float *y);

/* attention.c: one query of one head over 'context' tokens of K and V (FP16, rows of 'dim', each
 * 'stride' elements after the one before): out[dim] = softmax(q·Kᵀ/√dim)·V. The three variants sum
 * in the order of their dataflow: all scores first; K/V block by block with a running maximum
 * (Flash); scores of a row block first, then weights times V (MT). */
typedef enum { ATTENTION_UNFUSED, ATTENTION_FLASH, ATTENTION_MT } AttentionVariant;
typedef struct AttentionInput {
    gsize dim, context, stride;
    const float *query;
    const guint16 *keys, *values;
} AttentionInput;
void attention(AttentionVariant variant, const AttentionInput *input, float *out);

/* sampling.c: the index of the largest; the earlier one of equals. */
gsize argmax(gsize n, const float *x);
/* Draws from the k largest with softmax at a temperature; the random number is a pure function of
 * (seed, request, position), so that it does not matter where or when the token is sampled. */
typedef struct Sampling {
    gsize top_k;       /* 1: argmax; more than there are: all */
    float temperature; /* 0: argmax */
    guint64 seed, request, position;
} Sampling;
gsize sample_token(gsize n, const float *logits, const Sampling *sampling);

#endif
