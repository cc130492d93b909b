#include "analysis/timeline/timeline.h"

#include "analysis/output/number_text.h"
#include "analysis/timeline/timeline_counter.h"
#include "analysis/timeline/timeline_flows.h"
#include "analysis/timeline/timeline_lanes.h"
#include <math.h>

/* Processes after those of the replicas, which are 1 … n. */
enum { PROCESS_NETWORK = 1, PROCESS_REQUESTS, PROCESS_SYSTEM };

struct Timeline {
    Observer observer;
    TraceSink *sink;
    const Plan *plan;
    gboolean ranks;
    TraceWindow window;
    TimelineFlows *flows;
    TimelineLanes lanes[N_PURPOSES]; /* network tracks */
    guint network_threads;
    GArray *lane_threads[N_PURPOSES]; /* guint: the thread of each lane */
    FlowSlice last_transfer[N_PURPOSES];
    TimelineCounter queue, buffered, buffer_bytes, kv_bytes;
    guint64 waiting, in_buffer; /* requests */
    TimelineCounter *batches;   /* a replica: requests in its first stage's step */
    gint64 *busy_until_ns;      /* a replica: end of that stage's last step; −1: none */
    guint n_pools;
    guint *first_prefill;    /* a pool: its first replica that serves prompts */
    gint64 *paused_since_ns; /* a pool; −1: admission is open */
};

static guint process_of(const Timeline *timeline, guint which) {
    return timeline->plan->n_replicas + which;
}

/* Values from before the window are shown at its start. */
static void set_counter(Timeline *timeline, TimelineCounter *counter, gint64 now_ns,
                        guint64 value) {
    if (now_ns <= timeline->window.to_ns)
        timeline_counter_set(counter, timeline->sink, MAX(now_ns, timeline->window.from_ns), value);
}

static void set_waiting(Timeline *timeline, const Event *event, guint64 waiting) {
    timeline->waiting = waiting;
    set_counter(timeline, &timeline->queue, number_nanoseconds(event->time_s), waiting);
}

static void set_in_buffer(Timeline *timeline, const Event *event, guint64 in_buffer) {
    timeline->in_buffer = in_buffer;
    set_counter(timeline, &timeline->buffered, number_nanoseconds(event->time_s), in_buffer);
}

/* Writes the slice if it touches the window. */
static gboolean put_slice(Timeline *timeline, TraceEvent *slice) {
    slice->phase = TRACE_SLICE;
    if (!trace_window_touches(&timeline->window, slice->start_ns, slice->end_ns))
        return FALSE;
    trace_sink_put(timeline->sink, slice);
    return TRUE;
}

/* A phase of one request, in the process of requests; those of different requests overlap. */
static void put_phase(Timeline *timeline, const Event *event, const char *name, double since_s) {
    TraceEvent phase = {.phase = TRACE_ASYNC_BEGIN,
                        .name = name,
                        .category = "phase",
                        .process = process_of(timeline, PROCESS_REQUESTS),
                        .start_ns = number_nanoseconds(since_s),
                        .id = event->request->request.id};
    gint64 end_ns = number_nanoseconds(event->time_s);
    if (end_ns == phase.start_ns ||
        !trace_window_touches(&timeline->window, phase.start_ns, end_ns))
        return;
    trace_sink_put(timeline->sink, &phase);
    phase.phase = TRACE_ASYNC_END;
    phase.start_ns = end_ns;
    trace_sink_put(timeline->sink, &phase);
}

static RequestFlow *flow_of(const Timeline *timeline, const Event *event) {
    return timeline_flows_find(timeline->flows, event->request->request.id);
}

static void on_arrived(Timeline *timeline, const Event *event) {
    timeline_flows_begin(timeline->flows, event->request->request.id, event->time_s);
    set_waiting(timeline, event, timeline->waiting + 1);
}

static void on_rejected(Timeline *timeline, const Event *event) {
    timeline_flows_drop(timeline->flows, event->request->request.id);
    set_waiting(timeline, event, timeline->waiting - 1);
}

static void on_prefill_started(Timeline *timeline, const Event *event) {
    RequestFlow *flow = flow_of(timeline, event);
    put_phase(timeline, event, "waiting", flow->waiting_since_s);
    flow->waiting_since_s = -1;
    set_waiting(timeline, event, timeline->waiting - 1);
}

