#include "analysis/bounds/bound_work.h"

#include <math.h>

void bound_work_clear(BoundWork *work) {
    g_clear_pointer(&work->alone, g_free);
    g_clear_pointer(&work->prefill, g_free);
    g_clear_pointer(&work->decode, g_free);
}

gboolean bounding_mixes(const Bounding *bounding) {
    return bounding->colocated && bounding->experiment->policy->decode.chunk_tokens > 0;
}

static WorkKind kind_work(const Bounding *bounding, const BoundStage *stage) {
    const BoundShape *prefill = &bounding->prefill, *decode = &bounding->decode;
    WorkKind kind = {.stage = stage, .layers = stage->layers, .least_s = INFINITY};

    if (bounding->steps != PROMPTS_ALONE) {
        kind.row_s = bound_shape_row(prefill, stage, bounding->prompt_rows);
        kind.head_s = bound_shape_sampled(prefill, stage, bounding->sampled);
    }
    if (bounding->decode_counts)
        kind.token_s = bounding_mixes(bounding) ? kind.row_s + kind.head_s
                                                : bound_shape_decode_row(decode, stage);
    return kind;
}

/* Seconds of a stage for a prompt. */
double bound_work_prompt(const Bounding *bounding, const WorkKind *kind, guint32 prompt) {
    const BoundShape *prefill = &bounding->prefill;
    const BoundStage *stage = kind->stage;

    if (bounding->steps == PROMPTS_CACHED)
        return kind->row_s + kind->head_s;
    if (bounding->steps == PROMPTS_CHUNKED)
        return prompt * kind->row_s + kind->head_s;
    double attention_s = stage->layers * tp_rates_prompt_attention(prefill->rates, prompt);
    if (bounding->steps == PROMPTS_ALONE)
        return bound_shape_step(prefill, stage, prompt, 1) + attention_s;
    return prompt * kind->row_s + kind->head_s + attention_s;
}

/* Chunks pass through the stages one behind the other: only one stage counts. */
static double first_token_seconds(const BoundWork *work, guint32 prompt) {
    const Bounding *bounding = work->bounding;
    const BoundShape *prefill = &bounding->prefill;
    double most = 0;

    if (bounding->steps == PROMPTS_ALONE || bounding->steps == PROMPTS_WHOLE)
        return bound_work_prompt(bounding, &work->whole, prompt) + prefill->hops_fixed_s +
               prompt * prefill->hops_row_s;
    for (guint k = 0; k < prefill->n_kinds; k++)
        most = MAX(most, bound_work_prompt(bounding, &work->prefill[k], prompt));
    return most + prefill->hops_fixed_s;
}

/* The KV of its largest stage over the widest link that a cluster has. */
static double pull_seconds(const Bounding *bounding, guint32 prompt) {
    const Experiment *experiment = bounding->experiment;
    const NetworkSpec *network = &experiment->platform->network;
    double bytes_per_s = MIN(experiment->platform->cluster.ddr_bytes_per_s,
                             MAX(network->local.bytes_per_s, network->port.bytes_per_s));
    double bytes = (double)(prompt * model_kv_bytes_per_token_layer(experiment->model)) *
                   bounding->decode.pull_layers * bounding->decode.pull_share;

    return bounding->colocated ? 0 : bytes / bytes_per_s;
}

static void alone_fill(const BoundWork *work, gsize i, WorkAlone *alone) {
    const Bounding *bounding = work->bounding;
    const BoundShape *decode = &bounding->decode;
    guint32 prompt = bounding->load->prompts[i], output = bounding->load->outputs[i];

    *alone = (WorkAlone){.first_s = first_token_seconds(work, prompt)};
    if (output == 1)
        return;
    alone->pull_s = pull_seconds(bounding, prompt);
    if (!bounding->decode_counts)
        return;
    alone->attention_s = tp_rates_answer_attention(decode->rates, prompt, output);
    alone->answer_s =
        (output - 1) * work->cycle_s - decode->return_s + decode->whole.layers * alone->attention_s;
}

