#include "analysis/timeline/gantt_draw.h"

#include "analysis/timeline/gantt_density.h"
#include "analysis/timeline/gantt_layout.h"
#include <math.h>
#include <string.h>

#define PT_PER_MM (72 / 25.4)
#define TITLE_PT 8.0
#define HEADING_PT 9.5 /* height of a line with one */
#define GAP_PT 2.6     /* between rows: room for first tokens */
#define BAND_PT 17.0   /* height of a row that is a mean */
#define AXIS_PT 20.0   /* ticks, their labels, the axis' title */
#define LEGEND_LINE_PT 9.5
#define DENSE_PART 0.25   /* of a row's busy time in slices too narrow to be seen */
#define DENSE_KEEP_PT 2.5 /* slices at least so wide stay single on a dense row */
#define POINTS_MAX 20000  /* corners drawn: some 0.6 MB of SVG */
#define SCALE_TOP "100 %" /* of a mean */
#define SCALE_FONT_PT 6.0
#define BINS_MIN 128
#define THIN_PT 2.2 /* a row too low for texts, of which only some have labels */
#define THIN_GAP_PT 0.3
#define THIN_LABELS 4    /* rows between labels, at least */
#define THIN_SLICES 400  /* slices that may follow each other on such a row */
#define LABELS_PART 0.22 /* of the width, for labels; wider ones go above their row */

double gantt_draw_width(GanttWidth width) {
    return (width == GANTT_COLUMN ? 88 : 180) * PT_PER_MM;
}

guint gantt_draw_rows_max(GanttWidth width) {
    return width == GANTT_COLUMN ? 24 : 36;
}

double gantt_layout_x(const GanttLayout *layout, gint64 moment_ns) {
    double span = (double)(layout->figure->to_ns - layout->figure->from_ns);
    double share = (double)(moment_ns - layout->figure->from_ns) / span;

    return layout->left + CLAMP(share, 0, 1) * (layout->right - layout->left);
}

GanttFont gantt_layout_font(void) {
    return (GanttFont){GANTT_FONT_PT, FALSE};
}

static const GanttRow *row_at(const GanttFigure *figure, guint index) {
    return &g_array_index(figure->rows, GanttRow, index);
}

/* Where most of a row's time is in narrow slices, single ones between them would mislead. */
static void smooth(const GanttLayout *layout, GanttFigure *figure) {
    gint64 span_ns = figure->to_ns - figure->from_ns;
    double keep = DENSE_KEEP_PT / (layout->right - layout->left) * (double)span_ns;

    for (guint i = 0; i < figure->rows->len; i++) {
        GanttTrack *track = row_at(figure, i)->track;
        gint64 busy_ns = 0, binned_ns = 0;
        for (guint kind = 0; kind < gantt_kinds(); kind++) {
            busy_ns += gantt_track_busy(track, kind);
            binned_ns += MAX(gantt_track_binned(track, kind), 0);
        }
        if ((double)binned_ns > DENSE_PART * (double)busy_ns)
            gantt_track_flatten(track, gantt_lanes_grid(figure->lanes), (gint64)keep);
    }
}

/* Corners of the paths that a row takes. */
static guint row_points(const GanttLayout *layout, const GanttRow *row) {
    g_autoptr(GanttStack) stack = gantt_row_stack(layout, row);
    guint points = 10 * row->track->slices->len; /* filled and stroked */

    for (guint kind; gantt_stack_next(stack, &kind);)
        points += 3 * gantt_density_changes(gantt_stack_density(stack));
    return points;
}

/* Coarser until the file cannot become large. */
static void bound_size(const GanttLayout *layout, GanttFigure *figure) {
    const GanttGrid *grid = gantt_lanes_grid(figure->lanes);
    gint64 span_ns = figure->to_ns - figure->from_ns;

    for (;;) {
        guint points = 0;
        smooth(layout, figure);
        for (guint i = 0; i < figure->rows->len; i++)
            points += row_points(layout, row_at(figure, i));
        if (points <= POINTS_MAX || span_ns / grid->bin_ns <= BINS_MIN)
            return;
        gantt_lanes_coarsen(figure->lanes, 1);
    }
}

