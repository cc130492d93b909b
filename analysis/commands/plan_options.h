/* What `infergrid plan` is asked: its options, read. */
#ifndef ANALYSIS_COMMANDS_PLAN_OPTIONS_H
#define ANALYSIS_COMMANDS_PLAN_OPTIONS_H

#include "analysis/capacity/capacity.h"
#include "analysis/commands/campaign_options.h"

typedef struct PlanOptions {
    char *path;
    char **targets;
    char *units, *sizes, *loads, *method, *seeds, *knee;
    CampaignOptions campaign;
    CampaignOutput output;
    gboolean max_rate, search, plot, json;
} PlanOptions;

/* The targets as limits, and the figures that plans are tried by: the targets' own, then
 * throughput. INPUT_ERRORs as of objectives_new, and for shares that cannot be. Caller frees. */
Objectives *plan_options_targets(const PlanOptions *options, const Slo *slo, GError **error);
/* double, ascending, none twice. Caller unrefs. */
GArray *plan_options_loads(const PlanOptions *options, GError **error);
/* Units, sizes, method, seeds, knee and own_plan of 'setup'. */
gboolean plan_options_read(const PlanOptions *options, const Experiment *base, CapacitySetup *setup,
                           GError **error);

#endif
