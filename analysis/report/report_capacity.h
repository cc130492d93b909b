/* The report of planning: the answer, what each size of machine reaches, the headroom, and what
 * holds it back. */
#ifndef ANALYSIS_REPORT_CAPACITY_H
#define ANALYSIS_REPORT_CAPACITY_H

#include "analysis/capacity/capacity_report.h"

/* 'best' is the chosen plan's experiment, or NULL where there is none. */
gboolean report_capacity_write(const CapacityReport *report, const char *best, const char *path,
                               GError **error);

#endif
