#include "policies/attention_blocks.h"
#include "workloads/input_error.h"
#include <string.h>

/* An MT-3000 cluster, as far as blocks go. */
static const ClusterSpec cluster = {
    .dsps = 24,
    .macs_per_cycle_fp32 = 96,
    .macs_per_cycle_fp16 = 192,
    .sm_bytes = 64 * 1024,
    .am_bytes = 768 * 1024,
    .gsm_bytes = 6 * 1024 * 1024,
};

/* One head of dimension 128 over its own tokens. */
static AttentionProblem prompt(guint64 tokens) {
    return (AttentionProblem){.units = 128,
                              .group = 1,
                              .new_tokens = tokens,
                              .context = tokens,
                              .head_dim = 128,
                              .type = DATA_TYPE_FP16};
}

static AttentionBlocks choose(const AttentionProblem *problem, ScorePlace place) {
    AttentionBlocks blocks;
    g_autoptr(GError) error = NULL;

    attention_blocks(problem, place, &cluster, &blocks, &error);
    g_assert_no_error(error);
    return blocks;
}

/* Rounds of 64 rows on 24 DSPs: 1536 tokens each. */
static void test_rounds_take_1536_rows(void) {
    static const struct {
        guint64 tokens, rounds, dsps;
    } cases[] = {{65, 1, 2},    {512, 1, 8},   {1024, 1, 16}, {1536, 1, 24},
                 {1537, 2, 24}, {2048, 2, 24}, {3072, 2, 24}};

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        AttentionProblem problem = prompt(cases[i].tokens);
        AttentionBlocks blocks = choose(&problem, SCORES_ON_CHIP);
        g_assert_cmpuint(blocks.rows, ==, 64);
        g_assert_cmpuint(blocks.rounds, ==, cases[i].rounds);
        g_assert_cmpuint(blocks.dsps, ==, cases[i].dsps);
        g_assert_cmpuint(blocks.together, ==, 1);
        g_assert_cmpuint(blocks.waves, ==, 128);
    }
}

/* AM beside the scores of MT attention: two blocks of 256 tokens, O in FP32 and 8 bytes a row. */
static double room_for_scores(guint64 rows) {
    return 768 * 1024 - 2 * 256 * 128 * 2 - (double)rows * (128 * 4 + 8) + 256 * 1024;
}

static guint64 padded(guint64 tokens) {
    return (tokens + 255) / 256 * 256;
}

/* At every context the rows are the most that fit, and one more choice up would not. */
static void test_rows_shrink_just_when_the_scores_do_not_fit(void) {
    static const guint64 choices[] = {64, 48, 32, 24, 16, 12, 8, 6, 4, 3, 2, 1};
    guint seen = 0;

    for (guint64 tokens = 1600; tokens < 220000; tokens += 331) {
        AttentionProblem problem = prompt(tokens);
        AttentionBlocks blocks = choose(&problem, SCORES_ON_CHIP);
        guint at = 0;
        while (choices[at] != blocks.rows)
            at++;
        seen = MAX(seen, at);
        g_assert_cmpfloat((double)(blocks.rows * padded(tokens) * 4), <=,
                          room_for_scores(blocks.rows));
        /* A column of all blocks lies in AM or in GSM as a whole, which wastes less than one. */
        if (at > 0)
            g_assert_cmpfloat((double)(choices[at - 1] * padded(tokens) * 4), >,
                              room_for_scores(choices[at - 1]) -
                                  2.0 * 4 * choices[at - 1] * padded(tokens) / 256);
    }
    g_assert_cmpuint(seen, ==, G_N_ELEMENTS(choices) - 1);
}

static void test_the_rows_of_table_ix(void) {
    static const guint64 rows[] = {64, 64, 64, 64, 64, 64, 48, 48};

    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        AttentionProblem problem = prompt(512 * (i + 1));
        g_assert_cmpuint(choose(&problem, SCORES_ON_CHIP).rows, ==, rows[i]);
        /* Flash keeps 384 tokens of K and V, twice, whatever the context. */
        AttentionBlocks flash = choose(&problem, SCORES_BY_BLOCK);
        g_assert_cmpuint(flash.rows, ==, 64);
        g_assert_cmpuint(flash.columns, ==, 384);
        g_assert_cmpuint(choose(&problem, SCORES_IN_DDR).rows, ==, 64);
    }
}

