#include "analysis/timeline/block_timeline.h"

#include "analysis/output/number_text.h"
#include "analysis/timeline/trace_writer.h"

#define PROCESS 0

static void name_lanes(TraceWriter *writer, const OperatorSpec *spec) {
    static const char *const cluster_lanes[] = {"compute", "transfers"};
    gboolean ring = spec->kind == OPERATOR_ALL_REDUCE;

    trace_writer_name_process(writer, PROCESS, ring ? "all-reduce" : "cluster 0");
    for (guint i = 0; i < G_N_ELEMENTS(cluster_lanes) && !ring; i++)
        trace_writer_name_thread(writer, PROCESS, i, cluster_lanes[i]);
    for (guint i = 0; ring && i < spec->ranks; i++) {
        g_autofree char *name = g_strdup_printf("rank %u sends", i);
        trace_writer_name_thread(writer, PROCESS, i, name);
    }
}

static void put_event(TraceWriter *writer, const OperatorEvent *event, const char *category) {
    TraceEvent slice = {.phase = TRACE_SLICE,
                        .name = event->label,
                        .category = category,
                        .process = PROCESS,
                        .thread = event->lane,
                        .start_ns = number_nanoseconds(event->start_s),
                        .end_ns = number_nanoseconds(event->end_s)};

    if (event->bytes > 0)
        slice.arguments[0] = (TraceArgument){"bytes", event->bytes};
    trace_writer_put(writer, &slice);
}

gboolean block_timeline_write(const OperatorSpec *spec, const OperatorResult *result,
                              const char *path, GError **error) {
    static const char *const categories[N_OPERATOR_KINDS] = {[OPERATOR_GEMM] = "gemm",
                                                             [OPERATOR_ATTENTION] = "attention",
                                                             [OPERATOR_ALL_REDUCE] = "allreduce"};
    g_autoptr(TraceWriter) writer = trace_writer_new(path, error);

    if (writer == NULL)
        return FALSE;
    name_lanes(writer, spec);
    for (guint i = 0; result->events != NULL && i < result->events->len; i++)
        put_event(writer, &g_array_index(result->events, OperatorEvent, i), categories[spec->kind]);
    return trace_writer_finish(writer, error);
}
