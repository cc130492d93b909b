#include "actors/kernels/kernels.h"

#include <math.h>
#include <string.h>

/* Rows of K and V that are on chip at a time. */
enum { KV_BLOCK = 64 };

/* q·K_tᵀ for tokens 'first' … first + n − 1, not yet scaled. */
static void score(const AttentionInput *input, gsize first, gsize n, float *scores) {
    const guint16 *keys = input->keys + first * input->stride;
    gemv_f16_rows(&(GemvSize){n, input->dim, input->stride}, keys, input->query, scores);
}

/* out += Σ weights[t]·V_t over tokens 'first' … first + n − 1, in their order. 'row' has room for
 * one row. */
static void add_values(const AttentionInput *input, gsize first, gsize n, const float *weights,
                       float *row, float *out) {
    for (gsize t = 0; t < n; t++) {
        fp16_to_floats(row, input->values + (first + t) * input->stride, input->dim);
        for (gsize i = 0; i < input->dim; i++)
            out[i] += weights[t] * row[i];
    }
}

static void scale(gsize n, float factor, float *x) {
    for (gsize i = 0; i < n; i++)
        x[i] *= factor;
}

static float score_scale(const AttentionInput *input) {
    return 1 / sqrtf((float)input->dim);
}

/* Three operators, one after another: all scores, softmax, all values. */
static void attend_unfused(const AttentionInput *input, float *out) {
    g_autofree float *scores = g_new(float, input->context), *row = g_new(float, input->dim);
    score(input, 0, input->context, scores);
    scale(input->context, score_scale(input), scores);
    softmax(input->context, scores);
    add_values(input, 0, input->context, scores, row, out);
}

/* Dao et al. 2022, "FlashAttention", algorithm 1, for one row of Q: the output is kept unnormalised
 * and rescaled whenever a block raises the maximum. */
static void attend_flash(const AttentionInput *input, float *out) {
    float weights[KV_BLOCK], maximum = -INFINITY, sum = 0;
    g_autofree float *row = g_new(float, input->dim);
    for (gsize first = 0; first < input->context; first += KV_BLOCK) {
        gsize n = MIN(KV_BLOCK, input->context - first);
        score(input, first, n, weights);
        scale(n, score_scale(input), weights);
        float raised = MAX(maximum, weights[argmax(n, weights)]);
        float correction = expf(maximum - raised);
        maximum = raised;
        sum *= correction;
        scale(input->dim, correction, out);
        for (gsize t = 0; t < n; t++) {
            weights[t] = expf(weights[t] - maximum);
            sum += weights[t];
        }
        add_values(input, first, n, weights, row, out);
    }
    scale(input->dim, 1 / sum, out);
}

/* THInfer section III.C.2: scores block by block as K is broadcast; scale and softmax of the whole
 * row; then V block by block, whose partial outputs are accumulated. */
static void attend_mt(const AttentionInput *input, float *out) {
    g_autofree float *scores = g_new(float, input->context), *row = g_new(float, input->dim),
                     *partial = g_new(float, input->dim);
    for (gsize first = 0; first < input->context; first += KV_BLOCK)
        score(input, first, MIN(KV_BLOCK, input->context - first), scores + first);
    scale(input->context, score_scale(input), scores);
    softmax(input->context, scores);
    for (gsize first = 0; first < input->context; first += KV_BLOCK) {
        memset(partial, 0, input->dim * sizeof *partial);
        add_values(input, first, MIN(KV_BLOCK, input->context - first), scores + first, row,
                   partial);
        residual_add(input->dim, partial, out);
    }
}

void attention(AttentionVariant variant, const AttentionInput *input, float *out) {
    static void (*const variants[])(const AttentionInput *input, float *out) = {
        [ATTENTION_UNFUSED] = attend_unfused,
        [ATTENTION_FLASH] = attend_flash,
        [ATTENTION_MT] = attend_mt,
    };
    g_assert(input->context > 0 && input->dim > 0);
    memset(out, 0, input->dim * sizeof *out);
    variants[variant](input, out);
}
