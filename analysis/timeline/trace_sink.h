/* Where a timeline's events go: one stream of slices, arrows, marks and counters on named lanes,
 * which a sink turns into a file of its format (chrome_trace.h, …). Times are integer nanoseconds,
 * so that slices that nest or touch still do so in every format. Events come as the producer learns
 * of them, a slice at its end: their dates go back and forth. */
#ifndef ANALYSIS_TRACE_SINK_H
#define ANALYSIS_TRACE_SINK_H

#include <glib.h>

typedef struct TraceArgument {
    const char *key; /* static text; NULL ends the list */
    guint64 value;
} TraceArgument;
#define TRACE_ARGUMENTS_MAX 6

/* The values are those of Chrome's trace-event format. */
typedef enum {
    TRACE_SLICE = 'X',       /* start, end */
    TRACE_ASYNC_BEGIN = 'b', /* id; ends pair by category, id and name, and may overlap */
    TRACE_ASYNC_END = 'e',
    TRACE_FLOW_START = 's', /* id; a flow event belongs to the slice of its track around it, and the
                               events of a flow come in one piece, from its start to its end */
    TRACE_FLOW_STEP = 't',
    TRACE_FLOW_END = 'f',
    TRACE_COUNTER = 'C', /* arguments are the series */
    TRACE_MARK = 'i',    /* a moment on its thread: a first token */
} TracePhase;

typedef struct TraceEvent {
    TracePhase phase;
    const char *name; /* short static texts without characters that JSON escapes */
    const char *category;
    guint process, thread;
    gint64 start_ns, end_ns; /* end: slices only */
    guint64 id;              /* async and flow */
    TraceArgument arguments[TRACE_ARGUMENTS_MAX];
} TraceEvent;

/* A stretch of simulated time. */
typedef struct TraceWindow {
    gint64 from_ns, to_ns;
} TraceWindow;
TraceWindow trace_window(double from_s, double to_s); /* to_s may be INFINITY */
gboolean trace_window_touches(const TraceWindow *window, gint64 start_ns, gint64 end_ns);

/* A sink's own struct begins with this one. */
typedef struct TraceSink TraceSink;
struct TraceSink {
    void (*put)(TraceSink *sink, const TraceEvent *event);
    /* Names a process or one of its threads; they are shown in the order of their ids. A thread is
     * named before its first event. */
    void (*name_process)(TraceSink *sink, guint process, const char *name);
    void (*name_thread)(TraceSink *sink, guint process, guint thread, const char *name);
    /* Completes the file; reports what went wrong since the beginning. */
    gboolean (*finish)(TraceSink *sink, GError **error);
    void (*free)(TraceSink *sink);
};

void trace_sink_put(TraceSink *sink, const TraceEvent *event);
void trace_sink_name_process(TraceSink *sink, guint process, const char *name);
void trace_sink_name_thread(TraceSink *sink, guint process, guint thread, const char *name);
gboolean trace_sink_finish(TraceSink *sink, GError **error);
void trace_sink_free(TraceSink *sink); /* NULL is fine */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TraceSink, trace_sink_free)

#endif
