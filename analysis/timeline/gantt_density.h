/* Bins of a track as an area: for each kind, stacked in the order of kinds, the share of time (of
 * the mean lane) that it was busy. */
#ifndef ANALYSIS_GANTT_DENSITY_H
#define ANALYSIS_GANTT_DENSITY_H

#include "analysis/timeline/gantt_track.h"

#define GANTT_DENSITY_LEVELS 48 /* steps of a row's height */
#define GANTT_DENSITY_LEAST 8   /* of them, where something happens */

/* The area of one kind: from base to top, in levels, for each of n stretches of 'stride' bins. */
typedef struct GanttDensity {
    guint n, stride;
    guint8 base[GANTT_BINS], top[GANTT_BINS];
} GanttDensity;

/* One kind after the other, from 0: base and top of the next one that there is something of.
 * FALSE: it was the last. A stretch in which something happens on a lane is at least a sixth high,
 * lest it be overlooked; of a mean, one level. */
typedef struct GanttStack GanttStack;
GanttStack *gantt_stack_new(const GanttTrack *track, const GanttGrid *grid, guint lanes,
                            guint stride, gint64 to_ns);
void gantt_stack_free(GanttStack *stack);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GanttStack, gantt_stack_free)
gboolean gantt_stack_next(GanttStack *stack, guint *kind);
const GanttDensity *gantt_stack_density(const GanttStack *stack);
/* Whether it is anywhere high enough to be told by its colour. */
gboolean gantt_density_is_seen(const GanttDensity *density);
/* Stretches where base or top changes: what drawing it takes. */
guint gantt_density_changes(const GanttDensity *density);

#endif
