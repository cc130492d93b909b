/* What a figure remembers of one lane: slices wide enough to be seen one by one, and for all that
 * is narrower the busy time in each of a few thousand bins. Bins start small and double until the
 * run fits, so neither the number of slices nor the end of the run need be known. Busy time is
 * conserved to the nanosecond. */
#ifndef ANALYSIS_GANTT_TRACK_H
#define ANALYSIS_GANTT_TRACK_H

#include "analysis/timeline/gantt_palette.h"

#define GANTT_BINS 4096
#define GANTT_KEEP_BINS 4 /* a slice at least so wide is kept */
#define GANTT_NO_PARENT 255

/* All tracks of a figure share one: bin i is [from + i bin, from + (i + 1) bin). */
typedef struct GanttGrid {
    gint64 from_ns, bin_ns;
} GanttGrid;

typedef struct GanttSlice {
    gint64 start_ns, end_ns; /* within the window */
    guint8 kind;
    guint8 parent;    /* the kind of the slice around it, whose time it takes; or GANTT_NO_PARENT */
    gint64 begin_ns;  /* its true start, which may be before the window */
    const char *name; /* static */
    char letter;      /* 'M': the number is its micro-batch, 'R': its only request; 0: neither */
    gint32 number;    /* as shown */
} GanttSlice;

typedef struct GanttTrack {
    GArray *slices;                /* GanttSlice, kept ones, in order of arrival */
    gint64 *busy[GANTT_KINDS_MAX]; /* ns for each bin, NULL while there is none; where a child is
                                    * binned and its parent kept, the parent's is negative */
    guint16 *marks;                /* first tokens in each bin; NULL while there are none */
    guint64 n_slices, n_marks;     /* all that came */
} GanttTrack;

GanttTrack *gantt_track_new(void);
void gantt_track_free(GanttTrack *track);

/* How many times bins must double for 'end_ns' to fall into the grid. */
guint gantt_grid_doublings(const GanttGrid *grid, gint64 end_ns);
/* The track after its grid, which is changed by the caller later, doubles so often. */
void gantt_track_coarsen(GanttTrack *track, const GanttGrid *grid, guint doublings);

/* A slice that lies within the grid. */
void gantt_track_put(GanttTrack *track, const GanttGrid *grid, const GanttSlice *slice);
/* The same, without keeping it however wide. */
void gantt_track_bin(GanttTrack *track, const GanttGrid *grid, const GanttSlice *slice);
void gantt_track_mark(GanttTrack *track, const GanttGrid *grid, gint64 moment_ns);
/* Moves kept slices narrower than 'width_ns' into the bins. */
void gantt_track_flatten(GanttTrack *track, const GanttGrid *grid, gint64 width_ns);
/* Adds what 'other' holds; it is flat afterwards. */
void gantt_track_merge(GanttTrack *track, const GanttGrid *grid, GanttTrack *other);
/* Busy time of a kind, without what its children took. */
gint64 gantt_track_busy(const GanttTrack *track, guint kind);
/* The binned part of the above. */
gint64 gantt_track_binned(const GanttTrack *track, guint kind);

#endif
