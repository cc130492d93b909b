/* What cores hold, against sums by hand and the published output lengths (WaferLLM table 5). */
#include "policies/mesh/kv_ledger.h"
#include "policies/mesh/wafer_memory.h"
#include "tests/unit/wafer_fixture.h"

#include <math.h>

static const MeshSpec wafer = {.columns = WAFER_COLUMNS, .rows = WAFER_ROWS};

/* Where the grid divides everything nothing is padded, but norms lie on every column. */
static void test_whole_tiles_hold_the_layer_once(void) {
    static const char *const names[] = {"llama-3-8b", "llama-2-13b", "mixtral-8x7b"};
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autoptr(Model) model = shipped_model(names[i]);
        WaferLayout layout = {model, 128, 128, 1, WAFER_WHOLE_LAYERS};
        double repeated = 127 * (double)(2 * model->hidden + model->experts * model->hidden);
        double layer = wafer_memory_layer_bytes(&layout) * 128 * 128;
        g_assert_cmpfloat(layer, ==, 2 * ((double)model_layer_parameters(model) + repeated));
        layout.split = WAFER_EVEN_LAYERS;
        g_assert_cmpfloat(fabs(wafer_memory_weight_bytes(&layout) * 128 * 128 -
                               2 * (double)model_parameters(model)),
                          <, 1);
    }
}

static void test_the_fullest_region_decides(void) {
    g_autoptr(Model) model = shipped_model("llama-3-8b");
    WaferLayout layout = {model, 360, 360, 5, WAFER_WHOLE_LAYERS};
    /* d = q = 12, kv = 3, f = 40: 2 · 12² + 2 · 12 · 3 + 3 · 12 · 40 and two norms of 12 */
    g_assert_cmpfloat(wafer_memory_layer_bytes(&layout), ==, 2 * (288 + 72 + 1440 + 24));
    g_assert_cmpfloat(wafer_memory_weight_bytes(&layout), ==, 7 * 2 * 1824); /* ⌈32 / 5⌉ */
    g_assert_cmpfloat(wafer_memory_kv_bytes(&layout), ==, 7 * 2 * 3 * 2);
    g_assert_cmpfloat(wafer_memory_kv_room(&layout, WAFER_USABLE_BYTES, 1000), ==,
                      WAFER_USABLE_BYTES - 7 * 2 * 1824 - 1000);
    g_assert_cmpfloat(wafer_memory_kv_room(&layout, 100, 0), ==, 0);
}

/* Tokens 4096 on 480²: 9 × 9 of Q, 9 × 30 of up. The largest is down's or up's: 9·9 and 9·30,
 * twice, and 9·30. */
static void test_buffers_of_prefill(void) {
    g_autoptr(Model) model = shipped_model("llama-3-8b");
    g_assert_cmpfloat(wafer_memory_prefill_bytes(model, 480, 480, 4096), ==,
                      2 * MAX(2 * (9 * 9 + 9 * 30) + 9 * 30, 2 * (9 * 30 + 30 * 9) + 9 * 9));
}

static void test_regions_are_counted_by_area_or_by_geometry(void) {
    static const struct {
        guint side, by_area, by_geometry;
    } rows[] = {{375, 5, 4}, {360, 5, 4}, {420, 4, 2},
                {750, 1, 1}, {994, 0, 0}, {1, 745500, 745500}};
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        guint side = rows[i].side;
        g_assert_cmpuint(wafer_memory_regions_by_area(&wafer, side, side), ==, rows[i].by_area);
        g_assert_cmpuint(wafer_memory_regions_by_geometry(&wafer, side, side), ==,
                         rows[i].by_geometry);
    }
}

