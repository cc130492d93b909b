/* Random numbers of tokens. No distribution is truncated: what is asked as the mean is the mean. */
#ifndef WORKLOADS_TRACES_LENGTHS_H
#define WORKLOADS_TRACES_LENGTHS_H

#include "workloads/random.h"

typedef enum {
    LENGTHS_FIXED,
    LENGTHS_UNIFORM,
    LENGTHS_LOGNORMAL,
    LENGTHS_ZIPF,
    N_LENGTH_DISTRIBUTIONS
} LengthDistribution;

typedef struct LengthSpec {
    LengthDistribution distribution;
    guint64 tokens;   /* fixed */
    guint64 min, max; /* uniform, Zipf: inclusive */
    double mean;      /* lognormal: of the tokens drawn */
    double cv, sigma; /* lognormal, one of them: standard deviation / mean, or of the logarithm */
    double exponent;  /* Zipf: P(k) ∝ k^-exponent */
} LengthSpec;

#define LENGTHS_MAX_ZIPF 1048576 /* tokens: the distribution function is a table */

typedef struct LengthSampler LengthSampler;
/* The lengths of 'purpose' ("prompts", "outputs") under 'seed'. Copies 'spec'. */
LengthSampler *length_sampler_new(const LengthSpec *spec, guint64 seed, const char *purpose);
void length_sampler_free(LengthSampler *sampler);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(LengthSampler, length_sampler_free)

/* Tokens, ≥ 1. */
guint32 length_sampler_draw(LengthSampler *sampler);

#endif
