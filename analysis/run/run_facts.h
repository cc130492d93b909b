/* run.json: what belongs to the host and the hour rather than to the experiment, and is therefore
 * no part of "same experiment, same bytes": wall time, speed, memory, versions. */
#ifndef ANALYSIS_RUN_FACTS_H
#define ANALYSIS_RUN_FACTS_H

#include "actors/simulation.h"

typedef struct RunFacts {
    gint64 date_us;       /* wall clock at the start, microseconds since 1970 */
    gint64 started_us;    /* monotonic clock at the start of the command */
    gint64 simulation_us; /* … when the simulation began */
    gint64 finished_us;   /* … when the simulation ended */
} RunFacts;

RunFacts run_facts_begin(void);             /* at the start of the command */
void run_facts_simulation(RunFacts *facts); /* just before simulation_run */
void run_facts_finish(RunFacts *facts);     /* just after it */

/* All that was given to the engine: what a run costs to simulate, on any host. */
guint64 run_facts_activities(const Ledger *ledger);
char *run_facts_json(const RunFacts *facts, const Ledger *ledger); /* caller frees */
/* One line for standard error, without newline; caller frees. */
char *run_facts_line(const RunFacts *facts, const Ledger *ledger);

#endif
