/* The blocking is Goto's (Goto & van de Geijn 2008, "Anatomy of High-Performance Matrix
 * Multiplication"): a block of B in the outer cache, a block of A in the second, a panel of B in
 * the first, a tile of C in registers. */
#include "actors/kernels/gemm_micro.h"

#include <string.h>

/* K_BLOCK · columns of B (32 at most) floats stay in the first-level cache, M_BLOCK · K_BLOCK of A
 * in the second, K_BLOCK · N_BLOCK of B in the last. M_BLOCK and N_BLOCK are multiples of every
 * tile. */
enum { M_BLOCK = 192, N_BLOCK = 2048, K_BLOCK = 256, ALIGNMENT = 64 };

typedef struct Gemm {
    const GemmMicro *micro;
    const GemmSize *size;
    const GemmOperands *operands;
    float *a_panels, *b_panels;
    float *row;  /* one row of a block, converted */
    float *tile; /* a tile of C at the edge, whole */
} Gemm;

/* Where a block lies. */
typedef struct Block {
    gsize first_row, rows, first_column, columns;
} Block;

static gsize round_up(gsize value, gsize multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

static float *floats_new(gsize n) {
    return g_aligned_alloc(MAX(n, 1), sizeof(float), ALIGNMENT);
}

/* 'n' values from 'offset' on as floats: in place, or converted into 'row'. */
static const float *row_of(const float *f32, const guint16 *f16, gsize offset, const Gemm *gemm,
                           gsize n) {
    if (f32)
        return f32 + offset;
    fp16_to_floats(gemm->row, f16 + offset, n);
    return gemm->row;
}

/* Panels of micro->rows rows, each column by column; rows beyond the last are zero. */
static void pack_a(const Gemm *gemm, const Block *block) {
    const GemmOperands *operands = gemm->operands;
    gsize height = gemm->micro->rows, k = block->columns;
    for (gsize i = 0; i < round_up(block->rows, height); i++) {
        float *panel = gemm->a_panels + i / height * height * k + i % height;
        gsize offset = (block->first_row + i) * gemm->size->lda + block->first_column;
        const float *row = NULL;
        if (i < block->rows)
            row = row_of(operands->a_f32, operands->a_f16, offset, gemm, k);
        for (gsize p = 0; p < k; p++)
            panel[p * height] = row ? row[p] : 0;
    }
}

/* Panels of micro->columns columns, each row by row; columns beyond the last are zero. */
static void pack_b(const Gemm *gemm, const Block *block) {
    const GemmOperands *operands = gemm->operands;
    gsize width = gemm->micro->columns, k = block->rows;
    for (gsize p = 0; p < k; p++) {
        gsize offset = (block->first_row + p) * gemm->size->ldb + block->first_column;
        const float *row = row_of(operands->b_f32, operands->b_f16, offset, gemm, block->columns);
        for (gsize j = 0; j < block->columns; j += width) {
            float *out = gemm->b_panels + j * k + p * width;
            gsize here = MIN(width, block->columns - j);
            memcpy(out, row + j, here * sizeof *out);
            memset(out + here, 0, (width - here) * sizeof *out);
        }
    }
}

/* A tile that ends at the edge of C is computed whole in 'tile'. */
static void run_edge(const Gemm *gemm, gsize k, const float *a, const float *b, const Block *tile) {
    gsize width = gemm->micro->columns, ldc = gemm->size->ldc;
    float *c = gemm->operands->c + tile->first_row * ldc + tile->first_column;
    memset(gemm->tile, 0, gemm->micro->rows * width * sizeof(float));
    for (gsize i = 0; i < tile->rows; i++)
        memcpy(gemm->tile + i * width, c + i * ldc, tile->columns * sizeof *c);
    gemm->micro->run(k, a, b, gemm->tile, width);
    for (gsize i = 0; i < tile->rows; i++)
        memcpy(c + i * ldc, gemm->tile + i * width, tile->columns * sizeof *c);
}

/* The packed block of A times the packed block of B, onto 'block' of C. */
static void multiply_block(const Gemm *gemm, const Block *block, gsize k) {
    gsize height = gemm->micro->rows, width = gemm->micro->columns, ldc = gemm->size->ldc;
    for (gsize j = 0; j < block->columns; j += width)
        for (gsize i = 0; i < block->rows; i += height) {
            const float *a = gemm->a_panels + i * k, *b = gemm->b_panels + j * k;
            Block tile = {block->first_row + i, MIN(height, block->rows - i),
                          block->first_column + j, MIN(width, block->columns - j)};
            float *c = gemm->operands->c + tile.first_row * ldc + tile.first_column;
            if (tile.rows == height && tile.columns == width)
                gemm->micro->run(k, a, b, c, ldc);
            else
                run_edge(gemm, k, a, b, &tile);
        }
}

static void multiply(const Gemm *gemm) {
    const GemmSize *size = gemm->size;
    for (gsize j = 0; j < size->n; j += N_BLOCK)
        for (gsize p = 0; p < size->k; p += K_BLOCK) {
            gsize n = MIN(N_BLOCK, size->n - j), k = MIN(K_BLOCK, size->k - p);
            pack_b(gemm, &(Block){p, k, j, n});
            for (gsize i = 0; i < size->m; i += M_BLOCK) {
                gsize m = MIN(M_BLOCK, size->m - i);
                pack_a(gemm, &(Block){i, m, p, k});
                multiply_block(gemm, &(Block){i, m, j, n}, k);
            }
        }
}

void gemm_with(const GemmMicro *micro, const GemmSize *size, const GemmOperands *operands,
               gboolean accumulate) {
    for (gsize i = 0; i < size->m && !accumulate; i++)
        memset(operands->c + i * size->ldc, 0, size->n * sizeof(float));
    if (size->m == 0 || size->n == 0 || size->k == 0)
        return;
    gsize k = MIN(K_BLOCK, size->k), m = MIN(M_BLOCK, round_up(size->m, micro->rows)),
          n = MIN(N_BLOCK, round_up(size->n, micro->columns));
    Gemm gemm = {micro,
                 size,
                 operands,
                 floats_new(m * k),
                 floats_new(k * n),
                 floats_new(MAX(k, n)),
                 floats_new(micro->rows * micro->columns)};
    multiply(&gemm);
    g_aligned_free(gemm.a_panels);
    g_aligned_free(gemm.b_panels);
    g_aligned_free(gemm.row);
    g_aligned_free(gemm.tile);
}

void gemm_f32(const GemmSize *size, const float *a, const float *b, float *c, gboolean accumulate) {
    gemm_with(gemm_micro(0), size, &(GemmOperands){.a_f32 = a, .b_f32 = b, .c = c}, accumulate);
}

void gemm_f16(const GemmSize *size, const guint16 *a, const guint16 *b, float *c,
              gboolean accumulate) {
    gemm_with(gemm_micro(0), size, &(GemmOperands){.a_f16 = a, .b_f16 = b, .c = c}, accumulate);
}
