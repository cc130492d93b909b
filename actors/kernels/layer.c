#include "actors/kernels/layer.h"

/* Heads, of queries and of K and V, that one rank computes, in elements of its vectors. */
typedef struct HeadSlice {
    gsize heads, kv_heads, dim;
    gsize q_width, kv_width; /* heads · dim */
} HeadSlice;

static HeadSlice head_slice(const Model *model, guint tp) {
    g_assert(tp > 0 && model->heads % tp == 0 && model->kv_heads % tp == 0);
    HeadSlice slice = {model->heads / tp, model->kv_heads / tp, model->head_dim, 0, 0};
    slice.q_width = slice.heads * slice.dim;
    slice.kv_width = slice.kv_heads * slice.dim;
    return slice;
}

LayerKv *layer_kv_new(void) {
    LayerKv *kv = g_new0(LayerKv, 1);
    kv->keys = g_array_new(FALSE, FALSE, sizeof(guint16));
    kv->values = g_array_new(FALSE, FALSE, sizeof(guint16));
    return kv;
}

void layer_kv_free(LayerKv *kv) {
    if (!kv)
        return;
    g_array_unref(kv->keys);
    g_array_unref(kv->values);
    g_free(kv);
}

static void append_columns(GArray *out, const GArray *whole, gsize width, const HeadSlice *slice,
                           guint rank) {
    const guint16 *rows = (const guint16 *)(const void *)whole->data;
    for (gsize row = 0; row < whole->len / width; row++)
        g_array_append_vals(out, rows + row * width + rank * slice->kv_width,
                            (guint)slice->kv_width);
}

LayerKv *layer_kv_slice(const LayerKv *whole, const Model *model, guint rank, guint tp) {
    HeadSlice slice = head_slice(model, tp);
    gsize width = tp * slice.kv_width;
    g_assert(rank < tp && whole->keys->len == whole->tokens * width &&
             whole->values->len == whole->tokens * width);
    LayerKv *kv = layer_kv_new();
    kv->tokens = whole->tokens;
    append_columns(kv->keys, whole->keys, width, &slice, rank);
    append_columns(kv->values, whole->values, width, &slice, rank);
    return kv;
}

static void normalise(const Model *model, const Tensor *gain, const float *x, float *y) {
    g_autofree float *gains = g_new(float, model->hidden);
    fp16_to_floats(gains, gain->values, model->hidden);
    rmsnorm(model->hidden, x, gains, (float)model->norm_epsilon, y);
}

/* Rows of a weight matrix. */
typedef struct Rows {
    gsize first, n;
} Rows;

/* y = W·x for some rows of W. */
static void linear(const Tensor *weights, const Rows *rows, const float *x, float *y) {
    gsize k = weights->columns;
    gemv_f16(rows->n, k, weights->values + rows->first * k, x, y);
}

/* y += the same rows of a bias, if the model has one. */
static void add_bias(const Tensor *bias, const Rows *rows, float *y) {
    if (bias->rows == 0)
        return;
    g_autofree float *values = g_new(float, rows->n);
    fp16_to_floats(values, bias->values + rows->first, rows->n);
    residual_add(rows->n, values, y);
}

/* y = W·x for the columns of W that belong to a slice of x. */
static void linear_columns(const Tensor *weights, const Rows *slice, const float *x, float *y) {
    GemvSize size = {weights->rows, slice->n, weights->columns};
    gemv_f16_rows(&size, weights->values + slice->first, x, y);
}

/* One of Q, K and V for this rank's heads. Caller frees. */
static float *project(const RankShape *shape, guint layer, LayerTensor tensor, const float *x) {
    HeadSlice slice = head_slice(shape->model, shape->tp);
    gsize width = tensor == TENSOR_Q ? slice.q_width : slice.kv_width;
    Rows rows = {shape->rank * width, width};
    Tensor weights = checkpoint_layer(shape->checkpoint, layer, tensor),
           bias = checkpoint_layer(shape->checkpoint, layer, tensor + TENSOR_Q_BIAS - TENSOR_Q);
    float *y = g_new(float, width);
    linear(&weights, &rows, x, y);
    add_bias(&bias, &rows, y);
    return y;
}