static void on_preempted(Timeline *timeline, const Event *event) {
    flow_of(timeline, event)->waiting_since_s = event->time_s;
    set_waiting(timeline, event, timeline->waiting + 1);
}

/* The transfer that completed a request's KV is told just before what it brought about. */
static void on_buffered(Timeline *timeline, const Event *event) {
    RequestFlow *flow = flow_of(timeline, event);
    flow->buffered_s = event->time_s;
    timeline_flow_pass(flow, FLOW_MIGRATION, timeline->last_transfer[PURPOSE_KV_MIGRATION]);
    set_in_buffer(timeline, event, timeline->in_buffer + 1);
}

static void on_pull_started(Timeline *timeline, const Event *event) {
    RequestFlow *flow = flow_of(timeline, event);
    put_phase(timeline, event, "buffered", flow->buffered_s);
    flow->buffered_s = -1;
    set_in_buffer(timeline, event, timeline->in_buffer - 1);
}

static void on_pulled(Timeline *timeline, const Event *event) {
    timeline_flow_pass(flow_of(timeline, event), FLOW_PULL,
                       timeline->last_transfer[PURPOSE_KV_PULL]);
}

static void on_completed(Timeline *timeline, const Event *event) {
    timeline_flows_end(timeline->flows, event->request->request.id, event->time_s);
}

static void on_dropped(Timeline *timeline, const Event *event) {
    const RequestFlow *flow = flow_of(timeline, event);
    if (flow->waiting_since_s >= 0)
        set_waiting(timeline, event, timeline->waiting - 1);
    if (flow->buffered_s >= 0)
        set_in_buffer(timeline, event, timeline->in_buffer - 1);
    timeline_flows_drop(timeline->flows, event->request->request.id);
}

/* Threads of a replica's process: a stage each, or a rank each, from 1. */
static guint stage_thread(const Timeline *timeline, const ReplicaPlan *replica, guint stage) {
    if (!timeline->ranks)
        return stage + 1;
    guint thread = 1;
    for (guint i = 0; i < stage; i++)
        thread += replica->stages[i].tp;
    return thread;
}

static void put_step(Timeline *timeline, const Event *event, FlowSlice *slice) {
    gint64 end_ns = number_nanoseconds(event->time_s);
    gint64 all_reduce_ns = number_nanoseconds(event->all_reduce_s);
    const char *name = event->transition              ? "transition"
                       : event->decode_requests == 0  ? "prefill"
                       : event->prefill_requests == 0 ? "decode"
                                                      : "mixed";
    guint requests = event->prefill_requests + event->decode_requests;
    TraceEvent step = {.name = name,
                       .category = "step",
                       .process = slice->process,
                       .thread = slice->thread,
                       .start_ns = slice->start_ns,
                       .end_ns = end_ns,
                       .arguments = {{"requests", requests},
                                     {"prefill_tokens", event->prefill_tokens},
                                     {"decode_tokens", event->decode_requests},
                                     {"micro_batch", event->micro_batch}}};
    if (event->members != NULL && requests > 0)
        step.arguments[4] = (TraceArgument){"first_request", event->members[0]->request.id};
    slice->written = put_slice(timeline, &step);
    if (all_reduce_ns <= 0)
        return;
    step.name = "all-reduce";
    step.category = "network";
    step.start_ns = MAX(slice->start_ns, end_ns - all_reduce_ns);
    step.arguments[0].key = NULL;
    put_slice(timeline, &step);
}

static void pass_members(Timeline *timeline, const Event *event, const FlowSlice *slice) {
    if (event->members == NULL)
        return;
    for (guint i = 0; i < event->prefill_requests + event->decode_requests; i++) {
        RequestFlow *flow = timeline_flows_find(timeline->flows, event->members[i]->request.id);
        if (flow == NULL)
            continue;
        gboolean prefill = i < event->prefill_requests;
        FlowPoint first = prefill ? FLOW_PREFILL : FLOW_DECODE;
        if (!flow->passed[first])
            timeline_flow_pass(flow, first, *slice);
        if (!prefill)
            timeline_flow_pass(flow, FLOW_LAST, *slice);
    }
}

