#include "policies/gemm_schedule.h"
#include "workloads/input_error.h"
#include <math.h>

static Platform mt3000(void) {
    return (Platform){.cluster = {.dsps = 24,
                                  .clock_hz = 1.8e9,
                                  .macs_per_cycle_fp32 = 96,
                                  .macs_per_cycle_fp16 = 192,
                                  .sm_bytes = 64 * 1024,
                                  .am_bytes = 768 * 1024,
                                  .gsm_bytes = 6 * 1024 * 1024,
                                  .ddr_usable_bytes = 20e9,
                                  .ddr_bytes_per_s = 30e9,
                                  .gsm_bytes_per_s = 140e9}};
}

/* By hand, eq. 6–8. */
static void test_the_paper_s_blocks_fill_the_tiers(void) {
    Platform platform = mt3000();
    GemmBlocks fp32 = gemm_blocks_paper(DATA_TYPE_FP32), fp16 = gemm_blocks_paper(DATA_TYPE_FP16);
    GemmFootprint bytes = gemm_footprint(&fp32, 4096, DATA_TYPE_FP32);

    g_assert_cmpfloat(bytes.sm_bytes, ==, 2 * 4 * 30 * 256);
    g_assert_cmpfloat(bytes.am_bytes, ==, 2 * 4 * 256 * 256 + 3 * 4 * 30 * 256 + 4 * 4096);
    g_assert_cmpfloat(bytes.gsm_bytes, ==, 4 * 2048 * 720);
    bytes = gemm_footprint(&fp16, 4096, DATA_TYPE_FP16);
    g_assert_cmpfloat(bytes.sm_bytes, ==, 2 * 2 * 30 * 256);
    g_assert_cmpfloat(bytes.am_bytes, ==, 2 * 2 * 256 * 256 + 3 * 4 * 30 * 256 + 2 * 4096);
    g_assert_cmpfloat(bytes.gsm_bytes, ==, 2 * 4096 * 720);

    g_assert_true(gemm_blocks_fit(&fp32, 4096, DATA_TYPE_FP32, &platform.cluster));
    g_assert_true(gemm_blocks_fit(&fp16, 4096, DATA_TYPE_FP16, &platform.cluster));
    /* Another row of tiles, another round of K: no more room in SM, in GSM. A vocabulary of FP32
     * leaves none in AM. */
    g_assert_false(gemm_blocks_fit(&fp32, 60000, DATA_TYPE_FP32, &platform.cluster));
    fp32.m2 = 36;
    g_assert_false(gemm_blocks_fit(&fp32, 4096, DATA_TYPE_FP32, &platform.cluster));
    fp16.kg = 4608;
    g_assert_false(gemm_blocks_fit(&fp16, 4096, DATA_TYPE_FP16, &platform.cluster));
}

static void test_blocks_that_are_none_are_refused_in_words(void) {
    static const struct {
        GemmBlocks blocks;
        const char *message;
    } cases[] = {
        {{7, 128, 30, 256, 256, 720, 2048}, "block 'm1' is 7, but the kernel has registers for 6"},
        {{6, 129, 30, 256, 256, 720, 2048},
         "block 'n1' is 129, but the kernel has registers for 128"},
        {{6, 128, 30, 256, 0, 720, 2048}, "block 'n2' is 0, but must be at least 1"},
        {{6, 128, 30, 256, 256, 744, 2048},
         "block 'mg' is 744, but tiles of m2 rows for every DSP make 720"},
    };
    Platform platform = mt3000();

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_false(
            gemm_blocks_check(&cases[i].blocks, DATA_TYPE_FP32, &platform.cluster, &error));
        g_assert_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT);
        g_assert_cmpstr(error->message, ==, cases[i].message);
        g_assert_false(gemm_blocks_fit(&cases[i].blocks, 256, DATA_TYPE_FP32, &platform.cluster));
    }
}

