/* The paper's analytic configuration rule, judged: its plan simulated, and how far from the best
 * that a search found. */
#ifndef ANALYSIS_SEARCH_RULE_H
#define ANALYSIS_SEARCH_RULE_H

#include "analysis/search/search.h"

typedef struct SearchRule {
    SearchPoint point; /* its plan; settings NULL where it has none: 'why' */
    char *why;         /* the rule gives no plan, or its plan cannot be simulated */
    char *plan;        /* in words */
    char *readings;    /* how the rule was read */
    Outcome outcome;
} SearchRule;

/* The settings of the rule's plan for an experiment's workload and machine; NULL and 'why' (the
 * caller frees both) where it has none. */
char **search_rule_settings(const Experiment *experiment, char **why);

/* The rule's plan for the workload and machine of 'setup'. NULL where the experiment cannot be. */
SearchRule *search_rule_new(const SearchSetup *setup, GError **error);
/* To be simulated beside a search; NULL where the rule has no plan. Borrowed. */
const SearchPoint *search_rule_point(const SearchRule *rule);
/* Fills the outcome, from what the campaign knows already or by simulating. FALSE where the
 * campaign fails. */
gboolean search_rule_simulate(SearchRule *rule, const SearchSetup *setup, GError **error);
void search_rule_free(SearchRule *rule);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SearchRule, search_rule_free)

/* How many times better the best is than the rule's plan in the first objective: 1 where they are
 * equal, 2 where the best has twice the throughput or half the time. NaN where either is missing.
 */
double search_rule_regret(const SearchRule *rule, const SearchSetup *setup,
                          const SearchResult *result);

#endif
