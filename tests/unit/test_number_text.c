#include "analysis/output/number_text.h"
#include "workloads/random.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static char *seconds_text(double value) {
    char text[NUMBER_TEXT_MAX + 1];
    *number_text_seconds(text, value) = '\0';
    return g_strdup(text);
}

static void assert_as_printf(double value) {
    g_autofree char *text = seconds_text(value);
    g_autofree char *expected = g_strdup_printf("%.9f", value);
    g_assert_cmpstr(text, ==, expected);
}

static void test_seconds_equal_printf_on_hard_values(void) {
    static const double values[] = {0,
                                    1,
                                    0.1,
                                    0.9999999994999999,
                                    0.9999999995,
                                    0.9999999999,
                                    5e-10,
                                    4.9999999999999999e-10,
                                    1.5e-9,
                                    2.5e-9,
                                    1.0 / 1024, /* a tie in the tenth decimal */
                                    3.0 / 1024,
                                    DBL_MIN,
                                    DBL_TRUE_MIN,
                                    DBL_EPSILON,
                                    123456789.987654321,
                                    4503599627370496.5,
                                    9007199254740993,
                                    999999999999999872.0,
                                    -0.25,
                                    -1e-10,
                                    -0.0};
    for (guint i = 0; i < G_N_ELEMENTS(values); i++)
        assert_as_printf(values[i]);
}

/* glibc's printf rounds the exact value correctly, so it is the oracle. */
static void test_seconds_equal_printf_on_random_values(void) {
    RandomStream random = random_stream(7, "numbers");
    for (guint i = 0; i < 100000; i++)
        assert_as_printf(ldexp(random_uniform(&random), (int)random_below(&random, 100) - 45));
}

static void test_ties_round_to_even(void) {
    RandomStream random = random_stream(8, "ties");
    for (guint i = 0; i < 20000; i++)
        assert_as_printf((double)random_below(&random, 1 << 20) / 1024);
}

static void test_nanoseconds_agree_with_the_printed_seconds(void) {
    RandomStream random = random_stream(9, "nanoseconds");
    for (guint i = 0; i < 20000; i++) {
        double value = ldexp(random_uniform(&random), (int)random_below(&random, 60) - 28);
        g_autofree char *text = seconds_text(value);
        guint64 whole, nanos;
        g_assert_cmpint(sscanf(text, "%lu.%lu", &whole, &nanos), ==, 2);
        g_assert_cmpint(number_nanoseconds(value), ==, (gint64)(whole * 1000000000 + nanos));
        g_assert_cmpint(number_nanoseconds(-value), ==, -number_nanoseconds(value));
    }
}

static void test_counts_equal_printf(void) {
    guint64 value = 0;
    for (guint i = 0; i < 300; i++) {
        char text[NUMBER_TEXT_MAX + 1];
        *number_text_count(text, value) = '\0';
        g_autofree char *expected = g_strdup_printf("%lu", value);
        g_assert_cmpstr(text, ==, expected);
        value = i < 120 ? value + 1 : value < G_MAXUINT64 / 3 ? value * 3 + 7 : G_MAXUINT64 - i;
    }
}

static void test_micros_are_exact_ticks(void) {
    static const struct {
        gint64 ticks;
        const char *text;
    } cases[] = {
        {0, "0.000"},          {1, "0.0009765625"},    {1024, "1.000"},
        {1536, "1.500"},       {128, "0.125"},         {64, "0.0625"},
        {-3, "-0.0029296875"}, {1023, "0.9990234375"}, {G_MAXINT64, "9007199254740991.9990234375"}};
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        char text[NUMBER_TEXT_MAX + 1];
        *number_text_micros(text, cases[i].ticks) = '\0';
        g_assert_cmpstr(text, ==, cases[i].text);
    }
}

/* Ends that meet in nanoseconds meet in a reader's sums of doubles, also when it counts from
 * another origin. */
static void test_ticks_add_up_in_doubles(void) {
    g_autoptr(GRand) random = g_rand_new_with_seed(7);
    double origin = (double)number_ticks(123456789123) / 1024;

    for (guint i = 0; i < 10000; i++) {
        gint64 start = (gint64)(g_rand_double(random) * 4e15); /* 46 days */
        gint64 end = start + (gint64)(g_rand_double(random) * 1e10);
        double from = (double)number_ticks(start) / 1024, to = (double)number_ticks(end) / 1024;
        double duration = (double)(number_ticks(end) - number_ticks(start)) / 1024;
        g_assert_cmpfloat(from + duration, ==, to);
        g_assert_cmpfloat((from - origin) + duration, ==, to - origin);
        g_assert_cmpfloat(fabs(from * 1000 - (double)start), <=, 1);
    }
    g_assert_cmpint(number_ticks(-1000), ==, -1024);
}

static void test_shortest_reads_back_and_is_short(void) {
    static const struct {
        double value;
        const char *text;
    } cases[] = {{0.1, "0.1"},   {3, "3"},          {0, "0"},
                 {-2.5, "-2.5"}, {1e22, "1e+22"},   {1.0 / 3, "0.3333333333333333"},
                 {NAN, "null"},  {INFINITY, "null"}};
    RandomStream random = random_stream(10, "shortest");
    char text[NUMBER_TEXT_MAX + 1];
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        *number_text_shortest(text, cases[i].value) = '\0';
        g_assert_cmpstr(text, ==, cases[i].text);
    }
    for (guint i = 0; i < 5000; i++) {
        double value = ldexp(random_uniform(&random) - 0.5, (int)random_below(&random, 400) - 200);
        *number_text_shortest(text, value) = '\0';
        g_assert_true(g_ascii_strtod(text, NULL) == value);
    }
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/number_text/seconds_equal_printf_on_hard_values",
                    test_seconds_equal_printf_on_hard_values);
    g_test_add_func("/number_text/seconds_equal_printf_on_random_values",
                    test_seconds_equal_printf_on_random_values);
    g_test_add_func("/number_text/ties_round_to_even", test_ties_round_to_even);
    g_test_add_func("/number_text/nanoseconds_agree_with_the_printed_seconds",
                    test_nanoseconds_agree_with_the_printed_seconds);
    g_test_add_func("/number_text/counts_equal_printf", test_counts_equal_printf);
    g_test_add_func("/number_text/micros_are_exact_ticks", test_micros_are_exact_ticks);
    g_test_add_func("/number_text/ticks_add_up_in_doubles", test_ticks_add_up_in_doubles);
    g_test_add_func("/number_text/shortest_reads_back_and_is_short",
                    test_shortest_reads_back_and_is_short);
    return g_test_run();
}
