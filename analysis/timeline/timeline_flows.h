/* The arrows of a timeline: for each open request, the slices it passed through, joined into one
 * flow when it ends. A flow that begins before the timeline's window is not written; one that goes
 * on behind it ends with the last slice within. */
#ifndef ANALYSIS_TIMELINE_FLOWS_H
#define ANALYSIS_TIMELINE_FLOWS_H

#include "analysis/timeline/trace_sink.h"

typedef enum {
    FLOW_PREFILL,   /* its first prefill slice */
    FLOW_MIGRATION, /* the transfer that brought the last of its KV to the buffer */
    FLOW_PULL,      /* … to the decode replica */
    FLOW_DECODE,    /* its first decode slice */
    FLOW_LAST,      /* its latest decode slice */
    N_FLOW_POINTS
} FlowPoint;

/* A slice, as a flow event needs it. */
typedef struct FlowSlice {
    guint process, thread;
    gint64 start_ns;
    gboolean written; /* FALSE: it is outside the timeline's window */
} FlowSlice;

/* What a timeline remembers of a request until it ends. */
typedef struct RequestFlow {
    guint64 id;
    double waiting_since_s;
    double buffered_s;
    double ended_s;
    FlowSlice points[N_FLOW_POINTS];
    gboolean passed[N_FLOW_POINTS];
} RequestFlow;

typedef struct TimelineFlows TimelineFlows;
TimelineFlows *timeline_flows_new(void);
void timeline_flows_free(TimelineFlows *flows);

RequestFlow *timeline_flows_begin(TimelineFlows *flows, guint64 id, double now_s);
RequestFlow *timeline_flows_find(const TimelineFlows *flows, guint64 id); /* NULL: not known */
void timeline_flow_pass(RequestFlow *flow, FlowPoint point, FlowSlice slice);
void timeline_flows_drop(TimelineFlows *flows, guint64 id); /* forgets it without an arrow */
/* The request completed. Its last slice may still be told at the same date, so the arrow waits for
 * timeline_flows_write with a later date. */
void timeline_flows_end(TimelineFlows *flows, guint64 id, double now_s);
void timeline_flows_write(TimelineFlows *flows, TraceSink *sink, double before_s);

#endif
