#include "analysis/run/outcome.h"

#include "analysis/output/number_text.h"
#include "analysis/run/experiment_run.h"
#include "analysis/run/run_facts.h"
#include "analysis/run/summary.h"
#include "workloads/input_error.h"
#include <math.h>
#include <string.h>

static const FigureInfo figures[N_FIGURES] = {
    [FIGURE_CLUSTERS] = {"clusters", "clusters", DIMENSION_COUNT, FALSE, TRUE},
    [FIGURE_MAKESPAN] = {"makespan", "makespan_s", DIMENSION_SECONDS, FALSE, TRUE},
    [FIGURE_THROUGHPUT] = {"throughput", "throughput_tokens_per_s", DIMENSION_NONE, TRUE, TRUE},
    [FIGURE_REQUEST_RATE] = {"request_rate", "request_rate_per_s", DIMENSION_HERTZ, TRUE, TRUE},
    [FIGURE_GOODPUT] = {"goodput", "goodput_share", DIMENSION_NONE, TRUE, TRUE},
    [FIGURE_GOODPUT_RATE] = {"goodput_rate", "goodput_rate_per_s", DIMENSION_HERTZ, TRUE, TRUE},
    [FIGURE_COST] = {"cost", "cost_cluster_hours_per_million_tokens", DIMENSION_NONE, FALSE, TRUE},
    [FIGURE_ENERGY] = {"energy", "energy_joules", DIMENSION_NONE, FALSE, TRUE},
    [FIGURE_ENERGY_PER_TOKEN] = {"energy_per_token", "energy_per_token_joules", DIMENSION_NONE,
                                 FALSE, TRUE},
    [FIGURE_TTFT_MEAN] = {"ttft_mean", "ttft_mean_s", DIMENSION_SECONDS, FALSE, TRUE},
    [FIGURE_TTFT_P50] = {"ttft_p50", "ttft_p50_s", DIMENSION_SECONDS, FALSE, TRUE},
    [FIGURE_TTFT_P90] = {"ttft_p90", "ttft_p90_s", DIMENSION_SECONDS, FALSE, TRUE},
    [FIGURE_TTFT_P99] = {"ttft_p99", "ttft_p99_s", DIMENSION_SECONDS, FALSE, TRUE},
    [FIGURE_TPOT_MEAN] = {"tpot_mean", "tpot_mean_s", DIMENSION_SECONDS, FALSE, TRUE},
    [FIGURE_TPOT_P50] = {"tpot_p50", "tpot_p50_s", DIMENSION_SECONDS, FALSE, TRUE},
    [FIGURE_TPOT_P90] = {"tpot_p90", "tpot_p90_s", DIMENSION_SECONDS, FALSE, TRUE},
    [FIGURE_TPOT_P99] = {"tpot_p99", "tpot_p99_s", DIMENSION_SECONDS, FALSE, TRUE},
    [FIGURE_E2E_MEAN] = {"e2e_mean", "e2e_mean_s", DIMENSION_SECONDS, FALSE, TRUE},
    [FIGURE_E2E_P50] = {"e2e_p50", "e2e_p50_s", DIMENSION_SECONDS, FALSE, TRUE},
    [FIGURE_E2E_P90] = {"e2e_p90", "e2e_p90_s", DIMENSION_SECONDS, FALSE, TRUE},
    [FIGURE_E2E_P99] = {"e2e_p99", "e2e_p99_s", DIMENSION_SECONDS, FALSE, TRUE},
    [FIGURE_QUEUEING_MEAN] = {"queueing_mean", "queueing_mean_s", DIMENSION_SECONDS, FALSE, TRUE},
    [FIGURE_PREFILL_BUSY] = {"prefill_busy", "prefill_busy_share", DIMENSION_NONE, TRUE, FALSE},
    [FIGURE_DECODE_BUSY] = {"decode_busy", "decode_busy_share", DIMENSION_NONE, TRUE, FALSE},
    [FIGURE_BUFFER_FULL] = {"buffer_full", "buffer_full_share", DIMENSION_NONE, FALSE, FALSE},
    [FIGURE_COMPLETED] = {"completed", "completed", DIMENSION_COUNT, TRUE, FALSE},
    [FIGURE_REJECTED] = {"rejected", "rejected", DIMENSION_COUNT, FALSE, FALSE},
    [FIGURE_EVENTS] = {"events", "events", DIMENSION_COUNT, FALSE, FALSE},
    [FIGURE_SLOTS_NEEDED] = {"slots_needed", "slots_needed", DIMENSION_COUNT, FALSE, FALSE},
};