/* Every element of Y is computed by one DSP from all of K, whatever the shape. */
static void test_parts_cover_the_product_once(void) {
    static const GemmShape shapes[] = {
        {145, 300, 700, DATA_TYPE_FP32}, {1501, 513, 4097, DATA_TYPE_FP16},
        {144, 777, 513, DATA_TYPE_FP16}, {1, 5, 3, DATA_TYPE_FP32},
        {20, 30001, 64, DATA_TYPE_FP32},
    };
    Platform platform = mt3000();

    for (gsize i = 0; i < G_N_ELEMENTS(shapes); i++) {
        GemmBlocks blocks = gemm_blocks_paper(shapes[i].type);
        GemmPlan plan = gemm_plan(&shapes[i], &blocks, (GemmMode){0}, &platform.cluster);
        g_autofree guint64 *depth = g_new0(guint64, shapes[i].m * shapes[i].n);
        GemmCursor cursor = gemm_cursor(&plan);
        GemmStep step;

        while (gemm_cursor_next(&cursor, &step)) {
            GemmPass pass = gemm_plan_pass(&plan, step.pass);
            for (guint64 dsp = 0; dsp < 24; dsp++) {
                GemmPart part = gemm_plan_part(&plan, &pass, dsp);
                for (guint64 row = 0; row < part.rows; row++)
                    for (guint64 column = 0; column < part.columns; column++)
                        depth[(pass.row + part.row + row) * shapes[i].n + pass.column +
                              part.column + column] += step.depth;
            }
        }
        for (guint64 element = 0; element < shapes[i].m * shapes[i].n; element++)
            g_assert_cmpuint(depth[element], ==, shapes[i].k);
    }
}

/* One block of everything, so that all can be added up by hand: X and W come in K/K2 steps, each
 * computing beside the next one's transfer, and Y follows. */
static void test_one_block_by_hand(void) {
    Platform platform = mt3000();
    GemmShape shape = {720, 256, 1024, DATA_TYPE_FP32};
    GemmBlocks blocks = gemm_blocks_paper(shape.type);
    double lane_s = (720 + 256) * 256 * 4 / 30e9;
    /* Five calls of six rows, twice 128 columns, each 128 rounds of 16 cycles and 27 of edges. */
    double compute_s = 5 * 2 * (128 * 16 + 27) / 1.8e9;
    double y_s = 720 * 256 * 4 / 30e9;

    g_assert_cmpfloat(lane_s, >, compute_s);
    g_assert_cmpfloat_with_epsilon(gemm_estimate_seconds(&shape, &blocks, &platform),
                                   4 * lane_s + compute_s + y_s, 1e-15);
    /* With DDR five times as fast, computing is what takes long. */
    platform.cluster.ddr_bytes_per_s *= 5;
    g_assert_cmpfloat_with_epsilon(gemm_estimate_seconds(&shape, &blocks, &platform),
                                   lane_s / 5 + 4 * compute_s + y_s / 5, 1e-15);
}

/* Decode reads W once: one row lasts as long as W, its own vector and Y on the way out. */
static void test_one_row_is_bound_by_its_weights(void) {
    Platform platform = mt3000();
    GemmShape shape = {1, 4096, 4096, DATA_TYPE_FP16};
    GemmBlocks blocks = gemm_blocks_paper(shape.type);
    double weights_s = 4096.0 * 4096 * 2 / 30e9;
    double seconds = gemm_estimate_seconds(&shape, &blocks, &platform);

    g_assert_cmpfloat(seconds, >, weights_s);
    g_assert_cmpfloat(seconds, <, 1.01 * weights_s);
}

