/* A Llama or Qwen2 written from its formulas: double precision, the whole sequence at once, no KV
 * cache, one loop a sum. It rounds where the numbers of a simulated cluster are stored: K and V. */
#ifndef TESTS_UNIT_NAIVE_MODEL_H
#define TESTS_UNIT_NAIVE_MODEL_H

#include "workloads/checkpoint.h"

#include <math.h>

typedef struct NaiveModel {
    const Model *model;
    const Checkpoint *checkpoint;
    guint n; /* tokens */
} NaiveModel;

/* IEEE 754 binary16. */
static inline double naive_half(guint16 half) {
    int exponent = (half >> 10) & 0x1F;
    double magnitude =
        exponent == 0 ? ldexp(half & 0x3FF, -24) : ldexp(1024 + (half & 0x3FF), exponent - 25);
    return half & 0x8000 ? -magnitude : magnitude;
}

/* The nearest multiple of the last of 11 bits, ties to even, down to 2^-24. */
static inline double naive_round_to_half(double x) {
    int exponent;
    frexp(x, &exponent);
    double unit = ldexp(1, MAX(exponent - 11, -24));
    return nearbyint(x / unit) * unit;
}

static inline double naive_weight(const Tensor *tensor, guint64 row, guint64 column) {
    return naive_half(tensor->values[row * tensor->columns + column]);
}

/* Y[n × rows] = X[n × columns] · Wᵀ + b. Caller frees. */
static inline double *naive_linear(guint n, const double *x, Tensor weights, Tensor bias) {
    double *y = g_new(double, n *weights.rows);
    g_autofree double *w = g_new(double, weights.columns);
    for (guint64 row = 0; row < weights.rows; row++) {
        for (guint64 i = 0; i < weights.columns; i++)
            w[i] = naive_weight(&weights, row, i);
        for (guint t = 0; t < n; t++) {
            double sum = bias.rows > 0 ? naive_weight(&bias, 0, row) : 0;
            for (guint64 i = 0; i < weights.columns; i++)
                sum += w[i] * x[t * weights.columns + i];
            y[t * weights.rows + row] = sum;
        }
    }
    return y;
}

/* RMSNorm of n rows. Caller frees. */
static inline double *naive_norm(const NaiveModel *naive, const double *x, Tensor gain) {
    guint64 hidden = naive->model->hidden;
    double *y = g_new(double, naive->n *hidden);
    for (guint t = 0; t < naive->n; t++) {
        double squares = 0;
        for (guint64 i = 0; i < hidden; i++)
            squares += x[t * hidden + i] * x[t * hidden + i];
        double root = sqrt(squares / (double)hidden + naive->model->norm_epsilon);
        for (guint64 i = 0; i < hidden; i++)
            y[t * hidden + i] = x[t * hidden + i] / root * naive_weight(&gain, 0, i);
    }
    return y;
}

/* Row t by the angles t · theta^(−2i/dim); pairs are (i, i + dim/2) of a head. */
static inline void naive_rope(const NaiveModel *naive, guint64 heads, double *x) {
    guint64 dim = naive->model->head_dim, half = dim / 2;
    for (guint t = 0; t < naive->n; t++)
        for (guint64 head = 0; head < heads; head++)
            for (guint64 i = 0; i < half; i++) {
                double exponent = -2.0 * (double)i / (double)dim;
                double angle = t * pow(naive->model->rope_theta, exponent);
                double *pair = x + (t * heads + head) * dim + i, first = pair[0];
                pair[0] = first * cos(angle) - pair[half] * sin(angle);
                pair[half] = pair[half] * cos(angle) + first * sin(angle);
            }
}

/* Q[n × heads × dim], K and V[n × kv_heads × dim]. */
typedef struct NaiveQkv {
    double *q, *k, *v;
} NaiveQkv;

/* One query of one head over the tokens up to its own. */
static inline void naive_attend(const NaiveModel *naive, const NaiveQkv *qkv, guint t, guint64 head,
                                double *out) {
    const Model *model = naive->model;
    guint64 dim = model->head_dim, kv_head = head / (model->heads / model->kv_heads);
    const double *q = qkv->q + (t * model->heads + head) * dim;
    g_autofree double *weights = g_new(double, t + 1);
    double sum = 0;
    for (guint s = 0; s <= t; s++) {
        double score = 0;
        for (guint64 i = 0; i < dim; i++)
            score += q[i] * qkv->k[(s * model->kv_heads + kv_head) * dim + i];
        weights[s] = exp(score / sqrt((double)dim));
        sum += weights[s];
    }
    for (guint64 i = 0; i < dim; i++) {
        out[i] = 0;
        for (guint s = 0; s <= t; s++)
            out[i] += weights[s] / sum * qkv->v[(s * model->kv_heads + kv_head) * dim + i];
    }
}

