/* What came of planning, as text for people, JSON and CSV. */
#ifndef ANALYSIS_CAPACITY_REPORT_H
#define ANALYSIS_CAPACITY_REPORT_H

#include "analysis/capacity/capacity.h"

typedef struct CapacityReport {
    const char *experiment; /* as it was given */
    const CapacitySetup *setup;
    const Capacity *capacity;
} CapacityReport;

/* All of them are freed by the caller. */
char *capacity_report_text(const CapacityReport *report);
char *capacity_report_json(const CapacityReport *report);
/* A row a machine size, or a load: what was looked at, whether it holds, its plan and figures. */
char *capacity_report_sizes_csv(const CapacityReport *report);
char *capacity_report_loads_csv(const CapacityReport *report);

#endif
