#include "actors/kernels/reference.h"

#include "workloads/random.h"

#include <math.h>

/* A forward pass that goes on token by token. */
typedef struct Pass {
    const Model *model;
    RankShape *ranks; /* tp */
    guint tp;
    LayerKv **kv;  /* layers × tp */
    float **parts; /* tp vectors of hidden: one rank's half of a layer each */
    float *x;      /* [hidden] */
    float *logits; /* [vocab] */
} Pass;

static void pass_init(Pass *pass, const Model *model, const Checkpoint *checkpoint, guint tp) {
    *pass = (Pass){.model = model, .tp = tp};
    pass->ranks = g_new(RankShape, tp);
    pass->parts = g_new(float *, tp);
    for (guint rank = 0; rank < tp; rank++) {
        pass->ranks[rank] = (RankShape){model, checkpoint, rank, tp};
        pass->parts[rank] = g_new(float, model->hidden);
    }
    pass->kv = g_new0(LayerKv *, model->layers * tp);
    for (guint64 i = 0; i < model->layers * tp; i++)
        pass->kv[i] = layer_kv_new();
    pass->x = g_new(float, model->hidden);
    pass->logits = g_new(float, model->vocab);
}

static void pass_clear(Pass *pass) {
    for (guint64 i = 0; i < pass->model->layers * pass->tp; i++)
        layer_kv_free(pass->kv[i]);
    for (guint rank = 0; rank < pass->tp; rank++)
        g_free(pass->parts[rank]);
    g_free(pass->kv);
    g_free(pass->parts);
    g_free(pass->ranks);
    g_free(pass->x);
    g_free(pass->logits);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Pass, pass_clear)

/* x += Σ over ranks of their parts. */
static void add_parts(Pass *pass) {
    if (pass->tp > 1)
        layer_ring_sum(pass->tp, pass->model->hidden, pass->parts);
    residual_add(pass->model->hidden, pass->parts[0], pass->x);
}

static void pass_layer(Pass *pass, guint layer, guint64 position) {
    for (guint rank = 0; rank < pass->tp; rank++)
        layer_attention_half(&pass->ranks[rank], layer, position, pass->x,
                             pass->kv[layer * pass->tp + rank], pass->parts[rank]);
    add_parts(pass);
    for (guint rank = 0; rank < pass->tp; rank++)
        layer_feed_forward_half(&pass->ranks[rank], layer, pass->x, pass->parts[rank]);
    add_parts(pass);
}

/* Leaves in 'x' what the last layer makes of the token. */
static void pass_token(Pass *pass, guint32 token, guint64 position) {
    layer_embed(&pass->ranks[0], token, pass->x);
    for (guint layer = 0; layer < pass->model->layers; layer++)
        pass_layer(pass, layer, position);
}

static void note_logits(ReferenceRun *run, const Pass *pass) {
    float first = -INFINITY, second = -INFINITY;
    for (guint64 i = 0; i < pass->model->vocab; i++) {
        float logit = pass->logits[i];
        second = fmaxf(second, fminf(first, logit));
        first = fmaxf(first, logit);
        run->largest_logit = fmaxf(run->largest_logit, fabsf(logit));
    }
    run->smallest_gap = fminf(run->smallest_gap, first - second);
}

/* The token that follows the one at 'position' − 1. */
static guint32 next_token(ReferenceRun *run, Pass *pass, const Sampling *sampling,
                          guint64 position) {
    Sampling here = *sampling;
    here.position = position;
    layer_logits(&pass->ranks[0], pass->x, pass->logits);
    note_logits(run, pass);
    return (guint32)sample_token(pass->model->vocab, pass->logits, &here);
}

ReferenceRun reference_generate(const RankShape *shape, const guint32 *prompt, guint n_prompt,
                                guint n_output, const Sampling *sampling) {
    g_assert(shape->tp >= 1 && n_prompt >= 1);
    ReferenceRun run = {g_new(guint32, n_output), n_output, INFINITY, 0};
    g_auto(Pass) pass = {0};
    pass_init(&pass, shape->model, shape->checkpoint, shape->tp);
    for (guint i = 0; i < n_prompt; i++)
        pass_token(&pass, prompt[i], i);
    for (guint i = 0; i < n_output; i++) {
        guint64 position = (guint64)n_prompt + i;
        run.tokens[i] = next_token(&run, &pass, sampling, position);
        if (i + 1 < n_output)
            pass_token(&pass, run.tokens[i], position);
    }
    return run;
}

void reference_logits(const RankShape *shape, const guint32 *tokens, guint n, float *logits) {
    g_auto(Pass) pass = {0};
    pass_init(&pass, shape->model, shape->checkpoint, shape->tp);
    for (guint i = 0; i < n; i++) {
        pass_token(&pass, tokens[i], i);
        layer_logits(&pass.ranks[0], pass.x, logits + i * shape->model->vocab);
    }
}

void reference_run_clear(ReferenceRun *run) {
    g_clear_pointer(&run->tokens, g_free);
    run->n = 0;
}

/* The tokens are draws of one stream a request, so that a longer prompt begins like a shorter one.
 */
void reference_prompt(const Model *model, guint64 seed, guint64 id, guint32 *tokens, guint n) {
    g_autofree char *purpose = g_strdup_printf("prompt %" G_GUINT64_FORMAT, id);
    RandomStream stream = random_stream(seed, purpose);
    for (guint i = 0; i < n; i++)
        tokens[i] = (guint32)random_below(&stream, model->vocab);
}