/* The path follows the shape: few rows split the columns, where there are columns to split. */
static void test_few_rows_split_the_columns(void) {
    static const struct {
        GemmShape shape;
        gboolean split;
    } cases[] = {
        {{1, 4096, 4096, DATA_TYPE_FP16}, TRUE},    {{144, 4096, 4096, DATA_TYPE_FP16}, TRUE},
        {{145, 4096, 4096, DATA_TYPE_FP16}, FALSE}, {{144, 1, 4096, DATA_TYPE_FP16}, FALSE},
        {{1, 152064, 4096, DATA_TYPE_FP32}, TRUE},
    };
    Platform platform = mt3000();

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        GemmBlocks blocks = gemm_blocks_paper(cases[i].shape.type);
        GemmPlan plan = gemm_plan(&cases[i].shape, &blocks, (GemmMode){0}, &platform.cluster);
        g_assert_cmpint(plan.split_columns, ==, cases[i].split);
        g_assert_cmpfloat(plan.sm_bytes, <=, platform.cluster.sm_bytes);
        g_assert_cmpfloat(plan.am_bytes, <=, platform.cluster.am_bytes);
    }
}

/* A partial row block costs as much as a full one but for what DDR does not deliver. */
static void test_a_partial_row_block_costs_nearly_a_full_one(void) {
    Platform platform = mt3000();
    GemmShape full = {1440, 4096, 4096, DATA_TYPE_FP16},
              partial = {1024, 4096, 4096, DATA_TYPE_FP16};
    GemmBlocks blocks = gemm_blocks_paper(DATA_TYPE_FP16);
    double full_s = gemm_estimate_seconds(&full, &blocks, &platform);
    double partial_s = gemm_estimate_seconds(&partial, &blocks, &platform);
    double absent_s = (1440 - 1024) * 2 * 4096.0 * 2 / 30e9;

    g_assert_cmpfloat(fabs(full_s - partial_s - absent_s), <, 0.01 * full_s);
}

static double seconds_of(GemmShape shape) {
    Platform platform = mt3000();
    GemmBlocks blocks = gemm_blocks_paper(shape.type);

    return gemm_estimate_seconds(&shape, &blocks, &platform);
}

/* But for what coarser steps of K leave uncovered at the start: half a percent at most. */
static void assert_no_less(GemmShape more, GemmShape less) {
    g_assert_cmpfloat(seconds_of(more), >=, 0.995 * seconds_of(less));
}

static void test_more_work_never_takes_less(void) {
    static const guint64 sizes[] = {1,   2,   5,    6,    7,    24,   100,  143,  144,  145, 300,
                                    720, 721, 1024, 1440, 1441, 2048, 4095, 4096, 4097, 5000};
    static const guint64 others[] = {1, 144, 145, 1000, 4096};
    static const DataType types[] = {DATA_TYPE_FP32, DATA_TYPE_FP16};

    for (gsize type = 0; type < 2; type++)
        for (gsize a = 0; a < G_N_ELEMENTS(others); a++)
            for (gsize b = 0; b < G_N_ELEMENTS(others); b++)
                for (gsize i = 1; i < G_N_ELEMENTS(sizes); i++) {
                    guint64 less = sizes[i - 1], more = sizes[i], x = others[a], y = others[b];
                    DataType t = types[type];
                    assert_no_less((GemmShape){more, x, y, t}, (GemmShape){less, x, y, t});
                    assert_no_less((GemmShape){x, more, y, t}, (GemmShape){x, less, y, t});
                    assert_no_less((GemmShape){x, y, more, t}, (GemmShape){x, y, less, t});
                }
}

/* Figures 6 and 7: where computing just hides X2 and W2, a whole Y2 in one step is a tail. */
static void test_tiling_y2_hides_its_tail(void) {
    Platform platform = mt3000();
    GemmShape shape = {2048, 2048, 4096, DATA_TYPE_FP32};
    GemmBlocks blocks = gemm_blocks_paper(shape.type);

    platform.cluster.ddr_bytes_per_s *= 2;
    platform.cluster.gsm_bytes_per_s *= 2;
    GemmPlan tiled =
        gemm_plan(&shape, &blocks, (GemmMode){.transfers = GEMM_TILED}, &platform.cluster);
    GemmPlan untiled =
        gemm_plan(&shape, &blocks, (GemmMode){.transfers = GEMM_UNTILED}, &platform.cluster);
    double gain = gemm_plan_seconds(&untiled) / gemm_plan_seconds(&tiled) - 1;
    g_test_message("untiled takes %.1f %% longer", gain * 100);
    g_assert_cmpfloat(gain, >, 0.05);
}

