/* The timeline of a report: a sink that keeps the first slices singly, as many as a page can hold,
 * and ends the events of steps when it is full, so that fast-forward goes on from there. What comes
 * later is shown by how busy each stage was. */
#ifndef ANALYSIS_REPORT_SLICES_H
#define ANALYSIS_REPORT_SLICES_H

#include "analysis/report/report_series.h"
#include "analysis/timeline/trace_sink.h"

#define REPORT_SLICES_MAX 8000
#define REPORT_BLOCKS_MAX 5600 /* of shares of busy time */
#define REPORT_LANES_MAX 96    /* more than that are left out, and counted */

/* Lanes are named by 'plan', which must outlive it. */
TraceSink *report_slices_new(const Plan *plan);
/* The observer that feeds it, whose wishes end when it is full. */
void report_slices_watch(TraceSink *sink, Observer *observer);
/* The item of a page; 'series' is finished. Caller frees. */
char *report_slices_json(const TraceSink *sink, const ReportSeries *series);

#endif
