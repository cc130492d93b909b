/* Products over a mesh are products: all kinds, shapes that do not divide the grid, grids of any
 * sides; as one operator and as part of a longer body. */
#include "policies/mesh/tiles.h"
#include "tests/engine/mesh_gemm_fixture.h"
#include <string.h>

static const struct {
    guint columns, rows;
    guint64 m, k, n;
    DataType type;
    gboolean relayed;
} products[] = {
    {3, 3, 12, 9, 15, DATA_TYPE_FP32, FALSE},  {4, 4, 33, 50, 29, DATA_TYPE_FP16, FALSE},
    {5, 5, 41, 23, 3, DATA_TYPE_FP32, TRUE},   {6, 6, 61, 100, 47, DATA_TYPE_FP16, TRUE},
    {7, 7, 5, 64, 40, DATA_TYPE_FP16, FALSE},  {8, 8, 70, 71, 73, DATA_TYPE_FP32, FALSE},
    {8, 8, 16, 3, 16, DATA_TYPE_FP32, TRUE},   {6, 4, 31, 37, 41, DATA_TYPE_FP16, FALSE},
    {3, 5, 32, 46, 28, DATA_TYPE_FP32, FALSE}, {2, 8, 20, 30, 40, DATA_TYPE_FP32, TRUE},
    {5, 1, 11, 29, 17, DATA_TYPE_FP16, FALSE}, {1, 4, 13, 21, 19, DATA_TYPE_FP32, FALSE},
};

static GemmTrial product_trial(gsize i, MeshGemmKind kind) {
    return (GemmTrial){.spec = gemm_trial_spec(),
                       .columns = products[i].columns,
                       .rows = products[i].rows,
                       .unlimited = TRUE,
                       .gemm = {.kind = kind,
                                .m = products[i].m,
                                .k = products[i].k,
                                .n = products[i].n,
                                .type = products[i].type,
                                .relayed = products[i].relayed}};
}

static void test_every_kind_gives_the_product_in_the_same_time(void) {
    for (guint kind = 0; kind < N_MESH_GEMM_KINDS; kind++)
        for (gsize i = 0; i < G_N_ELEMENTS(products); i++) {
            GemmTrial trial = product_trial(i, (MeshGemmKind)kind), without = trial;
            GemmOperands operands = gemm_operands_new(&trial.gemm);
            operands.roundings = MAX(mesh_gemm_roundings(&trial.gemm, trial.columns), 1);
            gemm_operands_give(&operands, &trial.gemm);
            g_autofree GemmSeen *with = gemm_trial_run(&trial);
            g_test_message("%s on %u x %u", mesh_gemm_names[kind], trial.columns, trial.rows);
            g_assert_cmpstr(with->error, ==, "");
            g_assert_cmpuint(gemm_operands_wrong(&operands), ==, 0);
            if (i % 3 != 0)
                continue;
            g_autofree GemmSeen *timed = gemm_trial_run(&without);
            g_assert_cmpfloat(with->totals.cycles, ==, timed->totals.cycles);
        }
}

/* The K-tree instead of the chains. */
static void test_transposed_sums_through_trees(void) {
    for (guint k_tree = 2; k_tree <= 3; k_tree++) {
        GemmTrial trial = product_trial(k_tree == 2 ? 4 : 5, MESH_GEMM_TRANSPOSED);
        GemmOperands operands = gemm_operands_new(&trial.gemm);
        gemm_operands_give(&operands, &trial.gemm);
        trial.gemm.k_tree = k_tree;
        operands.roundings = MAX(mesh_gemm_roundings(&trial.gemm, trial.columns), 1);
        g_autofree GemmSeen *seen = gemm_trial_run(&trial);
        g_assert_cmpstr(seen->error, ==, "");
        g_assert_cmpuint(gemm_operands_wrong(&operands), ==, 0);
    }
}

/* A longer body on a square mesh: every core loads its own tiles, multiplies and stores. */
typedef struct Body {
    MeshGemm gemm;
    MeshMultiplier *multiplier;
    const GemmOperands *operands; /* FP32 */
    guint side, times, running;
    guint wrong_x; /* this column of cores takes the A tile of the column after it; none: side */
} Body;

static float *tile_of(const float *matrix, const guint64 size[2], const guint at[2], guint side) {
    guint64 row = tile_begin(size[0], side, at[0]), rows = tile_size(size[0], side, at[0]);
    guint64 column = tile_begin(size[1], side, at[1]), columns = tile_size(size[1], side, at[1]);
    float *tile = g_new(float, MAX(rows * columns, 1));

    for (guint64 i = 0; i < rows; i++)
        memcpy(tile + i * columns, matrix + (row + i) * size[1] + column, columns * sizeof *tile);
    return tile;
}

static void store(const Body *body, const MeshCore *core, const float *tile) {
    guint64 row = tile_begin(body->gemm.m, body->side, core->y);
    guint64 rows = tile_size(body->gemm.m, body->side, core->y);
    guint64 column = tile_begin(body->gemm.n, body->side, core->x);
    guint64 columns = tile_size(body->gemm.n, body->side, core->x);

    for (guint64 i = 0; i < rows; i++)
        memcpy((float *)body->operands->c + (row + i) * body->gemm.n + column, tile + i * columns,
               columns * sizeof *tile);
}