static void append(GArray *out, gsize n, const float *x) {
    g_array_set_size(out, out->len + (guint)n);
    fp16_from_floats(&g_array_index(out, guint16, out->len - n), x, n);
}

/* Each query head over the KV head of its group (GQA). */
static void attend(const HeadSlice *slice, const LayerKv *kv, const float *queries, float *out) {
    gsize group = slice->heads / slice->kv_heads;
    for (gsize head = 0; head < slice->heads; head++) {
        gsize kv_offset = head / group * slice->dim;
        AttentionInput input = {
            .dim = slice->dim,
            .context = kv->tokens,
            .stride = slice->kv_width,
            .query = queries + head * slice->dim,
            .keys = &g_array_index(kv->keys, guint16, kv_offset),
            .values = &g_array_index(kv->values, guint16, kv_offset),
        };
        attention(LAYER_ATTENTION, &input, out + head * slice->dim);
    }
}

void layer_attention_half(const RankShape *shape, guint layer, guint64 position, const float *x,
                          LayerKv *kv, float *partial) {
    const Model *model = shape->model;
    HeadSlice slice = head_slice(model, shape->tp);
    Tensor gain = checkpoint_layer(shape->checkpoint, layer, TENSOR_INPUT_NORM),
           output = checkpoint_layer(shape->checkpoint, layer, TENSOR_O);
    g_autofree float *normed = g_new(float, model->hidden);
    normalise(model, &gain, x, normed);
    g_autofree float *q = project(shape, layer, TENSOR_Q, normed);
    g_autofree float *k = project(shape, layer, TENSOR_K, normed);
    g_autofree float *v = project(shape, layer, TENSOR_V, normed);
    rope(slice.heads, slice.dim, position, (float)model->rope_theta, q);
    rope(slice.kv_heads, slice.dim, position, (float)model->rope_theta, k);
    append(kv->keys, slice.kv_width, k);
    append(kv->values, slice.kv_width, v);
    kv->tokens++;
    g_autofree float *attended = g_new(float, slice.q_width);
    attend(&slice, kv, q, attended);
    linear_columns(&output, &(Rows){shape->rank * slice.q_width, slice.q_width}, attended, partial);
}

void layer_feed_forward_half(const RankShape *shape, guint layer, const float *x, float *partial) {
    const Model *model = shape->model;
    const Checkpoint *checkpoint = shape->checkpoint;
    Tensor gain = checkpoint_layer(checkpoint, layer, TENSOR_POST_NORM),
           gate = checkpoint_layer(checkpoint, layer, TENSOR_GATE),
           up = checkpoint_layer(checkpoint, layer, TENSOR_UP),
           down = checkpoint_layer(checkpoint, layer, TENSOR_DOWN);
    gsize first = model->ffn * shape->rank / shape->tp,
          end = model->ffn * (shape->rank + 1) / shape->tp;
    Rows rows = {first, end - first};
    g_autofree float *normed = g_new(float, model->hidden), *gated = g_new(float, rows.n),
                     *widened = g_new(float, rows.n);
    normalise(model, &gain, x, normed);
    linear(&gate, &rows, normed, gated);
    linear(&up, &rows, normed, widened);
    silu_mul(rows.n, gated, widened, gated);
    linear_columns(&down, &rows, gated, partial);
}

void layer_embed(const RankShape *shape, guint32 token, float *x) {
    Tensor embedding = checkpoint_embedding(shape->checkpoint);
    g_assert(token < embedding.rows);
    fp16_to_floats(x, embedding.values + token * embedding.columns, embedding.columns);
}

void layer_logits(const RankShape *shape, const float *x, float *logits) {
    Tensor gain = checkpoint_final_norm(shape->checkpoint),
           head = checkpoint_head(shape->checkpoint);
    g_autofree float *normed = g_new(float, shape->model->hidden);
    normalise(shape->model, &gain, x, normed);
    linear(&head, &(Rows){0, head.rows}, normed, logits);
}

void layer_ring_sum(guint tp, gsize n, float *const *parts) {
    for (guint chunk = 0; chunk < tp; chunk++)
        for (gsize i = n * chunk / tp; i < n * (chunk + 1) / tp; i++) {
            float sum = parts[chunk][i];
            for (guint step = 1; step < tp; step++)
                sum += parts[(chunk + step) % tp][i];
            parts[0][i] = sum;
        }
}
