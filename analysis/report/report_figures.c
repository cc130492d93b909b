#include "analysis/report/report_figures.h"

#include "analysis/search/objective.h"
#include <math.h>
#include <string.h>

/* "ttft_p99" as people write it: "TTFT p99". */
static char *name_of(Figure figure) {
    static const char *const latencies[] = {"ttft_", "tpot_", "e2e_"};
    const char *name = figure_info(figure)->name;
    g_autofree char *text = g_strdelimit(g_strdup(name), "_", ' ');
    for (guint i = 0; i < G_N_ELEMENTS(latencies); i++)
        if (g_str_has_prefix(name, latencies[i]))
            for (char *c = text; *c != ' '; c++)
                *c = g_ascii_toupper(*c);
    return g_steal_pointer(&text);
}

ReportAxis report_figure_axis(Figure figure) {
    g_autofree char *name = name_of(figure);
    g_autofree char *one = objective_text(figure, 1);
    const char *space = strchr(one, ' ');
    gboolean plain = space == NULL || strcmp(space + 1, name) == 0;
    return (ReportAxis){.name = g_intern_string(name),
                        .unit = plain ? REPORT_UNIT_NONE : g_intern_string(space + 1)};
}

double report_figure_value(Figure figure, double value) {
    return strcmp(report_figure_axis(figure).unit, REPORT_UNIT_PERCENT) == 0 ? 100 * value : value;
}

char *report_figure_text(Figure figure, double value) {
    return figure == FIGURE_CLUSTERS && !isnan(value) ? g_strdup_printf("%.0f", value)
                                                      : objective_text(figure, value);
}

struct ReportFigures {
    char **columns;
    const Figure *figures;
    guint n;
    GPtrArray *rows; /* char ** */
};

static void free_row(gpointer row) {
    g_strfreev(row);
}

ReportFigures *report_figures_new(const char *const *head, const Figure *figures, guint n) {
    ReportFigures *table = g_new0(ReportFigures, 1);
    g_autoptr(GStrvBuilder) columns = g_strv_builder_new();
    g_strv_builder_addv(columns, (const char **)head);
    for (guint i = 0; i < n; i++) {
        g_autofree char *name = name_of(figures[i]);
        g_strv_builder_add(columns, name);
    }
    table->columns = g_strv_builder_end(columns);
    table->figures = figures;
    table->n = n;
    table->rows = g_ptr_array_new_with_free_func(free_row);
    return table;
}

void report_figures_row(ReportFigures *table, const char *const *head, const double *figures) {
    g_autoptr(GStrvBuilder) row = g_strv_builder_new();
    g_strv_builder_addv(row, (const char **)head);
    for (guint i = 0; i < table->n; i++) {
        g_autofree char *text = report_figure_text(table->figures[i], figures[table->figures[i]]);
        g_strv_builder_add(row, text);
    }
    g_ptr_array_add(table->rows, g_strv_builder_end(row));
}

void report_figures_end(ReportFigures *table, ReportPage *page, const char *title,
                        gboolean folded) {
    if (table->rows->len > 0)
        report_page_table(page, title, (const char *const *)table->columns, table->rows, folded);
    g_ptr_array_unref(table->rows);
    g_strfreev(table->columns);
    g_free(table);
}

char *report_figures_label(const char *head, const Figure *figures, guint n, const double *values) {
    GString *label = g_string_new(head);
    for (guint i = 0; i < n; i++) {
        g_autofree char *name = name_of(figures[i]);
        g_autofree char *text = report_figure_text(figures[i], values[figures[i]]);
        if (!isnan(values[figures[i]]))
            g_string_append_printf(label, "%s%s %s", label->len > 0 ? "\n" : "", name, text);
    }
    return g_string_free(label, FALSE);
}
