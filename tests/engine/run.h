/* Runs an experiment in a child process (SimGrid has one engine a process) and hands back what
 * happened: the ledger's figures and every request's dates. */
#ifndef TESTS_ENGINE_RUN_H
#define TESTS_ENGINE_RUN_H

#include "actors/simulation.h"
#include "analysis/run/experiment.h"

#define RUN_MAX_REQUESTS 20000
#define RUN_MAX_STAGES 64
#define RUN_MAX_TOKEN_ROWS 256
#define RUN_MAX_TOKENS 64 /* of a request, kept with numerics on */

typedef struct RunStage {
    guint replica;
    ReplicaRole role;
    StageTotals totals;
} RunStage;

typedef struct RunResult {
    SimulationOutcome outcome;
    char message[1024]; /* of an error, or the invariant violated; "" */
    Ledger ledger;      /* its pointers are NULL; what they held is below */
    guint n_stages;
    RunStage stages[RUN_MAX_STAGES];
    double kv_peak_bytes[RUN_MAX_STAGES];                  /* a replica */
    double buffer_mean_bytes, buffer_peak_bytes, paused_s; /* of pool 0 */
    double joules;
    guint64 event_hash; /* over every event's kind, date and request, in order */
    guint glimpsed_steps, glimpsed_samples;             /* by that other observer */
    guint n_requests;                                   /* that ended, in order of their end */
    ServedRequest requests[RUN_MAX_REQUESTS];           /* their pointers are NULL */
    guint32 tokens[RUN_MAX_TOKEN_ROWS][RUN_MAX_TOKENS]; /* of the first of them, generated */
} RunResult;

typedef struct RunOptions {
    const char *const *overrides; /* as for --set, NULL-terminated; may be NULL */
    gboolean stepping;            /* no fast-forward */
    gboolean watch_steps;         /* an observer asks for every step and transfer */
    double sample_interval_s;
    guint glimpse_steps; /* another observer asks for so many steps, and no more; takes samples at
                            dates of its own */
    gboolean numerics;   /* real numbers, weights seeded by the experiment's seed */
    NumericsFault fault;
    guint interrupt_after_events;           /* as if a signal came then; 0: never */
    void (*tamper)(Experiment *experiment); /* changes the experiment before the run */
} RunOptions;

/* The experiment of a text (YAML). Fails the test when it is not valid. */
Experiment *experiment_of(const char *text, const char *const *overrides);

/* The operator costs of its plan; fails the test when they cannot be had. */
OpCosts *costs_of(const Experiment *experiment);

/* Runs the experiment text. The result is shared memory; free it with run_free. Fails the
 * test when the experiment itself is not valid. 'options' may be NULL. */
RunResult *run_experiment(const char *text, const RunOptions *options);
void run_free(RunResult *result);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RunResult, run_free)

/* Also asserts that the run finished and that no invariant was violated. */
RunResult *run_well(const char *text, const RunOptions *options);

/* |a − b| ≤ relative · max(|a|, |b|). */
void assert_close(double a, double b, double relative);

#endif
