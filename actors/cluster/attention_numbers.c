/* The numbers of attention, moved as the steps move them: Q, K, V and O are copied between the
 * tensors in DDR and buffers of a DSP's tiers, block by block, and only the buffers are computed
 * on. Row blocks of different DSPs are computed one after another. */
#include "actors/cluster/attention_steps.h"
#include <math.h>
#include <string.h>

typedef struct Dsp {
    const AttentionShape *shape;
    const AttentionBlocks *blocks;
    const AttentionNumbers *numbers;
    AttentionProblem problem;
    guint64 unit;        /* at work */
    guint64 first, rows; /* of the unit: the row block */
    guint64 tokens;      /* of K and V that it sees */
    /* SM */
    guint16 *q;       /* [rows][head_dim] */
    guint16 *weights; /* [rows][slice] */
    /* AM */
    guint16 *kv;          /* Kᵀ [head_dim][columns] or V [columns][head_dim] */
    float *tile;          /* [rows][columns] of scores */
    float *am_scores;     /* [K/V blocks][rows][columns − gsm_columns] */
    float *o;             /* [rows][head_dim] */
    float *maximum, *sum; /* [rows] */
    /* GSM */
    float *gsm_scores; /* [K/V blocks][rows][gsm_columns] */
    /* DDR, besides the tensors */
    guint16 *ddr_scores; /* [new_tokens][context], unfused */
} Dsp;

static guint64 divide_up(guint64 a, guint64 b) {
    return (a + b - 1) / b;
}

/* --- where things are in DDR */

/* Units count the KV heads of a request (the query heads, unfused), request by request. */
static guint64 units_per_request(const Dsp *dsp) {
    return dsp->problem.units / dsp->shape->batch;
}

/* Row 'row' of the unit in Q and O: token by token, each with the heads of the group. */
static gsize row_offset(const Dsp *dsp, guint64 row) {
    const AttentionShape *shape = dsp->shape;
    guint64 request = dsp->unit / units_per_request(dsp);
    guint64 first_head = dsp->unit % units_per_request(dsp) * dsp->problem.group;
    guint64 token = row / dsp->problem.group, head = first_head + row % dsp->problem.group;

    return ((request * shape->new_tokens + token) * shape->heads + head) * shape->head_dim;
}

static gsize token_offset(const Dsp *dsp, guint64 token) {
    const AttentionShape *shape = dsp->shape;
    guint64 request = dsp->unit / units_per_request(dsp);
    guint64 kv_head = dsp->unit % units_per_request(dsp) * shape->kv_heads / units_per_request(dsp);

    return ((request * dsp->problem.context + token) * shape->kv_heads + kv_head) * shape->head_dim;
}

/* --- DMA */

static void load_q(Dsp *dsp) {
    gsize dim = dsp->shape->head_dim;

    for (guint64 row = 0; row < dsp->rows; row++)
        memcpy(dsp->q + row * dim, dsp->numbers->q + row_offset(dsp, dsp->first + row),
               dim * sizeof *dsp->q);
}

static void load_o(Dsp *dsp) {
    gsize dim = dsp->shape->head_dim;

    for (guint64 row = 0; row < dsp->rows; row++)
        fp16_to_floats(dsp->o + row * dim, dsp->numbers->o + row_offset(dsp, dsp->first + row),
                       dim);
}

static void store_o(const Dsp *dsp) {
    gsize dim = dsp->shape->head_dim;

    for (guint64 row = 0; row < dsp->rows; row++)
        fp16_from_floats(dsp->numbers->o + row_offset(dsp, dsp->first + row), dsp->o + row * dim,
                         dim);
}

static void load_k_transposed(Dsp *dsp, guint64 start, guint64 n) {
    gsize dim = dsp->shape->head_dim;

    for (guint64 token = 0; token < n; token++) {
        const guint16 *key = dsp->numbers->k + token_offset(dsp, start + token);
        for (gsize i = 0; i < dim; i++)
            dsp->kv[i * n + token] = key[i];
    }
}

static void load_v(Dsp *dsp, guint64 start, guint64 n) {
    gsize dim = dsp->shape->head_dim;

    for (guint64 token = 0; token < n; token++)
        memcpy(dsp->kv + token * dim, dsp->numbers->v + token_offset(dsp, start + token),
               dim * sizeof *dsp->kv);
}

