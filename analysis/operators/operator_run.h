/* One operator on its own, simulated: the cluster's launch, blocks and transfers, or the ring's
 * messages, from start to end. Each run is a process of its own, since SimGrid has one engine a
 * process; several run side by side. */
#ifndef ANALYSIS_OPERATOR_RUN_H
#define ANALYSIS_OPERATOR_RUN_H

#include "actors/cluster/all_reduce.h"
#include "actors/cluster/attention.h"
#include "actors/cluster/cluster.h"
#include "actors/cluster/gemm.h"

typedef enum {
    OPERATOR_GEMM,
    OPERATOR_ATTENTION,
    OPERATOR_ALL_REDUCE,
    N_OPERATOR_KINDS
} OperatorKind;

typedef struct OperatorSpec {
    OperatorKind kind;
    GemmShape gemm;
    GemmBlocks blocks;
    GemmTransfers transfers;
    AttentionShape attention;
    AttentionGrain grain;
    guint64 ranks, bytes; /* all-reduce: over clusters 0 … ranks − 1, of each one's vector */
    gboolean launch;      /* its own thread group is launched; the unfused attention always does */
    gboolean verify;      /* with seeded numbers, compared with a reference */
    guint64 seed;
    gboolean events; /* kept for a timeline */
} OperatorSpec;

/* How far the computed numbers are from a double-precision reference. */
typedef struct OperatorCheck {
    guint64 checked, elements; /* of the result */
    double worst;              /* largest error over its bound; right when at most 1 */
    double worst_error;        /* and that error */
    double worst_bound;        /* its bound */
} OperatorCheck;

/* A stretch of the timeline. */
typedef struct OperatorEvent {
    guint lane;        /* 0 computing and launching, 1 transfers; all-reduce: the sending rank */
    const char *label; /* static text */
    double start_s, end_s;
    guint64 bytes; /* moved; 0 for computing */
} OperatorEvent;

typedef struct OperatorResult {
    double seconds;
    ClusterCounts counts;      /* of a cluster */
    AttentionReport attention; /* OPERATOR_ATTENTION */
    AllReduceReport ring;      /* OPERATOR_ALL_REDUCE */
    OperatorCheck check;       /* with 'verify' */
    GArray *events;            /* OperatorEvent, in the order in which they ended; or NULL */
} OperatorResult;

/* Runs them all, as many at a time as there are processors; results in the order of the specs, to
 * be released by operator_result_clear. FALSE and the error of the earliest spec that failed;
 * nothing is to be released then. INPUT_ERROR where shape or capacities are at fault. */
gboolean operator_run_all(const OperatorSpec *specs, gsize n, const Platform *platform,
                          OperatorResult *results, GError **error);
gboolean operator_run(const OperatorSpec *spec, const Platform *platform, OperatorResult *result,
                      GError **error);
void operator_result_clear(OperatorResult *result);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(OperatorResult, operator_result_clear)

#endif
