#include "analysis/operators/operator_numbers.h"

#include "actors/kernels/kernels.h"
#include "workloads/input_error.h"
#include "workloads/random.h"
#include <math.h>
#include <unistd.h>

/* Multiply-accumulates that the reference may take: about a second. */
#define REFERENCE_MACS 134217728.0
#define HALF_UNIT 0x1p-11
#define HALF_TINY 0x1p-24 /* the smallest step of a half */
#define FLOAT_UNIT 0x1p-24

struct OperatorNumbers {
    const OperatorSpec *spec;
    guint roundings; /* of a product's partial sums */
    double o_stores; /* times that attention rounds an output to FP16 */
    void *inputs[3]; /* x, w; q, k, v */
    void *output;
    float **vectors, **originals; /* of an all-reduce, a rank each */
};

static double operand_elements(const OperatorSpec *spec) {
    const GemmShape *g = &spec->gemm;
    const AttentionShape *a = &spec->attention;
    double m = (double)g->m, n = (double)g->n, k = (double)g->k;
    double queries = (double)(a->batch * a->new_tokens * a->heads);
    double keys = (double)(a->batch * (a->past_tokens + a->new_tokens) * a->kv_heads);

    switch (spec->kind) {
    case OPERATOR_GEMM:
        return m * k + k * n + 2 * m * n;
    case OPERATOR_ATTENTION:
        return 2 * (queries + keys) * (double)a->head_dim;
    default:
        return 2 * (double)spec->ranks * (double)spec->bytes / sizeof(float);
    }
}

static DataType number_type(const OperatorSpec *spec) {
    return spec->kind == OPERATOR_GEMM        ? spec->gemm.type
           : spec->kind == OPERATOR_ATTENTION ? spec->attention.type
                                              : DATA_TYPE_FP32;
}

gboolean operator_numbers_possible(const OperatorSpec *spec, GError **error) {
    DataType type = number_type(spec);
    double bytes = operand_elements(spec) * data_type_bytes(type);
    double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    gboolean attention = spec->kind == OPERATOR_ATTENTION;

    if (type == DATA_TYPE_BF16 || (attention && type != DATA_TYPE_FP16)) {
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                    "--verify: numbers are computed in %s, not in '%s'",
                    attention ? "'fp16'" : "'fp16' and 'fp32'", data_type_name(type));
        return FALSE;
    }
    if (bytes <= memory / 2)
        return TRUE;
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                "--verify: the operands take %.0f bytes, more than half of the %.0f of this "
                "machine",
                bytes, memory);
    return FALSE;
}

static float draw(RandomStream *stream) {
    return (float)((double)random_bits(stream) * 0x1p-31 - 1);
}

static void *seeded(const OperatorSpec *spec, const char *purpose, gsize n) {
    RandomStream stream = random_stream(spec->seed, purpose);
    gboolean half = number_type(spec) == DATA_TYPE_FP16;
    guint16 *halves = half ? g_new(guint16, n) : NULL;
    float *floats = half ? NULL : g_new(float, n);

    for (gsize i = 0; i < n; i++)
        if (half)
            halves[i] = fp16_from_float(draw(&stream));
        else
            floats[i] = draw(&stream);
    return half ? (void *)halves : (void *)floats;
}

static void gemm_operands(OperatorNumbers *numbers) {
    const GemmShape *shape = &numbers->spec->gemm;

    numbers->inputs[0] = seeded(numbers->spec, "x", shape->m * shape->k);
    numbers->inputs[1] = seeded(numbers->spec, "w", shape->k * shape->n);
    numbers->output = g_malloc0(shape->m * shape->n * data_type_bytes(shape->type));
}

