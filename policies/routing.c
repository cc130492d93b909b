#include "policies/routing.h"

#include "policies/routing/rule.h"

#define ROUTING_ROW(kind, name, rule) [kind] = (rule),
static RoutingRule *const rules[] = {ROUTING_RULES(ROUTING_ROW)};

Router router_new(RoutingKind kind) {
    return (Router){.kind = kind};
}

guint router_choose(Router *router, const ReplicaLoad *loads, guint n) {
    g_assert(n > 0);
    return rules[router->kind](router, loads, n);
}
