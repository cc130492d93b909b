#include "analysis/compare/compare_text.h"

#include "workloads/units.h"
#include <math.h>
#include <string.h>

static char *value_text(const ComparedFigure *figure, double value) {
    const double most_exact = (double)(G_GUINT64_CONSTANT(1) << 53);
    SummaryCell cell = {.form = figure->form, .number = value};
    gboolean whole = value >= 0 && value < most_exact && !(fmod(value, 1) > 0);

    if (whole)
        cell.count = (guint64)value;
    if (figure->form == FORM_NONE)
        cell.form = whole ? FORM_COUNT : FORM_REAL;
    return summary_cell_format(&cell);
}

char *compared_figure_text(const ComparedFigure *figure, guint at) {
    if (!figure->present[at])
        return g_strdup("absent");
    return isnan(figure->values[at]) ? g_strdup("-") : value_text(figure, figure->values[at]);
}

char *compared_figure_delta_text(const ComparedFigure *figure, guint at) {
    double delta = compared_figure_delta(figure, at);
    const char *sign = delta > 0 ? "+" : "-";

    if (isnan(delta) || figure->form == FORM_BOOL)
        return g_strdup("-");
    if (!(fabs(delta) > 0))
        return g_strdup("0");
    g_autofree char *text = value_text(figure, fabs(delta));
    if (figure->form != FORM_SHARE)
        return g_strconcat(sign, text, NULL);
    text[strcspn(text, "%")] = '\0';
    return g_strconcat(sign, text, "pp", NULL);
}

char *compare_text_percent(double percent) {
    char digits[G_ASCII_DTOSTR_BUF_SIZE];

    if (isnan(percent))
        return g_strdup("-");
    if (!(fabs(percent) > 0))
        return g_strdup("0 %");
    if (percent > 9999)
        return g_strdup(">9999 %");
    const char *format = fabs(percent) < 99.95 ? "%+.1f" : "%+.0f";
    return g_strconcat(g_ascii_formatd(digits, sizeof digits, format, percent), " %", NULL);
}

char *compare_text_seconds(double seconds) {
    if (isnan(seconds))
        return g_strdup("-");
    g_autofree char *text = units_format_brief(fabs(seconds), DIMENSION_SECONDS);
    return g_strconcat(seconds > 0 ? "+" : seconds < 0 ? "-" : "", text, NULL);
}

gboolean compared_figure_is_shown(const ComparedFigure *figure) {
    for (guint at = 0; at < figure->n; at++)
        if (fabs(figure->values[at]) > 0)
            return TRUE;
    return FALSE;
}
