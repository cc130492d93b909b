/* What must hold at the end of every run, whatever was simulated. */
#ifndef ANALYSIS_INVARIANTS_H
#define ANALYSIS_INVARIANTS_H

#include "actors/simulation.h"

/* NULL when all hold; otherwise the name of the first one violated and its two figures, e.g.
 * "tokens in = tokens out + dropped: 4096 is not 4095". Caller frees. 'facts' may be NULL.
 * Checked: each request ended exactly once; tokens; KV freed = allocated (replicas, buffers);
 * Little's law on the queue; bytes sent = received by purpose; busy time within the run; something
 * happened at all. */
char *invariants_violated(const Ledger *ledger, SimulationOutcome outcome);

#endif
