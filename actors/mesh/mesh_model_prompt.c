/* A prompt on a mesh: tokens along Y, widths along X. */
#include "actors/mesh/mesh_model_parts.h"
#include "policies/mesh/interleave.h"
#include <string.h>

/* K or V of one row of cores, as it travels along Y; the tile stays its owner's. */
typedef struct KvTile {
    gsize first, tokens; /* of the prompt */
    const guint16 *values;
} KvTile;

/* What a core works on: its tokens, and its part of their hidden vectors [tokens × width]. */
typedef struct Prompt {
    ModelCore *state;
    const PromptPlan *plan;
    Stretch tokens, width;
    float *x;
    float *normed;
    KvTile keys, values;
    float *scores; /* heads × tokens × prompt */
} Prompt;

/* RMSNorm of every token: squares are summed along the row of cores. */
static void normalise(Prompt *prompt, const float *gains) {
    const ModelRun *run = prompt->state->run;
    gsize width = prompt->width.size;
    gsize most = model_stretch(run, prompt->plan->tokens, 0).size + 1;
    g_autofree float *squares = g_new0(float, most);

    for (gsize t = 0; t < prompt->tokens.size; t++)
        for (gsize i = 0; i < width; i++)
            squares[t] += prompt->x[t * width + i] * prompt->x[t * width + i];
    model_pass_vectors(prompt->state, prompt->tokens.size, width);
    mesh_reducer_run(prompt->plan->norm, prompt->state->core, squares);
    for (gsize t = 0; t < prompt->tokens.size; t++) {
        float factor = model_norm_factor(run->setup->model, squares[t]);
        for (gsize i = 0; i < width; i++)
            prompt->normed[t * width + i] = prompt->x[t * width + i] * factor * gains[i];
    }
    model_pass_vectors(prompt->state, prompt->tokens.size, width);
}

static float *multiplied(const Prompt *prompt, MeshMultiplier *multiplier, const float *a,
                         const float *b, gsize columns) {
    float *c = g_new0(float, MAX(prompt->tokens.size * columns, 1));

    mesh_multiplier_run(multiplier, prompt->state->core, a, b, c);
    return c;
}

static void add_to_all(const Prompt *prompt, const float *bias, gsize columns, float *y) {
    for (gsize t = 0; bias != NULL && t < prompt->tokens.size; t++)
        residual_add(columns, bias, y + t * columns);
}

static void rotate_all(const Prompt *prompt, gsize heads, float *y) {
    const ModelWidths *widths = &prompt->state->run->widths;
    float theta = (float)prompt->state->run->setup->model->rope_theta;

    for (gsize t = 0; t < prompt->tokens.size; t++)
        rope(heads, widths->head_dim, prompt->tokens.begin + t, theta,
             y + t * heads * widths->head_dim);
    model_pass_vectors(prompt->state, prompt->tokens.size, heads * widths->head_dim);
}

static KvTile keep(const Prompt *prompt, GArray *cache, const float *y) {
    gsize n = prompt->tokens.size * prompt->state->run->widths.kv;

    g_array_set_size(cache, (guint)n);
    fp16_from_floats((guint16 *)(void *)cache->data, y, n);
    return (KvTile){prompt->tokens.begin, prompt->tokens.size,
                    (const guint16 *)(const void *)cache->data};
}

/* Work on a tile that is at hand. */
typedef void (*TileWork)(Prompt *prompt, const KvTile *tile, gpointer data);

/* The rings' path from a core, and the one that ends in it. */
static MeshPath *ring_from(const ModelCore *state, guint row) {
    return state->run->kv_ring[row * state->run->widths.side + state->core->x];
}

/* Every row's tile comes by once, the core's own first. */
static void shift_loop(Prompt *prompt, const KvTile *own, TileWork work, gpointer data) {
    ModelCore *state = prompt->state;
    const ModelWidths *widths = &state->run->widths;
    const MeshSpec *spec = mesh_setup(state->run->mesh)->spec;
    MeshPath *next = ring_from(state, state->core->y);
    MeshPath *previous =
        ring_from(state, interleave_neighbours(state->core->y, widths->side).receive);
    const KvTile *tile = own;

    for (guint step = 0; step < widths->side; step++) {
        gboolean shifts = step + 1 < widths->side;
        if (shifts)
            mesh_send(next, mesh_wavelets(spec, DATA_TYPE_FP16, tile->tokens * widths->kv), tile);
        work(prompt, tile, data);
        mesh_compute(state->core,
                     spec->step_cycles +
                         (double)widths->heads * mesh_gemm_cycles(spec, DATA_TYPE_FP16,
                                                                  prompt->tokens.size,
                                                                  widths->head_dim, tile->tokens));
        if (!shifts)
            return;
        mesh_send_wait(next);
        tile = mesh_receive(state->core, previous);
    }
}

