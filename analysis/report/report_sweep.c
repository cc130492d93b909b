#include "analysis/report/report_sweep.h"

#include "analysis/report/report_figures.h"
#include <math.h>

static const Figure told[] = {FIGURE_CLUSTERS, FIGURE_THROUGHPUT,      FIGURE_GOODPUT,
                              FIGURE_TTFT_P99, FIGURE_TPOT_P99,        FIGURE_E2E_P99,
                              FIGURE_COST,     FIGURE_ENERGY_PER_TOKEN};

static gboolean is_sound(const SweepResult *result, gsize run) {
    return result->shown[run] && result->runs[run].outcome.status == OUTCOME_OK;
}

static char *label_of(const SweepResult *result, gsize run) {
    g_autofree char *settings = g_strjoinv("\n", result->runs[run].overrides);
    return report_figures_label(settings, told, G_N_ELEMENTS(told),
                                result->runs[run].outcome.figures);
}

static void add_tradeoff(ReportPage *page, const SweepResult *result, gsize sound) {
    ReportChart *chart = report_chart_new("tradeoff", "Throughput over TTFT p99",
                                          report_figure_axis(FIGURE_TTFT_P99),
                                          report_figure_axis(FIGURE_THROUGHPUT));
    report_chart_full_width(chart);
    report_chart_series(chart, "runs", REPORT_POINTS, "0");
    for (gsize i = 0; i < vary_runs(result->keys); i++) {
        const double *figures = result->runs[i].outcome.figures;
        g_autofree char *label = label_of(result, i);
        if (is_sound(result, i))
            report_chart_point(chart, figures[FIGURE_TTFT_P99], figures[FIGURE_THROUGHPUT], label);
    }
    report_chart_summary(chart, "%" G_GSIZE_FORMAT " run%s.", sound, sound == 1 ? "" : "s");
    report_page_chart(page, chart);
}

static guint place_of(const VaryKey *key, const char *value) {
    for (guint place = 0; key->values[place] != NULL; place++)
        if (g_str_equal(key->values[place], value))
            return place;
    g_assert_not_reached();
}

static void add_key(ReportPage *page, const SweepResult *result, guint index) {
    const VaryKey *key = result->keys->pdata[index];
    double least = INFINITY, most = 0;
    g_autofree char *title = g_strdup_printf("Throughput over %s", key->key);
    ReportChart *chart =
        report_chart_new(g_intern_string(key->key), title, REPORT_AXIS(key->key, REPORT_UNIT_NONE),
                         report_figure_axis(FIGURE_THROUGHPUT));
    for (char **value = key->values; *value != NULL; value++)
        report_chart_category(chart, *value);
    report_chart_series(chart, "runs", REPORT_POINTS, "0");
    for (gsize i = 0; i < vary_runs(result->keys); i++) {
        double throughput = result->runs[i].outcome.figures[FIGURE_THROUGHPUT];
        g_autofree char *label = label_of(result, i);
        if (!is_sound(result, i))
            continue;
        report_chart_point(chart, place_of(key, vary_value(result->keys, i, index)), throughput,
                           label);
        least = MIN(least, throughput);
        most = MAX(most, throughput);
    }
    report_chart_summary(chart, "Between %.4g and %.4g tokens/s over the values of %s.", least,
                         most, key->key);
    report_page_chart(page, chart);
}

static void add_table(ReportPage *page, const SweepResult *result) {
    g_autoptr(GPtrArray) head = g_ptr_array_new();
    for (guint i = 0; i < result->keys->len; i++)
        g_ptr_array_add(head, ((const VaryKey *)result->keys->pdata[i])->key);
    g_ptr_array_add(head, (gpointer) "outcome");
    g_ptr_array_add(head, NULL);
    ReportFigures *table =
        report_figures_new((const char *const *)head->pdata, told, G_N_ELEMENTS(told));
    for (gsize i = 0; i < vary_runs(result->keys); i++) {
        const Outcome *outcome = &result->runs[i].outcome;
        g_autoptr(GPtrArray) row = g_ptr_array_new();
        if (!result->shown[i])
            continue;
        for (guint key = 0; key < result->keys->len; key++)
            g_ptr_array_add(row, (gpointer)vary_value(result->keys, i, key));
        g_ptr_array_add(row, outcome->reason != NULL
                                 ? outcome->reason
                                 : (gpointer)outcome_status_name(outcome->status));
        g_ptr_array_add(row, NULL);
        report_figures_row(table, (const char *const *)row->pdata, outcome->figures);
    }
    report_figures_end(table, page, "Every run", FALSE);
}

gboolean report_sweep_write(const SweepResult *result, const char *path, GError **error) {
    gsize sound = 0;
    g_autofree char *title = g_strdup_printf("Sweep: %s", result->experiment);
    for (gsize i = 0; i < vary_runs(result->keys); i++)
        sound += is_sound(result, i) ? 1 : 0;
    g_autofree char *subtitle =
        g_strdup_printf("%" G_GSIZE_FORMAT " of %" G_GSIZE_FORMAT " runs have figures", sound,
                        vary_runs(result->keys));
    g_autoptr(ReportPage) page = report_page_new(title, subtitle);
    if (sound > 0) {
        report_page_section(page, "runs", "Runs",
                            "Point at a run to see its settings and figures.");
        add_tradeoff(page, result, sound);
        for (guint i = 0; i < result->keys->len; i++)
            add_key(page, result, i);
    }
    report_page_section(page, "tables", "Figures", NULL);
    add_table(page, result);
    return report_page_write(page, path, error);
}
