#include "analysis/compare/paired.h"

#include "analysis/output/double_order.h"
#include <math.h>
#include <stdlib.h>

/* Both sides of one request. */
typedef struct Pair {
    const ServedRow *first, *second;
} Pair;

/* Of rows that both are sorted by id. */
static GArray *pairs_of(const GArray *first, const GArray *second) {
    GArray *pairs = g_array_new(FALSE, FALSE, sizeof(Pair));
    guint i = 0, j = 0;

    while (i < first->len && j < second->len) {
        Pair pair = {&g_array_index(first, ServedRow, i), &g_array_index(second, ServedRow, j)};
        if (pair.first->id == pair.second->id)
            g_array_append_val(pairs, pair);
        i += pair.first->id <= pair.second->id;
        j += pair.second->id <= pair.first->id;
    }
    return pairs;
}

/* Why they are not the same request, in words; NULL: they are. Caller frees. */
static char *unlike(const Pair *pair, gboolean closed_loop) {
    const ServedRow *a = pair->first, *b = pair->second;
    const struct {
        const char *what;
        guint64 first, second;
    } counts[] = {{"prompt", a->prompt_tokens, b->prompt_tokens},
                  {"output", a->output_tokens, b->output_tokens}};

    for (guint i = 0; i < G_N_ELEMENTS(counts); i++)
        if (counts[i].first != counts[i].second)
            return g_strdup_printf("request %" G_GUINT64_FORMAT " has %" G_GUINT64_FORMAT
                                   " and %" G_GUINT64_FORMAT " %s tokens",
                                   a->id, counts[i].first, counts[i].second, counts[i].what);
    if (closed_loop || !(fabs(a->arrival_s - b->arrival_s) > 0))
        return NULL;
    return g_strdup_printf("request %" G_GUINT64_FORMAT " arrives at %.9g and %.9g s", a->id,
                           a->arrival_s, b->arrival_s);
}

/* Of values in ascending order, linear between neighbours at rank q(n − 1). */
static double quantile(const GArray *sorted, double q) {
    double place = q * (sorted->len - 1);
    guint rank = (guint)place;
    double low = g_array_index(sorted, double, rank);

    if (rank + 1 == sorted->len)
        return low;
    return low + (place - rank) * (g_array_index(sorted, double, rank + 1) - low);
}

/* Takes the differences. */
static PairedLatency latency_of_differences(GArray *differences) {
    PairedLatency latency = {differences->len, 0, 0, 0, NAN, NAN, NAN, NAN, differences};
    double sum = 0;

    if (differences->len == 0)
        return latency;
    g_array_sort(differences, double_order);
    for (guint i = 0; i < differences->len; i++) {
        double difference = g_array_index(differences, double, i);
        latency.faster += difference < 0;
        latency.slower += difference > 0;
        sum += difference;
    }
    latency.same = latency.pairs - latency.faster - latency.slower;
    latency.mean_s = sum / (double)latency.pairs;
    latency.p5_s = quantile(differences, 0.05);
    latency.median_s = quantile(differences, 0.5);
    latency.p95_s = quantile(differences, 0.95);
    return latency;
}

static void fill(PairedRequests *paired, const GArray *pairs) {
    for (guint kind = 0; kind < N_SERVED_LATENCIES; kind++) {
        GArray *differences = g_array_new(FALSE, FALSE, sizeof(double));
        for (guint i = 0; i < pairs->len; i++) {
            const Pair *pair = &g_array_index(pairs, Pair, i);
            double difference = pair->second->latencies_s[kind] - pair->first->latencies_s[kind];
            if (pair->first->completed && pair->second->completed && !isnan(difference))
                g_array_append_val(differences, difference);
        }
        paired->latencies[kind] = latency_of_differences(differences);
    }
}

PairedRequests *paired_requests_new(const GArray *first, const GArray *second,
                                    gboolean closed_loop) {
    PairedRequests *paired = g_new0(PairedRequests, 1);
    g_autoptr(GArray) pairs = pairs_of(first, second);

    paired->common = pairs->len;
    for (guint i = 0; i < pairs->len && paired->unlike == NULL; i++) {
        const Pair *pair = &g_array_index(pairs, Pair, i);
        paired->unlike = unlike(pair, closed_loop);
        paired->completed += pair->first->completed && pair->second->completed;
    }
    if (pairs->len == 0)
        paired->unlike = g_strdup("they have no request in common");
    if (paired->unlike != NULL)
        g_array_set_size(pairs, 0);
    fill(paired, pairs);
    return paired;
}

void paired_requests_free(PairedRequests *paired) {
    if (paired == NULL)
        return;
    for (guint kind = 0; kind < N_SERVED_LATENCIES; kind++)
        g_array_unref(paired->latencies[kind].differences_s);
    g_free(paired->unlike);
    g_free(paired);
}

gboolean paired_requests_equal(const PairedRequests *paired, const GArray *first,
                               const GArray *second) {
    if (paired->common != first->len || paired->common != second->len ||
        (paired->common > 0 && paired->unlike != NULL))
        return FALSE;
    for (guint i = 0; i < first->len; i++)
        if (g_array_index(first, ServedRow, i).completed !=
            g_array_index(second, ServedRow, i).completed)
            return FALSE;
    for (guint kind = 0; kind < N_SERVED_LATENCIES; kind++)
        if (paired->latencies[kind].same != paired->latencies[kind].pairs)
            return FALSE;
    return TRUE;
}
