#include "analysis/timeline/trace_sink.h"

#include "analysis/output/number_text.h"

/* Later than any date that a file can hold. */
static gint64 window_nanoseconds(double seconds) {
    return seconds < 9e9 ? number_nanoseconds(seconds) : G_MAXINT64;
}

TraceWindow trace_window(double from_s, double to_s) {
    return (TraceWindow){window_nanoseconds(from_s), window_nanoseconds(to_s)};
}

gboolean trace_window_touches(const TraceWindow *window, gint64 start_ns, gint64 end_ns) {
    return end_ns >= window->from_ns && start_ns <= window->to_ns;
}

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
