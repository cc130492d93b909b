/* Times and counts of GEMM over a mesh: fast-forwarded as stepped, folded as in full, and against
 * closed forms. */
#include "policies/mesh/tiles.h"
#include "tests/engine/mesh_gemm_fixture.h"
#include <string.h>

static const char *const spec_names[] = {"slow", "quick", "wafer"};

static MeshSpec spec_of(guint which) {
    MeshSpec specs[] = {gemm_trial_spec(), gemm_trial_quick_spec(), gemm_trial_wafer()};

    return specs[which];
}

typedef struct Shape {
    guint columns, rows;
    guint64 m, k, n;
    guint spec;
    DataType type;
    gboolean folded, aligned, relayed;
} Shape;

static GemmTrial trial_of(const Shape *shape, MeshGemmKind kind) {
    return (GemmTrial){.spec = spec_of(shape->spec),
                       .columns = shape->columns,
                       .rows = shape->rows,
                       .folded = shape->folded,
                       .unlimited = TRUE,
                       .gemm = {.kind = kind,
                                .m = shape->m,
                                .k = shape->k,
                                .n = shape->n,
                                .type = shape->type,
                                .aligned = shape->aligned,
                                .relayed = shape->relayed}};
}

/* Compute-bound and communication-bound, even and uneven, tiles of nothing, one line, cores that
 * stand for several tiles. */
static const Shape shapes[] = {
    {3, 3, 12, 15, 18, 0, DATA_TYPE_FP16, FALSE, FALSE, FALSE},
    {4, 4, 4, 4, 4, 0, DATA_TYPE_FP32, FALSE, FALSE, TRUE},
    {5, 5, 31, 22, 43, 1, DATA_TYPE_FP16, FALSE, FALSE, FALSE},
    {6, 6, 7, 3, 100, 1, DATA_TYPE_FP16, FALSE, TRUE, TRUE},
    {7, 7, 60, 80, 50, 2, DATA_TYPE_FP16, FALSE, FALSE, FALSE},
    {8, 8, 64, 64, 64, 1, DATA_TYPE_FP16, TRUE, FALSE, TRUE},
    {9, 9, 200, 9, 9, 1, DATA_TYPE_FP16, FALSE, FALSE, TRUE},
    {11, 11, 57, 199, 83, 2, DATA_TYPE_FP32, TRUE, FALSE, FALSE},
    {12, 12, 96, 100, 25, 1, DATA_TYPE_FP16, FALSE, FALSE, FALSE},
    {12, 12, 150, 90, 130, 2, DATA_TYPE_FP16, TRUE, TRUE, TRUE},
    {6, 4, 50, 61, 70, 0, DATA_TYPE_FP16, FALSE, FALSE, FALSE},
    {3, 5, 44, 45, 46, 1, DATA_TYPE_FP16, FALSE, FALSE, TRUE},
    {6, 2, 30, 31, 32, 1, DATA_TYPE_FP16, TRUE, FALSE, FALSE},
    {1, 5, 20, 30, 40, 2, DATA_TYPE_FP16, FALSE, FALSE, FALSE},
};

static void assert_same(const GemmSeen *a, const GemmSeen *b) {
    const MeshTotals *of_a = &a->totals, *of_b = &b->totals;

    g_assert_cmpstr(a->error, ==, "");
    g_assert_cmpstr(b->error, ==, "");
    g_assert_cmpfloat(of_a->cycles, ==, of_b->cycles);
    g_assert_cmpfloat(of_a->compute_cycles, ==, of_b->compute_cycles);
    g_assert_cmpfloat(of_a->communication_cycles, ==, of_b->communication_cycles);
    g_assert_cmpfloat(of_a->wait_cycles, ==, of_b->wait_cycles);
    g_assert_cmpuint(of_a->messages, ==, of_b->messages);
    g_assert_cmpuint(of_a->wavelets, ==, of_b->wavelets);
    g_assert_cmpuint(of_a->hops, ==, of_b->hops);
    g_assert_cmpuint(of_a->stages, ==, of_b->stages);
    g_assert_cmpmem(a->cores, a->n_cores * sizeof *a->cores, b->cores,
                    b->n_cores * sizeof *b->cores);
}

