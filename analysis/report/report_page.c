#include "analysis/report/report_page.h"

#include "analysis/output/json_text.h"
#include "analysis/output/number_text.h"
#include "analysis/report/report_html.h"
#include <math.h>

struct ReportPage {
    JsonText json;
    char *title;
    gboolean in_section;
};

typedef struct Series {
    char *name, *colour;
    ReportStyle style;
    gboolean right;
    GString *points; /* JSON */
    GString *labels; /* JSON */
    gboolean labelled;
    guint n; /* points that were given, of which the first REPORT_POINTS_MAX are kept */
} Series;

typedef struct Mark {
    char axis;
    double value;
    char *label;
} Mark;

struct ReportChart {
    const char *id, *title;
    ReportAxis x, y, right;
    char *summary, *note;
    gboolean full_width;
    GPtrArray *categories; /* char * */
    GArray *series;        /* Series */
    GArray *marks;         /* Mark */
};

static void clear_series(gpointer data) {
    Series *series = data;
    g_free(series->name);
    g_free(series->colour);
    g_string_free(series->points, TRUE);
    g_string_free(series->labels, TRUE);
}

static void clear_mark(gpointer data) {
    g_free(((Mark *)data)->label);
}

ReportChart *report_chart_new(const char *id, const char *title, ReportAxis x, ReportAxis y) {
    ReportChart *chart = g_new0(ReportChart, 1);
    chart->id = id;
    chart->title = title;
    chart->x = x;
    chart->y = y;
    chart->categories = g_ptr_array_new_with_free_func(g_free);
    chart->series = g_array_new(FALSE, FALSE, sizeof(Series));
    g_array_set_clear_func(chart->series, clear_series);
    chart->marks = g_array_new(FALSE, FALSE, sizeof(Mark));
    g_array_set_clear_func(chart->marks, clear_mark);
    return chart;
}

static void chart_free(ReportChart *chart) {
    g_ptr_array_unref(chart->categories);
    g_array_unref(chart->series);
    g_array_unref(chart->marks);
    g_free(chart->summary);
    g_free(chart->note);
    g_free(chart);
}

void report_chart_right_axis(ReportChart *chart, ReportAxis y) {
    chart->right = y;
}

void report_chart_summary(ReportChart *chart, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    g_free(chart->summary);
    chart->summary = g_strdup_vprintf(format, arguments);
    va_end(arguments);
}

void report_chart_note(ReportChart *chart, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    g_free(chart->note);
    chart->note = g_strdup_vprintf(format, arguments);
    va_end(arguments);
}

void report_chart_category(ReportChart *chart, const char *name) {
    g_ptr_array_add(chart->categories, g_strdup(name));
}

void report_chart_full_width(ReportChart *chart) {
    chart->full_width = TRUE;
}

void report_chart_series(ReportChart *chart, const char *name, ReportStyle style,
                         const char *colour) {
    Series series = {.name = g_strdup(name),
                     .colour = g_strdup(colour),
                     .style = style,
                     .right = chart->right.name != NULL,
                     .points = g_string_new("["),
                     .labels = g_string_new("[")};
    g_array_append_val(chart->series, series);
}

/* Six significant digits are more than a screen shows; null where there is no value. */
static void append_short(GString *out, double value) {
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    if (isfinite(value))
        g_string_append(out, g_ascii_formatd(text, sizeof text, "%.6g", value));
    else
        g_string_append(out, "null");
}

void report_chart_point(ReportChart *chart, double x, double y, const char *label) {
    g_assert(chart->series->len > 0);
    Series *series = &g_array_index(chart->series, Series, chart->series->len - 1);
    const char *comma = series->points->len > 1 ? ",[" : "[";
    if (series->n++ >= REPORT_POINTS_MAX)
        return;
    g_string_append(series->points, comma);
    append_short(series->points, x);
    g_string_append_c(series->points, ',');
    append_short(series->points, y);
    g_string_append_c(series->points, ']');
    if (series->labels->len > 1)
        g_string_append_c(series->labels, ',');
    if (label == NULL)
        g_string_append(series->labels, "\"\"");
    else
        json_text_quote(series->labels, label);
    series->labelled |= label != NULL;
}

