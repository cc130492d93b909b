/* Private to routing: what a rule is. A rule answers with the index of a replica, 0 … n−1, n ≥ 1,
 * and may use the router's memory; ties go to the lowest index. */
#ifndef POLICIES_ROUTING_RULE_H
#define POLICIES_ROUTING_RULE_H

#include "policies/routing.h"

typedef guint RoutingRule(Router *router, const ReplicaLoad *loads, guint n);

#define DECLARE_ROUTING_RULE(kind, name, rule) RoutingRule rule;
ROUTING_RULES(DECLARE_ROUTING_RULE)

#endif
