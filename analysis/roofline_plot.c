#include "analysis/roofline_plot.h"

#include "analysis/number_text.h"
#include "workloads/input_error.h"
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

/* As wide as a column of a paper: 8.8 cm. The same picture twice as large in pixels for a screen.
 */
static const struct {
    const char *extension, *terminal;
} pictures[] = {
    {".svg", "svg size 560,460 dynamic font 'Helvetica,14' background rgb 'white'"},
    {".pdf", "pdfcairo size 8.8cm,7.4cm font 'Helvetica,8'"},
};

/* Paul Tol's bright scheme: told apart by colour-blind readers and in print. */
static const char *const colours[] = {"#4477AA", "#EE6677", "#228833",
                                      "#AA3377", "#CCBB44", "#66CCEE"};
/* gnuplot's point types: open shapes, so that points in one place show as rings in each other. */
static const int shapes[] = {6, 4, 8, 10, 12, 14};

static const char *terminal_of(const char *path) {
    for (gsize i = 0; i < G_N_ELEMENTS(pictures); i++)
        if (g_str_has_suffix(path, pictures[i].extension))
            return pictures[i].terminal;
    return NULL;
}

gboolean roofline_plot_possible(const char *path, GError **error) {
    g_autofree char *gnuplot = g_find_program_in_path("gnuplot");

    if (terminal_of(path) == NULL) {
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_VALUE,
                    "--output: expected a file that ends in .svg or .pdf, not '%s'", path);
        return FALSE;
    }
    if (gnuplot != NULL)
        return TRUE;
    g_set_error_literal(error, INPUT_ERROR, INPUT_ERROR_MISSING,
                        "infergrid roofline: gnuplot, which draws the picture, is not installed "
                        "(Debian: gnuplot-nox)");
    return FALSE;
}

static void append_number(GString *out, double value) {
    char text[NUMBER_TEXT_MAX];

    g_string_append_len(out, text, number_text_shortest(text, value) - text);
}

/* As gnuplot wants it between single quotes. */
static void append_quoted(GString *out, const char *text) {
    g_auto(GStrv) parts = g_strsplit(text, "'", -1);
    g_autofree char *doubled = g_strjoinv("''", parts);

    g_string_append_printf(out, "'%s'", doubled);
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
        append_number(out, limits[i]);
    }
    g_string_append(out, "]\nset logscale xy\n"
                         "set xlabel 'operational intensity (MAC per byte of DDR)'\n"
                         "set ylabel 'attained rate (GMAC/s)'\n"
                         "set format x '10^{%L}'\nset format y '10^{%L}'\n"
                         "set grid lc rgb '#dddddd'\nset tics nomirror\nset border 3\n"
                         "set key top left Left reverse samplen 1.5 spacing 1.1\n"
                         "set title ");
    append_quoted(out, roofline->title);
    g_string_append(out, " noenhanced\npeak = ");
    append_number(out, roofline->peak_macs_per_s / 1e9);
    g_string_append(out, "\nslope = ");
    append_number(out, roofline->bytes_per_s / 1e9);
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
    append_number(out, middle);
    g_string_append_printf(out,
                           "\nset label 'DDR %s GB/s' at middle, middle*slope "
                           "offset char 1.5, char -0.8 left\n",
                           slope);
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
                               colours[colour % G_N_ELEMENTS(colours)]);
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
                               colours[colour % G_N_ELEMENTS(colours)]);
        append_quoted(out, name);
        g_string_append(out, " noenhanced");
    }
    for (guint i = 0; roofline->series[i] != NULL; i++) {
        g_string_append_printf(out,
                               ", \\\n  NaN with points pt %d lw 2 ps 1.1 lc rgb '#555555' title ",
                               shapes[i % G_N_ELEMENTS(shapes)]);
        append_quoted(out, roofline->series[i]);
        g_string_append(out, " noenhanced");
    }
}

char *roofline_script(const Roofline *roofline, const char *path, const char *output) {
    GString *out = g_string_new(NULL);

    g_string_append_printf(out, "set terminal %s\nset output ", terminal_of(path));
    append_quoted(out, output);
    g_string_append_c(out, '\n');
    append_axes(out, roofline);
    append_labels(out, roofline);
    g_string_append(out, "set samples 1000\n"
                         "plot (x*slope < peak ? x*slope : peak) with lines lw 2 lc rgb 'black' "
                         "notitle");
    append_points(out, roofline);
    append_legend(out, roofline);
    g_string_append_c(out, '\n');
    for (gsize i = 0; i < roofline->n_points; i++) {
        append_number(out, roofline->points[i].macs_per_byte);
        g_string_append_c(out, ' ');
        append_number(out, roofline->points[i].macs_per_s / 1e9);
        g_string_append(out, "\ne\n");
    }
    return g_string_free(out, FALSE);
}

static gboolean set_failure(GError **error, const char *what, const char *path) {
    int code = errno;

    g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(code), "cannot %s '%s': %s", what,
                path, g_strerror(code));
    return FALSE;
}

/* A script in a file: a pipe would break where gnuplot gives up early. */
static gboolean run_gnuplot(const char *script, GError **error) {
    g_autofree char *path = NULL, *complaint = NULL;
    int status = 0;
    int file = g_file_open_tmp("infergrid-XXXXXX.gnuplot", &path, error);

    if (file < 0)
        return FALSE;
    close(file);
    char *words[] = {(char *)"gnuplot", path, NULL};
    gboolean ran = g_file_set_contents(path, script, -1, error) &&
                   g_spawn_sync(NULL, words, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_STDOUT_TO_DEV_NULL,
                                NULL, NULL, NULL, &complaint, &status, error);
    g_unlink(path);
    if (!ran || g_spawn_check_wait_status(status, NULL))
        return ran;
    g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED, "gnuplot failed: %s",
                g_strstrip(complaint));
    return FALSE;
}

gboolean roofline_plot(const Roofline *roofline, const char *path, GError **error) {
    g_autofree char *folder = g_path_get_dirname(path);
    g_autofree char *temporary = g_build_filename(folder, ".roofline-XXXXXX", NULL);
    int file =
        g_mkdir_with_parents(folder, 0777) == 0 ? g_mkstemp_full(temporary, O_RDWR, 0666) : -1;

    if (file < 0)
        return set_failure(error, "make a file in", folder);
    close(file);
    g_autofree char *script = roofline_script(roofline, path, temporary);
    gboolean drawn = run_gnuplot(script, error);
    if (drawn && g_rename(temporary, path) == 0)
        return TRUE;
    if (drawn)
        set_failure(error, "make", path);
    g_unlink(temporary);
    return FALSE;
}
