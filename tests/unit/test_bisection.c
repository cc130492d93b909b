#include "analysis/capacity/bisection.h"
#include "workloads/input_error.h"

#define MOST 70

typedef struct Row {
    gboolean holds[MOST];
    guint asked[MOST];
    gsize fails_to_answer; /* place */
} Row;

static gboolean probe(gpointer data, gsize place, gboolean *holds, GError **error) {
    Row *row = data;

    row->asked[place]++;
    *holds = row->holds[place];
    if (place != row->fails_to_answer)
        return TRUE;
    g_set_error_literal(error, INPUT_ERROR, INPUT_ERROR_VALUE, "no answer");
    return FALSE;
}

static BisectionResult run(Row *row, gsize n, gsize start) {
    Bisection bisection = {n, start, probe, row};
    BisectionResult result;
    guint asked = 0;

    g_assert_true(bisection_run(&bisection, &result, NULL));
    for (gsize i = 0; i < n; i++) {
        g_assert_cmpuint(row->asked[i], <=, 1);
        asked += row->asked[i];
    }
    g_assert_cmpuint(result.asked, ==, asked);
    return result;
}

static gsize linear_first(const Row *row, gsize n) {
    for (gsize i = 0; i < n; i++)
        if (row->holds[i])
            return i;
    return NO_PLACE;
}

/* Every row of up to MOST places that is monotone, from every start. */
static void test_equals_a_linear_scan_where_monotone(void) {
    for (gsize n = 1; n <= 40; n++)
        for (gsize edge = 0; edge <= n; edge++)
            for (gsize start = 0; start < n; start++) {
                Row row = {.fails_to_answer = NO_PLACE};
                for (gsize i = edge; i < n; i++)
                    row.holds[i] = TRUE;
                BisectionResult result = run(&row, n, start);
                g_assert_cmpuint(result.first, ==, linear_first(&row, n));
                g_assert_cmpuint(result.exception, ==, NO_PLACE);
                g_assert_false(result.scanned);
            }
}

/* Far fewer than a scan: doubling and halving, and at most four more for the check. */
static void test_asks_few_places(void) {
    for (gsize edge = 0; edge < 64; edge++) {
        Row row = {.fails_to_answer = NO_PLACE};
        for (gsize i = edge; i < 64; i++)
            row.holds[i] = TRUE;
        g_assert_cmpuint(run(&row, 64, 0).asked, <=, 2 * 7 + 4);
    }
}

/* Of any row at all, whatever it finds does hold, and where a contradiction was seen it is the
 * first that does. */
static void test_any_row_gives_what_holds(void) {
    g_autoptr(GRand) random = g_rand_new_with_seed(5);

    for (guint round = 0; round < 20000; round++) {
        gsize n = (gsize)g_rand_int_range(random, 1, MOST);
        gsize start = (gsize)g_rand_int_range(random, 0, (gint32)n);
        double share = g_rand_double(random);
        Row row = {.fails_to_answer = NO_PLACE};
        for (gsize i = 0; i < n; i++)
            row.holds[i] = g_rand_double(random) < share;
        BisectionResult result = run(&row, n, start);
        if (result.first == NO_PLACE)
            continue;
        g_assert_true(row.holds[result.first]);
        for (gsize i = 0; i < result.first; i++) {
            g_assert_false(row.asked[i] && row.holds[i]);
            g_assert_true(row.asked[i] || i + 3 < result.first);
        }
        if (result.exception != NO_PLACE) {
            g_assert_cmpuint(result.exception, >, result.first);
            g_assert_false(row.holds[result.exception]);
        }
    }
}

static const struct {
    const char *name, *row; /* a letter a place: H holds, . fails */
    gsize first, exception;
} rows[] = {
    {"a hole just below", "....H.HHHHHHHHHH", 4, 5},
    {"one alone three below", ".....H..HHHHHHHH", 5, 6},
    {"a failing one right behind", ".....H.HHHHHHHHH", 5, 6},
    {"only one that doubling passes by", ".............H..", 13, 14},
    {"nothing", "................", NO_PLACE, NO_PLACE},
    {"all", "HHHHHHHHHHHHHHHH", 0, NO_PLACE},
};

static void test_rows_that_are_not_monotone(void) {
    for (gsize r = 0; r < G_N_ELEMENTS(rows); r++) {
        Row row = {.fails_to_answer = NO_PLACE};
        g_test_message("%s", rows[r].name);
        for (gsize i = 0; i < 16; i++)
            row.holds[i] = rows[r].row[i] == 'H';
        BisectionResult result = run(&row, 16, 0);
        g_assert_cmpuint(result.first, ==, rows[r].first);
        g_assert_cmpuint(result.exception, ==, rows[r].exception);
    }
}

static void test_an_error_ends_it(void) {
    Row row = {.fails_to_answer = 7};
    Bisection bisection = {16, 0, probe, &row};
    BisectionResult result;
    g_autoptr(GError) error = NULL;

    g_assert_false(bisection_run(&bisection, &result, &error));
    g_assert_error(error, INPUT_ERROR, INPUT_ERROR_VALUE);
    g_assert_cmpuint(row.asked[15], ==, 0);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/bisection/equals-a-linear-scan", test_equals_a_linear_scan_where_monotone);
    g_test_add_func("/bisection/asks-few-places", test_asks_few_places);
    g_test_add_func("/bisection/any-row", test_any_row_gives_what_holds);
    g_test_add_func("/bisection/not-monotone", test_rows_that_are_not_monotone);
    g_test_add_func("/bisection/error", test_an_error_ends_it);
    return g_test_run();
}
