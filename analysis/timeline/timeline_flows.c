#include "analysis/timeline/timeline_flows.h"

struct TimelineFlows {
    GHashTable *open; /* id → RequestFlow, owned; looked up only, never iterated */
    GQueue ended;     /* RequestFlow, borrowed, in order of their ends */
};

TimelineFlows *timeline_flows_new(void) {
    TimelineFlows *flows = g_new0(TimelineFlows, 1);
    flows->open = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free);
    g_queue_init(&flows->ended);
    return flows;
}

void timeline_flows_free(TimelineFlows *flows) {
    if (flows == NULL)
        return;
    g_queue_clear(&flows->ended);
    g_hash_table_unref(flows->open);
    g_free(flows);
}

RequestFlow *timeline_flows_begin(TimelineFlows *flows, guint64 id, double now_s) {
    RequestFlow *flow = g_new0(RequestFlow, 1);
    flow->id = id;
    flow->waiting_since_s = now_s;
    flow->buffered_s = -1;
    g_hash_table_insert(flows->open, &flow->id, flow);
    return flow;
}

RequestFlow *timeline_flows_find(const TimelineFlows *flows, guint64 id) {
    return g_hash_table_lookup(flows->open, &id);
}

void timeline_flow_pass(RequestFlow *flow, FlowPoint point, FlowSlice slice) {
    flow->points[point] = slice;
    flow->passed[point] = TRUE;
}

void timeline_flows_drop(TimelineFlows *flows, guint64 id) {
    g_hash_table_remove(flows->open, &id);
}

void timeline_flows_end(TimelineFlows *flows, guint64 id, double now_s) {
    RequestFlow *flow = timeline_flows_find(flows, id);
    if (flow == NULL)
        return;
    flow->ended_s = now_s;
    g_queue_push_tail(&flows->ended, flow);
}

static gboolean same_slice(const FlowSlice *a, const FlowSlice *b) {
    return a->process == b->process && a->thread == b->thread && a->start_ns == b->start_ns;
}

/* The slices that the arrow joins: those passed, each once, never back in time, up to the first
 * that is outside the window. */
static guint gather(const RequestFlow *flow, const FlowSlice *slices[N_FLOW_POINTS]) {
    guint n = 0;
    for (FlowPoint point = 0; point < N_FLOW_POINTS; point++) {
        const FlowSlice *slice = &flow->points[point];
        if (!flow->passed[point])
            continue;
        if (!slice->written)
            break;
        if (n > 0 &&
            (slice->start_ns < slices[n - 1]->start_ns || same_slice(slice, slices[n - 1])))
            continue;
        slices[n++] = slice;
    }
    return n;
}

static void write_flow(const RequestFlow *flow, TraceSink *sink) {
    const FlowSlice *slices[N_FLOW_POINTS];
    if (!flow->passed[FLOW_PREFILL])
        return;
    guint n = gather(flow, slices);
    for (guint i = 0; i < n && n >= 2; i++) {
        TracePhase phase = i == 0       ? TRACE_FLOW_START
                           : i == n - 1 ? TRACE_FLOW_END
                                        : TRACE_FLOW_STEP;
        trace_sink_put(sink, &(TraceEvent){.phase = phase,
                                           .name = "request",
                                           .category = "request",
                                           .process = slices[i]->process,
                                           .thread = slices[i]->thread,
                                           .start_ns = slices[i]->start_ns,
                                           .id = flow->id});
    }
}

void timeline_flows_write(TimelineFlows *flows, TraceSink *sink, double before_s) {
    for (RequestFlow *flow; (flow = g_queue_peek_head(&flows->ended)) != NULL;) {
        if (flow->ended_s >= before_s)
            return;
        g_queue_pop_head(&flows->ended);
        write_flow(flow, sink);
        g_hash_table_remove(flows->open, &flow->id);
    }
}
