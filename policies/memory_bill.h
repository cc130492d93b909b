/* Private to plans: what a replica needs of the memory of its clusters (THInfer eq. 12–16), how
 * many tokens of KV that leaves, and which TP × PP would be the smallest to fit. */
#ifndef POLICIES_MEMORY_BILL_H
#define POLICIES_MEMORY_BILL_H

#include "policies/plan.h"

/* What a bill depends on besides the shape of the replica. All borrowed. */
typedef struct BillInputs {
    const Policy *policy;
    const Model *model;
    const Platform *platform;
    guint64 max_context; /* tokens; never 0 */
} BillInputs;

/* How a replica is divided. */
typedef struct ReplicaShape {
    ReplicaRole role;
    guint tp, pp;      /* tp is 1 for prefill */
    gboolean streamed; /* weights come from the host, step by step */
} ReplicaShape;

/* The layers of one stage: an even split, the remainder to the first stages. */
typedef struct StageSpan {
    guint first_layer, layers;
} StageSpan;
StageSpan stage_span(guint layers, guint pp, guint stage);

/* The bill of one rank of a stage. In a shape that does not fit 'kv' may be negative. */
MemoryBill memory_bill_stage(const BillInputs *inputs, const ReplicaShape *shape, guint stage);

/* Bytes of weights of one rank of a stage, wherever they lie. */
double memory_bill_weights(const BillInputs *inputs, const ReplicaShape *shape, guint stage);

/* Of them, those that come from the host in every step: the layers. */
double memory_bill_streamed(const BillInputs *inputs, const ReplicaShape *shape, guint stage);

/* Tokens of KV that fit beside the weights in every stage at once. 'tightest' (may be NULL) is
 * the stage that decides. */
guint64 memory_bill_tokens(const BillInputs *inputs, const ReplicaShape *shape, guint *tightest);

/* Requests of max_context tokens for which there must be room at once: a prefill step's, one in
 * the pools that generate, or every slot with kv_reservation max_context. */
guint64 memory_bill_requests(const BillInputs *inputs, ReplicaRole role, guint pp);

/* The longest context that the shape has room for. It fits when that reaches max_context. */
guint64 memory_bill_largest_context(const BillInputs *inputs, const ReplicaShape *shape);

/* Whether max_context fits; where the policy allows it and it must be, with streamed weights, which
 * the shape then says. */
gboolean memory_bill_fits(const BillInputs *inputs, ReplicaShape *shape);

/* Whether every rank gets the same number of heads and of KV heads. */
gboolean memory_bill_tp_divides(const Model *model, guint64 tp);
/* The same, or on GPUs, whose frameworks do that in a colocated pool, a KV head on several ranks.
 */
gboolean memory_bill_tp_works(const BillInputs *inputs, guint64 tp);

/* Why 'shape' does not fit: the bill of its tightest stage, and the smallest TP × PP of at most
 * 'max_clusters' that fits (of equal products the one with the fewest stages), or the longest
 * context that any of them has room for; and whether 'offload' would do. Caller frees. */
char *memory_bill_refusal(const BillInputs *inputs, const ReplicaShape *shape,
                          guint64 max_clusters);

/* "13.48 GB": what a bill is written in. Caller frees. */
char *memory_bill_bytes(double bytes);

#endif
