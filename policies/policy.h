/* The 'policy' section: how the machine is divided and which rules decide. Read here; the rules
 * themselves are pure functions in their own files. */
#ifndef POLICIES_POLICY_H
#define POLICIES_POLICY_H

#include "platforms/platform.h"
#include "policies/mesh/kv_ledger.h"
#include "policies/mesh/wafer_layer.h"
#include "policies/rules.h"
#include "workloads/yaml_reader.h"

typedef enum { MODE_PBD, MODE_COLOCATED, MODE_WAFER, N_MODES } ServingMode;
typedef enum { PLACEMENT_PACKED, PLACEMENT_SPREAD } PlacementKind;
typedef enum { KV_RESERVE_OUTPUT, KV_RESERVE_MAX_CONTEXT, KV_RESERVE_ON_DEMAND } KvReservation;
typedef enum { KV_FORMULA_EXACT, KV_FORMULA_PAPER, KV_FORMULA_PAPER_KV_HEADS } KvFormula;
/* From the rows of rules.h: ROUTING_LEAST_LOADED …, ADMISSION_FCFS …, BATCHING_CONTINUOUS …,
 * BACKPRESSURE_WATERMARK …. */
typedef enum { ROUTING_RULES(RULE_KIND) } RoutingKind;
typedef enum { ADMISSION_RULES(RULE_KIND) } AdmissionKind;
typedef enum { BATCHING_RULES(RULE_KIND) } BatchingKind;
typedef enum { BACKPRESSURE_RULES(RULE_KIND) } BackpressureKind;
typedef enum { PREFIX_CACHE_OFF, PREFIX_CACHE_LRU } PrefixCacheKind;
typedef enum { GRAIN_STEP, GRAIN_OPERATOR } Grain;
/* What THInfer's operators have gained, one switch each (table VII). */
typedef enum { OPERATORS_REFERENCE, OPERATORS_OPTIMISED } OperatorsPolicy;
typedef enum { FUSION_OFF, FUSION_ON } FusionPolicy;
typedef enum {
    ATTENTION_POLICY_UNFUSED,
    ATTENTION_POLICY_FLASH,
    ATTENTION_POLICY_MT
} AttentionPolicy;
typedef enum { LAUNCH_PER_OPERATOR, LAUNCH_UNIFIED } LaunchPolicy;
typedef enum { KV_CACHE_IN_PLACE, KV_CACHE_CONCAT } KvCachePolicy;
/* Where weights lie that do not fit beside the KV, and how they come from there in every step. */
typedef enum { OFFLOAD_NONE, OFFLOAD_HOST, OFFLOAD_DISK } OffloadPolicy;
typedef enum { HOST_TRANSFER_PINNED, HOST_TRANSFER_PAGEABLE } HostTransfer;

/* A pool that computes prompts only. */
typedef struct PrefillSpec {
    guint64 dp, pp;
    guint64 micro_batch;  /* requests a prefill step takes at most */
    guint64 chunk_tokens; /* 0: whole prompts */
    PrefixCacheKind prefix_cache;
    double prefix_cache_bytes; /* per replica */
} PrefillSpec;

typedef struct BufferSpec {
    guint64 clusters;
    BackpressureKind backpressure;
    double high_watermark, low_watermark; /* shares of the pool's bytes; low ≤ high */
} BufferSpec;

/* A pool that generates tokens; in colocated mode it also computes the prompts. */
typedef struct DecodeSpec {
    guint64 tp, pp, dp;
    guint64 slots;         /* requests a micro-batch holds */
    guint64 micro_batches; /* colocated: that travel through a replica's stages; 0: one a stage */
    BatchingKind batching;
    guint64 chunk_tokens; /* colocated: tokens a mixed step holds; 0: prompts run on their own */
    guint64 max_batch_tokens; /* colocated: prompt tokens a prefill step takes at most */
    PrefixCacheKind prefix_cache;
    double prefix_cache_bytes;
} DecodeSpec;

/* Wafers that each work on one request at a time, from its prompt to its last token. */
typedef struct WaferSpec {
    guint64 prefill_grid, decode_grid; /* cores a side; 0: chosen for the model and the workload */
    guint64 regions; /* of that grid, each with some of the layers; 0: as few as hold a request */
    WaferSystem system;
    KvRule kv;      /* where a new token's KV goes (WaferLLM 4.3) */
    guint64 k_tree; /* K of the sums' trees */
    guint64 dp;     /* wafers in each pool; 0: all of the platform, shared by the pools */
} WaferSpec;

typedef struct Policy {
    ServingMode mode;
    guint64 pools; /* copies of the whole plan */
    PlacementKind placement;
    Grain grain;
    guint64 max_context; /* tokens a request may reach; 0: the model's */
    KvReservation kv_reservation;
    KvFormula kv_formula;
    double overhead_bytes; /* "Overhead" of THInfer eq. 16, per cluster */
    RoutingKind routing;
    AdmissionKind admission;
    OperatorsPolicy operators;
    FusionPolicy fusion;
    AttentionPolicy attention;
    LaunchPolicy launch;
    KvCachePolicy kv_cache;
    double layer_overhead_s; /* software of the framework, in each layer of a step */
    OffloadPolicy offload;
    HostTransfer host_transfer;
    guint64 staging_copies; /* of the weights, in the host's memory while they are loaded */
    PrefillSpec prefill;    /* mode pbd */
    BufferSpec buffer;      /* mode pbd */
    DecodeSpec decode; /* mode pbd; under the key 'colocated' in that mode; in mode wafer what a
                          wafer amounts to: one stage with one slot */
    WaferSpec wafer;   /* mode wafer */
} Policy;

/* Reads the section. 'prefill', 'buffer', 'decode' belong to mode pbd, 'colocated' to mode
 * colocated and 'wafer' to mode wafer: the others' presence is an error, and in mode wafer so is
 * that of keys about clusters. But where an option sets the mode ('--set policy.mode=…'), what the
 * file says for another mode is left out. Degrees of 0 are refused. What the section leaves out
 * gets its default, which for kernels ('fusion', 'attention', 'launch') depends on what they run
 * on. */
Policy *policy_read(const YamlNode *section, DeviceKind kind, GError **error);
void policy_free(Policy *policy);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Policy, policy_free)
void policy_write(const Policy *policy, guint indent, GString *out);

/* The node that a message about 'group'.'key' of a policy section points at: the key's value, or
 * the nearest thing that was written when it was left to its default. 'group' and 'key' may be
 * NULL. Borrowed. */
const YamlNode *policy_place(const YamlNode *section, const char *group, const char *key);
/* Micro-batches of a replica with 'pp' stages. */
guint64 policy_micro_batches(const DecodeSpec *decode, guint64 pp);
/* "decode", "colocated" or "wafer": the key whose mapping describes the pool that generates. */
const char *policy_decode_key(ServingMode mode);

/* The row of a key in the table of a mode's section, and where its value lies within a Policy.
 * 'group' is NULL for the policy's own keys. NULL when the mode has no such key. */
const YamlField *policy_field(ServingMode mode, const char *group, const char *key, gsize *offset);

extern const YamlEnum policy_mode_names; /* for the summary and for messages */

#endif
