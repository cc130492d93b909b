#include "analysis/timeline/gantt_caption.h"

#include "analysis/timeline/gantt_axis.h"

static void add_rows(GString *text, const GanttFigure *figure) {
    guint bands = 0, lanes = 0;

    for (guint i = 0; i < figure->rows->len; i++) {
        const GanttRow *row = &g_array_index(figure->rows, GanttRow, i);
        lanes += row->lanes;
        if (row->lanes == 1)
            continue;
        g_string_append_printf(text, "%s%s is the mean of %u lanes", bands == 0 ? "" : ", ",
                               row->label[0] != '\0' ? row->label : row->heading, row->lanes);
        bands++;
    }
    if (bands > 0)
        g_string_append_printf(text,
                               ": there, the height of a colour is the share of these lanes that "
                               "was busy with it. ");
    else if (lanes > 1)
        g_string_append_printf(text, "Every one of the %u lanes has a row. ", lanes);
}

static void add_density(GString *text, const GanttFigure *figure) {
    if (figure->dense)
        g_string_append(text, "Where slices are too narrow to be seen one by one, the height of a "
                              "colour is the share of time that they took (of a single lane, at "
                              "least a sixth of the row). ");
}

static void add_unseen(GString *text, const GanttFigure *figure) {
    for (guint kind = 0; kind < gantt_kinds(); kind++)
        if (figure->happens[kind] && !figure->occurs[kind])
            g_string_append_printf(text, "Too little to be seen: %s. ", gantt_kind(kind)->legend);
}

static void add_labels(GString *text, const GanttFigure *figure, char letter, const char *what) {
    const char *where = letter == 'R' ? "prefill" : "decode";
    GanttLabels labels = figure->labels[(guchar)letter];

    if (labels == GANTT_LABELS_FULL)
        g_string_append_printf(text, "%c with a number is a %s. ", letter, what);
    else if (labels == GANTT_LABELS_NUMBER)
        g_string_append_printf(text, "Numbers in %s are those of a %s. ", where, what);
}

static void add_extras(GString *text, const GanttFigure *figure) {
    if (figure->arrows > 0)
        g_string_append_printf(text,
                               "Arrows follow the KV of %u of %" G_GUINT64_FORMAT " requests. ",
                               figure->arrows, figure->flows->total);
    else if (figure->flows->total > 0)
        g_string_append_printf(text, "Arrows for %" G_GUINT64_FORMAT " requests are left out. ",
                               figure->flows->total);
    add_labels(text, figure, 'R', "request");
    add_labels(text, figure, 'M', "micro-batch");
    if (figure->marks > 0)
        g_string_append(text, "Triangles mark first tokens. ");
    if (figure->marks_hidden > 0)
        g_string_append_printf(text, "%" G_GUINT64_FORMAT " first tokens are not marked. ",
                               figure->marks_hidden);
}

char *gantt_caption(const GanttFigure *figure) {
    GString *text = g_string_new(NULL);
    g_autofree char *from = gantt_axis_moment(figure->from_ns);
    g_autofree char *to = gantt_axis_moment(figure->to_ns);
    const GanttOptions *options = figure->options;

    if (options->title != NULL)
        g_string_append_printf(text, "%s.\n", options->title);
    for (guint i = 0; options->caption != NULL && options->caption[i] != NULL; i++)
        g_string_append_printf(text, "%s\n", options->caption[i]);
    g_string_append_printf(text, "Simulated time from %s to %s. ", from, to);
    add_rows(text, figure);
    add_density(text, figure);
    add_unseen(text, figure);
    add_extras(text, figure);
    g_string_truncate(text, text->len - 1);
    g_string_append_printf(text, "\nSimulated by infergrid %s.\n", INFERGRID_VERSION);
    return g_string_free(text, FALSE);
}
