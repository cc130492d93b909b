/* Private to plan_bound and plan_watch: what the bounds of a plan are made of. */
#ifndef ANALYSIS_PLAN_PARTS_H
#define ANALYSIS_PLAN_PARTS_H

#include "analysis/bounds/bound_end.h"
#include "analysis/bounds/plan_bound.h"
#include "analysis/bounds/plan_bound_figures.h"

typedef struct PlanParts {
    Bounding bounding;
    BoundWork work; /* borrows 'bounding': do not move the parts */
    BoundBuffer buffer;
    BoundLatencies latencies; /* with nobody else about */
    double end_s;             /* of the run, at the least */
    BoundLeft all;            /* requests, of which nothing is done */
    double at_once_s;         /* the end of the run if all of them were there at once */
    double busy_s;            /* cluster-seconds in which steps run, at the least */
} PlanParts;

/* Nothing is known but how many clusters the plan has. */
void plan_figures_unknown(const Experiment *experiment, double *figures);
/* FALSE where the plan has no bounds; then there is nothing to clear. */
gboolean plan_parts_init(PlanParts *parts, PlanBounds *bounds, const Experiment *experiment,
                         const OpCosts *costs);
void plan_parts_clear(PlanParts *parts);

#endif
