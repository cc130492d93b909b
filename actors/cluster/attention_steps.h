/* Private to attention: an operator as the list of steps that pass on a cluster, one after another.
 * The simulation lets them happen, the estimate adds them up. No engine. */
#ifndef ACTORS_CLUSTER_ATTENTION_STEPS_H
#define ACTORS_CLUSTER_ATTENTION_STEPS_H

#include "actors/cluster/attention.h"

typedef struct AttentionMove {
    AttentionTensor tensor;
    Move move;
} AttentionMove;

#define ATTENTION_STEP_MOVES 4
typedef struct AttentionStep {
    guint64 launches;  /* before it */
    const char *label; /* of the computing; NULL: none */
    double cycles;     /* of the busiest DSP, while the moves pass */
    AttentionMove moves[ATTENTION_STEP_MOVES];
    guint n_moves;
} AttentionStep;

typedef void (*AttentionVisitor)(gpointer data, const AttentionStep *step);
/* Borrows everything. */
typedef struct AttentionPlan {
    const AttentionShape *shape;
    const AttentionBlocks *blocks;
    const ClusterSpec *cluster;
    AttentionGrain grain;
} AttentionPlan;
void attention_steps(const AttentionPlan *plan, AttentionVisitor visit, gpointer data);

/* The numbers of the operator, in the same blocks and buffers of the tiers' sizes. */
void attention_compute(const AttentionShape *shape, const AttentionBlocks *blocks,
                       const AttentionNumbers *numbers);

#endif
