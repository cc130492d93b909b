/* How far the errors of reproduced tables hang on numbers that nobody published: each such number
 * of a table's machines at both ends of its plausible range, the others as they are. */
#ifndef ANALYSIS_SENSITIVITY_H
#define ANALYSIS_SENSITIVITY_H

#include "analysis/reproduce/reproduction_tables.h"

/* What a table comes to. */
typedef struct SensitivityOutcome {
    ErrorSummary error; /* of all predicted cells */
    guint claims, kept;
} SensitivityOutcome;

typedef struct SensitivityEnd {
    char *value;   /* "0.25 GB/s" */
    char *refused; /* why the table cannot be simulated with it; NULL: it can */
    SensitivityOutcome outcome;
} SensitivityEnd;

typedef struct SensitivityRow {
    char *machine, *key, *shipped; /* "MT-3000", "network.port.bandwidth", "1 GB/s" */
    SensitivityEnd low, high;
    gboolean moves; /* some cell or claim came out otherwise */
} SensitivityRow;

typedef struct SensitivityTable {
    const char *name, *title; /* static texts */
    SensitivityOutcome shipped;
    GArray *rows; /* SensitivityRow; what moves the median error most first */
} SensitivityTable;

/* Simulates the table twice a number. 'setup' as for reproduction_make. An INPUT_ERROR as there,
 * and for sources whose plausible range cannot be read. */
SensitivityTable *sensitivity_new(const TableKind *kind, const ReproduceSetup *setup,
                                  GError **error);
void sensitivity_free(SensitivityTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SensitivityTable, sensitivity_free)

/* How far a number moves the median error, or the worst where there is no other; NaN: unknown. */
double sensitivity_move(const SensitivityTable *table, const SensitivityRow *row);

/* For people and for programs; 'all' is of SensitivityTable *. Callers free. */
char *sensitivity_text(const SensitivityTable *table);
char *sensitivity_csv(const GPtrArray *all);
char *sensitivity_json(const GPtrArray *all);

/* Draws, a panel a table, the median error between the ends of each number that moves it, into
 * 'path' (.svg or .pdf). */
gboolean sensitivity_plot(const GPtrArray *all, const char *path, GError **error);

#endif