static void assert_fits(const AttentionProblem *problem, ScorePlace place) {
    AttentionBlocks blocks = choose(problem, place);

    g_assert_cmpfloat(blocks.sm_bytes, <=, cluster.sm_bytes);
    g_assert_cmpfloat(blocks.am_bytes, <=, cluster.am_bytes);
    g_assert_cmpfloat(blocks.gsm_bytes, <=, cluster.gsm_bytes);
    g_assert_cmpuint(blocks.gsm_columns, <=, blocks.columns);
    guint64 rows = problem->group * problem->new_tokens;
    g_assert_cmpuint(blocks.rows * blocks.dsps * blocks.rounds, >=, rows);
    g_assert_cmpuint(blocks.rows * blocks.dsps * (blocks.rounds - 1), <, rows);
    g_assert_cmpuint(blocks.together * blocks.waves, >=, problem->units);
    g_assert_cmpuint(blocks.together * (blocks.waves - 1), <, problem->units);
    g_assert_cmpuint(blocks.together * blocks.dsps, <=, cluster.dsps);
}

static void test_every_choice_fits_and_covers_all_rows_and_heads(void) {
    static const guint64 contexts[] = {1, 100, 256, 257, 3328, 3329, 5000, 40000, 131072, 200000};
    static const guint64 units[] = {1, 7, 24, 25, 256}, groups[] = {1, 4, 7, 71};
    static const guint64 tokens[] = {1, 2, 63, 64, 65, 1535, 1537, 100000};
    static const guint64 dims[] = {16, 64, 128, 256};
    static const DataType types[] = {DATA_TYPE_FP16, DATA_TYPE_FP32};

    for (guint i = 0; i < 10 * 5 * 4 * 8 * 4 * 2; i++) {
        guint c = i % 10, u = i / 10 % 5, g = i / 50 % 4, t = i / 200 % 8, d = i / 1600 % 4;
        AttentionProblem problem = {units[u], groups[g],      tokens[t], contexts[c] + tokens[t],
                                    dims[d],  types[i / 6400]};
        /* More than 128K tokens do not fit in every type and dimension where scores are on chip. */
        if (problem.context <= 131137)
            assert_fits(&problem, SCORES_ON_CHIP);
        if (problem.context <= 131137)
            assert_fits(&problem, SCORES_IN_DDR);
        assert_fits(&problem, SCORES_BY_BLOCK);
    }
}

/* Decode: as many heads at a time as there are DSPs; spare DSPs share the rows of a group. */
static void test_decode_spreads_heads_over_the_dsps(void) {
    static const struct {
        guint64 units, group, context, rows, dsps, together, waves;
    } cases[] = {
        {32, 1, 4096, 1, 1, 24, 2}, {128, 1, 4096, 1, 1, 24, 6}, {8, 4, 4096, 2, 2, 8, 1},
        {2, 8, 4096, 1, 8, 2, 1},   {32, 8, 4096, 8, 1, 24, 2},  {32, 8, 131072, 1, 8, 3, 11},
        {8, 4, 131072, 1, 4, 6, 2}, {1, 1, 131072, 1, 1, 1, 1},
    };

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        AttentionProblem problem = {cases[i].units, cases[i].group, 1, cases[i].context, 128,
                                    DATA_TYPE_FP16};
        AttentionBlocks blocks = choose(&problem, SCORES_ON_CHIP);
        g_assert_cmpuint(blocks.rows, ==, cases[i].rows);
        g_assert_cmpuint(blocks.dsps, ==, cases[i].dsps);
        g_assert_cmpuint(blocks.together, ==, cases[i].together);
        g_assert_cmpuint(blocks.waves, ==, cases[i].waves);
        g_assert_cmpuint(blocks.rounds, ==, 1);
    }
}

