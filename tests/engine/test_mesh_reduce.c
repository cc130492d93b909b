/* Sums over the lines of a mesh: their times against closed forms, their numbers against sums, and
 * one line for all against all lines.
 *
 * "Near-optimal wafer-scale reduce" (HPDC 2024) gives for a chain of P cores of B wavelets
 * B + (2·TR + 2)(P − 1): FABRIC is exactly this. Its ring formula, 2(P−1)B/P + 4P − 6 +
 * 2(P−1)(2·TR + 1), has hops of 4P − 6 where the interleaved ring's longest dependence has 4P − 7
 * (four cores and more): two laps less the two steps between neighbours at an end and next to it;
 * and RING pays a software stage (beta) a step in place of the ramps' 2·TR + 1. Its broadcast,
 * B + P + 2·TR, pays the ramps once where a multicast here, from its start on the root's side of
 * the ramp, takes B and the farthest distance. */
#include "actors/mesh/mesh_reduce.h"
#include "policies/mesh/interleave.h"
#include "policies/mesh/reduce_tree.h"
#include "tests/engine/child.h"
#include "tests/engine/mesh_fixture.h"
#include <math.h>
#include <string.h>

static const double EPSILON = 1e-6;

static gboolean prepare_reduce(Mesh *mesh, gpointer data, GError **error) {
    return mesh_reduce_start(mesh, data, error);
}

static MeshSetup setup_of(const MeshSpec *spec, guint columns, guint rows) {
    return (MeshSetup){.spec = spec, .columns = columns, .rows = rows, .algorithm = "reduce"};
}

static double distance(guint a, guint b) {
    return fabs((double)a - (double)b);
}

/* When the sum of the cores below has reached a core and been looked at, of messages that meet no
 * others: the longest of its children's times and ways. */
static double tree_ready(const ReduceTree *tree, const MeshSpec *spec, double wavelets,
                         guint core) {
    double ready = 0;
    gboolean has_child = FALSE;

    for (guint child = 0; child < tree->n; child++)
        if (child != tree->root && tree->parent[child] == core) {
            double way = distance(child, core) * spec->hop_cycles + wavelets;
            ready = MAX(ready, tree_ready(tree, spec, wavelets, child) + way);
            has_child = TRUE;
        }
    return ready + (has_child ? spec->relay_cycles : 0);
}

/* The longest dependence around a ring: so many steps over so many cores, each a message and a look
 * at it, and all hops between them. */
static double ring_cycles(guint n, const MeshSpec *spec, double wavelets) {
    if (n == 1)
        return 0;
    RingRule rule = n >= 3 ? interleave_neighbours : cyclic_neighbours;
    double longest = 0;
    for (guint start = 0; start < n; start++) {
        double hops = 0;
        guint core = start;
        for (guint step = 0; step < 2 * (n - 1); step++) {
            guint next = rule(core, n).send;
            hops += distance(core, next);
            core = next;
        }
        longest = MAX(longest, hops);
    }
    return 2.0 * (n - 1) * (spec->relay_cycles + wavelets) + longest * spec->hop_cycles;
}

/* Until the root, of n cores in a line, has the sum. */
static double reduce_cycles(const MeshReduce *reduce, guint n, const MeshSpec *spec) {
    double alpha = spec->hop_cycles, beta = spec->relay_cycles, steps = n - 1.0;
    double w = (double)mesh_wavelets(spec, reduce->type, reduce->elements);
    g_autoptr(ReduceTree) tree = reduce_tree_k(n, MAX(reduce->k, 1));

    if (n == 1)
        return 0;
    switch (reduce->kind) {
    case MESH_REDUCE_CHAIN:
        return steps * (beta + w) + steps * alpha;
    case MESH_REDUCE_PIPELINE:
        /* A core sends its first wavelet beta after the first one reached it, alpha + 1 after that
         * began: it begins alpha + 1 + beta after the core before it. The root hears the last one
         * W − 1 after the first, and looks at it. */
        return steps * (alpha + 1 + beta) + w - 1;
    case MESH_REDUCE_FABRIC:
        return steps * (2 * spec->ramp_cycles + 1 + alpha) + w;
    case MESH_REDUCE_RING:
        return ring_cycles(
            n, spec, (double)mesh_wavelets(spec, reduce->type, (reduce->elements + n - 1) / n));
    default:
        return tree_ready(tree, spec, w, tree->root);
    }
}

static double broadcast_cycles(const MeshReduce *reduce, guint n, const MeshSpec *spec) {
    g_autoptr(ReduceTree) tree = reduce_tree_k(n, MAX(reduce->k, 1));
    guint root = reduce->kind == MESH_REDUCE_TREE ? tree->root : 0;

    if (reduce->no_broadcast || reduce->kind == MESH_REDUCE_RING || n == 1)
        return 0;
    return (double)mesh_wavelets(spec, reduce->type, reduce->elements) +
           MAX(root, n - 1 - root) * spec->hop_cycles;
}

