#include "tests/engine/run.h"

#include "analysis/run/experiment_run.h"
#include "analysis/run/invariants.h"
#include "analysis/run/summary.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct Recorder {
    Observer observer;
    RunResult *result;
    guint events, interrupt_after_events;
    sig_atomic_t interrupted;
} Recorder;

/* Looks closely for a while, and now and then at dates of its own. */
typedef struct Glimpse {
    Observer observer;
    RunResult *result;
    guint most_steps;
    double interval_s;
} Glimpse;

static void glimpse(Observer *observer, const Event *event) {
    Glimpse *self = (Glimpse *)observer;
    if (event->kind != EVENT_STEP)
        return;
    g_assert_true(observer->wants_steps);
    if (++self->result->glimpsed_steps == self->most_steps)
        observer->wants_steps = observer->wants_transfers = FALSE;
}

static void glimpse_sample(Observer *observer, const SimulationSample *sample) {
    Glimpse *self = (Glimpse *)observer;
    g_assert_cmpfloat(sample->time_s, ==, observer->next_sample_s);
    self->interval_s *= 1.25;
    observer->next_sample_s += self->interval_s;
    self->result->glimpsed_samples++;
}

static guint64 mix(guint64 hash, guint64 value) {
    for (guint i = 0; i < 8; i++, value >>= 8)
        hash = (hash ^ (value & 0xff)) * 0x100000001b3;
    return hash;
}

