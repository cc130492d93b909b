/* Private to search spaces: the 'search' section as read, and the keys of the policy that it may
 * bound. */
#ifndef POLICIES_SEARCH_SPEC_H
#define POLICIES_SEARCH_SPEC_H

#include "policies/search_space.h"

/* What a key belongs to. */
typedef enum { PART_COMMON, PART_PREFILL, PART_BUFFER, PART_DECODE } SearchPart;

/* In the order of enumeration, which is also that of a point's settings. Replicas come last: the
 * innermost dimension is counted, not walked. */
typedef enum {
    DIM_POOLS,
    DIM_PLACEMENT,
    DIM_ROUTING,
    DIM_ADMISSION,
    DIM_PREFILL_PP,
    DIM_PREFILL_MICRO_BATCH,
    DIM_PREFILL_CHUNK_TOKENS,
    DIM_BUFFER_CLUSTERS,
    DIM_DECODE_TP,
    DIM_DECODE_PP,
    DIM_DECODE_SLOTS,
    DIM_DECODE_BATCHING,
    DIM_COLOCATED_TP,
    DIM_COLOCATED_PP,
    DIM_COLOCATED_SLOTS,
    DIM_COLOCATED_BATCHING,
    DIM_COLOCATED_CHUNK_TOKENS,
    DIM_COLOCATED_MAX_BATCH_TOKENS,
    DIM_WAFER_PREFILL_GRID,
    DIM_WAFER_DECODE_GRID,
    DIM_WAFER_REGIONS,
    DIM_WAFER_SYSTEM,
    DIM_WAFER_KV,
    DIM_WAFER_K_TREE,
    DIM_PREFILL_DP,
    DIM_DECODE_DP,
    DIM_COLOCATED_DP,
    DIM_WAFER_DP,
    N_SEARCH_DIMENSIONS
} SearchDimensionKind;

/* One key of the policy; its bounds, its names and its place in a Policy are policy_field's. */
typedef struct SearchDimension {
    const char *group; /* NULL: the policy's own */
    const char *key;
    ServingMode mode; /* that the group belongs to */
    SearchPart part;
    gboolean replicas; /* more of it is the same split on more clusters */
} SearchDimension;
extern const SearchDimension search_dimensions[N_SEARCH_DIMENSIONS];

/* Whether plans of 'mode' have that dimension. */
gboolean search_dimension_in(SearchDimensionKind kind, ServingMode mode);

struct SearchSpec {
    YamlNode *place; /* of the section, without what it holds; NULL: there was none */
    SearchMethod method;
    GPtrArray *objectives; /* YamlNode * */
    guint64 clusters;      /* 0: no bound */
    gboolean use_all;
    AnalyticSwitches analytic;
    GArray *modes;                         /* guint64, ServingMode; NULL: the policy's own */
    GArray *values[N_SEARCH_DIMENSIONS];   /* guint64, counts ascending; NULL: not given */
    YamlNode *places[N_SEARCH_DIMENSIONS]; /* of those that are given */
};

#endif
