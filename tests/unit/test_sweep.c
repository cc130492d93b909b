/* Sizes on the command line: lists, bounds, and the product of all. */
#include "analysis/operators/sweep.h"

#include "workloads/input_error.h"

#define WHO "infergrid operator"

typedef struct Options {
    char *m, *k;
    gboolean flag;
} Options;

typedef struct Spec {
    guint kind;
    guint64 m, k;
} Spec;

enum { PRODUCT = 1, VECTOR = 2 };

static const SizeOption sizes[] = {
    {"-M", PRODUCT, G_STRUCT_OFFSET(Options, m), G_STRUCT_OFFSET(Spec, m), NULL, 1, 100,
     DIMENSION_COUNT},
    {"-K", PRODUCT | VECTOR, G_STRUCT_OFFSET(Options, k), G_STRUCT_OFFSET(Spec, k), "7", 0, 0,
     DIMENSION_COUNT},
};

static GArray *one_spec(void) {
    GArray *specs = g_array_new(FALSE, FALSE, sizeof(Spec));
    Spec spec = {3, 0, 0};

    g_array_append_val(specs, spec);
    return specs;
}

static GArray *expand(const Options *options, guint kinds, GError **error) {
    SizeTable table = {WHO, "gemm", sizes, G_N_ELEMENTS(sizes), options};

    return sweep_expand(one_spec(), &table, kinds, error);
}

static void test_product(void) {
    static const Spec expected[] = {{3, 1, 5}, {3, 1, 6}, {3, 20, 5}, {3, 20, 6}};
    Options options = {(char *)"1, 20", (char *)"5,6", FALSE};
    g_autoptr(GError) error = NULL;
    g_autoptr(GArray) specs = expand(&options, PRODUCT, &error);

    g_assert_no_error(error);
    g_assert_cmpuint(specs->len, ==, G_N_ELEMENTS(expected));
    for (guint i = 0; i < specs->len; i++) {
        const Spec *spec = &g_array_index(specs, Spec, i);
        g_assert_cmpuint(spec->kind, ==, expected[i].kind);
        g_assert_cmpuint(spec->m, ==, expected[i].m);
        g_assert_cmpuint(spec->k, ==, expected[i].k);
    }
}

static void test_sizes_of_other_kinds_and_fallbacks(void) {
    Options options = {(char *)"1,2", NULL, FALSE};
    g_autoptr(GArray) specs = expand(&options, VECTOR, NULL);

    g_assert_cmpuint(specs->len, ==, 1);
    g_assert_cmpuint(g_array_index(specs, Spec, 0).m, ==, 0);
    g_assert_cmpuint(g_array_index(specs, Spec, 0).k, ==, 7);
}

static void test_errors(void) {
    static const struct {
        const char *m;
        int code;
        const char *message;
    } cases[] = {
        {NULL, INPUT_ERROR_MISSING, WHO ": gemm needs option '-M'"},
        {"0", INPUT_ERROR_VALUE, "-M: must be at least 1, not 0"},
        {"1,101", INPUT_ERROR_VALUE, "-M: must be at most 100, not 101"},
        {"1,,2", INPUT_ERROR_VALUE, "-M: expected a whole number, not ''"},
        {"x", INPUT_ERROR_VALUE, "-M: expected a whole number, not 'x'"},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        Options options = {(char *)cases[i].m, NULL, FALSE};
        g_autoptr(GError) error = NULL;
        g_assert_null(expand(&options, PRODUCT, &error));
        g_assert_error(error, INPUT_ERROR, cases[i].code);
        g_assert_cmpstr(error->message, ==, cases[i].message);
    }
}

static void test_too_many(void) {
    g_autoptr(GArray) values = g_array_new(FALSE, TRUE, sizeof(guint64));
    g_autoptr(GError) error = NULL;

    g_array_set_size(values, 10001);
    g_assert_null(sweep_multiply(one_spec(), G_STRUCT_OFFSET(Spec, m), values, WHO, &error));
    g_assert_cmpstr(error->message, ==, WHO ": the lists make 10001 operators, more than 10000");
}

static void test_choices(void) {
    static const char *const names[] = {"chain", "ring", "tree", NULL};
    g_autoptr(GError) error = NULL;
    g_autoptr(GArray) chosen =
        sweep_choices("--algorithm", "algorithm", "tree, chain", names, NULL);

    g_assert_cmpuint(chosen->len, ==, 2);
    g_assert_cmpuint(g_array_index(chosen, guint, 0), ==, 2);
    g_assert_cmpuint(g_array_index(chosen, guint, 1), ==, 0);
    g_assert_null(sweep_choices("--algorithm", "algorithm", "tree,rin", names, &error));
    g_assert_cmpstr(error->message, ==,
                    "--algorithm: unknown algorithm 'rin' (did you mean 'ring'?); expected one of: "
                    "chain, ring, tree");
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/sweep/lists_are_swept_all_with_all", test_product);
    g_test_add_func("/sweep/sizes_of_other_kinds_do_not_count",
                    test_sizes_of_other_kinds_and_fallbacks);
    g_test_add_func("/sweep/what_is_wrong_is_told", test_errors);
    g_test_add_func("/sweep/sweeps_end", test_too_many);
    g_test_add_func("/sweep/choices_may_be_lists", test_choices);
    return g_test_run();
}
