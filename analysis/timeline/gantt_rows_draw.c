#include "analysis/timeline/gantt_density.h"
#include "analysis/timeline/gantt_layout.h"

#include <string.h>

#define LABELS_PART 0.85 /* of numbered slices must have room for their labels */
#define LABEL_PT 6.0     /* of texts within slices */
#define EDGE_FROM_PT 4.0 /* narrower slices have no edges */
#define STRETCH_PT 0.5   /* the least width of a density's stretch */
#define MARK_PT 2.2
#define SEEN_PT 0.25 /* the narrowest slice that can be seen */

static GanttRgb mix(GanttRgb a, GanttRgb b, double part) {
    return (GanttRgb){a.red + (b.red - a.red) * part, a.green + (b.green - a.green) * part,
                      a.blue + (b.blue - a.blue) * part};
}

static guint row_stride(const GanttLayout *layout) {
    const GanttGrid *grid = gantt_lanes_grid(layout->figure->lanes);
    double bin_pt = gantt_layout_x(layout, grid->from_ns + grid->bin_ns) -
                    gantt_layout_x(layout, grid->from_ns);
    guint stride = 1;

    while (stride * bin_pt < STRETCH_PT && stride < GANTT_BINS)
        stride++;
    return stride;
}

GanttStack *gantt_row_stack(const GanttLayout *layout, const GanttRow *row) {
    return gantt_stack_new(row->track, gantt_lanes_grid(layout->figure->lanes), row->lanes,
                           row_stride(layout), layout->figure->to_ns);
}

/* Where a stretch begins. */
static double stretch_x(const GanttLayout *layout, const GanttDensity *density, guint stretch) {
    const GanttGrid *grid = gantt_lanes_grid(layout->figure->lanes);
    gint64 begin_ns = grid->from_ns + (gint64)stretch * density->stride * grid->bin_ns;

    return gantt_layout_x(layout, MIN(begin_ns, layout->figure->to_ns));
}

/* The outline of stretches [first, end): along their tops and back along their bases. */
static void outline(const GanttLayout *layout, const GanttPlace *place, const GanttDensity *density,
                    guint first, guint end) {
    cairo_t *cairo = gantt_canvas_cairo(layout->canvas);
    double step = place->height / GANTT_DENSITY_LEVELS, floor = place->top + place->height;

    cairo_move_to(cairo, stretch_x(layout, density, first), floor - density->top[first] * step);
    for (guint i = first + 1; i < end; i++)
        if (density->top[i] != density->top[i - 1]) {
            cairo_line_to(cairo, stretch_x(layout, density, i), floor - density->top[i - 1] * step);
            cairo_line_to(cairo, stretch_x(layout, density, i), floor - density->top[i] * step);
        }
    cairo_line_to(cairo, stretch_x(layout, density, end), floor - density->top[end - 1] * step);
    cairo_line_to(cairo, stretch_x(layout, density, end), floor - density->base[end - 1] * step);
    for (guint i = end - 1; i > first; i--)
        if (density->base[i] != density->base[i - 1]) {
            cairo_line_to(cairo, stretch_x(layout, density, i), floor - density->base[i] * step);
            cairo_line_to(cairo, stretch_x(layout, density, i),
                          floor - density->base[i - 1] * step);
        }
    cairo_line_to(cairo, stretch_x(layout, density, first), floor - density->base[first] * step);
    cairo_close_path(cairo);
}

static void draw_density(const GanttLayout *layout, const GanttRow *row, const GanttPlace *place) {
    g_autoptr(GanttStack) stack = gantt_row_stack(layout, row);
    const GanttDensity *density = gantt_stack_density(stack);

    for (guint kind; gantt_stack_next(stack, &kind);) {
        if (!gantt_density_is_seen(density))
            continue;
        for (guint i = 0, end; i < density->n; i = end) {
            gboolean there = density->top[i] > density->base[i];
            for (end = i + 1;
                 end < density->n && (density->top[end] > density->base[end]) == there;)
                end++;
            if (there)
                outline(layout, place, density, i, end);
        }
        if (gantt_canvas_theme(layout->canvas) != GANTT_HATCH) {
            gantt_canvas_fill(layout->canvas, gantt_kind(kind)->tone);
            continue;
        }
        cairo_path_t *path = cairo_copy_path(gantt_canvas_cairo(layout->canvas));
        gantt_canvas_fill(layout->canvas, gantt_kind(kind)->tone);
        cairo_append_path(gantt_canvas_cairo(layout->canvas), path);
        gantt_canvas_stroke(layout->canvas, 0.2, gantt_ink(GANTT_HATCH));
        cairo_path_destroy(path);
    }
}