/* Two column blocks fit into the spare buffers of Y2, three do not: then FP32's two K blocks send
 * Y2 out and in again. In FP16 all of K fits. */
static void test_y2_stays_while_it_has_buffers(void) {
    Platform platform = mt3000();
    static const struct {
        guint64 n;
        DataType type;
        gboolean travels;
    } cases[] = {
        {512, DATA_TYPE_FP32, FALSE}, {768, DATA_TYPE_FP32, TRUE}, {768, DATA_TYPE_FP16, FALSE}};

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        GemmShape shape = {1024, cases[i].n, 4096, cases[i].type};
        GemmBlocks blocks = gemm_blocks_paper(shape.type);
        GemmPlan plan = gemm_plan(&shape, &blocks, (GemmMode){0}, &platform.cluster);
        guint64 in = 0;
        for (guint64 pass = 0; pass < gemm_plan_passes(&plan); pass++)
            in += gemm_plan_pass(&plan, pass).in_bytes;
        g_assert_cmpuint(in, ==, cases[i].travels ? 1024 * cases[i].n * 4 : 0);
    }
}

static void test_the_search_finds_what_fits_and_is_no_worse_than_the_paper(void) {
    static const GemmShape shapes[] = {
        {1024, 4096, 4096, DATA_TYPE_FP32},
        {8192, 4096, 4096, DATA_TYPE_FP16},
        {2048, 11008, 4096, DATA_TYPE_FP16},
        {512, 100000, 4096, DATA_TYPE_FP32},
    };
    Platform platform = mt3000();

    for (gsize i = 0; i < G_N_ELEMENTS(shapes); i++) {
        GemmSearch search = gemm_blocks_search(&shapes[i], &platform);
        GemmSearch again = gemm_blocks_search(&shapes[i], &platform);
        const GemmBlocks *best = &search.best;

        g_test_message("M %u N %u %s: m2 %u k2 %u n2 %u kg %u, the paper's %.1f %% slower",
                       (guint)shapes[i].m, (guint)shapes[i].n, data_type_name(shapes[i].type),
                       (guint)best->m2, (guint)best->k2, (guint)best->n2, (guint)best->kg,
                       (search.paper_s / search.best_s - 1) * 100);
        g_assert_true(gemm_blocks_fit(best, shapes[i].n, shapes[i].type, &platform.cluster));
        g_assert_cmpfloat(search.best_s, ==, gemm_estimate_seconds(&shapes[i], best, &platform));
        g_assert_cmpfloat(search.best_s, <=, search.paper_s);
        g_assert_cmpmem(best, sizeof *best, &again.best, sizeof again.best);
        g_assert_cmpuint(search.fitting, <=, search.tried);
        g_assert_true(isinf(search.paper_s) == (shapes[i].n == 100000));
    }
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/gemm_blocks/footprint", test_the_paper_s_blocks_fill_the_tiers);
    g_test_add_func("/gemm_blocks/check", test_blocks_that_are_none_are_refused_in_words);
    g_test_add_func("/gemm_blocks/cover", test_parts_cover_the_product_once);
    g_test_add_func("/gemm_blocks/one_block", test_one_block_by_hand);
    g_test_add_func("/gemm_blocks/one_row", test_one_row_is_bound_by_its_weights);
    g_test_add_func("/gemm_blocks/path", test_few_rows_split_the_columns);
    g_test_add_func("/gemm_blocks/partial", test_a_partial_row_block_costs_nearly_a_full_one);
    g_test_add_func("/gemm_blocks/monotone", test_more_work_never_takes_less);
    g_test_add_func("/gemm_blocks/tiling", test_tiling_y2_hides_its_tail);
    g_test_add_func("/gemm_blocks/y2_stays", test_y2_stays_while_it_has_buffers);
    g_test_add_func("/gemm_blocks/search",
                    test_the_search_finds_what_fits_and_is_no_worse_than_the_paper);
    return g_test_run();
}
