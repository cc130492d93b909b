/* One token after another on a mesh: the hidden vector along Y, the same in every column. */
#include "actors/mesh/mesh_model_parts.h"
#include "policies/mesh/kv_ledger.h"
#include <math.h>
#include <string.h>

/* A new or shifting token's K and V in one layer, on its way up. */
typedef struct KvToken {
    guint16 *keys, *values; /* kv each */
} KvToken;

/* y[columns] += x[rows] · tile, and its time. */
static void product(const ModelCore *state, const float *x, const float *tile, Stretch shape,
                    float *y) {
    const MeshSpec *spec = mesh_setup(state->run->mesh)->spec;
    gsize rows = shape.begin, columns = shape.size;
    GemmSize size = {.m = 1, .n = columns, .k = rows, .lda = rows, .ldb = columns, .ldc = columns};

    gemm_f32(&size, x, tile, y, TRUE);
    mesh_compute(state->core, mesh_gemv_cycles(spec, DATA_TYPE_FP16, rows, columns));
}

/* Rows and columns of a product, as 'product' takes them. */
static Stretch shape_of(gsize rows, gsize columns) {
    return (Stretch){rows, columns};
}

static void sum(const ModelCore *state, DecodeSum what, float *vector) {
    gboolean lost = state->run->setup->fault == MESH_MODEL_LOST_PART && what == SUM_QKV &&
                    state->core->y + 1 == state->run->widths.side;

    if (lost)
        memset(vector, 0, (state->run->widths.q + 2 * state->run->widths.kv) * sizeof *vector);
    mesh_reducer_run(state->run->sums[what], state->core, vector);
}

/* RMSNorm of the row's part. */
static void normalise(const ModelCore *state, const float *x, const float *gains, float *y) {
    const ModelRun *run = state->run;
    gsize n = model_stretch(run, run->widths.hidden, state->core->y).size;
    float squares = 0;

    for (gsize i = 0; i < n; i++)
        squares += x[i] * x[i];
    sum(state, SUM_NORM, &squares);
    float factor = model_norm_factor(run->setup->model, squares);
    for (gsize i = 0; i < n; i++)
        y[i] = x[i] * factor * gains[i];
    model_pass_vectors(state, 2, n);
}

static void append(GArray *cache, const guint16 *values, gsize n) {
    g_array_append_vals(cache, values, (guint)n);
}

static KvToken *oldest_taken(LayerTiles *layer, gsize n) {
    KvToken *token = g_new(KvToken, 1);

    token->keys = g_memdup2(layer->keys->data, n * sizeof(guint16));
    token->values = g_memdup2(layer->values->data, n * sizeof(guint16));
    g_array_remove_range(layer->keys, 0, (guint)n);
    g_array_remove_range(layer->values, 0, (guint)n);
    return token;
}

static void token_put(ModelCore *state, LayerTiles *layer, KvToken *token) {
    gsize n = state->run->widths.kv;

    if (state->run->setup->fault == MESH_MODEL_LOST_KV)
        memset(token->keys, 0, n * sizeof *token->keys);
    append(layer->keys, token->keys, n);
    append(layer->values, token->values, n);
    g_free(token->keys);
    g_free(token->values);
    g_free(token);
}

/* Where this core's row sends its oldest token up, and where the row below sends its own to. */
static void pass_up(ModelCore *state, LayerTiles *layer) {
    const ModelRun *run = state->run;
    MeshCore *core = state->core;
    guint up = core->y * run->widths.side + core->x;
    gsize n = run->widths.kv;

    mesh_send(run->kv_up[up], mesh_wavelets(mesh_setup(run->mesh)->spec, DATA_TYPE_FP16, 2 * n),
              oldest_taken(layer, n));
}

static void take_from_below(ModelCore *state, LayerTiles *layer) {
    const ModelRun *run = state->run;
    MeshCore *core = state->core;
    guint below = (core->y + 1) * run->widths.side + core->x;

    token_put(state, layer, (KvToken *)mesh_receive(core, run->kv_up[below]));
}

static void token_enters(LayerTiles *layer, gsize n, const float *k, const float *v) {
    g_autofree guint16 *keys = g_new(guint16, n), *values = g_new(guint16, n);

    fp16_from_floats(keys, k, n);
    fp16_from_floats(values, v, n);
    append(layer->keys, keys, n);
    append(layer->values, values, n);
}

/* The new token's K and V enter at the last row, and the last 'moves' rows each pass their oldest
 * one up, all at the same time; one that had none waits for what it is to pass on. */
static void cache_token(ModelCore *state, LayerTiles *layer, guint moves, const float *k,
                        const float *v) {
    const ModelRun *run = state->run;
    guint row = state->core->y, side = run->widths.side;
    gboolean passes = row + moves >= side;
    gboolean takes = row + 1 < side && row + 1 + moves >= side;

    if (row + 1 == side)
        token_enters(layer, run->widths.kv, k, v);
    gboolean waits = layer->keys->len == 0;
    if (takes && waits)
        take_from_below(state, layer);
    if (passes)
        pass_up(state, layer);
    if (takes && !waits)
        take_from_below(state, layer);
    if (passes)
        mesh_send_wait(run->kv_up[row * side + state->core->x]);
}

