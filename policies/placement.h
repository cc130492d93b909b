/* Private to plans: which clusters they take. A placement hands out free clusters, each once.
 *
 * Both kinds have an order: packed counts clusters by id, so that neighbours share processors and
 * nodes; spread takes the first cluster of every processor, then the second of each, and so on. A
 * single cluster is the first free one in that order. A group that fits a processor is kept inside
 * one with room for it: packed takes the first such processor, spread the next one after the last
 * group's, round and round. A packed group larger than a processor starts at the first processor
 * that is wholly free. Where no processor has the room, the group takes the first free clusters in
 * order. */
#ifndef POLICIES_PLACEMENT_H
#define POLICIES_PLACEMENT_H

#include "platforms/platform.h"
#include "policies/policy.h"

typedef struct Placement Placement;
/* Borrows nothing. */
Placement *placement_new(PlacementKind kind, const Platform *platform);
void placement_free(Placement *placement);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Placement, placement_free)

/* Fills 'clusters' with 'n' free ones, in ascending order, so that ranks of one processor are
 * neighbours in the ring. At least 'n' must be free. */
void placement_take(Placement *placement, guint n, guint *clusters);

#endif
