#include "platforms/kernel_cycles.h"

/* An MT-3000's widths. */
static const ClusterSpec mt3000 = {
    .dsps = 24, .macs_per_cycle_fp32 = 96, .macs_per_cycle_fp16 = 192};

static void test_a_kernel_is_as_wide_as_its_registers(void) {
    g_assert_cmpuint(kernel_vector_columns(&mt3000, DATA_TYPE_FP32), ==, 32);
    g_assert_cmpuint(kernel_vector_columns(&mt3000, DATA_TYPE_FP16), ==, 64);
    g_assert_cmpuint(kernel_vector_columns(&mt3000, DATA_TYPE_BF16), ==, 64);
    g_assert_cmpuint(kernel_columns(&mt3000, DATA_TYPE_FP32), ==, 128);
    g_assert_cmpuint(kernel_columns(&mt3000, DATA_TYPE_FP16), ==, 256);
}

/* Table I has 16 rows for two steps of k. */
static void test_two_steps_of_k_take_the_cycles_of_table_i(void) {
    static const struct {
        guint64 rows, vectors, cycles;
    } cases[] = {
        {6, 4, 16}, /* table I */
        {3, 4, 12}, /* 8 sweeps, but two dependent updates are 12 apart */
        {4, 4, 16}, /* four rows need two groups of VMACs, as six do */
        {6, 3, 12}, /* 12 svbcast, 12 multiply-accumulate cycles */
        {6, 1, 12}, {1, 1, 12}, {1, 4, 12},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
        for (guint64 k = 2; k < 2000; k += 322) {
            guint64 less = kernel_cycles(cases[i].rows, cases[i].vectors, k);
            guint64 more = kernel_cycles(cases[i].rows, cases[i].vectors, k + 2);
            g_assert_cmpuint(more - less, ==, cases[i].cycles);
        }
}

/* A list schedule, unit by unit and cycle by cycle, of one kernel: loads in the order in which they
 * are needed, one vldw, sldh and store a cycle; the loop as table I has it. */
typedef struct Schedule {
    guint64 vldw, sldh;        /* next free cycle of the unit */
    guint64 ready[6][2], w[2]; /* Y1 by row and pair of vectors; W1's first row by pair */
    guint64 x[6];              /* broadcast */
} Schedule;

static guint64 scheduled_start(guint64 rows, guint64 vectors) {
    guint64 pairs = (vectors + 1) / 2, start = 0;
    Schedule schedule = {0};

    for (guint64 row = 0; row < rows; row++)
        schedule.x[row] = schedule.sldh++ + 7 + 1 + 4;
    for (guint64 pair = 0; pair < pairs; pair++)
        schedule.w[pair] = schedule.vldw++ + 9; /* before Y1's of the same pair, below */
    for (guint64 group = 0; group < rows; group += 3)
        for (guint64 pair = 0; pair < pairs; pair++)
            for (guint64 row = group; row < MIN(group + 3, rows); row++)
                schedule.ready[row][pair] = schedule.vldw++ + 9;
    /* The loop starts when nothing that it needs comes too late. */
    for (guint64 row = 0; row < rows; row++)
        for (guint64 vector = 0; vector < vectors; vector++) {
            guint64 offset = row / 3 * vectors + vector;
            guint64 needed =
                MAX(MAX(schedule.x[row], schedule.ready[row][vector / 2]), schedule.w[vector / 2]);
            start = MAX(start, needed > offset ? needed - offset : 0);
        }
    return start;
}

/* From the start of the last sweep over the accumulators to the last store. */
static guint64 scheduled_end(guint64 rows, guint64 vectors) {
    guint64 store = 0;

    for (guint64 group = 0; group < rows; group += 3)
        for (guint64 pair = 0; pair < (vectors + 1) / 2; pair++)
            for (guint64 row = group; row < MIN(group + 3, rows); row++) {
                guint64 last = MIN(2 * pair + 1, vectors - 1);
                guint64 result = group / 3 * vectors + last + 6;
                store = MAX(store, result) + 1;
            }
    return store;
}

static void test_fill_and_drain_are_those_of_a_list_schedule(void) {
    for (guint64 rows = 1; rows <= 6; rows++)
        for (guint64 vectors = 1; vectors <= 4; vectors++) {
            guint64 sweep = (rows + 2) / 3 * vectors;
            guint64 loop = kernel_cycles(rows, vectors, 4) - kernel_cycles(rows, vectors, 2);
            guint64 edges = kernel_cycles(rows, vectors, 2) - loop;
            guint64 wanted = scheduled_start(rows, vectors) + scheduled_end(rows, vectors) - sweep;
            g_test_message("%u rows of %u vectors: %u and %u cycles", (guint)rows, (guint)vectors,
                           (guint)edges, (guint)wanted);
            g_assert_cmpuint(edges + 1, >=, wanted); /* odd vectors leave half a load */
            g_assert_cmpuint(edges, <=, wanted + 1);
        }
    /* The paper's kernel exactly. */
    g_assert_cmpuint(kernel_cycles(6, 4, 256), ==,
                     scheduled_start(6, 4) + 128 * 16 + scheduled_end(6, 4) - 8);
}

/* 24 × 16 × 3 × 2 = 2,304 FP32 and 4,608 FP16 multiply-accumulates a cycle on a cluster. */
static void test_long_kernels_approach_the_peak(void) {
    static const DataType types[] = {DATA_TYPE_FP32, DATA_TYPE_FP16};
    static const double peaks[] = {2304, 4608};

    for (gsize i = 0; i < G_N_ELEMENTS(types); i++) {
        guint64 n1 = kernel_columns(&mt3000, types[i]);
        KernelTile tile = {30, 256, 1000000, 6, n1, types[i]};
        double macs = 24 * 30.0 * 256 * 1e6;
        double rate = macs / kernel_tile_cycles(&tile, &mt3000);
        g_assert_cmpfloat(rate, <, peaks[i]);
        g_assert_cmpfloat(rate, >, 0.9999 * peaks[i]);
    }
}

static void test_a_tile_is_the_sum_of_its_calls(void) {
    /* 30 = 5 × 6 rows, 300 = 2 × 128 + 44 columns: 44 need two vectors. */
    KernelTile tile = {30, 300, 256, 6, 128, DATA_TYPE_FP32};
    double calls = 5 * (2.0 * (double)kernel_cycles(6, 4, 256) + (double)kernel_cycles(6, 2, 256));
    g_assert_cmpfloat(kernel_tile_cycles(&tile, &mt3000), ==, calls);

    /* 8 = 6 + 2 rows. */
    tile = (KernelTile){8, 128, 256, 6, 128, DATA_TYPE_FP32};
    g_assert_cmpfloat(kernel_tile_cycles(&tile, &mt3000), ==,
                      (double)(kernel_cycles(6, 4, 256) + kernel_cycles(2, 4, 256)));
    tile = (KernelTile){0, 128, 256, 6, 128, DATA_TYPE_FP32};
    g_assert_cmpfloat(kernel_tile_cycles(&tile, &mt3000), ==, 0);
}

/* But for a cycle at the edges, which a pair of vectors loads and stores better than a single one.
 */
static void test_more_work_never_takes_less(void) {
    for (guint64 rows = 1; rows <= 6; rows++)
        for (guint64 vectors = 1; vectors <= 4; vectors++)
            for (guint64 k = 1; k < 20; k++) {
                guint64 cycles = kernel_cycles(rows, vectors, k);
                g_assert_cmpuint(kernel_cycles(rows, vectors, k + 1), >=, cycles);
                if (rows < 6)
                    g_assert_cmpuint(kernel_cycles(rows + 1, vectors, k) + 3, >=, cycles);
                if (vectors < 4)
                    g_assert_cmpuint(kernel_cycles(rows, vectors + 1, k) + 3, >=, cycles);
            }
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/kernel_cycles/width", test_a_kernel_is_as_wide_as_its_registers);
    g_test_add_func("/kernel_cycles/loop", test_two_steps_of_k_take_the_cycles_of_table_i);
    g_test_add_func("/kernel_cycles/edges", test_fill_and_drain_are_those_of_a_list_schedule);
    g_test_add_func("/kernel_cycles/peak", test_long_kernels_approach_the_peak);
    g_test_add_func("/kernel_cycles/tile", test_a_tile_is_the_sum_of_its_calls);
    g_test_add_func("/kernel_cycles/monotone", test_more_work_never_takes_less);
    return g_test_run();
}
