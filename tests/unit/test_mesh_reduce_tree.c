/* Chains and K-trees: everyone reaches the root, groups are balanced, and the longest way is what
 * another way of computing it gives. */
#include "policies/mesh/reduce_tree.h"

#include <math.h>

#define LONGEST 1000
#define DEEPEST 6

/* Recomputes stages and hops from the leaves on: cores of a level send after all that sent to
 * them, so level by level, each from both ends inwards. */
typedef struct Way {
    guint stages, hops;
} Way;

static Way longer(Way a, Way b) {
    if (a.stages != b.stages)
        return a.stages > b.stages ? a : b;
    return a.hops >= b.hops ? a : b;
}

static void relax(const ReduceTree *tree, guint level, guint core, Way *arrived) {
    if (tree->level[core] != level)
        return;
    guint parent = tree->parent[core];
    guint distance = parent > core ? parent - core : core - parent;
    Way way = {arrived[core].stages + 1, arrived[core].hops + distance};
    arrived[parent] = longer(arrived[parent], way);
}

static Way longest_way(const ReduceTree *tree) {
    g_autofree Way *arrived = g_new0(Way, tree->n);
    for (guint level = 1; level <= tree->levels; level++) {
        for (guint core = 0; core < tree->n; core++)
            if (tree->parent[core] > core)
                relax(tree, level, core, arrived);
        for (guint core = tree->n; core-- > 0;)
            if (tree->parent[core] < core)
                relax(tree, level, core, arrived);
    }
    return arrived[tree->root];
}

static void assert_reaches_the_root(const ReduceTree *tree, guint core) {
    guint level = 0;
    for (guint at = core, steps = 0; at != tree->root; at = tree->parent[at], steps++) {
        g_assert_cmpuint(steps, <, tree->n);
        g_assert_cmpuint(tree->level[at], >=, MAX(level, 1));
        level = tree->level[at];
    }
    g_assert_cmpuint(level, <=, tree->levels);
}

/* Sizes of the groups of one level: members are those that send in it or receive in it. A group's
 * root sends in a higher level, or is the root. */
static void assert_groups_are_balanced(const ReduceTree *tree, guint level) {
    g_autofree guint *size = g_new0(guint, tree->n);
    guint least = G_MAXUINT, most = 0, groups = 0;
    for (guint core = 0; core < tree->n; core++) {
        if (tree->level[core] != level && core != tree->root && tree->level[core] < level)
            continue;
        guint at = core;
        while (tree->level[at] == level)
            at = tree->parent[at];
        size[at]++;
    }
    for (guint core = 0; core < tree->n; core++) {
        if (size[core] == 0)
            continue;
        groups++;
        least = MIN(least, size[core]);
        most = MAX(most, size[core]);
    }
    g_assert_cmpuint(most - least, <=, 1);
    g_assert_cmpuint(most, >, 1);
    g_assert_cmpint(level == tree->levels, ==, groups == 1);
}

static void assert_is_sound(const ReduceTree *tree) {
    g_assert_cmpuint(tree->parent[tree->root], ==, tree->root);
    g_assert_cmpuint(tree->level[tree->root], ==, 0);
    for (guint core = 0; core < tree->n; core++)
        assert_reaches_the_root(tree, core);
    Way way = longest_way(tree);
    g_assert_cmpuint(way.stages, ==, tree->stages);
    g_assert_cmpuint(way.hops, ==, tree->hops);
}

static void test_every_core_reaches_the_root_through_balanced_groups(void) {
    for (guint k = 1; k <= DEEPEST; k++) {
        for (guint n = 1; n <= LONGEST; n += n < 80 ? 1 : 23) {
            g_autoptr(ReduceTree) tree = reduce_tree_k(n, k);
            assert_is_sound(tree);
            g_assert_cmpuint(tree->levels, <=, k);
            for (guint level = 1; level <= tree->levels; level++)
                assert_groups_are_balanced(tree, level);
        }
    }
}

/* k chains of about half of n^(1/k) one after another. */
static void test_stages_follow_the_root_of_the_length(void) {
    for (guint k = 1; k <= 3; k++) {
        for (guint n = 64; n <= LONGEST; n++) {
            g_autoptr(ReduceTree) tree = reduce_tree_k(n, k);
            double expected = k * pow(n, 1.0 / k) / 2;
            g_assert_cmpuint(tree->levels, ==, k);
            g_assert_cmpfloat(fabs(tree->stages - expected), <=, k);
            g_assert_cmpuint(tree->hops, <=, n);
        }
    }
}

