#include "analysis/timeline/gantt_canvas.h"

#include <cairo-pdf.h>
#include <cairo-svg.h>
#include <fontconfig/fontconfig.h>
#include <string.h>

#define FONT_FAMILY "Liberation Sans" /* metrics of Helvetica and Arial */
#define FONT_FAMILY_SVG "'Liberation Sans', Arial, Helvetica, sans-serif"
/* A figure has no date: the same run gives the same bytes. */
#define CREATION_DATE "2000-01-01T00:00:00Z"
#define TILE_PT 4.0 /* of patterns */

struct GanttCanvas {
    GByteArray *bytes;
    cairo_surface_t *surface;
    cairo_t *cairo;
    GanttTheme theme;
    GString *texts; /* SVG only */
    cairo_pattern_t *tiles[N_TONES];
};

static cairo_status_t collect(void *closure, const unsigned char *data, unsigned int length) {
    g_byte_array_append(closure, data, length);
    return CAIRO_STATUS_SUCCESS;
}

GanttCanvas *gantt_canvas_new(gboolean svg, double width_pt, double height_pt, GanttTheme theme) {
    GanttCanvas *canvas = g_new0(GanttCanvas, 1);

    canvas->bytes = g_byte_array_new();
    canvas->theme = theme;
    if (svg) {
        canvas->surface =
            cairo_svg_surface_create_for_stream(collect, canvas->bytes, width_pt, height_pt);
        canvas->texts = g_string_new(NULL);
    } else {
        canvas->surface =
            cairo_pdf_surface_create_for_stream(collect, canvas->bytes, width_pt, height_pt);
        cairo_pdf_surface_set_metadata(canvas->surface, CAIRO_PDF_METADATA_CREATE_DATE,
                                       CREATION_DATE);
        cairo_pdf_surface_set_metadata(canvas->surface, CAIRO_PDF_METADATA_CREATOR, "infergrid");
    }
    canvas->cairo = cairo_create(canvas->surface);
    cairo_set_line_join(canvas->cairo, CAIRO_LINE_JOIN_MITER);
    cairo_rectangle(canvas->cairo, 0, 0, width_pt, height_pt);
    gantt_canvas_fill_rgb(canvas, gantt_paper(theme));
    return canvas;
}

void gantt_canvas_release_caches(void) {
    cairo_debug_reset_static_data();
    FcFini();
}

cairo_t *gantt_canvas_cairo(GanttCanvas *canvas) {
    return canvas->cairo;
}

GanttTheme gantt_canvas_theme(const GanttCanvas *canvas) {
    return canvas->theme;
}

/* Lines of a tile, in its units of 1 and repeated seamlessly: x, y to x, y; a width of 0 ends. */
typedef struct TileLine {
    double x0, y0, x1, y1, width;
} TileLine;
#define TILE_LINES_MAX 5

static const TileLine tile_lines[N_TONES][TILE_LINES_MAX] = {
    [TONE_INK] = {{0, .5, 1, .5, 1}},
    [TONE_PLUM] = {{0, .25, 1, .25, .3}, {0, .75, 1, .75, .3}, {.5, 0, .5, 1, .2}},
    [TONE_GREEN] = {{-.5, .5, .5, -.5, .17},
                    {-.5, 1.5, 1.5, -.5, .17},
                    {.5, 1.5, 1.5, .5, .17},
                    {-.5, -.5, 1.5, 1.5, .17}},
    [TONE_BLUE] = {{-.5, .5, .5, -.5, .24}, {-.5, 1.5, 1.5, -.5, .24}, {.5, 1.5, 1.5, .5, .24}},
    [TONE_ROSE] = {{.25, 0, .25, 1, .12}, {.75, 0, .75, 1, .12}},
    [TONE_TEAL] = {{0, .25, 1, .25, .1}, {0, .75, 1, .75, .1}},
    [TONE_ORANGE] = {{-.5, .5, .5, 1.5, .1}, {-.5, -.5, 1.5, 1.5, .1}, {.5, -.5, 1.5, .5, .1}},
    [TONE_YELLOW] = {{.4, .5, .6, .5, .2}},
    [TONE_PALE] = {{0, 0, 0, 0, 0}},
};

