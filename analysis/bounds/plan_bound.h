/* What a plan cannot do better than, without simulating it: the work that a workload brings over
 * the replicas that share it, and the time that one request takes with nobody else about. All of it
 * is made of the same times of operators, all-reduces and transfers as the simulation, of which
 * some are left out and the rest is shared out perfectly; so no simulation can be better. Where
 * that cannot be shown (mode wafer, the operator grain, requests that the plan rejects) there is no
 * bound. */
#ifndef ANALYSIS_PLAN_BOUND_H
#define ANALYSIS_PLAN_BOUND_H

#include "analysis/run/outcome.h"

typedef struct PlanBounds PlanBounds;
/* For plans of one workload, model and machine: those of 'base'. 'wanted' (N_FIGURES, copied) marks
 * the figures that matter: for others less work is done, and their bounds may say less; NULL: all.
 */
PlanBounds *plan_bounds_new(const Experiment *base, const gboolean *wanted, GError **error);
void plan_bounds_free(PlanBounds *bounds);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PlanBounds, plan_bounds_free)

/* Fills 'figures' (N_FIGURES) with values that are at least as good as those of the simulation; NaN
 * where nothing is known. 'experiment' has the plan, 'costs' its operators' times. Returns the
 * seconds that the workload would take at the least if all of it were there at once: the less, the
 * stronger the plan (0 where it is not known). */
double plan_bounds_fill(PlanBounds *bounds, const Experiment *experiment, const OpCosts *costs,
                        double *figures);

#endif
