/* Events in Chrome's trace-event format, streamed as JSON: one a line, times from integer
 * nanoseconds, so that slices that nest or touch still do so in the file.
 * Format: "Trace Event Format" (Google, 2016), as Perfetto imports it. */
#ifndef ANALYSIS_TRACE_WRITER_H
#define ANALYSIS_TRACE_WRITER_H

#include <glib.h>

typedef struct TraceArgument {
    const char *key; /* static text; NULL ends the list */
    guint64 value;
} TraceArgument;
#define TRACE_ARGUMENTS_MAX 6

typedef enum {
    TRACE_SLICE = 'X',       /* start, end */
    TRACE_ASYNC_BEGIN = 'b', /* id; ends pair by category, id and name, and may overlap */
    TRACE_ASYNC_END = 'e',
    TRACE_FLOW_START = 's', /* id; a flow event belongs to the slice of its track around it */
    TRACE_FLOW_STEP = 't',
    TRACE_FLOW_END = 'f',
    TRACE_COUNTER = 'C', /* arguments are the series */
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

typedef struct TraceWriter TraceWriter;
TraceWriter *trace_writer_new(const char *path, GError **error);
void trace_writer_free(TraceWriter *writer);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TraceWriter, trace_writer_free)

void trace_writer_put(TraceWriter *writer, const TraceEvent *event);
/* Names a process or one of its threads; they are shown in the order of their ids. */
void trace_writer_name_process(TraceWriter *writer, guint process, const char *name);
void trace_writer_name_thread(TraceWriter *writer, guint process, guint thread, const char *name);
/* Closes the JSON and the file; reports a write error. */
gboolean trace_writer_finish(TraceWriter *writer, GError **error);

#endif