static void multiply_once(const Body *body, MeshCore *core, float *c) {
    const MeshGemm *gemm = &body->gemm;
    gboolean transposed = gemm->kind == MESH_GEMM_TRANSPOSED;
    guint a_x = core->x == body->wrong_x ? (core->x + 1) % body->side : core->x;
    g_autofree float *a = tile_of(body->operands->a, (guint64[]){gemm->m, gemm->k},
                                  (guint[]){core->y, a_x}, body->side);
    g_autofree float *b =
        tile_of(body->operands->b,
                (guint64[]){transposed ? gemm->n : gemm->k, transposed ? gemm->k : gemm->n},
                (guint[]){core->y, core->x}, body->side);

    mesh_multiplier_run(body->multiplier, core, a, b, c);
}

static void body_main(MeshCore *core) {
    Body *body = core->data;
    gsize elements =
        tile_size(body->gemm.m, body->side, core->y) * tile_size(body->gemm.n, body->side, core->x);
    g_autofree float *c = g_new0(float, MAX(elements, 1));

    for (guint i = 0; i < body->times; i++) {
        mesh_compute(core, 7 * core->x + core->y); /* they do not come all at once */
        multiply_once(body, core, c);
    }
    store(body, core, c);
    if (--body->running == 0)
        mesh_multiplier_free(body->multiplier);
}

static gboolean body_prepare(Mesh *mesh, gpointer data, GError **error) {
    Body *body = data;

    body->multiplier = mesh_multiplier_new(mesh, &body->gemm, error);
    body->running = mesh_n_cores(mesh);
    for (guint i = 0; body->multiplier && i < mesh_n_cores(mesh); i++) {
        mesh_nth_core(mesh, i)->data = body;
        mesh_core_start(mesh_nth_core(mesh, i), body_main);
    }
    return body->multiplier != NULL;
}

/* Even, so that a wrong tile has the right shape. */
static guint64 wrong_after(MeshGemmKind kind, guint times, guint wrong_x) {
    const guint side = 5;
    Body body = {.gemm = {.kind = kind, .m = 15, .k = 20, .n = 25, .type = DATA_TYPE_FP32},
                 .side = side,
                 .times = times,
                 .wrong_x = wrong_x};
    GemmOperands operands = gemm_operands_new(&body.gemm);
    GemmTrial trial = {.spec = gemm_trial_spec(),
                       .columns = side,
                       .rows = side,
                       .gemm = body.gemm,
                       .prepare = body_prepare,
                       .data = &body};
    body.operands = &operands;
    g_autofree GemmSeen *seen = gemm_trial_run(&trial);
    g_assert_cmpstr(seen->error, ==, "");
    float *c = operands.c;
    for (guint64 i = 0; i < operands.m * operands.n; i++)
        c[i] /= (float)times; /* the same product added so many times */
    return gemm_operands_wrong(&operands);
}

static void test_multipliers_run_again_and_again_and_add_up(void) {
    for (guint kind = 0; kind < N_MESH_GEMM_KINDS; kind++) {
        g_assert_cmpuint(wrong_after((MeshGemmKind)kind, 1, 5), ==, 0);
        g_assert_cmpuint(wrong_after((MeshGemmKind)kind, 2, 5), ==, 0);
    }
}

/* What the comparison is worth: tiles that come from the wrong neighbour are noticed. */
static void test_a_tile_from_the_wrong_neighbour_is_caught(void) {
    for (guint kind = 0; kind < N_MESH_GEMM_KINDS; kind++)
        g_assert_cmpuint(wrong_after((MeshGemmKind)kind, 1, 2), >, 100);
}

static void test_numbers_need_the_full_mesh(void) {
    GemmTrial trial = product_trial(0, MESH_GEMM_CANNON);
    GemmOperands operands = gemm_operands_new(&trial.gemm);
    gemm_operands_give(&operands, &trial.gemm);
    trial.folded = TRUE;
    g_autofree GemmSeen *seen = gemm_trial_run(&trial);

    g_assert_cmpstr(seen->error, ==,
                    "'cannon' multiplies numbers on the full mesh only, not on a folded one");
}

static void test_numbers_are_of_fp16_and_fp32(void) {
    GemmTrial trial = product_trial(0, MESH_GEMM_CANNON);
    GemmOperands operands = gemm_operands_new(&trial.gemm);
    gemm_operands_give(&operands, &trial.gemm);
    trial.gemm.type = DATA_TYPE_BF16;
    g_autofree GemmSeen *seen = gemm_trial_run(&trial);

    g_assert_cmpstr(seen->error, ==,
                    "'cannon' multiplies numbers in 'fp16' and 'fp32', not in 'bf16', which has "
                    "times only");
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mesh_gemm_numbers/product",
                    test_every_kind_gives_the_product_in_the_same_time);
    g_test_add_func("/mesh_gemm_numbers/trees", test_transposed_sums_through_trees);
    g_test_add_func("/mesh_gemm_numbers/multiplier",
                    test_multipliers_run_again_and_again_and_add_up);
    g_test_add_func("/mesh_gemm_numbers/wrong", test_a_tile_from_the_wrong_neighbour_is_caught);
    g_test_add_func("/mesh_gemm_numbers/folded", test_numbers_need_the_full_mesh);
    g_test_add_func("/mesh_gemm_numbers/bf16", test_numbers_are_of_fp16_and_fp32);
    return g_test_run();
}
