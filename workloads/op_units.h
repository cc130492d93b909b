/* How the operators of a layer, or of the model's end, run together: which are one kernel, and what
 * of theirs passes through off-chip memory. A fusion pass decides that; here it is data, from which
 * operator graphs are built. */
#ifndef WORKLOADS_OP_UNITS_H
#define WORKLOADS_OP_UNITS_H

#include "workloads/model.h"

/* An operator of the list (op_list.h) for one request. Attention, there several operators, stands
 * here once, by the first of them. */
typedef struct UnitOp {
    guint op;
    gboolean begins_unit;
    guint32 read;     /* bit i: its kernel reads operand i from off-chip memory */
    gboolean written; /* its kernel writes the result there */
} UnitOp;

typedef struct OpUnits {
    guint64 rows_to; /* for batches of up to so many rows */
    GArray *ops;     /* UnitOp, in execution order; those of a unit one after another */
} OpUnits;

OpUnits *op_units_new(guint64 rows_to);
void op_units_free(OpUnits *units);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OpUnits, op_units_free)
gboolean op_units_same(const OpUnits *a, const OpUnits *b); /* whatever their rows */

/* Of one model on each of 'tp' ranks. */
typedef struct ModelUnits {
    const Model *model; /* borrowed */
    guint tp;
    GPtrArray *layer, *head;     /* OpUnits by rows_to; the last is for any number of rows */
    guint64 most_fused_contexts; /* attention over more tokens runs part by part */
} ModelUnits;

ModelUnits *model_units_new(const Model *model, guint tp); /* without any units yet */
void model_units_free(ModelUnits *units);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ModelUnits, model_units_free)
/* The same units of an equal model, which is borrowed. */
ModelUnits *model_units_copy(const ModelUnits *units, const Model *model);

/* Of 'ranges' (layer or head) the one that covers 'rows'. */
const OpUnits *op_units_for(const GPtrArray *ranges, guint64 rows);

#endif
