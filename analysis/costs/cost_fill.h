/* Before a simulation: the tables of operator costs that its plan needs, from the cache or, where
 * they are not in it, simulated in processes of their own (SimGrid has one engine a process, and
 * this one's is for the run). The cache is a folder of text files, $XDG_CACHE_HOME/infergrid or
 * what INFERGRID_CACHE names; an empty INFERGRID_CACHE does without. Whether a table was found
 * there or has just been made, it is the same to the last digit. */
#ifndef ANALYSIS_COST_FILL_H
#define ANALYSIS_COST_FILL_H

#include "analysis/costs/cost_memo.h"
#include "platforms/op_costs.h"
#include "policies/plan.h"

typedef struct CostFillInput {
    const Platform *platform;
    const Model *model;
    const Policy *policy;
    const Plan *plan;
    gboolean quiet; /* no progress on a terminal, no warning of damaged files */
    CostMemo *memo; /* looked at before the cache, and filled; NULL: none */
} CostFillInput;

/* To be called before the engine starts. NULL and an error (INPUT_ERROR) when an operator does not
 * fit a cluster's memories. */
OpCosts *cost_fill(const CostFillInput *input, GError **error);

/* The folder of the cache; NULL when there shall be none. Caller frees. */
char *cost_fill_folder(void);

/* How the policy has operators made. */
OpModes cost_fill_modes(const Policy *policy);

#endif
