/* The figures of a run, gathered from its events: latencies, throughput, goodput, for the whole run
 * and for its steady-state window. */
#ifndef ANALYSIS_METRICS_H
#define ANALYSIS_METRICS_H

#include "actors/event.h"
#include "analysis/histogram.h"
#include "analysis/slo.h"

/* Definitions, in seconds, for one request with N output tokens:
 *   queueing = prefill start − arrival
 *   TTFT     = first token − arrival
 *   E2E      = last token − arrival
 *   TPOT     = (E2E − TTFT) / (N − 1): the mean of its N − 1 gaps; none when N = 1 */
typedef enum {
    LATENCY_TTFT, LATENCY_TPOT, LATENCY_E2E, LATENCY_QUEUEING, N_LATENCIES
} LatencyKind;
const char *latency_name(LatencyKind kind); /* "ttft" … */

/* One set of figures: of the whole run or of the window. A request belongs to the window when it
 * arrived in it. */
typedef struct MetricsWindow {
    double from_s, to_s;
    guint64 requests;             /* completed requests that count here */
    guint64 prompt_tokens, output_tokens; /* of them */
    guint64 tokens_in_window;     /* output tokens of requests completed within [from, to] */
    guint64 good;                 /* requests that met every limit */
    guint64 met[N_LATENCIES];     /* requests that met that limit */
    Histogram *latencies[N_LATENCIES];
} MetricsWindow;

typedef struct Metrics Metrics;
Metrics *metrics_new(const Slo *slo, const OutputSpec *output, double last_arrival_s);
void metrics_free(Metrics *metrics);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Metrics, metrics_free)
Observer *metrics_observer(Metrics *metrics);
void metrics_finish(Metrics *metrics, double end_s);
const MetricsWindow *metrics_whole(const Metrics *metrics);
const MetricsWindow *metrics_steady(const Metrics *metrics); /* NULL without warm-up or cool-down */

#endif
