/* An operator of a step on a cluster, made as the device's modes say: what the operator grain runs,
 * and what the tables of operator costs are filled from. */
#ifndef ACTORS_CLUSTER_OP_RUN_H
#define ACTORS_CLUSTER_OP_RUN_H

#include "actors/cluster/attention.h"
#include "actors/cluster/cluster.h"
#include "platforms/device.h"
#include "policies/gemm_blocks.h"

/* The blocks of a Linear, whatever its rows: the paper's, or the best ones where those do not fit.
 */
GemmBlocks op_run_blocks(const OpCostKey *key, const Platform *platform);
/* The attention of one request: causal, of 'new_tokens' behind 'past_tokens'. */
AttentionShape op_run_attention_shape(const OpCostKey *key, guint64 new_tokens,
                                      guint64 past_tokens);

/* Seconds that pass while a Linear of 'rows', or the attention of one request, runs, without launch
 * (unfused attention launches for itself). NaN and an error when a tier has no room for it. */
double op_run_linear(Cluster *cluster, const OpCostKey *key, const GemmBlocks *blocks, guint64 rows,
                     GError **error);
double op_run_attention(Cluster *cluster, const OpCostKey *key, guint64 new_tokens,
                        guint64 past_tokens, GError **error);

/* Passes the time of the operator, without launch, on one rank. ALL_REDUCE passes none: it is
 * network. FALSE and an error when a tier has no room for it. */
gboolean op_run(Cluster *cluster, const DeviceModel *device, const Op *op, GError **error);

#endif
