/* Pictures of operators on a mesh: what every core did and its links carried; and the cycles of a
 * sweep over grids. */
#ifndef ANALYSIS_MESH_PLOT_H
#define ANALYSIS_MESH_PLOT_H

#include "analysis/operators/mesh_run.h"

typedef struct MeshPicture {
    const char *title;
    const MeshRunSpec *specs; /* 'n' of them, one family */
    const MeshRunResult *results;
    gsize n;
} MeshPicture;

/* Of the first run, which must have kept its heat: the share of the time in which a core computes,
 * beside the load of its busiest link out. A full mesh as cells (of more than 256 a side, several
 * cores a cell: their mean, and of loads the highest); of a folded one the profiles along its row
 * and its column. Drawn as gnuplot_draw does. */
gboolean mesh_plot_heat(const MeshPicture *picture, const char *path, GError **error);
/* Cycles over the grid, a panel a size, a colour an operator: all of them, and dashed those in
 * which the last core did not compute. */
gboolean mesh_plot_sweep(const MeshPicture *picture, const char *path, GError **error);

/* Their gnuplot scripts. Callers free. */
char *mesh_plot_heat_script(const MeshPicture *picture, const char *path, const char *output);
char *mesh_plot_sweep_script(const MeshPicture *picture, const char *path, const char *output);

#endif
