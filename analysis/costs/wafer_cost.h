/* Cycles of a model's phases on a wafer's mesh, as the sum of their operators, each of which is
 * simulated once: in a child process, as many at a time as there are processors, and kept. What is
 * asked for does not depend on how many processors there are, nor on what was asked before.
 *
 * A caller that needs many points lists them first (wafer_costs_want …) and has them simulated
 * together (wafer_costs_fill); a point that was not listed is simulated when it is asked for. */
#ifndef ANALYSIS_WAFER_COST_H
#define ANALYSIS_WAFER_COST_H

#include "platforms/platform.h"
#include "policies/mesh/wafer_layer.h"

typedef struct WaferCosts WaferCosts;

/* A decode step or a prompt on a square grid. */
typedef struct WaferPoint {
    const Model *model; /* borrowed while it is asked for */
    WaferSystem system;
    guint grid;     /* cores a side */
    guint64 tokens; /* decode: of context that the new token attends to; prefill: of the prompt */
    guint k_tree;   /* K of the sums' trees; 0: 2 */
    gboolean with_head; /* the final norm and the output matrix are counted */
    guint regions;      /* that the layers are spread over, one after another; 0: 1 */
    guint outside;      /* prefill: layers whose weights first come from below the grid */
    gboolean turns;     /* decode: regions that turn cost more (wafer_turn_cycles) */
    gboolean kv_shift;  /* decode: a layer's K and V of a token go up a row (WaferLLM 4.3) */
} WaferPoint;

/* Cycles of a decode step that come from regions turning at an end of the wafer (wafer_regions.h),
 * on whatever context: the sums along their columns cross the turn. wafer_decode_cycles has them in
 * it where 'turns' is set; without, all regions count as flat, as in the published plans. */
double wafer_turn_cycles(const MeshSpec *mesh, const WaferPoint *point);

/* From a prompt's grid to the grid (of each region) that decodes after it. */
typedef struct WaferTransition {
    const Model *model;
    guint prefill_grid, decode_grid;
    guint64 tokens; /* whose KV moves */
    guint regions;  /* of decode; 0: 1 */
    guint outside;  /* layers that rest below the prefill grid (wafer_use.h) */
} WaferTransition;

/* MeshGEMV by itself: x[k] · B[k×n], the sums left at the roots of the columns' trees. */
typedef struct WaferGemv {
    guint grid;
    guint64 k, n;
    DataType type;
    guint k_tree; /* 0: 2 */
} WaferGemv;

/* Borrows the platform, of kind wafer. */
WaferCosts *wafer_costs_new(const Platform *platform);
void wafer_costs_free(WaferCosts *costs);
/* Takes what earlier runs have found from a file, and keeps there what this one finds
 * (wafer_cache.h): the same cycles, only sooner. */
void wafer_costs_keep(WaferCosts *costs);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(WaferCosts, wafer_costs_free)

/* Lists what will be asked for. */
void wafer_costs_want_decode(WaferCosts *costs, const WaferPoint *point);
void wafer_costs_want_prefill(WaferCosts *costs, const WaferPoint *point);
void wafer_costs_want_transition(WaferCosts *costs, const WaferTransition *transition);
void wafer_costs_want_gemv(WaferCosts *costs, const WaferGemv *gemv);
/* Simulates what is listed and not known. INPUT_ERROR where a grid or a shape is at fault. */
gboolean wafer_costs_fill(WaferCosts *costs, GError **error);

/* Cycles of one token through all layers: the layers of each region and the hand-overs between
 * regions. All four below: negative and an error where it cannot be simulated. */
double wafer_decode_cycles(WaferCosts *costs, const WaferPoint *point, GError **error);
/* Cycles of the prompt through all layers; 'regions' as above. */
double wafer_prefill_cycles(WaferCosts *costs, const WaferPoint *point, GError **error);
/* Cycles in which all weights move from where they rest during prompts (wafer_use.h) to where the
 * decode regions want them, and the prompt's KV cache with them. */
double wafer_transition_cycles(WaferCosts *costs, const WaferTransition *transition,
                               GError **error);
double wafer_gemv_cycles(WaferCosts *costs, const WaferGemv *gemv, GError **error);

/* Share of a region's time that is idle while one request passes 'regions' of them: (R−1)/R. */
double wafer_region_bubbles(guint regions);

/* Simulations that were run so far. */
guint wafer_costs_simulations(const WaferCosts *costs);

#endif
