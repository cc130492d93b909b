/* The report of a sweep: its runs against each other, and over each varied key. */
#ifndef ANALYSIS_REPORT_SWEEP_H
#define ANALYSIS_REPORT_SWEEP_H

#include "analysis/campaign/sweep_report.h"

gboolean report_sweep_write(const SweepResult *result, const char *path, GError **error);

#endif
