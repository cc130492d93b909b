/* Tracks for slices that may overlap in time: each goes to a lane that is free. */
#ifndef ANALYSIS_TIMELINE_LANES_H
#define ANALYSIS_TIMELINE_LANES_H

#include <glib.h>

typedef struct TimelineLanes {
    GArray *lanes; /* in order of their last slice's end */
} TimelineLanes;

TimelineLanes timeline_lanes_new(void);
void timeline_lanes_clear(TimelineLanes *lanes);

/* The number (from 0) of a lane whose slices do not overlap [start_ns, end_ns]; the one that was
 * used last among them, and a new one when there is none. O(log lanes) to find. */
guint timeline_lanes_take(TimelineLanes *lanes, gint64 start_ns, gint64 end_ns);

#endif
