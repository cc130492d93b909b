/* Results side by side: what was set differently, every figure of all of them with its difference
 * from the first, and the requests that each has in common with the first, one by one. */
#ifndef ANALYSIS_COMPARISON_H
#define ANALYSIS_COMPARISON_H

#include "analysis/compare/figure_key.h"
#include "analysis/compare/paired.h"
#include "analysis/compare/result_folder.h"
#include "analysis/compare/setting_changes.h"

typedef enum {
    VERDICT_NONE, /* it is missing on a side, or neither direction is better */
    VERDICT_SAME,
    VERDICT_BETTER,
    VERDICT_WORSE,
} Verdict;

typedef struct ComparedFigure {
    const char *key; /* borrowed from the first summary that has it */
    CellForm form;
    FigureDirection direction;
    double *values;    /* of each folder; NaN: none */
    gboolean *present; /* the folder's summary has the key, be it null */
    guint n;
} ComparedFigure;

typedef struct Comparison {
    ResultFolder *const *folders; /* borrowed */
    guint n;                      /* at least 2; the first is what the others are compared with */
    GPtrArray *changes;           /* SettingChange */
    GPtrArray *figures;           /* ComparedFigure, sections together */
    PairedRequests **paired;      /* of the first and each; that of the first is NULL */
    gboolean identical;           /* every setting, figure and request is the same in all */
    double threshold;             /* percent; NaN: none */
} Comparison;

/* Borrows 'folders', which must outlive it. 'threshold_percent' is NaN or at least 0. */
Comparison *comparison_new(ResultFolder *const *folders, guint n, double threshold_percent);
void comparison_free(Comparison *comparison);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Comparison, comparison_free)

/* Of the folder 'at' from the first one. NaN where either has no value. */
double compared_figure_delta(const ComparedFigure *figure, guint at);
/* The same in percent of the first one's magnitude; 0 of equal values, NaN from 0 to another. */
double compared_figure_percent(const ComparedFigure *figure, guint at);
Verdict compared_figure_verdict(const ComparedFigure *figure, guint at);
/* Worse by more than the threshold; what is worse than 0 always is. */
gboolean comparison_exceeds(const Comparison *comparison, const ComparedFigure *figure, guint at);
guint comparison_exceeding(const Comparison *comparison); /* how many do, in all folders */

/* "A" … "Z", "AA" …: what tables call a folder. Caller frees. */
char *comparison_letter(guint at);
/* The letter and the folder's own name, or the path as it was given where another folder has the
 * same name: "A  demo". Caller frees. */
char *comparison_name(const Comparison *comparison, guint at);
const char *verdict_name(Verdict verdict);             /* "better"; NULL of VERDICT_NONE */
const char *direction_name(FigureDirection direction); /* "larger"; NULL of DIRECTION_NONE */

#endif
