#include "analysis/compare/compare_plot.h"

#include "analysis/compare/latency_spread.h"
#include "analysis/output/gnuplot.h"
#include <math.h>
#include <string.h>

/* As wide as a page of two columns. */
#define WIDTH_CM 17.8
#define PANEL_CM 5.9  /* high, with its axes */
#define BELOW_CM 1.15 /* of it, below the curves */
#define LEGEND_CM 0.5 /* a row of it */
#define SAMPLE_CM 1.1 /* a piece of line */
#define GAP_CM 0.6
#define LETTER_CM 0.125
#define DASHES 5 /* that gnuplot knows */

static const char *const titles[N_SERVED_LATENCIES] = {"TTFT", "TPOT", "E2E latency"};

/* One latency of all runs. */
typedef struct Panel {
    LatencySpread *spread;
    double scale; /* from seconds */
    const char *unit;
} Panel;

static Panel panel_of(const Comparison *comparison, guint kind) {
    static const struct {
        double from_s, scale;
        const char *unit;
    } units[] = {{1, 1, "s"}, {1e-3, 1e3, "ms"}, {0, 1e6, "us"}};
    Panel panel = {.spread = latency_spread_new(comparison, kind)};
    guint unit = 0;

    while (unit + 1 < G_N_ELEMENTS(units) && panel.spread->most < units[unit].from_s)
        unit++;
    panel.scale = units[unit].scale;
    panel.unit = units[unit].unit;
    return panel;
}

static void panel_clear(Panel *panel) {
    latency_spread_free(panel->spread);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Panel, panel_clear)

/* --- the legend */

/* Names in rows of equal columns above the panels, each behind a piece of its line. */
typedef struct Legend {
    guint columns, rows;
    double column_cm;
    double height_cm; /* of the whole picture */
} Legend;

static Legend legend_of(const Comparison *comparison) {
    gsize longest = 0;

    for (guint i = 0; i < comparison->n; i++) {
        g_autofree char *name = comparison_name(comparison, i);
        longest = MAX(longest, (gsize)g_utf8_strlen(name, -1));
    }
    double wanted_cm = SAMPLE_CM + GAP_CM + LETTER_CM * (double)longest;
    guint columns = (guint)CLAMP(WIDTH_CM / wanted_cm, 1, comparison->n);
    guint rows = (comparison->n + columns - 1) / columns;
    return (Legend){columns, rows, MIN(wanted_cm, WIDTH_CM / columns), PANEL_CM + rows * LEGEND_CM};
}

/* "x,y" of the picture from centimetres, y from its top. */
static void append_place(GString *out, const Legend *legend, double x_cm, double y_cm) {
    g_string_append(out, "screen ");
    gnuplot_number(out, x_cm / WIDTH_CM);
    g_string_append(out, ", screen ");
    gnuplot_number(out, 1 - y_cm / legend->height_cm);
}

/* How the folder's lines are drawn. The first is broader, and so is seen below those along it. */
static void append_line_style(GString *out, guint at) {
    g_string_append_printf(out, "lw %s dt %u lc rgb '%s'", at == 0 ? "3.2" : "2", 1 + at % DASHES,
                           gnuplot_colour(at));
}

static void append_legend(GString *out, const Comparison *comparison, const Legend *legend) {
    double left_cm = (WIDTH_CM - legend->columns * legend->column_cm + GAP_CM) / 2;

    for (guint i = 0; i < comparison->n; i++) {
        g_autofree char *name = comparison_name(comparison, i);
        guint row = i / legend->columns, column = i % legend->columns;
        double x_cm = left_cm + column * legend->column_cm;
        double y_cm = (row + 0.75) * LEGEND_CM;
        g_string_append(out, "set arrow from ");
        append_place(out, legend, x_cm, y_cm);
        g_string_append(out, " to ");
        append_place(out, legend, x_cm + SAMPLE_CM, y_cm);
        g_string_append(out, " nohead ");
        append_line_style(out, i);
        g_string_append(out, "\nset label ");
        gnuplot_text(out, name);
        g_string_append(out, " noenhanced left at ");
        append_place(out, legend, x_cm + SAMPLE_CM + 0.15, y_cm);
        g_string_append_c(out, '\n');
    }
}

/* --- the script */

static void append_point(GString *out, double x, double y) {
    gnuplot_number(out, x);
    g_string_append_c(out, ' ');
    gnuplot_number(out, y);
    g_string_append_c(out, '\n');
}