static void attention_operands(OperatorNumbers *numbers) {
    static const char *const purposes[] = {"q", "k", "v"};
    const AttentionShape *a = &numbers->spec->attention;
    gsize queries = a->batch * a->new_tokens * a->heads * a->head_dim;
    gsize keys = a->batch * (a->past_tokens + a->new_tokens) * a->kv_heads * a->head_dim;

    for (guint i = 0; i < 3; i++)
        numbers->inputs[i] = seeded(numbers->spec, purposes[i], i == 0 ? queries : keys);
    numbers->output = g_new0(guint16, queries);
}

static void ring_operands(OperatorNumbers *numbers) {
    const OperatorSpec *spec = numbers->spec;
    gsize n = spec->bytes / sizeof(float);

    numbers->vectors = g_new0(float *, spec->ranks);
    numbers->originals = g_new0(float *, spec->ranks);
    for (guint64 rank = 0; rank < spec->ranks; rank++) {
        g_autofree char *purpose = g_strdup_printf("rank %" G_GUINT64_FORMAT, rank);

        numbers->originals[rank] = seeded(spec, purpose, n);
        numbers->vectors[rank] = g_memdup2(numbers->originals[rank], n * sizeof(float));
    }
}

OperatorNumbers *operator_numbers_new(const OperatorSpec *spec, GError **error) {
    static void (*const makers[N_OPERATOR_KINDS])(OperatorNumbers *) = {
        [OPERATOR_GEMM] = gemm_operands,
        [OPERATOR_ATTENTION] = attention_operands,
        [OPERATOR_ALL_REDUCE] = ring_operands,
    };

    if (!operator_numbers_possible(spec, error))
        return NULL;
    OperatorNumbers *numbers = g_new0(OperatorNumbers, 1);
    numbers->spec = spec;
    makers[spec->kind](numbers);
    return numbers;
}

void operator_numbers_free(OperatorNumbers *numbers) {
    if (numbers == NULL)
        return;
    for (guint i = 0; i < G_N_ELEMENTS(numbers->inputs); i++)
        g_free(numbers->inputs[i]);
    g_free(numbers->output);
    for (guint64 rank = 0; numbers->vectors != NULL && rank < numbers->spec->ranks; rank++) {
        g_free(numbers->vectors[rank]);
        g_free(numbers->originals[rank]);
    }
    g_free(numbers->vectors);
    g_free(numbers->originals);
    g_free(numbers);
}

void operator_numbers_gemm(OperatorNumbers *numbers, GemmOptions *options) {
    options->x = numbers->inputs[0];
    options->w = numbers->inputs[1];
    options->y = numbers->output;
}

AttentionNumbers operator_numbers_attention(OperatorNumbers *numbers) {
    return (AttentionNumbers){.q = numbers->inputs[0],
                              .k = numbers->inputs[1],
                              .v = numbers->inputs[2],
                              .o = numbers->output};
}

float *const *operator_numbers_vectors(OperatorNumbers *numbers) {
    return numbers->vectors;
}

static double gamma_bound(double n) {
    return n * FLOAT_UNIT / (1 - n * FLOAT_UNIT);
}

void operator_numbers_rounded(OperatorNumbers *numbers, guint roundings) {
    numbers->roundings = roundings;
}

double operator_sum_bound(double terms, double magnitude, guint roundings) {
    double more = expm1(roundings * log1p(HALF_UNIT));

    return magnitude * (gamma_bound(terms) * (1 + more) + more) +
           (roundings > 0 ? terms * HALF_TINY : 0);
}

void operator_check_note(OperatorCheck *check, double error, double bound) {
    double share = error <= bound ? error / bound : MAX(error / bound, nextafter(1, 2));

    check->checked++;
    if (isnan(share) || share > check->worst || check->checked == 1) {
        check->worst = isnan(share) ? INFINITY : share;
        check->worst_error = error;
        check->worst_bound = bound;
    }
}

static double at(const void *data, DataType type, gsize index) {
    return type == DATA_TYPE_FP16 ? (double)fp16_to_float(((const guint16 *)data)[index])
                                  : (double)((const float *)data)[index];
}

