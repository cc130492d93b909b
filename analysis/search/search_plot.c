#include "analysis/search/search_plot.h"

#include "analysis/output/gnuplot.h"
#include <math.h>
#include <string.h>

#define WIDTH_CM 12.0
#define HEIGHT_CM 8.0
#define PANEL_WIDTH_CM 6.2
#define PANEL_HEIGHT_CM 5.2
#define PANELS_IN_A_ROW 3

/* "ttft_p99 (s)": a column's name with what is behind the figure's as unit. */
static char *label_of(Figure figure) {
    const FigureInfo *info = figure_info(figure);
    gsize length = strlen(info->name);
    g_autofree char *name = g_strdelimit(g_strdup(info->name), "_", ' ');

    if (strlen(info->column) == length)
        return g_steal_pointer(&name);
    g_autofree char *unit = g_strdelimit(g_strdup(info->column + length + 1), "_", ' ');
    return g_strdup_printf("%s (%s)", name, unit);
}

static void append_label(GString *out, const char *axis, Figure figure) {
    g_autofree char *label = label_of(figure);

    g_string_append_printf(out, "set %slabel ", axis);
    gnuplot_text(out, label);
    g_string_append(out, " noenhanced\n");
}

static void append_style(GString *out) {
    g_string_append(out, "set grid lc rgb '#dddddd'\nset tics nomirror\nset border 3\n");
}

/* --- the front */

Figure search_plot_across(const Objectives *objectives) {
    if (objectives->n > 1)
        return objectives->figures[1];
    return objectives->figures[0] == FIGURE_TTFT_P99 ? FIGURE_THROUGHPUT : FIGURE_TTFT_P99;
}

typedef struct Front {
    const SearchReport *report;
    Figure x, y;
} Front;

static void append_point(GString *out, const Front *front, const double *figures) {
    gnuplot_number(out, figures[front->x]);
    g_string_append_c(out, ' ');
    gnuplot_number(out, figures[front->y]);
    g_string_append_c(out, '\n');
}

static int by_x(gconstpointer a, gconstpointer b, gpointer data) {
    const Front *front = data;
    const Candidate *candidates = front->report->result->candidates;
    double first = candidates[*(const gsize *)a].outcome.figures[front->x];
    double second = candidates[*(const gsize *)b].outcome.figures[front->x];

    return first < second ? -1 : first > second;
}

GArray *search_plot_front(const SearchReport *report, Figure x_figure, Figure y_figure) {
    const Front front = {report, x_figure, y_figure};
    const SearchResult *result = report->result;
    GArray *drawn = g_array_new(FALSE, FALSE, sizeof(gsize));

    for (gsize i = 0; i < result->n_ranked; i++) {
        const double *a = result->candidates[result->ranking[i]].outcome.figures;
        gboolean beaten = FALSE;
        for (gsize j = 0; j < result->n_ranked && !beaten; j++) {
            const double *b = result->candidates[result->ranking[j]].outcome.figures;
            int x = objective_compare(x_figure, b[x_figure], a[x_figure]);
            int y = objective_compare(y_figure, b[y_figure], a[y_figure]);
            beaten = x <= 0 && y <= 0 && (x < 0 || y < 0);
        }
        if (!beaten)
            g_array_append_val(drawn, result->ranking[i]);
    }
    g_array_sort_with_data(drawn, by_x, (gpointer)&front);
    return drawn;
}

static void append_pareto_data(GString *out, const Front *front) {
    const SearchReport *report = front->report;
    const SearchResult *result = report->result;
    g_autoptr(GArray) drawn = search_plot_front(report, front->x, front->y);

    g_string_append(out, "$plans << EOD\n");
    for (gsize i = 0; i < result->n; i++)
        if (result->candidates[i].outcome.status == OUTCOME_OK &&
            !isnan(result->candidates[i].outcome.figures[front->y]))
            append_point(out, front, result->candidates[i].outcome.figures);
    g_string_append(out, "EOD\n$ended << EOD\n");
    for (gsize i = 0; i < result->n; i++)
        if (result->candidates[i].cut && !isnan(result->candidates[i].best_figures[front->y]))
            append_point(out, front, result->candidates[i].best_figures);
    g_string_append(out, "EOD\n$front << EOD\n");
    for (guint i = 0; i < drawn->len; i++)
        append_point(out, front,
                     result->candidates[g_array_index(drawn, gsize, i)].outcome.figures);
    g_string_append(out, "EOD\n$best << EOD\n");
    if (result->best != NO_CANDIDATE)
        append_point(out, front, result->candidates[result->best].outcome.figures);
    g_string_append(out, "EOD\n$rule << EOD\n");
    if (report->rule != NULL && report->rule->why == NULL)
        append_point(out, front, report->rule->outcome.figures);
    g_string_append(out, "EOD\n");
}

