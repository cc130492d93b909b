#include "analysis/bounds/plan_watch.h"

#include "analysis/bounds/plan_parts.h"
#include <string.h>

/* A run is looked at so many times in the least time that it can take, less often where requests
 * are many, and ever more rarely when it takes much longer. */
#define LOOKS_MOST 64
#define LOOKS_LEAST 8
#define REQUESTS_LOOKED_AT 4000000

typedef enum { NO_TOKEN, SOME_TOKENS, ALL_TOKENS } Progress;

typedef struct PlanWatch {
    RunWatch run; /* first: what is handed out */
    PlanParts parts;
    RunUseless useless;
    gconstpointer data;
    double looks;
    BoundLeft fresh; /* requests whose prompts are not begun */
    BoundLeft left;  /* all that is not begun */
    guint64 first_tokens;
    guint8 *progress;  /* a request, by its id; NULL where arrivals are not known, or no latency is
                          asked for */
    gsize oldest_open; /* all requests before it have ended */
} PlanWatch;

/* --- what is begun */

static void begin_prompt(BoundLeft *left, const BoundWork *work, const Request *request) {
    const Bounding *bounding = work->bounding;

    left->prompts--;
    for (guint k = 0; k < bounding->prefill.n_kinds; k++)
        left->prompt_s[k] -= bound_work_prompt(bounding, &work->prefill[k], request->prompt_tokens);
    if (request->output_tokens > 1)
        left->kv_in_tokens -= request->prompt_tokens;
}

static void begin_pull(BoundLeft *left, const Request *request) {
    left->kv_out_tokens -= request->prompt_tokens;
}

static void begin_answer(BoundLeft *left, const BoundWork *work, const Request *request) {
    const Bounding *bounding = work->bounding;

    left->answers--;
    left->tokens -= request->output_tokens - 1;
    if (bounding->decode_counts)
        left->attention_s -= tp_rates_answer_attention(
            bounding->decode.rates, request->prompt_tokens, request->output_tokens);
}

static void begin_all(BoundLeft *left, const BoundWork *work, const Request *request) {
    begin_prompt(left, work, request);
    if (request->output_tokens == 1)
        return;
    begin_pull(left, request);
    begin_answer(left, work, request);
}

/* --- latencies */

static void note_latency(PlanWatch *watch, const ServedRequest *request, LatencyKind kind) {
    double latency_s = latency_of(kind, request);

    if (watch->progress != NULL && latency_s >= 0)
        watch->parts.latencies.of[kind][request->request.id] = latency_s;
}

static void note_progress(PlanWatch *watch, const ServedRequest *request, Progress progress) {
    if (watch->progress != NULL)
        watch->progress[request->request.id] = progress;
}

static void at_least(double *latency_s, double seconds) {
    *latency_s = MAX(*latency_s, seconds);
}

/* What has not come yet comes later than now. */
static void note_overdue(PlanWatch *watch, gsize i, double now_s) {
    const BoundLoad *load = watch->parts.bounding.load;
    double *const *of = watch->parts.latencies.of;
    double since_s = now_s - load->arrivals_s[i];

    if (watch->progress[i] == NO_TOKEN)
        at_least(&of[LATENCY_TTFT][i], since_s);
    if (watch->progress[i] == SOME_TOKENS && load->outputs[i] > 1)
        at_least(&of[LATENCY_TPOT][i], (since_s - of[LATENCY_TTFT][i]) / (load->outputs[i] - 1));
    if (watch->progress[i] != ALL_TOKENS)
        at_least(&of[LATENCY_E2E][i], since_s);
}

static void note_all_overdue(PlanWatch *watch, double now_s) {
    const BoundLoad *load = watch->parts.bounding.load;

    while (watch->oldest_open < load->n && watch->progress[watch->oldest_open] == ALL_TOKENS)
        watch->oldest_open++;
    for (gsize i = watch->oldest_open; i < load->n && load->arrivals_s[i] < now_s; i++)
        note_overdue(watch, i, now_s);
}

/* --- the observer */

