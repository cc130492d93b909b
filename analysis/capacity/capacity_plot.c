#include "analysis/capacity/capacity_plot.h"

#include "analysis/output/gnuplot.h"
#include <math.h>

#define WIDTH_CM 12.0
#define HEIGHT_CM 7.5

/* One picture: a figure to the left and another to the right, over sizes or loads. */
typedef struct Drawing {
    const CapacityReport *report;
    const GPtrArray *points;
    Figure left, right; /* the same: only the left one */
    double marked;      /* the answer's place on the axis; NaN: none */
    const char *mark;   /* what is written there */
    const char *axis;
    gboolean sizes;
} Drawing;

static double place_of(const Drawing *drawing, const CapacityPoint *point) {
    return drawing->sizes ? (double)point->size
                          : drawing->report->capacity->rate_per_s * point->load;
}

static const struct {
    Figure figure;
    const char *label;
    double factor;
} labels[] = {{FIGURE_GOODPUT, "goodput (%)", 100},
              {FIGURE_THROUGHPUT, "throughput (tokens/s)", 1},
              {FIGURE_TTFT_P99, "TTFT, 99th percentile (s)", 1}};

static guint label_at(Figure figure) {
    for (guint i = 0; i < G_N_ELEMENTS(labels); i++)
        if (labels[i].figure == figure)
            return i;
    g_assert_not_reached();
}

static void append_data(GString *out, const Drawing *drawing, const char *name, int holds) {
    guint left = label_at(drawing->left), right = label_at(drawing->right);

    g_string_append_printf(out, "$%s << EOD\n", name);
    for (guint i = 0; i < drawing->points->len; i++) {
        const CapacityPoint *point = drawing->points->pdata[i];
        if (holds >= 0 && point->holds != holds)
            continue;
        gnuplot_number(out, place_of(drawing, point));
        g_string_append_c(out, ' ');
        gnuplot_number(out, labels[left].factor * point->figures[drawing->left]);
        g_string_append_c(out, ' ');
        gnuplot_number(out, labels[right].factor * point->figures[drawing->right]);
        g_string_append_c(out, '\n');
    }
    g_string_append(out, "EOD\n");
}

static double largest_place(const Drawing *drawing) {
    double most = 0;

    for (guint i = 0; i < drawing->points->len; i++)
        most = MAX(most, place_of(drawing, drawing->points->pdata[i]));
    return most;
}

static void append_axis(GString *out, const char *axis, Figure figure, guint colour) {
    g_string_append_printf(out, "set %slabel ", axis);
    gnuplot_text(out, labels[label_at(figure)].label);
    g_string_append_printf(out, " tc rgb '%s'\nset %srange [0:%s]\n", gnuplot_colour(colour), axis,
                           figure == FIGURE_GOODPUT ? "105" : "*");
}

/* The answer: a dashed line from bottom to top with its words beside it, on the side that has room.
 */
static void append_mark(GString *out, const Drawing *drawing) {
    gboolean right = drawing->marked < 0.6 * largest_place(drawing);

    if (isnan(drawing->marked))
        return;
    g_string_append(out, "set arrow from first ");
    gnuplot_number(out, drawing->marked);
    g_string_append(out, ", graph 0 to first ");
    gnuplot_number(out, drawing->marked);
    g_string_append(out, ", graph 1 nohead dt 2 lc rgb '#555555' back\nset label ");
    gnuplot_text(out, drawing->mark);
    g_string_append(out, " noenhanced at first ");
    gnuplot_number(out, drawing->marked);
    g_string_append_printf(out, ", graph 0.06 %s offset character %s,0 tc rgb '#555555'\n",
                           right ? "left" : "right", right ? "0.7" : "-0.7");
}

/* The knee, where it is not the answer itself. */
static void append_knee(GString *out, const Drawing *drawing) {
    gsize knee = drawing->report->capacity->knee;

    if (!drawing->sizes || knee == NO_PLACE)
        return;
    const CapacityPoint *point = drawing->points->pdata[knee];
    if (!(fabs(place_of(drawing, point) - drawing->marked) > 0))
        return;
    g_string_append(out, "set label 'knee' noenhanced at first ");
    gnuplot_number(out, place_of(drawing, point));
    g_string_append(out, ", first ");
    gnuplot_number(out, labels[label_at(drawing->left)].factor * point->figures[drawing->left]);
    g_string_append(out, " left offset character 1,-0.6 point pt 6 ps 1.6 lw 1.5 lc rgb "
                         "'#555555' tc rgb '#555555'\n");
}

