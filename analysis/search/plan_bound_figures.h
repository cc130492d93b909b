/* Private to plan_bound: from the shapes of a plan's replicas and the requests to figures. */
#ifndef ANALYSIS_PLAN_BOUND_FIGURES_H
#define ANALYSIS_PLAN_BOUND_FIGURES_H

#include "analysis/run/outcome.h"
#include "analysis/search/bound_load.h"
#include "analysis/search/bound_shape.h"

typedef enum {
    PROMPTS_ALONE,   /* a step computes one whole prompt */
    PROMPTS_WHOLE,   /* … whole prompts */
    PROMPTS_CHUNKED, /* … parts of prompts, and in a colocated replica decoding requests with them:
                        how attention is cut is not known */
    PROMPTS_CACHED   /* a prompt may have all but one token computed already */
} PromptSteps;

typedef struct Bounding {
    const Experiment *experiment;
    const BoundLoad *load;
    gboolean colocated; /* then both shapes are of the same replicas */
    BoundShape prefill, decode;
    PromptSteps steps;
    guint64 prompt_rows; /* of a step that computes prompts, at the most */
    guint64 sampled;     /* rows of the head in such a step, at the most; 0: not known */
    gboolean decode_counts;
} Bounding;

/* All figures that have a bound. */
void plan_bound_figures(const Bounding *bounding, double *figures);

#endif
