#include "workloads/random.h"

#include <math.h>

/* The logarithm and the exponential are written out here, from operations that IEEE 754 rounds one
 * way only: those of C libraries differ in the last bit. Contracting a · b + c into one rounding
 * would differ between processors, too. */
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#else
#pragma GCC optimize("fp-contract=off")
#endif

#define PCG32_MULTIPLIER G_GUINT64_CONSTANT(6364136223846793005)
#define GOLDEN_GAMMA G_GUINT64_CONSTANT(0x9E3779B97F4A7C15)

static const double ln2 = 0.69314718055994530942;
/* ln 2 in two parts; the first has so few bits that small integers times it are exact. */
static const double ln2_high = 6.93147180369123816490e-01, ln2_low = 1.90821492927058770002e-10;

/* FNV-1a, 64 bits (Fowler, Noll, Vo). */
static guint64 hash_text(const char *text) {
    guint64 hash = G_GUINT64_CONSTANT(0xCBF29CE484222325);
    for (const char *c = text; *c != '\0'; c++)
        hash = (hash ^ (guchar)*c) * G_GUINT64_CONSTANT(0x100000001B3);
    return hash;
}

/* SplitMix64's output function (Steele, Lea, Flood 2014, "Fast splittable …", fig. 13–15). */
static guint64 scramble(guint64 z) {
    z += GOLDEN_GAMMA;
    z = (z ^ (z >> 30)) * G_GUINT64_CONSTANT(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * G_GUINT64_CONSTANT(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

RandomStream random_stream(guint64 seed, const char *purpose) {
    guint64 key = scramble(seed) ^ hash_text(purpose);
    RandomStream stream = {0, (scramble(key + 1) << 1) | 1};
    random_bits(&stream);
    stream.state += scramble(key);
    random_bits(&stream);
    return stream;
}

/* PCG-XSH-RR 64/32 (O'Neill 2014, section 6.3.1). */
guint32 random_bits(RandomStream *stream) {
    guint64 state = stream->state;
    stream->state = state * PCG32_MULTIPLIER + stream->increment;
    guint32 shifted = (guint32)(((state >> 18) ^ state) >> 27);
    guint32 rotation = (guint32)(state >> 59);
    return (shifted >> rotation) | (shifted << (-rotation & 31));
}

static guint64 random_bits64(RandomStream *stream) {
    guint64 high = random_bits(stream);
    return (high << 32) | random_bits(stream);
}

double random_uniform(RandomStream *stream) {
    guint64 bits;
    do
        bits = random_bits64(stream) >> 11;
    while (bits == 0);
    return (double)bits * 0x1p-53;
}

/* ln(x) = e·ln 2 + 2·atanh(f), f = (m − 1)/(m + 1), for x = m·2^e and m in [√½, √2). The series
 * of atanh ends where f² ≤ 0.0295 no longer reaches the last bit. */
static double natural_log(double x) {
    int exponent;
    double m = frexp(x, &exponent);
    if (m < 0.70710678118654752440) {
        m *= 2;
        exponent--;
    }
    double f = (m - 1) / (m + 1), square = f * f, sum = 0;
    for (int k = 23; k >= 3; k -= 2)
        sum = (sum + 1.0 / k) * square;
    return exponent * ln2_high + (exponent * ln2_low + 2 * (f + f * sum));
}

/* e^x = 2^k · e^r with |r| ≤ ln(2)/2, by the Taylor series of e^r. */
static double exponential(double x) {
    if (x < -745)
        return 0;
    double k = floor(x / ln2 + 0.5);
    double r = (x - k * ln2_high) - k * ln2_low, sum = 1;
    for (int n = 14; n >= 1; n--)
        sum = 1 + sum * r / n;
    return ldexp(sum, (int)k);
}

double random_exponential(RandomStream *stream, double mean) {
    return -mean * natural_log(random_uniform(stream));
}

/* Marsaglia's polar method (Marsaglia & Bray 1964). Its second value is thrown away: a stream has
 * no state but the generator's. */
double random_normal(RandomStream *stream) {
    double u, v, square;
    do {
        u = 2 * random_uniform(stream) - 1;
        v = 2 * random_uniform(stream) - 1;
        square = u * u + v * v;
    } while (square >= 1 || square == 0);
    return u * sqrt(-2 * natural_log(square) / square);
}

/* Marsaglia & Tsang 2000, "A simple method for generating gamma variables", section 6; below a
 * shape of 1 by its section 6 as well: gamma(a) = gamma(a + 1) · U^(1/a). */
double random_gamma(RandomStream *stream, double shape, double scale) {
    g_assert(shape > 0 && scale > 0);
    if (shape < 1) {
        double boosted = random_gamma(stream, shape + 1, scale);
        return boosted * exponential(natural_log(random_uniform(stream)) / shape);
    }
    double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);
    while (TRUE) {
        double x = random_normal(stream), t = 1 + c * x;
        if (t <= 0)
            continue;
        double v = t * t * t;
        double u = random_uniform(stream);
        if (natural_log(u) < 0.5 * x * x + d - d * v + d * natural_log(v))
            return d * v * scale;
    }
}

/* Draws below 2^64 mod bound are thrown away, so that every result has equally many draws. */
guint64 random_below(RandomStream *stream, guint64 bound) {
    g_assert(bound > 0);
    guint64 surplus = -bound % bound;
    guint64 bits;
    do
        bits = random_bits64(stream);
    while (bits < surplus);
    return bits % bound;
}
