/* The parts of a comparison's report, one function each. */
#ifndef ANALYSIS_REPORT_COMPARE_PRIVATE_H
#define ANALYSIS_REPORT_COMPARE_PRIVATE_H

#include "analysis/compare/comparison.h"
#include "analysis/report/report_page.h"

/* Distributions of the latencies of all runs, over each other. */
void report_compare_latencies(ReportPage *page, const Comparison *comparison);
/* Requests that a run has in common with the first: how much slower each became. */
void report_compare_paired(ReportPage *page, const Comparison *comparison);
/* Every figure of all runs, a table for each section of the summary. */
void report_compare_figures(ReportPage *page, const Comparison *comparison);

/* The value with its unit: "306 tokens/s". Caller frees. */
char *report_compare_value(const ComparedFigure *figure, guint at);
/* "+77.7 % worse", "0 %", from 0 "worse" alone. Caller frees. */
char *report_compare_change(const ComparedFigure *figure, guint at);

/* Rows of texts, for report_page_table; the free function of such an array is set. */
GPtrArray *report_compare_rows(void);
/* Adds 'text' to a row, and frees it. */
void report_compare_put(GStrvBuilder *row, char *text);

#endif