/* --- computing */

/* tile[rows × n] = Q·Kᵀ / √d, with −∞ where the mask hides a token. */
static void scores_of_block(Dsp *dsp, guint64 start, guint64 n) {
    gsize dim = dsp->shape->head_dim;
    float scale = 1 / sqrtf((float)dim);
    GemmSize size = {.m = dsp->rows, .n = n, .k = dim, .lda = dim, .ldb = n, .ldc = n};

    gemm_f16(&size, dsp->q, dsp->kv, dsp->tile, FALSE);
    for (guint64 row = 0; row < dsp->rows; row++) {
        guint64 seen = attention_visible(&dsp->problem, dsp->shape->causal, dsp->first + row, 1);
        for (guint64 i = 0; i < n; i++)
            dsp->tile[row * n + i] = start + i < seen ? dsp->tile[row * n + i] * scale : -INFINITY;
    }
}

/* O += W·V for the weights in the tile, a slice of them in SM at a time. */
static void add_weighted_values(Dsp *dsp, guint64 n) {
    gsize dim = dsp->shape->head_dim;

    for (guint64 from = 0; from < n; from += dsp->blocks->slice) {
        guint64 k = MIN(dsp->blocks->slice, n - from);
        GemmSize size = {.m = dsp->rows, .n = dim, .k = k, .lda = k, .ldb = dim, .ldc = dim};
        for (guint64 row = 0; row < dsp->rows; row++)
            fp16_from_floats(dsp->weights + row * k, dsp->tile + row * n + from, k);
        gemm_f16(&size, dsp->weights, dsp->kv + from * dim, dsp->o, TRUE);
    }
}

static void clear_o(Dsp *dsp) {
    memset(dsp->o, 0, dsp->rows * dsp->shape->head_dim * sizeof *dsp->o);
}

/* --- MT: all scores of the rows on chip, the first of every block in AM, the rest in GSM */

/* Of 'n' columns of a block, those that lie in AM; the steps round GSM's up. */
static guint64 am_columns(const Dsp *dsp, guint64 n) {
    const AttentionBlocks *blocks = dsp->blocks;

    return n - divide_up(n * blocks->gsm_columns, blocks->columns);
}

/* Copies 'n' values into a tier, or out of it. */
static void exchange(float *values, float *tier, guint64 n, gboolean store) {
    if (n > 0)
        memcpy(store ? tier : values, store ? values : tier, n * sizeof *values);
}

/* One row of a block's 'n' scores between 'values' and the tiers. */
static void exchange_row(const Dsp *dsp, guint64 block, guint64 row, guint64 n, float *values,
                         gboolean store) {
    guint64 in_gsm = dsp->blocks->gsm_columns, in_am = dsp->blocks->columns - in_gsm;
    guint64 here = am_columns(dsp, n);
    float *am = dsp->am_scores + (block * dsp->blocks->rows + row) * in_am;
    float *gsm = dsp->gsm_scores + (block * dsp->blocks->rows + row) * in_gsm;

    exchange(values, am, here, store);
    exchange(values + here, gsm, n - here, store);
}

static void exchange_tile(const Dsp *dsp, guint64 block, guint64 n, gboolean store) {
    for (guint64 row = 0; row < dsp->rows; row++)
        exchange_row(dsp, block, row, n, dsp->tile + row * n, store);
}

/* Every row as a whole, gathered from the tiers and put back as weights. */
static void softmax_of_rows(const Dsp *dsp) {
    guint64 columns = dsp->blocks->columns;
    g_autofree float *values = g_new(float, dsp->tokens);

    for (guint64 row = 0; row < dsp->rows; row++) {
        for (guint64 start = 0; start < dsp->tokens; start += columns)
            exchange_row(dsp, start / columns, row, MIN(columns, dsp->tokens - start),
                         values + start, FALSE);
        softmax(dsp->tokens, values);
        for (guint64 start = 0; start < dsp->tokens; start += columns)
            exchange_row(dsp, start / columns, row, MIN(columns, dsp->tokens - start),
                         values + start, TRUE);
    }
}