/* Heads over the tokens of this row of cores. */
typedef struct Attending {
    ModelCore *state;
    const LayerTiles *layer;
    gsize tokens;
    float *scores; /* heads × tokens */
} Attending;

static const guint16 *cached(const Attending *attending, const GArray *cache, gsize token,
                             gsize head) {
    const ModelWidths *widths = &attending->state->run->widths;
    gsize kv_head = head * widths->kv_heads / widths->heads;

    return &g_array_index(cache, guint16, token * widths->kv + kv_head * widths->head_dim);
}

static float score(const Attending *attending, const float *q, gsize head, gsize token) {
    const guint16 *key = cached(attending, attending->layer->keys, token, head);
    gsize dim = attending->state->run->widths.head_dim;
    float dot = 0;

    for (gsize i = 0; i < dim; i++)
        dot += q[head * dim + i] * fp16_to_float(key[i]);
    return dot * model_score_scale(attending->state->run);
}

/* The largest score of each head over all rows: every row puts its own into its place of a vector
 * of zeros, so that the sum holds them all. */
static void find_maxima(const Attending *attending, float *maxima) {
    const ModelWidths *widths = &attending->state->run->widths;
    gsize side = widths->side, row = attending->state->core->y;
    g_autofree float *places = g_new0(float, widths->heads *side);
    const guint64 *counts = attending->state->kv_rows;

    for (gsize head = 0; head < widths->heads; head++) {
        float largest = -INFINITY;
        for (gsize t = 0; t < attending->tokens; t++)
            largest = MAX(largest, attending->scores[head * attending->tokens + t]);
        places[head * side + row] = attending->tokens > 0 ? largest : 0;
    }
    sum(attending->state, SUM_MAXIMA, places);
    for (gsize head = 0; head < widths->heads; head++) {
        maxima[head] = -INFINITY;
        for (gsize y = 0; y < side; y++)
            if (counts[y] > 0)
                maxima[head] = MAX(maxima[head], places[head * side + y]);
    }
}

/* Scores become weights: exponentials over their sum in all rows. */
static void weigh(const Attending *attending) {
    const ModelWidths *widths = &attending->state->run->widths;
    g_autofree float *maxima = g_new(float, widths->heads), *sums = g_new0(float, widths->heads);
    gsize n = attending->tokens;

    find_maxima(attending, maxima);
    for (gsize head = 0; head < widths->heads; head++)
        for (gsize t = 0; t < n; t++) {
            float *weight = &attending->scores[head * n + t];
            *weight = expf(*weight - maxima[head]);
            sums[head] += *weight;
        }
    sum(attending->state, SUM_WEIGHTS, sums);
    for (gsize head = 0; head < widths->heads; head++)
        for (gsize t = 0; t < n; t++)
            attending->scores[head * n + t] /= sums[head];
    model_pass_vectors(attending->state, 3 * widths->heads, n);
}

/* out[q]: what the column's heads attend to, in every row. */
static void attend(ModelCore *state, const LayerTiles *layer, const float *q, float *out) {
    const MeshSpec *spec = mesh_setup(state->run->mesh)->spec;
    const ModelWidths *widths = &state->run->widths;
    gsize n = layer->keys->len / widths->kv, dim = widths->head_dim;
    Attending attending = {state, layer, n, g_new(float, MAX(widths->heads * n, 1))};

    for (gsize head = 0; head < widths->heads; head++)
        for (gsize t = 0; t < n; t++)
            attending.scores[head * n + t] = score(&attending, q, head, t);
    mesh_compute(state->core, mesh_gemv_cycles(spec, DATA_TYPE_FP16, widths->q, n));
    weigh(&attending);
    memset(out, 0, widths->q * sizeof *out);
    for (gsize head = 0; head < widths->heads; head++)
        for (gsize t = 0; t < n; t++) {
            const guint16 *value = cached(&attending, layer->values, t, head);
            for (gsize i = 0; i < dim; i++)
                out[head * dim + i] += attending.scores[head * n + t] * fp16_to_float(value[i]);
        }
    mesh_compute(state->core, mesh_gemv_cycles(spec, DATA_TYPE_FP16, n, widths->q));
    sum(state, SUM_ATTENDED, out);
    g_free(attending.scores);
}

static void add_bias(gsize n, const float *bias, float *y) {
    if (bias != NULL)
        residual_add(n, bias, y);
}

