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
    N_PRUNE_RULES
} PruneRule;
const char *prune_rule_name(PruneRule rule);

/* One plan as settings: what --set would be given, in a fixed order. */
typedef struct SearchPoint {
    char **settings; /* "policy.decode.tp=4" … */
    guint64 clusters;
} SearchPoint;

typedef struct SearchSpace {
    GPtrArray *points; /* SearchPoint *, in enumeration order */
    guint64 enumerated;
    guint64 pruned[N_PRUNE_RULES];
} SearchSpace;

typedef struct SearchSpec SearchSpec; /* the section as read; see search_spec_read */
SearchSpec *search_spec_read(const YamlNode *section, GError **error); /* NULL section: defaults */
void search_spec_free(SearchSpec *spec);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SearchSpec, search_spec_free)
void search_spec_write(const SearchSpec *spec, guint indent, GString *out);

/* 'clusters' bounds the machine (0: the platform's). Errors: an empty space says which rule emptied
 * it. */
SearchSpace *search_space_new(const SearchSpec *spec, const Policy *base, const Model *model,
                              const Platform *platform, guint64 clusters, GError **error);
void search_space_free(SearchSpace *space);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SearchSpace, search_space_free)

#endif
