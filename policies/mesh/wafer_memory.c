#include "policies/mesh/wafer_memory.h"

#include "policies/mesh/tiles.h"

#define TILES_OF_INPUT 2 /* in use and on its way in */

/* An expert's matrices lie on a band of rows of its own; every core has the router's part of the
 * token. Elements of a core. */
static guint64 feed_forward_elements(const WaferLayout *layout) {
    const Model *model = layout->model;
    guint64 d = tile_largest(model->hidden, layout->rows);
    guint64 f = tile_largest(model->ffn, layout->columns);
    if (model->experts == 0)
        return 3 * d * f + (model->mlp_bias ? 2 * f + d : 0);
    guint band_rows = MAX(layout->rows / (guint)model->experts, 1);
    return 3 * tile_largest(model->hidden, band_rows) * f + d * model->experts;
}

static guint64 attention_elements(const WaferLayout *layout) {
    const Model *model = layout->model;
    guint64 d = tile_largest(model->hidden, layout->rows);
    guint64 q = tile_largest(model->heads * model->head_dim, layout->columns);
    guint64 kv = tile_largest(model->kv_heads * model->head_dim, layout->columns);
    guint64 biases = (model->qkv_bias ? q + 2 * kv : 0) + (model->out_bias ? d : 0);
    guint64 norms = 2 * d;
    return 2 * d * q + 2 * d * kv + biases + norms;
}

static double element_bytes(const WaferLayout *layout) {
    return data_type_bytes(layout->model->data_type);
}

static double region_cores(const WaferLayout *layout) {
    return (double)layout->columns * layout->rows;
}

/* Of the fullest region. */
static double region_layers(const WaferLayout *layout) {
    g_assert(layout->regions >= 1 && layout->regions <= layout->model->layers);
    if (layout->split == WAFER_EVEN_LAYERS)
        return (double)layout->model->layers / layout->regions;
    return (double)tile_largest(layout->model->layers, layout->regions);
}

double wafer_memory_layer_bytes(const WaferLayout *layout) {
    if (layout->split == WAFER_EVEN_LAYERS)
        return (double)model_layer_parameters(layout->model) / region_cores(layout) *
               element_bytes(layout);
    return (double)(attention_elements(layout) + feed_forward_elements(layout)) *
           element_bytes(layout);
}

double wafer_memory_weight_bytes(const WaferLayout *layout) {
    if (layout->split == WAFER_EVEN_LAYERS)
        return (double)model_parameters(layout->model) / layout->regions / region_cores(layout) *
               element_bytes(layout);
    return region_layers(layout) * wafer_memory_layer_bytes(layout);
}

double wafer_memory_kv_bytes(const WaferLayout *layout) {
    const Model *model = layout->model;
    guint64 kv = tile_largest(model->kv_heads * model->head_dim, layout->columns);
    return region_layers(layout) * 2 * (double)kv * element_bytes(layout);
}

/* A loop's C[m×n] = A[m×k] · B[k×n]. */
typedef struct Loop {
    guint64 m, k, n;
} Loop;

double wafer_memory_prefill_bytes(const Model *model, guint columns, guint rows, guint64 tokens) {
    guint64 q = model->heads * model->head_dim, kv = model->kv_heads * model->head_dim;
    const Loop loops[] = {
        {tokens, model->hidden, q},
        {tokens, model->hidden, kv},
        {tokens, q, tokens},
        {tokens, tokens, q},
        {tokens, q, model->hidden},
        {tokens, model->hidden, model->ffn},
        {tokens, model->ffn, model->hidden},
    };
    guint64 most = 0;
    for (gsize i = 0; i < G_N_ELEMENTS(loops); i++) {
        guint64 m = tile_largest(loops[i].m, rows), n = tile_largest(loops[i].n, columns);
        guint64 k = tile_largest(loops[i].k, tiles_a_side(columns, rows));
        most = MAX(most, TILES_OF_INPUT * (m * k + k * n) + m * n);
    }
    return (double)most * data_type_bytes(model->data_type);
}

guint wafer_memory_regions_by_area(const MeshSpec *spec, guint columns, guint rows) {
    g_assert(columns > 0 && rows > 0);
    return (guint)(spec->columns * spec->rows / ((guint64)columns * rows));
}

guint wafer_memory_regions_by_geometry(const MeshSpec *spec, guint columns, guint rows) {
    g_assert(columns > 0 && rows > 0);
    return (guint)((spec->columns / columns) * (spec->rows / rows));
}

guint wafer_memory_smallest_regions(const WaferLayout *layout, double usable_bytes,
                                    double buffer_bytes) {
    WaferLayout tried = *layout;
    for (tried.regions = 1; tried.regions <= layout->model->layers; tried.regions++)
        if (wafer_memory_weight_bytes(&tried) + buffer_bytes <= usable_bytes)
            return tried.regions;
    return 0;
}

double wafer_memory_kv_room(const WaferLayout *layout, double usable_bytes, double buffer_bytes) {
    return MAX(usable_bytes - wafer_memory_weight_bytes(layout) - buffer_bytes, 0);
}