static void test_smallest_regions_are_the_first_that_hold_the_weights(void) {
    g_autoptr(Model) model = shipped_model("llama-2-13b");
    for (guint split = 0; split < N_WAFER_SPLITS; split++) {
        for (double buffers = 0; buffers < 40000; buffers += 2500) {
            WaferLayout layout = {model, 375, 375, 1, (WaferSplit)split};
            guint found = wafer_memory_smallest_regions(&layout, WAFER_USABLE_BYTES, buffers);
            g_assert_cmpuint(found, >, 1);
            layout.regions = found;
            g_assert_cmpfloat(wafer_memory_weight_bytes(&layout) + buffers, <=, WAFER_USABLE_BYTES);
            layout.regions = found - 1;
            g_assert_cmpfloat(wafer_memory_weight_bytes(&layout) + buffers, >, WAFER_USABLE_BYTES);
        }
    }
    WaferLayout small = {model, 100, 100, 1, WAFER_WHOLE_LAYERS};
    g_assert_cmpuint(wafer_memory_smallest_regions(&small, WAFER_USABLE_BYTES, 0), ==, 0);
}

/* Table 5: the published longest outputs. 13B fits with as many regions as the wafer has room for;
 * 8B's figure needs six, which is more cores than it has. */
typedef struct Table5 {
    const char *model;
    guint side, regions;
    gboolean has_room;
    double concat, shift;          /* published */
    double within[N_WAFER_SPLITS]; /* of both, found: whole layers, even layers */
} Table5;

static const Table5 table5[] = {
    {"llama-2-13b", 375, 5, TRUE, 16, 6168, {0.10, 0.10}},
    {"llama-3-8b", 360, 6, FALSE, 382, 137548, {0.20, 0.01}},
    {"llama-3-8b", 360, 5, TRUE, 382, 137548, {0.45, 0.35}},
};

static KvCapacity filled(const WaferLayout *layout, KvRule rule) {
    KvLedgerSetup setup = {.rule = rule,
                           .rows = layout->rows,
                           .room_bytes = wafer_memory_kv_room(layout, WAFER_USABLE_BYTES, 0),
                           .token_bytes = wafer_memory_kv_bytes(layout)};
    KvCapacity capacity = kv_ledger_capacity(&setup);
    guint64 in_a_row = (guint64)(setup.room_bytes / setup.token_bytes);
    g_assert_cmpuint(capacity.new_tokens, ==, in_a_row * (rule == KV_SHIFT ? layout->rows : 1));
    return capacity;
}

static void test_longest_outputs_are_near_the_published(void) {
    for (gsize i = 0; i < G_N_ELEMENTS(table5); i++) {
        const Table5 *row = &table5[i];
        g_autoptr(Model) model = shipped_model(row->model);
        gboolean has_room =
            wafer_memory_regions_by_area(&wafer, row->side, row->side) >= row->regions;
        g_assert_cmpint(has_room, ==, row->has_room);
        for (guint split = 0; split < N_WAFER_SPLITS; split++) {
            WaferLayout layout = {model, row->side, row->side, row->regions, (WaferSplit)split};
            double concat = (double)filled(&layout, KV_CONCAT).new_tokens;
            double shift = (double)filled(&layout, KV_SHIFT).new_tokens;
            g_test_message(
                "%s, %u regions, split %u: concat %.0f (%+.1f %%), shift %.0f (%+.1f %%)",
                row->model, row->regions, split, concat, 100 * (concat / row->concat - 1), shift,
                100 * (shift / row->shift - 1));
            g_assert_cmpfloat(fabs(concat / row->concat - 1), <=, row->within[split]);
            g_assert_cmpfloat(fabs(shift / row->shift - 1), <=, row->within[split]);
            g_assert_cmpfloat(fabs(shift / concat / (row->shift / row->concat) - 1), <=, 0.03);
        }
    }
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mesh_wafer_memory/whole_tiles_hold_the_layer_once",
                    test_whole_tiles_hold_the_layer_once);
    g_test_add_func("/mesh_wafer_memory/the_fullest_region_decides",
                    test_the_fullest_region_decides);
    g_test_add_func("/mesh_wafer_memory/buffers_of_prefill", test_buffers_of_prefill);
    g_test_add_func("/mesh_wafer_memory/regions_are_counted_by_area_or_by_geometry",
                    test_regions_are_counted_by_area_or_by_geometry);
    g_test_add_func("/mesh_wafer_memory/smallest_regions_are_the_first_that_hold_the_weights",
                    test_smallest_regions_are_the_first_that_hold_the_weights);
    g_test_add_func("/mesh_wafer_memory/longest_outputs_are_near_the_published",
                    test_longest_outputs_are_near_the_published);
    return g_test_run();
}
