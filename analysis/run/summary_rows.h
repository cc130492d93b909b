/* The figures of a run as a list of rows, from which both the table and summary.json are made. */
#ifndef ANALYSIS_SUMMARY_ROWS_H
#define ANALYSIS_SUMMARY_ROWS_H

#include "analysis/run/summary.h"

typedef enum {
    FORM_COUNT, /* 'count' */
    FORM_REAL,  /* 'number' and those below */
    FORM_SECONDS,
    FORM_BYTES,
    FORM_JOULES,
    FORM_SHARE, /* 0 … 1 */
    FORM_BOOL,  /* 'count' is 0 or 1 */
    FORM_TEXT,
    FORM_NONE, /* there is no such figure in this run: null */
} CellForm;

typedef struct SummaryCell {
    const char *key;     /* in summary.json; ends in its unit */
    const char *heading; /* of its column, in a row of several cells; NULL: not in the table */
    CellForm form;
    const char *unit; /* in the table, after COUNT and REAL; may be NULL */
    guint64 count;
    double number;
    char *text; /* owned by the rows */
} SummaryCell;

/* One cell: "label  value unit" and a member of its section. Several: a line of columns and an
 * object called 'key' (in an array, one without name). */
typedef struct SummaryRow {
    const char *key;
    char *label;   /* NULL: not in the table */
    GArray *cells; /* SummaryCell */
} SummaryRow;

typedef struct SummarySection {
    const char *key; /* NULL: its members stand at the top of summary.json */
    char *title;     /* NULL: not in the table */
    gboolean array;  /* rows are the elements of an array */
    GPtrArray *rows; /* SummaryRow, owned */
} SummarySection;

typedef struct SummaryRows {
    GPtrArray *sections; /* SummarySection, owned */
} SummaryRows;

/* A cell as tables for people show it: "6.467 ms", "64.1 %". Caller frees. */
char *summary_cell_format(const SummaryCell *cell);

SummaryRows *summary_rows_new(const SummaryInput *input);
void summary_rows_free(SummaryRows *rows);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SummaryRows, summary_rows_free)

/* What was simulated in one line: "7b on mt3000: 2 × prefill dp 4 pp 1 + …". Caller frees. */
char *summary_plan_line(const Experiment *experiment);
/* On how much of the machine, in which grain, from which seed. Caller frees. */
char *summary_extent_line(const Experiment *experiment);
const char *summary_grain_name(Grain grain);

/* For the collectors: a new section at the end, a new row at its end, a new cell at its end.
 * 'title' and 'label' are copied, keys and headings are static text. */
SummarySection *summary_section_add(SummaryRows *rows, const char *key, const char *title);
SummaryRow *summary_row_add(SummarySection *section, const char *key, const char *label);
void summary_cell_add(SummaryRow *row, SummaryCell cell);
/* A row of one cell. */
void summary_value_add(SummarySection *section, const char *label, SummaryCell cell);

/* The sections on the machine's side: pools, buffers, network, energy. */
void summary_resources_add(SummaryRows *rows, const SummaryInput *input);
/* How wafers were used, and which grids were tried; nothing on other platforms. */
void summary_wafers_add(SummaryRows *rows, const SummaryInput *input);
/* The section on verified tokens; nothing for NULL. */
void summary_numbers_add(SummaryRows *rows, const TokenCheckResult *check);

#endif
