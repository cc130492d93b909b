#include "analysis/report/report_series.h"

#include <math.h>

/* A power of two, so that all dates are exact. */
#define FIRST_INTERVAL_S (1.0 / (1 << 20))

struct ReportSeries {
    Observer observer;
    const Plan *plan;
    const Ledger *ledger;
    double interval_s;
    guint n_stages;     /* of all replicas */
    guint *first_stage; /* of a replica, among all */
    GArray *samples;    /* ReportSample */
    GArray *busy; /* double, n_stages a sample: busy seconds so far; once finished the shares of
                     the time since the sample before */
};

static void append_busy(ReportSeries *series) {
    for (guint i = 0; i < series->plan->n_replicas; i++) {
        const ReplicaTotals *totals = &series->ledger->replicas[i];
        for (guint stage = 0; stage < totals->n_stages; stage++)
            g_array_append_val(series->busy, totals->stages[stage].busy_s);
    }
}

static double *busy_at(const ReportSeries *series, guint i) {
    return &g_array_index(series->busy, double, (gsize)i * series->n_stages);
}

/* Every second sample goes. */
static void thin_out(ReportSeries *series) {
    guint kept = (series->samples->len + 1) / 2;
    for (guint i = 1; i < kept; i++) {
        g_array_index(series->samples, ReportSample, i) =
            g_array_index(series->samples, ReportSample, 2 * (gsize)i);
        for (guint stage = 0; stage < series->n_stages; stage++)
            busy_at(series, i)[stage] = busy_at(series, 2 * i)[stage];
    }
    g_array_set_size(series->samples, kept);
    g_array_set_size(series->busy, kept * series->n_stages);
    series->interval_s *= 2;
}

static void append(ReportSeries *series, const SimulationSample *state) {
    ReportSample sample = {.state = *state};
    /* What is booked at the very first date is of the time behind it. */
    for (TransferPurpose purpose = 0; purpose < N_PURPOSES && series->samples->len > 0; purpose++)
        sample.sent_bytes[purpose] = series->ledger->bytes_sent[purpose];
    g_array_append_val(series->samples, sample);
    append_busy(series);
}

static void take(Observer *observer, const SimulationSample *state) {
    ReportSeries *series = (ReportSeries *)observer;
    append(series, state);
    if (series->samples->len == REPORT_SAMPLES_MAX)
        thin_out(series);
    observer->next_sample_s = state->time_s + series->interval_s;
}

static void ignore_event(Observer *observer, const Event *event) {
    (void)observer, (void)event;
}

ReportSeries *report_series_new(const Plan *plan, const Ledger *ledger) {
    ReportSeries *series = g_new0(ReportSeries, 1);
    series->observer = (Observer){.notify = ignore_event, .sample = take, .own_dates = TRUE};
    series->plan = plan;
    series->ledger = ledger;
    series->interval_s = FIRST_INTERVAL_S;
    series->first_stage = g_new0(guint, plan->n_replicas + 1);
    for (guint i = 0; i < plan->n_replicas; i++) {
        series->first_stage[i] = series->n_stages;
        series->n_stages += plan->replicas[i].n_stages;
    }
    series->samples = g_array_new(FALSE, FALSE, sizeof(ReportSample));
    series->busy = g_array_new(FALSE, FALSE, sizeof(double));
    return series;
}

void report_series_free(ReportSeries *series) {
    if (series == NULL)
        return;
    g_array_unref(series->samples);
    g_array_unref(series->busy);
    g_free(series->first_stage);
    g_free(series);
}

Observer *report_series_observer(ReportSeries *series) {
    return &series->observer;
}

/* What is left when the run has ended. */
static SimulationSample last_state(const ReportSeries *series) {
    const Ledger *ledger = series->ledger;
    SimulationSample state = {.time_s = ledger->end_s,
                              .arrived = ledger->arrived,
                              .completed = ledger->completed,
                              .generated_tokens = ledger->output_tokens_done};
    for (guint i = 0; i < N_REJECT_REASONS; i++)
        state.rejected += ledger->rejected[i];
    return state;
}

/* Seconds so far become shares of the time since the sample before. */
static void share_out(ReportSeries *series, guint stage) {
    double later_s = 0;
    for (guint i = series->samples->len - 1; i > 0; i--) {
        double span_s = report_series_span_s(series, i);
        double busy_s = busy_at(series, i)[stage] - busy_at(series, i - 1)[stage] + later_s;
        double here_s = CLAMP(busy_s, 0, span_s);
        busy_at(series, i)[stage] = span_s > 0 ? here_s / span_s : 0;
        later_s = busy_s - here_s;
    }
}

void report_series_finish(ReportSeries *series) {
    guint n = series->samples->len;
    double end_s = series->ledger->end_s;
    SimulationSample state = last_state(series);
    while (n > 0 && report_series_at(series, n - 1)->state.time_s >= end_s) {
        g_array_set_size(series->samples, --n);
        g_array_set_size(series->busy, n * series->n_stages);
    }
    append(series, &state);
    for (guint stage = 0; stage < series->n_stages; stage++)
        share_out(series, stage);
}

guint report_series_count(const ReportSeries *series) {
    return series->samples->len;
}

const ReportSample *report_series_at(const ReportSeries *series, guint i) {
    return &g_array_index(series->samples, ReportSample, i);
}

double report_series_span_s(const ReportSeries *series, guint i) {
    return report_series_at(series, i)->state.time_s -
           report_series_at(series, i - 1)->state.time_s;
}

double report_series_middle_s(const ReportSeries *series, guint i) {
    return report_series_at(series, i)->state.time_s - report_series_span_s(series, i) / 2;
}

double report_series_busy(const ReportSeries *series, guint i, guint replica, guint stage) {
    return busy_at(series, i)[series->first_stage[replica] + stage];
}