/* What the legend and the caption tell. */
static void take_stock(const GanttLayout *layout, GanttFigure *figure) {
    for (guint i = 0; i < figure->rows->len; i++) {
        const GanttRow *row = row_at(figure, i);
        for (guint kind = 0; kind < gantt_kinds(); kind++) {
            figure->happens[kind] |= gantt_track_busy(row->track, kind) > 0;
            figure->dense |= gantt_track_binned(row->track, kind) > 0;
        }
        gantt_row_see(layout, row, figure->occurs);
        if (gantt_row_shows_marks(layout, row))
            figure->marks += row->track->n_marks;
        else
            figure->marks_hidden += row->track->n_marks;
    }
    figure->arrows = gantt_draw_arrows(layout, FALSE);
    figure->labels['M'] = gantt_labels_for(layout, 'M');
    figure->labels['R'] = gantt_labels_for(layout, 'R');
}

static GanttFont scale_font(void) {
    return (GanttFont){SCALE_FONT_PT, FALSE};
}

static char *mean_label(const GanttRow *row) {
    return g_strdup_printf("mean of %u", row->lanes);
}

static double label_width(const GanttLayout *layout, const GanttRow *row) {
    GanttFont font = {GANTT_FONT_PT, row->alone};

    return gantt_canvas_text_width(layout->canvas, font, row->label);
}

/* What a row takes left of the plot. */
static double gutter_width(const GanttLayout *layout, const GanttRow *row) {
    double label = fmin(label_width(layout, row), 1.5 * LABELS_PART * layout->width);
    g_autofree char *mean = mean_label(row);

    if (row->lanes == 1)
        return label;
    return fmax(label, gantt_canvas_text_width(layout->canvas, gantt_layout_font(), mean)) +
           layout->scale;
}

/* Labels of whole groups go above their rows when they are long. */
static void measure_labels(GanttLayout *layout) {
    GArray *rows = layout->figure->rows;
    double widest = 0;

    layout->scale = gantt_canvas_text_width(layout->canvas, scale_font(), SCALE_TOP) + 3;
    for (guint i = 0; i < rows->len; i++) {
        GanttRow *row = &g_array_index(rows, GanttRow, i);
        if (row->alone && label_width(layout, row) > LABELS_PART * layout->width) {
            row->heading = row->label;
            row->label = "";
        }
        widest = fmax(widest, gutter_width(layout, row));
    }
    layout->left = GANTT_MARGIN_PT + widest + 4;
    layout->right = layout->width - GANTT_MARGIN_PT - 5;
}

static double row_height(const GanttFigure *figure, const GanttRow *row) {
    if (row->lanes > 1)
        return figure->rows->len <= 3 ? 2 * BAND_PT : BAND_PT;
    if (row->thin)
        return THIN_PT - THIN_GAP_PT;
    return figure->rows->len <= 10 ? 12 : figure->rows->len <= 20 ? 9.5 : 7.5;
}

static void place_rows(GanttLayout *layout) {
    const GanttFigure *figure = layout->figure;
    double y = GANTT_MARGIN_PT + (figure->options->title != NULL ? TITLE_PT + 5 : 0);

    layout->top = y;
    layout->places = g_new0(GanttPlace, figure->rows->len);
    for (guint i = 0; i < figure->rows->len; i++) {
        const GanttRow *row = row_at(figure, i);
        GanttPlace *place = &layout->places[i];
        if (row->heading != NULL) {
            y += i > 0 ? GAP_PT : 0;
            place->heading = y + HEADING_PT - 2;
            y += HEADING_PT;
        }
        place->top = y + (row->thin && row->heading == NULL ? THIN_GAP_PT : GAP_PT);
        place->height = row_height(figure, row);
        y = place->top + place->height;
    }
    layout->bottom = y + GAP_PT;
}

/* As many ticks as have room for their labels. */
static void choose_axis(GanttLayout *layout) {
    const GanttFigure *figure = layout->figure;
    double plot = layout->right - layout->left;

    for (guint ticks = 12; ticks >= 2; ticks--) {
        layout->axis = gantt_axis(figure->from_ns, figure->to_ns, ticks);
        g_autofree char *last = gantt_axis_label(&layout->axis, figure->to_ns);
        double spacing = (double)layout->axis.step_ns / (double)(figure->to_ns - figure->from_ns);
        double room = gantt_canvas_text_width(layout->canvas, gantt_layout_font(), last) + 9;
        if (spacing * plot >= room)
            return;
    }
}

