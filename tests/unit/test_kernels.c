/* Matrix kernels and half precision: against double precision, against CBLAS where it is at hand,
 * and the promise that the bits do not depend on how the work is split. */
#include "actors/kernels/gemm_micro.h"
#include "workloads/random.h"

#include <math.h>
#include <string.h>
#ifdef INFERGRID_CBLAS
#include <cblas.h>
#endif

#define UNIT_ROUNDOFF 0x1p-24

static float random_float(RandomStream *stream) {
    return (float)(2 * random_uniform(stream) - 1);
}

/* Exactly n of them, so that a sanitizer sees every step beyond. */
static float *random_floats(RandomStream *stream, gsize n) {
    float *values = g_new(float, MAX(n, 1));
    for (gsize i = 0; i < n; i++)
        values[i] = random_float(stream);
    return values;
}

static guint16 *to_f16(const float *values, gsize n) {
    guint16 *out = g_new(guint16, MAX(n, 1));
    fp16_from_floats(out, values, n);
    return out;
}

static float *to_f32(const guint16 *values, gsize n) {
    float *out = g_new(float, MAX(n, 1));
    fp16_to_floats(out, values, n);
    return out;
}

static void assert_same_bits(const float *a, const float *b, gsize n) {
    g_assert_cmpmem(a, n * sizeof *a, b, n * sizeof *b);
}

