/* The part of a search's report that people read. */
#include "analysis/search/search_report.h"

#include <math.h>

#define TOP 10

/* The objectives' figures first, then those that are always shown. */
static GArray *columns_of(const Objectives *objectives) {
    static const Figure always[] = {FIGURE_CLUSTERS, FIGURE_THROUGHPUT, FIGURE_TTFT_P99,
                                    FIGURE_TPOT_P99};
    GArray *columns = g_array_new(FALSE, FALSE, sizeof(Figure));

    g_array_append_vals(columns, objectives->figures, objectives->n);
    for (guint i = 0; i < G_N_ELEMENTS(always); i++) {
        gboolean there = FALSE;
        for (guint j = 0; j < columns->len; j++)
            there |= g_array_index(columns, Figure, j) == always[i];
        if (!there)
            g_array_append_val(columns, always[i]);
    }
    return columns;
}

static char *cell(Figure figure, double value) {
    return figure == FIGURE_CLUSTERS ? g_strdup_printf("%.0f", value)
                                     : objective_text(figure, value);
}

/* Rows of texts, the first one of headings, set in columns: the second to the left, the others to
 * the right. */
static void append_rows(GString *out, const GPtrArray *rows, guint n_columns) {
    g_autofree guint *widths = g_new0(guint, n_columns);

    for (guint row = 0; row < rows->len; row++)
        for (guint column = 0; column < n_columns; column++) {
            char **cells = rows->pdata[row];
            widths[column] = MAX(widths[column], (guint)g_utf8_strlen(cells[column], -1));
        }
    for (guint row = 0; row < rows->len; row++)
        for (guint column = 0; column < n_columns; column++) {
            char **cells = rows->pdata[row];
            gboolean last = column + 1 == n_columns;
            g_string_append_printf(out, "%s%*s%s", column == 0 ? "" : "  ",
                                   (int)widths[column] * (column == 1 ? -1 : 1), cells[column],
                                   last ? "\n" : "");
        }
}

static char **row_of(const SearchReport *report, const GArray *columns, gsize index) {
    const Candidate *candidate = &report->result->candidates[index];
    GPtrArray *cells = g_ptr_array_new();

    g_ptr_array_add(
        cells, g_strdup_printf("%u%s", candidate->rank,
                               candidate->on_front && report->setup->objectives->n > 1 ? "*" : ""));
    g_ptr_array_add(cells, g_strdup(candidate->plan));
    for (guint i = 0; i < columns->len; i++) {
        Figure figure = g_array_index(columns, Figure, i);
        g_ptr_array_add(cells, cell(figure, candidate->outcome.figures[figure]));
    }
    g_ptr_array_add(cells, NULL);
    return (char **)g_ptr_array_free(cells, FALSE);
}

static void append_ranking(GString *out, const SearchReport *report) {
    const SearchResult *result = report->result;
    g_autoptr(GArray) columns = columns_of(report->setup->objectives);
    g_autoptr(GPtrArray) rows = g_ptr_array_new_with_free_func((GDestroyNotify)g_strfreev);
    GPtrArray *head = g_ptr_array_new();

    g_ptr_array_add(head, g_strdup("rank"));
    g_ptr_array_add(head, g_strdup("plan"));
    for (guint i = 0; i < columns->len; i++)
        g_ptr_array_add(head, g_strdup(figure_info(g_array_index(columns, Figure, i))->name));
    g_ptr_array_add(head, NULL);
    g_ptr_array_add(rows, g_ptr_array_free(head, FALSE));
    for (gsize i = 0; i < MIN(result->n_ranked, TOP); i++)
        g_ptr_array_add(rows, row_of(report, columns, result->ranking[i]));
    append_rows(out, rows, columns->len + 2);
    if (report->setup->objectives->n > 1)
        g_string_append_printf(out, "* on the Pareto front, which has %" G_GSIZE_FORMAT " plan%s\n",
                               result->n_front, result->n_front == 1 ? "" : "s");
}

