#include "policies/mesh/reduce_tree.h"

#include "policies/mesh/tiles.h"

#include <math.h>

static ReduceTree *tree_new(guint n) {
    g_assert(n >= 1);
    ReduceTree *tree = g_new0(ReduceTree, 1);
    tree->n = n;
    tree->parent = g_new0(guint, n);
    tree->level = g_new0(guint, n);
    return tree;
}

void reduce_tree_free(ReduceTree *tree) {
    if (!tree)
        return;
    g_free(tree->parent);
    g_free(tree->level);
    g_free(tree);
}

ReduceTree *reduce_tree_chain(guint n) {
    ReduceTree *tree = tree_new(n);
    for (guint core = 1; core < n; core++) {
        tree->parent[core] = core - 1;
        tree->level[core] = 1;
    }
    tree->levels = 1;
    tree->stages = n - 1;
    tree->hops = n - 1;
    return tree;
}

/* Chains from both ends of members[0 … n) to the one in the middle, which is returned. */
static guint chain_to_middle(ReduceTree *tree, const guint *members, guint n, guint level) {
    guint middle = n / 2;
    for (guint i = 0; i < n; i++) {
        if (i == middle)
            continue;
        tree->parent[members[i]] = i < middle ? members[i + 1] : members[i - 1];
        tree->level[members[i]] = level;
    }
    return members[middle];
}

/* Into how many groups 'members' go so that this and the levels after it, 'levels' in all, have
 * groups of the same size: members / members^(1/levels), rounded. */
static guint groups_of(guint members, guint levels) {
    double groups = pow(members, (levels - 1.0) / levels);
    return CLAMP((guint)lround(groups), 1, members);
}

/* Puts members[0 … n) into groups and their roots at the front of 'members'. */
static void group_members(ReduceTree *tree, guint *members, guint n, guint groups) {
    for (guint group = 0; group < groups; group++) {
        guint begin = (guint)tile_begin(n, groups, group);
        guint size = (guint)tile_size(n, groups, group);
        members[group] = chain_to_middle(tree, &members[begin], size, tree->levels);
    }
}

/* Walks from every core to the root for the longest way. */
static void measure(ReduceTree *tree) {
    for (guint core = 0; core < tree->n; core++) {
        guint stages = 0, hops = 0;
        for (guint at = core; at != tree->root; at = tree->parent[at]) {
            guint parent = tree->parent[at];
            hops += at > parent ? at - parent : parent - at;
            stages++;
        }
        if (stages > tree->stages || (stages == tree->stages && hops > tree->hops)) {
            tree->stages = stages;
            tree->hops = hops;
        }
    }
}

ReduceTree *reduce_tree_k(guint n, guint k) {
    g_assert(k >= 1);
    ReduceTree *tree = tree_new(n);
    g_autofree guint *members = g_new(guint, n);
    for (guint core = 0; core < n; core++)
        members[core] = core;
    guint n_members = n;
    for (guint levels_left = k; levels_left > 0 && n_members > 1; levels_left--) {
        guint groups = groups_of(n_members, levels_left);
        if (groups == n_members)
            continue;
        tree->levels++;
        group_members(tree, members, n_members, groups);
        n_members = groups;
    }
    g_assert(n_members == 1);
    tree->root = members[0];
    tree->parent[tree->root] = tree->root;
    measure(tree);
    return tree;
}
