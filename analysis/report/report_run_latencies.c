/* Distributions and cumulative curves of latencies. */
#include "analysis/report/report_run_private.h"

#include "workloads/units.h"
#include <math.h>

#define BINS 40
#define CURVE_POINTS 401

static const struct {
    LatencyKind kind;
    const char *name, *long_name, *colour;
    const char *bars_id, *curve_id;
} latencies[] = {
    {LATENCY_TTFT, "TTFT", "Time to the first token (TTFT)", "prefill", "ttft-bars", "ttft-cdf"},
    {LATENCY_TPOT, "TPOT", "Time per output token (TPOT)", "decode", "tpot-bars", "tpot-cdf"},
    {LATENCY_E2E, "E2E", "End to end (E2E)", "3", "e2e-bars", "e2e-cdf"},
};

static char *seconds_text(double seconds) {
    return units_format_brief(seconds, DIMENSION_SECONDS);
}

static void add_limit(ReportChart *chart, const SloLimit *limit, double most_s) {
    if (limit == NULL)
        return;
    g_autofree char *text = seconds_text(limit->limit_s);
    if (limit->limit_s > 3 * most_s) {
        report_chart_note(chart, "The limit of %s lies beyond the picture.", text);
        return;
    }
    g_autofree char *label = g_strdup_printf("limit %s", text);
    report_chart_mark(chart, 'x', limit->limit_s, label);
}

/* How many requests fell into each of some equal bins from the least to the most. */
static void add_bars(ReportChart *chart, Histogram *histogram, const char *colour) {
    double least_s = histogram_min(histogram), most_s = histogram_max(histogram);
    double width_s = (most_s - least_s) / BINS;
    guint64 below = 0;
    report_chart_series(chart, "requests", REPORT_BARS, colour);
    for (guint bin = 0; bin < BINS && width_s > 0; bin++) {
        double to_s = bin + 1 == BINS ? most_s : least_s + (bin + 1) * width_s;
        guint64 up_to = histogram_count_up_to(histogram, to_s);
        g_autofree char *from_text = seconds_text(least_s + bin * width_s);
        g_autofree char *to_text = seconds_text(to_s);
        g_autofree char *label = g_strdup_printf("%s to %s", from_text, to_text);
        report_chart_point(chart, least_s + (bin + 0.5) * width_s, (double)(up_to - below), label);
        below = up_to;
    }
    if (width_s <= 0)
        report_chart_point(chart, least_s, (double)histogram_count(histogram), NULL);
}

/* The quantiles of some shares, the last hundredth finer. */
static void add_curve(ReportChart *chart, const char *name, Histogram *histogram, ReportStyle style,
                      const char *colour) {
    static const double tail[] = {0.992, 0.994, 0.996, 0.998, 0.999, 0.9995, 0.9999};
    guint64 n = histogram_count(histogram);
    guint points = (guint)MIN(n, CURVE_POINTS);
    report_chart_series(chart, name, style, colour);
    if (points == 1) /* a line all the same */
        report_chart_point(chart, histogram_quantile(histogram, 0), 0, NULL);
    for (guint i = 0; i < points; i++) {
        double share = points > 1 ? (double)i / (points - 1) : 1;
        if (i + 1 == points)
            for (guint k = 0; k < G_N_ELEMENTS(tail) && n > CURVE_POINTS; k++)
                if (tail[k] > (double)(i - 1) / (points - 1))
                    report_chart_point(chart, histogram_quantile(histogram, tail[k]), 100 * tail[k],
                                       NULL);
        report_chart_point(chart, histogram_quantile(histogram, share), 100 * share, NULL);
    }
}

static void add_latency(ReportPage *page, const SummaryInput *input, guint which) {
    const MetricsWindow *whole = metrics_whole(input->metrics);
    const MetricsWindow *steady = metrics_steady(input->metrics);
    Histogram *histogram = whole->latencies[latencies[which].kind];
    const SloLimit *limit = latency_limit(latencies[which].kind, &input->experiment->slo);
    const char *name = latencies[which].name, *colour = latencies[which].colour;
    double most_s = histogram_max(histogram);
    g_autofree char *bars_title = g_strdup(latencies[which].long_name);
    g_autofree char *curve_title = g_strdup_printf("%s, cumulative", name);
    g_autofree char *p50 = seconds_text(histogram_quantile(histogram, 0.5));
    g_autofree char *p99 = seconds_text(histogram_quantile(histogram, 0.99));
    g_autofree char *most = seconds_text(most_s);
    g_autofree char *limit_text = limit == NULL ? NULL : seconds_text(limit->limit_s);
    ReportAxis x = REPORT_AXIS(name, REPORT_UNIT_SECONDS);

    ReportChart *bars = report_chart_new(latencies[which].bars_id, bars_title, x,
                                         REPORT_AXIS_FROM_ZERO("requests", REPORT_UNIT_NONE));
    report_chart_summary(bars,
                         "%s of %" G_GUINT64_FORMAT " request%s: half below %s, 99 %% below "
                         "%s, the longest %s.",
                         name, histogram_count(histogram),
                         histogram_count(histogram) == 1 ? "" : "s", p50, p99, most);
    add_bars(bars, histogram, colour);
    add_limit(bars, limit, most_s);
    report_page_chart(page, bars);

    ReportChart *curve =
        report_chart_new(latencies[which].curve_id, curve_title, x,
                         REPORT_AXIS_FROM_ZERO("requests at most as long", REPORT_UNIT_PERCENT));
    add_curve(curve, "whole run", histogram, REPORT_LINE, colour);
    if (steady != NULL && histogram_count(steady->latencies[latencies[which].kind]) > 0)
        add_curve(curve, "steady state", steady->latencies[latencies[which].kind], REPORT_DASHED,
                  "text");
    report_chart_summary(curve, "The median of %s is %s, its 99th percentile %s.", name, p50, p99);
    add_limit(curve, limit, most_s);
    if (limit != NULL)
        report_chart_summary(curve,
                             "The median of %s is %s, its 99th percentile %s; %.1f %% of "
                             "requests are within its limit of %s.",
                             name, p50, p99,
                             100 * (double)whole->met[latencies[which].kind] /
                                 (double)histogram_count(histogram),
                             limit_text);
    report_page_chart(page, curve);
}

void report_run_latencies(ReportPage *page, const SummaryInput *input) {
    const MetricsWindow *whole = metrics_whole(input->metrics);
    report_page_section(page, "latency", "Latency", NULL);
    for (guint i = 0; i < G_N_ELEMENTS(latencies); i++)
        if (histogram_count(whole->latencies[latencies[i].kind]) > 0)
            add_latency(page, input, i);
}