static void test_fast_forward_is_stepping_bit_by_bit(void) {
    for (guint kind = 0; kind < N_MESH_GEMM_KINDS; kind++)
        for (gsize i = kind % 2; i < G_N_ELEMENTS(shapes); i += 2) { /* half of them each */
            GemmTrial trial = trial_of(&shapes[i], (MeshGemmKind)kind);
            g_autofree GemmSeen *forwarded = gemm_trial_run(&trial);
            trial.gemm.every_step = TRUE;
            g_autofree GemmSeen *stepped = gemm_trial_run(&trial);
            g_test_message("%s on %u × %u, %s", mesh_gemm_names[kind], trial.columns, trial.rows,
                           spec_names[shapes[i].spec]);
            assert_same(forwarded, stepped);
        }
}

static const Shape foldable[] = {
    {8, 8, 64, 64, 64, 0, DATA_TYPE_FP16, TRUE, FALSE, FALSE},
    {8, 8, 64, 64, 64, 1, DATA_TYPE_FP16, TRUE, FALSE, TRUE},
    {3, 3, 24, 12, 24, 0, DATA_TYPE_FP16, TRUE, TRUE, TRUE},
    {10, 10, 83, 57, 95, 0, DATA_TYPE_FP16, TRUE, FALSE, FALSE},
    {12, 12, 96, 48, 96, 1, DATA_TYPE_FP16, TRUE, TRUE, FALSE},
    {13, 13, 130, 117, 140, 2, DATA_TYPE_FP16, TRUE, FALSE, TRUE},
    {6, 4, 48, 48, 48, 0, DATA_TYPE_FP16, TRUE, TRUE, FALSE},
    {4, 8, 64, 48, 64, 1, DATA_TYPE_FP16, TRUE, FALSE, FALSE},
    {24, 24, 192, 96, 192, 1, DATA_TYPE_FP16, TRUE, FALSE, FALSE},
    {24, 24, 192, 96, 192, 0, DATA_TYPE_FP16, TRUE, FALSE, FALSE},
    /* Relayed, compute-bound. */
    {12, 12, 96, 96, 96, 2, DATA_TYPE_FP16, TRUE, FALSE, TRUE},
    {16, 16, 96, 96, 96, 2, DATA_TYPE_FP16, TRUE, FALSE, TRUE},
    /* Cannon's way back. */
    {16, 16, 128, 16, 128, 0, DATA_TYPE_FP16, TRUE, FALSE, FALSE},
    /* Tiles that are not all of a size. */
    {4, 4, 50, 61, 45, 2, DATA_TYPE_FP16, TRUE, FALSE, FALSE},
    {5, 5, 50, 61, 45, 2, DATA_TYPE_FP16, TRUE, FALSE, TRUE},
    {6, 6, 50, 61, 45, 2, DATA_TYPE_FP16, TRUE, TRUE, FALSE},
    {12, 12, 101, 127, 97, 2, DATA_TYPE_FP16, TRUE, FALSE, TRUE},
    {12, 12, 103, 107, 97, 1, DATA_TYPE_FP16, TRUE, FALSE, FALSE},
    {24, 24, 205, 215, 193, 0, DATA_TYPE_FP16, TRUE, FALSE, TRUE},
};

static void assert_folds(const GemmTrial *trial, const GemmSeen *folded, const GemmSeen *full) {
    MeshSetup setup = {.spec = &trial->spec, .columns = trial->columns, .rows = trial->rows};
    double bound = mesh_gemm_fold_bound(&setup, &trial->gemm) + 1e-3;
    gint crossing = 2 * (gint)tiles_a_side(trial->columns, trial->rows);

    g_test_message("%s on %u × %u: %g folded, %g in full, to %g", mesh_gemm_names[trial->gemm.kind],
                   trial->columns, trial->rows, folded->totals.cycles, full->totals.cycles, bound);
    g_assert_cmpint(ABS((gint)folded->totals.hops - (gint)full->totals.hops), <=, crossing);
    g_assert_cmpint(ABS((gint)folded->totals.stages - (gint)full->totals.stages), <=, crossing);
    g_assert_cmpfloat_with_epsilon(folded->totals.cycles, full->totals.cycles, bound);
    g_assert_cmpuint(folded->totals.paths, ==, full->totals.paths);
    g_assert_cmpfloat(folded->totals.peak_bytes, ==, full->totals.peak_bytes);
}

