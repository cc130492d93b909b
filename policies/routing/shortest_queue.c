/* Join the shortest queue: the replica with the fewest requests in it, waiting or in service. */
#include "policies/routing/rule.h"

guint routing_shortest_queue(Router *router, const ReplicaLoad *loads, guint n) {
    (void)router;
    guint best = 0;
    for (guint i = 1; i < n; i++) {
        if (loads[i].requests < loads[best].requests)
            best = i;
    }
    return best;
}