/* Steps of the curve, up to the longest latency of all folders. */
static void append_curve(GString *out, const Panel *panel, guint folder) {
    g_autoptr(GArray) curve = latency_curve(panel->spread->values[folder]);

    for (guint i = 0; i < curve->len; i++) {
        const CurvePoint *point = &g_array_index(curve, CurvePoint, i);
        append_point(out, panel->scale * point->value_s, point->share);
    }
    if (curve->len > 0)
        append_point(out, panel->scale * panel->spread->most, 1);
}

static void append_data(GString *out, const Panel *panel, guint kind) {
    for (guint folder = 0; folder < panel->spread->n; folder++) {
        g_string_append_printf(out, "$d%u_%u << EOD\n", kind, folder);
        append_curve(out, panel, folder);
        if (panel->spread->values[folder]->len == 0)
            g_string_append(out, "NaN NaN\n");
        g_string_append(out, "EOD\n");
    }
}

/* 1, 2 and 5 of every decade that is drawn: powers of ten alone may be a single one. */
static void append_tics(GString *out, double least, double most) {
    static const double steps[] = {1, 2, 5};
    const char *gap = "";

    g_string_append(out, "set xtics (");
    for (int decade = (int)floor(log10(least)); decade <= (int)ceil(log10(most)); decade++)
        for (guint i = 0; i < G_N_ELEMENTS(steps); i++) {
            double tic = steps[i] * pow(10, decade);
            if (tic < least || tic > most)
                continue;
            g_string_append_printf(out, "%s'%g' ", gap, tic);
            gnuplot_number(out, tic);
            gap = ", ";
        }
    g_string_append(out, ")\n");
}

static void append_axes(GString *out, const Panel *panel, guint kind) {
    g_string_append_printf(out, "%s logscale x\nset xlabel '%s (%s)'\n",
                           panel->spread->logarithmic ? "set" : "unset", titles[kind], panel->unit);
    if (panel->spread->logarithmic)
        append_tics(out, panel->scale * panel->spread->least, panel->scale * panel->spread->most);
    else
        g_string_append(out, "set xtics autofreq\n");
    if (isnan(panel->spread->most)) {
        g_string_append(out, "set xrange [0:1]\n");
    } else {
        g_string_append(out, "set xrange [");
        gnuplot_number(out, panel->scale * panel->spread->least);
        g_string_append_c(out, ':');
        gnuplot_number(out,
                       panel->scale * panel->spread->most * (panel->spread->most > 0 ? 1.02 : 0) +
                           (panel->spread->most > 0 ? 0 : 1));
        g_string_append(out, "]\n");
    }
    g_string_append(out, kind == 0 ? "set ylabel 'share of requests'\nset format y '%.1f'\n"
                                   : "unset ylabel\nset format y ''\n");
}

static void append_lines(GString *out, const Comparison *comparison, guint kind) {
    for (guint i = 0; i < comparison->n; i++) {
        g_string_append_printf(out, "%s$d%u_%u using 1:2 with steps notitle ",
                               i == 0 ? "plot " : ", \\\n  ", kind, i);
        append_line_style(out, i);
    }
    g_string_append_c(out, '\n');
}

char *compare_plot_script(const Comparison *comparison, const char *path, const char *output) {
    Legend legend = legend_of(comparison);
    GnuplotPicture picture = {path, WIDTH_CM, legend.height_cm};
    GString *out = g_string_new(NULL);

    gnuplot_begin(out, &picture, output);
    g_string_append_printf(out, "set multiplot layout 1,%d margins screen 0.062,0.985,",
                           N_SERVED_LATENCIES);
    gnuplot_number(out, BELOW_CM / legend.height_cm);
    g_string_append_c(out, ',');
    gnuplot_number(out, (PANEL_CM - 0.2) / legend.height_cm);
    g_string_append(out, " spacing screen 0.035\nset grid lc rgb '#dddddd'\nset tics nomirror\n"
                         "set border 3\nset yrange [0:1.02]\nset ytics 0.2\n");
    append_legend(out, comparison, &legend);
    for (guint kind = 0; kind < N_SERVED_LATENCIES; kind++) {
        g_auto(Panel) panel = panel_of(comparison, kind);
        append_data(out, &panel, kind);
        append_axes(out, &panel, kind);
        append_lines(out, comparison, kind);
        g_string_append(out, "unset arrow\nunset label\n");
    }
    g_string_append(out, "unset multiplot\n");
    return g_string_free(out, FALSE);
}

static char *script_of(gconstpointer data, const char *path, const char *output) {
    return compare_plot_script(data, path, output);
}

gboolean compare_plot_draw(const Comparison *comparison, const char *path, GError **error) {
    return gnuplot_draw(path, script_of, comparison, error);
}
