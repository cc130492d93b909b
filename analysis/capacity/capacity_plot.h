/* Planning drawn by gnuplot: what each size of machine reaches, and what the chosen plan does under
 * lighter and heavier loads. */
#ifndef ANALYSIS_CAPACITY_PLOT_H
#define ANALYSIS_CAPACITY_PLOT_H

#include "analysis/capacity/capacity_report.h"

/* 'path' ends in .svg or .pdf. */
gboolean capacity_plot_sizes(const CapacityReport *report, const char *path, GError **error);
gboolean capacity_plot_loads(const CapacityReport *report, const char *path, GError **error);

#endif
