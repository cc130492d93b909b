#include "analysis/compare/key_order.h"

void key_order_merge(GPtrArray *order, const GPtrArray *keys) {
    guint behind = 0;

    for (guint i = 0; i < keys->len; i++) {
        guint at;
        if (!g_ptr_array_find_with_equal_func(order, keys->pdata[i], g_str_equal, &at)) {
            at = behind;
            g_ptr_array_insert(order, (gint)at, keys->pdata[i]);
        }
        behind = at + 1;
    }
}
