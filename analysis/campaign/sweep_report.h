/* What came of a sweep: a tidy table, a row a run, a column a varied key and a column a figure. */
#ifndef ANALYSIS_SWEEP_REPORT_H
#define ANALYSIS_SWEEP_REPORT_H

#include "analysis/campaign/campaign.h"
#include "analysis/campaign/vary.h"

typedef struct SweepResult {
    const char *experiment;  /* as it was given */
    const GPtrArray *keys;   /* VaryKey */
    const CampaignRun *runs; /* vary_runs(keys) of them, in the product's order */
    gboolean *shown;         /* of each run: it has an outcome here, and not in another shard */
} SweepResult;

/* CSV: the varied keys, status, reason, then the figures with their units in their names; an empty
 * field where there is none. Caller frees. */
char *sweep_report_csv(const SweepResult *result);
/* The same as JSON: what was varied, and an object a run. Caller frees. */
char *sweep_report_json(const SweepResult *result);

#endif
