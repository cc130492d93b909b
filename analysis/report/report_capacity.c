#include "analysis/report/report_capacity.h"

#include "analysis/report/report_figures.h"
#include <math.h>

static const Figure told[] = {FIGURE_GOODPUT,  FIGURE_THROUGHPUT, FIGURE_TTFT_P99,
                              FIGURE_TPOT_P99, FIGURE_CLUSTERS,   FIGURE_COST};

/* --- curves over sizes or loads */

typedef struct Curve {
    const CapacityReport *report;
    const GPtrArray *points;
    gboolean sizes;
    ReportChart *chart;
} Curve;

static double place_of(const Curve *curve, const CapacityPoint *point) {
    return curve->sizes ? (double)point->size : curve->report->capacity->rate_per_s * point->load;
}

static char *label_of(const Curve *curve, const CapacityPoint *point) {
    g_autofree char *size = capacity_size_text(curve->report->setup->units, point->size);
    g_autofree char *load = g_strdup_printf("%.3g times the load", point->load);
    g_autofree char *words = capacity_point_words(point);
    g_autofree char *head =
        g_strdup_printf("%s: %s\n%s", curve->sizes ? size : load,
                        point->holds ? "all targets met" : "a target is missed", words);
    return report_figures_label(head, told, G_N_ELEMENTS(told), point->figures);
}

/* 'holds' is TRUE or FALSE for those that do or do not, −1 for all. */
static void add_series(const Curve *curve, const char *name, ReportStyle style, const char *colour,
                       Figure figure, int holds) {
    report_chart_series(curve->chart, name, style, colour);
    for (guint i = 0; i < curve->points->len; i++) {
        const CapacityPoint *point = curve->points->pdata[i];
        g_autofree char *label = label_of(curve, point);
        if ((holds < 0 || point->holds == holds) && !isnan(point->figures[figure]))
            report_chart_point(curve->chart, place_of(curve, point),
                               report_figure_value(figure, point->figures[figure]), label);
    }
}

static void add_targets(const Curve *curve, Figure figure) {
    const GArray *limits = curve->report->setup->targets->limits;
    for (guint i = 0; i < limits->len; i++) {
        const FigureLimit *limit = &g_array_index(limits, FigureLimit, i);
        if (limit->figure == figure)
            report_chart_mark(curve->chart, 'y', report_figure_value(figure, limit->value),
                              limit->text);
    }
}

/* The curve's figure to the left, another to the right. */
static void add_curves(const Curve *curve, Figure right) {
    Figure left = curve->report->capacity->curve;
    ReportAxis other = report_figure_axis(right);
    add_series(curve, report_figure_axis(left).name, REPORT_LINE, "front", left, -1);
    add_series(curve, "all targets met", REPORT_POINTS, "3", left, TRUE);
    add_series(curve, "a target missed", REPORT_POINTS, "1", left, FALSE);
    add_targets(curve, left);
    if (left == right)
        return;
    other.from_zero = TRUE;
    report_chart_right_axis(curve->chart, other);
    add_series(curve, other.name, REPORT_DASHED, "4", right, -1);
}

static ReportAxis left_axis(const CapacityReport *report) {
    ReportAxis axis = report_figure_axis(report->capacity->curve);
    axis.from_zero = TRUE;
    return axis;
}

/* The answer and the knee, in one mark where they are the same. */
static void mark_sizes(const Curve *curve) {
    const Capacity *capacity = curve->report->capacity;
    const CapacityPoint *knee =
        capacity->knee == NO_PLACE ? NULL : capacity->sizes->pdata[capacity->knee];
    gboolean same =
        knee != NULL && capacity->chosen != NULL && knee->size == capacity->chosen->size;
    if (capacity->chosen != NULL)
        report_chart_mark(curve->chart, 'x', (double)capacity->chosen->size,
                          same ? "smallest that holds, and knee" : "smallest that holds");
    if (knee != NULL && !same)
        report_chart_mark(curve->chart, 'x', (double)knee->size, "knee");
}

