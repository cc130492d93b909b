/* A published table of operator times beside simulated ones, cell by cell. What was published is
 * read from analysis/reference and is compared, never simulated from. */
#ifndef ANALYSIS_REPRODUCTION_H
#define ANALYSIS_REPRODUCTION_H

#include "analysis/operators/operator_run.h"

typedef enum { TABLE_LINEAR, TABLE_ATTENTION, N_PUBLISHED_TABLES } PublishedTable;
extern const char *const published_table_names[]; /* "table8", "table9", NULL-terminated */

typedef struct PublishedCell {
    const char *name;    /* "FP32", "mt"; borrowed from the reproduction */
    guint64 row, column; /* table 8: S and outputs; table 9: heads and S */
    double published_s, simulated_s;
    gboolean calibrated;     /* a number of the platform was fitted to it */
    const char *unexplained; /* why no model of this kind gives it; NULL: it might. Static text */
    OperatorSpec spec;
} PublishedCell;

typedef struct Reproduction {
    PublishedTable table;
    GPtrArray *names; /* char * */
    GArray *cells;    /* PublishedCell, in the order of the file */
    guint n_columns;
} Reproduction;

/* Reads the table and simulates every cell. */
Reproduction *reproduction_new(PublishedTable table, const Platform *platform, GError **error);
void reproduction_free(Reproduction *reproduction);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Reproduction, reproduction_free)

/* Relative error of a cell, with its sign. */
double reproduction_error(const PublishedCell *cell);

typedef struct ErrorSummary {
    guint cells;
    double median, mean, worst; /* of the magnitudes */
    guint above_20_percent;
} ErrorSummary;
/* Of the predicted cells: those that nothing was calibrated on, the unexplained ones included. */
ErrorSummary reproduction_errors(const Reproduction *reproduction);

/* Pairs of cells that the paper's conclusions rest on: FP16 before FP32 (table 8), MT before Flash
 * before unfused attention (table 9). How many there are and how many keep their order. */
typedef struct OrderingSummary {
    guint pairs, kept;
} OrderingSummary;
OrderingSummary reproduction_orderings(const Reproduction *reproduction);

#endif
