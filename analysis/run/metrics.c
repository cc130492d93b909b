#include "analysis/run/metrics.h"

#include <math.h>

struct Metrics {
    Observer observer;
    Slo slo;
    gboolean has_steady;
    MetricsWindow whole, steady;
};

static const char *const latency_names[N_LATENCIES] = {"ttft", "tpot", "e2e", "queueing"};

const char *latency_name(LatencyKind kind) {
    return latency_names[kind];
}

static double since_arrival(const ServedRequest *served, double date_s) {
    return date_s < 0 ? -1 : date_s - served->request.arrival_s;
}

static double tpot_of(const ServedRequest *served) {
    if (served->completed_s < 0 || served->generated < 2)
        return -1;
    return (served->completed_s - served->first_token_s) / (double)(served->generated - 1);
}

double latency_of(LatencyKind kind, const ServedRequest *request) {
    switch (kind) {
    case LATENCY_TTFT:
        return since_arrival(request, request->first_token_s);
    case LATENCY_TPOT:
        return tpot_of(request);
    case LATENCY_E2E:
        return since_arrival(request, request->completed_s);
    case LATENCY_QUEUEING:
        return since_arrival(request, request->prefill_start_s);
    case N_LATENCIES:
        break;
    }
    g_assert_not_reached();
}

const SloLimit *latency_limit(LatencyKind kind, const Slo *slo) {
    const SloLimit *limits[N_LATENCIES] = {
        [LATENCY_TTFT] = &slo->ttft, [LATENCY_TPOT] = &slo->tpot, [LATENCY_E2E] = &slo->e2e};
    const SloLimit *limit = limits[kind];
    return limit != NULL && limit->limit_s > 0 ? limit : NULL;
}

static void window_init(MetricsWindow *window, double from_s, double to_s) {
    *window = (MetricsWindow){.from_s = from_s, .to_s = to_s};
    for (guint i = 0; i < N_LATENCIES; i++)
        window->latencies[i] = histogram_new();
}

static void window_clear(MetricsWindow *window) {
    for (guint i = 0; i < N_LATENCIES; i++)
        histogram_free(window->latencies[i]);
}

static void window_count(MetricsWindow *window, const ServedRequest *served, const Slo *slo) {
    gboolean good = TRUE;
    for (LatencyKind kind = 0; kind < N_LATENCIES; kind++) {
        double latency_s = latency_of(kind, served);
        const SloLimit *limit = latency_limit(kind, slo);
        if (latency_s < 0)
            continue;
        histogram_add(window->latencies[kind], latency_s);
        if (limit == NULL)
            continue;
        if (latency_s <= limit->limit_s)
            window->met[kind]++;
        else
            good = FALSE;
    }
    window->requests++;
    window->prompt_tokens += served->request.prompt_tokens;
    window->output_tokens += served->generated;
    window->good += good ? 1 : 0;
}

static gboolean within(const MetricsWindow *window, double date_s) {
    return date_s >= window->from_s && date_s <= window->to_s;
}

static void window_complete(MetricsWindow *window, const ServedRequest *served, const Slo *slo) {
    if (within(window, served->request.arrival_s))
        window_count(window, served, slo);
    if (!within(window, served->completed_s))
        return;
    window->completed_in_window++;
    window->tokens_in_window += served->generated;
    window->prompt_tokens_in_window += served->request.prompt_tokens;
}

static void count_lost(Metrics *metrics, double arrival_s) {
    metrics->whole.lost++;
    metrics->steady.lost += within(&metrics->steady, arrival_s) ? 1 : 0;
}

static void notify(Observer *observer, const Event *event) {
    Metrics *metrics = (Metrics *)observer;
    if (event->kind == EVENT_REJECTED || event->kind == EVENT_DROPPED)
        count_lost(metrics, event->request->request.arrival_s);
    if (event->kind != EVENT_COMPLETED)
        return;
    window_complete(&metrics->whole, event->request, &metrics->slo);
    if (metrics->has_steady)
        window_complete(&metrics->steady, event->request, &metrics->slo);
}

Metrics *metrics_new(const Slo *slo, const OutputSpec *output, double last_arrival_s) {
    Metrics *metrics = g_new0(Metrics, 1);
    metrics->observer.notify = notify;
    metrics->slo = *slo;
    metrics->has_steady = output->warmup_s > 0 || output->cooldown_s > 0;
    window_init(&metrics->whole, 0, INFINITY);
    window_init(&metrics->steady, output->warmup_s, last_arrival_s - output->cooldown_s);
    return metrics;
}

void metrics_free(Metrics *metrics) {
    if (metrics == NULL)
        return;
    window_clear(&metrics->whole);
    window_clear(&metrics->steady);
    g_free(metrics);
}

Observer *metrics_observer(Metrics *metrics) {
    return &metrics->observer;
}

void metrics_finish(Metrics *metrics, double end_s) {
    metrics->whole.to_s = end_s;
    metrics->steady.to_s = MIN(metrics->steady.to_s, end_s);
}

const MetricsWindow *metrics_whole(const Metrics *metrics) {
    return &metrics->whole;
}

const MetricsWindow *metrics_steady(const Metrics *metrics) {
    return metrics->has_steady ? &metrics->steady : NULL;
}
