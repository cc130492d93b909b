#include "workloads/op_units.h"

#include <string.h>

OpUnits *op_units_new(guint64 rows_to) {
    OpUnits *units = g_new(OpUnits, 1);
    *units = (OpUnits){rows_to, g_array_new(FALSE, FALSE, sizeof(UnitOp))};
    return units;
}

void op_units_free(OpUnits *units) {
    if (!units)
        return;
    g_array_unref(units->ops);
    g_free(units);
}

gboolean op_units_same(const OpUnits *a, const OpUnits *b) {
    return a->ops->len == b->ops->len &&
           memcmp(a->ops->data, b->ops->data, a->ops->len * sizeof(UnitOp)) == 0;
}

static void free_units(gpointer units) {
    op_units_free(units);
}

ModelUnits *model_units_new(const Model *model, guint tp) {
    ModelUnits *units = g_new(ModelUnits, 1);
    *units = (ModelUnits){.model = model,
                          .tp = tp,
                          .layer = g_ptr_array_new_with_free_func(free_units),
                          .head = g_ptr_array_new_with_free_func(free_units)};
    return units;
}

void model_units_free(ModelUnits *units) {
    if (!units)
        return;
    g_ptr_array_unref(units->layer);
    g_ptr_array_unref(units->head);
    g_free(units);
}

static void copy_ranges(const GPtrArray *from, GPtrArray *to) {
    for (guint i = 0; i < from->len; i++) {
        const OpUnits *range = g_ptr_array_index(from, i);
        OpUnits *copy = op_units_new(range->rows_to);
        g_array_append_vals(copy->ops, range->ops->data, range->ops->len);
        g_ptr_array_add(to, copy);
    }
}

ModelUnits *model_units_copy(const ModelUnits *units, const Model *model) {
    ModelUnits *copy = model_units_new(model, units->tp);
    copy_ranges(units->layer, copy->layer);
    copy_ranges(units->head, copy->head);
    copy->most_fused_contexts = units->most_fused_contexts;
    return copy;
}

const OpUnits *op_units_for(const GPtrArray *ranges, guint64 rows) {
    for (guint i = 0; i < ranges->len; i++) {
        const OpUnits *units = g_ptr_array_index(ranges, i);
        if (rows <= units->rows_to)
            return units;
    }
    g_assert_not_reached();
}