/* On the lane that computed it: the last stage of the replica that served the prompt. */
static void on_first_token(Timeline *timeline, const Event *event) {
    const ServedRequest *served = event->request;
    guint id = timeline->first_prefill[served->pool] + served->prefill_replica;
    const ReplicaPlan *replica = &timeline->plan->replicas[id];
    TraceEvent mark = {.phase = TRACE_MARK,
                       .name = "first token",
                       .category = "ttft",
                       .process = id + 1,
                       .thread = stage_thread(timeline, replica, replica->n_stages - 1),
                       .start_ns = number_nanoseconds(event->time_s),
                       .arguments = {{"request", served->request.id}}};
    if (trace_window_touches(&timeline->window, mark.start_ns, mark.start_ns))
        trace_sink_put(timeline->sink, &mark);
}

/* The batch size of a replica: that of its first stage, zero while that stage rests. */
static void count_batch(Timeline *timeline, const Event *event, gint64 start_ns) {
    TimelineCounter *batch = &timeline->batches[event->replica_id];
    gint64 *busy_until_ns = &timeline->busy_until_ns[event->replica_id];
    if (event->stage != 0)
        return;
    if (*busy_until_ns >= 0 && *busy_until_ns < start_ns)
        set_counter(timeline, batch, *busy_until_ns, 0);
    set_counter(timeline, batch, start_ns, event->prefill_requests + event->decode_requests);
    *busy_until_ns = number_nanoseconds(event->time_s);
}

static void on_step(Timeline *timeline, const Event *event) {
    guint ranks = timeline->ranks ? event->replica->stages[event->stage].tp : 1;
    FlowSlice slice = {.process = event->replica_id + 1,
                       .thread = stage_thread(timeline, event->replica, event->stage),
                       .start_ns = number_nanoseconds(event->start_s)};
    for (guint rank = 1; rank < ranks; rank++) {
        FlowSlice other = slice;
        other.thread += rank;
        put_step(timeline, event, &other);
    }
    put_step(timeline, event, &slice);
    if (!event->transition)
        pass_members(timeline, event, &slice);
    count_batch(timeline, event, slice.start_ns);
}

static guint lane_thread(Timeline *timeline, TransferPurpose purpose, guint lane) {
    GArray *threads = timeline->lane_threads[purpose];
    if (lane < threads->len)
        return g_array_index(threads, guint, lane);
    guint thread = ++timeline->network_threads;
    g_array_append_val(threads, thread);
    g_autofree char *name = g_strdup_printf("%s %u", transfer_purpose_name(purpose), lane);
    trace_sink_name_thread(timeline->sink, process_of(timeline, PROCESS_NETWORK), thread, name);
    return thread;
}

/* Transfers of one purpose overlap, so they are spread over lanes. All-reduces are shown where
 * they are waited for, at the end of their steps. */
static void on_transfer(Timeline *timeline, const Event *event) {
    gint64 start_ns = number_nanoseconds(event->start_s);
    gint64 end_ns = number_nanoseconds(event->time_s);
    FlowSlice *last = &timeline->last_transfer[event->purpose];
    if (event->purpose == PURPOSE_ALL_REDUCE)
        return;
    *last = (FlowSlice){.process = process_of(timeline, PROCESS_NETWORK), .start_ns = start_ns};
    if (!trace_window_touches(&timeline->window, start_ns, end_ns))
        return;
    guint lane = timeline_lanes_take(&timeline->lanes[event->purpose], start_ns, end_ns);
    last->thread = lane_thread(timeline, event->purpose, lane);
    TraceEvent transfer = {.name = transfer_purpose_name(event->purpose),
                           .category = "network",
                           .process = last->process,
                           .thread = last->thread,
                           .start_ns = start_ns,
                           .end_ns = end_ns,
                           .arguments = {{"from_cluster", event->from},
                                         {"to_cluster", event->to},
                                         {"bytes", (guint64)(event->bytes + 0.5)}}};
    last->written = put_slice(timeline, &transfer);
}

static void put_pause(Timeline *timeline, guint pool, gint64 end_ns) {
    TraceEvent pause = {.name = "backpressure",
                        .category = "state",
                        .process = process_of(timeline, PROCESS_SYSTEM),
                        .thread = pool + 1,
                        .start_ns = timeline->paused_since_ns[pool],
                        .end_ns = end_ns};
    if (pause.start_ns >= 0)
        put_slice(timeline, &pause);
    timeline->paused_since_ns[pool] = -1;
}

