#include "analysis/timeline/gantt_flows.h"

void gantt_flows_init(GanttFlows *flows) {
    *flows = (GanttFlows){.kept = g_array_new(FALSE, FALSE, sizeof(GanttFlow)), .stride = 1};
}

void gantt_flows_clear(GanttFlows *flows) {
    g_clear_pointer(&flows->kept, g_array_unref);
}

static void halve(GanttFlows *flows) {
    for (gsize i = 0; i < flows->kept->len / 2; i++)
        g_array_index(flows->kept, GanttFlow, i) = g_array_index(flows->kept, GanttFlow, 2 * i);
    g_array_set_size(flows->kept, flows->kept->len / 2);
    flows->stride *= 2;
}

static void keep(GanttFlows *flows) {
    if (flows->total++ % flows->stride != 0)
        return;
    if (flows->kept->len == GANTT_FLOWS_MAX)
        halve(flows);
    g_array_append_val(flows->kept, flows->open);
}

void gantt_flows_put(GanttFlows *flows, const TraceEvent *event) {
    GanttFlow *open = &flows->open;

    if (event->phase == TRACE_FLOW_START)
        *open = (GanttFlow){.id = event->id};
    else if (open->n == 0 || open->id != event->id)
        return;
    if (open->n < GANTT_FLOW_POINTS_MAX)
        open->points[open->n++] = (GanttFlowPoint){event->process, event->thread, event->start_ns};
    if (event->phase != TRACE_FLOW_END)
        return;
    keep(flows);
    open->n = 0;
}