static guint64 bits_of(double value) {
    guint64 bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static gboolean ends(EventKind kind) {
    return kind == EVENT_COMPLETED || kind == EVENT_REJECTED || kind == EVENT_DROPPED;
}

static void record(Observer *observer, const Event *event) {
    Recorder *recorder = (Recorder *)observer;
    RunResult *result = recorder->result;
    recorder->interrupted |= ++recorder->events == recorder->interrupt_after_events;
    if (event->kind == EVENT_STEP || event->kind == EVENT_TRANSFER)
        return;
    result->event_hash = mix(result->event_hash, event->kind);
    result->event_hash = mix(result->event_hash, bits_of(event->time_s));
    if (!event->request)
        return;
    result->event_hash = mix(result->event_hash, event->request->request.id);
    if (!ends(event->kind))
        return;
    g_assert_cmpuint(result->n_requests, <, RUN_MAX_REQUESTS);
    ServedRequest *copy = &result->requests[result->n_requests++];
    *copy = *event->request;
    copy->request.prefix_blocks = NULL;
    if (copy->tokens && result->n_requests <= RUN_MAX_TOKEN_ROWS)
        memcpy(result->tokens[result->n_requests - 1], copy->tokens,
               MIN(copy->generated, RUN_MAX_TOKENS) * sizeof(guint32));
    copy->tokens = NULL;
    copy->actor_state = NULL;
}

static void record_sample(Observer *observer, const SimulationSample *sample) {
    RunResult *result = ((Recorder *)observer)->result;
    result->event_hash = mix(result->event_hash, bits_of(sample->time_s));
    result->event_hash = mix(result->event_hash, sample->generated_tokens);
    result->event_hash = mix(result->event_hash, sample->running);
    result->event_hash = mix(result->event_hash, bits_of(sample->kv_bytes));
}

static void keep_totals(RunResult *result, const Experiment *experiment, const Ledger *ledger) {
    for (guint i = 0; i < ledger->n_replicas; i++) {
        const ReplicaTotals *totals = &ledger->replicas[i];
        if (i < RUN_MAX_STAGES)
            result->kv_peak_bytes[i] = totals->kv_bytes.peak;
        for (guint s = 0; s < totals->n_stages && result->n_stages < RUN_MAX_STAGES; s++)
            result->stages[result->n_stages++] =
                (RunStage){i, experiment->plan->replicas[i].role, totals->stages[s]};
    }
    if (ledger->end_s > 0)
        result->buffer_mean_bytes =
            time_integral_until(&ledger->buffer_bytes[0], ledger->end_s) / ledger->end_s;
    result->buffer_peak_bytes = ledger->buffer_bytes[0].peak;
    result->paused_s = ledger->paused_s[0];
    result->joules = summary_energy_joules(experiment, ledger);
    result->ledger = *ledger;
    result->ledger.replicas = NULL;
    result->ledger.buffer_bytes = NULL;
    result->ledger.paused_s = NULL;
}

OpCosts *costs_of(const Experiment *experiment) {
    g_autoptr(GError) error = NULL;
    OpCosts *costs = experiment_run_costs(experiment, TRUE, NULL, &error);
    g_assert_no_error(error);
    return costs;
}

static void run_in_child(Experiment *experiment, const RunOptions *options, RunResult *result) {
    g_autoptr(GError) error = NULL;
    g_autoptr(OpCosts) costs = costs_of(experiment);
    g_autoptr(RequestSource) source =
        request_source_open(experiment->workload, experiment->seed, &error);
    g_assert_no_error(error);
    Recorder recorder = {
        .observer = {.notify = record,
                     .sample = options->sample_interval_s > 0 ? record_sample : NULL,
                     .wants_steps = options->watch_steps,
                     .wants_transfers = options->watch_steps},
        .result = result,
        .interrupt_after_events = options->interrupt_after_events};
    Glimpse other = {.observer = {.notify = glimpse,
                                  .sample = glimpse_sample,
                                  .own_dates = TRUE,
                                  .wants_steps = TRUE,
                                  .wants_transfers = TRUE},
                     .result = result,
                     .most_steps = options->glimpse_steps,
                     .interval_s = 0.01};
    Observer *observers[] = {&recorder.observer, &other.observer};
    SimulationSetup setup = {.platform = experiment->platform,
                             .costs = costs,
                             .model = experiment->model,
                             .policy = experiment->policy,
                             .plan = experiment->plan,
                             .source = source,
                             .observers = observers,
                             .n_observers = options->glimpse_steps > 0 ? 2 : 1,
                             .fast_forward = !options->stepping,
                             .sample_interval_s = options->sample_interval_s,
                             .interrupted = &recorder.interrupted};
    g_autoptr(Checkpoint) checkpoint =
        options->numerics ? checkpoint_seeded(experiment->model, experiment->seed) : NULL;
    NumericsSetup numerics = {.checkpoint = checkpoint,
                              .seed = experiment->seed,
                              .sampling = {.top_k = 1, .temperature = 1},
                              .fault = options->fault};
    setup.numerics = options->numerics ? &numerics : NULL;
    Ledger ledger;
    result->outcome = simulation_run(&setup, &ledger, &error);
    g_autofree char *violated = invariants_violated(&ledger, result->outcome);
    g_strlcpy(result->message,
              error      ? error->message
              : violated ? violated
                         : "",
              sizeof result->message);
    keep_totals(result, experiment, &ledger);
    ledger_clear(&ledger);
}

Experiment *experiment_of(const char *text, const char *const *overrides) {
    g_autoptr(GError) error = NULL;
    g_autofree char *path = NULL;
    int file = g_file_open_tmp("infergrid-XXXXXX.yaml", &path, &error);
    g_assert_no_error(error);
    close(file);
    g_file_set_contents(path, text, -1, &error);
    g_assert_no_error(error);
    Experiment *experiment = experiment_load(path, overrides, &error);
    unlink(path);
    g_assert_no_error(error);
    return experiment;
}

RunResult *run_experiment(const char *text, const RunOptions *options) {
    static const RunOptions none;
    options = options ? options : &none;
    RunResult *result =
        mmap(NULL, sizeof *result, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    g_assert_true(result != MAP_FAILED);
    result->event_hash = 0xcbf29ce484222325;
    g_autoptr(Experiment) experiment = experiment_of(text, options->overrides);
    if (options->tamper)
        options->tamper(experiment);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        run_in_child(experiment, options, result);
        _exit(0);
    }
    int status;
    g_assert_cmpint(waitpid(child, &status, 0), ==, child);
    g_assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return result;
}

void run_free(RunResult *result) {
    munmap(result, sizeof *result);
}

RunResult *run_well(const char *text, const RunOptions *options) {
    RunResult *result = run_experiment(text, options);
    g_assert_cmpstr(result->message, ==, "");
    g_assert_cmpint(result->outcome, ==, OUTCOME_FINISHED);
    return result;
}

void assert_close(double a, double b, double relative) {
    if (fabs(a - b) > relative * MAX(fabs(a), fabs(b)))
        g_error("%.17g and %.17g differ by more than %g", a, b, relative);
}
