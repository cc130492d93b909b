/* Random streams: the published output of the generator, each distribution against its closed form,
 * and streams that do not disturb each other. */
#include "workloads/random.h"

#include <math.h>
#include <stdlib.h>

#define SAMPLES 20000
/* Kolmogorov: P(D > 1.95 / √n) is about 0.001, and the seeds are fixed. */
#define KOLMOGOROV_LIMIT (1.95 / sqrt(SAMPLES))

static RandomStream stream_under(guint64 seed) {
    return random_stream(seed, "test");
}

/* pcg32-demo of O'Neill's C library, seeded with pcg32_srandom(42, 54). */
static void test_generator_gives_the_published_output(void) {
    static const guint32 published[] = {0xa15c02b7, 0x7b47f409, 0xba1d3330,
                                        0x83d2f293, 0xbfa4784b, 0xcbed606e};
    RandomStream stream = {.state = 0, .increment = (54 << 1) | 1};
    random_bits(&stream);
    stream.state += 42;
    random_bits(&stream);
    for (gsize i = 0; i < G_N_ELEMENTS(published); i++)
        g_assert_cmphex(random_bits(&stream), ==, published[i]);
}

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef double (*Draw)(RandomStream *stream);
typedef double (*Distribution)(double x);

static double draw_exponential(RandomStream *stream) {
    return random_exponential(stream, 3);
}

static double draw_gamma_half(RandomStream *stream) {
    return random_gamma(stream, 0.5, 1);
}

static double draw_gamma_one(RandomStream *stream) {
    return random_gamma(stream, 1, 3);
}

static double draw_gamma_two(RandomStream *stream) {
    return random_gamma(stream, 2, 1);
}

static double draw_gamma_fifty(RandomStream *stream) {
    return random_gamma(stream, 50, 0.1);
}

static double uniform_cdf(double x) {
    return x;
}

static double exponential_cdf(double x) {
    return 1 - exp(-x / 3);
}

static double normal_cdf(double x) {
    return 0.5 * erfc(-x / sqrt(2));
}

static double gamma_half_cdf(double x) {
    return erf(sqrt(x));
}

/* An Erlang distribution: 1 − Σ over n < shape of e^−x x^n / n!. */
static double erlang_cdf(double x, guint shape) {
    double term = exp(-x), sum = 0;
    for (guint n = 0; n < shape; n++) {
        sum += term;
        term *= x / (n + 1);
    }
    return 1 - sum;
}

static double gamma_two_cdf(double x) {
    return erlang_cdf(x, 2);
}

static double gamma_fifty_cdf(double x) {
    return erlang_cdf(x / 0.1, 50);
}

typedef struct Case {
    const char *name;
    Draw draw;
    Distribution cdf;
    double mean, variance;
} Case;

static const Case cases[] = {
    {"uniform", random_uniform, uniform_cdf, 0.5, 1.0 / 12},
    {"exponential", draw_exponential, exponential_cdf, 3, 9},
    {"normal", random_normal, normal_cdf, 0, 1},
    {"gamma 0.5", draw_gamma_half, gamma_half_cdf, 0.5, 0.5},
    {"gamma 1", draw_gamma_one, exponential_cdf, 3, 9},
    {"gamma 2", draw_gamma_two, gamma_two_cdf, 2, 2},
    {"gamma 50", draw_gamma_fifty, gamma_fifty_cdf, 5, 0.5},
};

/* The largest distance between the sample's distribution and the closed form. */
static double kolmogorov_distance(const double *sorted, Distribution cdf) {
    double distance = 0;
    for (guint i = 0; i < SAMPLES; i++) {
        double p = cdf(sorted[i]);
        distance = fmax(distance, fmax(p - (double)i / SAMPLES, (i + 1.0) / SAMPLES - p));
    }
    return distance;
}

static void test_distributions_follow_their_closed_forms(void) {
    g_autofree double *values = g_new(double, SAMPLES);
    for (gsize c = 0; c < G_N_ELEMENTS(cases); c++) {
        RandomStream stream = stream_under(7);
        for (guint i = 0; i < SAMPLES; i++)
            values[i] = cases[c].draw(&stream);
        qsort(values, SAMPLES, sizeof *values, compare_doubles);
        double distance = kolmogorov_distance(values, cases[c].cdf);
        g_test_message("%s: %g", cases[c].name, distance);
        g_assert_cmpfloat(distance, <, KOLMOGOROV_LIMIT);
    }
}

static void test_moments_lie_within_bounds(void) {
    for (gsize c = 0; c < G_N_ELEMENTS(cases); c++) {
        RandomStream stream = stream_under(11);
        double sum = 0, squares = 0;
        for (guint i = 0; i < SAMPLES; i++) {
            double deviation = cases[c].draw(&stream) - cases[c].mean;
            sum += deviation;
            squares += deviation * deviation;
        }
        double error_of_mean = sqrt(cases[c].variance / SAMPLES);
        g_test_message("%s: %g, %g", cases[c].name, sum / SAMPLES, squares / SAMPLES);
        g_assert_cmpfloat(fabs(sum / SAMPLES), <, 4 * error_of_mean);
        g_assert_cmpfloat(fabs(squares / SAMPLES / cases[c].variance - 1), <, 0.1);
    }
}

/* The project's own logarithm against the C library's, through the inversion that uses it. */
static void test_exponential_is_minus_the_logarithm_of_the_uniform(void) {
    RandomStream stream = stream_under(3), copy = stream;
    for (guint i = 0; i < SAMPLES; i++) {
        double expected = -log(random_uniform(&copy));
        double value = random_exponential(&stream, 1);
        g_assert_cmpfloat(fabs(value - expected), <=, 4 * G_MINDOUBLE + expected * 5e-16);
    }
}

