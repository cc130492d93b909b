/* Private to plan_bound: from the end of a run and the latencies of its requests to figures. */
#ifndef ANALYSIS_PLAN_BOUND_FIGURES_H
#define ANALYSIS_PLAN_BOUND_FIGURES_H

#include "analysis/bounds/bound_work.h"
#include "analysis/run/metrics.h"
#include "analysis/run/outcome.h"

/* Seconds, of every request (in order of arrival) at the least; below 0 where it has none. */
typedef struct BoundLatencies {
    double *of[N_LATENCIES];
    gsize most_good; /* requests within all limits, for what the plan can do; of those that count */
} BoundLatencies;
/* Latencies with nobody else about. */
void bound_latencies_init(BoundLatencies *latencies, const BoundWork *work);
void bound_latencies_clear(BoundLatencies *latencies);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(BoundLatencies, bound_latencies_clear)

/* The figures that hang on the end of the run, which is no earlier than 'end_s', and on the
 * cluster-seconds in which steps run, which are no fewer than 'busy_s'. */
void plan_bound_rates(const BoundWork *work, double end_s, double busy_s, double *figures);
/* Those of latencies, and goodput; after plan_bound_rates. 'wanted' (N_FIGURES) marks what has to
 * be filled; NULL: all. */
void plan_bound_latencies(const BoundWork *work, const BoundLatencies *latencies,
                          const gboolean *wanted, double *figures);
/* Some of these are wanted. */
gboolean plan_bound_wants_latencies(const gboolean *wanted);

#endif
