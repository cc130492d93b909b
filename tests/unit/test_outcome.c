/* Outcomes as text, and the names of figures. Their values are held against the summary's by the
 * command-line tests. */
#include "analysis/run/outcome.h"

#include <float.h>
#include <math.h>
#include <string.h>

static void assert_round_trip(const Outcome *outcome) {
    g_autofree char *text = outcome_write(outcome);
    Outcome read;

    g_assert_null(strpbrk(text, "\n\t\r"));
    g_assert_true(outcome_parse(text, &read));
    g_assert_cmpint(read.status, ==, outcome->status);
    g_assert_cmpstr(read.reason, ==, outcome->reason);
    for (guint i = 0; i < N_FIGURES; i++) {
        if (isnan(outcome->figures[i]))
            g_assert_true(isnan(read.figures[i]));
        else
            g_assert_cmpmem(&read.figures[i], sizeof(double), &outcome->figures[i], sizeof(double));
    }
    outcome_clear(&read);
}

static void test_round_trip(void) {
    static const double values[] = {0,       1,       -1,     1.0 / 3,
                                    0.1,     DBL_MAX, 1e-300, DBL_EPSILON,
                                    123456., NAN,     5e-324, 0x1.fffffffffffffp-1};
    g_autoptr(GRand) random = g_rand_new_with_seed(7);
    Outcome outcome;

    for (guint round = 0; round < 200; round++) {
        outcome_init(&outcome);
        for (guint i = 0; i < N_FIGURES; i++)
            outcome.figures[i] =
                round == 0 ? values[i % G_N_ELEMENTS(values)]
                           : ldexp(g_rand_double(random), g_rand_int_range(random, -60, 60));
        assert_round_trip(&outcome);
    }
}

static void test_reasons(void) {
    static const char *const reasons[] = {"why not", "",   "two\nlines\tand \"quotes\" \\",
                                          "ümläut",  "  ", "- 1 2"};

    for (guint i = 0; i < G_N_ELEMENTS(reasons); i++) {
        Outcome outcome;
        outcome_init(&outcome);
        outcome_fail(&outcome, i % 2 == 0 ? OUTCOME_REFUSED : OUTCOME_BROKEN, reasons[i]);
        assert_round_trip(&outcome);
        outcome_fail(&outcome, OUTCOME_CUT, reasons[i]); /* with a reason and figures */
        outcome.figures[FIGURE_THROUGHPUT] = 1.0 / 3;
        assert_round_trip(&outcome);
        outcome_clear(&outcome);
    }
}

static void test_damaged(void) {
    Outcome outcome, read;
    outcome_init(&outcome);
    outcome.figures[0] = 4;
    g_autofree char *text = outcome_write(&outcome);
    g_autofree char *longer = g_strconcat(text, " more", NULL);
    g_autofree char *shorter = g_strndup(text, strlen(text) - 2);
    g_autofree char *other = g_strconcat("k", text, NULL);
    g_autofree char *word = g_strdup(text), *hexadecimal = NULL;
    *strchr(word, '4') = 'x';
    g_auto(GStrv) parts = g_strsplit(text, "4", 2);
    hexadecimal = g_strjoinv("0x4", parts);
    const char *const damaged[] = {"", "ok", longer, shorter, other, word, hexadecimal};

    for (guint i = 0; i < G_N_ELEMENTS(damaged); i++)
        g_assert_false(outcome_parse(damaged[i], &read));
    g_assert_true(outcome_parse(text, &read));
}

static void test_names(void) {
    for (int i = 0; i < N_FIGURES; i++) {
        const FigureInfo *info = figure_info((Figure)i);
        g_assert_nonnull(info->name);
        g_assert_true(g_str_has_prefix(info->column, info->name));
        g_assert_cmpint(figure_find(info->name), ==, i);
        g_assert_true((info->dimension == DIMENSION_SECONDS) ==
                      g_str_has_suffix(info->column, "_s") -
                          g_str_has_suffix(info->column, "_per_s"));
    }
    g_assert_cmpint(figure_find("nothing"), ==, -1);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/outcome/figures_come_back_to_the_bit", test_round_trip);
    g_test_add_func("/outcome/reasons_come_back_whatever_they_say", test_reasons);
    g_test_add_func("/outcome/damaged_text_is_refused", test_damaged);
    g_test_add_func("/outcome/figures_are_found_by_their_names", test_names);
    return g_test_run();
}
