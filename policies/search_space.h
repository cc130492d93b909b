/* The plans that a search considers: bounds from the experiment's 'search' section, enumerated in a
 * fixed order, with what breaks a rule of divisibility or memory left out before anything runs. */
#ifndef POLICIES_SEARCH_SPACE_H
#define POLICIES_SEARCH_SPACE_H

#include "policies/plan.h"

typedef enum {
    PRUNED_TP,       /* TP does not divide heads or KV heads */
    PRUNED_LAYERS,   /* more stages than layers */
    PRUNED_CLUSTERS, /* more clusters than there are (or than the bound) */
    PRUNED_MEMORY,   /* weights or one request do not fit (THInfer eq. 12–16) */
    PRUNED_IDLE,     /* uses fewer clusters than another with the same split and more replicas */
    PRUNED_CONFLICT, /* values that the policy section refuses together */
    N_PRUNE_RULES
} PruneRule;
const char *prune_rule_name(PruneRule rule);

/* One plan as settings: what --set would be given, in a fixed order. */
typedef struct SearchPoint {
    char **settings; /* "policy.decode.tp=4" …, NULL-terminated; the texts are the space's */
    guint64 clusters;
} SearchPoint;

typedef struct SearchSpace {
    GPtrArray *points; /* SearchPoint *, in enumeration order */
    guint64 enumerated;
    guint64 pruned[N_PRUNE_RULES];
    GStringChunk *texts; /* that the points' settings are */
} SearchSpace;

typedef enum { SEARCH_GUIDED, SEARCH_EXHAUSTIVE, SEARCH_ANALYTIC } SearchMethod;
extern const YamlEnum search_method_names;

/* How the paper's configuration rule is read (THInfer eq. 12–22; see analytic_rule.h). */
typedef enum { ANALYTIC_CONTEXT_WORKLOAD, ANALYTIC_CONTEXT_MODEL } AnalyticContext;
typedef enum { ANALYTIC_KV_HIDDEN, ANALYTIC_KV_HEADS } AnalyticKvWidth;
typedef enum { ANALYTIC_MICRO_BATCH_POLICY, ANALYTIC_MICRO_BATCH_RULE } AnalyticMicroBatch;
typedef enum { ANALYTIC_POOLS_RATIO, ANALYTIC_POOLS_WHOLE } AnalyticPools;
typedef struct AnalyticSwitches {
    AnalyticContext context;        /* S_max: prompt + generated, or the model's context */
    AnalyticKvWidth kv_width;       /* D_emb of eq. 13 and 15: hidden, or kv_heads · head_dim */
    AnalyticMicroBatch micro_batch; /* of decode: the policy's, or what eq. 22 likes best of those
                                       for which eq. 15 and 16 leave room */
    AnalyticPools pools; /* Clu_total / Clu_pool of eq. 21 as it is, or of whole pools only */
} AnalyticSwitches;

/* The section as read. A key of the policy is bounded by a list, by a range FROM:TO[:STEP] or by
 * one value, under the name that it has there: 'decode: {tp: [1, 2, 4], dp: 1:16}'. What a section
 * leaves out, and all of it when 'section' is NULL, is bounded by the model and the machine, or
 * keeps the policy's value. Messages point at the node. */
typedef struct SearchSpec SearchSpec;
SearchSpec *search_spec_read(const YamlNode *section, GError **error);
void search_spec_free(SearchSpec *spec);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SearchSpec, search_spec_free)
/* Nothing for a spec that was read from no section. */
void search_spec_write(const SearchSpec *spec, guint indent, GString *out);

SearchMethod search_spec_method(const SearchSpec *spec);
AnalyticSwitches search_spec_analytic(const SearchSpec *spec);
/* Names as they were written, YamlNode *, at least one; which exist is not this floor's to know.
 * Borrowed. */
const GPtrArray *search_spec_objectives(const SearchSpec *spec);

/* 'clusters' bounds the machine (0: the platform's). Errors: an empty space says which rule emptied
 * it. */
SearchSpace *search_space_new(const SearchSpec *spec, const Policy *base, const Model *model,
                              const Platform *platform, guint64 clusters, GError **error);
void search_space_free(SearchSpace *space);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SearchSpace, search_space_free)

#endif
