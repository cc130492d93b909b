/* The timeline of a serving run, streamed into a sink. A process a replica, a thread (track) a
 * stage or each of its clusters; slices for prefill and decode steps, all-reduces, KV migration,
 * pulls and waiting; marks for first tokens; counters for queue, buffer and batch; flow arrows that
 * tie a request together. */
#ifndef ANALYSIS_TIMELINE_H
#define ANALYSIS_TIMELINE_H

#include "actors/event.h"
#include "analysis/timeline/trace_sink.h"

typedef struct TimelineOptions {
    const Plan *plan;
    gboolean ranks;     /* a track for each cluster instead of each TP group */
    TraceWindow window; /* only what touches it */
} TimelineOptions;

typedef struct Timeline Timeline;
/* Takes the sink. */
Timeline *timeline_new(TraceSink *sink, const TimelineOptions *options);
Observer *timeline_observer(Timeline *timeline); /* wants steps and transfers */
gboolean timeline_finish(Timeline *timeline, double end_s, GError **error);
void timeline_free(Timeline *timeline);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Timeline, timeline_free)

#endif
