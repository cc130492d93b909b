#include "analysis/bounds/bound_goodput.h"

#include "analysis/run/slo.h"
#include <math.h>

/* Something to be done by a date, on all servers together. */
typedef struct Job {
    double due_s, seconds;
} Job;

static gint by_due(gconstpointer a, gconstpointer b) {
    const Job *first = a, *second = b;

    return (first->due_s > second->due_s) - (first->due_s < second->due_s);
}

static gint by_seconds(gconstpointer a, gconstpointer b, gpointer data) {
    const Job *first = a, *second = b;

    (void)data;
    return (first->seconds > second->seconds) - (first->seconds < second->seconds);
}

/* Most jobs that can be done in time from 'from_s' on: whenever those due do not fit, the longest
 * is given up. Moore 1968, "An n job, one machine sequencing algorithm for minimizing the number of
 * late jobs". Sorts 'jobs'. */
static gsize most_in_time(GArray *jobs, double from_s) {
    g_autoptr(GSequence) kept = g_sequence_new(NULL);
    double sum_s = 0;

    g_array_sort(jobs, by_due);
    for (guint i = 0; i < jobs->len; i++) {
        Job *job = &g_array_index(jobs, Job, i);
        g_sequence_insert_sorted(kept, job, by_seconds, NULL);
        sum_s += job->seconds;
        if (from_s + sum_s * (1 - BOUND_ROUNDING) <= job->due_s)
            continue;
        GSequenceIter *longest = g_sequence_iter_prev(g_sequence_get_end_iter(kept));
        sum_s -= ((const Job *)g_sequence_get(longest))->seconds;
        g_sequence_remove(longest);
    }
    return (gsize)g_sequence_get_length(kept);
}

/* --- prompts */

/* The date by which a request has its first token; INFINITY: any. */
static double first_token_due(const BoundWork *work, gsize i) {
    const Slo *slo = &work->bounding->experiment->slo;
    double within_s = INFINITY;

    if (slo->ttft.limit_s > 0)
        within_s = slo->ttft.limit_s;
    if (slo->e2e.limit_s > 0)
        within_s = MIN(within_s, slo->e2e.limit_s);
    return work->bounding->load->arrivals_s[i] + within_s;
}

/* By what the stages of a kind have to do. */
static gsize most_prompts(const BoundWork *work, const gboolean *eligible, const WorkKind *kind) {
    const Bounding *bounding = work->bounding;
    const BoundLoad *load = bounding->load;
    g_autoptr(GArray) jobs = g_array_new(FALSE, FALSE, sizeof(Job));

    for (gsize i = 0; i < load->n; i++) {
        Job job = {first_token_due(work, i), bound_work_prompt(bounding, kind, load->prompts[i]) /
                                                 bounding->prefill.replicas};
        if (eligible[i])
            g_array_append_val(jobs, job);
    }
    return most_in_time(jobs, load->arrivals_s[0]);
}

/* --- answers */

/* The least seconds of a decode step that so many requests or more are in, by their number from 1
 * to 'n'. Caller frees. */
static double *least_steps(const BoundWork *work, guint64 n) {
    const BoundShape *decode = &work->bounding->decode;
    double *steps = g_new(double, n + 1);

    steps[0] = 0;
    for (guint64 batch = n; batch >= 1; batch--) {
        steps[batch] = bound_shape_decode_cycle(decode, (guint32)batch) +
                       (double)batch * decode->whole.layers * work->token_attention_s;
        if (batch < n)
            steps[batch] = MIN(steps[batch], steps[batch + 1]);
    }
    return steps;
}

/* Tokens a second of one micro-batch for requests whose steps take 'limit_s' each on average, at
 * the most. Be g the number of such requests in a step and f a convex line below the steps'
 * seconds, then the mean of f is at most the limit (Chebyshev's sum inequality), and f at the mean
 * of g at most that (Jensen's): so the mean of g is at most where f reaches the limit, and no rate
 * is above g / f(g) there or at a corner of f before it. */
static double most_rate(const double *steps, guint64 n, double limit_s) {
    double most = 0;

    if (steps[1] > limit_s)
        return 0;
    for (guint64 at = 1, next; at < n; at = next) { /* corner to corner */
        double slope = INFINITY;
        next = n;
        for (guint64 to = at + 1; to <= n; to++) {
            double other = (steps[to] - steps[at]) / (double)(to - at);
            if (other <= slope) {
                slope = other;
                next = to;
            }
        }
        most = MAX(most, (double)at / steps[at]);
        if (steps[next] > limit_s)
            return MAX(most, ((double)at + (limit_s - steps[at]) / slope) / limit_s);
    }
    return MAX(most, (double)n / steps[n]);
}

/* The date by which a request has ended; INFINITY: any. */
static double answer_due(const BoundWork *work, gsize i) {
    const Slo *slo = &work->bounding->experiment->slo;
    const BoundLoad *load = work->bounding->load;
    double within_s = INFINITY;

    if (slo->ttft.limit_s > 0 && slo->tpot.limit_s > 0)
        within_s = slo->ttft.limit_s + (load->outputs[i] - 1) * slo->tpot.limit_s;
    if (slo->e2e.limit_s > 0)
        within_s = MIN(within_s, slo->e2e.limit_s);
    return load->arrivals_s[i] + within_s;
}

static gsize most_answers(const BoundWork *work, const gboolean *eligible) {
    const Bounding *bounding = work->bounding;
    const BoundShape *decode = &bounding->decode;
    const BoundLoad *load = bounding->load;
    const SloLimit *tpot = &bounding->experiment->slo.tpot;
    double limit_s =
        tpot->limit_s > 0 ? (tpot->limit_s + decode->return_s) * (1 + BOUND_ROUNDING) : INFINITY;
    g_autoptr(GArray) jobs = g_array_new(FALSE, FALSE, sizeof(Job));
    guint64 most = MAX(decode->batch, 1);
    g_autofree double *steps = least_steps(work, most);
    double batches = (double)decode->replicas * (double)decode->micro_batches;
    double rate = most_rate(steps, most, limit_s) * batches;
    gsize single = 0;

    for (gsize i = 0; i < load->n; i++) {
        Job job = {answer_due(work, i), (load->outputs[i] - 1) / rate};
        if (eligible[i] && load->outputs[i] > 1)
            g_array_append_val(jobs, job);
        single += eligible[i] && load->outputs[i] == 1 ? 1 : 0;
    }
    return single + (rate <= 0 ? 0 : most_in_time(jobs, load->arrivals_s[0]));
}

gsize bound_goodput_most(const BoundWork *work, const gboolean *eligible) {
    const Bounding *bounding = work->bounding;
    gsize most = G_MAXSIZE;

    for (guint k = 0; k < bounding->prefill.n_kinds; k++)
        most = MIN(most, most_prompts(work, eligible, &work->prefill[k]));
    if (bounding->decode_counts && !bounding_mixes(bounding))
        most = MIN(most, most_answers(work, eligible));
    return most;
}
