#include "analysis/report/report_compare.h"

#include "analysis/compare/compare_text.h"
#include "analysis/report/report_compare_private.h"
#include <math.h>
#include <string.h>

static const char absent[] = "absent";

/* --- the parts' rows and cells */

static void free_row(gpointer row) {
    g_strfreev(row);
}

GPtrArray *report_compare_rows(void) {
    return g_ptr_array_new_with_free_func(free_row);
}

void report_compare_put(GStrvBuilder *row, char *text) {
    g_strv_builder_add(row, text);
    g_free(text);
}

char *report_compare_value(const ComparedFigure *figure, guint at) {
    char *text = compared_figure_text(figure, at);
    const char *unit = figure_key_unit(figure->key);

    if (unit == NULL || isnan(figure->values[at]))
        return text;
    char *whole = g_strdup_printf("%s %s", text, unit);
    g_free(text);
    return whole;
}

char *report_compare_change(const ComparedFigure *figure, guint at) {
    double percent = compared_figure_percent(figure, at);
    g_autofree char *text = compare_text_percent(percent);
    Verdict verdict = compared_figure_verdict(figure, at);

    if (verdict != VERDICT_BETTER && verdict != VERDICT_WORSE)
        return g_steal_pointer(&text);
    return isnan(percent) ? g_strdup(verdict_name(verdict))
                          : g_strdup_printf("%s %s", text, verdict_name(verdict));
}

/* "name", and the letter of each folder. Free with g_strfreev. */
static char **lettered_columns(const char *name, const Comparison *comparison) {
    g_autoptr(GStrvBuilder) columns = g_strv_builder_new();

    g_strv_builder_add(columns, name);
    for (guint at = 0; at < comparison->n; at++)
        report_compare_put(columns, comparison_letter(at));
    return g_strv_builder_end(columns);
}

/* --- what leads */

static const ComparedFigure *figure_of(const Comparison *comparison, const char *key) {
    for (guint i = 0; i < comparison->figures->len; i++) {
        const ComparedFigure *figure = comparison->figures->pdata[i];
        if (strcmp(figure->key, key) == 0)
            return figure;
    }
    return NULL;
}

/* The second folder's figure, and what it is beside the first one's. */
static void add_tile(ReportPage *page, const ComparedFigure *figure) {
    g_autofree char *label = figure_key_label(figure->key);
    g_autofree char *value = report_compare_value(figure, 1);
    g_autofree char *first = report_compare_value(figure, 0);
    g_autofree char *change = report_compare_change(figure, 1);
    g_autofree char *note = g_strdup_printf("A %s, %s", first, change);
    Verdict verdict = compared_figure_verdict(figure, 1);

    report_page_tile(page, label, value, note,
                     verdict == VERDICT_BETTER  ? "good"
                     : verdict == VERDICT_WORSE ? "bad"
                                                : NULL);
}

/* Of two folders; more of them have tables. */
static void add_tiles(ReportPage *page, const Comparison *comparison) {
    static const char *const keys[] = {"whole.output_token_throughput_per_s",
                                       "whole.goodput_per_s",
                                       "whole.ttft.p99_s",
                                       "whole.tpot.p99_s",
                                       "whole.e2e.p99_s",
                                       "requests.completed",
                                       "energy.tokens_per_joule",
                                       "cost.cluster_hours_per_million_tokens"};

    for (guint i = 0; comparison->n == 2 && i < G_N_ELEMENTS(keys); i++) {
        const ComparedFigure *figure = figure_of(comparison, keys[i]);
        if (figure != NULL && !isnan(figure->values[0]) && !isnan(figure->values[1]))
            add_tile(page, figure);
    }
}

