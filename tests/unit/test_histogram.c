#include "analysis/run/histogram.h"
#include "workloads/random.h"

#include <math.h>
#include <stdlib.h>

static int ascending(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* numpy.quantile's default: linear between the neighbours of rank q·(n − 1). */
static double sorted_quantile(const double *sorted, gsize n, double q) {
    double place = q * (double)(n - 1);
    gsize low = (gsize)floor(place);
    gsize high = MIN(low + 1, n - 1);
    return sorted[low] + (place - (double)low) * (sorted[high] - sorted[low]);
}

static void test_few_values_by_hand(void) {
    static const struct {
        double q, value;
    } cases[] = {{0, 1}, {0.25, 1.75}, {0.5, 2.5}, {0.9, 3.7}, {1, 4}};
    g_autoptr(Histogram) histogram = histogram_new();
    const double values[] = {3, 1, 4, 2};
    for (guint i = 0; i < G_N_ELEMENTS(values); i++)
        histogram_add(histogram, values[i]);
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
        g_assert_cmpfloat_with_epsilon(histogram_quantile(histogram, cases[i].q), cases[i].value,
                                       1e-15);
    histogram_add(histogram, 0);
    g_assert_cmpfloat(histogram_quantile(histogram, 0), ==, 0);
    g_assert_cmpfloat(histogram_mean(histogram), ==, 2);
    g_assert_cmpfloat(histogram_min(histogram), ==, 0);
    g_assert_cmpfloat(histogram_max(histogram), ==, 4);
}

static void test_empty_is_zero(void) {
    g_autoptr(Histogram) histogram = histogram_new();
    g_assert_cmpuint(histogram_count(histogram), ==, 0);
    g_assert_cmpfloat(histogram_quantile(histogram, 0.5), ==, 0);
    g_assert_cmpfloat(histogram_mean(histogram), ==, 0);
    g_assert_cmpfloat(histogram_max(histogram), ==, 0);
}

/* Adds 'n' values spread over fifteen decades to the histogram and to 'values'. */
static void fill(Histogram *histogram, double *values, gsize n) {
    RandomStream random = random_stream(3, "histogram");
    for (gsize i = 0; i < n; i++) {
        values[i] = exp(34 * random_uniform(&random) - 18);
        histogram_add(histogram, values[i]);
    }
    qsort(values, n, sizeof *values, ascending);
}

static void test_exact_below_the_limit(void) {
    const gsize n = HISTOGRAM_EXACT_VALUES - 1;
    g_autofree double *values = g_new(double, n);
    g_autoptr(Histogram) histogram = histogram_new();
    fill(histogram, values, n);
    for (double q = 0; q <= 1; q += 1.0 / 64)
        g_assert_cmpfloat(histogram_quantile(histogram, q), ==, sorted_quantile(values, n, q));
}

static void test_within_a_thousandth_beyond(void) {
    const gsize n = 2 * HISTOGRAM_EXACT_VALUES + 1;
    g_autofree double *values = g_new(double, n);
    g_autoptr(Histogram) histogram = histogram_new();
    fill(histogram, values, n);
    g_assert_cmpuint(histogram_count(histogram), ==, n);
    for (double q = 0; q <= 1; q += 1.0 / 256) {
        double expected = sorted_quantile(values, n, q);
        double error = fabs(histogram_quantile(histogram, q) - expected) / expected;
        g_assert_cmpfloat(error, <=, 1e-3);
    }
    g_assert_cmpfloat(histogram_quantile(histogram, 0), ==, values[0]);
    g_assert_cmpfloat(histogram_quantile(histogram, 1), ==, values[n - 1]);
}

static void test_zeros_and_extremes_beyond(void) {
    g_autoptr(Histogram) histogram = histogram_new();
    for (guint i = 0; i < 3 * HISTOGRAM_EXACT_VALUES / 2; i++)
        histogram_add(histogram, i % 3 == 0 ? 0 : i % 3 == 1 ? 2e-9 : 5e9);
    g_assert_cmpfloat(histogram_quantile(histogram, 0.2), ==, 0);
    g_assert_cmpfloat_with_epsilon(histogram_quantile(histogram, 0.5), 2e-9, 2e-12);
    g_assert_cmpfloat(histogram_quantile(histogram, 1), ==, 5e9);
}

/* 1e16 and then ones: a plain sum of doubles would lose every one of them. */
static void test_mean_keeps_small_values_beside_large(void) {
    g_autoptr(Histogram) histogram = histogram_new();
    const guint n = 150000;
    histogram_add(histogram, 1e16);
    for (guint i = 1; i < n; i++)
        histogram_add(histogram, 1);
    g_assert_cmpfloat(histogram_mean(histogram), ==, (1e16 + (n - 1)) / n);
}

static void test_adding_after_asking(void) {
    g_autoptr(Histogram) histogram = histogram_new();
    for (guint i = 10; i > 0; i--) {
        histogram_add(histogram, i);
        g_assert_cmpfloat(histogram_quantile(histogram, 0), ==, i);
        g_assert_cmpfloat(histogram_quantile(histogram, 1), ==, 10);
    }
}

/* Shares of the values below, exact and beyond, and the quantiles turned round. */
static void test_counts_up_to_a_value(void) {
    g_autoptr(Histogram) few = histogram_new(), many = histogram_new();
    const guint n = 2 * HISTOGRAM_EXACT_VALUES;
    g_assert_cmpuint(histogram_count_up_to(few, 1), ==, 0);
    for (guint i = 10; i > 0; i--)
        histogram_add(few, i);
    g_assert_cmpuint(histogram_count_up_to(few, 0.5), ==, 0);
    g_assert_cmpuint(histogram_count_up_to(few, 1), ==, 1);
    g_assert_cmpuint(histogram_count_up_to(few, 7.5), ==, 7);
    g_assert_cmpuint(histogram_count_up_to(few, 10), ==, 10);
    for (guint i = 1; i <= n; i++)
        histogram_add(many, i);
    g_assert_cmpfloat_with_epsilon((double)histogram_count_up_to(many, n / 4.0), n / 4.0,
                                   n / 4.0 * 1e-3);
    g_assert_cmpuint(histogram_count_up_to(many, n), ==, n);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/histogram/few_values_by_hand", test_few_values_by_hand);
    g_test_add_func("/histogram/empty_is_zero", test_empty_is_zero);
    g_test_add_func("/histogram/exact_below_the_limit", test_exact_below_the_limit);
    g_test_add_func("/histogram/within_a_thousandth_beyond", test_within_a_thousandth_beyond);
    g_test_add_func("/histogram/zeros_and_extremes_beyond", test_zeros_and_extremes_beyond);
    g_test_add_func("/histogram/mean_keeps_small_values_beside_large",
                    test_mean_keeps_small_values_beside_large);
    g_test_add_func("/histogram/adding_after_asking", test_adding_after_asking);
    g_test_add_func("/histogram/counts_up_to_a_value", test_counts_up_to_a_value);
    return g_test_run();
}