static const char *const status_names[] = {[OUTCOME_OK] = "ok",
                                           [OUTCOME_REFUSED] = "refused",
                                           [OUTCOME_BROKEN] = "broken",
                                           [OUTCOME_CUT] = "cut"};

const FigureInfo *figure_info(Figure figure) {
    return &figures[figure];
}

int figure_find(const char *name) {
    for (int i = 0; i < N_FIGURES; i++)
        if (strcmp(figures[i].name, name) == 0)
            return i;
    return -1;
}

const char *outcome_status_name(OutcomeStatus status) {
    return status_names[status];
}

void outcome_init(Outcome *outcome) {
    *outcome = (Outcome){.status = OUTCOME_OK};
    for (guint i = 0; i < N_FIGURES; i++)
        outcome->figures[i] = NAN;
}

void outcome_clear(Outcome *outcome) {
    g_clear_pointer(&outcome->reason, g_free);
}

void outcome_fail(Outcome *outcome, OutcomeStatus status, const char *reason) {
    outcome_clear(outcome);
    outcome_init(outcome);
    outcome->status = status;
    outcome->reason = g_strdup(reason);
}

/* --- as text: status, the figures, and the reason where there is one, apart by spaces */

#define NO_FIGURE "-"

char *outcome_write(const Outcome *outcome) {
    GString *out = g_string_new(status_names[outcome->status]);

    for (guint i = 0; i < N_FIGURES; i++) {
        char number[NUMBER_TEXT_MAX];
        gsize length = (gsize)(number_text_shortest(number, outcome->figures[i]) - number);
        gboolean finite = isfinite(outcome->figures[i]);
        g_string_append_c(out, ' ');
        g_string_append_len(out, finite ? number : NO_FIGURE,
                            finite ? (gssize)length : (gssize)strlen(NO_FIGURE));
    }
    if (outcome->status != OUTCOME_OK) {
        g_autofree char *reason = g_strescape(outcome->reason, NULL);
        g_string_append_printf(out, " %s", reason);
    }
    return g_string_free(out, FALSE);
}

static gboolean status_parse(const char *word, OutcomeStatus *status) {
    for (guint i = 0; i < G_N_ELEMENTS(status_names); i++)
        if (strcmp(status_names[i], word) == 0) {
            *status = (OutcomeStatus)i;
            return TRUE;
        }
    return FALSE;
}

static gboolean figure_parse(const char *word, double *figure) {
    char *end;

    *figure = NAN;
    if (strcmp(word, NO_FIGURE) == 0)
        return TRUE;
    if (*word == '\0' || word[strspn(word, "0123456789+-.e")] != '\0')
        return FALSE;
    *figure = g_ascii_strtod(word, &end);
    return *end == '\0' && isfinite(*figure);
}

gboolean outcome_parse(const char *text, Outcome *outcome) {
    g_auto(GStrv) words = g_strsplit(text, " ", N_FIGURES + 2);
    guint n = g_strv_length(words);

    outcome_init(outcome);
    if (n < N_FIGURES + 1 || !status_parse(words[0], &outcome->status) ||
        (n == N_FIGURES + 2) != (outcome->status != OUTCOME_OK))
        return FALSE;
    for (guint i = 0; i < N_FIGURES; i++)
        if (!figure_parse(words[i + 1], &outcome->figures[i]))
            return FALSE;
    if (outcome->status != OUTCOME_OK)
        outcome->reason = g_strcompress(words[N_FIGURES + 1]);
    return TRUE;
}