static char *pareto_script(gconstpointer data, const char *path, const char *output) {
    const SearchReport *report = data;
    const Objectives *objectives = report->setup->objectives;
    Front front = {report, search_plot_across(objectives), objectives->figures[0]};
    GnuplotPicture picture = {path, WIDTH_CM, HEIGHT_CM};
    GString *out = g_string_new(NULL);

    gnuplot_begin(out, &picture, output);
    append_pareto_data(out, &front);
    append_style(out);
    append_label(out, "x", front.x);
    append_label(out, "y", front.y);
    g_string_append(
        out, "set xrange [0<*:*]\nset yrange [0:*]\nset offsets 0, graph 0.05, graph 0.08, 0\n"
             "set key outside top center horizontal samplen 1.5\nplot ");
    g_string_append(out, "$plans using 1:2 with points pt 7 ps 0.35 lc rgb '#bbbbbb' title "
                         "'simulated plans'");
    /* of a figure that was no objective their bounds say little */
    if (report->result->cut > 0 && objectives->n > 1)
        g_string_append(out, ", \\\n  $ended using 1:2 with points pt 6 ps 0.35 lc rgb '#999999' "
                             "title 'ended early: bounds'");
    g_string_append_printf(out,
                           ", \\\n  $front using 1:2 with linespoints lw 2 pt 7 ps 0.6 lc rgb '%s' "
                           "title 'front'",
                           gnuplot_colour(0));
    if (report->result->best != NO_CANDIDATE)
        g_string_append_printf(
            out, ", \\\n  $best using 1:2 with points pt 6 ps 1.3 lw 2 lc rgb '%s' title 'best'",
            gnuplot_colour(1));
    if (report->rule != NULL && report->rule->why == NULL)
        g_string_append_printf(out,
                               ", \\\n  $rule using 1:2 with points pt 9 ps 1 lc rgb '%s' title "
                               "'analytic rule'",
                               gnuplot_colour(2));
    g_string_append_c(out, '\n');
    return g_string_free(out, FALSE);
}

gboolean search_plot_pareto(const SearchReport *report, const char *path, GError **error) {
    return gnuplot_draw(path, pareto_script, report, error);
}

/* --- sensitivity */

typedef struct Panel {
    const char *key;
    GPtrArray *values; /* borrowed texts, in the order in which they are met, numbers ascending */
} Panel;

/* Replicas follow from the other settings and the machine. */
static gboolean is_replicas(const char *key) {
    return g_str_has_suffix(key, ".dp") || g_str_equal(key, "policy.pools");
}

/* Whether the candidate is the best plan but for 'key', and for the replicas where that is not
 * about them. */
static gboolean differs_in(const Candidate *candidate, const Candidate *best, const char *key) {
    for (char **setting = best->point->settings; *setting != NULL; setting++) {
        g_autofree char *name = g_strndup(*setting, (gsize)(strchr(*setting, '=') - *setting));
        if (g_str_equal(name, key) || (is_replicas(name) && !is_replicas(key)))
            continue;
        if (g_strcmp0(search_report_setting(candidate, name), search_report_setting(best, name)) !=
            0)
            return FALSE;
    }
    return TRUE;
}

/* The best candidate with 'value', simulated or by its bound; NULL when there is none. */
static const Candidate *best_with(const SearchReport *report, const char *key, const char *value,
                                  gboolean simulated) {
    const SearchResult *result = report->result;
    const Candidate *best = &result->candidates[result->best], *found = NULL;
    Figure figure = report->setup->objectives->figures[0];

    for (gsize i = 0; i < result->n; i++) {
        const Candidate *candidate = &result->candidates[i];
        const double *figures = simulated ? candidate->outcome.figures : candidate->best_figures;
        if (isnan(figures[figure]) || (!simulated && candidate->fate != FATE_BOUND) ||
            g_strcmp0(search_report_setting(candidate, key), value) != 0 ||
            !differs_in(candidate, best, key))
            continue;
        const double *other = found == NULL ? NULL
                              : simulated   ? found->outcome.figures
                                            : found->best_figures;
        if (other == NULL || objective_compare(figure, figures[figure], other[figure]) < 0)
            found = candidate;
    }
    return found;
}

static gint by_number(gconstpointer a, gconstpointer b) {
    const char *const *first = a, *const *second = b;
    double x = g_ascii_strtod(*first, NULL), y = g_ascii_strtod(*second, NULL);

    return x < y ? -1 : x > y;
}

static GPtrArray *values_of(const SearchReport *report, const char *key) {
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    GPtrArray *values = g_ptr_array_new();

    for (gsize i = 0; i < report->result->n; i++) {
        const char *value = search_report_setting(&report->result->candidates[i], key);
        if (value == NULL || !g_hash_table_add(seen, (gpointer)value))
            continue;
        if (best_with(report, key, value, TRUE) != NULL ||
            best_with(report, key, value, FALSE) != NULL)
            g_ptr_array_add(values, (gpointer)value);
    }
    g_ptr_array_sort(values, by_number);
    return values;
}