static void add_sizes(ReportPage *page, const CapacityReport *report) {
    const Capacity *capacity = report->capacity;
    ReportAxis x =
        REPORT_AXIS_FROM_ZERO(capacity_unit_names[report->setup->units], REPORT_UNIT_NONE);
    Curve curve = {.report = report, .points = capacity->sizes, .sizes = TRUE};
    if (capacity->sizes->len == 0)
        return;
    curve.chart = report_chart_new("capacity", "What each size reaches", x, left_axis(report));
    add_curves(&curve, FIGURE_THROUGHPUT);
    mark_sizes(&curve);
    if (capacity->chosen != NULL) {
        g_autofree char *size = capacity_size_text(report->setup->units, capacity->chosen->size);
        report_chart_summary(curve.chart,
                             "%u sizes were looked at; the smallest machine that meets "
                             "all targets has %s: %s.",
                             capacity->sizes->len, size, capacity->chosen->plan);
    } else {
        report_chart_summary(curve.chart, "%u sizes were looked at; none meets all targets.",
                             capacity->sizes->len);
    }
    if (capacity->knee != NO_PLACE)
        report_chart_note(curve.chart, "Knee: the size behind which %s gains less than %.3g %%.",
                          report_figure_axis(capacity->curve).name, 100 * report->setup->knee_gain);
    report_page_chart(page, curve.chart);
}

static void add_loads(ReportPage *page, const CapacityReport *report) {
    const Capacity *capacity = report->capacity;
    double highest = capacity->rate_per_s * capacity->highest_load;
    Curve curve = {.report = report, .points = capacity->loads};
    if (capacity->loads->len == 0)
        return;
    curve.chart = report_chart_new(
        "headroom", "Headroom: the same plan under other loads",
        REPORT_AXIS_FROM_ZERO("requests/s that arrive", REPORT_UNIT_NONE), left_axis(report));
    add_curves(&curve, FIGURE_TTFT_P99);
    report_chart_summary(curve.chart, "No load that was tried meets all targets.");
    if (!isnan(highest)) {
        g_autofree char *mark = g_strdup_printf("sustains %.3g requests/s", highest);
        report_chart_mark(curve.chart, 'x', highest, mark);
        report_chart_summary(curve.chart, "The plan sustains %.4g requests/s, %.3g times its load.",
                             highest, capacity->highest_load);
    }
    report_page_chart(page, curve.chart);
}

/* --- tables */

static void add_table(ReportPage *page, const CapacityReport *report, const GPtrArray *points,
                      gboolean sizes) {
    const char *const head[] = {sizes ? capacity_unit_names[report->setup->units] : "requests/s",
                                "holds", "plan", NULL};
    Curve curve = {.report = report, .points = points, .sizes = sizes};
    ReportFigures *table = report_figures_new(head, told, G_N_ELEMENTS(told));
    for (guint i = 0; i < points->len; i++) {
        const CapacityPoint *point = points->pdata[i];
        g_autofree char *place = g_strdup_printf("%.4g", place_of(&curve, point));
        g_autofree char *words = capacity_point_words(point);
        const char *const row[] = {place, point->holds ? "yes" : "no", words, NULL};
        report_figures_row(table, row, point->figures);
    }
    report_figures_end(table, page, sizes ? "Sizes" : "Loads", FALSE);
}

static double mean_of(const CapacityRelief *relief, Figure figure) {
    double sum = 0;
    for (guint i = 0; i < PRESSED_LOADS; i++)
        sum += relief->points[i]->figures[figure];
    return sum / PRESSED_LOADS;
}

static void free_row(gpointer row) {
    g_strfreev(row);
}

