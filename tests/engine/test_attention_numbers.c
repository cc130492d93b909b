/* The numbers of simulated attention against plain double precision. */
#include "tests/engine/attention_fixture.h"
#include "tests/engine/child.h"
#include "workloads/random.h"
#include <math.h>
#include <string.h>

static guint64 rounds_up(guint64 a, guint64 b) {
    return (a + b - 1) / b;
}

static guint16 *random_tensor(RandomStream *stream, gsize n, double spread) {
    guint16 *tensor = g_new(guint16, n);

    for (gsize i = 0; i < n; i++)
        tensor[i] = fp16_from_float((float)(spread * random_normal(stream)));
    return tensor;
}

/* One row of one head in double precision; also the largest |score|. */
static void oracle_row(const AttentionShape *shape, const AttentionNumbers *numbers,
                       const guint64 at[3], double *out, double *largest_score) {
    guint64 request = at[0], token = at[1], head = at[2], dim = shape->head_dim;
    guint64 context = shape->past_tokens + shape->new_tokens;
    guint64 kv_head = head * shape->kv_heads / shape->heads;
    guint64 seen = shape->causal ? shape->past_tokens + token + 1 : context;
    const guint16 *q =
        numbers->q + ((request * shape->new_tokens + token) * shape->heads + head) * dim;
    g_autofree double *scores = g_new(double, seen);
    double maximum = -INFINITY, sum = 0;

    for (guint64 j = 0; j < seen; j++) {
        const guint16 *k = numbers->k + ((request * context + j) * shape->kv_heads + kv_head) * dim;
        double dot = 0;
        for (guint64 i = 0; i < dim; i++)
            dot += (double)fp16_to_float(q[i]) * fp16_to_float(k[i]);
        scores[j] = dot / sqrt((double)dim);
        maximum = MAX(maximum, scores[j]);
        *largest_score = MAX(*largest_score, fabs(scores[j]));
    }
    memset(out, 0, dim * sizeof *out);
    for (guint64 j = 0; j < seen; j++) {
        const guint16 *v = numbers->v + ((request * context + j) * shape->kv_heads + kv_head) * dim;
        double weight = exp(scores[j] - maximum);
        sum += weight;
        for (guint64 i = 0; i < dim; i++)
            out[i] += weight * fp16_to_float(v[i]);
    }
    for (guint64 i = 0; i < dim; i++)
        out[i] /= sum;
}

/* How far O may lie from the oracle, in units of the largest |V|: FP16 weights and their
 * subnormals, O rounded to FP16 (after every K/V block in Flash), scores in FP16 on their way
 * through DDR (unfused: weights change by e^δ − 1, twice with the sum's), and FP32 in between. */
static double bound(const AttentionShape *shape, const AttentionBlocks *blocks,
                    double largest_score) {
    const double half = ldexp(1, -11);
    double context = (double)(shape->past_tokens + shape->new_tokens);
    double stores = shape->variant == ATTENTION_FLASH
                        ? (double)rounds_up((guint64)context, blocks->columns)
                        : 1;
    double scores = shape->variant == ATTENTION_UNFUSED ? 2 * expm1(largest_score * half) : 0;

    return half * (1 + stores) + context * ldexp(1, -25) + scores + 1e-4;
}

static double largest_of(const guint16 *tensor, gsize n) {
    double largest = 0;

    for (gsize i = 0; i < n; i++)
        largest = MAX(largest, fabs((double)fp16_to_float(tensor[i])));
    return largest;
}

/* The largest error of O over the bound. */
static double compare_with_oracle(const AttentionShape *shape, const AttentionBlocks *blocks,
                                  const AttentionNumbers *numbers, double largest_v) {
    guint64 dim = shape->head_dim, at[3];
    g_autofree double *wanted = g_new(double, dim);
    double largest_score = 0, largest_error = 0;
    const guint16 *o = numbers->o;

    for (at[0] = 0; at[0] < shape->batch; at[0]++)
        for (at[1] = 0; at[1] < shape->new_tokens; at[1]++)
            for (at[2] = 0; at[2] < shape->heads; at[2]++, o += dim) {
                oracle_row(shape, numbers, at, wanted, &largest_score);
                for (guint64 i = 0; i < dim; i++)
                    largest_error = MAX(largest_error, fabs(fp16_to_float(o[i]) - wanted[i]));
            }
    return largest_error / (largest_v * bound(shape, blocks, largest_score));
}

static const AttentionShape number_shapes[] = {
    {2, 2, 128, 64, 0, 1, DATA_TYPE_FP16, 0, FALSE}, /* blocks divide */
    {3, 3, 128, 257, 0, 1, DATA_TYPE_FP16, 0, FALSE},
    {2, 2, 40, 130, 0, 2, DATA_TYPE_FP16, 0, TRUE},
    {8, 2, 64, 33, 400, 1, DATA_TYPE_FP16, 0, TRUE},  /* GQA, causal with past */
    {4, 1, 128, 70, 515, 2, DATA_TYPE_FP16, 0, TRUE}, /* MQA */
    {8, 2, 128, 1, 3000, 2, DATA_TYPE_FP16, 0, TRUE}, /* decode */
    {6, 6, 17, 1, 0, 3, DATA_TYPE_FP16, 0, TRUE},     /* the first token */
    {1, 1, 8, 70, 4500, 1, DATA_TYPE_FP16, 0, TRUE},  /* scores in GSM, fewer rows */
};

static double numbers_error(Cluster *cluster, const AttentionShape *shape) {
    RandomStream stream = random_stream(4, "attention numbers");
    gsize context = shape->past_tokens + shape->new_tokens;
    gsize n_q = shape->batch * shape->new_tokens * shape->heads * shape->head_dim;
    gsize n_kv = shape->batch * context * shape->kv_heads * shape->head_dim;
    g_autofree guint16 *q = random_tensor(&stream, n_q, 2), *o = g_new(guint16, n_q);
    g_autofree guint16 *k = random_tensor(&stream, n_kv, 1), *v = random_tensor(&stream, n_kv, 3);
    AttentionNumbers numbers = {.q = q, .k = k, .v = v, .o = o};
    AttentionReport plain = attention_run_well(cluster, shape, ATTENTION_GRAIN_STAGE), report;
    AttentionOptions options = {.numbers = &numbers, .report = &report};
    g_autoptr(GError) error = NULL;

    memset(o, 0x7e, n_q * sizeof *o); /* NaN, so that what is not written shows */
    attention_run(cluster, shape, &options, &error);
    g_assert_no_error(error);
    g_assert_true(attention_close(report.seconds, plain.seconds, 1e-9));
    return compare_with_oracle(shape, &report.blocks, &numbers, largest_of(v, n_kv));
}

static void check_numbers(const ChildJob *job) {
    g_autoptr(Cluster) cluster = cluster_new(job->platform, 0, NULL, NULL);

    for (guint i = 0; i < G_N_ELEMENTS(number_shapes); i++)
        for (AttentionVariant variant = ATTENTION_UNFUSED; variant <= ATTENTION_MT; variant++) {
            AttentionShape shape = number_shapes[i];
            shape.variant = variant;
            g_autofree char *text = attention_shape_text(&shape);
            double share = numbers_error(cluster, &shape);
            g_test_message("%s: %.3f of the bound", text, share);
            g_assert_cmpfloat(share, <=, 1);
        }
}

static void test_numbers_are_those_of_double_precision(void) {
    child_run(check_numbers, NULL);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/attention/numbers", test_numbers_are_those_of_double_precision);
    return g_test_run();
}
