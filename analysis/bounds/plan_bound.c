#include "analysis/bounds/plan_bound.h"

#include "analysis/bounds/plan_parts.h"
#include <math.h>

struct PlanBounds {
    BoundLoad *load; /* NULL: too long */
    BoundRates *rates;
    gboolean wanted[N_FIGURES];
};

void plan_bounds_free(PlanBounds *bounds) {
    if (bounds == NULL)
        return;
    g_clear_pointer(&bounds->rates, bound_rates_free);
    g_clear_pointer(&bounds->load, bound_load_free);
    g_free(bounds);
}

PlanBounds *plan_bounds_new(const Experiment *base, const gboolean *wanted, GError **error) {
    g_autoptr(PlanBounds) bounds = g_new0(PlanBounds, 1);
    GError *failure = NULL;

    for (Figure figure = 0; figure < N_FIGURES; figure++)
        bounds->wanted[figure] = wanted == NULL || wanted[figure];
    bounds->rates = bound_rates_new();
    bounds->load = bound_load_new(base, &failure);
    if (failure == NULL)
        return g_steal_pointer(&bounds);
    g_propagate_error(error, failure);
    return NULL;
}

/* --- what a bound may be said of */

static gboolean buffers_hold(const Experiment *experiment, guint64 tokens) {
    const Plan *plan = experiment->plan;
    double layer_bytes = (double)(tokens * model_kv_bytes_per_token_layer(experiment->model));

    for (guint i = 0; i < plan->n_buffers; i++)
        if (plan->buffers[i].bytes < layer_bytes * (double)experiment->model->layers)
            return FALSE;
    return TRUE;
}

/* No request is turned away: each could go to any replica and any one buffer. */
static gboolean serves_all(const Experiment *experiment, const BoundLoad *load) {
    const Plan *plan = experiment->plan;

    if (load->most_total > plan->max_context || !buffers_hold(experiment, load->most_total))
        return FALSE;
    for (guint i = 0; i < plan->n_replicas; i++)
        if (plan->replicas[i].role != ROLE_PREFILL &&
            load->most_total > plan->replicas[i].kv_tokens)
            return FALSE;
    return TRUE;
}

static gboolean is_bounded(const Experiment *experiment, const BoundLoad *load) {
    const Policy *policy = experiment->policy;

    return load != NULL && (policy->mode == MODE_PBD || policy->mode == MODE_COLOCATED) &&
           policy->grain == GRAIN_STEP && serves_all(experiment, load);
}

/* --- how prompts and answers are computed */

static PromptSteps prompt_steps(const Policy *policy, const BoundLoad *load) {
    gboolean colocated = policy->mode == MODE_COLOCATED;
    PrefixCacheKind cache = colocated ? policy->decode.prefix_cache : policy->prefill.prefix_cache;
    guint64 chunk = colocated ? policy->decode.chunk_tokens : policy->prefill.chunk_tokens;

    if (cache != PREFIX_CACHE_OFF && load->prefixes)
        return PROMPTS_CACHED;
    if (chunk > 0)
        return PROMPTS_CHUNKED;
    return !colocated && policy->prefill.micro_batch == 1 ? PROMPTS_ALONE : PROMPTS_WHOLE;
}

/* Rows of a step that computes prompts, at the most. */
static guint64 prompt_rows(const Policy *policy, const BoundLoad *load) {
    const DecodeSpec *decode = &policy->decode;
    const PrefillSpec *prefill = &policy->prefill;

    if (policy->mode == MODE_COLOCATED)
        return decode->chunk_tokens > 0 ? MAX(decode->chunk_tokens, decode->slots)
                                        : MAX(decode->max_batch_tokens, load->most_prompt);
    return prefill->chunk_tokens > 0 ? prefill->chunk_tokens
                                     : prefill->micro_batch * load->most_prompt;
}

/* Prompts that end in such a step, and decoding requests with them. */
static guint64 sampled_rows(const Policy *policy) {
    if (policy->mode == MODE_COLOCATED)
        return policy->decode.slots;
    return policy->prefill.chunk_tokens > 0 ? 0 : policy->prefill.micro_batch;
}