static void draw_axis(const GanttLayout *layout) {
    const GanttFigure *figure = layout->figure;
    GanttTheme theme = gantt_canvas_theme(layout->canvas);
    GanttRgb ink = gantt_ink(theme);
    cairo_t *cairo = gantt_canvas_cairo(layout->canvas);
    g_autofree char *title = gantt_axis_title(&layout->axis);

    cairo_move_to(cairo, layout->left, layout->bottom);
    cairo_line_to(cairo, layout->right, layout->bottom);
    for (gint64 tick = gantt_axis_first(&layout->axis, figure->from_ns); tick <= figure->to_ns;
         tick += layout->axis.step_ns) {
        double x = gantt_layout_x(layout, tick);
        g_autofree char *label = gantt_axis_label(&layout->axis, tick);
        double half = gantt_canvas_text_width(layout->canvas, gantt_layout_font(), label) / 2;
        cairo_move_to(cairo, x, layout->bottom);
        cairo_line_to(cairo, x, layout->bottom + 2.5);
        gantt_canvas_stroke(layout->canvas, 0.5, ink);
        gantt_canvas_text(layout->canvas, fmin(x, layout->width - half - 0.5),
                          layout->bottom + 2.5 + GANTT_FONT_PT,
                          (GanttStyle){GANTT_MIDDLE, gantt_layout_font(), ink}, label);
    }
    cairo_move_to(cairo, layout->left, layout->bottom);
    cairo_line_to(cairo, layout->right, layout->bottom);
    gantt_canvas_stroke(layout->canvas, 0.5, ink);
    gantt_canvas_text(layout->canvas, (layout->left + layout->right) / 2,
                      layout->bottom + 4 + 2 * GANTT_FONT_PT,
                      (GanttStyle){GANTT_MIDDLE, gantt_layout_font(), ink}, title);
}

/* Thin lines behind the slices: ticks, and each row's floor; of a mean its full height too. */
static void draw_guides(const GanttLayout *layout) {
    const GanttFigure *figure = layout->figure;
    GanttTheme theme = gantt_canvas_theme(layout->canvas);
    GanttRgb paper = gantt_paper(theme), pale = {0.85, 0.85, 0.85};
    cairo_t *cairo = gantt_canvas_cairo(layout->canvas);

    if (theme == GANTT_DARK)
        pale = (GanttRgb){paper.red + 0.2, paper.green + 0.2, paper.blue + 0.2};
    for (gint64 tick = gantt_axis_first(&layout->axis, figure->from_ns); tick <= figure->to_ns;
         tick += layout->axis.step_ns) {
        cairo_move_to(cairo, gantt_layout_x(layout, tick), layout->top);
        cairo_line_to(cairo, gantt_layout_x(layout, tick), layout->bottom);
    }
    for (guint i = 0; i < figure->rows->len; i++) {
        const GanttPlace *place = &layout->places[i];
        if (row_at(figure, i)->thin)
            continue;
        cairo_move_to(cairo, layout->left, place->top + place->height);
        cairo_line_to(cairo, layout->right, place->top + place->height);
        if (row_at(figure, i)->lanes > 1) {
            cairo_move_to(cairo, layout->left, place->top);
            cairo_line_to(cairo, layout->right, place->top);
        }
    }
    gantt_canvas_stroke(layout->canvas, 0.3, pale);
}

static void draw_label(const GanttLayout *layout, const GanttRow *row, double middle) {
    GanttRgb ink = gantt_ink(gantt_canvas_theme(layout->canvas));
    GanttFont font = gantt_layout_font(), bold = {GANTT_FONT_PT, TRUE};
    double room = layout->left - GANTT_MARGIN_PT - 3 - (row->lanes > 1 ? layout->scale : 0);
    g_autofree char *label =
        gantt_canvas_fit(layout->canvas, row->alone ? bold : font, room, row->label);
    g_autofree char *mean = mean_label(row);
    double shift = row->lanes > 1 && label[0] != '\0' ? 4 : 0;

    if (row->alone)
        gantt_canvas_text(layout->canvas, GANTT_MARGIN_PT, middle - shift,
                          (GanttStyle){GANTT_LEFT, bold, ink}, label);
    else
        gantt_canvas_text(layout->canvas, layout->left - 3, middle,
                          (GanttStyle){GANTT_RIGHT, font, ink}, label);
    if (row->lanes > 1)
        gantt_canvas_text(layout->canvas, GANTT_MARGIN_PT, middle + shift,
                          (GanttStyle){GANTT_LEFT, font, ink}, mean);
}

/* A core that begins a row of the mesh. */
static gboolean begins_mesh_row(const GanttRow *row) {
    return strstr(row->label, "(0,") != NULL;
}