/* One line alone, by columns or rows. */
static void check_closed_form(const MeshReduce *reduce, guint n, double hop_cycles) {
    MeshSpec spec = mesh_fixture_spec();
    spec.hop_cycles = hop_cycles;
    MeshSetup setup = reduce->along_y ? setup_of(&spec, 1, n) : setup_of(&spec, n, 1);
    MeshFound *found = mesh_child_run(&setup, prepare_reduce, (gpointer)reduce);

    g_assert_cmpstr(found->error, ==, "");
    g_assert_cmpfloat_with_epsilon(
        found->totals.cycles, reduce_cycles(reduce, n, &spec) + broadcast_cycles(reduce, n, &spec),
        EPSILON);
    mesh_assert_accounted(found);
}

static void test_closed_forms(void) {
    static const guint sizes[] = {1, 2, 3, 4, 7, 16};

    for (guint kind = 0; kind < N_MESH_REDUCE_KINDS; kind++)
        for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++) {
            MeshReduce reduce = {.kind = kind,
                                 .k = 1 + i % 2,
                                 .elements = 12 + 7 * i,
                                 .along_y = i % 2 == 0,
                                 .no_broadcast = i % 3 == 0,
                                 .type = i % 2 ? DATA_TYPE_FP16 : DATA_TYPE_FP32};
            check_closed_form(&reduce, sizes[i], i % 2 ? 1 : 2);
        }
}

/* Where groups have equal sizes, a K-tree is what the paper's count says: stages, each a message
 * and a look at it, and hops (WaferLLM section 6.2). Where they have not, a message of one level
 * may meet one of the level below on its way and share its links: later then, never earlier. */
static void test_tree(void) {
    static const struct {
        guint n, k;
        gboolean equal; /* groups */
    } cases[] = {{9, 1, TRUE},  {9, 2, TRUE},   {16, 2, TRUE}, {27, 3, TRUE},  {64, 2, TRUE},
                 {64, 3, TRUE}, {14, 2, FALSE}, {7, 3, FALSE}, {34, 2, FALSE}, {41, 3, FALSE}};

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        MeshSpec spec = mesh_fixture_spec();
        MeshReduce reduce = {.kind = MESH_REDUCE_TREE,
                             .k = cases[i].k,
                             .elements = 24,
                             .type = DATA_TYPE_FP16,
                             .no_broadcast = TRUE};
        MeshSetup setup = setup_of(&spec, cases[i].n, 1);
        MeshFound *found = mesh_child_run(&setup, prepare_reduce, &reduce);
        g_autoptr(ReduceTree) tree = reduce_tree_k(cases[i].n, cases[i].k);
        double counted = tree->stages * (spec.relay_cycles + 12) + tree->hops;
        double upper = counted + (cases[i].equal ? 0 : tree->levels * 12);
        g_assert_cmpfloat(found->totals.cycles, >=, counted - EPSILON);
        g_assert_cmpfloat(found->totals.cycles, <=, upper + EPSILON);
        if (cases[i].equal) {
            g_assert_cmpuint(found->totals.stages, ==, tree->stages);
            g_assert_cmpuint(found->totals.hops, ==, tree->hops);
        }
        mesh_found_free(found);
    }
}

/* What crosses links is what was sent, times the hops it went. */
static void test_link_wavelets(void) {
    const guint n = 11, lines = 3;
    MeshSpec spec = mesh_fixture_spec();
    g_autoptr(ReduceTree) tree = reduce_tree_k(n, 2);
    MeshReduce reduce = {
        .kind = MESH_REDUCE_TREE, .k = 2, .elements = 9, .type = DATA_TYPE_FP16, .along_y = TRUE};
    MeshSetup setup = setup_of(&spec, lines, n);
    MeshFound *found = mesh_child_run(&setup, prepare_reduce, &reduce);
    guint64 hops = n - 1; /* of the two multicasts together */

    for (guint i = 0; i < n; i++)
        hops += (guint)distance(i, tree->parent[i]);
    g_assert_cmpuint(found->link_wavelets, ==, lines * 5 * hops);
    g_assert_cmpuint(found->totals.wavelets, ==, lines * 5 * (n - 1 + 2));
    mesh_found_free(found);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mesh_reduce/closed_forms", test_closed_forms);
    g_test_add_func("/mesh_reduce/tree", test_tree);
    g_test_add_func("/mesh_reduce/link_wavelets", test_link_wavelets);
    return g_test_run();
}
