/* What came of one run, as figures by name: what objectives and targets are made of, what a store
 * keeps and a table of many runs shows. */
#ifndef ANALYSIS_OUTCOME_H
#define ANALYSIS_OUTCOME_H

#include "analysis/experiment.h"
#include "workloads/units.h"

typedef enum {
    FIGURE_CLUSTERS,         /* that the plan uses */
    FIGURE_MAKESPAN,         /* s */
    FIGURE_THROUGHPUT,       /* generated tokens a second */
    FIGURE_REQUEST_RATE,     /* completed requests a second */
    FIGURE_GOODPUT,          /* share of all requests (rejected ones included) within every limit */
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
    FIGURE_PREFILL_BUSY, /* shares of the time of the pools' clusters */
    FIGURE_DECODE_BUSY,
    FIGURE_BUFFER_FULL, /* share of the time in which backpressure held prefill back */
    FIGURE_COMPLETED,
    FIGURE_REJECTED,
    FIGURE_EVENTS, /* engine operations: what the run cost to simulate */
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
} OutcomeStatus;

typedef struct Outcome {
    OutcomeStatus status;
    char *reason;              /* of one that is not OK; owned */
    double figures[N_FIGURES]; /* NaN where there is none */
} Outcome;
void outcome_clear(Outcome *outcome);

/* One line of text without newline, exact (hexadecimal doubles), and back; FALSE when damaged. */
char *outcome_write(const Outcome *outcome);
gboolean outcome_parse(const char *text, Outcome *outcome);

/* Loads the experiment with overrides and simulates it in this process (once a process: it is
 * meant for children). Never fails: what goes wrong is in the outcome. */
void outcome_of_run(const char *path, const char *const *overrides, Outcome *outcome);

#endif
