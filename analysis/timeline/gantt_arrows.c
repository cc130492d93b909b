#include "analysis/timeline/gantt_layout.h"

#include <math.h>

#define ARROWS_MAX 16 /* requests */
#define LANE_PT 6     /* arrows lead to no lower rows */
#define HEAD_PT 2.6
#define SEEN_PT 0.4         /* the narrowest step that an arrow may lead to */
#define TRAFFIC_SEEN_PT 3.0 /* … and transfer */

static const GanttSlice *slice_at(const GanttFigure *figure, const GanttFlowPoint *point,
                                  gint *row) {
    *row = gantt_lanes_row(figure->lanes, point->process, point->thread);
    if (*row < 0)
        return NULL;
    const GanttRow *shown = &g_array_index(figure->rows, GanttRow, (guint)*row);
    for (guint i = 0; i < shown->track->slices->len; i++) {
        const GanttSlice *slice = &g_array_index(shown->track->slices, GanttSlice, i);
        if (slice->begin_ns == point->start_ns && slice->parent == GANTT_NO_PARENT)
            return slice;
    }
    return NULL;
}

/* The edge of a row that faces another one. */
static double edge(const GanttLayout *layout, gint row, gint other) {
    return layout->places[row].top + (other > row ? layout->places[row].height : 0);
}

/* A line with a head; a halo keeps it visible on dark slices. */
static void draw_arrow(const GanttLayout *layout, double x0, double y0, double x1, double y1) {
    cairo_t *cairo = gantt_canvas_cairo(layout->canvas);
    GanttTheme theme = gantt_canvas_theme(layout->canvas);
    double length = hypot(x1 - x0, y1 - y0);
    double dx = (x1 - x0) / length, dy = (y1 - y0) / length;
    double neck_x = x1 - dx * HEAD_PT, neck_y = y1 - dy * HEAD_PT;

    for (guint pass = 0; pass < 2; pass++) {
        cairo_move_to(cairo, x0, y0);
        cairo_line_to(cairo, neck_x, neck_y);
        gantt_canvas_stroke(layout->canvas, pass == 0 ? 1.1 : 0.5,
                            pass == 0 ? gantt_paper(theme) : gantt_ink(theme));
        for (guint head = 0; head < 2; head++) {
            cairo_move_to(cairo, x1, y1);
            cairo_line_to(cairo, neck_x - dy * HEAD_PT * 0.4, neck_y + dx * HEAD_PT * 0.4);
            cairo_line_to(cairo, neck_x + dy * HEAD_PT * 0.4, neck_y - dx * HEAD_PT * 0.4);
            cairo_close_path(cairo);
            if (pass == 0 && head == 0)
                gantt_canvas_stroke(layout->canvas, 0.8, gantt_paper(theme));
            else
                gantt_canvas_fill_rgb(layout->canvas, gantt_ink(theme));
        }
    }
}

/* A slice of a flow that can be seen. */
typedef struct Stop {
    const GanttSlice *slice;
    gint row;
} Stop;

static double width_of(const GanttLayout *layout, const GanttSlice *slice) {
    return gantt_layout_x(layout, slice->end_ns) - gantt_layout_x(layout, slice->start_ns);
}

/* The step of the same prompt in the last stage that is shown; one that does not begin before
 * 'before_ns' computes again what was preempted. */
static void move_to_last_stage(const GanttFigure *figure, Stop *stop, gint64 before_ns) {
    const GanttSlice *first = stop->slice;

    if (first->letter != 'R')
        return;
    for (guint row = 0; row < figure->rows->len; row++) {
        const GArray *slices = g_array_index(figure->rows, GanttRow, row).track->slices;
        for (guint i = 0; i < slices->len; i++) {
            const GanttSlice *slice = &g_array_index(slices, GanttSlice, i);
            if (slice->letter == 'R' && slice->number == first->number &&
                slice->end_ns > stop->slice->end_ns && slice->start_ns < before_ns)
                *stop = (Stop){slice, (gint)row};
        }
    }
}

static guint drop_traffic(Stop *stops, guint n) {
    guint kept = 0;

    for (guint i = 0; i < n; i++)
        if (gantt_kind(stops[i].slice->kind)->style != GANTT_TRAFFIC)
            stops[kept++] = stops[i];
    return kept;
}

/* Steps, straight from one to the next; where they are not shown, transfers. */
static guint visible_stops(const GanttLayout *layout, const GanttFlow *flow, Stop *stops) {
    guint n = 0, steps = 0;

    for (guint i = 0; i < flow->n; i++) {
        Stop stop;
        stop.slice = slice_at(layout->figure, &flow->points[i], &stop.row);
        if (stop.slice == NULL || layout->places[stop.row].height < LANE_PT)
            continue;
        gboolean traffic = gantt_kind(stop.slice->kind)->style == GANTT_TRAFFIC;
        if (width_of(layout, stop.slice) < (traffic ? TRAFFIC_SEEN_PT : SEEN_PT))
            continue;
        steps += !traffic;
        stops[n++] = stop;
    }
    n = steps < 2 ? n : drop_traffic(stops, n);
    if (n > 1)
        move_to_last_stage(layout->figure, &stops[0], stops[1].slice->end_ns);
    return n;
}

/* Draws the hops of a flow between what can be seen of it, or only counts them. */
static guint draw_flow(const GanttLayout *layout, const GanttFlow *flow, gboolean draw) {
    Stop stops[GANTT_FLOW_POINTS_MAX];
    guint n = visible_stops(layout, flow, stops), hops = 0;

    for (guint i = 1; i < n; i++) {
        const GanttSlice *from = stops[i - 1].slice, *to = stops[i].slice;
        if (stops[i - 1].row == stops[i].row || from->kind == to->kind)
            continue;
        hops++;
        if (draw)
            draw_arrow(layout, gantt_layout_x(layout, MIN(from->end_ns, to->start_ns)),
                       edge(layout, stops[i - 1].row, stops[i].row),
                       gantt_layout_x(layout, to->start_ns),
                       edge(layout, stops[i].row, stops[i - 1].row));
    }
    return hops;
}

guint gantt_draw_arrows(const GanttLayout *layout, gboolean draw) {
    const GArray *flows = layout->figure->flows->kept;
    g_autoptr(GPtrArray) seen = g_ptr_array_new();

    for (guint i = 0; i < flows->len; i++) {
        GanttFlow *flow = &g_array_index(flows, GanttFlow, i);
        if (draw_flow(layout, flow, FALSE) > 0)
            g_ptr_array_add(seen, flow);
    }
    guint shown = MIN(seen->len, ARROWS_MAX);
    for (guint i = 0; draw && i < shown; i++)
        draw_flow(layout, seen->pdata[(gsize)i * seen->len / shown], TRUE);
    return shown;
}
