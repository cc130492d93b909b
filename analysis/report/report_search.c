#include "analysis/report/report_search.h"

#include "analysis/report/report_figures.h"
#include "analysis/search/search_plot.h"
#include <math.h>

static const Figure told[] = {FIGURE_CLUSTERS, FIGURE_THROUGHPUT,      FIGURE_GOODPUT,
                              FIGURE_TTFT_P99, FIGURE_TPOT_P99,        FIGURE_E2E_P99,
                              FIGURE_COST,     FIGURE_ENERGY_PER_TOKEN};

/* --- the trade-off */

typedef struct Tradeoff {
    const SearchReport *report;
    ReportChart *chart;
    Figure x, y;
} Tradeoff;

static void add_point(const Tradeoff *tradeoff, const double *figures, const char *label) {
    double x = report_figure_value(tradeoff->x, figures[tradeoff->x]);
    double y = report_figure_value(tradeoff->y, figures[tradeoff->y]);
    if (isfinite(x) && isfinite(y) && x > 0)
        report_chart_point(tradeoff->chart, x, y, label);
}

static char *label_of(const Tradeoff *tradeoff, gsize i) {
    const Candidate *candidate = &tradeoff->report->result->candidates[i];
    g_autofree char *head = candidate->rank > 0
                                ? g_strdup_printf("rank %u: %s", candidate->rank, candidate->plan)
                                : g_strdup(candidate->plan);
    return report_figures_label(head, told, G_N_ELEMENTS(told), candidate->outcome.figures);
}

static void add_candidate(const Tradeoff *tradeoff, gsize i) {
    g_autofree char *label = label_of(tradeoff, i);
    add_point(tradeoff, tradeoff->report->result->candidates[i].outcome.figures, label);
}

static void add_fate(const Tradeoff *tradeoff, CandidateFate fate, const char *name,
                     ReportStyle style, const char *colour) {
    const SearchResult *result = tradeoff->report->result;
    if (result->fates[fate] == 0)
        return;
    report_chart_series(tradeoff->chart, name, style, colour);
    for (gsize i = 0; i < result->n; i++)
        if (result->candidates[i].fate == fate)
            add_candidate(tradeoff, i);
}

/* Those that were not simulated to their end stand where their bounds are. */
static void add_bounded(const Tradeoff *tradeoff) {
    const SearchResult *result = tradeoff->report->result;
    if (result->fates[FATE_BOUND] == 0)
        return;
    report_chart_series(tradeoff->chart, "left out, at their bounds", REPORT_FAINT, "faint");
    for (gsize i = 0; i < result->n; i++) {
        const Candidate *candidate = &result->candidates[i];
        if (candidate->fate != FATE_BOUND)
            continue;
        g_autofree char *reason = search_report_reason(tradeoff->report, candidate);
        g_autofree char *label =
            g_strdup_printf("%s\n%s: %s", candidate->plan,
                            candidate->cut ? "ended early" : "not simulated", reason);
        add_point(tradeoff, candidate->best_figures, label);
    }
}

static void add_marked(const Tradeoff *tradeoff) {
    const SearchReport *report = tradeoff->report;
    g_autoptr(GArray) front = search_plot_front(report, tradeoff->x, tradeoff->y);
    if (front->len > 0)
        report_chart_series(tradeoff->chart, "front", REPORT_LINE_AND_POINTS, "front");
    for (guint i = 0; i < front->len; i++)
        add_candidate(tradeoff, g_array_index(front, gsize, i));
    if (report->rule != NULL && report->rule->why == NULL) {
        g_autofree char *label = report_figures_label(report->rule->plan, told, G_N_ELEMENTS(told),
                                                      report->rule->outcome.figures);
        report_chart_series(tradeoff->chart, "analytic rule", REPORT_STAR, "rule");
        add_point(tradeoff, report->rule->outcome.figures, label);
    }
    if (report->result->best == NO_CANDIDATE)
        return;
    report_chart_series(tradeoff->chart, "best", REPORT_STAR, "best");
    add_candidate(tradeoff, report->result->best);
}

/* Plans from good to overloaded are orders of magnitude apart. */
static gboolean spans_decades(const SearchResult *result, Figure figure) {
    double least = INFINITY, most = 0;
    for (gsize i = 0; i < result->n; i++) {
        double value = result->candidates[i].outcome.figures[figure];
        if (isnan(value))
            continue;
        least = MIN(least, value);
        most = MAX(most, value);
    }
    return least > 0 && most > 30 * least;
}

static void add_tradeoff(ReportPage *page, const SearchReport *report) {
    const Objectives *objectives = report->setup->objectives;
    Tradeoff tradeoff = {
        .report = report, .x = search_plot_across(objectives), .y = objectives->figures[0]};
    ReportAxis x = report_figure_axis(tradeoff.x), y = report_figure_axis(tradeoff.y);
    g_autofree char *title = g_strdup_printf("%s over %s", y.name, x.name);
    g_autoptr(GArray) front = search_plot_front(report, tradeoff.x, tradeoff.y);
    x.logarithmic = spans_decades(report->result, tradeoff.x);
    tradeoff.chart = report_chart_new("tradeoff", title, x, y);
    report_chart_full_width(tradeoff.chart);
    add_bounded(&tradeoff);
    add_fate(&tradeoff, FATE_LIMIT, "break a limit", REPORT_POINTS, "waiting");
    add_fate(&tradeoff, FATE_RANKED, "simulated plans", REPORT_POINTS, "5");
    add_marked(&tradeoff);
    report_chart_summary(tradeoff.chart,
                         "%" G_GSIZE_FORMAT " of %" G_GSIZE_FORMAT
                         " candidates were simulated; %u of them are on the front of these two "
                         "figures. The best is %s.",
                         report->result->simulated, report->result->n, front->len,
                         report->result->best == NO_CANDIDATE
                             ? "none"
                             : report->result->candidates[report->result->best].plan);
    report_page_chart(page, tradeoff.chart);
}

