/* A published table beside simulated figures, cell by cell: the one shape that every reproduced
 * table and figure has. What was published is read from analysis/reference and is compared, never
 * simulated from. */
#ifndef ANALYSIS_REPRODUCTION_H
#define ANALYSIS_REPRODUCTION_H

#include <glib.h>

typedef enum {
    CELL_CALIBRATED = 1 << 0,   /* a number of the model was fitted to it: no prediction */
    CELL_UNEXPLAINED = 1 << 1,  /* no model of this kind gives it, as the note says; it counts */
    CELL_CONTRADICTED = 1 << 2, /* other published figures deny it, as the note says; left out */
    CELL_CHOSEN = 1 << 3, /* a plan or reading was chosen with it in sight, as the note says: less
                             than a prediction; it counts */
} CellMark;

/* A published figure and what was simulated for it. A figure is a number, or "out of memory", or
 * missing: NaN without 'oom'. All texts are borrowed from the reproduction or static. */
typedef struct ReproducedCell {
    const char *series; /* what errors are summed up by: "FP16", "WaferLLM" */
    const char *row, *column;
    const char *unit;
    double published, simulated;
    gboolean published_oom, simulated_oom;
    guint marks;        /* CellMark */
    const char *note;   /* of its marks, or why it is not simulated; NULL: none */
    const char *detail; /* how it was simulated; NULL: nothing to tell */
} ReproducedCell;

/* Something that a paper says and simulations keep or do not, 'of' times looked at. */
typedef struct ReproducedClaim {
    const char *text, *found; /* found: what was simulated; NULL: nothing to tell */
    guint of, kept;
} ReproducedClaim;

typedef struct Reproduction {
    const char *name, *paper, *title; /* static texts: "table8", "THInfer" … */
    gboolean derived;                 /* it follows from another table and counts with that one */
    double margin;                    /* by what share published figures must differ for their
                                         order to be a claim */
    GArray *cells;                    /* ReproducedCell */
    GArray *claims;                   /* ReproducedClaim */
    GPtrArray *remarks;               /* const char *: what holds for the whole table */
    GStringChunk *texts;
} Reproduction;
Reproduction *reproduction_new(const char *name);
void reproduction_free(Reproduction *reproduction);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Reproduction, reproduction_free)

/* A text that lives as long as the reproduction. */
const char *reproduction_text(Reproduction *reproduction, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void reproduction_add(Reproduction *reproduction, ReproducedCell cell);
const ReproducedCell *reproduction_cell(const Reproduction *reproduction, guint index);
/* Adds the claims that the cells themselves make: in which order the series stand in each row and
 * column where they differ by more than 'margin', and where memory does not suffice. */
void reproduction_judge(Reproduction *reproduction);

/* Relative error with its sign; NaN where either figure is no number. */
double reproduced_cell_error(const ReproducedCell *cell);
/* Whether its error is one of a prediction: unmarked and unexplained cells. */
gboolean reproduced_cell_counts(const ReproducedCell *cell);

/* Whether all cells and claims of 'a' and 'b', the same table, came out the same to the last digit.
 */
gboolean reproduction_is_same(const Reproduction *a, const Reproduction *b);
/* Claims looked at and kept, all together. */
void reproduction_count_claims(const Reproduction *reproduction, guint *of, guint *kept);

/* Errors in magnitude of predicted cells; NaN where there are none. */
typedef struct ErrorSummary {
    const char *series, *unit; /* NULL: of all */
    guint cells;
    double median, worst;
} ErrorSummary;
/* ErrorSummary for each series and unit that has predicted cells, in order of appearance. The
 * caller unrefs. */
GArray *reproduction_errors(const Reproduction *reproduction);
/* Over some reproductions. */
ErrorSummary reproduction_error_of(const Reproduction *const *reproductions, guint n);

#endif
