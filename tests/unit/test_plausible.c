#include "platforms/plausible.h"
#include "tests/unit/platform_fixture.h"
#include <string.h>

static const char *const shipped[] = {"mt3000.yaml", "wse2.yaml",  "wse3.yaml",     "a100.yaml",
                                      "a800.yaml",   "v100s.yaml", "blackhole.yaml"};

static GArray *ranges_of(const Platform *platform) {
    g_autoptr(GError) error = NULL;
    GArray *ranges = plausible_ranges(platform, &error);

    g_assert_no_error(error);
    return ranges;
}

/* All three in one dimension, and in order. */
static gboolean in_order(const PlausibleRange *range, Dimension dimension) {
    double low, between, high;

    return units_parse(range->low, dimension, &low) == NULL &&
           units_parse(range->shipped, dimension, &between) == NULL &&
           units_parse(range->high, dimension, &high) == NULL && low < high && low <= between &&
           between <= high;
}

static void test_every_shipped_number_lies_in_its_range(void) {
    for (guint i = 0; i < G_N_ELEMENTS(shipped); i++) {
        g_autoptr(YamlNode) section = NULL;
        g_autoptr(Platform) platform = read_shipped(shipped[i], &section);
        g_autoptr(GArray) ranges = ranges_of(platform);
        guint spoken_of = 0;

        for (guint j = 1; j < platform->sources->len; j += 2)
            spoken_of += strstr(platform->sources->pdata[j], "plausible range") != NULL;
        g_assert_cmpuint(ranges->len, ==, spoken_of);
        g_assert_cmpuint(ranges->len, >=, 7);
        for (guint j = 0; j < ranges->len; j++) {
            const PlausibleRange *range = &g_array_index(ranges, PlausibleRange, j);
            gboolean ordered = FALSE;
            for (Dimension dimension = 0; dimension <= DIMENSION_JOULES_PER_BYTE; dimension++)
                ordered |= in_order(range, dimension);
            g_test_message("%s: %s: %s <= %s <= %s", shipped[i], range->key, range->low,
                           range->shipped, range->high);
            g_assert_true(ordered);
        }
    }
}

static const PlausibleRange *range_of(const GArray *ranges, const char *key) {
    for (guint i = 0; i < ranges->len; i++)
        if (g_str_equal(g_array_index(ranges, PlausibleRange, i).key, key))
            return &g_array_index(ranges, PlausibleRange, i);
    return NULL;
}

static void test_ends_have_their_unit(void) {
    g_autoptr(YamlNode) section = NULL;
    g_autoptr(Platform) platform = read_shipped("mt3000.yaml", &section);
    g_autoptr(GArray) ranges = ranges_of(platform);
    const PlausibleRange *port = range_of(ranges, "network.port.bandwidth");

    g_assert_cmpstr(port->shipped, ==, "1 GB/s");
    g_assert_cmpstr(port->low, ==, "0.25 GB/s");
    g_assert_cmpstr(port->high, ==, "6 GB/s");
    g_assert_null(range_of(ranges, "cluster.sm")); /* published */
    g_autoptr(YamlNode) wafer_section = NULL;
    g_autoptr(Platform) wafer = read_shipped("wse2.yaml", &wafer_section);
    g_autoptr(GArray) wafer_ranges = ranges_of(wafer);
    const PlausibleRange *relay = range_of(wafer_ranges, "mesh.relay_cycles");
    g_assert_cmpstr(relay->low, ==, "5");
    g_assert_cmpstr(relay->high, ==, "20"); /* a full stop behind it is none of it */
}

static void test_a_range_without_numbers_is_refused(void) {
    g_autoptr(YamlNode) section = NULL;
    g_autoptr(Platform) platform = read_shipped("mt3000.yaml", &section);
    g_autoptr(GError) error = NULL;

    g_free(platform->sources->pdata[1]);
    platform->sources->pdata[1] = g_strdup("assumed, plausible range unknown");
    g_assert_null(plausible_ranges(platform, &error));
    g_assert_error(error, INPUT_ERROR, INPUT_ERROR_SYNTAX);
    g_assert_nonnull(strstr(error->message, "plausible range 0.25-6 GB/s"));
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/plausible/every_shipped_number_lies_in_its_range",
                    test_every_shipped_number_lies_in_its_range);
    g_test_add_func("/plausible/ends_have_their_unit", test_ends_have_their_unit);
    g_test_add_func("/plausible/a_range_without_numbers_is_refused",
                    test_a_range_without_numbers_is_refused);
    return g_test_run();
}
