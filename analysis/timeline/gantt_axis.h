/* The time axis of a figure: a unit from ns to h, ticks at 1-2-5 steps of it. */
#ifndef ANALYSIS_GANTT_AXIS_H
#define ANALYSIS_GANTT_AXIS_H

#include <glib.h>

typedef struct GanttAxis {
    const char *unit;
    gint64 unit_ns;
    gint64 origin_ns; /* what is labelled 0: time 0, or a window's start when it is far from that */
    gint64 step_ns;
    guint decimals;
} GanttAxis;

/* The axis of [from, to), to > from, with the smallest step of which at most 'ticks' (at least 1)
 * fit into it. */
GanttAxis gantt_axis(gint64 from_ns, gint64 to_ns, guint ticks);
/* The first tick at or after 'from_ns'. */
gint64 gantt_axis_first(const GanttAxis *axis, gint64 from_ns);
char *gantt_axis_label(const GanttAxis *axis, gint64 tick_ns); /* a number; caller frees */
char *gantt_axis_title(const GanttAxis *axis);                 /* "time (ms)"; caller frees */
/* A moment in words, exact: "1.25 s". Caller frees. */
char *gantt_axis_moment(gint64 moment_ns);

#endif
