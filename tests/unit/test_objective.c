/* Objectives and limits by name, and how plans compare in several of them. */
#include "analysis/search/objective.h"

#include "workloads/input_error.h"
#include <math.h>

static const Slo no_limits;
static const Slo with_limits = {.ttft = {.limit_s = 1, .percentile = 0.9}};

static void test_names(void) {
    static const struct {
        const char *names;
        Figure figures[2];
        guint n;
    } rows[] = {{"throughput", {FIGURE_THROUGHPUT}, 1},
                {"goodput, cost", {FIGURE_GOODPUT, FIGURE_COST}, 2},
                {"energy_per_token,ttft_p99", {FIGURE_ENERGY_PER_TOKEN, FIGURE_TTFT_P99}, 2}};

    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(Objectives) objectives =
            objectives_new(rows[i].names, NULL, NULL, &with_limits, &error);
        g_assert_no_error(error);
        g_assert_cmpuint(objectives->n, ==, rows[i].n);
        for (guint o = 0; o < rows[i].n; o++)
            g_assert_cmpint(objectives->figures[o], ==, rows[i].figures[o]);
    }
}

static void test_wrong_names(void) {
    static const struct {
        const char *names, *message;
    } rows[] = {
        {"througput", "--objective: unknown objective 'througput' (did you mean 'throughput'?)*"},
        {"events", "--objective: unknown objective 'events'*"},
        {"cost,cost", "--objective: 'cost' stands twice"},
        {"", "--objective: unknown objective ''*"},
        {"goodput", "--objective: 'goodput' needs a limit in the experiment's section 'slo'"},
        {"cost,energy,makespan,ttft_p50,ttft_p90", "--objective: expected at most 4 objectives"}};

    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_null(objectives_new(rows[i].names, NULL, NULL, &no_limits, &error));
        g_assert_true(error->domain == INPUT_ERROR);
        if (!g_pattern_match_simple(rows[i].message, error->message))
            g_error("got: %s", error->message);
    }
}

static void test_names_in_the_experiment(void) {
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) nodes = g_ptr_array_new_with_free_func((GDestroyNotify)yaml_node_free);

    g_ptr_array_add(nodes, yaml_scalar_new("cots", "search.objectives"));
    g_assert_null(objectives_new(NULL, nodes, NULL, &no_limits, &error));
    g_assert_nonnull(g_strstr_len(error->message, -1, "(did you mean 'cost'?)"));
    g_assert_false(g_str_has_prefix(error->message, "--objective"));
}

static void test_limits(void) {
    static const char *const texts[] = {"ttft_p99 <= 2 s", "goodput>=90 %", NULL};
    g_autoptr(GError) error = NULL;
    g_autoptr(Objectives) objectives = objectives_new("cost", NULL, texts, &with_limits, &error);
    double figures[N_FIGURES] = {0};

    g_assert_no_error(error);
    figures[FIGURE_TTFT_P99] = 2;
    figures[FIGURE_GOODPUT] = 0.9;
    g_assert_null(objectives_broken_limit(objectives, figures));
    figures[FIGURE_GOODPUT] = 0.89;
    g_assert_cmpstr(objectives_broken_limit(objectives, figures)->text, ==, "goodput >= 90 %");
    figures[FIGURE_TTFT_P99] = NAN; /* no such figure keeps no limit */
    g_assert_cmpstr(objectives_broken_limit(objectives, figures)->text, ==, "ttft_p99 <= 2 s");
}

static void test_wrong_limits(void) {
    static const struct {
        const char *texts[3];
        const char *message;
    } rows[] = {
        {{"ttft_p99 = 2 s"}, "--limit: expected a figure, '<=' or '>=', and a value*"},
        {{"tfft_p99 <= 2 s"}, "--limit: unknown figure 'tfft_p99' (did you mean 'ttft_p99'?)*"},
        {{"ttft_p99 <= 2"}, "--limit: expected a duration such as * for 'ttft_p99', not '2'"},
        {{"goodput >= 0.9"}, "--limit: 'goodput' needs a limit in the experiment's section 'slo'"},
        {{"cost <= 1", "cost >= 2"}, "--limit: 'cost <= 1' and 'cost >= 2' contradict each other"},
        {{"cost >= 2", "cost <= 1"}, "--limit: 'cost >= 2' and 'cost <= 1' contradict each other"}};

    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_null(objectives_new("cost", NULL, rows[i].texts, &no_limits, &error));
        if (!g_pattern_match_simple(rows[i].message, error->message))
            g_error("got: %s", error->message);
    }
}

static void test_comparing(void) {
    g_autoptr(Objectives) objectives =
        objectives_new("throughput,cost", NULL, NULL, &no_limits, NULL);
    static const struct {
        double a[2], b[2]; /* throughput, cost */
        Comparison comparison;
    } rows[] = {{{2, 1}, {1, 1}, OBJECTIVES_BETTER},
                {{1, 2}, {1, 1}, OBJECTIVES_WORSE},
                {{1, 1}, {1, 1}, OBJECTIVES_EQUAL},
                {{2, 2}, {1, 1}, OBJECTIVES_MIXED},
                {{NAN, 1}, {0, 1}, OBJECTIVES_WORSE}};

    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        double a[N_FIGURES] = {0}, b[N_FIGURES] = {0};
        a[FIGURE_THROUGHPUT] = rows[i].a[0], a[FIGURE_COST] = rows[i].a[1];
        b[FIGURE_THROUGHPUT] = rows[i].b[0], b[FIGURE_COST] = rows[i].b[1];
        g_assert_cmpint(objectives_compare(objectives, a, b), ==, rows[i].comparison);
    }
}

static void test_texts(void) {
    static const struct {
        Figure figure;
        double value;
        const char *text;
    } rows[] = {{FIGURE_THROUGHPUT, 4212.4, "4212 tokens/s"},
                {FIGURE_THROUGHPUT, 12.3456, "12.35 tokens/s"},
                {FIGURE_GOODPUT, 0.991, "99.10 %"},
                {FIGURE_TTFT_P99, 0.25, "250 ms"},
                {FIGURE_COST, NAN, "-"}};

    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *text = objective_text(rows[i].figure, rows[i].value);
        g_assert_cmpstr(text, ==, rows[i].text);
    }
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/objective/names_are_figures", test_names);
    g_test_add_func("/objective/wrong_names_are_told", test_wrong_names);
    g_test_add_func("/objective/names_in_the_experiment_have_their_place",
                    test_names_in_the_experiment);
    g_test_add_func("/objective/limits_are_kept_or_broken", test_limits);
    g_test_add_func("/objective/wrong_limits_are_told", test_wrong_limits);
    g_test_add_func("/objective/plans_compare_in_all_objectives", test_comparing);
    g_test_add_func("/objective/figures_have_their_units", test_texts);
    return g_test_run();
}