static void attention_half(ModelCore *state, LayerTiles *layer, guint moves, guint position,
                           float *x) {
    const ModelRun *run = state->run;
    const ModelWidths *widths = &run->widths;
    float theta = (float)run->setup->model->rope_theta;
    gsize hidden = model_stretch(run, widths->hidden, state->core->y).size;
    g_autofree float *normed = g_new0(float, widths->hidden);
    g_autofree float *qkv = g_new0(float, widths->q + 2 * widths->kv);
    g_autofree float *attended = g_new0(float, widths->q), *out = g_new0(float, widths->hidden);
    float *q = qkv, *k = q + widths->q, *v = k + widths->kv;

    normalise(state, x, layer->input_norm_y, normed);
    product(state, normed, layer->q, shape_of(hidden, widths->q), q);
    product(state, normed, layer->k, shape_of(hidden, widths->kv), k);
    product(state, normed, layer->v, shape_of(hidden, widths->kv), v);
    sum(state, SUM_QKV, qkv);
    add_bias(widths->q, layer->q_bias, q);
    add_bias(widths->kv, layer->k_bias, k);
    add_bias(widths->kv, layer->v_bias, v);
    rope(widths->heads, widths->head_dim, position, theta, q);
    rope(widths->kv_heads, widths->head_dim, position, theta, k);
    model_pass_vectors(state, 1, widths->q + widths->kv);
    cache_token(state, layer, moves, k, v);
    attend(state, layer, q, attended);
    product(state, attended, layer->out_turned, shape_of(widths->q, hidden), out);
    sum(state, SUM_HIDDEN, out);
    residual_add(hidden, out, x);
}

static void feed_forward_half(ModelCore *state, LayerTiles *layer, float *x) {
    const ModelRun *run = state->run;
    const ModelWidths *widths = &run->widths;
    gsize hidden = model_stretch(run, widths->hidden, state->core->y).size;
    gsize ffn = model_stretch(run, widths->ffn, state->core->x).size;
    g_autofree float *normed = g_new0(float, widths->hidden), *out = g_new0(float, widths->hidden);
    g_autofree float *gate_up = g_new0(float, 2 * (ffn + 1));

    normalise(state, x, layer->post_norm_y, normed);
    product(state, normed, layer->gate, shape_of(hidden, ffn), gate_up);
    product(state, normed, layer->up, shape_of(hidden, ffn), gate_up + ffn);
    sum(state, SUM_GATE_UP, gate_up);
    silu_mul(ffn, gate_up, gate_up + ffn, gate_up);
    model_pass_vectors(state, 2, ffn);
    product(state, gate_up, layer->down_turned, shape_of(ffn, hidden), out);
    sum(state, SUM_HIDDEN, out);
    residual_add(hidden, out, x);
}

void model_decode(ModelCore *state, guint position, float *x) {
    const ModelRun *run = state->run;
    guint moves = kv_shift(state->kv_rows, run->widths.side); /* WaferLLM 4.3 */

    for (guint layer = 0; layer < run->setup->model->layers; layer++) {
        attention_half(state, &state->layers[layer], moves, position, x);
        feed_forward_half(state, &state->layers[layer], x);
    }
}

/* Core (0, 0) puts the columns' logits together and samples. */
static void gather_logits(ModelCore *state, Stretch own, const float *logits) {
    ModelRun *run = state->run;

    memcpy(run->logits, logits, own.size * sizeof *logits);
    for (guint x = 1; x < run->widths.side; x++) {
        Stretch part = model_stretch(run, run->widths.vocab, x);
        const float *values = mesh_receive(state->core, run->logits_home[x]);
        memcpy(run->logits + part.begin, values, part.size * sizeof *values);
    }
}

guint32 model_sample(ModelCore *state, const MeshModelRequest *request, guint position,
                     const float *x) {
    ModelRun *run = state->run;
    MeshCore *core = state->core;
    const MeshSpec *spec = mesh_setup(run->mesh)->spec;
    Stretch vocab = model_stretch(run, run->widths.vocab, core->x);
    gsize hidden = model_stretch(run, run->widths.hidden, core->y).size;
    g_autofree float *normed = g_new0(float, run->widths.hidden);
    g_autofree float *logits = g_new0(float, vocab.size + 1);
    const guint32 *token = &run->token;

    normalise(state, x, state->final_norm, normed);
    product(state, normed, state->head, shape_of(hidden, vocab.size), logits);
    sum(state, SUM_LOGITS, logits);
    if (core->x == 0 && core->y == 0) {
        gather_logits(state, vocab, logits);
        Sampling sampling = request->sampling;
        sampling.position = position;
        run->token = (guint32)sample_token(run->widths.vocab, run->logits, &sampling);
        mesh_send(run->token_along, 1, token);
    } else if (core->y == 0) {
        mesh_send(run->logits_home[core->x], mesh_wavelets(spec, DATA_TYPE_FP32, vocab.size),
                  logits);
        token = mesh_receive(core, run->token_along);
    }
    if (core->y == 0)
        mesh_send(run->token_down[core->x], 1, token);
    else
        token = mesh_receive(core, run->token_down[core->x]);
    return *token;
}
