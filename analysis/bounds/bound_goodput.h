/* Private to plan_bound: how many requests a plan can serve within the limits on latency. */
#ifndef ANALYSIS_BOUND_GOODPUT_H
#define ANALYSIS_BOUND_GOODPUT_H

#include "analysis/bounds/bound_work.h"

/* For workloads of at most so many requests: it looks at each some times. */
#define BOUND_GOODPUT_MAX 100000

/* Of the requests marked in 'eligible' (an entry a request), at the most. */
gsize bound_goodput_most(const BoundWork *work, const gboolean *eligible);

#endif
