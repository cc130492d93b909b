#include "analysis/run/wafer_numbers.h"

#include "actors/kernels/reference.h"
#include "actors/mesh/mesh_model.h"
#include "analysis/campaign/child.h"

struct WaferNumbers {
    GArray *requests; /* MeshModelRequest; prompts and tokens are theirs */
    const guint32 **tokens;
    double clock_hz;
};

void wafer_numbers_free(WaferNumbers *numbers) {
    if (numbers == NULL)
        return;
    for (guint i = 0; i < numbers->requests->len; i++) {
        MeshModelRequest *request = &g_array_index(numbers->requests, MeshModelRequest, i);
        g_free((gpointer)request->prompt);
        g_free(request->tokens);
    }
    g_array_unref(numbers->requests);
    g_free(numbers->tokens);
    g_free(numbers);
}

const guint32 *const *wafer_numbers_tokens(const WaferNumbers *numbers) {
    return numbers->tokens;
}

double wafer_numbers_prefill_seconds(const WaferNumbers *numbers) {
    double cycles = 0;

    for (guint i = 0; i < numbers->requests->len; i++)
        cycles += g_array_index(numbers->requests, MeshModelRequest, i).prefill_cycles;
    return cycles / numbers->clock_hz;
}

double wafer_numbers_decode_seconds(const WaferNumbers *numbers) {
    double cycles = 0;

    for (guint i = 0; i < numbers->requests->len; i++)
        cycles += g_array_index(numbers->requests, MeshModelRequest, i).decode_cycles;
    return cycles / numbers->clock_hz;
}

gboolean wafer_numbers_check(const Policy *policy, const Model *model, const YamlNode *place,
                             GError **error) {
    const WaferSpec *spec = &policy->wafer;
    g_autoptr(GError) cause = NULL;

    if (spec->prefill_grid == 0 || spec->prefill_grid != spec->decode_grid)
        return yaml_error(place, INPUT_ERROR_CONFLICT, error,
                          "numerics on a wafer need 'prefill_grid' and 'decode_grid' to be given "
                          "and equal");
    if (spec->system != WAFER_WAFERLLM || spec->kv != KV_SHIFT)
        return yaml_error(place, INPUT_ERROR_CONFLICT, error,
                          "numerics on a wafer need 'system: waferllm' and 'kv: shift', which the "
                          "cores compute by");
    return mesh_model_check(model, (guint)spec->prefill_grid, &cause) ||
           yaml_error(place, INPUT_ERROR_CONFLICT, error, "%s", cause->message);
}

static void add_request(WaferNumbers *numbers, const Experiment *experiment,
                        const NumericsSetup *numerics, const Request *request) {
    guint32 *prompt = g_new(guint32, request->prompt_tokens);
    MeshModelRequest entry = {.prompt = prompt,
                              .n_prompt = request->prompt_tokens,
                              .n_output = request->output_tokens,
                              .tokens = g_new0(guint32, request->output_tokens),
                              .sampling = numerics->sampling};

    reference_prompt(experiment->model, numerics->seed, request->id, prompt,
                     request->prompt_tokens);
    entry.sampling.request = request->id;
    g_array_append_val(numbers->requests, entry);
}

/* Requests that no plan could hold are never served: nothing is computed of them, but they keep
 * their places. */
static gboolean list_requests(WaferNumbers *numbers, const Experiment *experiment,
                              const NumericsSetup *numerics, GError **error) {
    g_autoptr(RequestSource) source =
        request_source_open(experiment->workload, experiment->seed, error);
    g_autoptr(GError) failure = NULL;
    Request request;

    if (source == NULL)
        return FALSE;
    while (request_source_next(source, &request, &failure)) {
        if (request.prompt_tokens + request.output_tokens > experiment->plan->max_context)
            request.prompt_tokens = request.output_tokens = 1;
        add_request(numbers, experiment, numerics, &request);
        request_clear(&request);
    }
    if (failure == NULL)
        return TRUE;
    g_propagate_error(error, g_steal_pointer(&failure));
    return FALSE;
}

typedef struct Job {
    const Experiment *experiment;
    const NumericsSetup *numerics;
    WaferNumbers *numbers;
} Job;

static gboolean work(gpointer data, gsize index, GByteArray *reply, GError **error) {
    Job *job = data;
    const Experiment *experiment = job->experiment;
    GArray *requests = job->numbers->requests;
    MeshModelSetup setup = {.model = experiment->model,
                            .checkpoint = job->numerics->checkpoint,
                            .requests = (MeshModelRequest *)(void *)requests->data,
                            .n_requests = requests->len,
                            .k_tree = (guint)experiment->policy->wafer.k_tree};

    g_assert(index == 0);
    if (!mesh_model_run(&experiment->platform->mesh, (guint)experiment->policy->wafer.prefill_grid,
                        &setup, NULL, error))
        return FALSE;
    for (guint i = 0; i < requests->len; i++) {
        const MeshModelRequest *request = &setup.requests[i];
        const double cycles[] = {request->prefill_cycles, request->decode_cycles};
        g_byte_array_append(reply, (const guint8 *)cycles, sizeof cycles);
        g_byte_array_append(reply, (const guint8 *)request->tokens,
                            request->n_output * (guint)sizeof *request->tokens);
    }
    return TRUE;
}

static gboolean take(gpointer data, gsize index, const GByteArray *reply, GError **error) {
    Job *job = data;
    gsize at = 0;
    gboolean whole = TRUE;

    (void)error;
    g_assert(index == 0);
    for (guint i = 0; i < job->numbers->requests->len; i++) {
        MeshModelRequest *request = &g_array_index(job->numbers->requests, MeshModelRequest, i);
        whole &= child_reply_read(reply, &at, &request->prefill_cycles, sizeof(double)) &&
                 child_reply_read(reply, &at, &request->decode_cycles, sizeof(double)) &&
                 child_reply_read(reply, &at, request->tokens,
                                  request->n_output * sizeof *request->tokens);
    }
    g_assert(whole);
    return TRUE;
}

WaferNumbers *wafer_numbers_new(const Experiment *experiment, const NumericsSetup *numerics,
                                GError **error) {
    g_autoptr(WaferNumbers) numbers = g_new0(WaferNumbers, 1);
    Job job = {experiment, numerics, numbers};
    ChildJobs jobs = {.n = 1, .data = &job, .work = work, .take = take};

    numbers->requests = g_array_new(FALSE, FALSE, sizeof(MeshModelRequest));
    numbers->clock_hz = experiment->platform->mesh.clock_hz;
    if (!list_requests(numbers, experiment, numerics, error) || !child_run_all(&jobs, error))
        return NULL;
    numbers->tokens = g_new(const guint32 *, numbers->requests->len);
    for (guint i = 0; i < numbers->requests->len; i++)
        numbers->tokens[i] = g_array_index(numbers->requests, MeshModelRequest, i).tokens;
    return g_steal_pointer(&numbers);
}
