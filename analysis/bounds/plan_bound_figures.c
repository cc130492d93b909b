#include "analysis/bounds/plan_bound_figures.h"

#include "analysis/bounds/bound_goodput.h"
#include "analysis/run/histogram.h"
#include <math.h>

#define ROUNDING (1 - BOUND_ROUNDING)
/* Two histograms' errors, where there are too many values to be exact. */
#define HISTOGRAM_ERROR (1 - 2e-3)

static guint nodes_of(const Experiment *experiment) {
    const Plan *plan = experiment->plan;
    g_autofree gboolean *touched = g_new0(gboolean, experiment->platform->nodes);
    guint nodes = 0;

    for (guint i = 0; i < plan->n_replicas; i++)
        for (guint s = 0; s < plan->replicas[i].n_stages; s++)
            for (guint rank = 0; rank < plan->replicas[i].stages[s].tp; rank++)
                touched[platform_node_of(experiment->platform,
                                         plan->replicas[i].stages[s].clusters[rank])] = TRUE;
    for (guint i = 0; i < plan->n_buffers; i++)
        touched[platform_node_of(experiment->platform, plan->buffers[i].cluster)] = TRUE;
    for (guint node = 0; node < experiment->platform->nodes; node++)
        nodes += touched[node] ? 1 : 0;
    return nodes;
}

static void fill_energy(const BoundWork *work, double busy_s, double *figures) {
    const Experiment *experiment = work->bounding->experiment;
    const PowerSpec *power = &experiment->platform->power;
    double above_idle = MAX(0, power->cluster_busy_watts - power->cluster_idle_watts);
    double idle_watts = nodes_of(experiment) * power->node_watts +
                        experiment->plan->clusters_used * power->cluster_idle_watts;

    figures[FIGURE_ENERGY] = idle_watts * figures[FIGURE_MAKESPAN] + above_idle * busy_s * ROUNDING;
    figures[FIGURE_ENERGY_PER_TOKEN] = figures[FIGURE_ENERGY] / work->bounding->load->output_tokens;
}

static gboolean has_window(const OutputSpec *output) {
    return output->warmup_s > 0 || output->cooldown_s > 0;
}

/* Requests whose latencies count. */
static gboolean counts(const BoundWork *work, gsize i) {
    const Experiment *experiment = work->bounding->experiment;
    const BoundLoad *load = work->bounding->load;

    return !has_window(&experiment->output) ||
           (load->arrivals_s[i] >= experiment->output.warmup_s &&
            load->arrivals_s[i] <=
                experiment->facts.last_arrival_s - experiment->output.cooldown_s);
}

/* --- latencies */

#define FIGURES_OF_LATENCY 4 /* the mean and quantiles behind it */

static const struct {
    LatencyKind kind;
    Figure mean;
} bounded[] = {{LATENCY_TTFT, FIGURE_TTFT_MEAN},
               {LATENCY_TPOT, FIGURE_TPOT_MEAN},
               {LATENCY_E2E, FIGURE_E2E_MEAN}};

static gboolean wants_latency(const gboolean *wanted, Figure mean) {
    gboolean wants = wanted == NULL;

    for (guint i = 0; i < FIGURES_OF_LATENCY && !wants; i++)
        wants = wanted[mean + i];
    return wants;
}

static gboolean wants_goodput(const gboolean *wanted) {
    return wanted == NULL || wanted[FIGURE_GOODPUT] || wanted[FIGURE_GOODPUT_RATE];
}

gboolean plan_bound_wants_latencies(const gboolean *wanted) {
    gboolean wants = wants_goodput(wanted);

    for (guint i = 0; i < G_N_ELEMENTS(bounded) && !wants; i++)
        wants = wants_latency(wanted, bounded[i].mean);
    return wants;
}

static gboolean can_be_good(const BoundWork *work, const BoundLatencies *latencies, gsize i) {
    for (LatencyKind kind = 0; kind < N_LATENCIES; kind++) {
        const SloLimit *limit = latency_limit(kind, &work->bounding->experiment->slo);
        if (limit != NULL && latencies->of[kind][i] > limit->limit_s)
            return FALSE;
    }
    return counts(work, i);
}

