/* A counter track: changes at one date become one event, and a value that stays is not repeated. */
#ifndef ANALYSIS_TIMELINE_COUNTER_H
#define ANALYSIS_TIMELINE_COUNTER_H

#include "analysis/timeline/trace_sink.h"

typedef struct TimelineCounter {
    const char *name, *series; /* static text; "requests", "bytes" … */
    guint process;
    guint64 value; /* now, since 'since_ns' */
    gint64 since_ns;
    gboolean pending; /* not written yet */
    gboolean shown;   /* 'written' stands in the file */
    guint64 written;
} TimelineCounter;

/* Dates never go back. */
void timeline_counter_set(TimelineCounter *counter, TraceSink *sink, gint64 now_ns, guint64 value);
/* Writes a change that is still pending. */
void timeline_counter_flush(TimelineCounter *counter, TraceSink *sink);

#endif
