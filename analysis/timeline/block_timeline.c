#include "analysis/timeline/block_timeline.h"

#include "analysis/output/number_text.h"

#define PROCESS 0

static void name_lanes(TraceSink *sink, const OperatorSpec *spec) {
    static const char *const cluster_lanes[] = {"compute", "transfers"};
    gboolean ring = spec->kind == OPERATOR_ALL_REDUCE;

    trace_sink_name_process(sink, PROCESS, ring ? "all-reduce" : "cluster 0");
    for (guint i = 0; i < G_N_ELEMENTS(cluster_lanes) && !ring; i++)
        trace_sink_name_thread(sink, PROCESS, i, cluster_lanes[i]);
    for (guint i = 0; ring && i < spec->ranks; i++) {
        g_autofree char *name = g_strdup_printf("rank %u sends", i);
        trace_sink_name_thread(sink, PROCESS, i, name);
    }
}

static void put_event(const OperatorEvent *event, const char *category, const TraceWindow *window,
                      TraceSink *sink) {
    TraceEvent slice = {.phase = TRACE_SLICE,
                        .name = event->label,
                        .category = category,
                        .process = PROCESS,
                        .thread = event->lane,
                        .start_ns = number_nanoseconds(event->start_s),
                        .end_ns = number_nanoseconds(event->end_s)};

    if (event->bytes > 0)
        slice.arguments[0] = (TraceArgument){"bytes", event->bytes};
    if (trace_window_touches(window, slice.start_ns, slice.end_ns))
        trace_sink_put(sink, &slice);
}

void block_timeline_put(const OperatorSpec *spec, const OperatorResult *result,
                        const TraceWindow *window, TraceSink *sink) {
    static const char *const categories[N_OPERATOR_KINDS] = {[OPERATOR_GEMM] = "gemm",
                                                             [OPERATOR_ATTENTION] = "attention",
                                                             [OPERATOR_ALL_REDUCE] = "allreduce"};

    name_lanes(sink, spec);
    for (guint i = 0; result->events != NULL && i < result->events->len; i++)
        put_event(&g_array_index(result->events, OperatorEvent, i), categories[spec->kind], window,
                  sink);
}
