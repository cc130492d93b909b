/* Matrix times vector over a mesh: the product, whatever reduces it, and in which time. */
#include "policies/mesh/reduce_tree.h"
#include "policies/mesh/tiles.h"
#include "tests/engine/mesh_gemm_fixture.h"

static const struct {
    guint columns, rows;
    guint64 k, n;
    DataType type;
} products[] = {
    {3, 3, 9, 12, DATA_TYPE_FP32},   {4, 4, 50, 29, DATA_TYPE_FP16}, {5, 5, 3, 41, DATA_TYPE_FP32},
    {8, 8, 100, 70, DATA_TYPE_FP16}, {6, 4, 37, 41, DATA_TYPE_FP16}, {3, 7, 46, 2, DATA_TYPE_FP32},
    {5, 1, 29, 17, DATA_TYPE_FP32},
};

static const MeshReduceKind kinds[] = {MESH_REDUCE_CHAIN, MESH_REDUCE_PIPELINE, MESH_REDUCE_FABRIC,
                                       MESH_REDUCE_RING, MESH_REDUCE_TREE};

/* Of one row as a GEMM, for its operands and their comparison with CBLAS. */
static guint64 wrong_after(gsize i, MeshReduceKind kind, gboolean no_broadcast) {
    MeshGemm gemm = {.m = 1, .k = products[i].k, .n = products[i].n, .type = products[i].type};
    GemmOperands operands = gemm_operands_new(&gemm);
    gemm_operands_give(&operands, &gemm);
    MeshGemv gemv = {.k = gemm.k,
                     .n = gemm.n,
                     .type = gemm.type,
                     .reduce = kind,
                     .no_broadcast = no_broadcast,
                     .x = gemm.a,
                     .b = gemm.b,
                     .y = gemm.c};
    MeshReduce sums = {.kind = kind, .k = 2, .type = gemm.type};
    operands.roundings = MAX(mesh_reduce_roundings(&sums, products[i].rows), 1);
    GemmTrial trial = {.spec = gemm_trial_spec(),
                       .columns = products[i].columns,
                       .rows = products[i].rows,
                       .gemv = &gemv};
    g_autofree GemmSeen *seen = gemm_trial_run(&trial);

    g_assert_cmpstr(seen->error, ==, "");
    return gemm_operands_wrong(&operands);
}

static void test_every_reduce_gives_the_product(void) {
    for (gsize i = 0; i < G_N_ELEMENTS(products); i++)
        for (gsize j = 0; j < G_N_ELEMENTS(kinds); j++) {
            gboolean no_broadcast = (i + j) % 2;
            g_assert_cmpuint(wrong_after(i, kinds[j], no_broadcast), ==, 0);
        }
}

static GemmSeen *seen_of(const MeshGemv *gemv, const MeshSpec *spec, guint side, gboolean folded) {
    GemmTrial trial = {
        .spec = *spec, .columns = side, .rows = side, .folded = folded, .gemv = gemv};

    return gemm_trial_run(&trial);
}

/* One column stands for all, exactly. */
static void test_folded_is_full(void) {
    static const guint sides[] = {3, 13};
    const MeshSpec spec = gemm_trial_spec();

    for (gsize i = 0; i < G_N_ELEMENTS(sides); i++)
        for (gsize j = 0; j < G_N_ELEMENTS(kinds); j++) {
            MeshGemv gemv = {.k = 7 * sides[i], .n = 9 * sides[i] + 1, .reduce = kinds[j]};
            g_autofree GemmSeen *folded = seen_of(&gemv, &spec, sides[i], TRUE);
            g_autofree GemmSeen *full = seen_of(&gemv, &spec, sides[i], FALSE);
            g_assert_cmpfloat(folded->totals.cycles, ==, full->totals.cycles);
            g_assert_cmpuint(folded->totals.hops, ==, full->totals.hops);
            g_assert_cmpuint(folded->totals.stages, ==, full->totals.stages);
            g_assert_cmpfloat(folded->totals.peak_bytes, ==, full->totals.peak_bytes);
        }
}

/* The local product, then the tree: every stage a relay and the whole vector, every hop once. */
static void test_time_is_local_product_and_tree(void) {
    const guint side = 24;
    const MeshSpec spec = gemm_trial_spec();
    MeshGemv gemv = {.k = 10 * side,
                     .n = 16 * side,
                     .type = DATA_TYPE_FP16,
                     .reduce = MESH_REDUCE_TREE,
                     .no_broadcast = TRUE};
    MeshSetup setup = {.spec = &spec, .columns = side, .rows = side};
    g_autoptr(ReduceTree) tree = reduce_tree_k(side, 2);
    g_autofree GemmSeen *seen = seen_of(&gemv, &spec, side, FALSE);
    double local = 10 * (6 + 2 * 2);

    g_assert_cmpfloat(mesh_gemv_kernel_cycles(&setup, &gemv), ==, local);
    g_assert_cmpuint(seen->totals.stages, ==, tree->stages);
    g_assert_cmpuint(seen->totals.hops, ==, tree->hops);
    g_assert_cmpfloat(seen->totals.cycles, ==,
                      local + tree->stages * (spec.relay_cycles + 8) + tree->hops);
}

static void test_the_tree_is_the_quickest_on_long_lines(void) {
    const MeshSpec spec = gemm_trial_wafer();
    double cycles[G_N_ELEMENTS(kinds)];

    for (gsize j = 0; j < G_N_ELEMENTS(kinds); j++) {
        MeshGemv gemv = {.k = 2048, .n = 2048, .type = DATA_TYPE_FP16, .reduce = kinds[j]};
        g_autofree GemmSeen *seen = seen_of(&gemv, &spec, 256, TRUE);
        cycles[j] = seen->totals.cycles;
    }
    for (gsize j = 0; j + 1 < G_N_ELEMENTS(kinds); j++)
        g_assert_cmpfloat(cycles[G_N_ELEMENTS(kinds) - 1], <, cycles[j]);
}

static void test_what_does_not_fit_is_refused(void) {
    static const struct {
        MeshGemv gemv;
        const char *message;
    } refusals[] = {
        {{.k = 0, .n = 8}, "'meshgemv' needs k and n of at least 1"},
        {{.k = 8, .n = 8, .type = DATA_TYPE_BF16, .x = "", .b = "", .y = NULL},
         "'meshgemv' multiplies numbers in 'fp16' and 'fp32', not in 'bf16', which has times only"},
        {{.k = 2048, .n = 2048, .type = DATA_TYPE_FP16},
         "core (*): algorithm 'meshgemv' needs *, more than the 65.54 kB of a core"},
        {{.k = 8, .n = 8, .x = "", .b = "", .y = NULL},
         "'meshgemv' multiplies numbers on the full mesh only, not on a folded one"},
    };
    const MeshSpec spec = gemm_trial_spec();

    for (gsize i = 0; i < G_N_ELEMENTS(refusals); i++) {
        g_autofree GemmSeen *seen = seen_of(&refusals[i].gemv, &spec, 8, TRUE);
        if (!g_pattern_match_simple(refusals[i].message, seen->error))
            g_error("'%s' is not '%s'", seen->error, refusals[i].message);
    }
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mesh_gemv/product", test_every_reduce_gives_the_product);
    g_test_add_func("/mesh_gemv/fold", test_folded_is_full);
    g_test_add_func("/mesh_gemv/time", test_time_is_local_product_and_tree);
    g_test_add_func("/mesh_gemv/quickest", test_the_tree_is_the_quickest_on_long_lines);
    g_test_add_func("/mesh_gemv/refused", test_what_does_not_fit_is_refused);
    return g_test_run();
}