static float float_of(guint32 bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static guint32 bits_of(float value) {
    guint32 bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* The definition of binary16. */
static double half_value(guint half) {
    double sign = half & 0x8000 ? -1 : 1;
    int exponent = (half >> 10) & 31, mantissa = half & 1023;
    if (exponent == 31)
        return mantissa ? NAN : sign * INFINITY;
    return sign * (exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24));
}

static void test_every_half_becomes_its_value(void) {
    for (guint half = 0; half < 65536; half++) {
        double expected = half_value(half);
        float value = fp16_to_float((guint16)half);
        if (isnan(expected)) {
            /* quiet, with its sign and payload, there and back */
            g_assert_cmphex(bits_of(value), ==,
                            (half & 0x8000u) << 16 | 0x7FC00000 | (half & 1023u) << 13);
            g_assert_cmphex(fp16_from_float(value), ==, half | 0x200);
            continue;
        }
        g_assert_true((double)value == expected && !signbit(value) == !(half & 0x8000));
        g_assert_cmphex(fp16_from_float(value), ==, half);
    }
}

/* Rounds to the nearest multiple of the last bit that x has as a half, in double precision, where
 * both steps are exact; rint takes the even one of two. */
static double nearest_half(double x) {
    int last_bit = x == 0 ? -24 : MAX(ilogb(x), -14) - 10;
    double rounded = ldexp(rint(ldexp(x, -last_bit)), last_bit);
    return fabs(rounded) >= 65536 ? copysign(INFINITY, x) : rounded;
}

static void assert_rounds_right(float value) {
    guint16 half = fp16_from_float(value);
    if (isnan(value))
        g_assert_true(isnan(half_value(half)) && !(half & 0x8000) == !signbit(value));
    else if (isinf(value))
        g_assert_cmphex(half, ==, value > 0 ? 0x7C00 : 0xFC00);
    else
        g_assert_true(half_value(half) == nearest_half((double)value) &&
                      !(half & 0x8000) == !signbit(value));
}

static void test_floats_round_to_the_nearest_even_half(void) {
    for (guint half = 0; half < 0x7C00; half++) {
        double next = half == 0x7BFF ? 65536 : half_value(half + 1);
        float middle = (float)((half_value(half) + next) / 2);
        const float around[] = {middle, nextafterf(middle, 0), nextafterf(middle, INFINITY)};
        for (gsize i = 0; i < G_N_ELEMENTS(around); i++) {
            assert_rounds_right(around[i]);
            assert_rounds_right(-around[i]);
        }
    }
    RandomStream stream = random_stream(1, "fp16");
    for (int i = 0; i < 100000; i++)
        assert_rounds_right(float_of(random_bits(&stream)));
    const float corners[] = {0,        -0.0f,    NAN,   -NAN,  INFINITY,   -INFINITY, 0x1p-149f,
                             0x1p-24f, 0x1p-25f, 65504, 65519, 65519.996f, 65520,     3e38f};
    for (gsize i = 0; i < G_N_ELEMENTS(corners); i++)
        assert_rounds_right(corners[i]);
}

/* Whatever instructions the arrays are converted with. */
static void test_arrays_convert_as_single_values_do(void) {
    enum { N = 65536 + 5 };
    RandomStream stream = random_stream(2, "fp16");
    g_autofree guint16 *halves = g_new(guint16, N), *back = g_new(guint16, N);
    g_autofree float *floats = g_new(float, N);
    for (guint i = 0; i < N; i++)
        halves[i] = (guint16)i;
    fp16_to_floats(floats, halves, N);
    for (guint i = 0; i < N; i++)
        g_assert_cmphex(bits_of(floats[i]), ==, bits_of(fp16_to_float(halves[i])));
    for (int round = 0; round < 4; round++) {
        for (guint i = 0; i < N; i++) {
            guint32 bits = random_bits(&stream);
            floats[i] = float_of(round % 2 ? bits : (bits & 0x87FFFFFF) | 0x38000000);
        }
        fp16_from_floats(back, floats, N);
        for (guint i = 0; i < N; i++)
            g_assert_cmphex(back[i], ==, fp16_from_float(floats[i]));
    }
}

/* m, n, k, and how much longer than needed the rows of A, B and C are. */
static const GemmSize shapes[] = {
    {1, 1, 1, 0, 0, 0},    {0, 5, 3, 0, 0, 0},      {5, 0, 3, 0, 0, 0},     {3, 5, 0, 0, 0, 0},
    {1, 40, 7, 2, 0, 0},   {40, 1, 7, 0, 3, 1},     {7, 40, 1, 0, 0, 5},    {12, 32, 8, 0, 0, 0},
    {13, 33, 65, 1, 2, 3}, {37, 101, 300, 0, 0, 0}, {61, 35, 513, 5, 7, 9}, {200, 17, 31, 0, 1, 0},
    {5, 2100, 9, 0, 0, 1},
};

typedef struct Product {
    GemmSize size;
    float *a, *b, *c_before, *c;
    guint16 *a_f16, *b_f16;
    gsize c_length;
} Product;

/* A and B hold halves, so that both kernels have the same product to find. */
static Product product_new(const GemmSize *shape, RandomStream *stream) {
    Product product = {.size = *shape};
    GemmSize *size = &product.size;
    size->lda += size->k;
    size->ldb += size->n;
    size->ldc += size->n;
    gsize a_length = size->m * size->lda, b_length = size->k * size->ldb;
    product.c_length = size->m * size->ldc;
    g_autofree float *a = random_floats(stream, a_length), *b = random_floats(stream, b_length);
    product.a_f16 = to_f16(a, a_length);
    product.b_f16 = to_f16(b, b_length);
    product.a = to_f32(product.a_f16, a_length);
    product.b = to_f32(product.b_f16, b_length);
    product.c_before = random_floats(stream, product.c_length);
    product.c = g_memdup2(product.c_before, MAX(product.c_length, 1) * sizeof(float));
    return product;
}

static void product_reset(Product *product) {
    memcpy(product->c, product->c_before, product->c_length * sizeof(float));
}

static void product_clear(Product *product) {
    g_free(product->a);
    g_free(product->b);
    g_free(product->c);
    g_free(product->c_before);
    g_free(product->a_f16);
    g_free(product->b_f16);
}

/* Higham 2002, "Accuracy and Stability of Numerical Algorithms", section 3.1: a chain of k
 * multiply-adds errs by at most (k + 1)·u·Σ|a||b| to first order; a second term for u² k². */
static void assert_element(const Product *product, gsize i, gsize j, gboolean accumulate) {
    const GemmSize *size = &product->size;
    double before = accumulate ? (double)product->c_before[i * size->ldc + j] : 0;
    double sum = before, magnitude = fabs(before);
    for (gsize p = 0; p < size->k; p++) {
        double term = (double)product->a[i * size->lda + p] * (double)product->b[p * size->ldb + j];
        sum += term;
        magnitude += fabs(term);
    }
    double bound = (double)(size->k + 1) * UNIT_ROUNDOFF * 1.001 * magnitude;
    g_assert_cmpfloat(fabs((double)product->c[i * size->ldc + j] - sum), <=, bound);
}

static void assert_product(const Product *product, gboolean accumulate) {
    const GemmSize *size = &product->size;
    for (gsize i = 0; i < size->m; i++) {
        for (gsize j = 0; j < size->n; j++)
            assert_element(product, i, j, accumulate);
        gsize beyond = i * size->ldc + size->n;
        assert_same_bits(product->c + beyond, product->c_before + beyond, size->ldc - size->n);
    }
}

static void test_products_are_those_of_double_precision(void) {
    RandomStream stream = random_stream(3, "gemm");
    for (gsize s = 0; s < G_N_ELEMENTS(shapes); s++) {
        Product product = product_new(&shapes[s], &stream);
        const GemmOperands operands = {.a_f32 = product.a, .b_f32 = product.b, .c = product.c};
        for (int accumulate = FALSE; accumulate <= TRUE; accumulate++)
            for (guint version = 0; gemm_micro(version); version++) {
                product_reset(&product);
                gemm_with(gemm_micro(version), &product.size, &operands, accumulate);
                assert_product(&product, accumulate);
            }
        product_clear(&product);
    }
}

static void test_half_operands_give_the_bits_of_the_same_floats(void) {
    RandomStream stream = random_stream(4, "gemm");
    for (gsize s = 0; s < G_N_ELEMENTS(shapes); s++) {
        Product product = product_new(&shapes[s], &stream);
        for (int accumulate = FALSE; accumulate <= TRUE; accumulate++) {
            product_reset(&product);
            gemm_f32(&product.size, product.a, product.b, product.c, accumulate);
            g_autofree float *expected = g_memdup2(product.c, product.c_length * sizeof(float));
            product_reset(&product);
            gemm_f16(&product.size, product.a_f16, product.b_f16, product.c, accumulate);
            assert_same_bits(product.c, expected, product.c_length);
        }
        product_clear(&product);
    }
}

/* One part of a product that was cut into blocks, K accumulating. */
static void multiply_part(const Product *product, const gsize *first, const gsize *length,
                          gboolean accumulate) {
    const GemmSize *whole = &product->size;
    GemmSize size = {length[0], length[1], length[2], whole->lda, whole->ldb, whole->ldc};
    gemm_f16(&size, product->a_f16 + first[0] * whole->lda + first[2],
             product->b_f16 + first[2] * whole->ldb + first[1],
             product->c + first[0] * whole->ldc + first[1], accumulate);
}

static void multiply_in_blocks(const Product *product, const gsize *block) {
    const GemmSize *size = &product->size;
    for (gsize p = 0; p < size->k; p += block[2])
        for (gsize j = 0; j < size->n; j += block[1])
            for (gsize i = 0; i < size->m; i += block[0]) {
                const gsize first[] = {i, j, p};
                const gsize length[] = {MIN(block[0], size->m - i), MIN(block[1], size->n - j),
                                        MIN(block[2], size->k - p)};
                multiply_part(product, first, length, p > 0);
            }
}

static void test_bits_do_not_depend_on_the_blocks(void) {
    static const gsize blocks[][3] = {{30, 64, 256}, {1, 101, 7}, {37, 1, 300}, {5, 13, 1}};
    RandomStream stream = random_stream(5, "gemm");
    Product product = product_new(&(GemmSize){37, 101, 300, 1, 2, 3}, &stream);
    gemm_f16(&product.size, product.a_f16, product.b_f16, product.c, FALSE);
    g_autofree float *whole = g_memdup2(product.c, product.c_length * sizeof(float));
    for (gsize i = 0; i < G_N_ELEMENTS(blocks); i++) {
        product_reset(&product);
        multiply_in_blocks(&product, blocks[i]);
        assert_same_bits(product.c, whole, product.c_length);
    }
    product_clear(&product);
}

#ifdef INFERGRID_CBLAS
/* Both err by at most the bound of assert_element, |a|, |b| and |c| being at most 1. */
static void test_products_are_those_of_cblas(void) {
    RandomStream stream = random_stream(6, "gemm");
    for (gsize s = 0; s < G_N_ELEMENTS(shapes); s++) {
        Product product = product_new(&shapes[s], &stream);
        const GemmSize *size = &product.size;
        for (int accumulate = FALSE; accumulate <= TRUE; accumulate++) {
            product_reset(&product);
            g_autofree float *expected = g_memdup2(product.c, MAX(product.c_length, 1) * 4);
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)size->m, (int)size->n,
                        (int)size->k, 1, product.a, (int)MAX(size->lda, 1), product.b,
                        (int)MAX(size->ldb, 1), (float)accumulate, expected,
                        (int)MAX(size->ldc, 1));
            gemm_f32(size, product.a, product.b, product.c, accumulate);
            double terms = (double)(size->k + 1);
            for (gsize i = 0; i < product.c_length; i++)
                g_assert_cmpfloat(fabs((double)product.c[i] - (double)expected[i]), <=,
                                  2 * terms * UNIT_ROUNDOFF * terms);
        }
        product_clear(&product);
    }
}
#else
static void test_products_are_those_of_cblas(void) {
    g_test_skip("built without a CBLAS");
}
#endif

