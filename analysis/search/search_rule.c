#include "analysis/search/search_rule.h"

#include "policies/analytic_rule.h"
#include <math.h>

void search_rule_free(SearchRule *rule) {
    if (rule == NULL)
        return;
    outcome_clear(&rule->outcome);
    g_strfreev(rule->point.settings);
    g_free(rule->why);
    g_free(rule->plan);
    g_free(rule->readings);
    g_free(rule);
}

static char *readings_text(AnalyticSwitches switches) {
    return g_strdup_printf(
        "S_max = %s, D_emb of KV = %s%s%s",
        switches.context == ANALYTIC_CONTEXT_MODEL ? "the model's context" : "prompt + generated",
        switches.kv_width == ANALYTIC_KV_HEADS ? "kv_heads * head_dim" : "hidden",
        switches.micro_batch == ANALYTIC_MICRO_BATCH_RULE ? ", micro-batch by eq. 22" : "",
        switches.pools == ANALYTIC_POOLS_WHOLE ? ", whole pools" : "");
}

char **search_rule_settings(const Experiment *experiment, char **why) {
    const WorkloadFacts *facts = &experiment->facts;
    double requests = (double)facts->requests;
    AnalyticInputs inputs = {.model = experiment->model,
                             .platform = experiment->platform,
                             .policy = experiment->policy,
                             .prompt_tokens = (double)facts->prompt_tokens / requests,
                             .output_tokens = (double)facts->output_tokens / requests,
                             .switches = search_spec_analytic(experiment->search)};
    g_autoptr(GError) error = NULL;
    g_auto(AnalyticPlan) plan = {0};

    if (analytic_rule(&inputs, &plan, &error))
        return g_strdupv(plan.point.settings);
    *why = g_strdup(error->message);
    return NULL;
}

/* Nothing where it cannot be an experiment. */
static void name_plan(SearchRule *rule, const SearchSetup *setup) {
    g_autofree const char **settings = search_settings(setup, &rule->point);
    g_autoptr(Experiment) experiment = campaign_experiment(setup->campaign, settings, NULL);

    if (experiment != NULL)
        rule->plan = search_plan_text(experiment->policy);
}

SearchRule *search_rule_new(const SearchSetup *setup, GError **error) {
    g_autoptr(SearchRule) rule = g_new0(SearchRule, 1);
    g_autoptr(Experiment) experiment = campaign_experiment(setup->campaign, setup->settings, error);

    outcome_init(&rule->outcome);
    if (experiment == NULL)
        return NULL;
    rule->readings = readings_text(search_spec_analytic(experiment->search));
    rule->point.settings = search_rule_settings(experiment, &rule->why);
    if (rule->point.settings != NULL)
        name_plan(rule, setup);
    return g_steal_pointer(&rule);
}

const SearchPoint *search_rule_point(const SearchRule *rule) {
    return rule->point.settings == NULL ? NULL : &rule->point;
}

gboolean search_rule_simulate(SearchRule *rule, const SearchSetup *setup, GError **error) {
    if (rule->point.settings == NULL)
        return TRUE;
    g_autofree const char **settings = search_settings(setup, &rule->point);
    CampaignRun run = {.overrides = (char **)settings};
    gboolean done = campaign_run(setup->campaign, &run, 1, "analytic rule", error);
    rule->outcome = run.outcome;
    if (rule->outcome.status != OUTCOME_OK)
        rule->why = g_strdup(rule->outcome.reason);
    return done;
}

double search_rule_regret(const SearchRule *rule, const SearchSetup *setup,
                          const SearchResult *result) {
    Figure figure = setup->objectives->figures[0];

    if (rule->why != NULL || result->best == NO_CANDIDATE)
        return NAN;
    double best = result->candidates[result->best].outcome.figures[figure];
    double rules = rule->outcome.figures[figure];
    return figure_info(figure)->larger_is_better ? best / rules : rules / best;
}