static double slice_width(const GanttLayout *layout, const GanttSlice *slice) {
    return gantt_layout_x(layout, slice->end_ns) - gantt_layout_x(layout, slice->start_ns);
}

static void add_rectangle(const GanttLayout *layout, const GanttPlace *place,
                          const GanttSlice *slice) {
    cairo_rectangle(gantt_canvas_cairo(layout->canvas), gantt_layout_x(layout, slice->start_ns),
                    place->top, slice_width(layout, slice), place->height);
}

/* Of low rows only where slices begin. */
static void add_edge(const GanttLayout *layout, const GanttPlace *place, const GanttSlice *slice) {
    double x = gantt_layout_x(layout, slice->start_ns);

    cairo_move_to(gantt_canvas_cairo(layout->canvas), x, place->top);
    cairo_line_to(gantt_canvas_cairo(layout->canvas), x, place->top + place->height);
}

/* Slices of one kind, either those within others or those that are not. */
static void draw_slices(const GanttLayout *layout, const GanttRow *row, const GanttPlace *place,
                        guint kind, gboolean inner) {
    GanttTheme theme = gantt_canvas_theme(layout->canvas);
    const GArray *slices = row->track->slices;
    gboolean something = FALSE;

    for (guint pass = 0; pass < 2; pass++) {
        for (guint i = 0; i < slices->len; i++) {
            const GanttSlice *slice = &g_array_index(slices, GanttSlice, i);
            if (slice->kind != kind || (slice->parent != GANTT_NO_PARENT) != inner)
                continue;
            if (pass == 1 && theme != GANTT_HATCH && slice_width(layout, slice) < EDGE_FROM_PT)
                continue;
            if (pass == 1 && row->thin)
                add_edge(layout, place, slice);
            else
                add_rectangle(layout, place, slice);
            something = TRUE;
        }
        if (!something)
            return;
        if (pass == 0)
            gantt_canvas_fill(layout->canvas, gantt_kind(kind)->tone);
        else if (theme == GANTT_HATCH)
            gantt_canvas_stroke(layout->canvas, 0.3, gantt_ink(theme));
        else if (gantt_kind(kind)->tone == TONE_PALE)
            gantt_canvas_stroke(layout->canvas, 0.25,
                                mix(gantt_paper(theme), gantt_ink(theme), .4));
        else
            gantt_canvas_stroke(layout->canvas, 0.3, gantt_paper(theme));
    }
}

/* What of a slice no inner slice behind it in the array covers: labels stand there. */
static double open_width(const GanttLayout *layout, const GArray *slices, guint index) {
    const GanttSlice *slice = &g_array_index(slices, GanttSlice, index);
    gint64 end_ns = slice->end_ns;

    for (guint i = index + 1; i < slices->len; i++) {
        const GanttSlice *inner = &g_array_index(slices, GanttSlice, i);
        if (inner->parent == GANTT_NO_PARENT || inner->start_ns >= slice->end_ns)
            break;
        end_ns = MIN(end_ns, inner->start_ns);
    }
    return gantt_layout_x(layout, end_ns) - gantt_layout_x(layout, slice->start_ns);
}

static char *numbered(const GanttSlice *slice, GanttLabels labels) {
    return labels == GANTT_LABELS_NONE     ? NULL
           : labels == GANTT_LABELS_NUMBER ? g_strdup_printf("%d", slice->number)
                                           : g_strdup_printf("%c%d", slice->letter, slice->number);
}

static gboolean label_fits(const GanttLayout *layout, const char *text, double room) {
    GanttFont font = {LABEL_PT, FALSE};

    return text != NULL && room >= LABEL_PT &&
           gantt_canvas_text_width(layout->canvas, font, text) + 1 <= room;
}

/* NULL: it has none, or no room. Caller frees. */
static char *slice_label(const GanttLayout *layout, const GanttSlice *slice, double room) {
    g_autofree char *text = gantt_kind(slice->kind)->style == GANTT_LABELLED
                                ? g_strdup(slice->name)
                                : numbered(slice, layout->figure->labels[(guchar)slice->letter]);

    return label_fits(layout, text, room) ? g_steal_pointer(&text) : NULL;
}

