/* Where the parts of a figure are, in points: labels left, the plot, its axis and the legend below.
 * Shared by the files that draw them. */
#ifndef ANALYSIS_GANTT_LAYOUT_H
#define ANALYSIS_GANTT_LAYOUT_H

#include "analysis/timeline/gantt_axis.h"
#include "analysis/timeline/gantt_canvas.h"
#include "analysis/timeline/gantt_density.h"
#include "analysis/timeline/gantt_draw.h"

#define GANTT_FONT_PT 7.0
#define GANTT_MARGIN_PT 3.0

typedef struct GanttPlace {
    double top, height; /* of a row's slices */
    double heading;     /* baseline of the heading above it */
} GanttPlace;

typedef struct GanttLayout {
    GanttCanvas *canvas;
    const GanttFigure *figure;
    double width, height;
    double left, right; /* of the plot */
    double scale;       /* width of the scale left of means */
    double top, bottom;
    GanttPlace *places; /* a row each */
    GanttAxis axis;
    guint legend_lines, legend_columns;
    double legend_column; /* width of an entry */
} GanttLayout;

double gantt_layout_x(const GanttLayout *layout, gint64 moment_ns);
GanttFont gantt_layout_font(void);

/* gantt_rows_draw.c */
void gantt_draw_row(const GanttLayout *layout, guint row);
void gantt_draw_marks(const GanttLayout *layout, guint row);
/* Whether first tokens are few enough on a row to be marked one by one. */
gboolean gantt_row_shows_marks(const GanttLayout *layout, const GanttRow *row);
/* What of a row is shown as an area, in stretches at least half a point wide. Caller frees. */
GanttStack *gantt_row_stack(const GanttLayout *layout, const GanttRow *row);
/* Notes the kinds of which something can be seen in a row. */
void gantt_row_see(const GanttLayout *layout, const GanttRow *row, gboolean *kinds);
GanttLabels gantt_labels_for(const GanttLayout *layout, char letter);

/* gantt_arrows.c: for how many requests there are arrows; draws them too, or counts only. */
guint gantt_draw_arrows(const GanttLayout *layout, gboolean draw);

/* gantt_legend.c */
guint gantt_legend_entries(const GanttFigure *figure);
void gantt_legend_measure(GanttLayout *layout);
void gantt_legend_draw(const GanttLayout *layout, double top);

#endif