static cairo_pattern_t *tile_new(GanttTone tone) {
    cairo_rectangle_t extents = {0, 0, TILE_PT, TILE_PT};
    cairo_surface_t *surface = cairo_recording_surface_create(CAIRO_CONTENT_COLOR, &extents);
    cairo_t *cairo = cairo_create(surface);

    cairo_set_source_rgb(cairo, 1, 1, 1);
    cairo_paint(cairo);
    cairo_scale(cairo, TILE_PT, TILE_PT);
    cairo_set_source_rgb(cairo, 0, 0, 0);
    for (const TileLine *line = tile_lines[tone];
         line < tile_lines[tone] + TILE_LINES_MAX && line->width > 0; line++) {
        cairo_set_line_width(cairo, line->width);
        cairo_move_to(cairo, line->x0, line->y0);
        cairo_line_to(cairo, line->x1, line->y1);
        cairo_stroke(cairo);
    }
    cairo_destroy(cairo);
    cairo_pattern_t *pattern = cairo_pattern_create_for_surface(surface);
    cairo_pattern_set_extend(pattern, CAIRO_EXTEND_REPEAT);
    cairo_surface_destroy(surface);
    return pattern;
}

/* When its page is gone. To finish its surface drops the copies that cairo keeps with it, which
 * keep it; and SVG pages of cairo 1.16 never give back the reference that they took. */
static void tile_free(cairo_pattern_t *tile) {
    cairo_surface_t *surface = NULL;

    if (cairo_pattern_get_surface(tile, &surface) == CAIRO_STATUS_SUCCESS) {
        cairo_surface_finish(surface);
        while (cairo_surface_get_reference_count(surface) > 1)
            cairo_surface_destroy(surface);
    }
    cairo_pattern_destroy(tile);
}

void gantt_canvas_free(GanttCanvas *canvas) {
    if (canvas == NULL)
        return;
    cairo_destroy(canvas->cairo);
    cairo_surface_destroy(canvas->surface);
    for (GanttTone tone = 0; tone < N_TONES; tone++)
        g_clear_pointer(&canvas->tiles[tone], tile_free);
    if (canvas->texts != NULL)
        g_string_free(canvas->texts, TRUE);
    g_byte_array_unref(canvas->bytes);
    g_free(canvas);
}

void gantt_canvas_fill(GanttCanvas *canvas, GanttTone tone) {
    if (canvas->theme != GANTT_HATCH || tone == TONE_INK) {
        gantt_canvas_fill_rgb(canvas, gantt_tone_rgb(tone, canvas->theme));
        return;
    }
    if (canvas->tiles[tone] == NULL)
        canvas->tiles[tone] = tile_new(tone);
    cairo_set_source(canvas->cairo, canvas->tiles[tone]);
    cairo_fill(canvas->cairo);
}

void gantt_canvas_fill_rgb(GanttCanvas *canvas, GanttRgb colour) {
    cairo_set_source_rgb(canvas->cairo, colour.red, colour.green, colour.blue);
    cairo_fill(canvas->cairo);
}

void gantt_canvas_stroke(GanttCanvas *canvas, double width_pt, GanttRgb colour) {
    cairo_set_source_rgb(canvas->cairo, colour.red, colour.green, colour.blue);
    cairo_set_line_width(canvas->cairo, width_pt);
    cairo_stroke(canvas->cairo);
}

