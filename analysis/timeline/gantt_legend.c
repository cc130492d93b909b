#include "analysis/timeline/gantt_layout.h"

#include <math.h>

#define BOX_PT 6.0
#define GAP_PT 3.0
#define LINE_PT 9.5

/* Arrows and first tokens come after the kinds. */
typedef enum { ENTRY_ARROW = GANTT_KINDS_MAX, ENTRY_MARK } Entry;

static GArray *entries(const GanttFigure *figure) {
    GArray *list = g_array_new(FALSE, FALSE, sizeof(guint));

    for (guint kind = 0; kind < gantt_kinds(); kind++)
        if (figure->occurs[kind])
            g_array_append_val(list, kind);
    guint arrow = ENTRY_ARROW, mark = ENTRY_MARK;
    if (figure->arrows > 0)
        g_array_append_val(list, arrow);
    if (figure->marks > 0)
        g_array_append_val(list, mark);
    return list;
}

static const char *entry_text(guint entry) {
    return entry == ENTRY_ARROW  ? "KV of a request"
           : entry == ENTRY_MARK ? "first token"
                                 : gantt_kind(entry)->legend;
}

guint gantt_legend_entries(const GanttFigure *figure) {
    g_autoptr(GArray) list = entries(figure);
    return list->len;
}

/* Entries stand in columns of equal width. */
void gantt_legend_measure(GanttLayout *layout) {
    g_autoptr(GArray) list = entries(layout->figure);
    double widest = 0, width = layout->width - 2 * GANTT_MARGIN_PT;

    for (guint i = 0; i < list->len; i++)
        widest = fmax(widest, gantt_canvas_text_width(layout->canvas, gantt_layout_font(),
                                                      entry_text(g_array_index(list, guint, i))));
    layout->legend_column = BOX_PT + GAP_PT + widest + 3 * GAP_PT;
    guint columns = MAX(1, (guint)((width + 3 * GAP_PT) / layout->legend_column));
    columns = MIN(columns, MAX(list->len, 1));
    layout->legend_lines = (list->len + columns - 1) / columns;
    /* Even lines: five entries in rows of three and two, not of four and one. */
    columns = layout->legend_lines == 0
                  ? 1
                  : (list->len + layout->legend_lines - 1) / layout->legend_lines;
    layout->legend_columns = columns;
}

static void draw_sample(const GanttLayout *layout, guint entry, double x, double y) {
    GanttTheme theme = gantt_canvas_theme(layout->canvas);
    cairo_t *cairo = gantt_canvas_cairo(layout->canvas);

    if (entry == ENTRY_ARROW) {
        cairo_move_to(cairo, x - 2, y + BOX_PT / 2);
        cairo_line_to(cairo, x + BOX_PT - 2, y + BOX_PT / 2);
        gantt_canvas_stroke(layout->canvas, 0.5, gantt_ink(theme));
        cairo_move_to(cairo, x + BOX_PT + 0.6, y + BOX_PT / 2);
        cairo_line_to(cairo, x + BOX_PT - 2, y + BOX_PT / 2 - 1.05);
        cairo_line_to(cairo, x + BOX_PT - 2, y + BOX_PT / 2 + 1.05);
        cairo_close_path(cairo);
        gantt_canvas_fill_rgb(layout->canvas, gantt_ink(theme));
    } else if (entry == ENTRY_MARK) {
        cairo_move_to(cairo, x + BOX_PT / 2, y + BOX_PT / 2 + 1.2);
        cairo_line_to(cairo, x + BOX_PT / 2 - 1.3, y + BOX_PT / 2 - 1.2);
        cairo_line_to(cairo, x + BOX_PT / 2 + 1.3, y + BOX_PT / 2 - 1.2);
        cairo_close_path(cairo);
        gantt_canvas_fill_rgb(layout->canvas, gantt_ink(theme));
    } else {
        cairo_rectangle(cairo, x, y, BOX_PT, BOX_PT);
        gantt_canvas_fill(layout->canvas, gantt_kind(entry)->tone);
        cairo_rectangle(cairo, x, y, BOX_PT, BOX_PT);
        gantt_canvas_stroke(layout->canvas, 0.3, gantt_ink(theme));
    }
}

void gantt_legend_draw(const GanttLayout *layout, double top) {
    g_autoptr(GArray) list = entries(layout->figure);
    double width = layout->legend_columns * layout->legend_column - 3 * GAP_PT;
    double left = fmax(GANTT_MARGIN_PT, (layout->width - width) / 2);

    for (guint i = 0; i < list->len; i++) {
        guint entry = g_array_index(list, guint, i);
        double x = left + (i % layout->legend_columns) * layout->legend_column;
        guint line = i / layout->legend_columns;
        double y = top + line * LINE_PT;
        draw_sample(layout, entry, x, y);
        gantt_canvas_text(layout->canvas, x + BOX_PT + GAP_PT, y + BOX_PT * 0.92,
                          (GanttStyle){GANTT_LEFT, gantt_layout_font(),
                                       gantt_ink(gantt_canvas_theme(layout->canvas))},
                          entry_text(entry));
    }
}