/* Requests of a decode step, at the most: slots, and what fits into the KV of a replica at once. */
static guint64 batch_limit(const BoundShape *decode, const Experiment *experiment,
                           const BoundLoad *load) {
    const Policy *policy = experiment->policy;
    guint64 each = policy->kv_reservation == KV_RESERVE_MAX_CONTEXT ? experiment->plan->max_context
                                                                    : load->least_total;
    guint64 resident = policy->kv_reservation == KV_RESERVE_ON_DEMAND ? policy->decode.slots
                                                                      : decode->kv_tokens / each;

    return MAX(1, MIN(MIN(policy->decode.slots, resident), load->n));
}

/* After a preemption tokens come out of a prompt step that would else take decode steps. */
static gboolean decode_counts(const BoundShape *decode, const Policy *policy) {
    return policy->kv_reservation != KV_RESERVE_ON_DEMAND && decode->batch <= BOUND_ROWS_MAX;
}

/* --- a plan with its bounds */

gboolean plan_parts_init(PlanParts *parts, PlanBounds *bounds, const Experiment *experiment,
                         const OpCosts *costs) {
    const Policy *policy = experiment->policy;
    gboolean colocated = policy->mode == MODE_COLOCATED;
    Bounding *bounding = &parts->bounding;

    if (!is_bounded(experiment, bounds->load))
        return FALSE;
    DeviceModel device = device_model(experiment->platform, costs);
    *bounding = (Bounding){.experiment = experiment,
                           .load = bounds->load,
                           .wanted = bounds->wanted,
                           .colocated = colocated,
                           .steps = prompt_steps(policy, bounds->load),
                           .prompt_rows = prompt_rows(policy, bounds->load),
                           .sampled = sampled_rows(policy)};
    bound_shape_init(&bounding->prefill, experiment, colocated ? ROLE_COLOCATED : ROLE_PREFILL,
                     bounds->rates, &device);
    bound_shape_init(&bounding->decode, experiment, colocated ? ROLE_COLOCATED : ROLE_DECODE,
                     bounds->rates, &device);
    bounding->decode.batch = batch_limit(&bounding->decode, experiment, bounds->load);
    bounding->decode_counts = decode_counts(&bounding->decode, policy);
    bound_work_fill(&parts->work, bounding);
    bound_buffer_fill(&parts->buffer, &parts->work);
    bound_latencies_init(&parts->latencies, &parts->work);
    parts->end_s = bound_end(&parts->work, &parts->buffer);
    bound_left_of_all(&parts->all, &parts->work);
    parts->at_once_s = bound_left_end(&parts->all, &parts->work, &parts->buffer);
    parts->busy_s = bound_left_busy(&parts->all, &parts->work);
    return TRUE;
}

void plan_parts_clear(PlanParts *parts) {
    bound_left_clear(&parts->all);
    bound_latencies_clear(&parts->latencies);
    bound_work_clear(&parts->work);
    bound_shape_clear(&parts->bounding.prefill);
    bound_shape_clear(&parts->bounding.decode);
}

void plan_figures_unknown(const Experiment *experiment, double *figures) {
    for (guint i = 0; i < N_FIGURES; i++)
        figures[i] = NAN;
    figures[FIGURE_CLUSTERS] = experiment->plan->clusters_used;
}

double plan_bounds_fill(PlanBounds *bounds, const Experiment *experiment, const OpCosts *costs,
                        double *figures) {
    PlanParts parts;

    plan_figures_unknown(experiment, figures);
    if (!plan_parts_init(&parts, bounds, experiment, costs))
        return 0;
    plan_bound_rates(&parts.work, parts.end_s, parts.busy_s, figures);
    /* all of them, as pictures show them where they are no objectives */
    plan_bound_latencies(&parts.work, &parts.latencies, NULL, figures);
    plan_parts_clear(&parts);
    return parts.at_once_s;
}
