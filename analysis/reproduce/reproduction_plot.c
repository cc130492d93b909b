#include "analysis/reproduce/reproduction_plot.h"

#include "analysis/output/gnuplot.h"
#include <math.h>
#include <string.h>

/* As wide as a page of a paper: two panels, and the legend beside them. */
#define WIDTH_CM 17.8
#define HEIGHT_CM 7.6

/* gnuplot's point types: open shapes, so that points in one place show as rings in each other. */
static const int shapes[] = {6, 4, 8, 10, 12, 14, 1, 2};

static gboolean is_drawn(const ReproducedCell *cell) {
    return !isnan(reproduced_cell_error(cell)) && cell->published > 0 && cell->simulated > 0 &&
           (cell->marks & CELL_CONTRADICTED) == 0;
}

static gboolean has_points(const Reproduction *table) {
    for (guint i = 0; i < table->cells->len; i++)
        if (is_drawn(reproduction_cell(table, i)))
            return TRUE;
    return FALSE;
}

/* Those with something to draw. */
static GPtrArray *drawn_tables(const GPtrArray *all) {
    GPtrArray *tables = g_ptr_array_new();

    for (guint i = 0; i < all->len; i++) {
        Reproduction *table = g_ptr_array_index(all, i);
        if (!table->derived && has_points(table))
            g_ptr_array_add(tables, table);
    }
    return tables;
}

/* What all figures lie in. */
typedef struct Span {
    double least, most; /* figures */
    double factor;      /* the largest of simulated over published and its inverse */
} Span;

static Span span_of(const GPtrArray *tables) {
    Span span = {INFINITY, 0, 2};

    for (guint i = 0; i < tables->len; i++) {
        const Reproduction *table = g_ptr_array_index(tables, i);
        for (guint j = 0; j < table->cells->len; j++) {
            const ReproducedCell *cell = reproduction_cell(table, j);
            if (!is_drawn(cell))
                continue;
            double low = MIN(cell->published, cell->simulated);
            double high = MAX(cell->published, cell->simulated);
            span.least = MIN(span.least, low);
            span.most = MAX(span.most, high);
            span.factor = MAX(span.factor, high / low);
        }
    }
    return tables->len == 0 ? (Span){1, 10, 2} : span;
}

static void append_range(GString *out, const char *axis, double low, double high) {
    g_string_append_printf(out, "set %srange [", axis);
    gnuplot_number(out, low);
    g_string_append_c(out, ':');
    gnuplot_number(out, high);
    g_string_append(out, "]\n");
}

/* The points of a table as a block of data: published, simulated, and whether calibrated. */
static void append_data(GString *out, const Reproduction *table, guint index) {
    g_string_append_printf(out, "$table%u << END\n", index);
    for (guint i = 0; i < table->cells->len; i++) {
        const ReproducedCell *cell = reproduction_cell(table, i);
        if (!is_drawn(cell))
            continue;
        gnuplot_number(out, cell->published);
        g_string_append_c(out, ' ');
        gnuplot_number(out, cell->simulated);
        g_string_append(out, (cell->marks & CELL_CALIBRATED) != 0 ? " 1\n" : " 0\n");
    }
    g_string_append(out, "END\n");
}

/* All tables in a panel, whose ordinate is 'value' of the columns; titled in the one that has the
 * legend. */
static void append_series(GString *out, const GPtrArray *tables, const char *value,
                          gboolean titled) {
    for (guint i = 0; i < tables->len; i++) {
        const Reproduction *table = g_ptr_array_index(tables, i);
        g_string_append_printf(out,
                               ", \\\n  $table%u using 1:($3 == 0 ? %s : NaN) with points pt %d lw "
                               "1.2 ps 0.6 lc rgb '%s' ",
                               i, value, shapes[i % G_N_ELEMENTS(shapes)], gnuplot_colour(i));
        if (titled) {
            g_string_append(out, "title ");
            gnuplot_text(out, table->name);
            g_string_append(out, " noenhanced");
        } else {
            g_string_append(out, "notitle");
        }
    }
    for (guint i = 0; i < tables->len; i++)
        g_string_append_printf(out,
                               ", \\\n  $table%u using 1:($3 == 1 ? %s : NaN) with points pt 7 ps "
                               "0.25 lc rgb '#555555' %s",
                               i, value, titled && i == 0 ? "title 'calibrated'" : "notitle");
    g_string_append_c(out, '\n');
}

static void append_panels(GString *out, const GPtrArray *tables, Span span) {
    append_range(out, "x", pow(10, floor(log10(span.least))), pow(10, ceil(log10(span.most))));
    append_range(out, "y", pow(10, floor(log10(span.least))), pow(10, ceil(log10(span.most))));
    g_string_append(out, "set format y '10^{%L}'\nset ylabel 'simulated'\nunset key\n"
                         "set lmargin at screen 0.075\nset rmargin at screen 0.395\n"
                         "plot '+' using 1:($1*0.8):($1*1.2) with filledcurves fc rgb '#dddddd' "
                         "notitle, x with lines lw 1 lc rgb 'black' notitle");
    append_series(out, tables, "$2", FALSE);
    append_range(out, "y", 1 / (1.1 * span.factor), 1.1 * span.factor);
    g_string_append(
        out, "set format y '%g'\nset ytics (0.1, 0.2, 0.33, 0.5, 0.8, 1, 1.2, 1.5, 2, 3, 5, 10)\n"
             "set ylabel 'simulated over published'\n"
             "set key at screen 0.835, screen 0.93 left top Left reverse samplen 1.5 "
             "spacing 1.15\n"
             "set lmargin at screen 0.485\nset rmargin at screen 0.805\n"
             "plot '+' using 1:(0.8):(1.2) with filledcurves fc rgb '#dddddd' title "
             "'within 20 %', 1 with lines lw 1 lc rgb 'black' notitle");
    append_series(out, tables, "$2/$1", TRUE);
}

static char *script(gconstpointer data, const char *path, const char *output) {
    g_autoptr(GPtrArray) tables = drawn_tables(data);
    GnuplotPicture picture = {path, WIDTH_CM, HEIGHT_CM};
    GString *out = g_string_new(NULL);

    gnuplot_begin(out, &picture, output);
    for (guint i = 0; i < tables->len; i++)
        append_data(out, g_ptr_array_index(tables, i), i);
    g_string_append(out, "set logscale xy\nset samples 200\n"
                         "set xlabel 'published (each table in its unit)'\n"
                         "set format x '10^{%L}'\nset grid lc rgb '#eeeeee'\n"
                         "set tics nomirror\nset border 3\nset mxtics 1\nset mytics 1\n"
                         "set tmargin at screen 0.96\nset bmargin at screen 0.16\n"
                         "set multiplot\n");
    append_panels(out, tables, span_of(tables));
    g_string_append(out, "unset multiplot\n");
    return g_string_free(out, FALSE);
}

gboolean reproduction_plot(const GPtrArray *all, const char *path, GError **error) {
    return gnuplot_draw(path, script, all, error);
}
