/* Quantities with units: what is read, what is refused, and that printing loses nothing. */
#include "workloads/units.h"

#include <math.h>
#include <string.h>

#define RANDOM_VALUES 150 /* a dimension and kind of value */

typedef struct Quantity {
    const char *text;
    Dimension dimension;
    double value;
} Quantity;

static const Quantity quantities[] = {
    {"0.9", DIMENSION_NONE, 0.9},
    {"90 %", DIMENSION_NONE, 0.9},
    {"90%", DIMENSION_NONE, 0.9},
    {"-3e-2", DIMENSION_NONE, -0.03},
    {"+.5", DIMENSION_NONE, 0.5},
    {"5.", DIMENSION_NONE, 5},
    {"1E3", DIMENSION_NONE, 1000},
    {"4096", DIMENSION_COUNT, 4096},
    {"-1", DIMENSION_COUNT, -1},
    {"007", DIMENSION_COUNT, 7},
    {"9007199254740992", DIMENSION_COUNT, 0x1p53},
    {"17 ns", DIMENSION_SECONDS, 17e-9},
    {"84 us", DIMENSION_SECONDS, 84e-6},
    {"2 ms", DIMENSION_SECONDS, 2e-3},
    {"2ms", DIMENSION_SECONDS, 2e-3},
    {"2  \tms", DIMENSION_SECONDS, 2e-3},
    {"1.1e2 ms", DIMENSION_SECONDS, 0.11},
    {"0 s", DIMENSION_SECONDS, 0},
    {"-2 s", DIMENSION_SECONDS, -2},
    {"1.5 min", DIMENSION_SECONDS, 90},
    {"2 h", DIMENSION_SECONDS, 7200},
    {"2 d", DIMENSION_SECONDS, 172800},
    {"7 B", DIMENSION_BYTES, 7},
    {"64 kB", DIMENSION_BYTES, 64e3},
    {"64 KiB", DIMENSION_BYTES, 65536},
    {"768 MiB", DIMENSION_BYTES, 768 * 0x1p20},
    {"80 GiB", DIMENSION_BYTES, 80 * 0x1p30},
    {"20.3 GB", DIMENSION_BYTES, 20.3e9},
    {"1 TiB", DIMENSION_BYTES, 0x1p40},
    {"30 GB/s", DIMENSION_BYTES_PER_S, 30e9},
    {"200 Gb/s", DIMENSION_BYTES_PER_S, 25e9},
    {"8 Mb/s", DIMENSION_BYTES_PER_S, 1e6},
    {"1 GiB/s", DIMENSION_BYTES_PER_S, 0x1p30},
    {"8 /s", DIMENSION_HERTZ, 8},
    {"8/s", DIMENSION_HERTZ, 8},
    {"480 /min", DIMENSION_HERTZ, 8},
    {"8 Hz", DIMENSION_HERTZ, 8},
    {"1.8 GHz", DIMENSION_HERTZ, 1.8e9},
    {"4.1472 TMAC/s", DIMENSION_MACS_PER_S, 4.1472e12},
    {"312 TFLOP/s", DIMENSION_FLOPS_PER_S, 312e12},
    {"1.5 kW", DIMENSION_WATTS, 1500},
    {"3 mW", DIMENSION_WATTS, 3e-3},
    {"20 pJ/B", DIMENSION_JOULES_PER_BYTE, 20e-12},
    {"0.5 nJ/B", DIMENSION_JOULES_PER_BYTE, 0.5e-9},
};

static void test_reads_to_the_nearest_double(void) {
    for (gsize i = 0; i < G_N_ELEMENTS(quantities); i++) {
        double value = NAN;
        const char *expected = units_parse(quantities[i].text, quantities[i].dimension, &value);
        g_test_message("%s", quantities[i].text);
        g_assert_cmpstr(expected, ==, NULL);
        g_assert_true(value == quantities[i].value);
    }
}

typedef struct Refused {
    const char *text;
    Dimension dimension;
    const char *expected;
} Refused;

