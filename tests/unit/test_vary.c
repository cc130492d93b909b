/* What a sweep varies: lists and ranges from the command line, and their product. */
#include "analysis/campaign/vary.h"

#include "workloads/input_error.h"

typedef struct ValuesCase {
    const char *text, *values; /* joined by '|' */
} ValuesCase;

static void test_values(void) {
    static const ValuesCase cases[] = {
        {"a.b=1,2,4", "1|2|4"},
        {"a=one", "one"},
        {"a= x , y ", "x|y"},
        {"a=4:64:20", "4|24|44|64"},
        {"a=4:63:20", "4|24|44"},
        {"a=5:5:1", "5"},
        {"a=0:1:0.1", "0|0.1|0.2|0.3|0.4|0.5|0.6|0.7|0.8|0.9|1"},
        {"a=3:1:-1", "3|2|1"},
        {"a=100 ms:200 ms:50 ms", "100 ms|150 ms|200 ms"},
        {"a=0.5/s:1.5/s:0.5/s", "0.5/s|1/s|1.5/s"},
        {"a=-1:1:1", "-1|0|1"},
        {"a=x=y", "x=y"},
    };

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        const char *const texts[] = {cases[i].text, NULL};
        g_autoptr(GError) error = NULL;
        g_autoptr(GPtrArray) keys = vary_parse(texts, &error);
        g_assert_no_error(error);
        g_assert_cmpuint(keys->len, ==, 1);
        g_autofree char *joined = g_strjoinv("|", ((VaryKey *)keys->pdata[0])->values);
        g_assert_cmpstr(joined, ==, cases[i].values);
    }
}

static void test_product(void) {
    static const char *const texts[] = {"a=1,2", "b.c=x,y,z", "d=7", NULL};
    static const char *const expected[] = {"a=1 b.c=x d=7", "a=1 b.c=y d=7", "a=1 b.c=z d=7",
                                           "a=2 b.c=x d=7", "a=2 b.c=y d=7", "a=2 b.c=z d=7"};
    g_autoptr(GPtrArray) keys = vary_parse(texts, NULL);

    g_assert_cmpuint(vary_runs(keys), ==, G_N_ELEMENTS(expected));
    for (gsize run = 0; run < G_N_ELEMENTS(expected); run++) {
        g_auto(GStrv) overrides = vary_overrides(keys, run);
        g_autofree char *joined = g_strjoinv(" ", overrides);
        g_assert_cmpstr(joined, ==, expected[run]);
    }
}

static void test_wrong(void) {
    static const struct {
        const char *texts[4], *message;
        InputErrorCode code;
    } cases[] = {
        {{NULL}, "infergrid sweep: missing option '--vary'", INPUT_ERROR_MISSING},
        {{"a"}, "--vary a: expected KEY=A,B,C or KEY=FROM:TO:STEP", INPUT_ERROR_VALUE},
        {{"=1"}, "--vary =1: expected KEY=A,B,C or KEY=FROM:TO:STEP", INPUT_ERROR_VALUE},
        {{"a="}, "--vary a=: expected KEY=A,B,C or KEY=FROM:TO:STEP", INPUT_ERROR_VALUE},
        {{"a=1,,2"}, "--vary a=1,,2: a value is empty", INPUT_ERROR_VALUE},
        {{"a=1,2,1"}, "--vary a=1,2,1: '1' stands twice", INPUT_ERROR_DUPLICATE},
        {{"a=2:1:1"}, "--vary a=2:1:1: the range is empty", INPUT_ERROR_VALUE},
        {{"a=1:2:0"}, "--vary a=1:2:0: the range is empty", INPUT_ERROR_VALUE},
        {{"a=1:2"},
         "--vary a=1:2: expected FROM:TO:STEP in numbers with one unit, or values with commas "
         "between",
         INPUT_ERROR_VALUE},
        {{"a=1 s:2 ms:1 s"},
         "--vary a=1 s:2 ms:1 s: expected FROM:TO:STEP in numbers with one unit, or values with "
         "commas between",
         INPUT_ERROR_VALUE},
        {{"a=1:1e9:1"},
         "--vary a=1:1e9:1: the range has more than 100,000 values",
         INPUT_ERROR_VALUE},
        {{"a=1:1000:1", "b=1:101:1"},
         "--vary: the lists make more than 100,000 runs",
         INPUT_ERROR_VALUE},
        {{"a=1", "a=2"}, "--vary a: this key stands twice", INPUT_ERROR_DUPLICATE},
    };

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_null(vary_parse(cases[i].texts, &error));
        g_assert_error(error, INPUT_ERROR, (gint)cases[i].code);
        g_assert_cmpstr(error->message, ==, cases[i].message);
    }
}

static void test_just_not_too_many(void) {
    static const char *const texts[] = {"a=1:1000:1", "b=1:100:1", NULL};
    g_autoptr(GPtrArray) keys = vary_parse(texts, NULL);

    g_assert_cmpuint(vary_runs(keys), ==, 100000);
    g_assert_cmpstr(vary_value(keys, 99999, 0), ==, "1000");
    g_assert_cmpstr(vary_value(keys, 99999, 1), ==, "100");
}

static void test_find(void) {
    static const char *const texts[] = {"policy.decode.tp=1", "policy.prefill.tp=1",
                                        "platform.nodes=4", NULL};
    static const struct {
        const char *word;
        int key;
    } cases[] = {{"policy.prefill.tp", 1},
                 {"decode.tp", 0},
                 {"nodes", 2},
                 {"tp", -2},
                 {"odes", -1},
                 {"seed", -1}};
    g_autoptr(GPtrArray) keys = vary_parse(texts, NULL);

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
        g_assert_cmpint(vary_find(keys, cases[i].word), ==, cases[i].key);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/vary/lists_and_ranges_give_their_values", test_values);
    g_test_add_func("/vary/the_last_key_changes_fastest", test_product);
    g_test_add_func("/vary/what_is_wrong_is_told", test_wrong);
    g_test_add_func("/vary/a_hundred_thousand_runs_are_not_too_many", test_just_not_too_many);
    g_test_add_func("/vary/a_key_is_found_by_its_end", test_find);
    return g_test_run();
}
