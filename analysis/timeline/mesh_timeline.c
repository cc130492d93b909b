#include "analysis/timeline/mesh_timeline.h"

#include "analysis/output/number_text.h"

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

void mesh_timeline_put(const MeshRunSpec *spec, const MeshRunResult *result,
                       const TraceWindow *window, TraceSink *sink) {
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
        if (trace_window_touches(window, slice.start_ns, slice.end_ns))
            trace_sink_put(sink, &slice);
    }
}
