/* The replica in whose queue the fewest requests wait. */
#include "policies/routing/rule.h"

guint routing_shortest_queue(Router *router, const ReplicaLoad *loads, guint n) {
    (void)router;
    guint best = 0;
    for (guint i = 1; i < n; i++) {
        if (loads[i].waiting < loads[best].waiting)
            best = i;
    }
    return best;
}
