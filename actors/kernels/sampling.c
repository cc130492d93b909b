#include "actors/kernels/kernels.h"
#include "workloads/random.h"

#include <math.h>
#include <stdlib.h>

gsize argmax(gsize n, const float *x) {
    gsize best = 0;
    for (gsize i = 1; i < n; i++)
        if (x[i] > x[best])
            best = i;
    return best;
}

typedef struct Candidate {
    float logit;
    gsize index;
} Candidate;

static gboolean is_better(const Candidate *a, const Candidate *b) {
    return a->logit > b->logit || (a->logit == b->logit && a->index < b->index);
}

static int compare_candidates(const void *a, const void *b) {
    return is_better(a, b) ? -1 : is_better(b, a);
}

/* Lets heap[0], the worst candidate kept, sink to its place below worse ones. */
static void sink(Candidate *heap, gsize n) {
    gsize parent = 0;
    while (TRUE) {
        gsize worst = parent;
        for (gsize child = 2 * parent + 1; child <= 2 * parent + 2 && child < n; child++)
            if (is_better(&heap[worst], &heap[child]))
                worst = child;
        if (worst == parent)
            return;
        Candidate moved = heap[parent];
        heap[parent] = heap[worst];
        heap[worst] = moved;
        parent = worst;
    }
}

/* The k best, best first. Caller frees. A list sorted worst first is a heap. */
static Candidate *select_best(gsize n, const float *logits, gsize k) {
    Candidate *kept = g_new(Candidate, k);
    for (gsize i = 0; i < k; i++)
        kept[k - 1 - i] = (Candidate){logits[i], i};
    qsort(kept, k, sizeof *kept, compare_candidates);
    for (gsize i = 0; i < k / 2; i++) {
        Candidate moved = kept[i];
        kept[i] = kept[k - 1 - i];
        kept[k - 1 - i] = moved;
    }
    for (gsize i = k; i < n; i++) {
        Candidate candidate = {logits[i], i};
        if (!is_better(&candidate, &kept[0]))
            continue;
        kept[0] = candidate;
        sink(kept, k);
    }
    qsort(kept, k, sizeof *kept, compare_candidates);
    return kept;
}

/* A stream for every token, of which the first number is used. */
static double draw(const Sampling *sampling) {
    char purpose[64];
    g_snprintf(purpose, sizeof purpose, "sample %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT,
               sampling->request, sampling->position);
    RandomStream stream = random_stream(sampling->seed, purpose);
    return random_uniform(&stream);
}

gsize sample_token(gsize n, const float *logits, const Sampling *sampling) {
    gsize k = MIN(sampling->top_k, n);
    g_assert(k > 0 && sampling->temperature >= 0);
    if (k == 1 || sampling->temperature == 0)
        return argmax(n, logits);
    g_autofree Candidate *best = select_best(n, logits, k);
    g_autofree double *weights = g_new(double, k);
    double sum = 0;
    for (gsize i = 0; i < k; i++) {
        weights[i] = exp(((double)best[i].logit - best[0].logit) / sampling->temperature);
        sum += weights[i];
    }
    double left = draw(sampling) * sum;
    for (gsize i = 0; i < k; i++) {
        left -= weights[i];
        if (left < 0)
            return best[i].index;
    }
    return best[0].index; /* rounding has left a crumb beyond the last */
}
