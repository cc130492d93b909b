#include "analysis/run/experiment_run.h"

#include "analysis/costs/cost_fill.h"
#include "analysis/run/invariants.h"
#include <math.h>

OpCosts *experiment_run_costs(const Experiment *experiment, gboolean quiet, CostMemo *memo,
                              GError **error) {
    CostFillInput input = {.platform = experiment->platform,
                           .model = experiment->model,
                           .policy = experiment->policy,
                           .plan = experiment->plan,
                           .quiet = quiet,
                           .memo = memo};

    g_autoptr(OpCosts) costs = cost_fill(&input, error);
    if (costs == NULL || experiment->wafer_costs == NULL)
        return g_steal_pointer(&costs);
    WaferTimes *times = experiment_wafer_times(experiment, error);
    if (times == NULL)
        return NULL;
    op_costs_take_wafer(costs, times);
    return g_steal_pointer(&costs);
}

Metrics *experiment_run_metrics(const Experiment *experiment) {
    const WorkloadFacts *facts = &experiment->facts;
    double last_arrival_s = facts->closed_loop ? INFINITY : facts->last_arrival_s;

    return metrics_new(&experiment->slo, &experiment->output, last_arrival_s);
}

SimulationSetup experiment_run_setup(const Experiment *experiment, const OpCosts *costs,
                                     RequestSource *source) {
    return (SimulationSetup){.platform = experiment->platform,
                             .costs = costs,
                             .model = experiment->model,
                             .policy = experiment->policy,
                             .plan = experiment->plan,
                             .source = source,
                             .fast_forward = TRUE};
}

char *experiment_run_fault(const Ledger *ledger, SimulationOutcome outcome, const GError *error) {
    if (error != NULL)
        return g_strdup(error->message);
    g_autofree char *violated = invariants_violated(ledger, outcome);
    return violated == NULL ? NULL : g_strdup_printf("invariant violated: %s", violated);
}