static void check_product(const OperatorNumbers *numbers, guint64 row, guint64 column,
                          OperatorCheck *check) {
    const GemmShape *shape = &numbers->spec->gemm;
    double sum = 0, magnitude = 0;

    for (guint64 k = 0; k < shape->k; k++) {
        double term = at(numbers->inputs[0], shape->type, row * shape->k + k) *
                      at(numbers->inputs[1], shape->type, k * shape->n + column);
        sum += term;
        magnitude += fabs(term);
    }
    double rounding =
        shape->type == DATA_TYPE_FP16 ? HALF_UNIT * fabs(sum) + HALF_TINY : FLOAT_UNIT * fabs(sum);
    operator_check_note(
        check, fabs(at(numbers->output, shape->type, row * shape->n + column) - sum),
        operator_sum_bound((double)shape->k, magnitude, numbers->roundings) * (1 + HALF_UNIT) +
            rounding);
}

/* All elements, or the diagonal that wraps around and meets every row and column, and others drawn
 * by lot. */
static OperatorCheck check_gemm(const OperatorNumbers *numbers) {
    const GemmShape *shape = &numbers->spec->gemm;
    OperatorCheck check = {.elements = shape->m * shape->n};
    guint64 affordable = (guint64)(REFERENCE_MACS / (double)shape->k);
    guint64 diagonal = MAX(shape->m, shape->n);
    RandomStream stream = random_stream(numbers->spec->seed, "places");

    if (check.elements <= affordable) {
        for (guint64 i = 0; i < check.elements; i++)
            check_product(numbers, i / shape->n, i % shape->n, &check);
        return check;
    }
    for (guint64 i = 0; i < diagonal; i++)
        check_product(numbers, i % shape->m, i % shape->n, &check);
    for (guint64 i = diagonal; i < affordable; i++)
        check_product(numbers, random_below(&stream, shape->m), random_below(&stream, shape->n),
                      &check);
    return check;
}

/* One row of Q of one head: where it and its head's first K and V begin. */
typedef struct QueryRow {
    const guint16 *q, *k, *v, *o;
    gsize stride; /* from token to token of K and V */
    guint64 visible, dim;
} QueryRow;

static double score_row(const QueryRow *row, double *scores, double *maximum) {
    double scale = 1 / sqrt((double)row->dim), largest = 0;

    *maximum = -INFINITY;
    for (guint64 t = 0; t < row->visible; t++) {
        double sum = 0, magnitude = 0;
        for (guint64 i = 0; i < row->dim; i++) {
            double term = (double)fp16_to_float(row->q[i]) *
                          (double)fp16_to_float(row->k[t * row->stride + i]);
            sum += term;
            magnitude += fabs(term);
        }
        scores[t] = sum * scale;
        *maximum = MAX(*maximum, scores[t]);
        largest = MAX(largest, magnitude * scale);
    }
    return largest;
}

/* Relative to the largest |v|. */
static double attention_bound(const OperatorNumbers *numbers, const QueryRow *row,
                              double largest_score) {
    double context = (double)row->visible;
    gboolean unfused = numbers->spec->attention.variant == ATTENTION_UNFUSED;

    return 2 * gamma_bound((double)row->dim + 8) * largest_score + 2 * gamma_bound(context + 8) +
           HALF_UNIT * (1 + numbers->o_stores) + context * HALF_TINY / 2 +
           (unfused ? 2 * expm1(largest_score * HALF_UNIT) : 0);
}

static void check_row(const OperatorNumbers *numbers, const QueryRow *row, OperatorCheck *check) {
    g_autofree double *weights = g_new(double, row->visible);
    double maximum, total = 0;
    double largest = score_row(row, weights, &maximum);

    for (guint64 t = 0; t < row->visible; t++) {
        weights[t] = exp(weights[t] - maximum);
        total += weights[t];
    }
    for (guint64 i = 0; i < row->dim; i++) {
        double sum = 0, largest_v = 0;
        for (guint64 t = 0; t < row->visible; t++) {
            double v = (double)fp16_to_float(row->v[t * row->stride + i]);
            sum += weights[t] / total * v;
            largest_v = MAX(largest_v, fabs(v));
        }
        operator_check_note(check, fabs((double)fp16_to_float(row->o[i]) - sum),
                            largest_v * attention_bound(numbers, row, largest) + HALF_TINY);
    }
}