static const gsize gemv_shapes[][2] = {{1, 1},   {0, 4},   {3, 0},    {4, 8},   {5, 7},
                                       {9, 255}, {6, 256}, {10, 257}, {7, 1000}};

/* The order that kernels.h states; with one rounding for a·b + c, or two. */
static float dot_in_order(gsize k, const float *row, const float *x, gboolean fused) {
    float sums[8] = {0};
    for (gsize i = 0; i < k; i++) {
        float product = row[i] * x[i];
        sums[i % 8] = fused ? fmaf(row[i], x[i], sums[i % 8]) : sums[i % 8] + product;
    }
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) +
           ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

static void test_rows_are_summed_in_the_stated_order(void) {
    RandomStream stream = random_stream(7, "gemv");
    guint matches[2] = {0}, rows = 0;
    for (gsize s = 0; s < G_N_ELEMENTS(gemv_shapes); s++) {
        gsize n = gemv_shapes[s][0], k = gemv_shapes[s][1];
        g_autofree float *weights = random_floats(&stream, n * k), *x = random_floats(&stream, k),
                         *y = random_floats(&stream, n);
        gemv_f32(n, k, weights, x, y);
        for (gsize i = 0; i < n; i++, rows++)
            for (int fused = FALSE; fused <= TRUE; fused++)
                matches[fused] += y[i] == dot_in_order(k, weights + i * k, x, fused);
    }
    g_assert_cmpuint(MAX(matches[FALSE], matches[TRUE]), ==, rows);
}

