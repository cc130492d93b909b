/* The course of a run, in at most some hundred samples however long it takes: samples begin a
 * microsecond apart, and whenever there are too many every second one is dropped and the distance
 * doubled. Needs no steps, so fast-forward stays on. */
#ifndef ANALYSIS_REPORT_SERIES_H
#define ANALYSIS_REPORT_SERIES_H

#include "actors/ledger.h"

#define REPORT_SAMPLES_MAX 401

/* The state at one date; sent bytes since the beginning. */
typedef struct ReportSample {
    SimulationSample state;
    double sent_bytes[N_PURPOSES];
} ReportSample;

typedef struct ReportSeries ReportSeries;
/* 'ledger' is the one that the run keeps; both must outlive it. */
ReportSeries *report_series_new(const Plan *plan, const Ledger *ledger);
void report_series_free(ReportSeries *series); /* NULL is fine */
Observer *report_series_observer(ReportSeries *series);
/* The last sample, at the run's end. To be called before what follows. */
void report_series_finish(ReportSeries *series);

guint report_series_count(const ReportSeries *series);
const ReportSample *report_series_at(const ReportSeries *series, guint i);
/* The time between samples i − 1 and i (i ≥ 1), and the date in its middle. */
double report_series_span_s(const ReportSeries *series, guint i);
double report_series_middle_s(const ReportSeries *series, guint i);
/* The share of the time between samples i − 1 and i (i ≥ 1) in which a stage was busy. Steps are
 * booked when they end: what does not fit into that time is taken to lie right before it. */
double report_series_busy(const ReportSeries *series, guint i, guint replica, guint stage);

#endif
