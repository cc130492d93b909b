#include "analysis/bounds/bound_load.h"

static void load_add(BoundLoad *load, Request *request) {
    guint32 total = request->prompt_tokens + request->output_tokens;
    gsize i = load->n++;

    load->prompts[i] = request->prompt_tokens;
    load->outputs[i] = request->output_tokens;
    load->arrivals_s[i] = load->closed_loop ? 0 : request->arrival_s;
    load->least_prompt = MIN(load->least_prompt, request->prompt_tokens);
    load->most_prompt = MAX(load->most_prompt, request->prompt_tokens);
    load->least_total = MIN(load->least_total, total);
    load->most_total = MAX(load->most_total, total);
    load->output_tokens += request->output_tokens;
    request_clear(request);
}

static gboolean is_uniform(const BoundLoad *load) {
    return !load->closed_loop && load->arrivals_s[load->n - 1] <= 0 &&
           load->least_prompt == load->most_prompt && load->least_total == load->most_total;
}

BoundLoad *bound_load_new(const Experiment *experiment, GError **error) {
    const WorkloadFacts *facts = &experiment->facts;
    gsize room = facts->requests;
    GError *failure = NULL;
    Request request;

    if (room > BOUND_LOAD_MAX)
        return NULL;
    g_autoptr(RequestSource) source =
        request_source_open(experiment->workload, experiment->seed, error);
    if (source == NULL)
        return NULL;
    g_autoptr(BoundLoad) load = g_new0(BoundLoad, 1);
    load->prompts = g_new(guint32, room);
    load->outputs = g_new(guint32, room);
    load->arrivals_s = g_new(double, room);
    load->least_prompt = load->least_total = G_MAXUINT32;
    load->closed_loop = facts->closed_loop;
    load->prefixes = facts->has_prefixes;
    while (load->n < room && request_source_next(source, &request, &failure))
        load_add(load, &request);
    if (failure != NULL) {
        g_propagate_error(error, failure);
        return NULL;
    }
    while (load->n < room && request_source_completed(source, 0, &request))
        load_add(load, &request);
    g_assert(load->n == room);
    load->uniform = is_uniform(load);
    return g_steal_pointer(&load);
}

void bound_load_free(BoundLoad *load) {
    if (load == NULL)
        return;
    g_free(load->prompts);
    g_free(load->outputs);
    g_free(load->arrivals_s);
    g_free(load);
}
