/* Throughput and requests over time. */
#include "analysis/report/report_run_private.h"

#include "workloads/units.h"

static void add_throughput(ReportPage *page, const SummaryInput *input,
                           const ReportSeries *series) {
    double mean = 0, most = 0, at_s = 0;
    ReportChart *chart =
        report_chart_new("throughput", "Throughput", REPORT_TIME_AXIS,
                         REPORT_AXIS_FROM_ZERO("generated tokens", REPORT_UNIT_TOKENS_PER_S));
    report_chart_series(chart, "generated tokens", REPORT_LINE, "decode");
    for (guint i = 1; i < report_series_count(series); i++) {
        guint64 tokens = report_series_at(series, i)->state.generated_tokens -
                         report_series_at(series, i - 1)->state.generated_tokens;
        double rate = report_series_span_s(series, i) > 0
                          ? (double)tokens / report_series_span_s(series, i)
                          : 0;
        report_chart_point(chart, report_series_middle_s(series, i), rate, NULL);
        if (rate > most) {
            most = rate;
            at_s = report_series_middle_s(series, i);
        }
    }
    if (input->ledger->end_s > 0)
        mean = (double)input->ledger->output_tokens_done / input->ledger->end_s;
    g_autofree char *at = units_format_brief(at_s, DIMENSION_SECONDS);
    g_autofree char *label = g_strdup_printf("mean %.4g", mean);
    report_chart_mark(chart, 'y', mean, label);
    report_chart_summary(chart, "%.4g tokens/s in the mean, %.4g at the most (after %s).", mean,
                         most, at);
    report_page_chart(page, chart);
}

typedef guint64 (*Count)(const SimulationSample *state);

static guint64 waiting_of(const SimulationSample *state) {
    return state->waiting;
}

static guint64 prefilling_of(const SimulationSample *state) {
    return state->prefilling;
}

static guint64 buffered_of(const SimulationSample *state) {
    return state->buffered;
}

static guint64 pulling_of(const SimulationSample *state) {
    return state->pulling;
}

static guint64 running_of(const SimulationSample *state) {
    return state->running;
}

static guint64 most_of(const ReportSeries *series, Count count) {
    guint64 most = 0;
    for (guint i = 0; i < report_series_count(series); i++)
        most = MAX(most, count(&report_series_at(series, i)->state));
    return most;
}

static void add_requests(ReportPage *page, const ReportSeries *series) {
    static const struct {
        const char *name, *colour;
        Count count;
    } states[] = {{"decoding", "decode", running_of},
                  {"KV pull", "pull", pulling_of},
                  {"buffered", "buffered", buffered_of},
                  {"prefill", "prefill", prefilling_of},
                  {"waiting", "waiting", waiting_of}};
    ReportChart *chart = report_chart_new("states", "Requests in the system", REPORT_TIME_AXIS,
                                          REPORT_AXIS_FROM_ZERO("requests", REPORT_UNIT_NONE));
    for (guint i = 0; i < G_N_ELEMENTS(states); i++) {
        if (most_of(series, states[i].count) == 0)
            continue;
        report_chart_series(chart, states[i].name, REPORT_AREA, states[i].colour);
        for (guint k = 0; k < report_series_count(series); k++) {
            const SimulationSample *state = &report_series_at(series, k)->state;
            report_chart_point(chart, state->time_s, (double)states[i].count(state), NULL);
        }
    }
    report_chart_summary(chart,
                         "At most %" G_GUINT64_FORMAT " requests wait and %" G_GUINT64_FORMAT
                         " decode at the sampled dates.",
                         most_of(series, waiting_of), most_of(series, running_of));
    report_page_chart(page, chart);
}

void report_run_load(ReportPage *page, const SummaryInput *input, const ReportSeries *series) {
    report_page_section(page, "load", "Load over time", NULL);
    add_throughput(page, input, series);
    add_requests(page, series);
}
