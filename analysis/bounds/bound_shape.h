/* Private to plan_bound: the replicas of one role in a plan, as far as bounds look at them. */
#ifndef ANALYSIS_BOUND_SHAPE_H
#define ANALYSIS_BOUND_SHAPE_H

#include "analysis/bounds/bound_rates.h"
#include "analysis/run/experiment.h"

typedef struct BoundStage {
    guint count; /* stages that are all alike */
    guint layers;
    gboolean first, last;
    double ring_fixed_s, ring_row_s; /* all all-reduces of a step: fixed + row · rows, at the least
                                        over the replicas */
} BoundStage;

typedef struct BoundShape {
    guint replicas; /* in all pools; 0: the plan has none of the role */
    guint n_stages, tp;
    guint n_kinds;
    BoundStage *kinds;               /* of stages; their counts make n_stages */
    BoundStage whole;                /* all stages as if they were one */
    double hops_fixed_s, hops_row_s; /* a step's way through the stages, at the least */
    double return_s;                 /* and back to the first one */
    double pull_share;               /* of a stage's KV that one flow brings, at the least */
    guint pull_layers;               /* of the largest stage */
    guint64 kv_tokens;               /* of a replica, at the most */
    guint64 batch;                   /* requests in a decode step, at the most */
    guint64 micro_batches;           /* of a replica */
    TpRates *rates;
} BoundShape;

/* 'device' as for bound_rates_of. */
void bound_shape_init(BoundShape *shape, const Experiment *experiment, ReplicaRole role,
                      BoundRates *rates, const DeviceModel *device);
void bound_shape_clear(BoundShape *shape);

/* Seconds of a step on a stage without attention. */
double bound_shape_step(const BoundShape *shape, const BoundStage *stage, guint32 rows,
                        guint32 sampled);
/* The least seconds a row of it in steps of at most 'rows' rows, the head left out. */
double bound_shape_row(const BoundShape *shape, const BoundStage *stage, guint64 rows);
/* The least seconds a sampled row of the head in steps with at most 'sampled' of them; 0 but on the
 * last stage, and where 'sampled' is 0. */
double bound_shape_sampled(const BoundShape *shape, const BoundStage *stage, guint64 sampled);

/* Decode steps of 1 … batch requests: the least seconds a request on a stage, and the least on all
 * stages with the hops between them. */
double bound_shape_decode_row(const BoundShape *shape, const BoundStage *stage);
double bound_shape_decode_cycle(const BoundShape *shape, guint32 batch);

#endif
