#include "analysis/output/gnuplot.h"
#include "analysis/reproduce/sensitivity.h"

#include <math.h>

#define MOST_BARS 12 /* of a table: the rest hardly moves it */
#define WIDTH_CM 17.8
#define BAR_CM 0.55
#define AROUND_CM 1.9 /* title and axis of a panel */
#define LEGEND_CM 0.6

/* The ends of a number as bars from what is shipped. */
static const struct {
    const char *name;
    guint colour;
    double top, bottom; /* of the bar, around its place */
} ends[] = {{"at the low end", 0, -0.36, 0}, {"at the high end", 1, 0, 0.36}};

static guint bars_of(const SensitivityTable *table) {
    guint bars = 0;

    for (guint i = 0; i < table->rows->len; i++)
        bars += sensitivity_move(table, &g_array_index(table->rows, SensitivityRow, i)) > 0;
    return MIN(bars, MOST_BARS);
}

/* Those with a bar. */
static GPtrArray *drawn_tables(const GPtrArray *all) {
    GPtrArray *tables = g_ptr_array_new();

    for (guint i = 0; i < all->len; i++)
        if (bars_of(g_ptr_array_index(all, i)) > 0)
            g_ptr_array_add(tables, g_ptr_array_index(all, i));
    return tables;
}

/* Place, and the errors shipped, at the low end and at the high end. */
static void append_data(GString *out, const SensitivityTable *table, guint index) {
    g_string_append_printf(out, "$table%u << END\n", index);
    for (guint i = 0; i < bars_of(table); i++) {
        const SensitivityRow *row = &g_array_index(table->rows, SensitivityRow, i);
        const double errors[] = {table->shipped.error.median, row->low.outcome.error.median,
                                 row->high.outcome.error.median};
        g_string_append_printf(out, "%u", i);
        for (guint j = 0; j < G_N_ELEMENTS(errors); j++) {
            g_string_append_c(out, ' ');
            gnuplot_number(out, 100 * errors[j]);
        }
        g_string_append_c(out, '\n');
    }
    g_string_append(out, "END\n");
}

/* "network.port.bandwidth, 0.25 GB/s to 6 GB/s" at each place. */
static void append_labels(GString *out, const SensitivityTable *table) {
    g_string_append(out, "set ytics (");
    for (guint i = 0; i < bars_of(table); i++) {
        const SensitivityRow *row = &g_array_index(table->rows, SensitivityRow, i);
        g_autofree char *label =
            g_strdup_printf("%s, %s to %s", row->key, row->low.value, row->high.value);
        g_string_append(out, i == 0 ? "" : ", ");
        gnuplot_text(out, label);
        g_string_append_printf(out, " %u", i);
    }
    g_string_append(out, ") noenhanced scale 0\n");
}

static void append_panel(GString *out, const SensitivityTable *table, guint index, double top,
                         double bottom) {
    g_autofree char *title = g_strdup_printf("%s: %s", table->name, table->title);

    g_string_append(out, "set tmargin at screen ");
    gnuplot_number(out, top);
    g_string_append(out, "\nset bmargin at screen ");
    gnuplot_number(out, bottom);
    g_string_append(out, "\nset title ");
    gnuplot_text(out, title);
    g_string_append_printf(out, " noenhanced offset 0,-0.6\nset yrange [%u.6:-0.6]\n",
                           bars_of(table) - 1);
    append_labels(out, table);
    for (guint end = 0; end < G_N_ELEMENTS(ends); end++) {
        g_string_append_printf(out,
                               "%s$table%u using 2:1:(least($2,$%u)):(most($2,$%u)):($1+(%.2f)):"
                               "($1+(%.2f)) with boxxyerror fs solid 0.9 noborder lc rgb '%s' ",
                               end == 0 ? "plot " : ", \\\n  ", index, end + 3, end + 3,
                               ends[end].top, ends[end].bottom, gnuplot_colour(ends[end].colour));
        if (index == 0)
            g_string_append_printf(out, "title '%s'", ends[end].name);
        else
            g_string_append(out, "notitle");
    }
    g_string_append_printf(out, ", \\\n  '+' using (");
    gnuplot_number(out, 100 * table->shipped.error.median);
    g_string_append_printf(out,
                           "):(-0.6 + %u.2 * ($0 / 199.0)) with lines lw 1 lc rgb 'black' %s\n",
                           bars_of(table), index == 0 ? "title 'as shipped'" : "notitle");
}

static double height_of(const GPtrArray *tables) {
    double height_cm = LEGEND_CM;

    for (guint i = 0; i < tables->len; i++)
        height_cm += AROUND_CM + BAR_CM * bars_of(g_ptr_array_index(tables, i));
    return height_cm;
}

static char *script(gconstpointer data, const char *path, const char *output) {
    g_autoptr(GPtrArray) tables = drawn_tables(data);
    double height_cm = height_of(tables), from_cm = height_cm - LEGEND_CM;
    GnuplotPicture picture = {path, WIDTH_CM, height_cm};
    GString *out = g_string_new(NULL);

    gnuplot_begin(out, &picture, output);
    for (guint i = 0; i < tables->len; i++)
        append_data(out, g_ptr_array_index(tables, i), i);
    g_string_append(out,
                    "least(a, b) = a < b ? a : b\nmost(a, b) = a > b ? a : b\n"
                    "set samples 200\nset xlabel 'median error %' offset 0,0.4\n"
                    "set grid x lc rgb '#eeeeee'\nset tics nomirror\nset border 1\n"
                    "set key at screen 0.99, screen 1 right top horizontal maxrows 1 samplen 1.5\n"
                    "set lmargin at screen 0.42\nset rmargin at screen 0.97\n"
                    "set xrange [0:*]\nset multiplot\n");
    for (guint i = 0; i < tables->len; i++) {
        const SensitivityTable *table = g_ptr_array_index(tables, i);
        double bars_cm = BAR_CM * bars_of(table), top_cm = from_cm - 0.8;
        append_panel(out, table, i, top_cm / height_cm, (top_cm - bars_cm) / height_cm);
        from_cm -= AROUND_CM + bars_cm;
    }
    g_string_append(out, "unset multiplot\n");
    return g_string_free(out, FALSE);
}

gboolean sensitivity_plot(const GPtrArray *all, const char *path, GError **error) {
    return gnuplot_draw(path, script, all, error);
}
