/* Before a simulation on wafers: what the phases of a request take, for any number of tokens that
 * the workload may bring. Times go up in steps, where tiles of tokens become larger; both ends of a
 * step are simulated, and a time is linear in between (as the loops over tokens are). Of many steps
 * some are simulated and the others lie on lines: those at both ends of each group of as many as a
 * vector operation has lanes, and further up of fewer and fewer groups. */
#ifndef ANALYSIS_WAFER_FILL_H
#define ANALYSIS_WAFER_FILL_H

#include "analysis/costs/wafer_cost.h"
#include "platforms/wafer_times.h"
#include "policies/plan.h"

typedef struct WaferFillInput {
    WaferCosts *costs; /* of the platform; takes up what is simulated */
    const Platform *platform;
    const Model *model;
    const Plan *plan;
    guint32 most_prompt; /* tokens */
    guint32 most_context;
} WaferFillInput;

/* NULL and INPUT_ERROR where the plan's grids cannot be simulated. */
WaferTimes *wafer_fill(const WaferFillInput *input, GError **error);

#endif