/* The row of K or V that head 'head' of this column reads for token 'token' of a tile. */
static const guint16 *kv_row(const ModelWidths *widths, const KvTile *tile, gsize token,
                             gsize head) {
    gsize kv_head = head * widths->kv_heads / widths->heads;

    return tile->values + token * widths->kv + kv_head * widths->head_dim;
}

static float dot(gsize n, const float *a, const guint16 *b) {
    float sum = 0;

    for (gsize i = 0; i < n; i++)
        sum += a[i] * fp16_to_float(b[i]);
    return sum;
}

static float *scores_of(const Prompt *prompt, gsize head, gsize token) {
    return prompt->scores + (head * prompt->tokens.size + token) * prompt->plan->tokens;
}

/* data: Q [tokens × q], scaled. */
static void score_tile(Prompt *prompt, const KvTile *tile, gpointer data) {
    const ModelWidths *widths = &prompt->state->run->widths;
    const float *q = data;

    for (gsize head = 0; head < widths->heads; head++)
        for (gsize t = 0; t < prompt->tokens.size; t++)
            for (gsize j = 0; j < tile->tokens && tile->first + j <= prompt->tokens.begin + t; j++)
                scores_of(prompt, head, t)[tile->first + j] =
                    dot(widths->head_dim, q + t * widths->q + head * widths->head_dim,
                        kv_row(widths, tile, j, head));
}

/* data: what is attended to [tokens × q], summed up. */
static void weigh_tile(Prompt *prompt, const KvTile *tile, gpointer data) {
    const ModelWidths *widths = &prompt->state->run->widths;
    float *out = data;

    for (gsize head = 0; head < widths->heads; head++)
        for (gsize t = 0; t < prompt->tokens.size; t++)
            for (gsize j = 0; j < tile->tokens && tile->first + j <= prompt->tokens.begin + t;
                 j++) {
                float weight = scores_of(prompt, head, t)[tile->first + j];
                const guint16 *v = kv_row(widths, tile, j, head);
                for (gsize i = 0; i < widths->head_dim; i++)
                    out[t * widths->q + head * widths->head_dim + i] +=
                        weight * fp16_to_float(v[i]);
            }
}

static void softmax_all(Prompt *prompt) {
    const ModelWidths *widths = &prompt->state->run->widths;

    for (gsize head = 0; head < widths->heads; head++)
        for (gsize t = 0; t < prompt->tokens.size; t++)
            softmax(prompt->tokens.begin + t + 1, scores_of(prompt, head, t));
    model_pass_vectors(prompt->state, 3 * widths->heads * prompt->tokens.size,
                       prompt->plan->tokens);
}

/* Causal attention of the column's heads. Caller frees. */
static float *attend(Prompt *prompt, float *q) {
    const ModelWidths *widths = &prompt->state->run->widths;
    gsize rows = prompt->tokens.size;
    float *out = g_new0(float, MAX(rows * widths->q, 1));
    float scale = model_score_scale(prompt->state->run);

    for (gsize i = 0; i < rows * widths->q; i++)
        q[i] *= scale;
    prompt->scores = g_new0(float, MAX(widths->heads * rows * prompt->plan->tokens, 1));
    shift_loop(prompt, &prompt->keys, score_tile, q);
    softmax_all(prompt);
    shift_loop(prompt, &prompt->values, weigh_tile, out);
    g_clear_pointer(&prompt->scores, g_free);
    return out;
}