static void append_counts(GString *out, const SearchReport *report) {
    const SearchSpace *space = report->setup->space;
    const SearchResult *result = report->result;

    g_string_append_printf(
        out, "\nspace: %" G_GUINT64_FORMAT " combinations, %" G_GSIZE_FORMAT " candidates\n",
        space->enumerated, result->n);
    for (PruneRule rule = 0; rule < N_PRUNE_RULES; rule++)
        if (space->pruned[rule] > 0)
            g_string_append_printf(out, "  pruned by %-12s %8" G_GUINT64_FORMAT "\n",
                                   prune_rule_name(rule), space->pruned[rule]);
    g_string_append_printf(out,
                           "method: %s, %" G_GSIZE_FORMAT " simulated in %u round%s, %.0f "
                           "events\n",
                           search_method_names.names[report->setup->method], result->simulated,
                           result->rounds, result->rounds == 1 ? "" : "s", result->events);
    if (result->cut > 0)
        g_string_append_printf(out,
                               "  %8" G_GSIZE_FORMAT " of them ended early: what they had shown "
                               "made their bounds worse than the best\n",
                               result->cut);
    if (result->twins > 0)
        g_string_append_printf(out,
                               "  %8" G_GSIZE_FORMAT " the same run as one simulated, whose "
                               "requests never waited for a slot\n",
                               result->twins);
    static const struct {
        CandidateFate fate;
        const char *text;
    } lines[] = {{FATE_BOUND, "left out: even their bounds are worse than the best"},
                 {FATE_LIMIT, "break a limit"},
                 {FATE_REFUSED, "refused"},
                 {FATE_BROKEN, "broken: no figures"},
                 {FATE_UNNEEDED, "not needed"},
                 {FATE_ELSEWHERE, "in other shards"}};
    for (guint i = 0; i < G_N_ELEMENTS(lines); i++)
        if (result->fates[lines[i].fate] > 0)
            g_string_append_printf(out, "  %8" G_GUINT64_FORMAT " %s\n",
                                   result->fates[lines[i].fate], lines[i].text);
}

/* Which limit the simulated ones break first, and how often. */
static void append_broken_limits(GString *out, const SearchReport *report) {
    const Objectives *objectives = report->setup->objectives;
    const SearchResult *result = report->result;

    for (guint l = 0; l < objectives->limits->len; l++) {
        const FigureLimit *limit = &g_array_index(objectives->limits, FigureLimit, l);
        guint broken = 0;
        double nearest = NAN;
        for (gsize i = 0; i < result->n; i++) {
            const double *figures = result->candidates[i].outcome.figures;
            if (result->candidates[i].fate != FATE_LIMIT || figure_limit_kept(limit, figures))
                continue;
            broken++;
            if (isnan(nearest) || (limit->at_most ? figures[limit->figure] < nearest
                                                  : figures[limit->figure] > nearest))
                nearest = figures[limit->figure];
        }
        g_autofree char *value = objective_text(limit->figure, nearest);
        if (broken > 0)
            g_string_append_printf(out, "  %8u break '%s'; nearest: %s\n", broken, limit->text,
                                   value);
    }
}

static void append_rule(GString *out, const SearchReport *report) {
    const SearchRule *rule = report->rule;
    Figure figure = report->setup->objectives->figures[0];
    double regret = NAN;

    if (rule == NULL)
        return;
    g_string_append_printf(out, "\nanalytic rule (%s)\n", rule->readings);
    if (rule->plan != NULL)
        g_string_append_printf(out, "  plan:   %s\n", rule->plan);
    if (rule->why != NULL) {
        g_string_append_printf(out, "  no figures: %s\n", rule->why);
        return;
    }
    g_autofree char *value = objective_text(figure, rule->outcome.figures[figure]);
    regret = search_rule_regret(rule, report->setup, report->result);
    g_string_append_printf(out, "  %s: %s", figure_info(figure)->name, value);
    if (isinf(regret))
        g_string_append(out, "; there is no regret against nothing");
    else if (regret >= 1)
        g_string_append_printf(out, "; regret: the best is %.3f times better", regret);
    else if (!isnan(regret))
        g_string_append_printf(
            out, ", %.3f times better than the best: its plan is not in the space", 1 / regret);
    g_string_append_c(out, '\n');
}

char *search_report_table(const SearchReport *report) {
    const SearchResult *result = report->result;
    GString *out = g_string_new(NULL);

    if (result->n_ranked > 0) {
        append_ranking(out, report);
        g_string_append_printf(out, "\nbest: %s\n", result->candidates[result->best].plan);
    } else if (report->setup->method != SEARCH_ANALYTIC) {
        g_string_append(out, "no candidate is sound and keeps every limit\n");
    }
    append_counts(out, report);
    append_broken_limits(out, report);
    append_rule(out, report);
    return g_string_free(out, FALSE);
}