static void add_bottleneck(ReportPage *page, const Capacity *capacity) {
    g_autoptr(GPtrArray) rows = g_ptr_array_new_with_free_func(free_row);
    if (capacity->pressed == NULL)
        return;
    Figure figure = capacity->pressed->figure;
    const char *const columns[] = {"given twice", report_figure_axis(figure).name,
                                   "of the way to the target", "", NULL};
    for (guint i = 0; i < capacity->reliefs->len; i++) {
        const CapacityRelief *relief = capacity->reliefs->pdata[i];
        g_autofree char *value = objective_text(figure, mean_of(relief, figure));
        g_autofree char *closed = isnan(relief->closed)
                                      ? g_strdup("-")
                                      : g_strdup_printf("%.0f %%", 100 * relief->closed);
        g_autofree char *name = relief->resource == NULL
                                    ? g_strdup("nothing")
                                    : g_strdup_printf("%s (%s)", relief->resource, relief->change);
        gboolean is_it = (gssize)i == capacity->bottleneck;
        const char *row[] = {name, value, closed, is_it ? "bottleneck" : "", NULL};
        g_ptr_array_add(rows, g_strdupv((char **)row));
    }
    report_page_table(page, "What holds it back, in the mean of loads just too high", columns, rows,
                      FALSE);
}

/* --- the page */

static void add_figure_tile(ReportPage *page, const double *figures, Figure figure) {
    g_autofree char *value = report_figure_text(figure, figures[figure]);
    if (!isnan(figures[figure]))
        report_page_tile(page, report_figure_axis(figure).name, value, NULL, NULL);
}

static void add_answer_tile(ReportPage *page, const CapacityReport *report) {
    const CapacityPoint *chosen = report->capacity->chosen;
    if (chosen == NULL) {
        report_page_tile(page, "Smallest machine", "none", "no size meets every target", "bad");
    } else if (chosen->size > 0) {
        g_autofree char *size = capacity_size_text(report->setup->units, chosen->size);
        report_page_tile(page, "Smallest machine", size, chosen->plan, "good");
    } else {
        g_autofree char *rate =
            g_strdup_printf("%.4g requests/s", report->capacity->rate_per_s * chosen->load);
        report_page_tile(page, "Highest load", rate, chosen->plan, "good");
    }
}

static void add_overview(ReportPage *page, const CapacityReport *report) {
    const Capacity *capacity = report->capacity;
    report_page_section(page, "overview", "Overview", NULL);
    add_answer_tile(page, report);
    for (guint i = 0; i < G_N_ELEMENTS(told) && capacity->chosen != NULL; i++)
        add_figure_tile(page, capacity->chosen->figures, told[i]);
    if (isnan(capacity->highest_load) || capacity->sizes->len == 0)
        return;
    g_autofree char *headroom = g_strdup_printf("%.3g times", capacity->highest_load);
    g_autofree char *rate =
        g_strdup_printf("%.4g requests/s", capacity->rate_per_s * capacity->highest_load);
    report_page_tile(page, "Sustains of its load", headroom, rate, NULL);
}

static char *targets_text(const CapacityReport *report) {
    const GArray *limits = report->setup->targets->limits;
    GString *out = g_string_new(NULL);
    for (guint i = 0; i < limits->len; i++)
        g_string_append_printf(out, "%s%s", i == 0 ? "" : ", ",
                               g_array_index(limits, FigureLimit, i).text);
    return g_string_free(out, FALSE);
}

gboolean report_capacity_write(const CapacityReport *report, const char *best, const char *path,
                               GError **error) {
    const Experiment *base = campaign_base(report->setup->campaign);
    const Capacity *capacity = report->capacity;
    g_autofree char *targets = targets_text(report);
    g_autofree char *title = g_strdup_printf("Plan of capacity: %s", report->experiment);
    g_autofree char *subtitle =
        g_strdup_printf("%s on %s; targets: %s", base->model->name, base->platform->name, targets);
    g_autoptr(ReportPage) page = report_page_new(title, subtitle);
    add_overview(page, report);
    report_page_section(page, "curves", "Capacity and headroom", NULL);
    add_sizes(page, report);
    add_loads(page, report);
    report_page_section(page, "tables", "Sizes, loads and what holds it back", NULL);
    add_table(page, report, capacity->sizes, TRUE);
    add_table(page, report, capacity->loads, FALSE);
    add_bottleneck(page, capacity);
    if (best != NULL) {
        report_page_section(page, "experiment", "Experiment of the chosen plan",
                            "infergrid simulate takes this file, and gives a report of the run.");
        report_page_text(page, "best.yaml", best);
    }
    return report_page_write(page, path, error);
}