void report_chart_mark(ReportChart *chart, char axis, double value, const char *label) {
    Mark mark = {axis, value, g_strdup(label)};
    g_array_append_val(chart->marks, mark);
}

static void write_axis(JsonText *json, const char *key, const ReportAxis *axis) {
    json_text_open(json, key, '{');
    json_text_string(json, "name", axis->name);
    json_text_string(json, "unit", axis->unit);
    if (axis->from_zero)
        json_text_bool(json, "zero", TRUE);
    if (axis->logarithmic)
        json_text_bool(json, "log", TRUE);
    json_text_close(json, '}');
}

static void write_series(JsonText *json, const Series *series) {
    static const char *const styles[] = {
        [REPORT_LINE] = "line",   [REPORT_DASHED] = "dashed",
        [REPORT_AREA] = "area",   [REPORT_BARS] = "bars",
        [REPORT_POINTS] = "dots", [REPORT_FAINT] = "faint",
        [REPORT_STAR] = "star",   [REPORT_LINE_AND_POINTS] = "linedots"};
    json_text_open(json, NULL, '{');
    json_text_string(json, "name", series->name);
    json_text_string(json, "style", styles[series->style]);
    json_text_string(json, "colour", series->colour);
    if (series->right)
        json_text_bool(json, "right", TRUE);
    g_string_append_c(series->points, ']');
    json_text_raw(json, "points", series->points->str);
    g_string_append_c(series->labels, ']');
    if (series->labelled)
        json_text_raw(json, "labels", series->labels->str);
    json_text_close(json, '}');
}

static void write_marks(JsonText *json, const GArray *marks) {
    json_text_open(json, "marks", '[');
    for (guint i = 0; i < marks->len; i++) {
        const Mark *mark = &g_array_index(marks, Mark, i);
        json_text_open(json, NULL, '{');
        json_text_string(json, "axis", mark->axis == 'x' ? "x" : "y");
        json_text_number(json, "value", mark->value);
        json_text_string(json, "label", mark->label);
        json_text_close(json, '}');
    }
    json_text_close(json, ']');
}

/* What the chart notes, and how many points of it are not shown; NULL: nothing. Caller frees. */
static char *note_of(const ReportChart *chart) {
    guint hidden = 0;
    for (guint i = 0; i < chart->series->len; i++) {
        guint n = g_array_index(chart->series, Series, i).n;
        hidden += n > REPORT_POINTS_MAX ? n - REPORT_POINTS_MAX : 0;
    }
    if (hidden == 0)
        return g_strdup(chart->note);
    return g_strdup_printf("%s%s%u more points are not shown.",
                           chart->note == NULL ? "" : chart->note, chart->note == NULL ? "" : " ",
                           hidden);
}

static void write_chart(JsonText *json, const ReportChart *chart) {
    g_autofree char *note = note_of(chart);

    json_text_open(json, NULL, '{');
    json_text_string(json, "kind", "chart");
    json_text_string(json, "id", chart->id);
    json_text_string(json, "title", chart->title);
    json_text_string(json, "summary", chart->summary == NULL ? "" : chart->summary);
    if (note != NULL)
        json_text_string(json, "note", note);
    if (chart->full_width)
        json_text_bool(json, "wide", TRUE);
    write_axis(json, "x", &chart->x);
    write_axis(json, "y", &chart->y);
    if (chart->right.name != NULL)
        write_axis(json, "right", &chart->right);
    if (chart->categories->len > 0) {
        json_text_open(json, "categories", '[');
        for (guint i = 0; i < chart->categories->len; i++)
            json_text_string(json, NULL, chart->categories->pdata[i]);
        json_text_close(json, ']');
    }
    json_text_open(json, "series", '[');
    for (guint i = 0; i < chart->series->len; i++)
        write_series(json, &g_array_index(chart->series, Series, i));
    json_text_close(json, ']');
    write_marks(json, chart->marks);
    json_text_close(json, '}');
}

