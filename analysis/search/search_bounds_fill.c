#include "analysis/bounds/plan_bound.h"
#include "analysis/search/search_private.h"
#include "workloads/input_error.h"

/* What cannot be an experiment is an outcome; anything else that fails is an error. */
static gboolean refuse(Candidate *candidate, GError *failure, GError **error) {
    if (failure->domain != INPUT_ERROR) {
        g_propagate_error(error, failure);
        return FALSE;
    }
    outcome_fail(&candidate->outcome, OUTCOME_REFUSED, failure->message);
    candidate->fate = FATE_REFUSED;
    g_error_free(failure);
    return TRUE;
}

static gboolean fill(const SearchSetup *setup, PlanBounds *bounds, Candidate *candidate,
                     GError **error) {
    g_autofree const char **settings = search_settings(setup, candidate->point);
    GError *failure = NULL;
    g_autoptr(Experiment) experiment = campaign_experiment(setup->campaign, settings, &failure);
    g_autoptr(OpCosts) costs =
        experiment == NULL ? NULL : campaign_costs(setup->campaign, experiment, &failure);

    if (costs == NULL)
        return refuse(candidate, failure, error);
    candidate->plan = search_plan_text(experiment->policy);
    candidate->at_once_s = plan_bounds_fill(bounds, experiment, costs, candidate->best_figures);
    return TRUE;
}

PlanBounds *search_bounds_fill(const SearchSetup *setup, SearchResult *result,
                               const gboolean *wanted, GError **error) {
    g_autoptr(Experiment) base = campaign_experiment(setup->campaign, setup->settings, NULL);
    const Experiment *known = base == NULL ? campaign_base(setup->campaign) : base;
    g_autoptr(PlanBounds) bounds = plan_bounds_new(known, wanted, error);

    if (bounds == NULL)
        return NULL;
    for (gsize i = 0; i < result->n; i++)
        if (!fill(setup, bounds, &result->candidates[i], error))
            return NULL;
    return g_steal_pointer(&bounds);
}
