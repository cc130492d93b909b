/* Every figure of several runs, with what became better and worse. */
#include "analysis/report/report_compare_private.h"

#include "analysis/compare/compare_text.h"

/* Of two folders the difference has a column of its own; of more, percent alone. */
static char **columns_of(const Comparison *comparison) {
    g_autoptr(GStrvBuilder) columns = g_strv_builder_new();

    g_strv_builder_add(columns, "figure");
    report_compare_put(columns, comparison_letter(0));
    for (guint at = 1; at < comparison->n; at++) {
        g_autofree char *letter = comparison_letter(at);
        g_strv_builder_add(columns, letter);
        if (comparison->n == 2)
            report_compare_put(columns, g_strdup_printf("%s less A", letter));
        report_compare_put(columns, g_strdup_printf("%s beside A", letter));
    }
    return g_strv_builder_end(columns);
}

static char **row_of(const Comparison *comparison, const ComparedFigure *figure) {
    g_autoptr(GStrvBuilder) row = g_strv_builder_new();

    report_compare_put(row, figure_key_label(figure->key));
    report_compare_put(row, report_compare_value(figure, 0));
    for (guint at = 1; at < comparison->n; at++) {
        report_compare_put(row, report_compare_value(figure, at));
        if (comparison->n == 2)
            report_compare_put(row, compared_figure_delta_text(figure, at));
        report_compare_put(row, report_compare_change(figure, at));
    }
    return g_strv_builder_end(row);
}

/* The figures from 'from' on that stand in its section. Returns the first of the next one. */
static guint add_section(ReportPage *page, const Comparison *comparison, guint from) {
    const char *first = ((const ComparedFigure *)comparison->figures->pdata[from])->key;
    g_autofree char *title = figure_key_title(first);
    g_auto(GStrv) columns = columns_of(comparison);
    g_autoptr(GPtrArray) rows = report_compare_rows();
    guint i = from;

    for (; i < comparison->figures->len; i++) {
        const ComparedFigure *figure = comparison->figures->pdata[i];
        if (!figure_key_same_section(first, figure->key))
            break;
        if (compared_figure_is_shown(figure))
            g_ptr_array_add(rows, row_of(comparison, figure));
    }
    if (rows->len > 0)
        report_page_table(page, title, (const char *const *)columns, rows, FALSE);
    return i;
}

void report_compare_figures(ReportPage *page, const Comparison *comparison) {
    report_page_section(page, "figures", "Figures",
                        "Those that are 0 or nothing in all runs are not shown.");
    for (guint i = 0; i < comparison->figures->len;)
        i = add_section(page, comparison, i);
}
