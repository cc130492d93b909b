/* What moves over a wafer besides a layer's operators, at phase grain: everything at the turn from
 * prompt to decode, and activations from region to region. */
#ifndef ACTORS_MESH_WAFER_MOVE_H
#define ACTORS_MESH_WAFER_MOVE_H

#include "actors/mesh/phase.h"

typedef struct WaferMove {
    const Model *model;
    const MeshSpec *spec;
    guint prefill_grid, decode_grid; /* cores a side; prefill's first core is the wafer's */
    guint regions;                   /* of decode */
    guint64 tokens;                  /* of the prompt, whose KV moves */
    guint outside; /* so many last layers rest below the prefill grid during prompts */
} WaferMove;

/* Every element of a layer's matrices and of the prompt's KV goes from the core that had it in
 * prefill to the one that needs it in decode. In prefill the inputs of a matrix are divided along
 * Y and its outputs along X. So they are in decode, but for the attention's output and the FFN's
 * down projection, whose inputs come along X (WaferLLM 4.2): these lie turned. K and V have their
 * tokens along Y in both. The weights of 'outside' layers come from all cores in the rows below the
 * prefill grid, the inputs along Y and outputs along X of these, too. What need not move is not
 * counted. The routes are set up in hardware. */
MeshPhaseCounts wafer_move_transition(const WaferMove *move);

/* One of the 'outside' layers' weights, to where its loops on the prefill grid want them. */
MeshPhaseCounts wafer_move_layer_in(const WaferMove *move);

/* From a region to the next, of 'n' elements that lie divided over the columns: from its last row,
 * and along the columns to the far end of the next region, all of whose rows take them as they
 * pass. */
MeshPhaseCounts wafer_move_activations(const WaferMove *move, guint region, guint64 n);

#endif
