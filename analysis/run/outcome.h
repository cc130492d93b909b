/* What came of one run, as figures by name: what objectives and targets are made of, what a store
 * keeps and a table of many runs shows. */
#ifndef ANALYSIS_OUTCOME_H
#define ANALYSIS_OUTCOME_H

#include "actors/simulation.h"
#include "analysis/run/experiment.h"
#include "analysis/run/metrics.h"
#include "workloads/units.h"

/* Rates, goodput, cost and latencies are of the steady state where the experiment cuts a warm-up or
 * cool-down, else of the whole run; makespan, energy, shares of time and counts of the whole. */
typedef enum {
    FIGURE_CLUSTERS,         /* that the plan uses */
    FIGURE_MAKESPAN,         /* s */
    FIGURE_THROUGHPUT,       /* generated tokens a second */
    FIGURE_REQUEST_RATE,     /* completed requests a second */
    FIGURE_GOODPUT,          /* share of all requests (rejected ones included) within every limit;
                                none without limits */
    FIGURE_GOODPUT_RATE,     /* such requests a second */
    FIGURE_COST,             /* cluster-hours per million generated tokens */
    FIGURE_ENERGY,           /* J */
    FIGURE_ENERGY_PER_TOKEN, /* J a generated token */
    FIGURE_TTFT_MEAN,
    FIGURE_TTFT_P50,
    FIGURE_TTFT_P90,
    FIGURE_TTFT_P99,
    FIGURE_TPOT_MEAN,
    FIGURE_TPOT_P50,
    FIGURE_TPOT_P90,
    FIGURE_TPOT_P99,
    FIGURE_E2E_MEAN,
    FIGURE_E2E_P50,
    FIGURE_E2E_P90,
    FIGURE_E2E_P99,
    FIGURE_QUEUEING_MEAN,
    FIGURE_PREFILL_BUSY, /* shares of the time of the pools' clusters; colocated ones are both */
    FIGURE_DECODE_BUSY,
    FIGURE_BUFFER_FULL, /* share of the time in which backpressure held prefill back */
    FIGURE_COMPLETED,
    FIGURE_REJECTED,
    FIGURE_EVENTS,       /* engine operations: what the run cost to simulate */
    FIGURE_SLOTS_NEEDED, /* with so many slots or any more, the run would be the same to the last
                            event; more than the plan has where its slots held requests back */
    N_FIGURES
} Figure;

typedef struct FigureInfo {
    const char *name; /* "ttft_p99": in options, columns and JSON, with the unit "ttft_p99_s" */
    const char *column;
    Dimension dimension;
    gboolean larger_is_better;
    gboolean is_objective;
} FigureInfo;
const FigureInfo *figure_info(Figure figure);
/* −1 when there is none of that name. */
int figure_find(const char *name);

typedef enum {
    OUTCOME_OK,
    OUTCOME_REFUSED, /* the plan does not fit, or the experiment is wrong: 'reason' says why */
    OUTCOME_BROKEN,  /* deadlock, violated invariant, crash, timeout */
    OUTCOME_CUT,     /* ended by its watch: the figures are what the run could not have been better
                        than, but for events and slots needed, which are those up to then */
} OutcomeStatus;

typedef struct Outcome {
    OutcomeStatus status;
    char *reason;              /* of one that is not OK; owned */
    double figures[N_FIGURES]; /* NaN where there is none */
} Outcome;
void outcome_init(Outcome *outcome); /* OK, without any figure */
void outcome_clear(Outcome *outcome);
/* Makes 'outcome', which must be initialised, one of another status; 'reason' is copied. */
void outcome_fail(Outcome *outcome, OutcomeStatus status, const char *reason);
const char *outcome_status_name(OutcomeStatus status); /* "ok", "refused", "broken", "cut" */

/* One line of text without newline or tab, exact (the shortest decimals that read back to the same
 * doubles), caller frees; and back into an outcome that is not yet initialised: FALSE when damaged.
 */
char *outcome_write(const Outcome *outcome);
gboolean outcome_parse(const char *text, Outcome *outcome);

/* The figures of a sound run. 'outcome' need not be initialised. */
void outcome_fill(Outcome *outcome, const Experiment *experiment, const Ledger *ledger,
                  const Metrics *metrics);

/* Whether a run whose figures can be no better than these (N_FIGURES; NaN: unknown) is of no use.
 * Where it is so for some figures it is so for all that are worse. */
typedef gboolean (*RunUseless)(gconstpointer data, const double *figures);

/* What may end a run early: an observer that, with 'ended', leaves the best figures that the whole
 * run could have had. */
typedef struct RunWatch {
    Observer observer;
    volatile sig_atomic_t ended;
    double figures[N_FIGURES]; /* NaN where nothing is known */
} RunWatch;

/* Simulates an experiment that is loaded, with its operators' times, in this process (once a
 * process: it is meant for children), time only even where numerics are on. 'watch' may be NULL.
 * Never fails: what goes wrong is in the outcome, which need not be initialised. */
void outcome_of_experiment(const Experiment *experiment, const OpCosts *costs, RunWatch *watch,
                           Outcome *outcome);

#endif
