/* Latencies of several runs over each other, and of the same requests in two of them. */
#include "analysis/report/report_compare_private.h"

#include "analysis/compare/compare_text.h"
#include "analysis/compare/latency_spread.h"
#include "workloads/units.h"
#include <math.h>

#define COLOURS 7 /* without a meaning of their own; after them lines are dashed */

static const struct {
    const char *name, *long_name;
    const char *curve_id, *difference_id;
} latencies[N_SERVED_LATENCIES] = {
    {"TTFT", "Time to the first token (TTFT)", "ttft-cdf", "ttft-difference"},
    {"TPOT", "Time per output token (TPOT)", "tpot-cdf", "tpot-difference"},
    {"E2E", "End to end (E2E)", "e2e-cdf", "e2e-difference"},
};

/* The curve of the folder 'at', its points from 'least_s' on. */
static void add_curve(ReportChart *chart, const Comparison *comparison, guint at,
                      const GArray *ascending, double least_s) {
    g_autofree char *name = comparison_name(comparison, at);
    g_autofree char *colour = g_strdup_printf("%u", at % COLOURS);
    g_autoptr(GArray) curve = latency_curve(ascending);

    report_chart_series(chart, name, at < COLOURS ? REPORT_LINE : REPORT_DASHED, colour);
    for (guint i = 0; i < curve->len; i++) {
        const CurvePoint *point = &g_array_index(curve, CurvePoint, i);
        if (point->value_s >= least_s)
            report_chart_point(chart, point->value_s, 100 * point->share, NULL);
    }
}

/* "Half of A's requests take at most 2.1 s, of B's 1.7 s." */
static void summarise(ReportChart *chart, const LatencySpread *spread) {
    g_autoptr(GString) text = g_string_new(NULL);

    for (guint at = 0; at < spread->n; at++) {
        const GArray *values = spread->values[at];
        g_autofree char *letter = comparison_letter(at);
        if (values->len == 0)
            continue;
        double median_s = g_array_index(values, double, (values->len - 1) / 2);
        g_autofree char *median = units_format_brief(median_s, DIMENSION_SECONDS);
        g_string_append_printf(text, "%s of %s's%s %s", text->len == 0 ? "Half" : ",", letter,
                               text->len == 0 ? " requests take at most" : "", median);
    }
    report_chart_summary(chart, "%s.", text->str);
}

static void add_latency(ReportPage *page, const Comparison *comparison, guint kind) {
    g_autoptr(LatencySpread) spread = latency_spread_new(comparison, kind);
    ReportAxis x = REPORT_AXIS(latencies[kind].name, REPORT_UNIT_SECONDS);

    if (isnan(spread->most))
        return;
    x.logarithmic = spread->logarithmic;
    ReportChart *chart =
        report_chart_new(latencies[kind].curve_id, latencies[kind].long_name, x,
                         REPORT_AXIS_FROM_ZERO("requests at most as long", REPORT_UNIT_PERCENT));
    for (guint at = 0; at < comparison->n; at++)
        if (spread->values[at]->len > 0)
            add_curve(chart, comparison, at, spread->values[at], spread->least);
    summarise(chart, spread);
    report_page_chart(page, chart);
}

void report_compare_latencies(ReportPage *page, const Comparison *comparison) {
    report_page_section(page, "latency", "Latency", "Further left is faster.");
    for (guint kind = 0; kind < N_SERVED_LATENCIES; kind++)
        add_latency(page, comparison, kind);
}

/* --- request by request */

static const PairedLatency *paired_latency(const Comparison *comparison, guint at, guint kind) {
    return &comparison->paired[at]->latencies[kind];
}

/* One curve for each run with pairs. */
static void add_differences(ReportPage *page, const Comparison *comparison, guint kind) {
    g_autofree char *title = g_strdup_printf("%s, each less its own in A", latencies[kind].name);
    g_autoptr(GString) summary = g_string_new(NULL);
    ReportChart *chart = report_chart_new(
        latencies[kind].difference_id, title, REPORT_AXIS("more than in A", REPORT_UNIT_SECONDS),
        REPORT_AXIS_FROM_ZERO("requests at most so much slower", REPORT_UNIT_PERCENT));

    for (guint at = 1; at < comparison->n; at++) {
        const PairedLatency *latency = paired_latency(comparison, at, kind);
        g_autofree char *letter = comparison_letter(at);
        if (latency->pairs == 0)
            continue;
        add_curve(chart, comparison, at, latency->differences_s, -INFINITY);
        g_string_append_printf(
            summary, "%s%s: %" G_GUINT64_FORMAT " requests faster, %" G_GUINT64_FORMAT " slower",
            summary->len == 0 ? "" : "; ", letter, latency->faster, latency->slower);
    }
    report_chart_mark(chart, 'x', 0, "as in A");
    report_chart_summary(chart, "%s.", summary->str);
    report_page_chart(page, chart);
}

static void add_row(GPtrArray *rows, const Comparison *comparison, guint at, guint kind) {
    const PairedLatency *latency = paired_latency(comparison, at, kind);
    const guint64 counts[] = {latency->faster, latency->slower, latency->same};
    const double seconds[] = {latency->median_s, latency->mean_s, latency->p5_s, latency->p95_s};
    g_autoptr(GStrvBuilder) row = g_strv_builder_new();
    g_autofree char *letter = comparison_letter(at);

    report_compare_put(row, g_strdup_printf("%s, %s less A", latencies[kind].name, letter));
    for (guint i = 0; i < G_N_ELEMENTS(counts); i++)
        report_compare_put(row, g_strdup_printf("%" G_GUINT64_FORMAT, counts[i]));
    for (guint i = 0; i < G_N_ELEMENTS(seconds); i++)
        report_compare_put(row, compare_text_seconds(seconds[i]));
    g_ptr_array_add(rows, g_strv_builder_end(row));
}

/* Why requests of a run are not those of the first; NULL: all are. Caller frees. */
static char *unlike_of(const Comparison *comparison) {
    GString *text = g_string_new(NULL);

    for (guint at = 1; at < comparison->n; at++) {
        g_autofree char *letter = comparison_letter(at);
        if (comparison->paired[at]->unlike != NULL)
            g_string_append_printf(text, "%sRequests of A and %s are not paired: %s.",
                                   text->len == 0 ? "" : " ", letter,
                                   comparison->paired[at]->unlike);
    }
    return g_string_free(text, text->len == 0);
}

void report_compare_paired(ReportPage *page, const Comparison *comparison) {
    static const char *const columns[] = {"",     "faster", "slower", "same", "median",
                                          "mean", "p5",     "p95",    NULL};
    g_autofree char *unlike = unlike_of(comparison);
    g_autoptr(GPtrArray) rows = report_compare_rows();

    report_page_section(page, "paired", "Request by request", unlike);
    for (guint kind = 0; kind < N_SERVED_LATENCIES; kind++) {
        guint before = rows->len;
        for (guint at = 1; at < comparison->n; at++)
            if (paired_latency(comparison, at, kind)->pairs > 0)
                add_row(rows, comparison, at, kind);
        if (rows->len > before)
            add_differences(page, comparison, kind);
    }
    if (rows->len > 0)
        report_page_table(page, "Differences", columns, rows, FALSE);
}
