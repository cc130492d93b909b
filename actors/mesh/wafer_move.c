#include "actors/mesh/wafer_move.h"

#include "platforms/mesh_cycles.h"
#include "policies/mesh/tiles.h"
#include "policies/mesh/wafer_regions.h"

/* A stretch of a matrix' rows or columns that is in one part of the division before and in one of
 * the division after. */
typedef struct Cut {
    guint64 length;
    guint before, after;
} Cut;

static GArray *cuts_new(guint64 length, guint parts_before, guint parts_after) {
    GArray *cuts = g_array_new(FALSE, FALSE, sizeof(Cut));
    Cut cut = {0};

    for (guint64 at = 0; at < length; at += cut.length) {
        while (tile_begin(length, parts_before, cut.before + 1) <= at)
            cut.before++;
        while (tile_begin(length, parts_after, cut.after + 1) <= at)
            cut.after++;
        guint64 end = MIN(tile_begin(length, parts_before, cut.before + 1),
                          tile_begin(length, parts_after, cut.after + 1));
        cut.length = end - at;
        g_array_append_val(cuts, cut);
    }
    return cuts;
}

/* Matrices of one shape and place. */
typedef struct Matrix {
    guint64 inputs, outputs;
    gboolean turned; /* in decode its inputs lie along X */
    guint64 copies;  /* of it in a layer */
    guint expert;    /* which band of rows it lies in, of 'experts' */
    guint experts;   /* 1: all rows */
} Matrix;

/* The cores that have the weights before. */
typedef struct Source {
    guint columns, rows, first_row;
    gboolean banded; /* experts have rows of their own */
} Source;

typedef struct Walk {
    const WaferMove *move;
    WaferRegions regions; /* that they go to */
    MeshPhase *phase;
    Source source;
    guint region;
    gboolean turns; /* matrices that lie turned in decode do so afterwards */
    guint64 layers; /* that move */
} Walk;

static guint rows_of_expert(const Walk *walk, const Matrix *matrix) {
    return walk->source.rows / (walk->source.banded ? matrix->experts : 1);
}

static void move_piece(Walk *walk, const Matrix *matrix, const Cut *input, const Cut *output) {
    const WaferMove *move = walk->move;
    guint band = walk->source.banded ? matrix->expert * rows_of_expert(walk, matrix) : 0;
    guint first_after = matrix->expert * (walk->regions.side / matrix->experts);
    gboolean turned = matrix->turned && walk->turns;
    MeshPlace from = {output->before, walk->source.first_row + band + input->before};
    WaferCore to = turned ? (WaferCore){input->after, first_after + output->after}
                          : (WaferCore){output->after, first_after + input->after};
    WaferCore place = wafer_regions_core(&walk->regions, walk->region, to);
    guint64 elements = input->length * output->length * matrix->copies * walk->layers;

    mesh_phase_send(walk->phase, from, (MeshPlace){place.x, place.y},
                    mesh_wavelets(move->spec, move->model->data_type, elements));
}

static void move_matrix(Walk *walk, const Matrix *matrix) {
    guint after = walk->regions.side, rows_after = after / matrix->experts;
    gboolean turned = matrix->turned && walk->turns;
    g_autoptr(GArray) inputs =
        cuts_new(matrix->inputs, rows_of_expert(walk, matrix), turned ? after : rows_after);
    g_autoptr(GArray) outputs =
        cuts_new(matrix->outputs, walk->source.columns, turned ? rows_after : after);

    for (guint i = 0; i < inputs->len; i++)
        for (guint j = 0; j < outputs->len; j++)
            move_piece(walk, matrix, &g_array_index(inputs, Cut, i),
                       &g_array_index(outputs, Cut, j));
}