/* --- the figures of a run */

typedef struct Ran {
    const Experiment *experiment;
    const Ledger *ledger;
    const MetricsWindow *window; /* the steady state where there is one, else the whole run */
    double span_s;
} Ran;

static double ratio(double part, double whole) {
    return whole > 0 ? part / whole : NAN;
}

/* Of all requests that arrived, so that those turned away count against it. */
static double goodput_share(const Ran *ran) {
    const MetricsWindow *window = ran->window;

    if (!slo_has_limits(&ran->experiment->slo))
        return NAN;
    return ratio((double)window->good, (double)(window->requests + window->lost));
}

/* As the summary has it: the rate of completed requests times the share of them that is good. */
static double goodput_rate(const Ran *ran, double request_rate) {
    const MetricsWindow *window = ran->window;

    if (!slo_has_limits(&ran->experiment->slo))
        return NAN;
    return window->requests == 0 ? 0
                                 : request_rate * (double)window->good / (double)window->requests;
}

static void fill_rates(const Ran *ran, double *to) {
    double rate = ratio((double)ran->window->completed_in_window, ran->span_s);
    double tokens_per_s = ratio((double)ran->window->tokens_in_window, ran->span_s);
    double clusters = ran->experiment->plan->clusters_used;

    to[FIGURE_CLUSTERS] = clusters;
    to[FIGURE_MAKESPAN] = ran->ledger->end_s;
    to[FIGURE_THROUGHPUT] = tokens_per_s;
    to[FIGURE_REQUEST_RATE] = rate;
    to[FIGURE_GOODPUT] = goodput_share(ran);
    to[FIGURE_GOODPUT_RATE] = goodput_rate(ran, rate);
    to[FIGURE_COST] = ratio(clusters * 1e6 / 3600, tokens_per_s);
}

static void fill_latencies(const Ran *ran, double *to) {
    static const struct {
        Figure mean;
        gboolean quantiles; /* p50, p90 and p99 follow the mean */
    } places[N_LATENCIES] = {[LATENCY_TTFT] = {FIGURE_TTFT_MEAN, TRUE},
                             [LATENCY_TPOT] = {FIGURE_TPOT_MEAN, TRUE},
                             [LATENCY_E2E] = {FIGURE_E2E_MEAN, TRUE},
                             [LATENCY_QUEUEING] = {FIGURE_QUEUEING_MEAN, FALSE}};
    static const double quantiles[] = {0.5, 0.9, 0.99};

    for (LatencyKind kind = 0; kind < N_LATENCIES; kind++) {
        Histogram *histogram = ran->window->latencies[kind];
        double *mean = &to[places[kind].mean];
        if (histogram_count(histogram) == 0)
            continue;
        mean[0] = histogram_mean(histogram);
        for (guint i = 0; places[kind].quantiles && i < G_N_ELEMENTS(quantiles); i++)
            mean[1 + i] = histogram_quantile(histogram, quantiles[i]);
    }
}

/* The busy share of the clusters of one role and of colocated ones, which do both. */
static double busy_share(const Ran *ran, ReplicaRole role) {
    const Plan *plan = ran->experiment->plan;
    double busy = 0, clusters = 0;

    for (guint i = 0; i < plan->n_replicas; i++) {
        const ReplicaPlan *replica = &plan->replicas[i];
        if (replica->role != role && replica->role != ROLE_COLOCATED)
            continue;
        for (guint s = 0; s < replica->n_stages; s++) {
            clusters += replica->stages[s].tp;
            busy += replica->stages[s].tp * ran->ledger->replicas[i].stages[s].busy_s;
        }
    }
    return ratio(busy, clusters * ran->ledger->end_s);
}

static double buffer_full(const Ran *ran) {
    const Ledger *ledger = ran->ledger;
    double paused_s = 0;

    if (ran->experiment->plan->n_buffers == 0)
        return NAN;
    for (guint pool = 0; pool < ledger->n_pools; pool++)
        paused_s += ledger->paused_s[pool];
    return ratio(paused_s, (double)ledger->n_pools * ledger->end_s);
}