static void on_backpressure(Timeline *timeline, const Event *event) {
    gint64 now_ns = number_nanoseconds(event->time_s);
    if (event->paused)
        timeline->paused_since_ns[event->pool] = now_ns;
    else
        put_pause(timeline, event->pool, now_ns);
}

static void notify(Observer *observer, const Event *event) {
    static void (*const handlers[N_EVENT_KINDS])(Timeline *, const Event *) = {
        [EVENT_ARRIVED] = on_arrived,
        [EVENT_REJECTED] = on_rejected,
        [EVENT_PREFILL_STARTED] = on_prefill_started,
        [EVENT_FIRST_TOKEN] = on_first_token,
        [EVENT_BUFFERED] = on_buffered,
        [EVENT_PULL_STARTED] = on_pull_started,
        [EVENT_PULLED] = on_pulled,
        [EVENT_PREEMPTED] = on_preempted,
        [EVENT_COMPLETED] = on_completed,
        [EVENT_DROPPED] = on_dropped,
        [EVENT_STEP] = on_step,
        [EVENT_TRANSFER] = on_transfer,
        [EVENT_BACKPRESSURE] = on_backpressure,
    };
    Timeline *timeline = (Timeline *)observer;
    timeline_flows_write(timeline->flows, timeline->sink, event->time_s);
    if (handlers[event->kind] != NULL)
        handlers[event->kind](timeline, event);
}

static void sample(Observer *observer, const SimulationSample *state) {
    Timeline *timeline = (Timeline *)observer;
    gint64 now_ns = number_nanoseconds(state->time_s);
    set_counter(timeline, &timeline->buffer_bytes, now_ns, (guint64)(state->buffer_bytes + 0.5));
    set_counter(timeline, &timeline->kv_bytes, now_ns, (guint64)(state->kv_bytes + 0.5));
}

static void name_stage(Timeline *timeline, guint process, const ReplicaPlan *replica, guint stage) {
    const StagePlan *plan = &replica->stages[stage];
    guint thread = stage_thread(timeline, replica, stage);
    if (!timeline->ranks) {
        gboolean wafer = timeline->plan->wafer.spec.decode_grid > 0; /* it has no ranks */
        g_autofree char *name = wafer ? g_strdup_printf("stage %u", stage)
                                      : g_strdup_printf("stage %u (tp %u)", stage, plan->tp);
        trace_sink_name_thread(timeline->sink, process, thread, name);
        return;
    }
    for (guint rank = 0; rank < plan->tp; rank++) {
        g_autofree char *name =
            g_strdup_printf("stage %u rank %u (cluster %u)", stage, rank, plan->clusters[rank]);
        trace_sink_name_thread(timeline->sink, process, thread + rank, name);
    }
}

static void name_replicas(Timeline *timeline) {
    for (guint i = 0; i < timeline->plan->n_replicas; i++) {
        const ReplicaPlan *replica = &timeline->plan->replicas[i];
        g_autofree char *name =
            g_strdup_printf("pool %u %s %u", replica->pool,
                            plan_replica_name(timeline->plan, replica), replica->index);
        trace_sink_name_process(timeline->sink, i + 1, name);
        for (guint stage = 0; stage < replica->n_stages; stage++)
            name_stage(timeline, i + 1, replica, stage);
    }
}

static void name_others(Timeline *timeline) {
    static const char *const names[] = {[PROCESS_NETWORK] = "network",
                                        [PROCESS_REQUESTS] = "requests",
                                        [PROCESS_SYSTEM] = "system"};
    for (guint which = PROCESS_NETWORK; which <= PROCESS_SYSTEM; which++)
        trace_sink_name_process(timeline->sink, process_of(timeline, which), names[which]);
    for (guint pool = 0; pool < timeline->n_pools && timeline->plan->n_buffers > 0; pool++) {
        g_autofree char *name = g_strdup_printf("admission of pool %u", pool);
        trace_sink_name_thread(timeline->sink, process_of(timeline, PROCESS_SYSTEM), pool + 1,
                               name);
    }
}

