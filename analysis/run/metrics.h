/* The figures of a run, gathered from its events: latencies, throughput, goodput, for the whole run
 * and for its steady-state window. */
#ifndef ANALYSIS_METRICS_H
#define ANALYSIS_METRICS_H

#include "actors/event.h"
#include "analysis/run/histogram.h"
#include "analysis/run/slo.h"

/* Definitions, in seconds, for one request with N output tokens:
 *   queueing = prefill start − arrival
 *   TTFT     = first token − arrival
 *   E2E      = last token − arrival
 *   TPOT     = (E2E − TTFT) / (N − 1): the mean of its N − 1 gaps; none when N = 1 */
typedef enum { LATENCY_TTFT, LATENCY_TPOT, LATENCY_E2E, LATENCY_QUEUEING, N_LATENCIES } LatencyKind;
const char *latency_name(LatencyKind kind); /* "ttft" … */
/* In seconds; −1 where the request has none (a date is missing, or TPOT of a single token). */
double latency_of(LatencyKind kind, const ServedRequest *request);
/* The limit that 'slo' sets on it; NULL where none is set. */
const SloLimit *latency_limit(LatencyKind kind, const Slo *slo);

/* One set of figures: of the whole run or of the window. A request belongs to the window when it
 * arrived in it. */
typedef struct MetricsWindow {
    double from_s, to_s;
    guint64 requests;                     /* completed requests that count here */
    guint64 lost;                         /* rejected or dropped ones that count here */
    guint64 prompt_tokens, output_tokens; /* of them */
    guint64 tokens_in_window;        /* output tokens of requests completed within [from, to] */
    guint64 prompt_tokens_in_window; /* … and their prompts */
    guint64 completed_in_window; /* requests completed within [from, to], whenever they arrived */
    guint64 good;                /* requests that met every limit */
    guint64 met[N_LATENCIES];    /* of those that have the latency, how many met its limit */
    Histogram *latencies[N_LATENCIES];
} MetricsWindow;

typedef struct Metrics Metrics;
/* 'last_arrival_s' ends the steady-state window, cool-down before it. INFINITY in a closed loop,
 * whose last arrival nobody knows beforehand: then only the warm-up is cut. Copies what it
 * needs. */
Metrics *metrics_new(const Slo *slo, const OutputSpec *output, double last_arrival_s);
void metrics_free(Metrics *metrics);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Metrics, metrics_free)
Observer *metrics_observer(Metrics *metrics);
void metrics_finish(Metrics *metrics, double end_s);
const MetricsWindow *metrics_whole(const Metrics *metrics);
const MetricsWindow *metrics_steady(const Metrics *metrics); /* NULL without warm-up or cool-down */

#endif