static const Refused refused[] = {
    {"", DIMENSION_NONE, "a number"},
    {"half", DIMENSION_NONE, "a number"},
    {"nan", DIMENSION_NONE, "a number"},
    {"inf", DIMENSION_NONE, "a number"},
    {"1e400", DIMENSION_NONE, "a number"},
    {"1e99999999999999999999", DIMENSION_NONE, "a number"},
    {"0x10", DIMENSION_NONE, "a number"},
    {".", DIMENSION_NONE, "a number"},
    {"1e", DIMENSION_NONE, "a number"},
    {"1 2", DIMENSION_NONE, "a number"},
    {"1 ", DIMENSION_NONE, "a number"},
    {" 1", DIMENSION_NONE, "a number"},
    {"1,5", DIMENSION_NONE, "a number"},
    {"1_000", DIMENSION_COUNT, "a whole number"},
    {"1.0", DIMENSION_COUNT, "a whole number"},
    {"1e3", DIMENSION_COUNT, "a whole number"},
    {"+1", DIMENSION_COUNT, "a whole number"},
    {"-", DIMENSION_COUNT, "a whole number"},
    {"", DIMENSION_COUNT, "a whole number"},
    {"9007199254740993", DIMENSION_COUNT, "a whole number up to 9007199254740992"},
    {"99999999999999999999999", DIMENSION_COUNT, "a whole number up to 9007199254740992"},
    {"5", DIMENSION_SECONDS, "a duration such as '2 ms'"},
    {"0", DIMENSION_SECONDS, "a duration such as '2 ms'"},
    {"5 S", DIMENSION_SECONDS, "a duration such as '2 ms'"},
    {"5 GB", DIMENSION_SECONDS, "a duration such as '2 ms'"},
    {"5 s s", DIMENSION_SECONDS, "a duration such as '2 ms'"},
    {"s", DIMENSION_SECONDS, "a duration such as '2 ms'"},
    {"5 KB", DIMENSION_BYTES, "a size such as '16 GiB'"},
    {"5 gb", DIMENSION_BYTES, "a size such as '16 GiB'"},
    {"30 GB", DIMENSION_BYTES_PER_S, "a bandwidth such as '30 GB/s'"},
    {"8 s", DIMENSION_HERTZ, "a rate such as '8 /s' or '1.8 GHz'"},
    {"8 / s", DIMENSION_HERTZ, "a rate such as '8 /s' or '1.8 GHz'"},
    {"4 TFLOP/s", DIMENSION_MACS_PER_S, "a speed such as '4 TMAC/s'"},
    {"4 TMAC/s", DIMENSION_FLOPS_PER_S, "a speed such as '8 TFLOP/s'"},
    {"90 %", DIMENSION_WATTS, "a power such as '90 W'"},
    {"20 pJ", DIMENSION_JOULES_PER_BYTE, "an energy such as '20 pJ/B'"},
};

static void test_refuses_what_it_does_not_know(void) {
    for (gsize i = 0; i < G_N_ELEMENTS(refused); i++) {
        double value = 17;
        const char *expected = units_parse(refused[i].text, refused[i].dimension, &value);
        g_test_message("%s", refused[i].text);
        g_assert_cmpstr(expected, ==, refused[i].expected);
        g_assert_cmpfloat(value, ==, 17);
    }
}

static const Quantity shortest[] = {
    {"0.9", DIMENSION_NONE, 0.9},
    {"1e+300", DIMENSION_NONE, 1e300},
    {"0.1", DIMENSION_NONE, 0.1},
    {"0.30000000000000004", DIMENSION_NONE, 0.1 + 0.2},
    {"4096", DIMENSION_COUNT, 4096},
    {"30", DIMENSION_COUNT, 30},
    {"9007199254740992", DIMENSION_COUNT, 0x1p53},
    {"0 s", DIMENSION_SECONDS, 0},
    {"1 ns", DIMENSION_SECONDS, 1e-9},
    {"1 us", DIMENSION_SECONDS, 1e-6},
    {"84 us", DIMENSION_SECONDS, 84e-6},
    {"1 ms", DIMENSION_SECONDS, 1e-3},
    {"2 ms", DIMENSION_SECONDS, 2e-3},
    {"1.5 s", DIMENSION_SECONDS, 1.5},
    {"-2 s", DIMENSION_SECONDS, -2},
    {"1 h", DIMENSION_SECONDS, 3600},
    {"0.1 ns", DIMENSION_SECONDS, 1e-10},
    {"64 KiB", DIMENSION_BYTES, 65536},
    {"80 GiB", DIMENSION_BYTES, 80 * 0x1p30},
    {"20 GB", DIMENSION_BYTES, 20e9},
    {"30 GB/s", DIMENSION_BYTES_PER_S, 30e9},
    {"8 /s", DIMENSION_HERTZ, 8},
    {"0.5 /s", DIMENSION_HERTZ, 0.5},
    {"1.8 GHz", DIMENSION_HERTZ, 1.8e9},
    {"4.1472 TMAC/s", DIMENSION_MACS_PER_S, 4.1472e12},
    {"312 TFLOP/s", DIMENSION_FLOPS_PER_S, 312e12},
    {"1.5 kW", DIMENSION_WATTS, 1500},
    {"1 mW", DIMENSION_WATTS, 1e-3},
    {"1 pJ/B", DIMENSION_JOULES_PER_BYTE, 1e-12},
    {"20 pJ/B", DIMENSION_JOULES_PER_BYTE, 20e-12},
};

