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

const OpUnits *op_units_for(const GPtrArray *ranges, guint64 rows) {
    for (guint i = 0; i < ranges->len; i++) {
        const OpUnits *units = g_ptr_array_index(ranges, i);
        if (rows <= units->rows_to)
            return units;
    }
    g_assert_not_reached();
}
