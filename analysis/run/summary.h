/* The answers of a run, for people (an aligned table with units) and for programs (summary.json).
 * Both come from one list of rows, so that they cannot disagree. */
#ifndef ANALYSIS_SUMMARY_H
#define ANALYSIS_SUMMARY_H

#include "actors/simulation.h"
#include "analysis/run/experiment.h"
#include "analysis/run/metrics.h"
#include "analysis/run/token_check.h"
#include "analysis/run/wafer_numbers.h"

typedef struct SummaryInput {
    const Experiment *experiment;
    const Ledger *ledger;
    const Metrics *metrics;
    SimulationOutcome outcome;       /* a partial summary is marked as such */
    const TokenCheckResult *numbers; /* NULL: not verified */
    const WaferNumbers *on_cores;    /* NULL: no numbers, or not on wafers */
} SummaryInput;

char *summary_table(const SummaryInput *input); /* caller frees */
char *summary_json(const SummaryInput *input);  /* caller frees; ends with a newline */

/* Energy of the run in joules: Σ over the plan's clusters of idle power · makespan + (busy − idle)
 * power · busy time, plus node power · makespan for every node that the plan touches. */
double summary_energy_joules(const Experiment *experiment, const Ledger *ledger);

#endif
