/* What the fusion pass decides, as the data that serving builds its operator graphs from: for every
 * number of rows the units, and which operands and results pass through off-chip memory.
 *
 * Within a unit the kernel of a Linear moves what the low operators around it would: it reads the
 * input of those before it in place of its own, which they make on chip, and writes the result of
 * those behind it, which take the place of its own. Only what has no Linear's tensor to stand for
 * it (a residual, a norm's result that others read too) is the low operator's own transfer. */
#ifndef POLICIES_FUSION_UNITS_H
#define POLICIES_FUSION_UNITS_H

#include "platforms/platform.h"
#include "policies/policy.h"
#include "workloads/op_units.h"

typedef struct FusionUnitsInput {
    const Model *model; /* the result borrows it */
    const ClusterSpec *cluster;
    guint tp;
    gboolean fuse; /* FALSE: every operator is a unit, but for attention */
    AttentionPolicy
        attention; /* UNFUSED: part by part; MT: where its parts form one unit and its
                      kernel has room; FLASH, which keeps no rows of scores: always one */
} FusionUnitsInput;

ModelUnits *fusion_units_new(const FusionUnitsInput *input);

#endif