static void test_folded_stands_for_full(void) {
    for (guint kind = 0; kind < N_MESH_GEMM_KINDS; kind++)
        for (gsize i = 0; i < G_N_ELEMENTS(foldable); i++) {
            GemmTrial trial = trial_of(&foldable[i], (MeshGemmKind)kind);
            g_autofree GemmSeen *folded = gemm_trial_run(&trial);
            trial.folded = FALSE;
            g_autofree GemmSeen *full = gemm_trial_run(&trial);
            assert_folds(&trial, folded, full);
        }
}

/* Where nobody waits for tiles both are the same in everything, core by core on the two lines. */
static void test_compute_bound_loops_fold_exactly(void) {
    static const guint sides[] = {3, 8, 24};
    static const MeshGemmKind kinds[] = {MESH_GEMM_INTERLEAVED, MESH_GEMM_CANNON};

    for (gsize i = 0; i < G_N_ELEMENTS(sides); i++)
        for (gsize j = 0; j < G_N_ELEMENTS(kinds); j++) {
            guint side = sides[i];
            Shape shape = {side, side,           8 * side, 6 * side, 8 * side,
                           0,    DATA_TYPE_FP16, TRUE,     TRUE,     FALSE};
            GemmTrial trial = trial_of(&shape, kinds[j]);
            g_autofree GemmSeen *folded = gemm_trial_run(&trial);
            trial.folded = FALSE;
            g_autofree GemmSeen *full = gemm_trial_run(&trial);
            g_assert_cmpfloat(folded->totals.cycles, ==, full->totals.cycles);
            g_assert_cmpuint(folded->totals.hops, ==, full->totals.hops);
            g_assert_cmpuint(folded->totals.stages, ==, full->totals.stages);
            g_assert_cmpuint(folded->totals.messages * side, ==, full->totals.messages);
            g_assert_cmpuint(folded->totals.wavelets * side, ==, full->totals.wavelets);
            for (guint64 x = 0; x < side; x++)
                for (guint way = 0; way < 2; way++)
                    g_assert_cmpuint(gemm_seen_core(folded, x, 0)->links[way], ==,
                                     gemm_seen_core(full, x, 0)->links[way]);
        }
}

/* k parts sum to k exactly, so a hidden loop is the slowest core's kernels and software. */
static void test_a_hidden_loop_is_its_kernels(void) {
    static const Shape loops[] = {
        {8, 8, 64, 64, 64, 0, DATA_TYPE_FP16, FALSE, TRUE, FALSE},
        {5, 5, 83, 57, 95, 0, DATA_TYPE_FP16, FALSE, TRUE, FALSE},
        {9, 9, 100, 100, 100, 2, DATA_TYPE_FP16, FALSE, TRUE, FALSE},
        {6, 4, 48, 48, 48, 0, DATA_TYPE_FP16, FALSE, TRUE, FALSE},
        {480, 480, 4096, 4096, 4096, 2, DATA_TYPE_FP16, TRUE, TRUE, FALSE},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(loops); i++) {
        GemmTrial trial = trial_of(&loops[i], MESH_GEMM_INTERLEAVED);
        MeshSetup setup = {.spec = &trial.spec,
                           .columns = trial.columns,
                           .rows = trial.rows,
                           .folded = trial.folded,
                           .cycle_s = 1};
        MeshGemmInfo info = mesh_gemm_info(&setup, &trial.gemm);
        g_autofree GemmSeen *seen = gemm_trial_run(&trial);
        g_assert_cmpuint(info.tiles_a_side, ==, tiles_a_side(trial.columns, trial.rows));
        g_assert_false(info.stepped);
        g_assert_cmpstr(info.grain, ==, trial.folded ? "folded, approximate" : "full");
        g_assert_cmpfloat(info.fold_bound, ==,
                          trial.folded ? mesh_gemm_fold_bound(&setup, &trial.gemm) : 0);
        g_assert_cmpfloat(seen->totals.cycles, ==,
                          info.kernel_cycles + info.tiles_a_side * trial.spec.step_cycles);
    }
}

