#include "analysis/bounds/bound_end.h"

#include <math.h>

static double last_answer(const BoundWork *work) {
    const BoundLoad *load = work->bounding->load;
    double end_s = 0;

    for (gsize i = 0; i < load->n; i++) {
        const WorkAlone *alone = &work->alone[i];
        end_s = MAX(end_s, load->arrivals_s[i] + alone->first_s + alone->pull_s + alone->answer_s);
    }
    return end_s;
}

/* All that arrives from some date on is left at that date. */
static double of_arrivals(const BoundWork *work, const BoundBuffer *buffer) {
    const BoundLoad *load = work->bounding->load;
    g_auto(BoundLeft) left = {0};
    double end_s = 0;

    bound_left_init(&left, work);
    for (gsize i = load->n; i-- > 0;) {
        bound_left_add(&left, work, i);
        left.from_s = load->arrivals_s[i];
        if (i == 0 || load->arrivals_s[i - 1] < load->arrivals_s[i])
            end_s = MAX(end_s, bound_left_end(&left, work, buffer));
    }
    return end_s;
}

/* --- a load all of one shape, there at once */

/* Steps of at most 'batch' requests that all of 'n' are in once: the least seconds, of each n. */
static double *cheapest_rounds(const BoundShape *decode, guint n) {
    double *least = g_new0(double, n + 1);

    for (guint requests = 1; requests <= n; requests++) {
        least[requests] = INFINITY;
        for (guint32 batch = 1; batch <= MIN(requests, decode->batch); batch++)
            least[requests] = MIN(least[requests], least[requests - batch] +
                                                       bound_shape_decode_cycle(decode, batch));
    }
    return least;
}

#define ROUNDS_MAX 2000000 /* steps looked at by cheapest_rounds */

/* All alike and all there at once: some micro-batch gets as many as the mean, rounded up, or more.
 * A synchronous batch stays together to its end; else a step cannot hold more than there are. */
static double uniform_rounds_end(const BoundWork *work) {
    const Bounding *bounding = work->bounding;
    const BoundShape *decode = &bounding->decode;
    const BoundLoad *load = bounding->load;
    guint64 batches = decode->replicas * decode->micro_batches;
    guint tokens = load->outputs[0] - 1;
    guint fewest = (guint)((load->n + batches - 1) / batches);
    guint most = MAX(fewest, (guint)MIN(decode->batch, load->n));
    gboolean together = bounding->experiment->policy->decode.batching == BATCHING_SYNCHRONOUS;
    double attention_s = decode->whole.layers * work->alone[0].attention_s, least_s = INFINITY;

    if ((guint64)most * decode->batch > ROUNDS_MAX)
        return 0;
    g_autofree double *rounds = together ? cheapest_rounds(decode, most) : NULL;
    double row_s = INFINITY;
    for (guint n = 1; n <= most; n++) {
        if (n <= decode->batch)
            row_s = MIN(row_s, bound_shape_decode_cycle(decode, n) / n);
        double steps_s = together ? rounds[n] : n * row_s;
        if (n >= fewest)
            least_s = MIN(least_s, tokens * steps_s + n * attention_s);
    }
    return least_s + work->first_least_s - decode->return_s;
}

double bound_end(const BoundWork *work, const BoundBuffer *buffer) {
    const Bounding *bounding = work->bounding;
    double end_s = MAX(last_answer(work), of_arrivals(work, buffer));

    return bounding->load->uniform && bounding->decode_counts && !bounding->colocated
               ? MAX(end_s, uniform_rounds_end(work))
               : end_s;
}
