#include "policies/placement.h"

#include <stdlib.h>

struct Placement {
    PlacementKind kind;
    guint clusters, processors, per_processor;
    gboolean *taken;
    guint *free_on;        /* free clusters of each processor */
    guint next;            /* no place before it in the order is free */
    guint group_processor; /* where the search for a group's processor starts */
};

Placement *placement_new(PlacementKind kind, const Platform *platform) {
    Placement *placement = g_new0(Placement, 1);
    placement->kind = kind;
    placement->clusters = platform_clusters(platform);
    placement->per_processor = (guint)platform->clusters_per_processor;
    placement->processors = placement->clusters / placement->per_processor;
    placement->taken = g_new0(gboolean, placement->clusters);
    placement->free_on = g_new(guint, placement->processors);
    for (guint i = 0; i < placement->processors; i++)
        placement->free_on[i] = placement->per_processor;
    return placement;
}

void placement_free(Placement *placement) {
    if (placement == NULL)
        return;
    g_free(placement->taken);
    g_free(placement->free_on);
    g_free(placement);
}

static guint cluster_at(const Placement *placement, guint place) {
    if (placement->kind == PLACEMENT_PACKED)
        return place;
    return place % placement->processors * placement->per_processor + place / placement->processors;
}

static void take(Placement *placement, guint cluster) {
    g_assert(!placement->taken[cluster]);
    placement->taken[cluster] = TRUE;
    placement->free_on[cluster / placement->per_processor]--;
}

static void take_in_order(Placement *placement, guint n, guint *clusters) {
    for (guint found = 0; found < n; placement->next++) {
        g_assert(placement->next < placement->clusters);
        guint cluster = cluster_at(placement, placement->next);
        if (placement->taken[cluster])
            continue;
        take(placement, cluster);
        clusters[found++] = cluster;
    }
}

/* Takes 'n' free clusters by id from 'first' on; FALSE, and none, when there are not so many. */
static gboolean take_from(Placement *placement, guint first, guint n, guint *clusters) {
    guint found = 0;
    for (guint cluster = first; cluster < placement->clusters && found < n; cluster++) {
        if (!placement->taken[cluster])
            clusters[found++] = cluster;
    }
    for (guint i = 0; found == n && i < n; i++)
        take(placement, clusters[i]);
    return found == n;
}

/* A processor with 'n' free clusters, by the rule of the kind. */
static gboolean find_processor(Placement *placement, guint n, guint *processor) {
    for (guint i = 0; i < placement->processors; i++) {
        guint candidate = (placement->group_processor + i) % placement->processors;
        if (placement->free_on[candidate] < n)
            continue;
        *processor = candidate;
        placement->group_processor =
            placement->kind == PLACEMENT_SPREAD ? candidate + 1 : candidate;
        return TRUE;
    }
    return FALSE;
}

static int compare_clusters(const void *a, const void *b) {
    guint first = *(const guint *)a, second = *(const guint *)b;
    return (first > second) - (first < second);
}

void placement_take(Placement *placement, guint n, guint *clusters) {
    gboolean within = n <= placement->per_processor;
    guint processor;
    gboolean kept = n > 1 && (within || placement->kind == PLACEMENT_PACKED) &&
                    find_processor(placement, MIN(n, placement->per_processor), &processor) &&
                    take_from(placement, processor * placement->per_processor, n, clusters);
    if (!kept)
        take_in_order(placement, n, clusters);
    qsort(clusters, n, sizeof *clusters, compare_clusters);
}