static inline void naive_add(guint64 n, double *x, const double *y) {
    for (guint64 i = 0; i < n; i++)
        x[i] += y[i];
}

static inline void naive_attention_half(const NaiveModel *naive, guint layer, double *x) {
    const Model *model = naive->model;
    const Tensor none = {0, 0, NULL};
    Tensor at[N_LAYER_TENSORS];
    for (guint i = 0; i < N_LAYER_TENSORS; i++)
        at[i] = checkpoint_layer(naive->checkpoint, layer, (LayerTensor)i);
    g_autofree double *normed = naive_norm(naive, x, at[TENSOR_INPUT_NORM]);
    g_autofree double *q = naive_linear(naive->n, normed, at[TENSOR_Q], at[TENSOR_Q_BIAS]);
    g_autofree double *k = naive_linear(naive->n, normed, at[TENSOR_K], at[TENSOR_K_BIAS]);
    g_autofree double *v = naive_linear(naive->n, normed, at[TENSOR_V], at[TENSOR_V_BIAS]);
    naive_rope(naive, model->heads, q);
    naive_rope(naive, model->kv_heads, k);
    for (guint64 i = 0; i < naive->n * model->kv_heads * model->head_dim; i++) {
        k[i] = naive_round_to_half(k[i]);
        v[i] = naive_round_to_half(v[i]);
    }
    NaiveQkv qkv = {q, k, v};
    g_autofree double *attended = g_new(double, naive->n * model->heads * model->head_dim);
    for (guint t = 0; t < naive->n; t++)
        for (guint64 head = 0; head < model->heads; head++)
            naive_attend(naive, &qkv, t, head,
                         attended + (t * model->heads + head) * model->head_dim);
    g_autofree double *out = naive_linear(naive->n, attended, at[TENSOR_O], none);
    naive_add(naive->n * model->hidden, x, out);
}

static inline void naive_feed_forward_half(const NaiveModel *naive, guint layer, double *x) {
    const Tensor none = {0, 0, NULL};
    Tensor gain = checkpoint_layer(naive->checkpoint, layer, TENSOR_POST_NORM);
    Tensor gate = checkpoint_layer(naive->checkpoint, layer, TENSOR_GATE);
    Tensor up = checkpoint_layer(naive->checkpoint, layer, TENSOR_UP);
    Tensor down = checkpoint_layer(naive->checkpoint, layer, TENSOR_DOWN);
    g_autofree double *normed = naive_norm(naive, x, gain);
    g_autofree double *gated = naive_linear(naive->n, normed, gate, none);
    g_autofree double *widened = naive_linear(naive->n, normed, up, none);
    for (guint64 i = 0; i < naive->n * naive->model->ffn; i++)
        gated[i] = gated[i] / (1 + exp(-gated[i])) * widened[i];
    g_autofree double *out = naive_linear(naive->n, gated, down, none);
    naive_add(naive->n * naive->model->hidden, x, out);
}

/* The logits after each token: [n × vocab]. Caller frees. */
static inline double *naive_logits(const NaiveModel *naive, const guint32 *tokens) {
    guint64 hidden = naive->model->hidden;
    Tensor embedding = checkpoint_embedding(naive->checkpoint);
    g_autofree double *x = g_new(double, naive->n *hidden);
    for (guint t = 0; t < naive->n; t++)
        for (guint64 i = 0; i < hidden; i++)
            x[t * hidden + i] = naive_weight(&embedding, tokens[t], i);
    for (guint layer = 0; layer < naive->model->layers; layer++) {
        naive_attention_half(naive, layer, x);
        naive_feed_forward_half(naive, layer, x);
    }
    g_autofree double *normed = naive_norm(naive, x, checkpoint_final_norm(naive->checkpoint));
    return naive_linear(naive->n, normed, checkpoint_head(naive->checkpoint), (Tensor){0, 0, NULL});
}

#endif
