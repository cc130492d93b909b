/* The lanes of a figure in groups: those of one kind of process ("pool 0 decode 0" and "… 1"), or,
 * within a process, of one kind of name ("kv_pull 0", "kv_pull 1"). Where a figure has no room for
 * every lane, lanes become thin, and where that does not do or would show nothing, groups collapse
 * to one row each: the mean over their lanes. */
#ifndef ANALYSIS_GANTT_LANES_H
#define ANALYSIS_GANTT_LANES_H

#include "analysis/timeline/gantt_track.h"

/* More lanes of a group share a track from the start: they are collapsed whatever happens. */
#define GANTT_GROUP_LANES_MAX 128

typedef struct GanttGroup GanttGroup;

typedef struct GanttLane {
    guint process, thread;
    char *name;
    GanttGroup *group;
    GanttTrack *track;                 /* of its own; NULL: it shares its group's */
    gint64 last_start_ns, last_end_ns; /* the latest slice that was in no other */
    guint8 last_kind;
} GanttLane;

typedef struct GanttLanes GanttLanes;
GanttLanes *gantt_lanes_new(gint64 from_ns);
void gantt_lanes_free(GanttLanes *lanes);
void gantt_lanes_name_process(GanttLanes *lanes, guint process, const char *name);
void gantt_lanes_name(GanttLanes *lanes, guint process, guint thread, const char *name);
GanttLane *gantt_lanes_find(GanttLanes *lanes, guint process, guint thread); /* made if new */
const GanttGrid *gantt_lanes_grid(const GanttLanes *lanes);

/* Gives a slice (its parent is found here) or a first token to a lane; the grid grows as needed. */
void gantt_lanes_put(GanttLanes *lanes, GanttLane *lane, GanttSlice *slice);
void gantt_lanes_mark(GanttLanes *lanes, GanttLane *lane, gint64 moment_ns);
/* Halves the resolution. */
void gantt_lanes_coarsen(GanttLanes *lanes, guint doublings);

/* A row of the figure. */
typedef struct GanttRow {
    const char *heading; /* above it, where a group of several rows begins; else NULL */
    const char *label;
    GanttTrack *track;
    gboolean thin;  /* one of many of its group that are too low for texts */
    gboolean alone; /* the only row of its group: the label is its heading */
    guint lanes;    /* that it is the mean of; 1: a lane shown by itself */
} GanttRow;

/* The rows of all groups in which something happened, with room for 'rows_max' (five thin ones take
 * the room of one) unless there are more groups than that; the same groups of different pools are
 * then one, and are shown alike in any case. Thin rows must hold slices of at least
 * 'thin_ns' on average. GanttRow; texts and tracks are owned by 'lanes'. To be called once, after
 * the last slice. */
GArray *gantt_lanes_rows(GanttLanes *lanes, guint rows_max, gint64 thin_ns);
/* The row of a lane, or −1; after gantt_lanes_rows. */
gint gantt_lanes_row(GanttLanes *lanes, guint process, guint thread);

#endif
