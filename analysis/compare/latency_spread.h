/* One latency of all runs of a comparison: the values that are drawn, and how far they spread. */
#ifndef ANALYSIS_LATENCY_SPREAD_H
#define ANALYSIS_LATENCY_SPREAD_H

#include "analysis/compare/comparison.h"

typedef struct LatencySpread {
    GArray **values; /* double, of completed requests, ascending; one for each folder */
    guint n;
    double least, most;   /* to be drawn, s; NaN where there is no value at all */
    gboolean logarithmic; /* the axis that suits it */
} LatencySpread;

/* 'kind' is below N_SERVED_LATENCIES. */
LatencySpread *latency_spread_new(const Comparison *comparison, guint kind);
void latency_spread_free(LatencySpread *spread);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(LatencySpread, latency_spread_free)

typedef struct CurvePoint {
    double value_s;
    double share; /* of the values that are at most so much */
} CurvePoint;

/* The distribution of values in ascending order in so many points (CurvePoint) as can be seen;
 * the first share is 0, the last 1. Caller frees. */
GArray *latency_curve(const GArray *ascending);

#endif
