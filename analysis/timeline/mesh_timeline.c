#include "analysis/timeline/mesh_timeline.h"

#include "analysis/output/number_text.h"

#define PROCESS 0

/* The cores that were simulated: folded, a row or a column of them, or both. */
static void name_lanes(TraceSink *sink, const MeshRunSpec *spec, const GArray *events) {
    guint columns = spec->grid.columns, rows = spec->grid.rows;
    g_autofree char *title =
        g_strdup_printf("%s on %u × %u cores", mesh_operator_names[spec->kind], columns, rows);
    g_autofree gboolean *there = g_new0(gboolean, (gsize)columns * rows);

    trace_sink_name_process(sink, PROCESS, title);
    for (guint i = 0; i < events->len; i++)
        there[g_array_index(events, OperatorEvent, i).lane] = TRUE;
    for (guint core = 0; core < columns * rows; core++) {
        g_autofree char *name = g_strdup_printf("core (%u, %u)", core % columns, core / columns);
        if (there[core])
            trace_sink_name_thread(sink, PROCESS, core, name);
    }
}

void mesh_timeline_put(const MeshRunSpec *spec, const MeshRunResult *result,
                       const TraceWindow *window, TraceSink *sink) {
    name_lanes(sink, spec, result->events);
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
