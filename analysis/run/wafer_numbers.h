/* The numbers of a run on wafers. A wafer's serving steps are times of operators that were
 * simulated apart, so the tokens come from a simulation beside it: every request through the whole
 * model on a mesh of the policy's grid, core by core, before the run begins. */
#ifndef ANALYSIS_WAFER_NUMBERS_H
#define ANALYSIS_WAFER_NUMBERS_H

#include "actors/simulation.h"
#include "analysis/run/experiment.h"

typedef struct WaferNumbers WaferNumbers;
/* Simulates all requests of the workload, one after another, in a process of its own. INPUT_ERROR
 * where the cores have no room. Caller frees. */
WaferNumbers *wafer_numbers_new(const Experiment *experiment, const NumericsSetup *numerics,
                                GError **error);
void wafer_numbers_free(WaferNumbers *numbers);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(WaferNumbers, wafer_numbers_free)

/* Generated tokens by request, for NumericsSetup. Borrowed. */
const guint32 *const *wafer_numbers_tokens(const WaferNumbers *numbers);
/* What the cores took, in seconds, over all requests: for prompts with their first tokens, and for
 * the other tokens. */
double wafer_numbers_prefill_seconds(const WaferNumbers *numbers);
double wafer_numbers_decode_seconds(const WaferNumbers *numbers);

/* Whether the experiment's policy and model can be computed so: both phases on one grid, and what
 * mesh_model_check asks. 'place' begins the message. */
gboolean wafer_numbers_check(const Policy *policy, const Model *model, const YamlNode *place,
                             GError **error);

#endif