static void attention_half(Prompt *prompt, LayerTiles *layer) {
    const ModelWidths *widths = &prompt->state->run->widths;
    const PromptPlan *plan = prompt->plan;

    normalise(prompt, layer->input_norm_x);
    g_autofree float *q = multiplied(prompt, plan->q, prompt->normed, layer->q, widths->q);
    g_autofree float *k = multiplied(prompt, plan->kv, prompt->normed, layer->k, widths->kv);
    g_autofree float *v = multiplied(prompt, plan->kv, prompt->normed, layer->v, widths->kv);
    add_to_all(prompt, layer->q_bias, widths->q, q);
    add_to_all(prompt, layer->k_bias, widths->kv, k);
    add_to_all(prompt, layer->v_bias, widths->kv, v);
    rotate_all(prompt, widths->heads, q);
    rotate_all(prompt, widths->kv_heads, k);
    prompt->keys = keep(prompt, layer->keys, k);
    prompt->values = keep(prompt, layer->values, v);
    g_autofree float *attended = attend(prompt, q);
    mesh_multiplier_run(plan->out, prompt->state->core, attended, layer->out, prompt->x);
}

static void feed_forward_half(Prompt *prompt, LayerTiles *layer) {
    const ModelRun *run = prompt->state->run;
    const PromptPlan *plan = prompt->plan;
    gsize ffn = model_stretch(run, run->widths.ffn, prompt->state->core->x).size;

    normalise(prompt, layer->post_norm_x);
    g_autofree float *gate = multiplied(prompt, plan->up, prompt->normed, layer->gate, ffn);
    g_autofree float *up = multiplied(prompt, plan->up, prompt->normed, layer->up, ffn);
    silu_mul(prompt->tokens.size * ffn, gate, up, gate);
    model_pass_vectors(prompt->state, 2 * prompt->tokens.size, ffn);
    mesh_multiplier_run(plan->down, prompt->state->core, gate, layer->down, prompt->x);
}

/* The last token's vector, with the last row of cores, from widths along X to widths along Y in
 * every column: by way of the diagonal. */
static void turn_last(Prompt *prompt, float *x) {
    ModelCore *state = prompt->state;
    const ModelRun *run = state->run;
    MeshCore *core = state->core;
    const MeshSpec *spec = mesh_setup(run->mesh)->spec;
    gboolean holds = core->y + 1 == run->widths.side, diagonal = core->x == core->y;
    gsize part = model_stretch(run, run->widths.hidden, core->y).size;
    const float *turned = state->sent;

    if (holds)
        memcpy(state->sent, prompt->x + (prompt->tokens.size - 1) * prompt->width.size,
               prompt->width.size * sizeof *state->sent);
    if (holds && !diagonal)
        mesh_send(run->to_diagonal[core->x],
                  mesh_wavelets(spec, DATA_TYPE_FP32, prompt->width.size), state->sent);
    if (diagonal) {
        if (!holds)
            turned = mesh_receive(core, run->to_diagonal[core->x]);
        if (core->x > 0)
            mesh_send(run->row_left[core->y], mesh_wavelets(spec, DATA_TYPE_FP32, part), turned);
        if (core->x + 1 < run->widths.side)
            mesh_send(run->row_right[core->y], mesh_wavelets(spec, DATA_TYPE_FP32, part), turned);
    } else {
        turned = mesh_receive(core,
                              core->x < core->y ? run->row_left[core->y] : run->row_right[core->y]);
    }
    memcpy(x, turned, part * sizeof *x);
}

void model_prompt(ModelCore *state, const MeshModelRequest *request, const PromptPlan *plan,
                  float *x) {
    const ModelRun *run = state->run;
    guint column = state->core->x;
    Prompt prompt = {.state = state,
                     .plan = plan,
                     .tokens = model_stretch(run, plan->tokens, state->core->y),
                     .width = model_stretch(run, run->widths.hidden, column)};
    gsize n = prompt.tokens.size * prompt.width.size;
    Tensor embedding = checkpoint_embedding(run->setup->checkpoint);

    prompt.x = g_new(float, MAX(n, 1));
    prompt.normed = g_new(float, MAX(n, 1));
    for (gsize t = 0; t < prompt.tokens.size; t++)
        fp16_to_floats(prompt.x + t * prompt.width.size,
                       embedding.values +
                           request->prompt[prompt.tokens.begin + t] * embedding.columns +
                           prompt.width.begin,
                       prompt.width.size);
    for (guint layer = 0; layer < run->setup->model->layers; layer++) {
        attention_half(&prompt, &state->layers[layer]);
        feed_forward_half(&prompt, &state->layers[layer]);
    }
    for (guint row = 0; row < run->widths.side; row++)
        state->kv_rows[row] = model_stretch(run, plan->tokens, row).size;
    turn_last(&prompt, x);
    g_free(prompt.x);
    g_free(prompt.normed);
}
