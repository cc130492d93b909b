/* Scaled dot-product attention on one cluster, block by block, in the three dataflows that THInfer
 * compares (III.C.2, table IX):
 *
 * - MT: rows of Q and O stay on chip; K, then V, are broadcast past them in blocks under the
 *   computing; scores wait for softmax in AM and GSM.
 *
 * - Flash: a K/V block stays in AM while every row block of Q passes; each time Q and O are read
 *   and O is written, with the maxima and sums of its rows, and nothing hides that. The next K/V
 *   block comes under the computing.
 *
 * - Unfused: before any optimisation. Scores go to DDR and back once, no transfer hides behind
 *   computing, and every query head is a launch of its own. (One: with three, for its three
 *   sub-operators, table IX's S = 512 would take some 46 ms, not 29.)
 *
 * Table IX fits full S×S scores, so its shapes are not causal. */
#ifndef ACTORS_CLUSTER_ATTENTION_H
#define ACTORS_CLUSTER_ATTENTION_H

#include "actors/cluster/cluster.h"
#include "actors/kernels/kernels.h"
#include "policies/attention_blocks.h"

typedef struct AttentionShape {
    guint64 heads, kv_heads; /* on this cluster; kv_heads divides heads */
    guint64 head_dim;
    guint64 new_tokens;  /* rows of Q of each head: the prompt, a chunk of it, 1 in decode */
    guint64 past_tokens; /* of K and V, before them */
    guint64 batch;       /* requests of this shape */
    DataType type;
    AttentionVariant variant;
    gboolean causal; /* a row sees the past and itself; K/V blocks that no row of a round sees are
                        skipped. FALSE is the paper's measured kernel */
} AttentionShape;

/* FALSE and an error when a dimension is 0 or too large, or the KV heads do not divide the heads.
 */
gboolean attention_shape_check(const AttentionShape *shape, GError **error);
/* What the blocks of a shape are chosen from. */
AttentionProblem attention_problem(const AttentionShape *shape);
ScorePlace attention_score_place(AttentionVariant variant);
/* Multiply-accumulates that the result needs; a causal mask halves those among new tokens. */
double attention_macs(const AttentionShape *shape);

/* How finely the engine is asked. Time, bytes and launches are the same. */
typedef enum {
    ATTENTION_GRAIN_STAGE, /* equal blocks of a stage, and equal rounds, are one activity */
    ATTENTION_GRAIN_BLOCK, /* every block and transfer is one: for timelines */
    ATTENTION_GRAIN_WAVE,  /* heads that take turns are one as well: for planning */
} AttentionGrain;

typedef enum {
    ATTENTION_Q,
    ATTENTION_K,
    ATTENTION_V,
    ATTENTION_O,
    ATTENTION_SCORES,     /* and weights, between tiers */
    ATTENTION_STATISTICS, /* of the rows, which Flash keeps beside O */
    N_ATTENTION_TENSORS
} AttentionTensor;

typedef struct AttentionReport {
    AttentionBlocks blocks;
    double seconds;                    /* simulated, launches of the unfused variant included */
    double bytes[N_ATTENTION_TENSORS]; /* moved */
    /* The same as complete passes over the tensor (of all heads), in the units of table III. */
    double passes[ATTENTION_O + 1];
} AttentionReport;

/* Tensors in DDR, FP16, borrowed: Q and O [batch][new_tokens][heads][head_dim], K and V
 * [batch][past_tokens + new_tokens][kv_heads][head_dim]. O is written. */
typedef struct AttentionNumbers {
    const guint16 *q, *k, *v;
    guint16 *o;
} AttentionNumbers;

typedef struct AttentionOptions {
    AttentionGrain grain;
    const AttentionNumbers *numbers; /* computed too when not NULL; 'type' must be FP16 */
    AttentionReport *report;         /* filled when not NULL */
} AttentionOptions;

/* Passes the time of one attention operator. MT and Flash run in the launch of the caller; the
 * unfused variant launches for itself. 'options' may be NULL. FALSE and an error, with no time
 * passed, when the shape is wrong or does not fit the tiers. */
gboolean attention_run(Cluster *cluster, const AttentionShape *shape,
                       const AttentionOptions *options, GError **error);

/* The seconds that attention_run would take on a cluster with nobody else about, without an engine;
 * NaN and an error where it would fail. */
double attention_estimate_seconds(const AttentionShape *shape, const Platform *platform,
                                  GError **error);

#endif
