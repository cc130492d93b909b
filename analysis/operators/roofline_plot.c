#include "analysis/operators/roofline_plot.h"

#include "analysis/output/gnuplot.h"
#include <math.h>
#include <string.h>

/* As wide as a column of a paper. */
#define WIDTH_CM 8.8
#define HEIGHT_CM 7.2

/* gnuplot's point types: open shapes, so that points in one place show as rings in each other. */
static const int shapes[] = {6, 4, 8, 10, 12, 14};

gboolean roofline_plot_possible(const char *path, GError **error) {
    return gnuplot_possible(path, "--output", "infergrid roofline", error);
}

typedef struct Range {
    double low, high;
} Range;

/* Around all points and the corner of the roof, with room at both ends. */
static Range range_of(const Roofline *roofline, gboolean rates, double corner) {
    Range range = {corner, corner};

    for (gsize i = 0; i < roofline->n_points; i++) {
        const RooflinePoint *point = &roofline->points[i];
        double value = rates ? point->macs_per_s / 1e9 : point->macs_per_byte;
        range.low = MIN(range.low, value);
        range.high = MAX(range.high, value);
    }
    return (Range){range.low / 3, range.high * 3};
}

static void append_axes(GString *out, const Roofline *roofline) {
    double ridge = roofline->peak_macs_per_s / roofline->bytes_per_s;
    Range x = range_of(roofline, FALSE, ridge);
    Range y = range_of(roofline, TRUE, roofline->peak_macs_per_s / 1e9);
    const double limits[] = {x.low, x.high, y.low, y.high};
    static const char *const starts[] = {"set xrange [", ":", "]\nset yrange [", ":"};

    for (guint i = 0; i < G_N_ELEMENTS(limits); i++) {
        g_string_append(out, starts[i]);
        gnuplot_number(out, limits[i]);
    }
    g_string_append_printf(out,
                           "]\nset logscale xy\n"
                           "set xlabel 'operational intensity (MAC per byte of %s)'\n",
                           roofline->memory);
    g_string_append(out, "set ylabel 'attained rate (GMAC/s)'\n"
                         "set format x '10^{%L}'\nset format y '10^{%L}'\n"
                         "set grid lc rgb '#dddddd'\nset tics nomirror\nset border 3\n"
                         "set key top left Left reverse samplen 1.5 spacing 1.1\n"
                         "set title ");
    gnuplot_text(out, roofline->title);
    g_string_append(out, " noenhanced\npeak = ");
    gnuplot_number(out, roofline->peak_macs_per_s / 1e9);
    g_string_append(out, "\nslope = ");
    gnuplot_number(out, roofline->bytes_per_s / 1e9);
    g_string_append_c(out, '\n');
}

/* The roof's numbers: the peak's above it, the slope's beside it, where few operators are. */
static void append_labels(GString *out, const Roofline *roofline) {
    double ridge = roofline->peak_macs_per_s / roofline->bytes_per_s;
    double low = range_of(roofline, FALSE, ridge).low;
    double middle = low * pow(ridge / low, 0.35);
    char peak[G_ASCII_DTOSTR_BUF_SIZE], slope[G_ASCII_DTOSTR_BUF_SIZE];

    g_ascii_formatd(peak, sizeof peak, "%.0f", roofline->peak_macs_per_s / 1e9);
    g_ascii_formatd(slope, sizeof slope, "%.4g", roofline->bytes_per_s / 1e9);
    g_string_append_printf(out, "set label 'peak %s GMAC/s' at graph 0.985, first peak*1.4 right\n",
                           peak);
    g_string_append(out, "middle = ");
    gnuplot_number(out, middle);
    g_string_append_printf(out,
                           "\nset label '%s %s GB/s' at middle, middle*slope "
                           "offset char 1.5, char -0.8 left\n",
                           roofline->memory, slope);
}

static guint colour_index(const Roofline *roofline, const char *name, gsize *first) {
    g_autoptr(GPtrArray) names = g_ptr_array_new();

    for (gsize i = 0; i < roofline->n_points; i++) {
        const char *other = roofline->points[i].name;
        if (g_ptr_array_find_with_equal_func(names, other, g_str_equal, NULL))
            continue;
        if (strcmp(other, name) == 0) {
            *first = i;
            break;
        }
        g_ptr_array_add(names, (gpointer)other);
    }
    return names->len;
}

/* The later a name, the smaller its points. */
static int size_tenths(guint colour) {
    return MAX(23 - 4 * (int)colour, 4);
}

static void append_points(GString *out, const Roofline *roofline) {
    for (gsize i = 0; i < roofline->n_points; i++) {
        const RooflinePoint *point = &roofline->points[i];
        gsize first = i;
        guint colour = colour_index(roofline, point->name, &first);

        g_string_append(out, ", \\\n  '-' using 1:2 with points");
        g_string_append_printf(out, " pt %d lw 2 ps %d.%d lc rgb '%s' notitle",
                               shapes[point->series % G_N_ELEMENTS(shapes)],
                               size_tenths(colour) / 10, size_tenths(colour) % 10,
                               gnuplot_colour(colour));
    }
}

/* The legend: a line for every operator's colour, a shape for every series. */
static void append_legend(GString *out, const Roofline *roofline) {
    for (gsize i = 0; i < roofline->n_points; i++) {
        const char *name = roofline->points[i].name;
        gsize first = i;
        guint colour = colour_index(roofline, name, &first);

        if (first != i)
            continue;
        g_string_append_printf(out, ", \\\n  NaN with lines lw 4 lc rgb '%s' title ",
                               gnuplot_colour(colour));
        gnuplot_text(out, name);
        g_string_append(out, " noenhanced");
    }
    for (guint i = 0; roofline->series[i] != NULL; i++) {
        g_string_append_printf(out,
                               ", \\\n  NaN with points pt %d lw 2 ps 1.1 lc rgb '#555555' title ",
                               shapes[i % G_N_ELEMENTS(shapes)]);
        gnuplot_text(out, roofline->series[i]);
        g_string_append(out, " noenhanced");
    }
}

char *roofline_script(const Roofline *roofline, const char *path, const char *output) {
    GnuplotPicture picture = {path, WIDTH_CM, HEIGHT_CM};
    GString *out = g_string_new(NULL);

    gnuplot_begin(out, &picture, output);
    append_axes(out, roofline);
    append_labels(out, roofline);
    g_string_append(out, "set samples 1000\n"
                         "plot (x*slope < peak ? x*slope : peak) with lines lw 2 lc rgb 'black' "
                         "notitle");
    append_points(out, roofline);
    append_legend(out, roofline);
    g_string_append_c(out, '\n');
    for (gsize i = 0; i < roofline->n_points; i++) {
        gnuplot_number(out, roofline->points[i].macs_per_byte);
        g_string_append_c(out, ' ');
        gnuplot_number(out, roofline->points[i].macs_per_s / 1e9);
        g_string_append(out, "\ne\n");
    }
    return g_string_free(out, FALSE);
}

static char *script_of(gconstpointer roofline, const char *path, const char *output) {
    return roofline_script(roofline, path, output);
}

gboolean roofline_plot(const Roofline *roofline, const char *path, GError **error) {
    return gnuplot_draw(path, script_of, roofline, error);
}
