/* Real numbers in a run: what the keys of the section 'output' ask for, checked, and the weights
 * made ready before the simulation starts. */
#ifndef ANALYSIS_NUMBERS_H
#define ANALYSIS_NUMBERS_H

#include "actors/simulation.h"
#include "analysis/run/experiment.h"

/* Checks the keys about numbers against each other, the policy, the model and this machine's
 * memory, and makes the checkpoint's path absolute. Policy and model have been read. */
gboolean numbers_resolve(Experiment *experiment, const ExperimentFile *file, GError **error);

/* The weights, from the checkpoint or the seed. Caller frees. */
Checkpoint *numbers_weights(const Experiment *experiment, GError **error);

/* What the simulation is given; borrows 'weights'. */
NumericsSetup numbers_setup(const Experiment *experiment, const Checkpoint *weights);

#endif
