/* A plan: the policy applied to a model and a machine. Which clusters do what, which layers a stage
 * holds, what memory it takes, and how many tokens of KV fit. Refused with its memory bill when it
 * cannot fit. */
#ifndef POLICIES_PLAN_H
#define POLICIES_PLAN_H

#include "platforms/platform.h"
#include "policies/policy.h"
#include "policies/wafer_use.h"
#include "workloads/model.h"

typedef enum { ROLE_PREFILL, ROLE_DECODE, ROLE_COLOCATED, N_ROLES } ReplicaRole;
const char *replica_role_name(ReplicaRole role);

/* Memory of one cluster, or of a wafer's regions together, in bytes. */
typedef struct MemoryBill {
    double weights;
    double kv; /* what is left for KV (decode, colocated), or what eq. 13 asks (prefill) */
    double prefix_cache;
    double overhead;
    double usable; /* weights + kv + prefix_cache + overhead ≤ usable */
} MemoryBill;

/* Weights that come from the host in every step: all layers of a stage, as the frameworks of the
 * papers do it, when they do not fit beside the KV. */
typedef struct WeightStream {
    double bytes; /* of one rank; 0: its weights rest on the device */
    double bytes_per_s;
    gboolean overlaps; /* the next layer comes while one computes */
} WeightStream;

typedef struct StagePlan {
    guint first_layer, layers;
    guint tp;
    guint *clusters;     /* the tp ranks, in ring order */
    double weight_bytes; /* of one rank, wherever they lie */
    MemoryBill bill;     /* of one rank; of layers that are streamed, two */
    WeightStream stream;
} StagePlan;

typedef struct ReplicaPlan {
    ReplicaRole role;
    guint pool;  /* which copy of the plan */
    guint index; /* within its role and pool */
    guint n_stages;
    StagePlan *stages;
    guint64 kv_tokens; /* tokens of KV that fit at once in every stage (decode, colocated) */
    double kv_bytes_per_token; /* of all layers and KV heads, on however many ranks each lies */
} ReplicaPlan;

typedef struct BufferPlan {
    guint pool;
    guint cluster;
    double bytes; /* capacity for KV */
} BufferPlan;

typedef struct Plan {
    guint n_replicas;
    ReplicaPlan *replicas; /* pool after pool; in each its prefill ones, then its decode ones (or
                              its colocated ones) */
    guint n_buffers;
    BufferPlan *buffers;
    guint clusters_used;
    guint clusters_available; /* on the platform */
    DeviceKind kind;          /* of these */
    guint64 max_context;      /* tokens a request may reach */
    WaferUse wafer;           /* of every wafer; mode wafer */
} Plan;

/* Places and checks. Errors name the rule and the numbers: TP must divide the heads and fit the KV
 * heads, PP ≤ layers, the pools must fit the platform, and one request of max_context (with
 * max_context reservation: every slot) must fit beside the weights. A memory error carries the bill
 * (THInfer eq. 12–16) and the smallest TP × PP that would fit. With 'offload' weights that do not
 * fit are streamed (weight_stream.h) before that is said. Mode wafer and platforms of kind
 * wafer want each other; there, grids are decided already (not 0), wafers are replicas with one
 * stage on one cluster, and wafer_use.h says what must fit. 'place' begins the message: the policy
 * section's node. Borrows nothing. */
Plan *plan_new(const Policy *policy, const Model *model, const Platform *platform,
               const YamlNode *place, GError **error);
void plan_free(Plan *plan);
/* What a replica is called where people read it: its role, or "wafer" in mode wafer. Static. */
const char *plan_replica_name(const Plan *plan, const ReplicaPlan *replica);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Plan, plan_free)

/* What a stage's weights take to come, once a step; 0 where they rest on the device. */
double weight_stream_seconds(const WeightStream *stream);

/* Whether rows of a wafer's cores have room for a request's KV, whatever the tokens together; TRUE
 * on other platforms. */
gboolean plan_holds(const Plan *plan, guint64 prompt_tokens, guint64 output_tokens);

/* The bill and the derived capacity as YAML comment lines ("# …\n"). */
void plan_write_comments(const Plan *plan, const Policy *policy, const Model *model, GString *out);

/* Bytes of weights on one rank of a stage; exact by layers, embedding, head and TP split. */
double plan_stage_weight_bytes(const Model *model, guint first_layer, guint layers, guint tp);

#endif