static void set_font(GanttCanvas *canvas, GanttFont font) {
    cairo_select_font_face(canvas->cairo, FONT_FAMILY, CAIRO_FONT_SLANT_NORMAL,
                           font.bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(canvas->cairo, font.size_pt);
}

double gantt_canvas_text_width(GanttCanvas *canvas, GanttFont font, const char *text) {
    cairo_text_extents_t extents;

    set_font(canvas, font);
    cairo_text_extents(canvas->cairo, text, &extents);
    return extents.x_advance;
}

char *gantt_canvas_fit(GanttCanvas *canvas, GanttFont font, double width_pt, const char *text) {
    char *fitting = g_strdup(text);

    for (glong length = g_utf8_strlen(text, -1);
         length > 1 && gantt_canvas_text_width(canvas, font, fitting) > width_pt; length--) {
        g_autofree char *shorter = g_utf8_substring(text, 0, length - 1);
        g_free(fitting);
        fitting = g_strdup_printf("%s\342\200\246", shorter);
    }
    return fitting;
}

static int channel(double value) {
    return (int)(value * 255 + 0.5);
}

static void add_svg_text(GanttCanvas *canvas, double x, double y, const GanttStyle *style,
                         const char *text) {
    static const char *const anchors[] = {"start", "middle", "end"};
    const GanttRgb *colour = &style->colour;
    g_autofree char *escaped = g_markup_escape_text(text, -1);

    g_string_append_printf(canvas->texts,
                           "<text x=\"%.2f\" y=\"%.2f\" font-size=\"%.1f\"%s text-anchor=\"%s\" "
                           "fill=\"#%02x%02x%02x\">%s</text>\n",
                           x, y, style->font.size_pt,
                           style->font.bold ? " font-weight=\"bold\"" : "", anchors[style->anchor],
                           channel(colour->red), channel(colour->green), channel(colour->blue),
                           escaped);
}

void gantt_canvas_text(GanttCanvas *canvas, double x, double y, GanttStyle style,
                       const char *text) {
    if (canvas->texts != NULL) {
        add_svg_text(canvas, x, y, &style, text);
        return;
    }
    double width = gantt_canvas_text_width(canvas, style.font, text);
    cairo_set_source_rgb(canvas->cairo, style.colour.red, style.colour.green, style.colour.blue);
    cairo_move_to(canvas->cairo, x - width * style.anchor / 2, y);
    cairo_show_text(canvas->cairo, text);
    cairo_new_path(canvas->cairo);
}

static gboolean renumber(const GMatchInfo *match, GString *out, gpointer data) {
    GPtrArray *seen = data;
    char *id = g_match_info_fetch(match, 0);
    guint index;

    if (g_ptr_array_find_with_equal_func(seen, id, g_str_equal, &index))
        g_free(id);
    else {
        index = seen->len;
        g_ptr_array_add(seen, id);
    }
    g_string_append_printf(out, "surface%u", index);
    return FALSE;
}

/* cairo counts surfaces over the life of the process: what was drawn before would show. */
static void renumber_surfaces(GByteArray *bytes) {
    g_autoptr(GRegex) ids = g_regex_new("surface[0-9]+", 0, 0, NULL);
    g_autoptr(GPtrArray) seen = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *text = g_regex_replace_eval(ids, (const char *)bytes->data, bytes->len, 0, 0,
                                                 renumber, seen, NULL);

    g_byte_array_set_size(bytes, 0);
    g_byte_array_append(bytes, (const guint8 *)text, (guint)strlen(text));
}

/* Texts go before the end of the document. */
static void add_texts(GanttCanvas *canvas) {
    static const char end[] = "</svg>";
    const char *text = (const char *)canvas->bytes->data;
    const char *last = g_strrstr_len(text, canvas->bytes->len, end);

    g_assert(last != NULL);
    g_byte_array_set_size(canvas->bytes, (guint)(last - text));
    g_string_prepend(canvas->texts, "<g font-family=\"" FONT_FAMILY_SVG "\">\n");
    g_string_append(canvas->texts, "</g>\n</svg>\n");
    g_byte_array_append(canvas->bytes, (const guint8 *)canvas->texts->str,
                        (guint)canvas->texts->len);
}

GBytes *gantt_canvas_finish(GanttCanvas *canvas, GError **error) {
    cairo_show_page(canvas->cairo);
    cairo_surface_finish(canvas->surface);
    cairo_status_t status = cairo_surface_status(canvas->surface);
    if (status == CAIRO_STATUS_SUCCESS)
        status = cairo_status(canvas->cairo);
    if (status != CAIRO_STATUS_SUCCESS) {
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED, "cannot draw the timeline: %s",
                    cairo_status_to_string(status));
        return NULL;
    }
    if (canvas->texts != NULL) {
        renumber_surfaces(canvas->bytes);
        add_texts(canvas);
    }
    return g_bytes_new(canvas->bytes->data, canvas->bytes->len);
}
