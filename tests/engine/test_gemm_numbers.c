/* The numbers of a simulated Linear operator: real blocks through the tiers give the plain product,
 * bit by bit, and in the same time. */
#include "actors/cluster/gemm.h"
#include "actors/engine.h"
#include "actors/kernels/kernels.h"
#include "tests/engine/child.h"
#include "tests/engine/run.h"
#include <math.h>
#include <string.h>

/* Runs one product and hands back its seconds; the counts are its own. */
static double seconds_of(Cluster *cluster, const GemmShape *shape, const GemmBlocks *blocks,
                         const GemmOptions *options) {
    g_autoptr(GError) error = NULL;
    double start_s = engine_now();

    gemm_run(cluster, shape, blocks, options, &error);
    g_assert_no_error(error);
    return engine_now() - start_s;
}

static const GemmShape numeric_shapes[] = {
    {1, 70, 33, DATA_TYPE_FP16},      {100, 300, 520, DATA_TYPE_FP32},
    {145, 130, 257, DATA_TYPE_FP32},  {731, 300, 300, DATA_TYPE_FP16},
    {150, 800, 2300, DATA_TYPE_FP32}, {150, 300, 2300, DATA_TYPE_FP32},
    {760, 200, 2300, DATA_TYPE_FP32},
};

typedef struct Operands {
    float *x, *w;             /* as they are stored */
    guint16 *half_x, *half_w; /* the same, in FP16 */
    gpointer y;
} Operands;

static float *random_matrix(GRand *random, gsize n, gboolean half, guint16 **stored) {
    float *matrix = g_new(float, n);

    for (gsize i = 0; i < n; i++)
        matrix[i] = (float)g_rand_double_range(random, -1, 1);
    *stored = g_new(guint16, n);
    fp16_from_floats(*stored, matrix, n);
    if (half)
        fp16_to_floats(matrix, *stored, n);
    return matrix;
}

static Operands operands_new(const GemmShape *shape) {
    g_autoptr(GRand) random = g_rand_new_with_seed((guint32)(shape->m + shape->n));
    gboolean half = shape->type == DATA_TYPE_FP16;
    Operands operands;

    operands.x = random_matrix(random, shape->m * shape->k, half, &operands.half_x);
    operands.w = random_matrix(random, shape->k * shape->n, half, &operands.half_w);
    operands.y = g_malloc0(shape->m * shape->n * sizeof(float));
    return operands;
}

static void operands_clear(Operands *operands) {
    g_free(operands->x);
    g_free(operands->w);
    g_free(operands->half_x);
    g_free(operands->half_w);
    g_free(operands->y);
}

/* One element in double precision, and the bound of any order of summing it in FP32. */
static double element(const Operands *operands, const GemmShape *shape, gsize index,
                      double *bound) {
    gsize row = index / shape->n, column = index % shape->n;
    double sum = 0, size = 0;

    for (gsize k = 0; k < shape->k; k++) {
        double term =
            (double)operands->x[row * shape->k + k] * (double)operands->w[k * shape->n + column];
        sum += term;
        size += fabs(term);
    }
    *bound = (double)shape->k * ldexp(1, -24) * size;
    if (shape->type == DATA_TYPE_FP16)
        *bound += ldexp(1, -11) * fabs(sum) + ldexp(1, -25);
    return sum;
}

static void assert_product(const Operands *operands, const GemmShape *shape) {
    gsize n = shape->m * shape->n;

    for (gsize i = 0; i<n; i += n> 4000 ? 37 : 1) {
        double bound, wanted = element(operands, shape, i, &bound);
        double got = shape->type == DATA_TYPE_FP32
                         ? (double)((float *)operands->y)[i]
                         : (double)fp16_to_float(((guint16 *)operands->y)[i]);
        if (fabs(got - wanted) > bound)
            g_error("element %zu is %g, not %g", i, got, wanted);
    }
}

/* The very bits of one call of the kernel: blocks do not change the order of summing. */
static void assert_same_bits(const Operands *operands, const GemmShape *shape) {
    gsize n = shape->m * shape->n;
    g_autofree float *sums = g_new(float, n);
    g_autofree guint16 *halves = g_new(guint16, n);
    GemmSize size = {shape->m, shape->n, shape->k, shape->k, shape->n, shape->n};

    if (shape->type == DATA_TYPE_FP32) {
        gemm_f32(&size, operands->x, operands->w, sums, FALSE);
        g_assert_cmpint(memcmp(sums, operands->y, n * sizeof *sums), ==, 0);
        return;
    }
    gemm_f16(&size, operands->half_x, operands->half_w, sums, FALSE);
    fp16_from_floats(halves, sums, n);
    g_assert_cmpint(memcmp(halves, operands->y, n * sizeof *halves), ==, 0);
}

/* Bit 0: untiled; 1: X on chip; 2: Y on chip. */
static const guint modes[] = {0, 1, 6};

static void multiply_all(const ChildJob *job) {
    g_autoptr(Cluster) cluster = cluster_new(job->platform, 0, NULL, NULL);

    for (gsize i = 0; i < G_N_ELEMENTS(numeric_shapes); i++)
        for (guint which = 0; which < G_N_ELEMENTS(modes); which++) {
            guint mode = modes[which];
            const GemmShape *shape = &numeric_shapes[i];
            GemmBlocks blocks = gemm_blocks_paper(shape->type);
            Operands operands = operands_new(shape);
            gboolean half = shape->type == DATA_TYPE_FP16;
            GemmOptions plain = {.transfers = (GemmTransfers)(mode & 1),
                                 .x_on_chip = (mode & 2) != 0,
                                 .y_on_chip = (mode & 4) != 0};
            GemmOptions with = plain;
            with.x = half ? (void *)operands.half_x : operands.x;
            with.w = half ? (void *)operands.half_w : operands.w;
            with.y = operands.y;

            double with_s = seconds_of(cluster, shape, &blocks, &with);
            assert_same_bits(&operands, shape);
            if (mode == 0)
                assert_product(&operands, shape);
            assert_close(with_s, seconds_of(cluster, shape, &blocks, &plain), 1e-9);
            operands_clear(&operands);
        }
}

static void test_real_blocks_give_the_plain_product_in_the_same_time(void) {
    child_run(multiply_all, NULL);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/gemm/numbers", test_real_blocks_give_the_plain_product_in_the_same_time);
    return g_test_run();
}