static void test_the_text_says_why_rows_were_cut(void) {
    static const struct {
        guint64 tokens;
        ScorePlace place;
        const char *text;
    } cases[] = {
        {512, SCORES_ON_CHIP,
         "64 rows on each of 8 DSPs in 1 round; 1 head at a time; K and V by 256 tokens"},
        {4096, SCORES_ON_CHIP,
         "48 rows (the scores of 64 need 1048576 bytes, AM and the DSP's share of GSM have 884224) "
         "on each of 24 DSPs in 4 rounds; 1 head at a time; K and V by 256 tokens; 51 of 256 "
         "scores in GSM"},
        {4096, SCORES_BY_BLOCK,
         "64 rows on each of 24 DSPs in 3 rounds; 1 head at a time; K and V by 384 tokens"},
        {8192, SCORES_IN_DDR,
         "32 rows (the scores of 64 need 1048576 bytes, AM has 687616) on each of 24 DSPs in 11 "
         "rounds; 1 head at a time; K and V by 256 tokens"},
    };

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        AttentionProblem problem = prompt(cases[i].tokens);
        AttentionBlocks blocks = choose(&problem, cases[i].place);
        g_autofree char *text = attention_blocks_text(&problem, cases[i].place, &cluster, &blocks);
        g_assert_cmpstr(text, ==, cases[i].text);
    }
}

static void test_a_row_that_does_not_fit_is_refused_with_its_tier(void) {
    static const struct {
        AttentionProblem problem;
        ScorePlace place;
        const char *message;
    } cases[] = {
        {{1, 1, 1, 300000, 128, DATA_TYPE_FP16},
         SCORES_ON_CHIP,
         "attention does not fit AM and the GSM share of a DSP: one row over 300000 tokens needs "
         "1331720 bytes of 1048576"},
        {{1, 1, 1, 400000, 128, DATA_TYPE_FP16},
         SCORES_IN_DDR,
         "attention does not fit AM: one row over 400000 tokens needs 866312 bytes of 786432"},
        {{1, 1, 1, 100, 50000, DATA_TYPE_FP32},
         SCORES_BY_BLOCK,
         "attention does not fit SM: one row of head dimension 50000 needs 200000 bytes of 65536"},
    };

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        AttentionBlocks blocks = {.rows = 99};
        g_autoptr(GError) error = NULL;
        g_assert_false(
            attention_blocks(&cases[i].problem, cases[i].place, &cluster, &blocks, &error));
        g_assert_cmpstr(error->message, ==, cases[i].message);
        g_assert_true(error->domain == INPUT_ERROR);
        g_assert_cmpuint(blocks.rows, ==, 99);
    }
}

/* Rows of a group lie token by token, so that a round ends at one token for all its heads. */
static void test_a_causal_mask_ends_at_the_last_rows_token(void) {
    AttentionProblem problem = {1, 4, 1000, 1500, 128, DATA_TYPE_FP16};

    g_assert_cmpuint(attention_visible(&problem, FALSE, 0, 1), ==, 1500);
    g_assert_cmpuint(attention_visible(&problem, TRUE, 0, 1), ==, 501);
    g_assert_cmpuint(attention_visible(&problem, TRUE, 0, 4), ==, 501);
    g_assert_cmpuint(attention_visible(&problem, TRUE, 0, 5), ==, 502);
    g_assert_cmpuint(attention_visible(&problem, TRUE, 1536, 1536), ==, 1268);
    g_assert_cmpuint(attention_visible(&problem, TRUE, 3072, 928), ==, 1500);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/attention_blocks/rounds", test_rounds_take_1536_rows);
    g_test_add_func("/attention_blocks/shrinking",
                    test_rows_shrink_just_when_the_scores_do_not_fit);
    g_test_add_func("/attention_blocks/table_ix", test_the_rows_of_table_ix);
    g_test_add_func("/attention_blocks/fits", test_every_choice_fits_and_covers_all_rows_and_heads);
    g_test_add_func("/attention_blocks/decode", test_decode_spreads_heads_over_the_dsps);
    g_test_add_func("/attention_blocks/text", test_the_text_says_why_rows_were_cut);
    g_test_add_func("/attention_blocks/refusal",
                    test_a_row_that_does_not_fit_is_refused_with_its_tier);
    g_test_add_func("/attention_blocks/causal", test_a_causal_mask_ends_at_the_last_rows_token);
    return g_test_run();
}
