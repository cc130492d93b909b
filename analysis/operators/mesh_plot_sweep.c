#include "analysis/operators/mesh_plot.h"
#include "analysis/operators/mesh_report.h"
#include "analysis/output/gnuplot.h"
#include <math.h>

#define PANELS_A_LINE 3
#define PANEL_CM 6.2
#define LEGEND_CM 1.3
#define TITLE_CM 0.6

/* How the runs of a sweep are laid out: texts in the order in which they first appear. */
typedef struct Layout {
    GPtrArray *panels, *lines, *grids; /* char * */
} Layout;

static void layout_clear(Layout *layout) {
    g_ptr_array_unref(layout->panels);
    g_ptr_array_unref(layout->lines);
    g_ptr_array_unref(layout->grids);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Layout, layout_clear)

/* "2048 × 2048 × 2048". Caller frees; here and below. */
static char *size_text(const MeshRunSpec *spec) {
    switch (mesh_operator_family((MeshOperator)spec->kind)) {
    case MESH_FAMILY_GEMM:
        return g_strdup_printf("%" G_GUINT64_FORMAT " × %" G_GUINT64_FORMAT " × %" G_GUINT64_FORMAT,
                               spec->m, spec->k, spec->n);
    case MESH_FAMILY_GEMV:
        return g_strdup_printf("%" G_GUINT64_FORMAT " × %" G_GUINT64_FORMAT, spec->k, spec->n);
    default:
        return g_strdup_printf("%" G_GUINT64_FORMAT " element%s a core", spec->elements,
                               spec->elements == 1 ? "" : "s");
    }
}

static char *line_text(const MeshRunSpec *spec) {
    g_autofree char *algorithm = mesh_report_algorithm(spec);
    gboolean told = spec->kind == MESH_OPERATOR_ALL_REDUCE || spec->kind == MESH_OPERATOR_MESHGEMV;

    return told ? g_strdup_printf("%s (%s)", mesh_operator_names[spec->kind], algorithm)
                : g_strdup(mesh_operator_names[spec->kind]);
}

static char *grid_text(const MeshRunSpec *spec) {
    return g_strdup_printf("%u × %u", spec->grid.columns, spec->grid.rows);
}

/* The place of 'text' in the list, at the end of which it is put when it is new. Takes it over. */
static guint place_of(GPtrArray *texts, char *text) {
    guint place;

    if (g_ptr_array_find_with_equal_func(texts, text, g_str_equal, &place))
        g_free(text);
    else {
        place = texts->len;
        g_ptr_array_add(texts, text);
    }
    return place;
}

static Layout layout_new(const MeshPicture *picture) {
    Layout layout = {g_ptr_array_new_with_free_func(g_free), g_ptr_array_new_with_free_func(g_free),
                     g_ptr_array_new_with_free_func(g_free)};

    for (gsize i = 0; i < picture->n; i++) {
        place_of(layout.panels, size_text(&picture->specs[i]));
        place_of(layout.lines, line_text(&picture->specs[i]));
        place_of(layout.grids, grid_text(&picture->specs[i]));
    }
    return layout;
}

/* Where a grid stands on the axis: the side of a square of as many cores. */
static double grid_place(MeshGrid grid) {
    return sqrt((double)grid.columns * grid.rows);
}

static void append_grid_axis(GString *out, const MeshPicture *picture) {
    g_autoptr(GPtrArray) seen = g_ptr_array_new_with_free_func(g_free);
    double low = INFINITY, high = 0;

    g_string_append(out, "set xtics (");
    for (gsize i = 0; i < picture->n; i++) {
        guint before = seen->len;
        guint place = place_of(seen, grid_text(&picture->specs[i]));
        double at = grid_place(picture->specs[i].grid);
        low = MIN(low, at);
        high = MAX(high, at);
        if (place < before)
            continue;
        g_string_append_printf(out, "%s'%s' ", place == 0 ? "" : ", ",
                               (const char *)g_ptr_array_index(seen, place));
        gnuplot_number(out, at);
    }
    double room = high > low ? 0.08 * (high - low) : 1;
    g_string_append(out, ") rotate by 30 right font ',11'\nset xrange [");
    gnuplot_number(out, low - room);
    g_string_append_c(out, ':');
    gnuplot_number(out, high + room);
    g_string_append(out, "]\n");
}

/* The points of one line in one panel. */
static void append_points(GString *out, const MeshPicture *picture, const char *panel,
                          const char *line, gboolean all) {
    for (gsize i = 0; i < picture->n; i++) {
        const MeshRunSpec *spec = &picture->specs[i];
        const MeshTotals *totals = &picture->results[i].totals;
        g_autofree char *size = size_text(spec), *name = line_text(spec);
        double cycles = totals->cycles - (all ? 0 : totals->compute_cycles);

        if (!g_str_equal(size, panel) || !g_str_equal(name, line))
            continue;
        gnuplot_number(out, grid_place(spec->grid));
        g_string_append_c(out, ' ');
        gnuplot_number(out, cycles > 0 ? cycles : NAN);
        g_string_append_c(out, '\n');
    }
    g_string_append(out, "e\n");
}

/* Filled points for all cycles, open ones for part of them; the later a line, the thinner, so that
 * lines in one place show as borders of each other. */
