#include "analysis/bounds/bound_left.h"

#include <math.h>

void bound_left_init(BoundLeft *left, const BoundWork *work) {
    *left = (BoundLeft){.fresh = TRUE};
    left->prompt_s = g_new0(double, work->bounding->prefill.n_kinds);
}

void bound_left_clear(BoundLeft *left) {
    g_clear_pointer(&left->prompt_s, g_free);
}

void bound_left_add(BoundLeft *left, const BoundWork *work, gsize request) {
    const Bounding *bounding = work->bounding;
    guint32 prompt = bounding->load->prompts[request], output = bounding->load->outputs[request];

    left->prompts++;
    for (guint k = 0; k < bounding->prefill.n_kinds; k++)
        left->prompt_s[k] += bound_work_prompt(bounding, &work->prefill[k], prompt);
    if (output == 1)
        return;
    left->answers++;
    left->tokens += output - 1;
    left->attention_s += work->alone[request].attention_s;
    left->kv_in_tokens += prompt;
    left->kv_out_tokens += prompt;
}

void bound_left_of_all(BoundLeft *left, const BoundWork *work) {
    bound_left_init(left, work);
    for (gsize i = 0; i < work->bounding->load->n; i++)
        bound_left_add(left, work, i);
}

void bound_left_copy(BoundLeft *left, const BoundLeft *other, const BoundWork *work) {
    *left = *other;
    left->prompt_s =
        g_memdup2(other->prompt_s, work->bounding->prefill.n_kinds * sizeof *other->prompt_s);
}

double bound_left_busy(const BoundLeft *left, const BoundWork *work) {
    const BoundShape *prefill = &work->bounding->prefill, *decode = &work->bounding->decode;
    double busy_s = 0;

    for (guint k = 0; k < prefill->n_kinds; k++)
        busy_s += prefill->tp * prefill->kinds[k].count * left->prompt_s[k];
    for (guint k = 0; k < decode->n_kinds; k++)
        busy_s += decode->tp * decode->kinds[k].count *
                  (left->tokens * work->decode[k].token_s +
                   work->decode[k].stage->layers * left->attention_s);
    return busy_s;
}

/* All prompts have to pass through stages of a kind, of which each replica has at least one. Before
 * and behind it a request passes through the other stages, at least. */
static double prefill_end(const BoundLeft *left, const BoundWork *work, guint k) {
    const Bounding *bounding = work->bounding;
    guint replicas = bounding->prefill.replicas;
    double least_s = work->prefill[k].least_s, others_s = -least_s;
    /* where all are alike, some replica gets as many as the mean, rounded up, or more */
    double share_s = bounding->load->uniform ? ceil((double)left->prompts / replicas) * least_s
                                             : left->prompt_s[k] / replicas;

    for (guint other = 0; other < bounding->prefill.n_kinds; other++)
        others_s += work->prefill[other].stage->count * work->prefill[other].least_s;
    if (bounding->steps == PROMPTS_CHUNKED || bounding->steps == PROMPTS_CACHED)
        others_s = 0;
    return left->from_s + share_s + others_s + work->rest_least_s;
}

/* Answers over stages of a kind; colocated ones have the prompts too. */
static double decode_end(const BoundLeft *left, const BoundWork *work, guint k) {
    const Bounding *bounding = work->bounding;
    const WorkKind *kind = &work->decode[k];
    double work_s = left->tokens * kind->token_s + kind->stage->layers * left->attention_s;

    if (bounding->colocated)
        work_s += left->prompt_s[k];
    return left->from_s + work_s / bounding->decode.replicas +
           (bounding->colocated || !left->fresh ? 0 : work->first_least_s);
}

/* A micro-batch is in one stage at a time: its tokens take whole rounds. */
static double rounds_end(const BoundLeft *left, const BoundWork *work) {
    const BoundShape *decode = &work->bounding->decode;
    double batches = (double)decode->replicas * (double)decode->micro_batches;
    double work_s = left->tokens * work->cycle_row_s + decode->whole.layers * left->attention_s;

    return left->from_s + work_s / batches + (left->fresh ? work->first_least_s : 0) -
           decode->return_s;
}

/* KV goes into the buffer from the stages that make it, and out once it is all there; what goes
 * through no port may do so until the end. */
static double buffer_end(const BoundLeft *left, const BoundWork *work, const BoundBuffer *buffer) {
    double before_s = left->fresh ? work->prompt_least_s : 0;
    double in_s =
        left->kv_in_tokens > 0 ? left->kv_in_tokens * buffer->in_s + work->rest_least_s : 0;
    double out_s =
        left->kv_out_tokens * buffer->out_s + (before_s + work->answer_least_s) * buffer->out_ports;
    double memory_s = (left->kv_in_tokens + left->kv_out_tokens) * buffer->memory_s;

    return left->from_s + MAX(memory_s, MAX(in_s, out_s));
}

double bound_left_end(const BoundLeft *left, const BoundWork *work, const BoundBuffer *buffer) {
    const Bounding *bounding = work->bounding;
    double end_s = 0;

    if (left->prompts > 0)
        end_s = left->from_s + work->prompt_least_s;
    if (left->answers > 0)
        end_s = MAX(end_s, left->from_s + work->answer_least_s);
    for (guint k = 0; k < bounding->prefill.n_kinds && !bounding->colocated && left->prompts > 0;
         k++)
        end_s = MAX(end_s, prefill_end(left, work, k));
    for (guint k = 0; k < bounding->decode.n_kinds; k++)
        end_s = MAX(end_s, decode_end(left, work, k));
    if (!bounding->colocated && left->answers > 0)
        end_s = MAX(end_s, buffer_end(left, work, buffer));
    if (bounding->decode_counts && !bounding_mixes(bounding) && left->tokens > 0)
        end_s = MAX(end_s, rounds_end(left, work));
    return end_s;
}
