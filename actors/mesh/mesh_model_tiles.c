/* Tiles of a checkpoint's weights for the cores of a mesh. */
#include "actors/mesh/mesh_model_parts.h"
#include "policies/mesh/tiles.h"
#include <math.h>

Stretch model_stretch(const ModelRun *run, gsize length, guint place) {
    guint side = run->widths.side;

    return (Stretch){tile_begin(length, side, place), tile_size(length, side, place)};
}

/* Checkpoints store W[outputs × inputs]; a tile is of B = Wᵀ, [inputs × outputs]. */
static float *tile_of(Tensor weights, Stretch inputs, Stretch outputs) {
    float *tile = g_new(float, MAX(inputs.size * outputs.size, 1));

    for (gsize i = 0; i < inputs.size; i++)
        for (gsize j = 0; j < outputs.size; j++)
            tile[i * outputs.size + j] = fp16_to_float(
                weights.values[(outputs.begin + j) * weights.columns + inputs.begin + i]);
    return tile;
}

/* A stretch of a vector; NULL when the model has none. */
static float *part_of(Tensor vector, Stretch part) {
    if (vector.rows == 0)
        return NULL;
    float *values = g_new(float, MAX(part.size, 1));
    fp16_to_floats(values, vector.values + part.begin, part.size);
    return values;
}

/* Columns of K and V that the heads of a column of cores read: of the KV head of their group, which
 * neighbouring columns may share. */
static Stretch kv_stretch(const ModelRun *run, guint x) {
    const ModelWidths *widths = &run->widths;
    const Model *model = run->setup->model;
    gsize group = model->heads / model->kv_heads;

    return (Stretch){x * widths->heads / group * widths->head_dim, widths->kv};
}

static void load_layer(ModelCore *state, guint index) {
    const ModelRun *run = state->run;
    const Checkpoint *checkpoint = run->setup->checkpoint;
    const ModelWidths *widths = &run->widths;
    guint x = state->core->x, y = state->core->y;
    Stretch hidden_x = model_stretch(run, widths->hidden, x),
            hidden_y = model_stretch(run, widths->hidden, y), q_x = {x * widths->q, widths->q},
            q_y = {y * widths->q, widths->q}, kv_x = kv_stretch(run, x),
            ffn_x = model_stretch(run, widths->ffn, x), ffn_y = model_stretch(run, widths->ffn, y);
    Tensor tensors[N_LAYER_TENSORS];

    for (guint i = 0; i < N_LAYER_TENSORS; i++)
        tensors[i] = checkpoint_layer(checkpoint, index, (LayerTensor)i);
    state->layers[index] = (LayerTiles){
        .q = tile_of(tensors[TENSOR_Q], hidden_y, q_x),
        .k = tile_of(tensors[TENSOR_K], hidden_y, kv_x),
        .v = tile_of(tensors[TENSOR_V], hidden_y, kv_x),
        .out = tile_of(tensors[TENSOR_O], q_y, hidden_x),
        .gate = tile_of(tensors[TENSOR_GATE], hidden_y, ffn_x),
        .up = tile_of(tensors[TENSOR_UP], hidden_y, ffn_x),
        .down = tile_of(tensors[TENSOR_DOWN], ffn_y, hidden_x),
        .out_turned = tile_of(tensors[TENSOR_O], q_x, hidden_y),
        .down_turned = tile_of(tensors[TENSOR_DOWN], ffn_x, hidden_y),
        .q_bias = part_of(tensors[TENSOR_Q_BIAS], q_x),
        .k_bias = part_of(tensors[TENSOR_K_BIAS], kv_x),
        .v_bias = part_of(tensors[TENSOR_V_BIAS], kv_x),
        .input_norm_x = part_of(tensors[TENSOR_INPUT_NORM], hidden_x),
        .post_norm_x = part_of(tensors[TENSOR_POST_NORM], hidden_x),
        .input_norm_y = part_of(tensors[TENSOR_INPUT_NORM], hidden_y),
        .post_norm_y = part_of(tensors[TENSOR_POST_NORM], hidden_y),
        .keys = g_array_new(FALSE, FALSE, sizeof(guint16)),
        .values = g_array_new(FALSE, FALSE, sizeof(guint16)),
    };
}

void model_tiles_load(ModelCore *state) {
    const ModelRun *run = state->run;
    const MeshModelSetup *setup = run->setup;
    guint x = state->core->x, y = state->core->y;
    Stretch hidden_y = model_stretch(run, run->widths.hidden, y);

    state->layers = g_new0(LayerTiles, setup->model->layers);
    for (guint i = 0; i < setup->model->layers; i++)
        load_layer(state, i);
    state->head = tile_of(checkpoint_head(setup->checkpoint), hidden_y,
                          model_stretch(run, run->widths.vocab, x));
    state->final_norm = part_of(checkpoint_final_norm(setup->checkpoint), hidden_y);
    state->kv_rows = g_new0(guint64, run->widths.side);
    state->sent = g_new(float, run->widths.hidden);
}

static void clear_layer(LayerTiles *layer) {
    float *tiles[] = {layer->q,
                      layer->k,
                      layer->v,
                      layer->out,
                      layer->gate,
                      layer->up,
                      layer->down,
                      layer->out_turned,
                      layer->down_turned,
                      layer->q_bias,
                      layer->k_bias,
                      layer->v_bias,
                      layer->input_norm_x,
                      layer->post_norm_x,
                      layer->input_norm_y,
                      layer->post_norm_y};

    for (guint i = 0; i < G_N_ELEMENTS(tiles); i++)
        g_free(tiles[i]);
    g_array_unref(layer->keys);
    g_array_unref(layer->values);
}

void model_tiles_clear(ModelCore *state) {
    if (state->layers == NULL)
        return;
    for (guint i = 0; i < state->run->setup->model->layers; i++)
        clear_layer(&state->layers[i]);
    g_free(state->layers);
    g_free(state->head);
    g_free(state->final_norm);
    g_free(state->kv_rows);
    g_free(state->sent);
}

float model_norm_factor(const Model *model, float squares) {
    return 1 / sqrtf(squares / (float)model->hidden + (float)model->norm_epsilon);
}

float model_score_scale(const ModelRun *run) {
    return 1 / sqrtf((float)run->widths.head_dim);
}

void model_pass_vectors(const ModelCore *state, gsize rows, gsize n) {
    const MeshSpec *spec = mesh_setup(state->run->mesh)->spec;

    mesh_compute(state->core, (double)rows * mesh_vector_cycles(spec, DATA_TYPE_FP32, n));
}
