/* Figures of runs in reports: as axes of charts and as columns of tables. */
#ifndef ANALYSIS_REPORT_FIGURES_H
#define ANALYSIS_REPORT_FIGURES_H

#include "analysis/report/report_page.h"
#include "analysis/run/outcome.h"

/* Its name and unit; shares in percent. */
ReportAxis report_figure_axis(Figure figure);
/* A value in the axis' unit; NaN stays NaN. */
double report_figure_value(Figure figure, double value);

/* As objective_text, but clusters without their unit. Caller frees. */
char *report_figure_text(Figure figure, double value);

/* A table of figures: 'head' (NULL-terminated) names the columns before the figures'. */
typedef struct ReportFigures ReportFigures;
ReportFigures *report_figures_new(const char *const *head, const Figure *figures, guint n);
/* A row: texts for the head's columns (NULL-terminated, copied), then the figures (N_FIGURES), "-"
 * where there is none. */
void report_figures_row(ReportFigures *table, const char *const *head, const double *figures);
/* Adds it to the page, and frees it. Without rows nothing is added. */
void report_figures_end(ReportFigures *table, ReportPage *page, const char *title, gboolean folded);

/* Figures by name and value, for a point's label: "throughput 272 tokens/s\nttft_p99 7.3 s". The
 * first line is 'head', which may be NULL. Caller frees. */
char *report_figures_label(const char *head, const Figure *figures, guint n, const double *values);

#endif
