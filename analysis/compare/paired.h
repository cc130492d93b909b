/* Requests that two runs have in common, one by one: the differences of the same request say more
 * than those of two distributions. */
#ifndef ANALYSIS_PAIRED_H
#define ANALYSIS_PAIRED_H

#include "analysis/compare/requests_read.h"

/* Second less first, in seconds, of the requests that have the latency in both. The figures of no
 * pairs are NaN. */
typedef struct PairedLatency {
    guint64 pairs;
    guint64 faster, slower, same; /* in the second */
    double mean_s;
    double p5_s, median_s, p95_s; /* quantiles as numpy's default has them */
    GArray *differences_s;        /* double, ascending: as many as pairs */
} PairedLatency;

typedef struct PairedRequests {
    guint64 common;    /* ids in both */
    char *unlike;      /* NULL, or why they are not the same requests: then no pairs */
    guint64 completed; /* in both */
    PairedLatency latencies[N_SERVED_LATENCIES];
} PairedRequests;

/* Of rows by id (ServedRow). Requests are the same when they have the same id and lengths, and
 * without 'closed_loop', in which arrivals follow completions, the same arrival. */
PairedRequests *paired_requests_new(const GArray *first, const GArray *second,
                                    gboolean closed_loop);
void paired_requests_free(PairedRequests *paired);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PairedRequests, paired_requests_free)

/* All requests are in both, and no latency of any differs. */
gboolean paired_requests_equal(const PairedRequests *paired, const GArray *first,
                               const GArray *second);

#endif