/* The least that a step with decoding requests takes; prompts may be in it where they mix. */
static double least_cycle(const Bounding *bounding) {
    const BoundShape *decode = &bounding->decode;
    guint64 most = bounding_mixes(bounding) ? bounding->prompt_rows : decode->batch;
    double least = INFINITY;

    if (most > BOUND_ROWS_MAX)
        return 0;
    for (guint32 rows = 1; rows <= most; rows++)
        least = MIN(least,
                    bound_shape_step(decode, &decode->whole, rows, 0) + rows * decode->hops_row_s);
    double head_s = INFINITY;
    for (guint32 rows = 1; rows <= MIN(most, bounding->experiment->policy->decode.slots); rows++)
        head_s = MIN(head_s, tp_rates_head(decode->rates, rows));
    return least + head_s + decode->hops_fixed_s + decode->return_s;
}

static double least_cycle_row(const BoundShape *decode, guint64 batch) {
    double least = INFINITY;

    for (guint32 rows = 1; rows <= batch; rows++)
        least = MIN(least, bound_shape_decode_cycle(decode, rows) / rows);
    return least;
}

static void kinds_fill(BoundWork *work) {
    const Bounding *bounding = work->bounding;
    const BoundShape *prefill = &bounding->prefill, *decode = &bounding->decode;

    work->prefill = g_new0(WorkKind, prefill->n_kinds);
    for (guint k = 0; k < prefill->n_kinds; k++)
        work->prefill[k] = kind_work(bounding, &prefill->kinds[k]);
    work->whole = kind_work(bounding, &prefill->whole);
    work->decode = g_new0(WorkKind, decode->n_kinds);
    for (guint k = 0; k < decode->n_kinds; k++) {
        work->decode[k].stage = &decode->kinds[k];
        work->decode[k].layers = decode->kinds[k].layers;
        if (bounding->colocated)
            work->decode[k].token_s = work->prefill[k].token_s;
        else if (bounding->decode_counts)
            work->decode[k].token_s = bound_shape_decode_row(decode, &decode->kinds[k]);
    }
    if (!bounding->decode_counts)
        return;
    work->token_attention_s = tp_rates_least_answer_attention(
        decode->rates, bounding->load->least_prompt, bounding->load->most_total);
    work->cycle_s = least_cycle(bounding);
    work->cycle_row_s = bounding_mixes(bounding) ? 0 : least_cycle_row(decode, decode->batch);
}

static void note_least(BoundWork *work, gsize i) {
    const BoundLoad *load = work->bounding->load;
    const WorkAlone *alone = &work->alone[i];

    work->prompt_least_s = MIN(work->prompt_least_s, alone->first_s);
    work->first_least_s = MIN(work->first_least_s, alone->first_s + alone->pull_s);
    work->rest_least_s = MIN(work->rest_least_s, alone->pull_s + alone->answer_s);
    work->answer_least_s = MIN(work->answer_least_s, alone->answer_s);
    for (guint k = 0; k < work->bounding->prefill.n_kinds; k++)
        work->prefill[k].least_s =
            MIN(work->prefill[k].least_s,
                bound_work_prompt(work->bounding, &work->prefill[k], load->prompts[i]));
}

void bound_work_fill(BoundWork *work, const Bounding *bounding) {
    *work = (BoundWork){.bounding = bounding,
                        .prompt_least_s = INFINITY,
                        .first_least_s = INFINITY,
                        .rest_least_s = INFINITY,
                        .answer_least_s = INFINITY};
    kinds_fill(work);
    work->alone = g_new(WorkAlone, bounding->load->n);
    for (gsize i = 0; i < bounding->load->n; i++) {
        alone_fill(work, i, &work->alone[i]);
        note_least(work, i);
    }
}

double bound_work_answer(const WorkKind *kind, guint32 output, double attention_s) {
    return (output - 1) * kind->token_s + kind->layers * attention_s;
}
