/* One replica after the other, whatever their load. */
#include "policies/routing/rule.h"

guint routing_round_robin(Router *router, const ReplicaLoad *loads, guint n) {
    (void)loads;
    return (guint)(router->next++ % n);
}
