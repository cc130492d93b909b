/* The Linear operator on one cluster, block by block: Y[m×n] = X[m×k]·W[k×n] (THInfer III.B.2,
 * figures 5–7). The order of its steps is policies/gemm_schedule.h; here they pass simulated time
 * and, when operands are given, compute. */
#ifndef ACTORS_CLUSTER_GEMM_H
#define ACTORS_CLUSTER_GEMM_H

#include "actors/cluster/cluster.h"
#include "policies/gemm_schedule.h"

/* What is not said (zeros) means: tiled, everything off chip, no numbers.
 *
 * The operands are row-major without gaps and in the shape's type, which must then be FP16
 * (guint16) or FP32 (float): x and w are read and y is written, all three or none. Blocks of them
 * travel through buffers of the tiers' sizes; sums are kept in FP32 and rounded to FP16 once, at
 * the end. They do not change the time. */
typedef struct GemmOptions {
    GemmTransfers transfers;
    gboolean x_on_chip; /* X lies in GSM already: neither its bytes nor its room are counted here */
    gboolean y_on_chip; /* what is fused behind takes Y from AM: no finished sums go to DDR */
    const void *x, *w;
    void *y;
} GemmOptions;

/* Passes the time of the operator without launch, called from an actor. With at most m1 rows for
 * every DSP it takes the few rows' path. 'options' may be NULL. Books what it needs of the tiers
 * and releases it; FALSE and an error, with no time passed, when shape or blocks are bad or do not
 * fit (the message names the tier and the bytes). */
gboolean gemm_run(Cluster *cluster, const GemmShape *shape, const GemmBlocks *blocks,
                  const GemmOptions *options, GError **error);

#endif