static void test_one_level_is_a_chain_from_both_ends_to_the_middle(void) {
    for (guint n = 2; n <= LONGEST; n += 19) {
        g_autoptr(ReduceTree) tree = reduce_tree_k(n, 1);
        g_assert_cmpuint(tree->levels, ==, 1);
        g_assert_cmpuint(tree->root, ==, n / 2);
        g_assert_cmpuint(tree->stages, ==, n / 2);
        g_assert_cmpuint(tree->hops, ==, n / 2);
        for (guint core = 0; core < n; core++)
            if (core != tree->root)
                g_assert_cmpuint(tree->parent[core], ==, core < n / 2 ? core + 1 : core - 1);
    }
}

static void test_a_chain_ends_at_core_0(void) {
    for (guint n = 1; n <= LONGEST; n += 37) {
        g_autoptr(ReduceTree) tree = reduce_tree_chain(n);
        assert_is_sound(tree);
        g_assert_cmpuint(tree->root, ==, 0);
        g_assert_cmpuint(tree->levels, ==, 1);
        g_assert_cmpuint(tree->stages, ==, n - 1);
    }
}

static void test_levels_that_would_be_empty_are_left_out(void) {
    static const struct {
        guint n, k, levels;
    } rows[] = {{1, 3, 0}, {2, 3, 1}, {3, 2, 2}, {8, 3, 3}, {4, 50, 3}};
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(ReduceTree) tree = reduce_tree_k(rows[i].n, rows[i].k);
        g_assert_cmpuint(tree->levels, ==, rows[i].levels);
    }
}

/* The groups of the published decode kernels: lines of equal groups, the root of each half way, and
 * over these the middle one. Source: the layout files of WaferLLM's decode kernels (P, group_num,
 * pes_per_group, root_1st_phase, root_2nd_phase). */
typedef struct Layout {
    guint n, groups, members, first_root, second_root;
    guint longer; /* by how many stages its longest way exceeds that of balanced groups */
} Layout;

static const Layout layouts[] = {
    {8, 2, 4, 2, 6, 1},
    {240, 15, 16, 8, 120, 0},
    {256, 16, 16, 8, 136, 0},
    {300, 15, 20, 10, 150, 0},
    {360, 18, 20, 10, 190, 1},
    {420, 20, 21, 10, 220, 0},
    {480, 20, 24, 12, 252, 1},
    {540, 20, 27, 13, 283, 0},
    {600, 24, 25, 12, 312, 0},
    {660, 22, 30, 15, 345, 1},
    {720, 24, 30, 15, 375, 1},
    {512, 32, 16, 8, 264, 2}, /* powers of two, and so no groups of about the root of 512 */
};

static guint from_both_ends(guint n, guint root) {
    return MAX(root, n - 1 - root);
}

static void test_published_groups_are_as_deep(void) {
    for (gsize i = 0; i < G_N_ELEMENTS(layouts); i++) {
        const Layout *row = &layouts[i];
        g_autoptr(ReduceTree) tree = reduce_tree_k(row->n, 2);
        guint second = row->second_root / row->members;
        guint published =
            from_both_ends(row->members, row->first_root) + from_both_ends(row->groups, second);
        g_test_message("%u cores: published %u stages, balanced %u", row->n, published,
                       tree->stages);
        g_assert_cmpuint(row->groups * row->members, ==, row->n);
        g_assert_cmpuint(row->second_root % row->members, ==, row->first_root);
        g_assert_cmpuint(published, ==, tree->stages + row->longer);
    }
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mesh_reduce_tree/every_core_reaches_the_root_through_balanced_groups",
                    test_every_core_reaches_the_root_through_balanced_groups);
    g_test_add_func("/mesh_reduce_tree/stages_follow_the_root_of_the_length",
                    test_stages_follow_the_root_of_the_length);
    g_test_add_func("/mesh_reduce_tree/one_level_is_a_chain_from_both_ends_to_the_middle",
                    test_one_level_is_a_chain_from_both_ends_to_the_middle);
    g_test_add_func("/mesh_reduce_tree/a_chain_ends_at_core_0", test_a_chain_ends_at_core_0);
    g_test_add_func("/mesh_reduce_tree/levels_that_would_be_empty_are_left_out",
                    test_levels_that_would_be_empty_are_left_out);
    g_test_add_func("/mesh_reduce_tree/published_groups_are_as_deep",
                    test_published_groups_are_as_deep);
    return g_test_run();
}
