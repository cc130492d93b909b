/* The drawing of a figure from its rows. */
#ifndef ANALYSIS_GANTT_DRAW_H
#define ANALYSIS_GANTT_DRAW_H

#include "analysis/timeline/gantt.h"
#include "analysis/timeline/gantt_flows.h"
#include "analysis/timeline/gantt_lanes.h"

/* How slices with a number are labelled: all alike, as most of them have room for. */
typedef enum { GANTT_LABELS_NONE, GANTT_LABELS_NUMBER, GANTT_LABELS_FULL } GanttLabels;

/* What is drawn, and what the caption must know about how it was. */
typedef struct GanttFigure {
    const GanttOptions *options;
    gboolean svg;
    GanttLanes *lanes;
    const GanttFlows *flows;
    gint64 from_ns, to_ns;             /* shown */
    GArray *rows;                      /* GanttRow */
    gboolean happens[GANTT_KINDS_MAX]; /* kinds */
    gboolean occurs[GANTT_KINDS_MAX];  /* … that can be seen */
    gboolean dense;                    /* some row shows shares of time */
    GanttLabels labels[128];           /* of slices with a letter: 'M', 'R' */
    guint arrows;                      /* requests whose arrows are drawn */
    guint64 marks, marks_hidden;       /* first tokens on rows that show them, and on others */
} GanttFigure;

guint gantt_draw_rows_max(GanttWidth width);
double gantt_draw_width(GanttWidth width); /* points */
/* Fits the rows to what a figure can show, bounds its size, and draws it. */
GBytes *gantt_draw(GanttFigure *figure, GError **error);

#endif
