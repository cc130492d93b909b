/* A core's vector unit: closed forms, and sums over single operations. */
#include "platforms/mesh_cycles.h"

static const MeshSpec mesh = {
    .columns = 4,
    .rows = 3,
    .clock_hz = 1.1e9,
    .wavelet_bytes = 4,
    .issue_cycles = 6,
    .fp16 = {.lanes = 8, .cycles = 2},
    .fp32 = {.lanes = 1, .cycles = 1.5},
};

static void test_a_vector_operation_is_issued_once_and_runs_in_rounds_of_lanes(void) {
    static const struct {
        DataType type;
        guint64 elements;
        double cycles;
    } cases[] = {
        {DATA_TYPE_FP16, 0, 0},           {DATA_TYPE_FP16, 1, 8},   {DATA_TYPE_FP16, 8, 8},
        {DATA_TYPE_FP16, 9, 10},          {DATA_TYPE_FP16, 64, 22}, {DATA_TYPE_BF16, 65, 24},
        {DATA_TYPE_FP32, 0, 0},           {DATA_TYPE_FP32, 1, 7.5}, {DATA_TYPE_FP32, 10, 21},
        {DATA_TYPE_FP16, 8e15, 6 + 2e15},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
        g_assert_cmpfloat(mesh_vector_cycles(&mesh, cases[i].type, cases[i].elements), ==,
                          cases[i].cycles);
}

/* Counted as a core would go through its loops. */
static void test_tiles_take_the_sum_of_their_vector_operations(void) {
    for (guint64 m = 0; m < 20; m += 3)
        for (guint64 k = 0; k < 9; k += 2)
            for (guint64 n = 0; n < 20; n += 5) {
                double gemm = 0, gemv = 0;

                for (guint64 row = 0; row < k; row++) {
                    gemv += mesh_vector_cycles(&mesh, DATA_TYPE_FP16, n);
                    for (guint64 column = 0; column < n; column++)
                        gemm += mesh_vector_cycles(&mesh, DATA_TYPE_FP16, m);
                }
                g_assert_cmpfloat(mesh_gemm_cycles(&mesh, DATA_TYPE_FP16, m, k, n), ==, gemm);
                g_assert_cmpfloat(mesh_gemv_cycles(&mesh, DATA_TYPE_FP16, k, n), ==, gemv);
            }
}

static void test_a_message_fills_whole_wavelets(void) {
    static const struct {
        guint64 wavelet_bytes;
        DataType type;
        guint64 elements, wavelets;
    } cases[] = {
        {4, DATA_TYPE_FP16, 0, 0},   {4, DATA_TYPE_FP16, 1, 1}, {4, DATA_TYPE_FP16, 2, 1},
        {4, DATA_TYPE_FP16, 7, 4},   {4, DATA_TYPE_FP32, 7, 7}, {64, DATA_TYPE_BF16, 32, 1},
        {64, DATA_TYPE_FP16, 33, 2}, {3, DATA_TYPE_FP32, 3, 4},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        MeshSpec other = mesh;
        other.wavelet_bytes = cases[i].wavelet_bytes;
        g_assert_cmpuint(mesh_wavelets(&other, cases[i].type, cases[i].elements), ==,
                         cases[i].wavelets);
    }
}

/* No tile can beat the peak, and long vectors come near it. */
static void test_the_peak_is_what_long_vectors_approach(void) {
    static const DataType types[] = {DATA_TYPE_FP16, DATA_TYPE_BF16, DATA_TYPE_FP32};

    for (gsize i = 0; i < G_N_ELEMENTS(types); i++) {
        double peak = mesh_peak_macs_per_cycle(&mesh, types[i]);

        for (guint64 n = 1; n <= 1000000; n = n * 3 + 1) {
            double rate = (double)n / mesh_vector_cycles(&mesh, types[i], n);
            g_assert_cmpfloat(rate, <, peak);
            if (n > 100000)
                g_assert_cmpfloat(rate, >, 0.999 * peak);
        }
    }
    g_assert_cmpfloat(mesh_peak_macs_per_cycle(&mesh, DATA_TYPE_FP16), ==, 4);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mesh-cycles/a-vector-operation-is-issued-once-and-runs-in-rounds-of-lanes",
                    test_a_vector_operation_is_issued_once_and_runs_in_rounds_of_lanes);
    g_test_add_func("/mesh-cycles/tiles-take-the-sum-of-their-vector-operations",
                    test_tiles_take_the_sum_of_their_vector_operations);
    g_test_add_func("/mesh-cycles/a-message-fills-whole-wavelets",
                    test_a_message_fills_whole_wavelets);
    g_test_add_func("/mesh-cycles/the-peak-is-what-long-vectors-approach",
                    test_the_peak_is_what_long_vectors_approach);
    return g_test_run();
}
