/* One list of figures, printed three ways. */
#include "analysis/output/facts.h"

#include <math.h>

static Facts *sample(void) {
    Facts *facts = facts_new();

    facts_text(facts, "operator", "operator", "gemm, \"tiled\"");
    facts_count(facts, "m", NULL, 7);
    facts_group(facts, "times", "Times");
    facts_quantity(facts, "latency_s", "latency", 0.0025, DIMENSION_SECONDS);
    facts_share(facts, "share", "share", 0.5);
    facts_number(facts, "nothing", "nothing", NAN, "never shown");
    facts_note(facts, "note", "%d of %d", 1, 2);
    return facts;
}

static void test_table_shows_labelled_figures(void) {
    g_autoptr(Facts) facts = sample();
    g_autofree char *text = facts_table(facts);

    g_assert_cmpstr(text, ==,
                    "  operator                  gemm, \"tiled\"\n"
                    "\nTimes\n"
                    "  latency                   2.5 ms\n"
                    "  share                     50.0 %\n"
                    "  nothing                   -\n"
                    "  note                      1 of 2\n");
}

static void test_json_nests_groups(void) {
    g_autoptr(Facts) facts = sample();
    g_autofree char *text = facts_json(facts);

    g_assert_cmpstr(text, ==,
                    "{\n  \"operator\": \"gemm, \\\"tiled\\\"\",\n  \"m\": 7,\n  \"times\": {\n"
                    "    \"latency_s\": 0.0025,\n    \"share\": 0.5,\n    \"nothing\": null\n"
                    "  }\n}\n");
}

static void test_csv_is_flat_and_quoted(void) {
    g_autoptr(Facts) facts = sample();
    g_autofree char *header = facts_csv_header(facts), *row = facts_csv_row(facts);

    g_assert_cmpstr(header, ==, "operator,m,latency_s,share,nothing\n");
    g_assert_cmpstr(row, ==, "\"gemm, \"\"tiled\"\"\",7,0.0025,0.5,\n");
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/facts/table", test_table_shows_labelled_figures);
    g_test_add_func("/facts/json", test_json_nests_groups);
    g_test_add_func("/facts/csv", test_csv_is_flat_and_quoted);
    return g_test_run();
}