static gsize most_good(const BoundWork *work, const BoundLatencies *latencies) {
    gsize n = work->bounding->load->n;

    if (!slo_has_limits(&work->bounding->experiment->slo) ||
        !wants_goodput(work->bounding->wanted) || n > BOUND_GOODPUT_MAX ||
        work->bounding->load->closed_loop) /* dates of arrival are not known */
        return n;
    g_autofree gboolean *eligible = g_new(gboolean, n);
    for (gsize i = 0; i < n; i++)
        eligible[i] = can_be_good(work, latencies, i);
    return bound_goodput_most(work, eligible);
}

void bound_latencies_init(BoundLatencies *latencies, const BoundWork *work) {
    gsize n = work->bounding->load->n;

    for (LatencyKind kind = 0; kind < N_LATENCIES; kind++)
        latencies->of[kind] = g_new0(double, n);
    for (gsize i = 0; i < n; i++) {
        const WorkAlone *alone = &work->alone[i];
        guint32 output = work->bounding->load->outputs[i];
        double rest_s = alone->pull_s + alone->answer_s;
        latencies->of[LATENCY_TTFT][i] = alone->first_s * ROUNDING;
        latencies->of[LATENCY_E2E][i] = (alone->first_s + rest_s) * ROUNDING;
        latencies->of[LATENCY_TPOT][i] = output > 1 ? rest_s / (output - 1) * ROUNDING : -1;
    }
    latencies->most_good = most_good(work, latencies);
}

void bound_latencies_clear(BoundLatencies *latencies) {
    for (LatencyKind kind = 0; kind < N_LATENCIES; kind++)
        g_clear_pointer(&latencies->of[kind], g_free);
}

static void fill_latency(const BoundWork *work, const double *latencies, Figure mean,
                         double *figures) {
    static const double quantiles[] = {0.5, 0.9, 0.99};
    g_autoptr(Histogram) histogram = histogram_new();

    for (gsize i = 0; i < work->bounding->load->n; i++)
        if (counts(work, i) && latencies[i] >= 0)
            histogram_add(histogram, latencies[i]);
    if (histogram_count(histogram) == 0)
        return;
    double error = histogram_count(histogram) < HISTOGRAM_EXACT_VALUES ? 1 : HISTOGRAM_ERROR;
    figures[mean] = histogram_mean(histogram) * error;
    for (guint q = 0; q < G_N_ELEMENTS(quantiles); q++)
        figures[mean + 1 + q] = histogram_quantile(histogram, quantiles[q]) * error;
}

static void fill_goodput(const BoundWork *work, const BoundLatencies *latencies, double *figures) {
    gsize all = 0, good = 0;

    for (gsize i = 0; i < work->bounding->load->n; i++) {
        all += counts(work, i) ? 1 : 0;
        good += can_be_good(work, latencies, i) ? 1 : 0;
    }
    if (all == 0 || !slo_has_limits(&work->bounding->experiment->slo))
        return;
    figures[FIGURE_GOODPUT] = (double)MIN(good, latencies->most_good) / (double)all;
    figures[FIGURE_GOODPUT_RATE] =
        figures[FIGURE_REQUEST_RATE] * figures[FIGURE_GOODPUT]; /* NaN stays */
}

/* --- rates */

static void fill_rates(const BoundWork *work, double *figures) {
    const BoundLoad *load = work->bounding->load;
    double makespan_s = figures[FIGURE_MAKESPAN];

    if (has_window(&work->bounding->experiment->output) || makespan_s <= 0)
        return;
    figures[FIGURE_THROUGHPUT] = load->output_tokens / makespan_s;
    figures[FIGURE_REQUEST_RATE] = (double)load->n / makespan_s;
    figures[FIGURE_COST] = figures[FIGURE_CLUSTERS] * 1e6 / 3600 / figures[FIGURE_THROUGHPUT];
}

void plan_bound_rates(const BoundWork *work, double end_s, double busy_s, double *figures) {
    figures[FIGURE_MAKESPAN] = end_s * ROUNDING;
    fill_rates(work, figures);
    fill_energy(work, busy_s, figures);
}

void plan_bound_latencies(const BoundWork *work, const BoundLatencies *latencies,
                          const gboolean *wanted, double *figures) {
    const BoundLoad *load = work->bounding->load;

    if (load->closed_loop && has_window(&work->bounding->experiment->output))
        return; /* which requests arrive within the window is not known */
    for (guint i = 0; i < G_N_ELEMENTS(bounded); i++)
        if (wants_latency(wanted, bounded[i].mean))
            fill_latency(work, latencies->of[bounded[i].kind], bounded[i].mean, figures);
    if (wants_goodput(wanted))
        fill_goodput(work, latencies, figures);
}
