/* A sink that keeps what it is given as lines of text, and events to give to sinks. */
#ifndef TESTS_TRACE_FIXTURE_H
#define TESTS_TRACE_FIXTURE_H

#include "analysis/timeline/trace_sink.h"
#include "workloads/input_error.h"

typedef struct TextSink {
    TraceSink sink;
    GString *text; /* borrowed */
    gboolean fails;
} TextSink;

static void text_put_event(TraceSink *sink, const TraceEvent *event) {
    g_string_append_printf(((TextSink *)sink)->text, "%c %s %u.%u %" G_GINT64_FORMAT "\n",
                           event->phase, event->name, event->process, event->thread,
                           event->start_ns);
}

static void text_name_process(TraceSink *sink, guint process, const char *name) {
    g_string_append_printf(((TextSink *)sink)->text, "process %u %s\n", process, name);
}

static void text_name_thread(TraceSink *sink, guint process, guint thread, const char *name) {
    g_string_append_printf(((TextSink *)sink)->text, "thread %u.%u %s\n", process, thread, name);
}

static gboolean text_finish(TraceSink *sink, GError **error) {
    TextSink *text = (TextSink *)sink;
    g_string_append(text->text, "finished\n");
    if (text->fails)
        g_set_error_literal(error, G_FILE_ERROR, G_FILE_ERROR_NOSPC, "full");
    return !text->fails;
}

static void text_free(TraceSink *sink) {
    g_free(sink);
}

static inline TraceSink *text_sink_new(GString *text, gboolean fails) {
    TextSink *sink = g_new0(TextSink, 1);
    *sink = (TextSink){
        {text_put_event, text_name_process, text_name_thread, text_finish, text_free}, text, fails};
    return &sink->sink;
}

static inline void put_slice(TraceSink *sink, guint process, guint thread, const char *name,
                             gint64 start_ns, gint64 end_ns) {
    trace_sink_put(sink, &(TraceEvent){.phase = TRACE_SLICE,
                                       .name = name,
                                       .category = "step",
                                       .process = process,
                                       .thread = thread,
                                       .start_ns = start_ns,
                                       .end_ns = end_ns});
}

static inline void put_point(TraceSink *sink, TracePhase phase, guint process, guint thread,
                             const char *name, gint64 date_ns) {
    trace_sink_put(sink, &(TraceEvent){.phase = phase,
                                       .name = name,
                                       .category = "request",
                                       .process = process,
                                       .thread = thread,
                                       .start_ns = date_ns,
                                       .id = 7,
                                       .arguments = {{"requests", 3}}});
}

/* Prefill and decode replicas with a stage each, their network and the system. */
static inline void name_lanes(TraceSink *sink) {
    trace_sink_name_process(sink, 1, "pool 0 prefill 0");
    trace_sink_name_thread(sink, 1, 1, "stage 0 (tp 1)");
    trace_sink_name_process(sink, 2, "pool 0 decode 0");
    trace_sink_name_thread(sink, 2, 1, "stage 0 (tp 4)");
    trace_sink_name_process(sink, 3, "network");
    trace_sink_name_thread(sink, 3, 1, "kv_pull 0");
    trace_sink_name_process(sink, 4, "system");
}

#endif
