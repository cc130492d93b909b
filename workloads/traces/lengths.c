#include "workloads/traces/lengths.h"

#include <math.h>

struct LengthSampler {
    LengthSpec spec;
    RandomStream stream;
    double mu, sigma;   /* lognormal */
    double *cumulative; /* Zipf: P(length ≤ min + i), (max − min + 1) */
};

static double normal_cdf(double z) {
    return erfc(-z / M_SQRT2) / 2;
}

/* E[max(1, X)] of ln X ~ N(mu, sigma²): P(X < 1) + E[X; X ≥ 1]. */
static double mean_of_at_least_one(double mu, double sigma) {
    return normal_cdf(-mu / sigma) + exp(mu + sigma * sigma / 2) * normal_cdf(mu / sigma + sigma);
}

/* The mu for which max(1, X) has the mean asked for: a length has at least one token, and lifting
 * what lies below must not lift the mean. ln(mean) − sigma²/2, the lognormal's own, is an upper
 * bound (and the answer to all digits unless lengths near 1 are likely). */
static double lognormal_mu(double mean, double sigma) {
    double high = log(mean) - sigma * sigma / 2;
    double low = high - 50 * sigma - 50;
    for (int i = 0; i < 200 && mean_of_at_least_one(high, sigma) > mean; i++) {
        double middle = (low + high) / 2;
        if (mean_of_at_least_one(middle, sigma) < mean)
            low = middle;
        else
            high = middle;
    }
    return high;
}

static double *zipf_cumulative(const LengthSpec *spec) {
    guint64 n = spec->max - spec->min + 1;
    double *cumulative = g_new(double, n);
    double sum = 0;
    for (guint64 i = 0; i < n; i++) {
        sum += pow((double)(spec->min + i), -spec->exponent);
        cumulative[i] = sum;
    }
    for (guint64 i = 0; i < n; i++)
        cumulative[i] /= sum;
    return cumulative;
}

LengthSampler *length_sampler_new(const LengthSpec *spec, guint64 seed, const char *purpose) {
    LengthSampler *sampler = g_new0(LengthSampler, 1);
    sampler->spec = *spec;
    sampler->stream = random_stream(seed, purpose);
    if (spec->distribution == LENGTHS_LOGNORMAL) {
        /* cv² = exp(sigma²) − 1 */
        sampler->sigma = spec->sigma > 0 ? spec->sigma : sqrt(log1p(spec->cv * spec->cv));
        sampler->mu = lognormal_mu(spec->mean, sampler->sigma);
    }
    if (spec->distribution == LENGTHS_ZIPF)
        sampler->cumulative = zipf_cumulative(spec);
    return sampler;
}

void length_sampler_free(LengthSampler *sampler) {
    if (!sampler)
        return;
    g_free(sampler->cumulative);
    g_free(sampler);
}

static guint64 draw_fixed(LengthSampler *sampler) {
    return sampler->spec.tokens;
}

static guint64 draw_uniform(LengthSampler *sampler) {
    const LengthSpec *spec = &sampler->spec;
    return spec->min + random_below(&sampler->stream, spec->max - spec->min + 1);
}

/* Rounded up or down at random with the fraction as probability, so that the mean stays. */
static guint64 draw_lognormal(LengthSampler *sampler) {
    double x = exp(sampler->mu + sampler->sigma * random_normal(&sampler->stream));
    x = CLAMP(x, 1, (double)G_MAXINT32);
    double whole = floor(x);
    return (guint64)whole + (random_uniform(&sampler->stream) < x - whole);
}

/* Inversion: the first length whose distribution function reaches u. */
static guint64 draw_zipf(LengthSampler *sampler) {
    double u = random_uniform(&sampler->stream);
    guint64 low = 0, high = sampler->spec.max - sampler->spec.min;
    while (low < high) {
        guint64 middle = low + (high - low) / 2;
        if (sampler->cumulative[middle] < u)
            low = middle + 1;
        else
            high = middle;
    }
    return sampler->spec.min + low;
}

guint32 length_sampler_draw(LengthSampler *sampler) {
    static guint64 (*const draws[N_LENGTH_DISTRIBUTIONS])(LengthSampler *) = {
        [LENGTHS_FIXED] = draw_fixed,
        [LENGTHS_UNIFORM] = draw_uniform,
        [LENGTHS_LOGNORMAL] = draw_lognormal,
        [LENGTHS_ZIPF] = draw_zipf,
    };
    return (guint32)draws[sampler->spec.distribution](sampler);
}
