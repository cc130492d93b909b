/* What bounds an operator, told from the seconds that each resource was needed for. */
#include "analysis/operators/operator_report.h"

static void test_the_longest_resource_bounds(void) {
    const struct {
        OperatorTimes times; /* compute, DDR, GSM, launch */
        OperatorBound bound;
    } cases[] = {
        {{3, 1, 1, 0}, BOUND_COMPUTE}, {{3, 2, 1, 0}, BOUND_COMPUTE}, /* as long as the lane */
        {{3, 2, 1.5, 0}, BOUND_DDR}, /* neither alone, but one lane carries both */
        {{3, 1.5, 2, 0}, BOUND_GSM},   {{1, 1, 1, 2.5}, BOUND_LAUNCH},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
        g_assert_cmpint(operator_bound(&cases[i].times), ==, cases[i].bound);
}

static void test_times_follow_from_bytes(void) {
    ClusterSpec cluster = {.ddr_bytes_per_s = 10, .gsm_bytes_per_s = 100};
    ClusterCounts counts = {.compute_s = 1, .launch_s = 2};

    for (MoveKind kind = 0; kind < N_MOVES; kind++)
        counts.bytes[kind] = 1;
    OperatorTimes times = operator_times(&counts, &cluster);
    g_assert_cmpfloat(operator_ddr_bytes(&counts), ==, 5); /* three kinds stay on chip */
    g_assert_cmpfloat(times.ddr_s, ==, 0.5);
    g_assert_cmpfloat(times.gsm_s, ==, 0.03);
    g_assert_cmpfloat(times.compute_s, ==, 1);
    g_assert_cmpfloat(times.launch_s, ==, 2);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/operator-report/bound", test_the_longest_resource_bounds);
    g_test_add_func("/operator-report/times", test_times_follow_from_bytes);
    return g_test_run();
}
