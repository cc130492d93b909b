/* Who sends partial sums to whom along a line of cores. */
#ifndef POLICIES_MESH_REDUCE_TREE_H
#define POLICIES_MESH_REDUCE_TREE_H

#include <glib.h>

typedef struct ReduceTree {
    guint n, levels;
    guint root;
    guint *parent; /* of each core; the root's is itself */
    guint *level;  /* 1 … levels: in which a core sends to its parent; the root's is 0 */
    guint stages;  /* messages one after another on the longest way to the root */
    guint hops;    /* on that way (of equally long ways: the one with most hops) */
} ReduceTree;

/* A chain from the far end to core 0. One level. n ≥ 1. */
ReduceTree *reduce_tree_chain(guint n);
/* The K-tree of WaferLLM section 6.2: at each level, groups of neighbouring roots of the level
 * below, of about n^(1/k) members each and of sizes that differ by at most one, are chains from
 * both ends to the member in the middle; the last level has one group. 1 ≤ k; levels that would be
 * empty (k too large for n) are left out, so 'levels' may be less than k. */
ReduceTree *reduce_tree_k(guint n, guint k);
void reduce_tree_free(ReduceTree *tree);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ReduceTree, reduce_tree_free)

#endif
