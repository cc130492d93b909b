#include "analysis/timeline/mesh_timeline.h"

#include "analysis/output/number_text.h"
#include "analysis/timeline/chrome_trace.h"

#define PROCESS 0

static void name_lanes(TraceSink *sink, const MeshRunSpec *spec) {
    g_autofree char *title = g_strdup_printf("%s on %u × %u cores", mesh_operator_names[spec->kind],
                                             spec->grid.columns, spec->grid.rows);

    trace_sink_name_process(sink, PROCESS, title);
    for (guint y = 0; y < spec->grid.rows; y++)
        for (guint x = 0; x < spec->grid.columns; x++) {
            g_autofree char *name = g_strdup_printf("core (%u, %u)", x, y);
            if (spec->full || x == 0 || y == 0)
                trace_sink_name_thread(sink, PROCESS, y * spec->grid.columns + x, name);
        }
}

gboolean mesh_timeline_write(const MeshRunSpec *spec, const MeshRunResult *result, const char *path,
                             GError **error) {
    g_autoptr(TraceSink) sink = chrome_trace_new(path, error);

    if (sink == NULL)
        return FALSE;
    name_lanes(sink, spec);
    for (guint i = 0; i < result->events->len; i++) {
        const OperatorEvent *event = &g_array_index(result->events, OperatorEvent, i);
        TraceEvent slice = {.phase = TRACE_SLICE,
                            .name = event->label,
                            .category = mesh_operator_names[spec->kind],
                            .process = PROCESS,
                            .thread = event->lane,
                            .start_ns = number_nanoseconds(event->start_s),
                            .end_ns = number_nanoseconds(event->end_s)};
        trace_sink_put(sink, &slice);
    }
    return trace_sink_finish(sink, error);
}
