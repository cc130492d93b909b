/* The report of one simulation: what its observers collect, and the page that is made of it. */
#ifndef ANALYSIS_REPORT_RUN_H
#define ANALYSIS_REPORT_RUN_H

#include "analysis/report/report_page.h"
#include "analysis/run/summary.h"

typedef struct ReportRun ReportRun;
/* Both must outlive it; 'ledger' is the one that the run keeps. */
ReportRun *report_run_new(const Experiment *experiment, const Ledger *ledger);
void report_run_free(ReportRun *run);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ReportRun, report_run_free)
/* Adds its observers (Observer *, which it owns) to those of the run. They ask for steps only until
 * the timeline is full. */
void report_run_observe(ReportRun *run, GPtrArray *observers);
/* After the run: the page as one HTML file. */
gboolean report_run_write(ReportRun *run, const SummaryInput *summary, const char *path,
                          GError **error);

#endif
