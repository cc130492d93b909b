#include "actors/cluster/gemm_numbers.h"

#include "actors/kernels/kernels.h"
#include <string.h>

#define X2_BUFFERS 2
#define W2_BUFFERS 2
#define Y2_BUFFERS 3

struct GemmNumbers {
    const GemmPlan *plan;
    const guint8 *x, *w;
    gpointer y;
    float *sums;   /* unfinished ones in DDR; NULL when they stay in AM */
    gsize element; /* bytes of an operand's */
    guint8 *xg;    /* GSM: row_block × k_block; NULL when X lies there already, or passes it by */
    guint8 *x2[X2_BUFFERS];   /* SM of every DSP: row_tile × k_step */
    guint8 *w2[W2_BUFFERS];   /* AM of every DSP: k_step × column_tile */
    float *y2[Y2_BUFFERS];    /* AM of every DSP: row_tile × column_tile */
    guint64 loaded, computed; /* steps */
};

GemmNumbers *gemm_numbers_new(const GemmPlan *plan, const void *x, const void *w, void *y) {
    GemmNumbers *numbers = g_new0(GemmNumbers, 1);
    guint64 dsps = plan->cluster->dsps;

    *numbers = (GemmNumbers){
        .plan = plan, .x = x, .w = w, .y = y, .element = data_type_bytes(plan->shape.type)};
    if (!plan->split_columns && !plan->mode.x_on_chip)
        numbers->xg = g_malloc(plan->row_block * plan->k_block * numbers->element);
    if (plan->k_blocks > 1 && !plan->y_stays)
        numbers->sums = g_new(float, plan->shape.m * plan->shape.n);
    for (guint i = 0; i < X2_BUFFERS; i++)
        numbers->x2[i] = g_malloc(dsps * plan->row_tile * plan->k_step * numbers->element);
    for (guint i = 0; i < W2_BUFFERS; i++)
        numbers->w2[i] = g_malloc(dsps * plan->k_step * plan->column_tile * numbers->element);
    for (guint i = 0; i < Y2_BUFFERS; i++)
        numbers->y2[i] = g_new(float, dsps * plan->row_tile * plan->column_tile);
    return numbers;
}

void gemm_numbers_free(GemmNumbers *numbers) {
    if (!numbers)
        return;
    for (guint i = 0; i < X2_BUFFERS; i++)
        g_free(numbers->x2[i]);
    for (guint i = 0; i < W2_BUFFERS; i++)
        g_free(numbers->w2[i]);
    for (guint i = 0; i < Y2_BUFFERS; i++)
        g_free(numbers->y2[i]);
    g_free(numbers->xg);
    g_free(numbers->sums);
    g_free(numbers);
}

/* A block of a row-major matrix: 'stride' bytes from row to row, 'width' of them copied. */
typedef struct Rows {
    guint8 *data;
    gsize stride;
} Rows;

static void copy_rows(Rows to, Rows from, gsize rows, gsize width) {
    for (gsize row = 0; row < rows; row++)
        memcpy(to.data + row * to.stride, from.data + row * from.stride, width);
}

static Rows rows_at(const guint8 *matrix, gsize columns, gsize row, gsize column, gsize element) {
    return (Rows){.data = (guint8 *)matrix + (row * columns + column) * element,
                  .stride = columns * element};
}

static Rows x2_of(const GemmNumbers *numbers, guint64 buffer, guint64 dsp) {
    const GemmPlan *plan = numbers->plan;

    return rows_at(numbers->x2[buffer % X2_BUFFERS], plan->k_step, dsp * plan->row_tile, 0,
                   numbers->element);
}

static Rows w2_of(const GemmNumbers *numbers, guint64 buffer, guint64 dsp) {
    const GemmPlan *plan = numbers->plan;

    return rows_at(numbers->w2[buffer % W2_BUFFERS], plan->column_tile, dsp * plan->k_step, 0,
                   numbers->element);
}

/* Sums that stay in AM keep their buffer over the K blocks of their rows. */
static float *y2_of(const GemmNumbers *numbers, guint64 index, guint64 dsp) {
    const GemmPlan *plan = numbers->plan;
    guint64 row_block = index / plan->column_blocks / plan->k_blocks;
    guint64 block =
        plan->y_stays ? row_block * plan->column_blocks + index % plan->column_blocks : index;

    return numbers->y2[block % Y2_BUFFERS] + dsp * plan->row_tile * plan->column_tile;
}

