#include "analysis/timeline/timeline_counter.h"

void timeline_counter_flush(TimelineCounter *counter, TraceSink *sink) {
    gboolean news = !counter->shown || counter->written != counter->value;
    if (!counter->pending || !news)
        return;
    trace_sink_put(sink, &(TraceEvent){.phase = TRACE_COUNTER,
                                       .name = counter->name,
                                       .category = "state",
                                       .process = counter->process,
                                       .start_ns = counter->since_ns,
                                       .arguments = {{counter->series, counter->value}}});
    counter->pending = FALSE;
    counter->shown = TRUE;
    counter->written = counter->value;
}

void timeline_counter_set(TimelineCounter *counter, TraceSink *sink, gint64 now_ns, guint64 value) {
    if (counter->pending && counter->since_ns != now_ns)
        timeline_counter_flush(counter, sink);
    counter->value = value;
    counter->since_ns = now_ns;
    counter->pending = TRUE;
}
