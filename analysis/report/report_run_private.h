/* The sections of a run's report, one function each. */
#ifndef ANALYSIS_REPORT_RUN_PRIVATE_H
#define ANALYSIS_REPORT_RUN_PRIVATE_H

#include "analysis/report/report_page.h"
#include "analysis/report/report_series.h"
#include "analysis/run/summary.h"

/* Headline figures and the summary's tables. */
void report_run_overview(ReportPage *page, const SummaryInput *input);
void report_run_tables(ReportPage *page, const SummaryInput *input);
/* Distributions and CDFs of the latencies, with their limits. */
void report_run_latencies(ReportPage *page, const SummaryInput *input);
/* Throughput and requests over time. */
void report_run_load(ReportPage *page, const SummaryInput *input, const ReportSeries *series);
/* Busy shares, memory, network and power over time. */
void report_run_machine(ReportPage *page, const SummaryInput *input, const ReportSeries *series);

/* What the machine is made of, in plural: "clusters", "wafers" or "GPUs". */
#define REPORT_ELEMENTS(INPUT) platform_elements_name((INPUT)->experiment->platform->kind, 0)

/* An axis of simulated time. */
#define REPORT_TIME_AXIS REPORT_AXIS_FROM_ZERO("simulated time", REPORT_UNIT_SECONDS)

#endif
