/* Halves: every one of them, and the floats around each border between two neighbours. */
#include "workloads/half.h"

#include <math.h>

#define INFINITE_HALF 0x7C00

/* IEEE 754 binary16: 5 bits of exponent with a bias of 15, 10 of fraction. */
static double value_of(guint16 half) {
    guint exponent = (half >> 10) & 0x1F, fraction = half & 0x3FF;
    double magnitude =
        exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, (int)exponent - 25);
    return half & 0x8000 ? -magnitude : magnitude;
}

static void test_every_half_comes_back(void) {
    for (guint half = 0; half < INFINITE_HALF; half++) {
        guint16 positive = (guint16)half, negative = (guint16)(half | 0x8000);
        g_assert_cmphex(half_from_float((float)value_of(positive)), ==, positive);
        g_assert_cmphex(half_from_float((float)value_of(negative)), ==, negative);
    }
}

/* The border is exact as a float; the one above the largest half would be 2^16's. */
static void test_borders_round_to_even(void) {
    for (guint half = 0; half < INFINITE_HALF; half++) {
        guint16 lower = (guint16)half, upper = (guint16)(half + 1);
        float border = (float)((value_of(lower) + value_of(upper)) / 2);
        guint16 even = half % 2 == 0 ? lower : upper;
        g_assert_cmphex(half_from_float(border), ==, even);
        g_assert_cmphex(half_from_float(nextafterf(border, 0)), ==, lower);
        g_assert_cmphex(half_from_float(nextafterf(border, INFINITY)), ==, upper);
        g_assert_cmphex(half_from_float(-border), ==, even | 0x8000);
    }
}

static void test_what_is_not_finite(void) {
    g_assert_cmphex(half_from_float(1e30F), ==, INFINITE_HALF);
    g_assert_cmphex(half_from_float(-INFINITY), ==, INFINITE_HALF | 0x8000);
    g_assert_cmphex(half_from_float(1e-30F), ==, 0);
    g_assert_false(half_is_finite(half_from_float(65520)));
    g_assert_false(half_is_finite(half_from_float(NAN)));
    g_assert_true(half_is_finite(half_from_float(65519)));
    g_assert_cmpfloat(value_of(half_from_float(65519)), ==, HALF_MAX);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/half/every_half_comes_back", test_every_half_comes_back);
    g_test_add_func("/half/borders_round_to_even", test_borders_round_to_even);
    g_test_add_func("/half/what_is_not_finite", test_what_is_not_finite);
    return g_test_run();
}