/* Communication-bound without alignment: a step is a message of MeshGEMM's ring, two hops but for
 * two edges of one; Cannon's path of causes has the way back once and is else single hops. */
static void test_a_bare_loop_is_its_messages(void) {
    const guint side = 9;
    Shape shape = {side, side, 8 * side, 8 * side, 8 * side, 1, DATA_TYPE_FP16, TRUE, TRUE, FALSE};
    GemmTrial trial = trial_of(&shape, MESH_GEMM_INTERLEAVED);
    g_autofree GemmSeen *meshgemm = gemm_trial_run(&trial);
    trial.gemm.kind = MESH_GEMM_CANNON;
    g_autofree GemmSeen *cannon = gemm_trial_run(&trial);

    g_assert_cmpfloat(meshgemm->totals.cycles, ==, side * 32 + 2 * side - 2);
    g_assert_cmpfloat(cannon->totals.cycles, ==, side * 32 + 2 * side - 2);
    trial.folded = FALSE; /* and in full once on each axis */
    g_autofree GemmSeen *full = gemm_trial_run(&trial);
    g_assert_cmpfloat(full->totals.cycles, ==, side * 32 + 3 * side - 4);
}

/* PLMR compliance (WaferLLM figure 6): paths of a core do not grow with N but for SUMMA and
 * all-gather on paths of their own; memory does for all-gather. */
static void test_paths_and_memory_are_those_of_figure_6(void) {
    for (guint side = 6; side <= 12; side += 3) {
        Shape shape = {side, side,           8 * side, 8 * side, 8 * side,
                       0,    DATA_TYPE_FP16, TRUE,     FALSE,    FALSE};
        const guint paths[] = {6, 6, 2 * side + 2, 2 * side + 2};
        const double bytes[] = {768, 768, 1024, 256. * side + 256};
        for (guint kind = 0; kind < G_N_ELEMENTS(paths); kind++) {
            GemmTrial trial = trial_of(&shape, (MeshGemmKind)kind);
            g_autofree GemmSeen *seen = gemm_trial_run(&trial);
            g_assert_cmpuint(seen->totals.paths, ==, paths[kind]);
            g_assert_cmpfloat(seen->totals.peak_bytes, ==, bytes[kind]);
            if (kind == MESH_GEMM_SUMMA || kind == MESH_GEMM_ALLGATHER) {
                trial.gemm.relayed = TRUE;
                g_autofree GemmSeen *relayed = gemm_trial_run(&trial);
                g_assert_cmpuint(relayed->totals.paths, ==, 8);
                g_assert_cmpuint(seen->totals.stages, ==, 0);
                g_assert_cmpuint(relayed->totals.stages, >, side - 3);
            }
        }
    }
}

/* SUMMA pays the way across the mesh once, not in every step. */
static void test_summa_is_pipelined(void) {
    Shape shape = {24, 24, 192, 192, 192, 0, DATA_TYPE_FP16, TRUE, FALSE, FALSE};
    GemmTrial trial = trial_of(&shape, MESH_GEMM_SUMMA);
    g_autofree GemmSeen *seen = gemm_trial_run(&trial);
    double steps = 24 * (8 * 8 * 8 + trial.spec.step_cycles);

    g_assert_cmpfloat(seen->totals.cycles, ==, steps + 32 + 23);
}

