#include "analysis/timeline/trace_sink.h"

void trace_sink_put(TraceSink *sink, const TraceEvent *event) {
    sink->put(sink, event);
}

void trace_sink_name_process(TraceSink *sink, guint process, const char *name) {
    sink->name_process(sink, process, name);
}

void trace_sink_name_thread(TraceSink *sink, guint process, guint thread, const char *name) {
    sink->name_thread(sink, process, thread, name);
}

gboolean trace_sink_finish(TraceSink *sink, GError **error) {
    return sink->finish(sink, error);
}

void trace_sink_free(TraceSink *sink) {
    if (sink != NULL)
        sink->free(sink);
}
