/* Headline figures, and the summary as tables. */
#include "analysis/report/report_run_private.h"

#include "analysis/run/outcome.h"
#include "analysis/run/summary_rows.h"
#include "analysis/search/objective.h"
#include <math.h>

static void add_tile(ReportPage *page, const double *figures, Figure figure, const char *label,
                     const char *note) {
    if (isnan(figures[figure]))
        return;
    g_autofree char *text = objective_text(figure, figures[figure]);
    report_page_tile(page, label, text, note, NULL);
}

/* "TTFT 99th percentile 9.4 s", "limit 10 s for 90 %, met by 99.2 %" */
static void add_limit_tile(ReportPage *page, LatencyKind kind, const MetricsWindow *window,
                           const SloLimit *limit) {
    static const char *const labels[N_LATENCIES] = {
        "TTFT within its limit", "TPOT within its limit", "E2E within its limit", NULL};
    guint64 n = histogram_count(window->latencies[kind]);
    if (n == 0)
        return;
    double share = (double)window->met[kind] / (double)n;
    g_autofree char *value = g_strdup_printf("%.1f %%", 100 * share);
    g_autofree char *most = units_format_brief(limit->limit_s, DIMENSION_SECONDS);
    g_autofree char *note = g_strdup_printf("limit %s for %g %%: %s", most, 100 * limit->percentile,
                                            share >= limit->percentile ? "met" : "missed");
    report_page_tile(page, labels[kind], value, note, share >= limit->percentile ? "good" : "bad");
}

static void add_outcome_tile(ReportPage *page, SimulationOutcome outcome) {
    static const char *const words[] = {[OUTCOME_FINISHED] = NULL,
                                        [OUTCOME_INTERRUPTED] = "interrupted",
                                        [OUTCOME_DEADLOCK] = "deadlocked",
                                        [OUTCOME_SOURCE_FAILED] = "the trace went bad"};
    if (words[outcome] != NULL)
        report_page_tile(page, "Partial run", words[outcome], "what follows is the part up to then",
                         "bad");
}

void report_run_overview(ReportPage *page, const SummaryInput *input) {
    const Ledger *ledger = input->ledger;
    const MetricsWindow *steady = metrics_steady(input->metrics);
    const MetricsWindow *window = steady != NULL ? steady : metrics_whole(input->metrics);
    const char *span = steady != NULL ? "in the steady state" : "over the whole run";
    Outcome outcome;
    outcome_fill(&outcome, input->experiment, ledger, input->metrics);
    g_autofree char *completed = g_strdup_printf("%" G_GUINT64_FORMAT, ledger->completed);
    g_autofree char *arrived =
        g_strdup_printf("of %" G_GUINT64_FORMAT " that arrived", ledger->arrived);
    g_autofree char *cost = g_strdup_printf("%s times hours", REPORT_ELEMENTS(input));
    report_page_section(page, "overview", "Overview", NULL);
    add_outcome_tile(page, input->outcome);
    add_tile(page, outcome.figures, FIGURE_THROUGHPUT, "Throughput", span);
    report_page_tile(page, "Requests completed", completed, arrived, NULL);
    for (LatencyKind kind = 0; kind < N_LATENCIES; kind++) {
        const SloLimit *limit = latency_limit(kind, &input->experiment->slo);
        if (limit != NULL)
            add_limit_tile(page, kind, window, limit);
    }
    add_tile(page, outcome.figures, FIGURE_TTFT_P99, "TTFT, 99th percentile", "to the first token");
    add_tile(page, outcome.figures, FIGURE_TPOT_P99, "TPOT, 99th percentile", "a token after it");
    add_tile(page, outcome.figures, FIGURE_ENERGY_PER_TOKEN, "Energy", "a generated token");
    add_tile(page, outcome.figures, FIGURE_COST, "Cost", cost);
    outcome_clear(&outcome);
}

static void free_row(gpointer row) {
    g_strfreev(row);
}

/* Otherwise it is one cell: label and value. */
static gboolean has_columns(const SummaryRow *row) {
    for (guint i = 0; i < row->cells->len; i++)
        if (g_array_index(row->cells, SummaryCell, i).heading != NULL)
            return TRUE;
    return FALSE;
}

static char **headings_of(const SummaryRow *row) {
    g_autoptr(GStrvBuilder) builder = g_strv_builder_new();
    g_strv_builder_add(builder, "");
    for (guint i = 0; i < row->cells->len; i++) {
        const SummaryCell *cell = &g_array_index(row->cells, SummaryCell, i);
        if (cell->heading != NULL)
            g_strv_builder_add(builder, cell->heading);
    }
    if (!has_columns(row))
        g_strv_builder_add(builder, "");
    return g_strv_builder_end(builder);
}

static char **texts_of(const SummaryRow *row) {
    g_autoptr(GStrvBuilder) builder = g_strv_builder_new();
    g_autofree char *label = g_strstrip(g_strdup(row->label));
    g_strv_builder_add(builder, label);
    for (guint i = 0; i < row->cells->len; i++) {
        const SummaryCell *cell = &g_array_index(row->cells, SummaryCell, i);
        g_autofree char *text = summary_cell_format(cell);
        if (cell->heading != NULL || !has_columns(row))
            g_strv_builder_add(builder, text);
    }
    return g_strv_builder_end(builder);
}

/* The table of rows with these headings, if there are any. */
static void flush_table(ReportPage *page, const char *title, char **headings, GPtrArray *rows) {
    if (rows->len > 0)
        report_page_table(page, title, (const char *const *)headings, rows, FALSE);
    g_ptr_array_set_size(rows, 0);
}

/* A table for each run of rows with the same columns. */
static void add_section(ReportPage *page, const SummarySection *section) {
    g_autoptr(GPtrArray) rows = g_ptr_array_new_with_free_func(free_row);
    g_auto(GStrv) headings = NULL;
    for (guint i = 0; i < section->rows->len; i++) {
        const SummaryRow *row = section->rows->pdata[i];
        if (row->label == NULL)
            continue;
        char **own = headings_of(row);
        if (headings != NULL &&
            !g_strv_equal((const char *const *)own, (const char *const *)headings))
            flush_table(page, section->title, headings, rows);
        g_strfreev(headings);
        headings = own;
        g_ptr_array_add(rows, texts_of(row));
    }
    if (headings != NULL)
        flush_table(page, section->title, headings, rows);
}

void report_run_tables(ReportPage *page, const SummaryInput *input) {
    g_autoptr(SummaryRows) rows = summary_rows_new(input);
    report_page_section(page, "figures", "All figures", NULL);
    for (guint i = 0; i < rows->sections->len; i++) {
        const SummarySection *section = rows->sections->pdata[i];
        if (section->title != NULL)
            add_section(page, section);
    }
}