static void add_runs(ReportPage *page, const Comparison *comparison) {
    static const char *const columns[] = {"run", "folder", "outcome", "simulated", NULL};
    g_autoptr(GPtrArray) rows = report_compare_rows();

    for (guint at = 0; at < comparison->n; at++) {
        const ResultFolder *folder = comparison->folders[at];
        g_autoptr(GStrvBuilder) row = g_strv_builder_new();
        report_compare_put(row, comparison_letter(at));
        g_strv_builder_add(row, folder->path);
        g_strv_builder_add(row, folder->summary->outcome);
        g_strv_builder_add(row, folder->summary->simulated);
        g_ptr_array_add(rows, g_strv_builder_end(row));
    }
    report_page_table(page, "Runs", columns, rows, FALSE);
}

/* What is worse by more than the threshold. */
static void add_exceeding(ReportPage *page, const Comparison *comparison) {
    static const char *const columns[] = {"figure", "run", "A", "there", "difference", NULL};
    char digits[G_ASCII_DTOSTR_BUF_SIZE];
    g_autoptr(GPtrArray) rows = report_compare_rows();

    for (guint at = 1; at < comparison->n; at++)
        for (guint i = 0; i < comparison->figures->len; i++) {
            const ComparedFigure *figure = comparison->figures->pdata[i];
            g_autoptr(GStrvBuilder) row = g_strv_builder_new();
            if (!comparison_exceeds(comparison, figure, at))
                continue;
            g_strv_builder_add(row, figure->key);
            report_compare_put(row, comparison_letter(at));
            report_compare_put(row, report_compare_value(figure, 0));
            report_compare_put(row, report_compare_value(figure, at));
            report_compare_put(row, report_compare_change(figure, at));
            g_ptr_array_add(rows, g_strv_builder_end(row));
        }
    g_ascii_formatd(digits, sizeof digits, "%g", comparison->threshold);
    g_autofree char *title = g_strdup_printf("Worse than A by more than %s %%", digits);
    if (rows->len > 0)
        report_page_table(page, title, columns, rows, FALSE);
    else
        report_page_text(page, title, "Nothing.");
}

static void add_settings(ReportPage *page, const Comparison *comparison) {
    g_auto(GStrv) columns = lettered_columns("setting", comparison);
    g_autoptr(GPtrArray) rows = report_compare_rows();

    for (guint i = 0; i < comparison->changes->len; i++) {
        const SettingChange *change = comparison->changes->pdata[i];
        g_autoptr(GStrvBuilder) row = g_strv_builder_new();
        g_strv_builder_add(row, change->key);
        for (guint at = 0; at < change->n; at++)
            g_strv_builder_add(row, change->values[at] == NULL ? absent : change->values[at]);
        g_ptr_array_add(rows, g_strv_builder_end(row));
    }
    if (rows->len > 0)
        report_page_table(page, "Settings that differ", (const char *const *)columns, rows, FALSE);
    else
        report_page_text(page, "Settings that differ", "None.");
}

/* "A  results/colocated, B  results/demo". */
static char *names_of(const Comparison *comparison) {
    g_autoptr(GStrvBuilder) names = g_strv_builder_new();

    for (guint at = 0; at < comparison->n; at++)
        report_compare_put(names, comparison_name(comparison, at));
    g_auto(GStrv) all = g_strv_builder_end(names);
    return g_strjoinv(", ", all);
}

gboolean report_compare_write(const Comparison *comparison, const char *path, GError **error) {
    g_autofree char *title = g_strdup_printf("Comparison of %u runs", comparison->n);
    g_autofree char *names = names_of(comparison);
    g_autoptr(ReportPage) page = report_page_new(title, names);

    report_page_section(
        page, "overview", "Overview",
        comparison->identical ? "Identical: every setting, figure and request is the same." : NULL);
    add_tiles(page, comparison);
    add_runs(page, comparison);
    if (!isnan(comparison->threshold))
        add_exceeding(page, comparison);
    add_settings(page, comparison);
    report_compare_latencies(page, comparison);
    report_compare_paired(page, comparison);
    report_compare_figures(page, comparison);
    return report_page_write(page, path, error);
}
