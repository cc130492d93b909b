/* The page that a figure is drawn on: a PDF or an SVG of given size in points (1/72 inch), origin
 * top left, y down. Texts stay texts: in the PDF with their fonts embedded, in the SVG as <text>
 * elements behind what cairo wrote, which would turn them into outlines. */
#ifndef ANALYSIS_GANTT_CANVAS_H
#define ANALYSIS_GANTT_CANVAS_H

#include "analysis/timeline/gantt_palette.h"
#include <cairo.h>

typedef enum { GANTT_LEFT, GANTT_MIDDLE, GANTT_RIGHT } GanttAnchor;

typedef struct GanttFont {
    double size_pt;
    gboolean bold;
} GanttFont;

/* How a text stands at its place. */
typedef struct GanttStyle {
    GanttAnchor anchor;
    GanttFont font;
    GanttRgb colour;
} GanttStyle;

typedef struct GanttCanvas GanttCanvas;
GanttCanvas *gantt_canvas_new(gboolean svg, double width_pt, double height_pt, GanttTheme theme);
void gantt_canvas_free(GanttCanvas *canvas);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GanttCanvas, gantt_canvas_free)

cairo_t *gantt_canvas_cairo(GanttCanvas *canvas); /* for paths; borrowed */
GanttTheme gantt_canvas_theme(const GanttCanvas *canvas);
/* Fill the path that is there, in a tone of the theme or its pattern. */
void gantt_canvas_fill(GanttCanvas *canvas, GanttTone tone);
void gantt_canvas_fill_rgb(GanttCanvas *canvas, GanttRgb colour);
void gantt_canvas_stroke(GanttCanvas *canvas, double width_pt, GanttRgb colour);
/* Text at its baseline. */
void gantt_canvas_text(GanttCanvas *canvas, double x, double y, GanttStyle style, const char *text);
double gantt_canvas_text_width(GanttCanvas *canvas, GanttFont font, const char *text);
/* 'text', or as much of it as fits with an ellipsis. Caller frees. */
char *gantt_canvas_fit(GanttCanvas *canvas, GanttFont font, double width_pt, const char *text);

/* Gives back what cairo and fontconfig keep for later, so that checkers of memory find nothing;
 * while there is no canvas. */
void gantt_canvas_release_caches(void);

/* The finished file; NULL and an error where cairo failed. */
GBytes *gantt_canvas_finish(GanttCanvas *canvas, GError **error);

#endif
