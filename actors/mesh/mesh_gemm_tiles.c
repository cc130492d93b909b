#include "actors/mesh/mesh_gemm_run.h"

#include "actors/kernels/kernels.h"
#include "policies/mesh/tiles.h"
#include <string.h>

float *gemm_tile_new(guint64 rows, guint64 columns) {
    gsize bytes = MAX(rows * columns, 1) * sizeof(float);

    return memset(g_rc_box_alloc(bytes), 0, bytes);
}

float *gemm_tile_copy(const float *from, guint64 stride, guint64 rows, guint64 columns) {
    float *tile = gemm_tile_new(rows, columns);

    for (guint64 row = 0; row < rows; row++)
        memcpy(tile + row * columns, from + row * stride, columns * sizeof *tile);
    return tile;
}

void gemm_tile_round(float *tile, guint64 n, DataType type) {
    for (guint64 i = 0; tile && type == DATA_TYPE_FP16 && i < n; i++)
        tile[i] = fp16_to_float(fp16_from_float(tile[i]));
}

float *gemm_tile_keep(float *tile) {
    return tile ? g_rc_box_acquire(tile) : NULL;
}

void gemm_tile_drop(float *tile) {
    if (tile)
        g_rc_box_release(tile);
}

/* Where a core's tile lies in a matrix of rows × columns. */
typedef struct Part {
    guint64 row, rows, column, columns, stride;
} Part;

static Part part_of(const GemmCore *core, guint64 rows, guint64 columns) {
    const MeshSetup *setup = core->run->setup;
    guint x = core->core->x, y = core->core->y;

    return (Part){tile_begin(rows, setup->rows, y), tile_size(rows, setup->rows, y),
                  tile_begin(columns, setup->columns, x), tile_size(columns, setup->columns, x),
                  columns};
}

static float *load(const Part *part, DataType type, const void *matrix) {
    float *tile = g_new(float, MAX(part->rows * part->columns, 1));

    for (guint64 row = 0; row < part->rows; row++) {
        gsize offset = (part->row + row) * part->stride + part->column;
        float *out = tile + row * part->columns;
        if (type == DATA_TYPE_FP16)
            fp16_to_floats(out, (const guint16 *)matrix + offset, part->columns);
        else
            memcpy(out, (const float *)matrix + offset, part->columns * sizeof *out);
    }
    return tile;
}

void gemm_tiles_load(GemmCore *core) {
    const MeshGemm *gemm = core->run->gemm;
    gboolean transposed = gemm->kind == MESH_GEMM_TRANSPOSED;
    Part a = part_of(core, gemm->m, gemm->k);
    Part b = transposed ? part_of(core, gemm->n, gemm->k) : part_of(core, gemm->k, gemm->n);

    core->tiles = (GemmTiles){load(&a, gemm->type, gemm->a), load(&b, gemm->type, gemm->b),
                              g_new0(float, MAX(core->m * core->n, 1))};
}

void gemm_tiles_store(GemmCore *core) {
    const MeshGemm *gemm = core->run->gemm;
    Part part = part_of(core, gemm->m, gemm->n);

    for (guint64 row = 0; row < part.rows; row++) {
        gsize offset = (part.row + row) * part.stride + part.column;
        const float *from = core->tiles.c + row * part.columns;
        if (gemm->type == DATA_TYPE_FP16)
            fp16_from_floats((guint16 *)gemm->c + offset, from, part.columns);
        else
            memcpy((float *)gemm->c + offset, from, part.columns * sizeof *from);
    }
}

void gemm_tiles_clear(GemmCore *core) {
    g_free((float *)core->tiles.a);
    g_free((float *)core->tiles.b);
    g_free(core->tiles.c);
    core->tiles = (GemmTiles){0};
}
