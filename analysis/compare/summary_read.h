/* summary.json read back: every number of it by its key. */
#ifndef ANALYSIS_SUMMARY_READ_H
#define ANALYSIS_SUMMARY_READ_H

#include "analysis/run/summary_rows.h"

typedef struct SummaryFigure {
    char *key;     /* "whole.ttft.p99_s" */
    CellForm form; /* FORM_BOOL, or as the key has it */
    double value;  /* SI, as the key's unit says; 0 or 1 of a FORM_BOOL; NaN: null */
} SummaryFigure;

typedef struct SummaryFile {
    GPtrArray *figures; /* SummaryFigure, in the file's order; the cost comes last */
    char *simulated;    /* "llama-2-7b on MT-3000: prefill dp 6 pp 1 + …" */
    char *outcome;      /* "finished" … */
} SummaryFile;

/* Reads what 'infergrid simulate' wrote to 'path'. Arrays (single pools, the grids tried) are
 * passed over: their sums stand beside them. To the figures of the file comes
 * "cost.cluster_hours_per_million_tokens", as FIGURE_COST has it. What is no JSON, no summary, or
 * no finite number where one belongs is an INPUT_ERROR at its place; NULL then. */
SummaryFile *summary_read(const char *path, GError **error);
void summary_file_free(SummaryFile *summary);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SummaryFile, summary_file_free)

/* NaN where there is none. */
double summary_file_value(const SummaryFile *summary, const char *key);

#endif
