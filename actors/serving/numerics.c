#include "actors/serving/numerics.h"

#include "actors/kernels/layer.h"
#include "actors/kernels/reference.h"
#include <string.h>

struct Numerics {
    const Simulation *simulation;
    const Model *model;
    NumericsSetup setup;
    float **partials; /* max_tp vectors of hidden, one a rank */
    float *logits;    /* vocab */
    guint max_tp;
};

/* What a request has: its tokens, and KV in the three places where it can be. */
struct Numbers {
    GArray *tokens; /* guint32: prompt, then what was generated */
    guint layers;
    LayerKv **computed; /* a layer × tp of the replica that computes the prompt */
    guint computed_tp;
    LayerKv **buffered; /* a layer, all heads */
    LayerKv **decoding; /* a layer × tp of the decode replica; colocated: 'computed' */
    guint decoding_tp;
};

static LayerKv **kv_new(guint n) {
    LayerKv **kv = g_new(LayerKv *, n);
    for (guint i = 0; i < n; i++)
        kv[i] = layer_kv_new();
    return kv;
}

static void kv_free(LayerKv **kv, guint n) {
    for (guint i = 0; kv && i < n; i++)
        if (kv[i])
            layer_kv_free(kv[i]);
    g_free(kv);
}

static guint widest_stage(const Plan *plan) {
    guint widest = 1;
    for (guint i = 0; i < plan->n_replicas; i++)
        for (guint s = 0; s < plan->replicas[i].n_stages; s++)
            widest = MAX(widest, plan->replicas[i].stages[s].tp);
    return widest;
}

Numerics *numerics_new(const Simulation *simulation, const NumericsSetup *setup) {
    if (!setup)
        return NULL;
    Numerics *numerics = g_new0(Numerics, 1);
    numerics->simulation = simulation;
    numerics->model = simulation->setup.model;
    numerics->setup = *setup;
    numerics->max_tp = widest_stage(simulation->setup.plan);
    numerics->partials = g_new(float *, numerics->max_tp);
    for (guint rank = 0; rank < numerics->max_tp; rank++)
        numerics->partials[rank] = g_new(float, numerics->model->hidden);
    numerics->logits = g_new(float, numerics->model->vocab);
    return numerics;
}

void numerics_free(Numerics *numerics) {
    if (!numerics)
        return;
    for (guint rank = 0; rank < numerics->max_tp; rank++)
        g_free(numerics->partials[rank]);
    g_free(numerics->partials);
    g_free(numerics->logits);
    g_free(numerics);
}

static void drop_kv(Numbers *numbers) {
    kv_free(numbers->computed, numbers->layers * numbers->computed_tp);
    kv_free(numbers->buffered, numbers->layers);
    kv_free(numbers->decoding, numbers->layers * numbers->decoding_tp);
    numbers->computed = numbers->buffered = numbers->decoding = NULL;
}

void numerics_begin(Numerics *numerics, Served *served) {
    if (!numerics)
        return;
    Numbers *numbers = served->numbers;
    if (!numbers) {
        const Request *request = &served->public.request;
        served->numbers = numbers = g_new0(Numbers, 1);
        numbers->layers = (guint)numerics->model->layers;
        numbers->tokens = g_array_new(FALSE, FALSE, sizeof(guint32));
        g_array_set_size(numbers->tokens, request->prompt_tokens);
        reference_prompt(numerics->model, numerics->setup.seed, request->id,
                         (guint32 *)numbers->tokens->data, request->prompt_tokens);
    }
    drop_kv(numbers);
    numbers->computed_tp = served->entry->plan->stages[0].tp;
    numbers->computed = kv_new(numbers->layers * numbers->computed_tp);
}

void numerics_end(Served *served) {
    Numbers *numbers = served->numbers;
    if (!numbers)
        return;
    drop_kv(numbers);
    g_array_unref(numbers->tokens);
    g_clear_pointer(&served->numbers, g_free);
}

/* One token through the layers of a stage, on all its ranks, with both all-reduces a layer. */
static void run_layers(Numerics *numerics, const StagePlan *stage, LayerKv **kv, guint64 position,
                       float *x) {
    const Model *model = numerics->model;
    RankShape shape = {model, numerics->setup.checkpoint, 0, stage->tp};
    guint summed = numerics->setup.fault == NUMERICS_FAULT_ALL_REDUCE && stage->tp > 1
                       ? stage->tp - 1
                       : stage->tp;
    for (guint layer = stage->first_layer; layer < stage->first_layer + stage->layers; layer++) {
        for (shape.rank = 0; shape.rank < stage->tp; shape.rank++)
            layer_attention_half(&shape, layer, position, x, kv[layer * stage->tp + shape.rank],
                                 numerics->partials[shape.rank]);
        layer_ring_sum(summed, model->hidden, numerics->partials);
        residual_add(model->hidden, numerics->partials[0], x);
        for (shape.rank = 0; shape.rank < stage->tp; shape.rank++)
            layer_feed_forward_half(&shape, layer, x, numerics->partials[shape.rank]);
        layer_ring_sum(summed, model->hidden, numerics->partials);
        residual_add(model->hidden, numerics->partials[0], x);
    }
}

static void sample(Numerics *numerics, Served *served, guint64 position, const float *x) {
    RankShape whole = {numerics->model, numerics->setup.checkpoint, 0, 1};
    layer_logits(&whole, x, numerics->logits);
    Sampling sampling = numerics->setup.sampling;
    sampling.request = served->public.request.id;
    sampling.position = position + 1;
    guint32 token = (guint32)sample_token(numerics->model->vocab, numerics->logits, &sampling);
    g_array_append_val(served->numbers->tokens, token);
    served->public.tokens =
        (const guint32 *)served->numbers->tokens->data + served->public.request.prompt_tokens;
}