static void test_a_row_is_the_same_whatever_stands_beside_it(void) {
    RandomStream stream = random_stream(8, "gemv");
    for (gsize s = 0; s < G_N_ELEMENTS(gemv_shapes); s++) {
        gsize n = gemv_shapes[s][0], k = gemv_shapes[s][1], stride = k + 3;
        g_autofree float *values = random_floats(&stream, n * stride),
                         *x = random_floats(&stream, k), *y = random_floats(&stream, n);
        g_autofree guint16 *halves = to_f16(values, n * stride);
        gemv_f16_rows(&(GemvSize){n, k, stride}, halves, x, y);
        for (gsize i = 0; i < n; i++) {
            g_autofree float *row = to_f32(halves + i * stride, k);
            float from_f16, from_f32;
            gemv_f16(1, k, halves + i * stride, x, &from_f16);
            gemv_f32(1, k, row, x, &from_f32);
            assert_same_bits(&from_f16, &y[i], 1);
            assert_same_bits(&from_f32, &y[i], 1);
        }
    }
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/fp16/every_half_becomes_its_value", test_every_half_becomes_its_value);
    g_test_add_func("/fp16/floats_round_to_the_nearest_even_half",
                    test_floats_round_to_the_nearest_even_half);
    g_test_add_func("/fp16/arrays_convert_as_single_values_do",
                    test_arrays_convert_as_single_values_do);
    g_test_add_func("/gemm/products_are_those_of_double_precision",
                    test_products_are_those_of_double_precision);
    g_test_add_func("/gemm/half_operands_give_the_bits_of_the_same_floats",
                    test_half_operands_give_the_bits_of_the_same_floats);
    g_test_add_func("/gemm/bits_do_not_depend_on_the_blocks",
                    test_bits_do_not_depend_on_the_blocks);
    g_test_add_func("/gemm/products_are_those_of_cblas", test_products_are_those_of_cblas);
    g_test_add_func("/gemv/rows_are_summed_in_the_stated_order",
                    test_rows_are_summed_in_the_stated_order);
    g_test_add_func("/gemv/a_row_is_the_same_whatever_stands_beside_it",
                    test_a_row_is_the_same_whatever_stands_beside_it);
    return g_test_run();
}
