/* Which replica a newly arrived request goes to. */
#ifndef POLICIES_ROUTING_H
#define POLICIES_ROUTING_H

#include "policies/policy.h"

/* What a router may look at, one per replica. */
typedef struct ReplicaLoad {
    guint64 requests;           /* its unfinished requests, waiting or in service */
    guint64 outstanding_tokens; /* prompt + output tokens of its unfinished requests */
} ReplicaLoad;

typedef struct Router {
    RoutingKind kind;
    guint64 next; /* round robin */
} Router;
Router router_new(RoutingKind kind);
/* Index of the chosen replica; ties go to the lowest index. n ≥ 1. */
guint router_choose(Router *router, const ReplicaLoad *loads, guint n);

#endif
