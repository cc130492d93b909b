/* What every run of an experiment does the same way, be it one with files and a timeline or one of
 * the thousands of a sweep. */
#ifndef ANALYSIS_EXPERIMENT_RUN_H
#define ANALYSIS_EXPERIMENT_RUN_H

#include "actors/simulation.h"
#include "analysis/costs/cost_memo.h"
#include "analysis/run/experiment.h"
#include "analysis/run/metrics.h"

/* The times that its plan needs: of operators (cost_fill.h) or of a wafer's phases. 'memo' may be
 * NULL. Caller frees. */
OpCosts *experiment_run_costs(const Experiment *experiment, gboolean quiet, CostMemo *memo,
                              GError **error);
/* The observer of its figures. Caller frees. */
Metrics *experiment_run_metrics(const Experiment *experiment);
/* A setup with all that comes from the experiment, time only, with fast-forward; observers,
 * numbers, samples and interruption are the caller's. Borrows everything. */
SimulationSetup experiment_run_setup(const Experiment *experiment, const OpCosts *costs,
                                     RequestSource *source);
/* What makes the figures of a run worthless: the engine's 'error' (may be NULL), or a violated
 * invariant. NULL when there is nothing; caller frees. */
char *experiment_run_fault(const Ledger *ledger, SimulationOutcome outcome, const GError *error);

#endif