static void fill_resources(const Ran *ran, double *to) {
    const Ledger *ledger = ran->ledger;
    guint64 rejected = 0;

    for (guint i = 0; i < N_REJECT_REASONS; i++)
        rejected += ledger->rejected[i];
    to[FIGURE_ENERGY] = summary_energy_joules(ran->experiment, ledger);
    to[FIGURE_ENERGY_PER_TOKEN] = ratio(to[FIGURE_ENERGY], (double)ledger->output_tokens_done);
    to[FIGURE_PREFILL_BUSY] = busy_share(ran, ROLE_PREFILL);
    to[FIGURE_DECODE_BUSY] = busy_share(ran, ROLE_DECODE);
    to[FIGURE_BUFFER_FULL] = buffer_full(ran);
    to[FIGURE_COMPLETED] = (double)ledger->completed;
    to[FIGURE_REJECTED] = (double)rejected;
    to[FIGURE_EVENTS] = (double)run_facts_activities(ledger);
    to[FIGURE_SLOTS_NEEDED] = (double)ledger->slots_needed;
}

void outcome_fill(Outcome *outcome, const Experiment *experiment, const Ledger *ledger,
                  const Metrics *metrics) {
    const MetricsWindow *steady = metrics_steady(metrics);
    const MetricsWindow *window = steady == NULL ? metrics_whole(metrics) : steady;
    Ran ran = {experiment, ledger, window, window->to_s - window->from_s};

    outcome_init(outcome);
    fill_rates(&ran, outcome->figures);
    fill_latencies(&ran, outcome->figures);
    fill_resources(&ran, outcome->figures);
}

/* --- running */

static void fail_by(Outcome *outcome, const GError *error) {
    outcome_fail(outcome, error->domain == INPUT_ERROR ? OUTCOME_REFUSED : OUTCOME_BROKEN,
                 error->message);
}

static void cut(Outcome *outcome, const RunWatch *watch, const Ledger *ledger) {
    g_autofree char *when = g_strdup_printf("at %.3g s of the run", ledger->end_s);

    outcome_fail(outcome, OUTCOME_CUT, when);
    memcpy(outcome->figures, watch->figures, sizeof outcome->figures);
    outcome->figures[FIGURE_EVENTS] = (double)run_facts_activities(ledger);
    outcome->figures[FIGURE_SLOTS_NEEDED] = (double)ledger->slots_needed;
}

void outcome_of_experiment(const Experiment *experiment, const OpCosts *costs, RunWatch *watch,
                           Outcome *outcome) {
    g_autoptr(GError) error = NULL;
    g_autoptr(RequestSource) source =
        request_source_open(experiment->workload, experiment->seed, &error);
    Ledger ledger = {0};

    outcome_init(outcome);
    if (source == NULL) {
        fail_by(outcome, error);
        return;
    }
    g_autoptr(Metrics) metrics = experiment_run_metrics(experiment);
    Observer *observers[] = {metrics_observer(metrics), watch == NULL ? NULL : &watch->observer};
    SimulationSetup setup = experiment_run_setup(experiment, costs, source);
    setup.observers = observers;
    setup.n_observers = watch == NULL ? 1 : 2;
    setup.interrupted = watch == NULL ? NULL : &watch->ended;
    SimulationOutcome ended = simulation_run(&setup, &ledger, &error);
    metrics_finish(metrics, ledger.end_s);
    g_autofree char *fault = experiment_run_fault(&ledger, ended, error);
    if (fault != NULL)
        outcome_fail(outcome, OUTCOME_BROKEN, fault);
    else if (watch != NULL && ended == OUTCOME_INTERRUPTED)
        cut(outcome, watch, &ledger);
    else
        outcome_fill(outcome, experiment, &ledger, metrics);
    ledger_clear(&ledger);
}