static void draw_label(const GanttLayout *layout, const GanttPlace *place, const GArray *slices,
                       guint index) {
    const GanttSlice *slice = &g_array_index(slices, GanttSlice, index);
    GanttTheme theme = gantt_canvas_theme(layout->canvas);
    GanttFont font = {LABEL_PT, FALSE};
    GanttRgb tone = gantt_tone_rgb(gantt_kind(slice->kind)->tone, theme), colour = {0, 0, 0};
    double room = open_width(layout, slices, index);
    g_autofree char *text = slice_label(layout, slice, room);

    if (text == NULL)
        return;
    double width = gantt_canvas_text_width(layout->canvas, font, text);
    double x = gantt_layout_x(layout, slice->start_ns) + room / 2;
    double y = place->top + place->height / 2 + LABEL_PT * 0.36;
    if (theme == GANTT_HATCH) {
        cairo_rectangle(gantt_canvas_cairo(layout->canvas), x - width / 2 - 0.6, y - LABEL_PT * 0.8,
                        width + 1.2, LABEL_PT * 0.9);
        gantt_canvas_fill_rgb(layout->canvas, gantt_paper(theme));
    } else if (gantt_lightness(tone) < 60)
        colour = (GanttRgb){1, 1, 1};
    gantt_canvas_text(layout->canvas, x, y, (GanttStyle){GANTT_MIDDLE, font, colour}, text);
}

void gantt_draw_row(const GanttLayout *layout, guint index) {
    const GanttRow *row = &g_array_index(layout->figure->rows, GanttRow, index);
    const GanttPlace *place = &layout->places[index];

    for (guint kind = 0; kind < gantt_kinds(); kind++)
        draw_slices(layout, row, place, kind, FALSE);
    draw_density(layout, row, place);
    for (guint kind = 0; kind < gantt_kinds(); kind++)
        draw_slices(layout, row, place, kind, TRUE);
    for (guint i = 0; !row->thin && i < row->track->slices->len; i++)
        draw_label(layout, place, row->track->slices, i);
}

void gantt_row_see(const GanttLayout *layout, const GanttRow *row, gboolean *kinds) {
    g_autoptr(GanttStack) stack = gantt_row_stack(layout, row);

    for (guint kind; gantt_stack_next(stack, &kind);)
        kinds[kind] |= gantt_density_is_seen(gantt_stack_density(stack));
    for (guint i = 0; i < row->track->slices->len; i++) {
        const GanttSlice *slice = &g_array_index(row->track->slices, GanttSlice, i);
        kinds[slice->kind] |= slice_width(layout, slice) >= SEEN_PT;
    }
}

/* Labels that some slices have and their neighbours do not would puzzle. */
GanttLabels gantt_labels_for(const GanttLayout *layout, char letter) {
    guint all = 0, fitting[GANTT_LABELS_FULL + 1] = {0};

    for (guint row = 0; row < layout->figure->rows->len; row++) {
        const GanttRow *shown = &g_array_index(layout->figure->rows, GanttRow, row);
        const GArray *slices = shown->track->slices;
        for (guint i = 0; i < slices->len && !shown->thin; i++) {
            const GanttSlice *slice = &g_array_index(slices, GanttSlice, i);
            if (slice->letter != letter)
                continue;
            all++;
            for (GanttLabels how = GANTT_LABELS_NUMBER; how <= GANTT_LABELS_FULL; how++) {
                g_autofree char *text = numbered(slice, how);
                fitting[how] += (guint)label_fits(layout, text, open_width(layout, slices, i));
            }
        }
    }
    for (GanttLabels how = GANTT_LABELS_FULL; how > GANTT_LABELS_NONE; how--)
        if (all > 0 && fitting[how] >= LABELS_PART * all)
            return how;
    return GANTT_LABELS_NONE;
}

gboolean gantt_row_shows_marks(const GanttLayout *layout, const GanttRow *row) {
    return row->track->n_marks > 0 && !row->thin &&
           (double)row->track->n_marks < (layout->right - layout->left) / (3 * MARK_PT);
}

/* Triangles that point down onto the row, none over another. */
void gantt_draw_marks(const GanttLayout *layout, guint index) {
    const GanttRow *row = &g_array_index(layout->figure->rows, GanttRow, index);
    const GanttGrid *grid = gantt_lanes_grid(layout->figure->lanes);
    GanttTheme theme = gantt_canvas_theme(layout->canvas);
    cairo_t *cairo = gantt_canvas_cairo(layout->canvas);
    double tip = layout->places[index].top + 0.6, last = -1;

    if (!gantt_row_shows_marks(layout, row))
        return;
    for (guint bin = 0; bin < GANTT_BINS; bin++) {
        double x = gantt_layout_x(layout, grid->from_ns + (gint64)bin * grid->bin_ns);
        if (row->track->marks[bin] == 0 || x - last < MARK_PT)
            continue;
        cairo_move_to(cairo, x, tip);
        cairo_line_to(cairo, x - MARK_PT / 2, tip - MARK_PT);
        cairo_line_to(cairo, x + MARK_PT / 2, tip - MARK_PT);
        cairo_close_path(cairo);
        last = x;
    }
    gantt_canvas_fill_rgb(layout->canvas, gantt_ink(theme));
}
