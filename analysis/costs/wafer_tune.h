/* The grids of a wafer, where the policy leaves them open: those that serve a request of the
 * workload's average lengths soonest. Each phase has its own: cores are few in a small grid, and
 * far from each other in a large one. */
#ifndef ANALYSIS_WAFER_TUNE_H
#define ANALYSIS_WAFER_TUNE_H

#include "analysis/costs/wafer_cost.h"
#include "policies/wafer_use.h"
#include "workloads/request_source.h"

typedef struct WaferTuneInput {
    WaferCosts *costs; /* takes up what is simulated */
    const MeshSpec *mesh;
    const Model *model;
    WaferSpec spec; /* grids and regions of 0 are to be chosen */
    guint64 max_context;
    guint32 mean_prompt, mean_output; /* tokens, each at least 1 */
} WaferTuneInput;

/* A pair of grids and what a request of the average lengths takes on it. */
typedef struct WaferCandidate {
    guint prefill_grid, decode_grid, regions;
    double prefill_s, transition_s;
    double decode_s;  /* of one token, halfway through the output */
    double request_s; /* prefill + transition + (outputs − 1) · decode */
} WaferCandidate;

/* Square grids in steps of 30 cores a side and the largest that the wafer has room for, as far as
 * memory allows (wafer_use.h): each phase by itself on every fourth, then around the best of them;
 * then the best two of each phase in pairs. The pairs, quickest first and then by size; the first
 * is the choice. NULL and INPUT_ERROR where no grid fits. GArray of WaferCandidate; the caller
 * unrefs. */
GArray *wafer_tune(const WaferTuneInput *input, GError **error);

/* The input's averages. */
guint32 wafer_tune_mean(guint64 tokens, guint64 requests);

#endif