/* The row of Q number 'index' in memory. */
static QueryRow query_row(const OperatorNumbers *numbers, guint64 index) {
    const AttentionShape *a = &numbers->spec->attention;
    guint64 head = index % a->heads, token = index / a->heads % a->new_tokens;
    guint64 request = index / a->heads / a->new_tokens;
    guint64 context = a->past_tokens + a->new_tokens;
    gsize first = (request * context * a->kv_heads + head / (a->heads / a->kv_heads)) * a->head_dim;

    return (QueryRow){.q = (const guint16 *)numbers->inputs[0] + index * a->head_dim,
                      .k = (const guint16 *)numbers->inputs[1] + first,
                      .v = (const guint16 *)numbers->inputs[2] + first,
                      .o = (const guint16 *)numbers->output + index * a->head_dim,
                      .stride = a->kv_heads * a->head_dim,
                      .visible = a->causal ? a->past_tokens + token + 1 : context,
                      .dim = a->head_dim};
}

/* All rows, or as many as are affordable, by lot. */
static OperatorCheck check_attention(const OperatorNumbers *numbers) {
    const AttentionShape *a = &numbers->spec->attention;
    guint64 rows = a->batch * a->new_tokens * a->heads;
    OperatorCheck check = {.elements = rows * a->head_dim};
    double row_macs = 2 * (double)((a->past_tokens + a->new_tokens) * a->head_dim);
    guint64 affordable = MAX((guint64)(REFERENCE_MACS / row_macs), 1);
    RandomStream stream = random_stream(numbers->spec->seed, "places");

    for (guint64 i = 0; i < MIN(rows, affordable); i++) {
        QueryRow row = query_row(numbers, rows <= affordable ? i : random_below(&stream, rows));
        check_row(numbers, &row, &check);
    }
    return check;
}

/* Every element of every rank. */
static OperatorCheck check_ring(const OperatorNumbers *numbers) {
    const OperatorSpec *spec = numbers->spec;
    guint64 n = spec->bytes / sizeof(float);
    OperatorCheck check = {.elements = spec->ranks * n};

    for (guint64 i = 0; i < n; i++) {
        double sum = 0, magnitude = 0;
        for (guint64 rank = 0; rank < spec->ranks; rank++) {
            sum += (double)numbers->originals[rank][i];
            magnitude += fabs((double)numbers->originals[rank][i]);
        }
        double bound = gamma_bound((double)spec->ranks) * magnitude + G_MINDOUBLE;
        for (guint64 rank = 0; rank < spec->ranks; rank++)
            operator_check_note(&check, fabs((double)numbers->vectors[rank][i] - sum), bound);
    }
    return check;
}

OperatorCheck operator_numbers_check(OperatorNumbers *numbers, const AttentionBlocks *blocks) {
    static OperatorCheck (*const checks[N_OPERATOR_KINDS])(const OperatorNumbers *) = {
        [OPERATOR_GEMM] = check_gemm,
        [OPERATOR_ATTENTION] = check_attention,
        [OPERATOR_ALL_REDUCE] = check_ring,
    };

    const AttentionShape *a = &numbers->spec->attention;
    double context = (double)(a->past_tokens + a->new_tokens);

    if (numbers->spec->kind == OPERATOR_ATTENTION)
        numbers->o_stores =
            a->variant == ATTENTION_FLASH ? ceil(context / (double)blocks->columns) : 1;
    return checks[numbers->spec->kind](numbers);
}