static void test_prints_the_shortest_text(void) {
    for (gsize i = 0; i < G_N_ELEMENTS(shortest); i++) {
        g_autofree char *text = units_format(shortest[i].value, shortest[i].dimension);
        g_assert_cmpstr(text, ==, shortest[i].text);
    }
}

static void assert_reads_back(double value, Dimension dimension) {
    double read = NAN;
    g_autofree char *text = units_format(value, dimension);
    const char *expected = units_parse(text, dimension, &read);
    if (expected != NULL || memcmp(&read, &value, sizeof value) != 0)
        g_error("%.17g is printed as '%s', which reads as %.17g", value, text, read);
}

/* Any 64 bits that make a finite double: signs, subnormals, extremes. */
static double any_double(GRand *random) {
    while (TRUE) {
        guint64 bits = ((guint64)g_rand_int(random) << 32) | g_rand_int(random);
        double value;
        memcpy(&value, &bits, sizeof value);
        if (isfinite(value))
            return value;
    }
}

static void test_every_double_reads_back_to_the_same_bits(void) {
    static const double extremes[] = {0.0, -0.0, 5e-324, G_MINDOUBLE, G_MAXDOUBLE, -G_MAXDOUBLE};
    g_autoptr(GRand) random = g_rand_new_with_seed(1);
    for (Dimension d = DIMENSION_NONE; d <= DIMENSION_JOULES_PER_BYTE; d++) {
        if (d == DIMENSION_COUNT)
            continue;
        for (gsize i = 0; i < G_N_ELEMENTS(extremes); i++)
            assert_reads_back(extremes[i], d);
        for (guint i = 0; i < RANDOM_VALUES; i++) {
            assert_reads_back(any_double(random), d);
            assert_reads_back(pow(10, g_rand_double_range(random, -12, 16)), d);
            assert_reads_back(g_rand_int_range(random, 1, 100000) * 1e-6, d);
            assert_reads_back(g_rand_int_range(random, 1, 1000) / 60.0, d);
        }
    }
}

static void test_every_count_reads_back(void) {
    g_autoptr(GRand) random = g_rand_new_with_seed(2);
    for (guint i = 0; i < 1000; i++) {
        guint64 bits = ((guint64)g_rand_int(random) << 32) | g_rand_int(random);
        assert_reads_back((double)(bits >> (11 + i % 53)), DIMENSION_COUNT);
    }
}

static const Quantity brief[] = {
    {"1.234 GB", DIMENSION_BYTES, 1234000000},
    {"1.235 GB", DIMENSION_BYTES, 1234567890},
    {"999.9 MB", DIMENSION_BYTES, 999.94e6},
    {"1 GB", DIMENSION_BYTES, 999.96e6},
    {"65.54 kB", DIMENSION_BYTES, 65536},
    {"0 B", DIMENSION_BYTES, 0},
    {"0 s", DIMENSION_SECONDS, 0},
    {"0.25 ns", DIMENSION_SECONDS, 0.25e-9},
    {"1 us", DIMENSION_SECONDS, 1e-6},
    {"84 us", DIMENSION_SECONDS, 84e-6},
    {"12.35 ms", DIMENSION_SECONDS, 0.0123456},
    {"-1.5 s", DIMENSION_SECONDS, -1.5},
    {"3600 s", DIMENSION_SECONDS, 3600},
    {"3.429 h", DIMENSION_SECONDS, 12345},
    {"10 d", DIMENSION_SECONDS, 864000},
    {"30 GB/s", DIMENSION_BYTES_PER_S, 30e9},
    {"7.333 /s", DIMENSION_HERTZ, 22.0 / 3},
    {"0.3333", DIMENSION_NONE, 1.0 / 3},
    {"12350", DIMENSION_NONE, 12345.6},
    {"19366", DIMENSION_COUNT, 19366},
    {"1234567", DIMENSION_COUNT, 1234567},
    {"312 TFLOP/s", DIMENSION_FLOPS_PER_S, 312e12},
};

static void test_prints_for_people_in_four_digits(void) {
    for (gsize i = 0; i < G_N_ELEMENTS(brief); i++) {
        g_autofree char *text = units_format_brief(brief[i].value, brief[i].dimension);
        g_assert_cmpstr(text, ==, brief[i].text);
    }
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/units/reads_to_the_nearest_double", test_reads_to_the_nearest_double);
    g_test_add_func("/units/refuses_what_it_does_not_know", test_refuses_what_it_does_not_know);
    g_test_add_func("/units/prints_the_shortest_text", test_prints_the_shortest_text);
    g_test_add_func("/units/every_double_reads_back_to_the_same_bits",
                    test_every_double_reads_back_to_the_same_bits);
    g_test_add_func("/units/every_count_reads_back", test_every_count_reads_back);
    g_test_add_func("/units/prints_for_people_in_four_digits",
                    test_prints_for_people_in_four_digits);
    return g_test_run();
}