/* A line where a target of the left figure lies. */
static void append_target(GString *out, const Drawing *drawing) {
    const GArray *limits = drawing->report->setup->targets->limits;

    for (guint i = 0; i < limits->len; i++) {
        const FigureLimit *limit = &g_array_index(limits, FigureLimit, i);
        if (limit->figure != drawing->left)
            continue;
        g_string_append(out, "set arrow from graph 0, first ");
        gnuplot_number(out, labels[label_at(drawing->left)].factor * limit->value);
        g_string_append(out, " to graph 1, first ");
        gnuplot_number(out, labels[label_at(drawing->left)].factor * limit->value);
        g_string_append_printf(out, " nohead dt 3 lc rgb '%s' back\n", gnuplot_colour(0));
    }
}

static void append_plots(GString *out, const Drawing *drawing) {
    const char *left = gnuplot_colour(0), *right = gnuplot_colour(1);

    g_string_append_printf(out, "plot $all using 1:2 with lines lw 2 lc rgb '%s' notitle", left);
    g_string_append_printf(out,
                           ", \\\n  $holds using 1:2 with points pt 7 ps 0.8 lc rgb '%s' title "
                           "'all targets met'",
                           left);
    g_string_append_printf(out,
                           ", \\\n  $fails using 1:2 with points pt 6 ps 0.8 lw 1.5 lc rgb '%s' "
                           "title 'not met'",
                           left);
    if (drawing->left != drawing->right)
        g_string_append_printf(out,
                               ", \\\n  $all using 1:3 axes x1y2 with linespoints lw 1.5 pt 5 ps "
                               "0.5 lc rgb '%s' notitle",
                               right);
    g_string_append_c(out, '\n');
}

static char *script_of(gconstpointer data, const char *path, const char *output) {
    const Drawing *drawing = data;
    GnuplotPicture picture = {path, WIDTH_CM, HEIGHT_CM};
    gboolean two = drawing->left != drawing->right;
    GString *out = g_string_new(NULL);

    gnuplot_begin(out, &picture, output);
    append_data(out, drawing, "all", -1);
    append_data(out, drawing, "holds", TRUE);
    append_data(out, drawing, "fails", FALSE);
    g_string_append_printf(out, "set grid lc rgb '#dddddd'\nset border %d\nset tics nomirror\n",
                           two ? 11 : 3);
    g_string_append(out, "set xrange [0:");
    gnuplot_number(out, 1.04 * largest_place(drawing));
    g_string_append(out, "]\nset xlabel ");
    gnuplot_text(out, drawing->axis);
    g_string_append(out, "\nset key outside top center horizontal samplen 1.5\n");
    append_axis(out, "y", drawing->left, 0);
    if (two) {
        g_string_append(out, "set y2tics\n");
        append_axis(out, "y2", drawing->right, 1);
    }
    append_target(out, drawing);
    append_mark(out, drawing);
    append_knee(out, drawing);
    append_plots(out, drawing);
    return g_string_free(out, FALSE);
}

gboolean capacity_plot_sizes(const CapacityReport *report, const char *path, GError **error) {
    const Capacity *capacity = report->capacity;
    const CapacityPoint *chosen = capacity->chosen;
    g_autofree char *mark =
        chosen == NULL ? NULL : capacity_size_text(report->setup->units, chosen->size);
    Drawing drawing = {.report = report,
                       .points = capacity->sizes,
                       .left = capacity->curve,
                       .right = FIGURE_THROUGHPUT,
                       .marked = chosen == NULL ? NAN : (double)chosen->size,
                       .mark = mark,
                       .axis = capacity_unit_names[report->setup->units],
                       .sizes = TRUE};

    return gnuplot_draw(path, script_of, &drawing, error);
}

gboolean capacity_plot_loads(const CapacityReport *report, const char *path, GError **error) {
    const Capacity *capacity = report->capacity;
    double highest = capacity->rate_per_s * capacity->highest_load;
    g_autofree char *mark = g_strdup_printf("sustains %.3g requests/s", highest);
    Drawing drawing = {.report = report,
                       .points = capacity->loads,
                       .left = capacity->curve,
                       .right = FIGURE_TTFT_P99,
                       .marked = highest,
                       .mark = mark,
                       .axis = "requests/s that arrive"};

    return gnuplot_draw(path, script_of, &drawing, error);
}