/* Every value is a multiple of 2^-53 strictly between 0 and 1. */
static void test_uniform_is_never_zero_nor_one(void) {
    RandomStream stream = stream_under(5);
    double least = 1, greatest = 0;
    for (guint i = 0; i < SAMPLES; i++) {
        double value = random_uniform(&stream);
        g_assert_cmpfloat(value * 0x1p53, ==, floor(value * 0x1p53));
        least = fmin(least, value);
        greatest = fmax(greatest, value);
    }
    g_assert_cmpfloat(least, >, 0);
    g_assert_cmpfloat(greatest, <, 1);
    g_assert_cmpfloat(least, <, 1e-3);
    g_assert_cmpfloat(greatest, >, 1 - 1e-3);
}

/* χ² with k − 1 degrees of freedom, within four standard deviations of its mean. */
static void test_below_favours_no_number(void) {
    static const guint bounds[] = {1, 2, 6, 100};
    for (gsize b = 0; b < G_N_ELEMENTS(bounds); b++) {
        guint bound = bounds[b], counts[100] = {0};
        RandomStream stream = stream_under(13);
        for (guint i = 0; i < SAMPLES; i++) {
            guint64 value = random_below(&stream, bound);
            g_assert_cmpuint(value, <, bound);
            counts[value]++;
        }
        double expected = (double)SAMPLES / bound, chi_square = 0;
        for (guint i = 0; i < bound; i++)
            chi_square += (counts[i] - expected) * (counts[i] - expected) / expected;
        g_assert_cmpfloat(chi_square, <=, bound - 1 + 4 * sqrt(2.0 * (bound - 1)));
    }
}

/* Taking 64 bits modulo 3·2^62 would give the lower third twice as often. */
static void test_below_is_unbiased_near_the_full_range(void) {
    guint64 third = G_GUINT64_CONSTANT(1) << 62;
    RandomStream stream = stream_under(17);
    guint lower = 0;
    for (guint i = 0; i < SAMPLES; i++)
        lower += random_below(&stream, 3 * third) < third;
    g_assert_cmpfloat(fabs(lower / (double)SAMPLES - 1.0 / 3), <, 4 * sqrt(2.0 / 9 / SAMPLES));
}

static double correlation(RandomStream a, RandomStream b) {
    double sum = 0;
    for (guint i = 0; i < SAMPLES; i++)
        sum += (random_uniform(&a) - 0.5) * (random_uniform(&b) - 0.5);
    return sum / SAMPLES * 12;
}

static void test_streams_of_other_purposes_and_seeds_are_independent(void) {
    static const char *const purposes[] = {"arrivals", "prompts", "outputs", "arrivalt", ""};
    for (gsize i = 0; i < G_N_ELEMENTS(purposes); i++)
        for (guint64 seed = 0; seed < 4; seed++) {
            RandomStream stream = random_stream(1, purposes[i]);
            RandomStream other_seed = random_stream(seed + 2, purposes[i]);
            const char *next = purposes[(i + 1) % G_N_ELEMENTS(purposes)];
            RandomStream other_purpose = random_stream(1, next);
            g_assert_cmpfloat(fabs(correlation(stream, other_seed)), <, 4 / sqrt(SAMPLES));
            g_assert_cmpfloat(fabs(correlation(stream, other_purpose)), <, 4 / sqrt(SAMPLES));
        }
}

/* FNV-1a over the bytes of a thousand draws: pinned, so that a change of any transformation, or a
 * machine on which it gives other bits, is noticed. */
static guint64 digest(Draw draw) {
    RandomStream stream = random_stream(42, "digest");
    guint64 hash = G_GUINT64_CONSTANT(0xCBF29CE484222325);
    for (guint i = 0; i < 1000; i++) {
        union {
            double value;
            guint64 bits;
        } drawn = {draw(&stream)};
        for (guint byte = 0; byte < 8; byte++) {
            hash ^= (drawn.bits >> (8 * byte)) & 0xFF;
            hash *= G_GUINT64_CONSTANT(0x100000001B3);
        }
    }
    return hash;
}

static void test_a_seed_means_the_same_bits_everywhere(void) {
    g_assert_cmphex(digest(random_uniform), ==, 0x4f12a447d4e3cfcb);
    g_assert_cmphex(digest(draw_exponential), ==, 0xaf5bcd022df35ba0);
    g_assert_cmphex(digest(random_normal), ==, 0xfc3c3f69016e1619);
    g_assert_cmphex(digest(draw_gamma_half), ==, 0xe76a872e5468b8c3);
    g_assert_cmphex(digest(draw_gamma_two), ==, 0x96c99987c33453bb);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/random/generator_gives_the_published_output",
                    test_generator_gives_the_published_output);
    g_test_add_func("/random/distributions_follow_their_closed_forms",
                    test_distributions_follow_their_closed_forms);
    g_test_add_func("/random/moments_lie_within_bounds", test_moments_lie_within_bounds);
    g_test_add_func("/random/exponential_is_minus_the_logarithm_of_the_uniform",
                    test_exponential_is_minus_the_logarithm_of_the_uniform);
    g_test_add_func("/random/uniform_is_never_zero_nor_one", test_uniform_is_never_zero_nor_one);
    g_test_add_func("/random/below_favours_no_number", test_below_favours_no_number);
    g_test_add_func("/random/below_is_unbiased_near_the_full_range",
                    test_below_is_unbiased_near_the_full_range);
    g_test_add_func("/random/streams_of_other_purposes_and_seeds_are_independent",
                    test_streams_of_other_purposes_and_seeds_are_independent);
    g_test_add_func("/random/a_seed_means_the_same_bits_everywhere",
                    test_a_seed_means_the_same_bits_everywhere);
    return g_test_run();
}
