/* A sink that draws a timeline as a figure for print: a Gantt chart as PDF or SVG, by cairo, with a
 * caption as plain text beside it (figure.pdf, figure.txt). Events are gathered as they stream in,
 * in memory that does not grow with their number (gantt_track.h), and drawn at the end. Same
 * events, same bytes. */
#ifndef ANALYSIS_GANTT_H
#define ANALYSIS_GANTT_H

#include "analysis/timeline/gantt_palette.h"
#include "analysis/timeline/trace_sink.h"

typedef enum { GANTT_COLUMN, GANTT_PAGE, N_GANTT_WIDTHS } GanttWidth; /* 88 mm, 180 mm */
extern const char *const gantt_width_names[N_GANTT_WIDTHS + 1];       /* NULL at the end */

typedef struct GanttOptions {
    gint64 from_ns, to_ns; /* what is outside is cut off; to: G_MAXINT64 for the end of the run */
    GanttTheme theme;
    GanttWidth width;
    const char *title;          /* above the figure; NULL: none, the caption will do */
    const char *const *caption; /* lines about the experiment, ended by NULL; NULL: none */
    const char *caption_path;   /* the file of the whole caption; NULL: none */
} GanttOptions;

/* Texts of 'options' are copied. 'path' ends in .pdf or .svg: else an INPUT_ERROR. Nothing is
 * written before trace_sink_finish, which gives an INPUT_ERROR, and writes nothing, when no slice
 * touches the window, and else replaces each file in one piece. */
TraceSink *gantt_new(const char *path, const GanttOptions *options, GError **error);

/* Where the caption of a figure belongs: its suffix becomes ".txt". Caller frees. */
char *gantt_caption_path(const char *path);

#endif
