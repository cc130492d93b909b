/* Looks at a run from time to time, and ends it once what it has done and what still lies before it
 * prove that its figures can be of no use: its bounds then are those of the plan. */
#ifndef ANALYSIS_PLAN_WATCH_H
#define ANALYSIS_PLAN_WATCH_H

#include "analysis/bounds/plan_bound.h"

/* For one run of 'experiment', in a process of its own, whose end frees it. Borrows all. NULL where
 * the plan has no bounds. */
RunWatch *plan_watch_new(PlanBounds *bounds, const Experiment *experiment, const OpCosts *costs,
                         RunUseless useless, gconstpointer data);

#endif
