/* The arrows of a figure: chains of slices that a request passed, a bounded sample of them spread
 * evenly over their number. The events of one chain come one after the other. */
#ifndef ANALYSIS_GANTT_FLOWS_H
#define ANALYSIS_GANTT_FLOWS_H

#include "analysis/timeline/trace_sink.h"

#define GANTT_FLOW_POINTS_MAX 8
#define GANTT_FLOWS_MAX 1024

typedef struct GanttFlowPoint {
    guint process, thread;
    gint64 start_ns; /* of its slice */
} GanttFlowPoint;

typedef struct GanttFlow {
    guint64 id;
    guint n;
    GanttFlowPoint points[GANTT_FLOW_POINTS_MAX];
} GanttFlow;

typedef struct GanttFlows {
    GArray *kept;   /* GanttFlow, complete ones: every stride-th */
    guint64 total;  /* complete ones that came */
    guint64 stride; /* a power of two */
    GanttFlow open; /* n = 0: none */
} GanttFlows;

void gantt_flows_init(GanttFlows *flows);
void gantt_flows_clear(GanttFlows *flows);
void gantt_flows_put(GanttFlows *flows, const TraceEvent *event); /* of the three flow phases */

#endif