/* X by way of GSM, where a slice stays for the passes that copy it from there. */
static Rows x_source(const GemmNumbers *numbers, const GemmPass *pass, const GemmStep *step) {
    const GemmPlan *plan = numbers->plan;
    Rows x = rows_at(numbers->x, plan->shape.k, pass->row, step->k, numbers->element);

    if (numbers->xg == NULL)
        return x;
    Rows xg = rows_at(numbers->xg, plan->k_block, 0, step->k - pass->k, numbers->element);
    if (step->x_move == GEMM_X_FETCH)
        copy_rows(xg, x, pass->rows, step->depth * numbers->element);
    return xg;
}

void gemm_numbers_load(GemmNumbers *numbers, const GemmStep *step) {
    const GemmPlan *plan = numbers->plan;
    GemmPass pass = gemm_plan_pass(plan, step->pass);
    Rows source = x_source(numbers, &pass, step);

    for (guint64 dsp = 0; dsp < plan->cluster->dsps; dsp++) {
        GemmPart part = gemm_plan_part(plan, &pass, dsp);
        Rows x = {.data = source.data + part.row * source.stride, .stride = source.stride};
        Rows w = rows_at(numbers->w, plan->shape.n, step->k, pass.column + part.column,
                         numbers->element);

        copy_rows(x2_of(numbers, numbers->loaded, dsp), x, part.rows,
                  step->depth * numbers->element);
        copy_rows(w2_of(numbers, numbers->loaded, dsp), w, step->depth,
                  part.columns * numbers->element);
    }
    numbers->loaded++;
}

void gemm_numbers_compute(GemmNumbers *numbers, const GemmStep *step) {
    const GemmPlan *plan = numbers->plan;
    GemmPass pass = gemm_plan_pass(plan, step->pass);
    gboolean accumulate = step->k > 0;

    for (guint64 dsp = 0; dsp < plan->cluster->dsps; dsp++) {
        GemmPart part = gemm_plan_part(plan, &pass, dsp);
        GemmSize size = {.m = part.rows,
                         .n = part.columns,
                         .k = step->depth,
                         .lda = plan->k_step,
                         .ldb = plan->column_tile,
                         .ldc = plan->column_tile};
        gconstpointer x2 = x2_of(numbers, numbers->computed, dsp).data;
        gconstpointer w2 = w2_of(numbers, numbers->computed, dsp).data;
        float *y2 = y2_of(numbers, step->pass, dsp);

        if (part.rows == 0 || part.columns == 0)
            continue;
        if (plan->shape.type == DATA_TYPE_FP32)
            gemm_f32(&size, x2, w2, y2, accumulate);
        else
            gemm_f16(&size, x2, w2, y2, accumulate);
    }
    numbers->computed++;
}

static void store_row(GemmNumbers *numbers, const GemmPass *pass, gsize first, const float *from,
                      gsize n) {
    if (!pass->last)
        memcpy(numbers->sums + first, from, n * sizeof *from);
    else if (numbers->plan->shape.type == DATA_TYPE_FP32)
        memcpy((float *)numbers->y + first, from, n * sizeof *from);
    else
        fp16_from_floats((guint16 *)numbers->y + first, from, n);
}

void gemm_numbers_store(GemmNumbers *numbers, guint64 index) {
    const GemmPlan *plan = numbers->plan;
    GemmPass pass = gemm_plan_pass(plan, index);

    if (!pass.last && plan->y_stays)
        return;
    for (guint64 dsp = 0; dsp < plan->cluster->dsps; dsp++) {
        GemmPart part = gemm_plan_part(plan, &pass, dsp);
        const float *y2 = y2_of(numbers, index, dsp);

        for (guint64 row = 0; row < part.rows; row++)
            store_row(numbers, &pass,
                      (pass.row + part.row + row) * plan->shape.n + pass.column + part.column,
                      y2 + row * plan->column_tile, part.columns);
    }
}

void gemm_numbers_fetch(GemmNumbers *numbers, guint64 index) {
    const GemmPlan *plan = numbers->plan;
    GemmPass pass = gemm_plan_pass(plan, index);

    if (pass.first || plan->y_stays)
        return;
    for (guint64 dsp = 0; dsp < plan->cluster->dsps; dsp++) {
        GemmPart part = gemm_plan_part(plan, &pass, dsp);
        float *y2 = y2_of(numbers, index, dsp);

        for (guint64 row = 0; row < part.rows; row++)
            memcpy(y2 + row * plan->column_tile,
                   numbers->sums + (pass.row + part.row + row) * plan->shape.n + pass.column,
                   part.columns * sizeof *y2);
    }
}