ReportPage *report_page_new(const char *title, const char *subtitle) {
    ReportPage *page = g_new0(ReportPage, 1);
    page->title = g_strdup(title);
    page->json = json_text_new();
    json_text_open(&page->json, NULL, '{');
    json_text_string(&page->json, "title", title);
    json_text_string(&page->json, "subtitle", subtitle);
    json_text_string(&page->json, "version", INFERGRID_VERSION);
    json_text_open(&page->json, "sections", '[');
    return page;
}

void report_page_free(ReportPage *page) {
    if (page == NULL)
        return;
    if (page->json.out != NULL)
        g_string_free(page->json.out, TRUE);
    g_free(page->title);
    g_free(page);
}

static void end_section(ReportPage *page) {
    if (!page->in_section)
        return;
    json_text_close(&page->json, ']');
    json_text_close(&page->json, '}');
    page->in_section = FALSE;
}

void report_page_section(ReportPage *page, const char *id, const char *title, const char *note) {
    end_section(page);
    json_text_open(&page->json, NULL, '{');
    json_text_string(&page->json, "id", id);
    json_text_string(&page->json, "title", title);
    if (note != NULL)
        json_text_string(&page->json, "note", note);
    json_text_open(&page->json, "items", '[');
    page->in_section = TRUE;
}

void report_page_tile(ReportPage *page, const char *label, const char *value, const char *note,
                      const char *state) {
    g_assert(page->in_section);
    json_text_open(&page->json, NULL, '{');
    json_text_string(&page->json, "kind", "tile");
    json_text_string(&page->json, "label", label);
    json_text_string(&page->json, "value", value);
    if (note != NULL)
        json_text_string(&page->json, "note", note);
    if (state != NULL)
        json_text_string(&page->json, "state", state);
    json_text_close(&page->json, '}');
}

void report_page_chart(ReportPage *page, ReportChart *chart) {
    g_assert(page->in_section);
    write_chart(&page->json, chart);
    chart_free(chart);
}

static void write_texts(JsonText *json, const char *key, const char *const *texts) {
    json_text_open(json, key, '[');
    for (; *texts != NULL; texts++)
        json_text_string(json, NULL, *texts);
    json_text_close(json, ']');
}

void report_page_table(ReportPage *page, const char *title, const char *const *columns,
                       const GPtrArray *rows, gboolean folded) {
    guint shown = MIN(rows->len, REPORT_ROWS_MAX);
    g_autofree char *name =
        shown == rows->len ? g_strdup(title)
                           : g_strdup_printf("%s; the first %u of %u", title, shown, rows->len);
    g_assert(page->in_section);
    json_text_open(&page->json, NULL, '{');
    json_text_string(&page->json, "kind", "table");
    json_text_string(&page->json, "title", name);
    json_text_bool(&page->json, "folded", folded);
    write_texts(&page->json, "columns", columns);
    json_text_open(&page->json, "rows", '[');
    for (guint i = 0; i < shown; i++)
        write_texts(&page->json, NULL, rows->pdata[i]);
    json_text_close(&page->json, ']');
    json_text_close(&page->json, '}');
}

void report_page_text(ReportPage *page, const char *title, const char *text) {
    g_assert(page->in_section);
    json_text_open(&page->json, NULL, '{');
    json_text_string(&page->json, "kind", "text");
    json_text_string(&page->json, "title", title);
    json_text_string(&page->json, "text", text);
    json_text_close(&page->json, '}');
}

void report_page_item(ReportPage *page, const char *json) {
    g_assert(page->in_section);
    json_text_raw(&page->json, NULL, json);
}

gboolean report_page_write(ReportPage *page, const char *path, GError **error) {
    end_section(page);
    json_text_close(&page->json, ']');
    json_text_close(&page->json, '}');
    g_autofree char *data = json_text_end(&page->json);
    return report_html_write(path, page->title, data, error);
}
