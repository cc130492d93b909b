/* Requests out of a seed: arrivals and lengths drawn from streams of their own, so that a change of
 * one leaves the others as they are. */
#ifndef WORKLOADS_TRACES_SYNTHETIC_H
#define WORKLOADS_TRACES_SYNTHETIC_H

#include "workloads/traces/arrivals.h"
#include "workloads/traces/lengths.h"

typedef struct SyntheticSpec {
    guint64 requests; /* in total */
    ArrivalSpec arrivals;
    LengthSpec prompt, output;
} SyntheticSpec;

/* One request, before caps and time scale. */
typedef struct SyntheticRow {
    double arrival_s;
    guint32 prompt_tokens, output_tokens;
} SyntheticRow;

typedef struct SyntheticRows SyntheticRows;
SyntheticRows *synthetic_rows_new(const SyntheticSpec *spec, guint64 seed); /* copies 'spec' */
void synthetic_rows_free(SyntheticRows *rows);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SyntheticRows, synthetic_rows_free)

/* The next arrival from outside; FALSE at the end. */
gboolean synthetic_rows_next(SyntheticRows *rows, SyntheticRow *row);
/* Closed loop: what a user sends after an end, arrival_s being the thinking time; FALSE when all
 * requests are out, or for another process. */
gboolean synthetic_rows_after_end(SyntheticRows *rows, SyntheticRow *row);

#endif
