/* Quantiles of many values: exact while there are fewer than 100,000, then log-spaced buckets whose
 * relative error is at most 0.1 %. Memory is bounded either way. */
#ifndef ANALYSIS_HISTOGRAM_H
#define ANALYSIS_HISTOGRAM_H

#include <glib.h>

#define HISTOGRAM_EXACT_VALUES 100000

typedef struct Histogram Histogram;
Histogram *histogram_new(void);
void histogram_free(Histogram *histogram);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Histogram, histogram_free)

void histogram_add(Histogram *histogram, double value); /* value ≥ 0 and finite */
guint64 histogram_count(const Histogram *histogram);
double histogram_mean(const Histogram *histogram); /* exact; 0 when empty */
double histogram_min(const Histogram *histogram);
double histogram_max(const Histogram *histogram);
/* The value at rank q·(n−1), linear between neighbours as numpy's default does (exact range), the
 * geometric middle of its bucket beyond. q in [0, 1]; 0 when empty. */
double histogram_quantile(Histogram *histogram, double q);

/* How many values are at most 'value': exact in the exact range, to a bucket beyond. */
guint64 histogram_count_up_to(Histogram *histogram, double value);

#endif