static void init_counters(Timeline *timeline) {
    guint system = process_of(timeline, PROCESS_SYSTEM);
    guint n_replicas = timeline->plan->n_replicas;
    timeline->queue = (TimelineCounter){"queue", "requests", .process = system};
    timeline->buffered = (TimelineCounter){"buffered", "requests", .process = system};
    timeline->buffer_bytes = (TimelineCounter){"buffer", "bytes", .process = system};
    timeline->kv_bytes = (TimelineCounter){"kv", "bytes", .process = system};
    timeline->batches = g_new0(TimelineCounter, n_replicas);
    timeline->busy_until_ns = g_new(gint64, n_replicas);
    for (guint i = 0; i < n_replicas; i++) {
        timeline->batches[i] = (TimelineCounter){"batch", "requests", .process = i + 1};
        timeline->busy_until_ns[i] = -1;
        timeline->n_pools = MAX(timeline->n_pools, timeline->plan->replicas[i].pool + 1);
    }
    timeline->paused_since_ns = g_new(gint64, timeline->n_pools);
    for (guint pool = 0; pool < timeline->n_pools; pool++)
        timeline->paused_since_ns[pool] = -1;
}

/* Replicas stand pool after pool, in each those of a role together. */
static void find_first_prefill(Timeline *timeline) {
    timeline->first_prefill = g_new0(guint, timeline->n_pools);
    for (guint i = timeline->plan->n_replicas; i-- > 0;) {
        const ReplicaPlan *replica = &timeline->plan->replicas[i];
        if (replica->role != ROLE_DECODE)
            timeline->first_prefill[replica->pool] = i;
    }
}

Timeline *timeline_new(TraceSink *sink, const TimelineOptions *options) {
    Timeline *timeline = g_new0(Timeline, 1);
    timeline->observer = (Observer){notify, sample, .wants_steps = TRUE, .wants_transfers = TRUE};
    timeline->sink = sink;
    timeline->plan = options->plan;
    timeline->ranks = options->ranks;
    timeline->window = options->window;
    timeline->flows = timeline_flows_new();
    for (TransferPurpose purpose = 0; purpose < N_PURPOSES; purpose++) {
        timeline->lanes[purpose] = timeline_lanes_new();
        timeline->lane_threads[purpose] = g_array_new(FALSE, FALSE, sizeof(guint));
    }
    init_counters(timeline);
    find_first_prefill(timeline);
    name_replicas(timeline);
    name_others(timeline);
    return timeline;
}

Observer *timeline_observer(Timeline *timeline) {
    return &timeline->observer;
}

static void flush_counters(Timeline *timeline, gint64 end_ns) {
    TimelineCounter *counters[] = {&timeline->queue, &timeline->buffered, &timeline->buffer_bytes,
                                   &timeline->kv_bytes};
    if (end_ns < timeline->window.from_ns)
        return;
    for (guint i = 0; i < timeline->plan->n_replicas; i++) {
        if (timeline->busy_until_ns[i] >= 0)
            set_counter(timeline, &timeline->batches[i], timeline->busy_until_ns[i], 0);
        timeline_counter_flush(&timeline->batches[i], timeline->sink);
    }
    for (guint i = 0; i < G_N_ELEMENTS(counters); i++)
        timeline_counter_flush(counters[i], timeline->sink);
}

gboolean timeline_finish(Timeline *timeline, double end_s, GError **error) {
    gint64 end_ns = number_nanoseconds(end_s);
    timeline_flows_write(timeline->flows, timeline->sink, INFINITY);
    for (guint pool = 0; pool < timeline->n_pools; pool++)
        put_pause(timeline, pool, end_ns);
    flush_counters(timeline, end_ns);
    return trace_sink_finish(timeline->sink, error);
}

void timeline_free(Timeline *timeline) {
    if (timeline == NULL)
        return;
    for (TransferPurpose purpose = 0; purpose < N_PURPOSES; purpose++) {
        timeline_lanes_clear(&timeline->lanes[purpose]);
        g_array_unref(timeline->lane_threads[purpose]);
    }
    timeline_flows_free(timeline->flows);
    trace_sink_free(timeline->sink);
    g_free(timeline->batches);
    g_free(timeline->busy_until_ns);
    g_free(timeline->first_prefill);
    g_free(timeline->paused_since_ns);
    g_free(timeline);
}
