#include "analysis/compare/compare_table.h"

#include "analysis/output/csv_text.h"
#include "analysis/output/json_text.h"
#include "analysis/run/metrics.h"
#include <math.h>
#include <string.h>

static void put_name(JsonText *json, const char *key, const char *name) {
    if (name == NULL)
        json_text_null(json, key);
    else
        json_text_string(json, key, name);
}

/* --- JSON */

static void put_folders(JsonText *json, const Comparison *comparison) {
    json_text_open(json, "folders", '[');
    for (guint at = 0; at < comparison->n; at++) {
        const ResultFolder *folder = comparison->folders[at];
        json_text_open(json, NULL, '{');
        json_text_string(json, "path", folder->path);
        json_text_string(json, "simulated", folder->summary->simulated);
        json_text_string(json, "outcome", folder->summary->outcome);
        json_text_close(json, '}');
    }
    json_text_close(json, ']');
}

static void put_changes(JsonText *json, const Comparison *comparison) {
    json_text_open(json, "settings", '[');
    for (guint i = 0; i < comparison->changes->len; i++) {
        const SettingChange *change = comparison->changes->pdata[i];
        json_text_open(json, NULL, '{');
        json_text_string(json, "key", change->key);
        json_text_open(json, "values", '[');
        for (guint at = 0; at < change->n; at++)
            put_name(json, NULL, change->values[at]);
        json_text_close(json, ']');
        json_text_close(json, '}');
    }
    json_text_close(json, ']');
}

/* One list of a figure, an element for each folder. */
static void put_numbers(JsonText *json, const char *key, const ComparedFigure *figure,
                        double (*of)(const ComparedFigure *figure, guint at)) {
    json_text_open(json, key, '[');
    for (guint at = 0; at < figure->n; at++)
        json_text_number(json, NULL, of(figure, at));
    json_text_close(json, ']');
}

static double value_of(const ComparedFigure *figure, guint at) {
    return figure->values[at];
}

static void put_figure(JsonText *json, const Comparison *comparison, const ComparedFigure *figure) {
    json_text_open(json, NULL, '{');
    json_text_string(json, "key", figure->key);
    put_name(json, "better", direction_name(figure->direction));
    put_numbers(json, "values", figure, value_of);
    put_numbers(json, "deltas", figure, compared_figure_delta);
    put_numbers(json, "percents", figure, compared_figure_percent);
    json_text_open(json, "verdicts", '[');
    for (guint at = 0; at < figure->n; at++)
        put_name(json, NULL, verdict_name(compared_figure_verdict(figure, at)));
    json_text_close(json, ']');
    json_text_open(json, "beyond_threshold", '[');
    for (guint at = 0; at < figure->n; at++)
        json_text_bool(json, NULL, at > 0 && comparison_exceeds(comparison, figure, at));
    json_text_close(json, ']');
    json_text_close(json, '}');
}

static void put_latency(JsonText *json, const char *name, const PairedLatency *latency) {
    json_text_open(json, name, '{');
    json_text_count(json, "pairs", latency->pairs);
    json_text_count(json, "faster", latency->faster);
    json_text_count(json, "slower", latency->slower);
    json_text_count(json, "same", latency->same);
    json_text_number(json, "mean_s", latency->mean_s);
    json_text_number(json, "p5_s", latency->p5_s);
    json_text_number(json, "median_s", latency->median_s);
    json_text_number(json, "p95_s", latency->p95_s);
    json_text_close(json, '}');
}

static void put_paired(JsonText *json, const Comparison *comparison) {
    json_text_open(json, "paired", '[');
    for (guint at = 1; at < comparison->n; at++) {
        const PairedRequests *paired = comparison->paired[at];
        json_text_open(json, NULL, '{');
        json_text_string(json, "path", comparison->folders[at]->path);
        json_text_count(json, "common", paired->common);
        put_name(json, "not_paired", paired->unlike);
        for (guint kind = 0; paired->unlike == NULL && kind < N_SERVED_LATENCIES; kind++)
            put_latency(json, latency_name((LatencyKind)kind), &paired->latencies[kind]);
        json_text_close(json, '}');
    }
    json_text_close(json, ']');
}

char *compare_json(const Comparison *comparison) {
    JsonText json = json_text_new();

    json_text_open(&json, NULL, '{');
    put_folders(&json, comparison);
    json_text_bool(&json, "identical", comparison->identical);
    json_text_number(&json, "threshold_percent", comparison->threshold);
    json_text_count(&json, "beyond_threshold", comparison_exceeding(comparison));
    put_changes(&json, comparison);
    json_text_open(&json, "figures", '[');
    for (guint i = 0; i < comparison->figures->len; i++)
        put_figure(&json, comparison, comparison->figures->pdata[i]);
    json_text_close(&json, ']');
    put_paired(&json, comparison);
    json_text_close(&json, '}');
    return json_text_end(&json);
}

/* --- CSV */

static void append_number(GString *out, double value) {
    g_string_append_c(out, ',');
    csv_text_number(out, value);
}

static void append_figure_row(GString *out, const Comparison *comparison,
                              const ComparedFigure *figure, guint at) {
    const char *direction = direction_name(figure->direction);
    const char *verdict = verdict_name(compared_figure_verdict(figure, at));

    csv_text_cell(out, comparison->folders[at]->path);
    g_string_append_printf(out, ",%s,%s", figure->key, direction == NULL ? "" : direction);
    append_number(out, figure->values[0]);
    append_number(out, figure->values[at]);
    append_number(out, compared_figure_delta(figure, at));
    append_number(out, compared_figure_percent(figure, at));
    g_string_append_printf(out, ",%s\n", verdict == NULL ? "" : verdict);
}

/* A figure of the pairs: it has a value alone. */
static void append_paired_row(GString *out, const char *path, const char *latency,
                              const char *figure, double value) {
    csv_text_cell(out, path);
    g_string_append_printf(out, ",paired.%s.%s,,", latency, figure);
    append_number(out, value);
    g_string_append(out, ",,,\n");
}

static void append_paired_rows(GString *out, const Comparison *comparison, guint at) {
    const char *path = comparison->folders[at]->path;

    for (guint kind = 0; kind < N_SERVED_LATENCIES; kind++) {
        const PairedLatency *latency = &comparison->paired[at]->latencies[kind];
        const struct {
            const char *name;
            double value;
        } figures[] = {{"pairs", (double)latency->pairs},   {"faster", (double)latency->faster},
                       {"slower", (double)latency->slower}, {"same", (double)latency->same},
                       {"mean_s", latency->mean_s},         {"p5_s", latency->p5_s},
                       {"median_s", latency->median_s},     {"p95_s", latency->p95_s}};
        for (guint i = 0; i < G_N_ELEMENTS(figures); i++)
            append_paired_row(out, path, latency_name((LatencyKind)kind), figures[i].name,
                              figures[i].value);
    }
}

char *compare_csv(const Comparison *comparison) {
    GString *out = g_string_new("folder,figure,better,first,value,delta,delta_percent,verdict\n");

    for (guint at = 1; at < comparison->n; at++) {
        for (guint i = 0; i < comparison->figures->len; i++)
            append_figure_row(out, comparison, comparison->figures->pdata[i], at);
        if (comparison->paired[at]->unlike == NULL)
            append_paired_rows(out, comparison, at);
    }
    return g_string_free(out, FALSE);
}