static void mt_rows(Dsp *dsp) {
    guint64 columns = dsp->blocks->columns;
    g_assert(columns > 0);

    load_q(dsp);
    clear_o(dsp);
    for (guint64 start = 0; start < dsp->tokens; start += columns) {
        guint64 n = MIN(columns, dsp->tokens - start);
        load_k_transposed(dsp, start, n);
        scores_of_block(dsp, start, n);
        exchange_tile(dsp, start / columns, n, TRUE);
    }
    softmax_of_rows(dsp);
    for (guint64 start = 0; start < dsp->tokens; start += columns) {
        guint64 n = MIN(columns, dsp->tokens - start);
        load_v(dsp, start, n);
        exchange_tile(dsp, start / columns, n, FALSE);
        add_weighted_values(dsp, n);
    }
    store_o(dsp);
}

/* --- unfused: scores go to DDR in FP16 and come back */

static void unfused_rows(Dsp *dsp) {
    guint64 columns = dsp->blocks->columns, context = dsp->problem.context;
    g_autofree float *values = g_new(float, dsp->rows * dsp->tokens);

    load_q(dsp);
    for (guint64 start = 0; start < dsp->tokens; start += columns) {
        guint64 n = MIN(columns, dsp->tokens - start);
        load_k_transposed(dsp, start, n);
        scores_of_block(dsp, start, n);
        for (guint64 row = 0; row < dsp->rows; row++)
            fp16_from_floats(dsp->ddr_scores + (dsp->first + row) * context + start,
                             dsp->tile + row * n, n);
    }
    for (guint64 row = 0; row < dsp->rows; row++) {
        fp16_to_floats(values + row * dsp->tokens, dsp->ddr_scores + (dsp->first + row) * context,
                       dsp->tokens);
        softmax(dsp->tokens, values + row * dsp->tokens);
    }
    clear_o(dsp);
    for (guint64 start = 0; start < dsp->tokens; start += columns) {
        guint64 n = MIN(columns, dsp->tokens - start);
        load_v(dsp, start, n);
        for (guint64 row = 0; row < dsp->rows; row++)
            memcpy(dsp->tile + row * n, values + row * dsp->tokens + start, n * sizeof *values);
        add_weighted_values(dsp, n);
    }
    store_o(dsp);
}

/* --- Flash: Dao et al. 2022, "FlashAttention", algorithm 1, whose O is a running mean, so that it
 * can be stored in FP16 between two K/V blocks */

/* The tile's row becomes exp(score − maximum); returns the factor by which O's weight shrank. */
static float raise_row(Dsp *dsp, guint64 row, guint64 n, float *row_sum) {
    float *values = dsp->tile + row * n;
    float largest = MAX(dsp->maximum[row], values[argmax(n, values)]);
    float kept = expf(dsp->maximum[row] - largest);

    *row_sum = 0;
    for (guint64 i = 0; i < n; i++) {
        values[i] = expf(values[i] - largest);
        *row_sum += values[i];
    }
    dsp->maximum[row] = largest;
    return kept;
}

/* O and the statistics of the row block after 'n' more tokens; a row that sees none keeps its. */
static void flash_rows(Dsp *dsp, guint64 start, guint64 n) {
    gsize dim = dsp->shape->head_dim;

    load_q(dsp);
    load_o(dsp);
    load_k_transposed(dsp, start, n);
    scores_of_block(dsp, start, n);
    for (guint64 row = 0; row < dsp->rows; row++) {
        guint64 seen = attention_visible(&dsp->problem, dsp->shape->causal, dsp->first + row, 1);
        float added = 0, kept = 1;
        if (seen > start)
            kept = raise_row(dsp, row, n, &added);
        else
            memset(dsp->tile + row * n, 0, n * sizeof *dsp->tile);
        float before = dsp->sum[row] * kept;
        dsp->sum[row] = before + added;
        for (gsize i = 0; i < dim; i++)
            dsp->o[row * dim + i] *= before / dsp->sum[row];
        for (guint64 i = 0; i < n; i++)
            dsp->tile[row * n + i] /= dsp->sum[row];
    }
    load_v(dsp, start, n);
    add_weighted_values(dsp, n);
    store_o(dsp);
}