static guint mesh_rows(const GanttFigure *figure) {
    guint n = 0;

    for (guint i = 0; i < figure->rows->len; i++)
        n += (guint)begins_mesh_row(row_at(figure, i));
    return n;
}

/* Of cores only those that begin a row of the mesh, unless there is but one: then every tenth. */
static gboolean thin_label_wanted(const GanttRow *row, guint places, guint unlabelled) {
    if (strchr(row->label, ',') == NULL)
        return unlabelled >= THIN_LABELS;
    return places > 1 ? unlabelled >= THIN_LABELS && begins_mesh_row(row) : unlabelled >= 10;
}

/* What the height of a mean means. */
static void draw_scale(const GanttLayout *layout, const GanttPlace *place) {
    GanttRgb ink = gantt_ink(gantt_canvas_theme(layout->canvas));

    gantt_canvas_text(layout->canvas, layout->left - 2, place->top + SCALE_FONT_PT * 0.7,
                      (GanttStyle){GANTT_RIGHT, scale_font(), ink}, SCALE_TOP);
    gantt_canvas_text(layout->canvas, layout->left - 2, place->top + place->height,
                      (GanttStyle){GANTT_RIGHT, scale_font(), ink}, "0");
}

static void draw_labels(const GanttLayout *layout) {
    const GanttFigure *figure = layout->figure;
    GanttRgb ink = gantt_ink(gantt_canvas_theme(layout->canvas));
    GanttFont bold = {GANTT_FONT_PT, TRUE};
    guint unlabelled = 0, places = mesh_rows(figure);

    for (guint i = 0; i < figure->rows->len; i++) {
        const GanttRow *row = row_at(figure, i);
        const GanttPlace *place = &layout->places[i];
        if (row->heading != NULL)
            gantt_canvas_text(layout->canvas, GANTT_MARGIN_PT, place->heading,
                              (GanttStyle){GANTT_LEFT, bold, ink}, row->heading);
        if (row->lanes > 1)
            draw_scale(layout, place);
        unlabelled++;
        if (row->thin && row->heading == NULL && !thin_label_wanted(row, places, unlabelled))
            continue;
        unlabelled = 0;
        draw_label(layout, row, place->top + place->height / 2 + GANTT_FONT_PT * 0.36);
    }
}

static void draw_title(const GanttLayout *layout) {
    const char *text = layout->figure->options->title;
    GanttFont font = {TITLE_PT, TRUE};

    if (text == NULL)
        return;
    g_autofree char *title =
        gantt_canvas_fit(layout->canvas, font, layout->width - 2 * GANTT_MARGIN_PT, text);
    gantt_canvas_text(layout->canvas, GANTT_MARGIN_PT, GANTT_MARGIN_PT + TITLE_PT,
                      (GanttStyle){GANTT_LEFT, font, gantt_ink(gantt_canvas_theme(layout->canvas))},
                      title);
}

static void draw(const GanttLayout *layout) {
    draw_guides(layout);
    for (guint i = 0; i < layout->figure->rows->len; i++)
        gantt_draw_row(layout, i);
    for (guint i = 0; i < layout->figure->rows->len; i++)
        gantt_draw_marks(layout, i);
    gantt_draw_arrows(layout, TRUE);
    draw_axis(layout);
    draw_title(layout);
    draw_labels(layout);
    gantt_legend_draw(layout, layout->bottom + AXIS_PT + 3);
}

GBytes *gantt_draw(GanttFigure *figure, GError **error) {
    GanttTheme theme = figure->options->theme;
    double width = gantt_draw_width(figure->options->width);
    g_autoptr(GanttCanvas) ruler = gantt_canvas_new(figure->svg, width, 1, theme);
    GanttLayout layout = {.canvas = ruler, .figure = figure, .width = width};

    figure->rows = gantt_lanes_rows(figure->lanes, gantt_draw_rows_max(figure->options->width),
                                    (figure->to_ns - figure->from_ns) / THIN_SLICES);
    measure_labels(&layout);
    bound_size(&layout, figure);
    place_rows(&layout);
    take_stock(&layout, figure);
    choose_axis(&layout);
    gantt_legend_measure(&layout);
    layout.height =
        layout.bottom + AXIS_PT + 3 + layout.legend_lines * LEGEND_LINE_PT + GANTT_MARGIN_PT - 2;
    g_autoptr(GanttCanvas) canvas = gantt_canvas_new(figure->svg, width, layout.height, theme);
    layout.canvas = canvas;
    draw(&layout);
    g_free(layout.places);
    return gantt_canvas_finish(canvas, error);
}
