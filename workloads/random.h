/* Seeded random streams: one per purpose, so that drawing more of one thing never shifts another.
 * The generator and every transformation are our own, so that the same seed gives the same bytes on
 * every machine and library version. */
#ifndef WORKLOADS_RANDOM_H
#define WORKLOADS_RANDOM_H

#include <glib.h>

typedef struct RandomStream {
    guint64 state, increment; /* PCG32 (O'Neill 2014, "PCG: A Family of Simple Fast …") */
} RandomStream;

/* The stream of 'purpose' (a name such as "arrivals") under 'seed'. */
RandomStream random_stream(guint64 seed, const char *purpose);

guint32 random_bits(RandomStream *stream);
double random_uniform(RandomStream *stream); /* (0, 1), 53 bits */
double random_exponential(RandomStream *stream, double mean);
double random_normal(RandomStream *stream); /* mean 0, variance 1 */
double random_gamma(RandomStream *stream, double shape, double scale);
guint64 random_below(RandomStream *stream, guint64 bound); /* 0 … bound − 1, unbiased */

#endif