static void flash_unit(Dsp *dsp) {
    guint64 columns = dsp->blocks->columns, all = dsp->problem.group * dsp->problem.new_tokens;
    g_autofree float *maxima = g_new(float, all), *sums = g_new0(float, all);

    for (guint64 row = 0; row < all; row++) {
        maxima[row] = -INFINITY;
        memset(dsp->numbers->o + row_offset(dsp, row), 0,
               dsp->shape->head_dim * sizeof *dsp->numbers->o);
    }
    for (guint64 start = 0; start < dsp->problem.context; start += columns)
        for (dsp->first = 0; dsp->first < all; dsp->first += dsp->blocks->rows) {
            dsp->rows = MIN(dsp->blocks->rows, all - dsp->first);
            dsp->tokens =
                attention_visible(&dsp->problem, dsp->shape->causal, dsp->first, dsp->rows);
            dsp->maximum = maxima + dsp->first;
            dsp->sum = sums + dsp->first;
            if (dsp->tokens > start)
                flash_rows(dsp, start, MIN(columns, dsp->tokens - start));
        }
}

/* --- */

static void rows_of_unit(Dsp *dsp, void (*body)(Dsp *dsp)) {
    guint64 all = dsp->problem.group * dsp->problem.new_tokens;

    for (dsp->first = 0; dsp->first < all; dsp->first += dsp->blocks->rows) {
        dsp->rows = MIN(dsp->blocks->rows, all - dsp->first);
        dsp->tokens = attention_visible(&dsp->problem, dsp->shape->causal, dsp->first, dsp->rows);
        body(dsp);
    }
}

static void mt_unit(Dsp *dsp) {
    rows_of_unit(dsp, mt_rows);
}

static void unfused_unit(Dsp *dsp) {
    rows_of_unit(dsp, unfused_rows);
}

static void dsp_init(Dsp *dsp) {
    const AttentionBlocks *blocks = dsp->blocks;
    gsize rows = blocks->rows, columns = blocks->columns, dim = dsp->shape->head_dim;
    gboolean mt = dsp->shape->variant == ATTENTION_MT;
    gboolean unfused = dsp->shape->variant == ATTENTION_UNFUSED;
    gsize context = dsp->problem.context, score_rows = mt ? rows * divide_up(context, columns) : 0;
    gsize in_gsm = score_rows * blocks->gsm_columns, in_am = score_rows * columns - in_gsm;
    gsize in_ddr = unfused ? dsp->shape->new_tokens * context : 0;
    gsize row_block = rows * dim, slice = rows * blocks->slice;
    gsize kv_block = columns * dim, tile = rows * columns;

    dsp->q = g_new(guint16, row_block);
    dsp->weights = g_new(guint16, slice);
    dsp->kv = g_new(guint16, kv_block);
    dsp->tile = g_new(float, tile);
    dsp->am_scores = g_new(float, in_am);
    dsp->gsm_scores = g_new(float, in_gsm);
    dsp->o = g_new(float, row_block);
    dsp->ddr_scores = g_new(guint16, in_ddr);
}

static void dsp_clear(Dsp *dsp) {
    g_free(dsp->q);
    g_free(dsp->weights);
    g_free(dsp->kv);
    g_free(dsp->tile);
    g_free(dsp->am_scores);
    g_free(dsp->gsm_scores);
    g_free(dsp->o);
    g_free(dsp->ddr_scores);
}

void attention_compute(const AttentionShape *shape, const AttentionBlocks *blocks,
                       const AttentionNumbers *numbers) {
    static void (*const variants[])(Dsp * dsp) = {
        [ATTENTION_UNFUSED] = unfused_unit,
        [ATTENTION_FLASH] = flash_unit,
        [ATTENTION_MT] = mt_unit,
    };
    Dsp dsp = {
        .shape = shape, .blocks = blocks, .numbers = numbers, .problem = attention_problem(shape)};

    dsp_init(&dsp);
    for (dsp.unit = 0; dsp.unit < dsp.problem.units; dsp.unit++)
        variants[shape->variant](&dsp);
    dsp_clear(&dsp);
}