static void move_weights(Walk *walk) {
    const Model *model = walk->move->model;
    guint experts = (guint)MAX(model->experts, 1);
    guint64 q = model->heads * model->head_dim, kv = model->kv_heads * model->head_dim;
    const Matrix attention[] = {
        {model->hidden, q, FALSE, 1, 0, 1},
        {model->hidden, kv, FALSE, 2, 0, 1},
        {q, model->hidden, TRUE, 1, 0, 1},
    };

    if (walk->layers == 0)
        return;
    for (gsize i = 0; i < G_N_ELEMENTS(attention); i++)
        move_matrix(walk, &attention[i]);
    for (guint expert = 0; expert < experts; expert++) {
        const Matrix ffn[] = {{model->hidden, model->ffn, FALSE, 2, expert, experts},
                              {model->ffn, model->hidden, TRUE, 1, expert, experts}};
        for (gsize i = 0; i < G_N_ELEMENTS(ffn); i++)
            move_matrix(walk, &ffn[i]);
    }
}

static void move_kv(Walk *walk) {
    const Model *model = walk->move->model;
    Matrix kv = {walk->move->tokens, model->kv_heads * model->head_dim, FALSE, 2, 0, 1};

    move_matrix(walk, &kv);
}

static Source on_grid(const WaferMove *move) {
    return (Source){move->prefill_grid, move->prefill_grid, 0, TRUE};
}

static Source below_grid(const WaferMove *move) {
    guint rows = (guint)move->spec->rows - move->prefill_grid;

    return (Source){(guint)move->spec->columns, rows, move->prefill_grid, FALSE};
}

static Walk walk_new(const WaferMove *move) {
    guint columns = (guint)move->spec->columns, rows = (guint)move->spec->rows;

    return (Walk){.move = move,
                  .regions = {columns, rows, move->decode_grid, move->regions},
                  .phase = mesh_phase_new(columns, rows),
                  .source = on_grid(move),
                  .turns = TRUE};
}

/* KV of all layers comes from the grid, where the loops left it. */
static void move_region(Walk *walk) {
    const WaferMove *move = walk->move;
    guint64 layers = tile_size(move->model->layers, move->regions, walk->region);
    guint64 begin = tile_begin(move->model->layers, move->regions, walk->region);
    guint64 inside = move->model->layers - move->outside;

    walk->source = on_grid(move);
    walk->layers = layers;
    move_kv(walk);
    walk->layers = CLAMP(inside, begin, begin + layers) - begin;
    move_weights(walk);
    walk->source = below_grid(move);
    walk->layers = layers - walk->layers;
    move_weights(walk);
}

MeshPhaseCounts wafer_move_transition(const WaferMove *move) {
    Walk walk = walk_new(move);
    g_autoptr(MeshPhase) phase = walk.phase;

    for (walk.region = 0; walk.region < move->regions; walk.region++)
        move_region(&walk);
    return mesh_phase_counts(phase);
}

MeshPhaseCounts wafer_move_layer_in(const WaferMove *move) {
    Walk walk = walk_new(move);
    g_autoptr(MeshPhase) phase = walk.phase;

    walk.regions.side = move->prefill_grid;
    walk.regions.regions = 1;
    walk.source = below_grid(move);
    walk.turns = FALSE;
    walk.layers = 1;
    move_weights(&walk);
    return mesh_phase_counts(phase);
}

MeshPhaseCounts wafer_move_activations(const WaferMove *move, guint region, guint64 n) {
    Walk walk = walk_new(move);
    g_autoptr(MeshPhase) phase = walk.phase;
    DataType type = move->model->data_type;
    guint last = move->decode_grid - 1;

    for (guint x = 0; x <= last; x++) {
        WaferCore from = wafer_regions_core(&walk.regions, region, (WaferCore){x, last});
        WaferCore to = wafer_regions_core(&walk.regions, region + 1, (WaferCore){x, last});
        guint64 elements = tile_size(n, move->decode_grid, x);
        mesh_phase_send(phase, (MeshPlace){from.x, from.y}, (MeshPlace){to.x, to.y},
                        mesh_wavelets(move->spec, type, elements));
    }
    return mesh_phase_counts(phase);
}