/* --- the rest */

static void add_count_tile(ReportPage *page, const char *label, guint64 count, const char *note) {
    g_autofree char *value = g_strdup_printf("%" G_GUINT64_FORMAT, count);
    report_page_tile(page, label, value, note, NULL);
}

static void add_regret_tile(ReportPage *page, const SearchReport *report) {
    if (report->rule == NULL)
        return;
    double regret = search_rule_regret(report->rule, report->setup, report->result);
    if (!isfinite(regret))
        return;
    g_autofree char *value = g_strdup_printf("%.3f times", regret);
    report_page_tile(page, "Best against the analytic rule", value, report->rule->plan, NULL);
}

static void add_overview(ReportPage *page, const SearchReport *report) {
    const SearchResult *result = report->result;
    const Objectives *objectives = report->setup->objectives;
    g_autofree char *combinations =
        g_strdup_printf("of %" G_GUINT64_FORMAT " combinations", report->setup->space->enumerated);
    g_autofree char *events = g_strdup_printf(
        "in %u rounds; %" G_GSIZE_FORMAT " of them ended early", result->rounds, result->cut);
    report_page_section(page, "overview", "Overview", NULL);
    for (guint i = 0; i < objectives->n && result->best != NO_CANDIDATE; i++) {
        Figure figure = objectives->figures[i];
        g_autofree char *value =
            objective_text(figure, result->candidates[result->best].outcome.figures[figure]);
        g_autofree char *name = g_strdup_printf("Best plan's %s", report_figure_axis(figure).name);
        report_page_tile(page, name, value, i == 0 ? result->candidates[result->best].plan : NULL,
                         NULL);
    }
    add_count_tile(page, "Candidates", result->n, combinations);
    add_count_tile(page, "Simulated", result->simulated, events);
    add_regret_tile(page, report);
}

static void add_candidates(ReportPage *page, const SearchReport *report) {
    static const char *const head[] = {"rank", "plan", NULL};
    const SearchResult *result = report->result;
    ReportFigures *table = report_figures_new(head, told, G_N_ELEMENTS(told));
    for (gsize i = 0; i < result->n_ranked; i++) {
        const Candidate *candidate = &result->candidates[result->ranking[i]];
        g_autofree char *rank =
            g_strdup_printf("%u%s", candidate->rank, candidate->on_front ? "*" : "");
        const char *const row[] = {rank, candidate->plan, NULL};
        report_figures_row(table, row, candidate->outcome.figures);
    }
    report_figures_end(table, page, "Ranked plans; those with * are on the front", FALSE);
}

static void free_row(gpointer row) {
    g_strfreev(row);
}

static void add_others(ReportPage *page, const SearchReport *report) {
    static const char *const columns[] = {"plan", "fate", "why", NULL};
    const SearchResult *result = report->result;
    g_autoptr(GPtrArray) rows = g_ptr_array_new_with_free_func(free_row);
    for (gsize i = 0; i < result->n; i++) {
        const Candidate *candidate = &result->candidates[i];
        if (candidate->fate == FATE_RANKED)
            continue;
        g_autofree char *reason = search_report_reason(report, candidate);
        const char *row[] = {candidate->plan, candidate_fate_name(candidate->fate), reason, NULL};
        g_ptr_array_add(rows, g_strdupv((char **)row));
    }
    if (rows->len > 0)
        report_page_table(page, "Candidates that are not ranked", columns, rows, TRUE);
}

gboolean report_search_write(const SearchReport *report, const char *best, const char *path,
                             GError **error) {
    const Experiment *base = campaign_base(report->setup->campaign);
    guint clusters = platform_clusters(base->platform);
    g_autofree char *title = g_strdup_printf("Search of plans: %s", report->experiment);
    g_autofree char *subtitle =
        g_strdup_printf("%s on %u %s of %s, method %s", base->model->name, clusters,
                        platform_elements_name(base->platform->kind, clusters),
                        base->platform->name, search_method_names.names[report->setup->method]);
    g_autoptr(ReportPage) page = report_page_new(title, subtitle);
    add_overview(page, report);
    report_page_section(page, "plans", "Plans", "Point at a plan to see its settings and figures.");
    add_tradeoff(page, report);
    report_page_section(page, "ranking", "Ranking", NULL);
    add_candidates(page, report);
    add_others(page, report);
    if (best != NULL) {
        report_page_section(page, "experiment", "Experiment of the best plan",
                            "infergrid simulate takes this file, and gives a report of the run.");
        report_page_text(page, "best.yaml", best);
    }
    return report_page_write(page, path, error);
}