/* One token of the step on this stage; row 'row' of the activations that pass between stages. */
typedef struct TokenWork {
    Served *served;
    guint64 position;
    gsize row;
    LayerKv **kv;
    gboolean sampled;
} TokenWork;

static void run_token(Numerics *numerics, Stage *stage, Step *step, const TokenWork *work) {
    const Model *model = numerics->model;
    float *x = &g_array_index(step->activations, float, work->row * model->hidden);
    if (stage->index == 0) {
        RankShape whole = {model, numerics->setup.checkpoint, 0, 1};
        layer_embed(&whole, g_array_index(work->served->numbers->tokens, guint32, work->position),
                    x);
    }
    run_layers(numerics, stage->plan, work->kv, work->position, x);
    if (work->sampled && stage->index + 1 == stage->replica->plan->n_stages)
        sample(numerics, work->served, work->position, x);
}

static void run_chunk(Numerics *numerics, Stage *stage, Step *step, const Chunk *chunk, gsize row) {
    for (guint32 i = 0; i < chunk->new_tokens; i++) {
        TokenWork work = {.served = chunk->served,
                          .position = (guint64)chunk->past_tokens + i,
                          .row = row + i,
                          .kv = chunk->served->numbers->computed,
                          .sampled = chunk->last && i + 1 == chunk->new_tokens};
        run_token(numerics, stage, step, &work);
    }
}

/* The next of a request's tokens that were computed beforehand. */
static void take_known(const Numerics *numerics, Served *served) {
    Numbers *numbers = served->numbers;
    const Request *request = &served->public.request;
    guint made = numbers->tokens->len - request->prompt_tokens;
    guint32 token = numerics->setup.known[request->id][made];
    g_array_append_val(numbers->tokens, token);
    served->public.tokens = (const guint32 *)(void *)numbers->tokens->data + request->prompt_tokens;
}

static void take_step(const Numerics *numerics, const Step *step) {
    for (guint i = 0; i < step->chunks->len; i++) {
        const Chunk *chunk = &g_array_index(step->chunks, Chunk, i);
        if (chunk->last)
            take_known(numerics, chunk->served);
    }
    for (guint i = 0; i < step->decodes; i++)
        take_known(numerics, step->batch->members->pdata[i]);
}

void numerics_run_step(Numerics *numerics, Stage *stage, Step *step) {
    if (!numerics)
        return;
    if (numerics->setup.known) {
        take_step(numerics, step);
        return;
    }
    gsize rows = (gsize)step->prefill_tokens + step->decodes, row = 0;
    if (!step->activations)
        step->activations = g_array_new(FALSE, FALSE, sizeof(float));
    g_array_set_size(step->activations, (guint)(rows * numerics->model->hidden));
    for (guint i = 0; i < step->chunks->len; i++) {
        const Chunk *chunk = &g_array_index(step->chunks, Chunk, i);
        run_chunk(numerics, stage, step, chunk, row);
        row += chunk->new_tokens;
    }
    for (guint i = 0; i < step->decodes; i++) {
        Served *served = step->batch->members->pdata[i];
        Numbers *numbers = served->numbers;
        TokenWork work = {.served = served,
                          .position = decode_past_tokens(served),
                          .row = row + i,
                          .kv = numbers->decoding ? numbers->decoding : numbers->computed,
                          .sampled = TRUE};
        run_token(numerics, stage, step, &work);
    }
}

void numerics_left_prefill(Served *served) {
    Numbers *numbers = served->numbers;
    if (!numbers)
        return;
    kv_free(numbers->computed, numbers->layers * numbers->computed_tp);
    numbers->computed = NULL;
}

void numerics_left_buffer(Served *served) {
    Numbers *numbers = served->numbers;
    if (!numbers)
        return;
    kv_free(numbers->buffered, numbers->layers);
    numbers->buffered = NULL;
}

static LayerKv *kv_copy(const LayerKv *kv, const Model *model) {
    return layer_kv_slice(kv, model, 0, 1);
}

void numerics_migrated(Numerics *numerics, Served *served, guint first, guint end) {
    if (!numerics)
        return;
    Numbers *numbers = served->numbers;
    if (!numbers->buffered)
        numbers->buffered = g_new0(LayerKv *, numbers->layers);
    if (numerics->setup.fault == NUMERICS_FAULT_MIGRATION && first > 0)
        first++; /* a layer is left behind */
    for (guint layer = first; layer < end; layer++) {
        if (numbers->buffered[layer])
            layer_kv_free(numbers->buffered[layer]);
        numbers->buffered[layer] = kv_copy(numbers->computed[layer], numerics->model);
    }
}

void numerics_pulled(Numerics *numerics, Served *served, const StagePlan *stage, guint first,
                     guint end) {
    if (!numerics)
        return;
    Numbers *numbers = served->numbers;
    if (!numbers->decoding) {
        numbers->decoding_tp = stage->tp;
        numbers->decoding = g_new0(LayerKv *, (gsize)numbers->layers * stage->tp);
    }
    for (guint layer = first; layer < end; layer++)
        for (guint rank = 0; rank < stage->tp; rank++) {
            LayerKv **slot = &numbers->decoding[layer * stage->tp + rank];
            const LayerKv *whole = numbers->buffered[layer];
            if (*slot)
                layer_kv_free(*slot);
            *slot =
                whole ? layer_kv_slice(whole, numerics->model, rank, stage->tp) : layer_kv_new();
        }
}
