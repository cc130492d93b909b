/* What requests went through: the dates of some hundred of them, spread evenly over all. */
#ifndef ANALYSIS_REPORT_PHASES_H
#define ANALYSIS_REPORT_PHASES_H

#include "actors/event.h"

#define REPORT_REQUESTS_MAX 400

typedef struct ReportPhases ReportPhases;
ReportPhases *report_phases_new(void);
void report_phases_free(ReportPhases *phases); /* NULL is fine */
Observer *report_phases_observer(ReportPhases *phases);
guint report_phases_count(const ReportPhases *phases);
/* The item of a page. Caller frees. */
char *report_phases_json(const ReportPhases *phases, double end_s);

#endif