static void notify(Observer *observer, const Event *event) {
    PlanWatch *watch = (PlanWatch *)observer;
    const BoundWork *work = &watch->parts.work;
    const ServedRequest *served = event->request;

    if (served == NULL)
        return;
    switch (event->kind) {
    case EVENT_PREFILL_STARTED:
        if (served->preemptions > 0)
            break;
        begin_prompt(&watch->left, work, &served->request);
        begin_all(&watch->fresh, work, &served->request);
        break;
    case EVENT_FIRST_TOKEN:
        watch->first_tokens++;
        note_progress(watch, served, SOME_TOKENS);
        note_latency(watch, served, LATENCY_TTFT);
        break;
    case EVENT_PULL_STARTED:
        if (served->preemptions == 0)
            begin_pull(&watch->left, &served->request);
        break;
    case EVENT_DECODE_STARTED:
        begin_answer(&watch->left, work, &served->request);
        break;
    case EVENT_COMPLETED:
        note_progress(watch, served, ALL_TOKENS);
        note_latency(watch, served, LATENCY_TPOT);
        note_latency(watch, served, LATENCY_E2E);
        break;
    default:
        break;
    }
}

/* The end of the run, as far as it can be told now. Of each running request one token may be on its
 * way. */
static void look_ahead(PlanWatch *watch, const SimulationSample *sample) {
    PlanParts *parts = &watch->parts;
    double done = (double)(sample->generated_tokens - watch->first_tokens);
    BoundLeft left = watch->left;

    left.from_s = watch->fresh.from_s = sample->time_s;
    left.fresh = FALSE;
    left.tokens = 0;
    if (parts->bounding.decode_counts)
        left.tokens = MAX(0, parts->all.tokens - done - (double)sample->running);
    left.attention_s += MAX(0, left.tokens - watch->left.tokens) * parts->work.token_attention_s;
    at_least(&parts->end_s, bound_left_end(&left, &parts->work, &parts->buffer));
    if (watch->fresh.prompts > 0)
        at_least(&parts->end_s, bound_left_end(&watch->fresh, &parts->work, &parts->buffer));
    at_least(&parts->busy_s, sample->busy_s + bound_left_busy(&left, &parts->work));
}

static void look(Observer *observer, const SimulationSample *sample) {
    PlanWatch *watch = (PlanWatch *)observer;
    PlanParts *parts = &watch->parts;
    double *figures = watch->run.figures;

    observer->next_sample_s = sample->time_s + MAX(parts->end_s, sample->time_s) / watch->looks;
    if (watch->run.ended)
        return;
    look_ahead(watch, sample);
    plan_bound_rates(&parts->work, parts->end_s, parts->busy_s, figures);
    if (watch->progress != NULL) {
        note_all_overdue(watch, sample->time_s);
        plan_bound_latencies(&parts->work, &parts->latencies, parts->bounding.wanted, figures);
    }
    watch->run.ended = watch->useless(watch->data, figures);
}

/* --- making one */

RunWatch *plan_watch_new(PlanBounds *bounds, const Experiment *experiment, const OpCosts *costs,
                         RunUseless useless, gconstpointer data) {
    g_autofree PlanWatch *watch = g_new0(PlanWatch, 1);
    PlanParts *parts = &watch->parts;

    if (!plan_parts_init(parts, bounds, experiment, costs))
        return NULL;
    if (parts->end_s <= 0) { /* nothing to look at */
        plan_parts_clear(parts);
        return NULL;
    }
    const BoundLoad *load = parts->bounding.load;
    watch->run.observer = (Observer){.notify = notify, .sample = look, .own_dates = TRUE};
    watch->useless = useless;
    watch->data = data;
    watch->looks = CLAMP(REQUESTS_LOOKED_AT / (double)load->n, LOOKS_LEAST, LOOKS_MOST);
    watch->run.observer.next_sample_s = parts->end_s / watch->looks;
    plan_figures_unknown(experiment, watch->run.figures);
    bound_left_copy(&watch->left, &parts->all, &parts->work);
    bound_left_copy(&watch->fresh, &parts->all, &parts->work);
    if (!load->closed_loop && plan_bound_wants_latencies(parts->bounding.wanted))
        watch->progress = g_new0(guint8, load->n);
    return (RunWatch *)g_steal_pointer(&watch);
}