static void test_padding_counts_what_the_largest_tile_costs(void) {
    MeshGemm gemm = {.m = 7, .k = 8, .n = 9};

    g_assert_cmpfloat_with_epsilon(mesh_gemm_padding(&gemm, 4, 4), 8. / 7 * 1 * 12 / 9 - 1, 1e-12);
    g_assert_cmpfloat_with_epsilon(mesh_gemm_padding(&gemm, 2, 3), 9. / 7 * 12 / 8 * 10 / 9 - 1,
                                   1e-12);
    gemm = (MeshGemm){.m = 12, .k = 12, .n = 12};
    g_assert_cmpfloat(mesh_gemm_padding(&gemm, 4, 4), ==, 0);
}

static const struct {
    Shape shape;
    MeshGemmKind kind;
    const char *message;
} refusals[] = {
    {{2, 2, 8, 8, 8, 0, DATA_TYPE_FP16, FALSE, FALSE, FALSE},
     MESH_GEMM_INTERLEAVED,
     "'meshgemm' needs at least 3 tiles a side; a grid of 2 × 2 has 2"},
    {{4, 4, 8, 8, 0, 0, DATA_TYPE_FP16, FALSE, FALSE, FALSE},
     MESH_GEMM_SUMMA,
     "'summa' needs m, k and n of at least 1"},
    {{12, 12, 24, 24, 24, 0, DATA_TYPE_FP16, TRUE, FALSE, FALSE},
     MESH_GEMM_SUMMA,
     "core (*): algorithm 'summa' needs at least 25 routing paths, more than the 24 of a core"},
    {{4, 4, 4096, 64, 64, 0, DATA_TYPE_FP16, FALSE, FALSE, FALSE},
     MESH_GEMM_INTERLEAVED,
     "core (0, 0): algorithm 'meshgemm' needs *, more than the 65.54 kB of a core"},
    {{750, 994, 750, 994, 750, 0, DATA_TYPE_FP16, TRUE, FALSE, FALSE},
     MESH_GEMM_CANNON,
     "'cannon' on a grid of 750 × 994 would take 372750 steps, the least common multiple; choose "
     "sides with a large common divisor"},
};

static void test_what_does_not_fit_is_refused(void) {
    for (gsize i = 0; i < G_N_ELEMENTS(refusals); i++) {
        GemmTrial trial = trial_of(&refusals[i].shape, refusals[i].kind);
        trial.unlimited = FALSE;
        g_autofree GemmSeen *seen = gemm_trial_run(&trial);
        if (!g_pattern_match_simple(refusals[i].message, seen->error))
            g_error("'%s' is not '%s'", seen->error, refusals[i].message);
    }
}

static void test_bf16_takes_the_time_of_fp16(void) {
    for (guint kind = 0; kind < N_MESH_GEMM_KINDS; kind++) {
        GemmTrial trial = trial_of(&shapes[4], (MeshGemmKind)kind);
        g_autofree GemmSeen *half = gemm_trial_run(&trial);
        trial.gemm.type = DATA_TYPE_BF16;
        g_autofree GemmSeen *brain = gemm_trial_run(&trial);
        assert_same(half, brain);
    }
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mesh_gemm/forward", test_fast_forward_is_stepping_bit_by_bit);
    g_test_add_func("/mesh_gemm/fold", test_folded_stands_for_full);
    g_test_add_func("/mesh_gemm/fold_exactly", test_compute_bound_loops_fold_exactly);
    g_test_add_func("/mesh_gemm/hidden", test_a_hidden_loop_is_its_kernels);
    g_test_add_func("/mesh_gemm/bare", test_a_bare_loop_is_its_messages);
    g_test_add_func("/mesh_gemm/figure_6", test_paths_and_memory_are_those_of_figure_6);
    g_test_add_func("/mesh_gemm/summa", test_summa_is_pipelined);
    g_test_add_func("/mesh_gemm/padding", test_padding_counts_what_the_largest_tile_costs);
    g_test_add_func("/mesh_gemm/bf16", test_bf16_takes_the_time_of_fp16);
    g_test_add_func("/mesh_gemm/refused", test_what_does_not_fit_is_refused);
    return g_test_run();
}
