/* Private to plan_bound: the requests of a workload as arrays, and what every plan's bounds need of
 * them. */
#ifndef ANALYSIS_BOUND_LOAD_H
#define ANALYSIS_BOUND_LOAD_H

#include "analysis/run/experiment.h"

/* Longer workloads have no bounds: what is left out then is paid in simulations. */
#define BOUND_LOAD_MAX 1000000

typedef struct BoundLoad {
    gsize n;
    guint32 *prompts, *outputs; /* tokens */
    double *arrivals_s;         /* ascending; all 0 in a closed loop */
    guint32 least_prompt, most_prompt, least_total, most_total;
    double output_tokens;
    gboolean closed_loop;
    gboolean prefixes; /* prompts may share blocks */
    gboolean uniform;  /* all of one shape, all there at time 0 */
} BoundLoad;

/* NULL without an error when the workload is too long. */
BoundLoad *bound_load_new(const Experiment *experiment, GError **error);
void bound_load_free(BoundLoad *load);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(BoundLoad, bound_load_free)

#endif
