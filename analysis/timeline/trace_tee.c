#include "analysis/timeline/trace_tee.h"

typedef struct TraceTee {
    TraceSink sink;
    GPtrArray *sinks;
} TraceTee;

static GPtrArray *sinks_of(TraceSink *sink) {
    return ((TraceTee *)sink)->sinks;
}

static void tee_put(TraceSink *sink, const TraceEvent *event) {
    GPtrArray *sinks = sinks_of(sink);
    for (guint i = 0; i < sinks->len; i++)
        trace_sink_put(sinks->pdata[i], event);
}

static void tee_name_process(TraceSink *sink, guint process, const char *name) {
    GPtrArray *sinks = sinks_of(sink);
    for (guint i = 0; i < sinks->len; i++)
        trace_sink_name_process(sinks->pdata[i], process, name);
}

static void tee_name_thread(TraceSink *sink, guint process, guint thread, const char *name) {
    GPtrArray *sinks = sinks_of(sink);
    for (guint i = 0; i < sinks->len; i++)
        trace_sink_name_thread(sinks->pdata[i], process, thread, name);
}

static gboolean tee_finish(TraceSink *sink, GError **error) {
    GPtrArray *sinks = sinks_of(sink);
    gboolean right = TRUE;
    for (guint i = 0; i < sinks->len; i++)
        right &= trace_sink_finish(sinks->pdata[i], right ? error : NULL);
    return right;
}

static void tee_free(TraceSink *sink) {
    g_ptr_array_unref(sinks_of(sink));
    g_free(sink);
}

TraceSink *trace_tee_new(GPtrArray *sinks) {
    TraceTee *tee = g_new0(TraceTee, 1);
    *tee = (TraceTee){.sink = {.put = tee_put,
                               .name_process = tee_name_process,
                               .name_thread = tee_name_thread,
                               .finish = tee_finish,
                               .free = tee_free},
                      .sinks = sinks};
    return &tee->sink;
}
