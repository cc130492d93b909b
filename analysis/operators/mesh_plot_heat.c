#include "analysis/operators/mesh_plot.h"
#include "analysis/output/gnuplot.h"

#define WIDTH_CM 17.6
#define HEIGHT_CM 8.2
#define CELLS_A_SIDE 256

typedef enum { HEAT_BUSY, HEAT_LOAD, N_HEATS } HeatKind;

/* What a panel shows. */
static const struct {
    const char *title, *axis;
} panels[N_HEATS] = {
    [HEAT_BUSY] = {"computing", "share of the run"},
    [HEAT_LOAD] = {"busiest link out of a core", "wavelets a cycle"},
};

/* Values of cells, row by row. */
typedef struct Cells {
    guint columns, rows, cores; /* 'cores' along each side of a cell */
    double *values;
} Cells;

static void cells_clear(Cells *cells) {
    g_free(cells->values);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Cells, cells_clear)

static double value_of(const MeshCoreHeat *core, HeatKind kind, double cycles) {
    return (kind == HEAT_BUSY ? core->compute_cycles : (double)core->link_wavelets) / cycles;
}

/* Cores of a cell that the mesh has. */
static guint cell_cores(guint side, guint cell, guint cores) {
    return MIN(side - cell * cores, cores);
}

static Cells cells_new(const MeshPicture *picture, HeatKind kind) {
    MeshGrid grid = picture->specs[0].grid;
    const MeshRunResult *result = &picture->results[0];
    guint cores = (MAX(grid.columns, grid.rows) + CELLS_A_SIDE - 1) / CELLS_A_SIDE;
    Cells cells = {(grid.columns + cores - 1) / cores, (grid.rows + cores - 1) / cores, cores,
                   NULL};

    cells.values = g_new0(double, (gsize)cells.columns *cells.rows);
    for (guint i = 0; i < result->heat->len; i++) {
        const MeshCoreHeat *core = &g_array_index(result->heat, MeshCoreHeat, i);
        guint x = core->x / cores, y = core->y / cores;
        double value = value_of(core, kind, result->totals.cycles);
        double *cell = &cells.values[y * cells.columns + x];
        guint n = cell_cores(grid.columns, x, cores) * cell_cores(grid.rows, y, cores);

        *cell = kind == HEAT_BUSY ? *cell + value / n : MAX(*cell, value);
    }
    return cells;
}

static void append_cells(GString *out, const Cells *cells) {
    for (guint y = 0; y < cells->rows; y++)
        for (guint x = 0; x < cells->columns; x++) {
            double centre = (cells->cores - 1) / 2.0;
            gnuplot_number(out, x * cells->cores + centre);
            g_string_append_c(out, ' ');
            gnuplot_number(out, y * cells->cores + centre);
            g_string_append_c(out, ' ');
            gnuplot_number(out, cells->values[y * cells->columns + x]);
            g_string_append_c(out, '\n');
        }
    g_string_append(out, "e\n");
}

/* Viridis, dark to bright, even in grey and for colour-blind readers. Row 0 is at the top. */
static void append_map(GString *out, const MeshPicture *picture, HeatKind kind) {
    MeshGrid grid = picture->specs[0].grid;
    g_auto(Cells) cells = cells_new(picture, kind);

    g_string_append(out, "set palette defined (0 '#440154', 1 '#3b528b', 2 '#21918c', "
                         "3 '#5ec962', 4 '#fde725')\n"
                         "set size ratio -1\nset xlabel 'column of cores'\n"
                         "set ylabel 'row of cores'\nset tics out nomirror\nunset key\n");
    g_string_append_printf(out, "set xrange [-0.5:%u-0.5]\nset yrange [%u-0.5:-0.5]\n",
                           grid.columns, grid.rows);
    g_string_append_printf(out, "set cbrange [0:*]\nset cblabel '%s'\n", panels[kind].axis);
    g_string_append(out, "plot '-' using 1:2:3 with image pixels\n");
    append_cells(out, &cells);
}

static void append_profile(GString *out, const MeshPicture *picture, HeatKind kind, gboolean row) {
    const MeshRunResult *result = &picture->results[0];

    for (guint i = 0; i < result->heat->len; i++) {
        const MeshCoreHeat *core = &g_array_index(result->heat, MeshCoreHeat, i);
        if ((row ? core->y : core->x) != 0)
            continue;
        g_string_append_printf(out, "%u ", row ? core->x : core->y);
        gnuplot_number(out, value_of(core, kind, result->totals.cycles));
        g_string_append_c(out, '\n');
    }
    g_string_append(out, "e\n");
}

/* The row that stands for all rows and, where it takes part, the column that does so. */
static void append_profiles(GString *out, const MeshPicture *picture, HeatKind kind) {
    static const char *const names[] = {"a column, along Y", "a row, along X"};
    gboolean sums = picture->specs[0].kind == MESH_OPERATOR_ALL_REDUCE;

    g_string_append_printf(out,
                           "set rmargin 4\nset xlabel 'core of the line' offset 0,0.4\n"
                           "set ylabel '%s'\nset yrange [0:*]\nset tics out nomirror\n"
                           "set border 3\nset grid lc rgb '#dddddd'\n"
                           "set key outside below center horizontal samplen 2\nplot ",
                           panels[kind].axis);
    for (gint row = 1; row >= sums; row--)
        g_string_append_printf(out, "'-' with steps lw 2 lc rgb '%s' title '%s', ",
                               gnuplot_colour(row ? 0 : 1), names[row]);
    g_string_append(out, "NaN notitle\n");
    for (gint row = 1; row >= sums; row--)
        append_profile(out, picture, kind, row);
}

char *mesh_plot_heat_script(const MeshPicture *picture, const char *path, const char *output) {
    GnuplotPicture size = {path, WIDTH_CM, HEIGHT_CM};
    GString *out = g_string_new(NULL);

    gnuplot_begin(out, &size, output);
    g_string_append(out, "set rmargin 14\nset lmargin 9\nset multiplot layout 1,2 title ");
    gnuplot_text(out, picture->title);
    g_string_append(out, " noenhanced\n");
    for (HeatKind kind = 0; kind < N_HEATS; kind++) {
        g_string_append_printf(out, "set title '%s'\n", panels[kind].title);
        if (picture->specs[0].full)
            append_map(out, picture, kind);
        else
            append_profiles(out, picture, kind);
    }
    g_string_append(out, "unset multiplot\n");
    return g_string_free(out, FALSE);
}

static char *script_of(gconstpointer picture, const char *path, const char *output) {
    return mesh_plot_heat_script(picture, path, output);
}

gboolean mesh_plot_heat(const MeshPicture *picture, const char *path, GError **error) {
    return gnuplot_draw(path, script_of, picture, error);
}