static void append_style(GString *out, guint line, gboolean all) {
    static const guint filled[] = {7, 5, 9, 13, 11, 15};
    guint shape = filled[line % G_N_ELEMENTS(filled)];
    guint width_tenths = MAX(55 - 18 * MIN(line, 2), 18);

    g_string_append_printf(out, " with linespoints lw %u.%u ps %u.%u pt %u dt %u lc rgb '%s'",
                           width_tenths / 10, width_tenths % 10, line == 0, line == 0 ? 2u : 7u,
                           all ? shape : shape - 1, all ? 1u : 2u, gnuplot_colour(line));
}

static void append_panel(GString *out, const MeshPicture *picture, const Layout *layout,
                         const char *panel) {
    g_string_append(out, "set title ");
    gnuplot_text(out, panel);
    g_string_append(out, " noenhanced offset 0,-0.6\nplot ");
    for (guint line = 0; line < layout->lines->len; line++)
        for (gint all = 1; all >= 0; all--) {
            g_string_append(out, line == 0 && all ? "'-' using 1:2" : ", '-' using 1:2");
            append_style(out, line, all);
            g_string_append(out, " notitle");
        }
    g_string_append_c(out, '\n');
    for (guint line = 0; line < layout->lines->len; line++)
        for (gint all = 1; all >= 0; all--)
            append_points(out, picture, panel, g_ptr_array_index(layout->lines, line), all);
}

/* A strip of its own at the bottom, so that it never lies over data. */
static void append_legend(GString *out, const Layout *layout, double height) {
    g_string_append(out, "set origin 0,0\nset size 1,");
    gnuplot_number(out, height);
    g_string_append(out, "\nunset title\nunset tics\nunset border\nunset xlabel\nunset ylabel\n"
                         "unset logscale\nunset grid\nset margins 0,0,0,0\n"
                         "set xrange [0:1]\nset yrange [0:1]\n"
                         "set key center center horizontal samplen 2.5 width 1\nplot ");
    for (guint line = 0; line < layout->lines->len; line++) {
        g_string_append(out, "NaN");
        append_style(out, line, TRUE);
        g_string_append(out, " title ");
        gnuplot_text(out, g_ptr_array_index(layout->lines, line));
        g_string_append(out, " noenhanced, ");
    }
    g_string_append(out, "NaN with linespoints lw 2 ps 0.7 pt 6 dt 2 lc rgb '#555555' "
                         "title 'of them not computing'\n");
}

typedef struct Panels {
    guint n, a_line, lines;
    double width_cm, height_cm;
} Panels;

static Panels panels_of(const Layout *layout) {
    Panels panels = {.n = layout->panels->len};

    panels.a_line = panels.n == 4 ? 2 : MIN(panels.n, PANELS_A_LINE);
    panels.lines = (panels.n + panels.a_line - 1) / panels.a_line;
    panels.width_cm = MAX(panels.a_line * PANEL_CM, 1.5 * PANEL_CM);
    panels.height_cm = panels.lines * PANEL_CM + LEGEND_CM + TITLE_CM;
    return panels;
}

static void append_place(GString *out, const Panels *panels, guint i) {
    double width = 1.0 / panels->a_line, height = PANEL_CM / panels->height_cm;
    guint line = i / panels->a_line;

    g_string_append(out, "set origin ");
    gnuplot_number(out, width * (i % panels->a_line));
    g_string_append_c(out, ',');
    gnuplot_number(out, LEGEND_CM / panels->height_cm + height * (panels->lines - 1 - line));
    g_string_append(out, "\nset size ");
    gnuplot_number(out, width);
    g_string_append_c(out, ',');
    gnuplot_number(out, height);
    g_string_append_c(out, '\n');
}

char *mesh_plot_sweep_script(const MeshPicture *picture, const char *path, const char *output) {
    g_auto(Layout) layout = layout_new(picture);
    Panels panels = panels_of(&layout);
    GnuplotPicture size = {path, panels.width_cm, panels.height_cm};
    GString *out = g_string_new(NULL);

    gnuplot_begin(out, &size, output);
    g_string_append(out, "set multiplot title ");
    gnuplot_text(out, picture->title);
    g_string_append(out, " noenhanced\nset logscale y\nset format y '%.0s%c'\n"
                         "set xlabel 'cores' offset 0,0.4\nset grid lc rgb '#dddddd'\n"
                         "set tics nomirror\nset border 3\n");
    append_grid_axis(out, picture);
    for (guint i = 0; i < panels.n; i++) {
        append_place(out, &panels, i);
        g_string_append_printf(out, "set ylabel '%s'\n", i % panels.a_line == 0 ? "cycles" : "");
        append_panel(out, picture, &layout, g_ptr_array_index(layout.panels, i));
    }
    append_legend(out, &layout, LEGEND_CM / panels.height_cm);
    g_string_append(out, "unset multiplot\n");
    return g_string_free(out, FALSE);
}

static char *script_of(gconstpointer picture, const char *path, const char *output) {
    return mesh_plot_sweep_script(picture, path, output);
}

gboolean mesh_plot_sweep(const MeshPicture *picture, const char *path, GError **error) {
    return gnuplot_draw(path, script_of, picture, error);
}
