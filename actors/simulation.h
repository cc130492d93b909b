/* One run: builds the engine, the topology and the actors of a plan, serves the requests of a
 * source, tells observers, and keeps the ledger. One run per process: SimGrid has one engine. */
#ifndef ACTORS_SIMULATION_H
#define ACTORS_SIMULATION_H

#include "actors/kernels/kernels.h"
#include "actors/ledger.h"
#include "platforms/op_costs.h"
#include "workloads/checkpoint.h"
#include <signal.h>

/* For tests: what is done wrong on purpose, to see that it is noticed. */
typedef enum {
    NUMERICS_FAULT_NONE,
    NUMERICS_FAULT_ALL_REDUCE, /* the last rank's partial sums are left out */
    NUMERICS_FAULT_MIGRATION,  /* a layer of KV is not sent */
} NumericsFault;

/* Real numbers in the simulated steps. */
typedef struct NumericsSetup {
    const Checkpoint *checkpoint;
    guint64 seed;      /* of the prompts */
    Sampling sampling; /* its request and position are filled in for each token */
    NumericsFault fault;
    /* Generated tokens by request id, where they were computed beforehand (on the cores of a
     * wafer); NULL: the stages compute. Borrowed. */
    const guint32 *const *known;
} NumericsSetup;

typedef struct SimulationSetup {
    const Platform *platform;
    const OpCosts *costs; /* of every operator of the plan, or of a wafer's phases */
    const Model *model;
    const Policy *policy;
    const Plan *plan;
    RequestSource *source;
    Observer *const *observers;
    guint n_observers;
    const NumericsSetup *numerics; /* NULL: time only */
    gboolean fast_forward;         /* pass steps without waking an actor where nothing can change */
    double sample_interval_s;      /* 0: no samples */
    volatile sig_atomic_t *interrupted; /* set by a signal handler: stop at the next event */
} SimulationSetup;

typedef enum {
    OUTCOME_FINISHED,      /* every request completed or was rejected */
    OUTCOME_INTERRUPTED,   /* by a signal; the rest counted as dropped */
    OUTCOME_DEADLOCK,      /* nothing can happen any more; 'error' says who waits for whom */
    OUTCOME_SOURCE_FAILED, /* the trace went bad under way; 'error' says where */
} SimulationOutcome;

/* Runs to the end. Fills 'ledger' (clear it with ledger_clear). All arguments are borrowed. */
SimulationOutcome simulation_run(const SimulationSetup *setup, Ledger *ledger, GError **error);
void ledger_clear(Ledger *ledger);

/* The version of the linked SimGrid, e.g. "3.32". Caller frees. */
char *simulation_engine_version(void);

#endif