static void append_values(GString *out, const SearchReport *report, const Panel *panel,
                          gboolean simulated) {
    Figure figure = report->setup->objectives->figures[0];

    for (guint i = 0; i < panel->values->len; i++) {
        const Candidate *candidate =
            best_with(report, panel->key, panel->values->pdata[i], simulated);
        if (candidate == NULL ||
            (!simulated && best_with(report, panel->key, panel->values->pdata[i], TRUE) != NULL))
            continue;
        g_string_append_printf(out, "%u ", i);
        gnuplot_number(out, simulated ? candidate->outcome.figures[figure]
                                      : candidate->best_figures[figure]);
        g_string_append_c(out, '\n');
    }
}

static void append_panel(GString *out, const SearchReport *report, const Panel *panel, guint n) {
    const SearchResult *result = report->result;
    Figure figure = report->setup->objectives->figures[0];
    const char *best = search_report_setting(&result->candidates[result->best], panel->key);

    g_string_append_printf(out, "$simulated%u << EOD\n", n);
    append_values(out, report, panel, TRUE);
    g_string_append_printf(out, "EOD\n$bound%u << EOD\n", n);
    append_values(out, report, panel, FALSE);
    g_string_append_printf(out, "EOD\n$best%u << EOD\n", n);
    for (guint i = 0; i < panel->values->len; i++)
        if (g_strcmp0(panel->values->pdata[i], best) == 0) {
            g_string_append_printf(out, "%u ", i);
            gnuplot_number(out, result->candidates[result->best].outcome.figures[figure]);
            g_string_append_c(out, '\n');
        }
    g_string_append(out, "EOD\nset xtics (");
    for (guint i = 0; i < panel->values->len; i++) {
        g_string_append(out, i == 0 ? "" : ", ");
        gnuplot_text(out, panel->values->pdata[i]);
        g_string_append_printf(out, " %u", i);
    }
    g_string_append(out, ") noenhanced\nset xlabel ");
    gnuplot_text(out, g_str_has_prefix(panel->key, "policy.") ? panel->key + 7 : panel->key);
    g_string_append_printf(out, " noenhanced\nset xrange [-0.4:%g]\nset yrange [0:*]\n",
                           panel->values->len - 0.6);
    g_string_append_printf(
        out,
        "plot $simulated%u using 1:2 with linespoints lw 2 pt 7 ps 0.6 lc rgb '%s' notitle, \\\n"
        "  $bound%u using 1:2 with points pt 6 ps 0.7 lc rgb '%s' notitle, \\\n"
        "  $best%u using 1:2 with points pt 6 ps 1.3 lw 2 lc rgb '%s' notitle\n",
        n, gnuplot_colour(0), n, gnuplot_colour(0), n, gnuplot_colour(1));
}

static void panel_clear(gpointer data) {
    Panel *panel = data;
    g_ptr_array_unref(panel->values);
}

/* Panels of the settings that take more than one value around the best plan. */
static GArray *panels_of(const SearchReport *report, char **keys) {
    GArray *panels = g_array_new(FALSE, FALSE, sizeof(Panel));

    g_array_set_clear_func(panels, panel_clear);
    for (char **key = keys; *key != NULL && report->result->best != NO_CANDIDATE; key++) {
        Panel panel = {*key, values_of(report, *key)};
        if (panel.values->len > 1)
            g_array_append_val(panels, panel);
        else
            panel_clear(&panel);
    }
    return panels;
}

static char *sensitivity_script(gconstpointer data, const char *path, const char *output) {
    const SearchReport *report = data;
    g_auto(GStrv) keys = search_report_keys(report->result);
    g_autoptr(GArray) panels = panels_of(report, keys);
    guint columns = MAX(1, MIN(panels->len, PANELS_IN_A_ROW));
    guint rows = MAX(1, (panels->len + columns - 1) / columns);
    GnuplotPicture picture = {path, columns * PANEL_WIDTH_CM, rows * PANEL_HEIGHT_CM};
    g_autofree char *label = label_of(report->setup->objectives->figures[0]);
    GString *out = g_string_new(NULL);

    gnuplot_begin(out, &picture, output);
    append_style(out);
    if (panels->len == 0) {
        g_string_append(out, "unset tics\nunset border\nset label 'no setting varies around the "
                             "best plan' at graph 0.5, graph 0.5 center\nplot [0:1][0:1] NaN "
                             "notitle\n");
        return g_string_free(out, FALSE);
    }
    g_string_append_printf(out,
                           "set multiplot layout %u,%u title 'filled: simulated; hollow: bound of "
                           "what was left out; circle: the best plan' font ',9'\n",
                           rows, columns);
    for (guint i = 0; i < panels->len; i++) {
        g_string_append(out, "set ylabel ");
        gnuplot_text(out, i % columns == 0 ? label : "");
        g_string_append(out, " noenhanced\n");
        append_panel(out, report, &g_array_index(panels, Panel, i), i);
    }
    g_string_append(out, "unset multiplot\n");
    return g_string_free(out, FALSE);
}

gboolean search_plot_sensitivity(const SearchReport *report, const char *path, GError **error) {
    return gnuplot_draw(path, sensitivity_script, report, error);
}
