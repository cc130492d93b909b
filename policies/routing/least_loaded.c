/* The replica whose unfinished requests have the fewest tokens, prompts and outputs together. */
#include "policies/routing/rule.h"

guint routing_least_loaded(Router *router, const ReplicaLoad *loads, guint n) {
    (void)router;
    guint best = 0;
    for (guint i = 1; i < n; i++) {
        if (loads[i].outstanding_tokens < loads[best].outstanding_tokens)
            best = i;
    }
    return best;
}
