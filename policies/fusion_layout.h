/* Private to fusion: what a set of operators takes of a cluster's memories when they run as one
 * kernel over row blocks.
 *
 * Every high-density operator brings its own blocks, laid out side by side: a Linear those of
 * gemm_footprint, cut to its shape; a product of activations its left rows in SM, its right block
 * twice and its sums in AM. Around them,
 *   - a low operator works in place on the tile that it is given, so a tile costs nothing;
 *   - a reader of whole rows needs them whole: row block × columns in AM. Before a Linear that is
 *     only what its block in GSM has no columns for;
 *   - between two high operators a result waits in whole rows, as they run one after another;
 *   - a reader of the whole needs it all in GSM;
 *   - operands from off-chip memory come through two tiles (two rows for a reader of rows), and
 *     weights of low operators stay in AM.
 * Rows that AM has no room for wait in GSM, as attention's scores do. The row block is that of the
 * Linear operators, else the largest of 64, 48, … 1 rows that fits. */
#ifndef POLICIES_FUSION_LAYOUT_H
#define POLICIES_FUSION_LAYOUT_H

#include "policies/fusion.h"

typedef struct FusionLayout {
    guint64 rows;
    GemmFootprint on_chip;
    BarrierKind lacking; /* NONE when it fits, otherwise the tier */
} FusionLayout;

/* 'members' (guint) in ascending order. */
FusionLayout fusion_layout(const FusionInput *input, const GArray *members);

/* TRUE for an operator of high arithmetic density. */
gboolean fusion_is_dense(const Op *op);

/* Where 'op' stands among 'members', or G_MAXUINT. */
guint fusion_place_in(const GArray *members, guint op);

#endif
