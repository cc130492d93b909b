/* The latencies of several runs drawn by gnuplot: the share of completed requests that had at most
 * so much, for TTFT, TPOT and E2E side by side. */
#ifndef ANALYSIS_COMPARE_PLOT_H
#define ANALYSIS_COMPARE_PLOT_H

#include "analysis/compare/comparison.h"

/* 'path' ends in .svg or .pdf. */
gboolean compare_plot_draw(const Comparison *comparison, const char *path, GError **error);

/* The script that draws into 'output'; caller frees. */
char *compare_plot_script(const Comparison *comparison, const char *path, const char *output);

#endif
