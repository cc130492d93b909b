/* Which all-reduces can ever meet other traffic on a link. The others take the same time whatever
 * else happens, so they need no flows: their time is a part of the step's. */
#include "actors/serving/serving.h"

#include "platforms/network.h"

#define NOBODY 0
#define SEVERAL G_MAXUINT

typedef struct LinkUsers {
    const Platform *platform;
    guint n_links;
    guint *user;     /* a link: the one user, NOBODY or SEVERAL */
    gboolean *ample; /* a link that all who may use it at once cannot fill */
} LinkUsers;

static void mark(LinkUsers *links, guint from, guint to, guint user) {
    guint route[NETWORK_ROUTE_MAX];
    guint n = network_route(links->platform, from, to, route);
    for (guint i = 0; i < n; i++)
        if (!links->ample[route[i]]) {
            guint *current = &links->user[route[i]];
            *current = *current == NOBODY || *current == user ? user : SEVERAL;
        }
}

/* The DDR is on every route, but it carries no more than a cluster's own links bring and take. */
static void find_ample_memories(LinkUsers *links) {
    const NetworkSpec *network = &links->platform->network;
    double most = 2 * (network->local.bytes_per_s + network->port.bytes_per_s);
    if (links->platform->cluster.ddr_bytes_per_s < most)
        return;
    for (guint cluster = 0; cluster < platform_clusters(links->platform); cluster++) {
        guint route[NETWORK_ROUTE_MAX];
        network_route(links->platform, cluster, cluster, route);
        links->ample[route[0]] = TRUE;
    }
}

static void mark_ring(LinkUsers *links, const StagePlan *plan, guint user) {
    for (guint rank = 0; rank < plan->tp && plan->tp > 1; rank++)
        mark(links, plan->clusters[rank], plan->clusters[(rank + 1) % plan->tp], user);
}

/* Hops between stages and back, migration to every buffer of the pool, pulls from it. */
static void mark_other_traffic(LinkUsers *links, const Replica *replica, guint user) {
    const ReplicaPlan *plan = replica->plan;
    for (guint i = 0; i + 1 < plan->n_stages; i++)
        mark(links, plan->stages[i].clusters[0], plan->stages[i + 1].clusters[0], user);
    if (plan->n_stages > 1)
        mark(links, plan->stages[plan->n_stages - 1].clusters[0], plan->stages[0].clusters[0],
             user);
    for (guint i = 0; i < plan->n_stages; i++)
        for (guint j = 0; j < replica->pool->n_buffers; j++) {
            guint buffer = replica->pool->buffers[j]->cluster;
            if (plan->role == ROLE_PREFILL)
                mark(links, plan->stages[i].clusters[0], buffer, user);
            for (guint rank = 0; plan->role == ROLE_DECODE && rank < plan->stages[i].tp; rank++)
                mark(links, buffer, plan->stages[i].clusters[rank], user);
        }
}

static gboolean ring_is_shared(const LinkUsers *links, const StagePlan *plan) {
    for (guint rank = 0; rank < plan->tp && plan->tp > 1; rank++) {
        guint route[NETWORK_ROUTE_MAX];
        guint n = network_route(links->platform, plan->clusters[rank],
                                plan->clusters[(rank + 1) % plan->tp], route);
        for (guint i = 0; i < n; i++)
            if (links->user[route[i]] == SEVERAL)
                return TRUE;
    }
    return FALSE;
}

void contention_mark_rings(Simulation *simulation) {
    const Platform *platform = simulation->setup.platform;
    guint n_links = network_links(platform);
    g_autofree guint *user = g_new0(guint, n_links);
    g_autofree gboolean *ample = g_new0(gboolean, n_links);
    LinkUsers links = {platform, n_links, user, ample};
    find_ample_memories(&links);
    guint next_user = 1;
    for (guint i = 0; i < simulation->n_replicas; i++) {
        const Replica *replica = &simulation->replicas[i];
        for (guint s = 0; s < replica->plan->n_stages; s++)
            mark_ring(&links, replica->stages[s].plan, next_user++);
        mark_other_traffic(&links, replica, next_user++);
    }
    for (guint i = 0; i < simulation->n_replicas; i++)
        for (guint s = 0; s < simulation->replicas[i].plan->n_stages; s++) {
            Stage *stage = &simulation->replicas[i].stages[s];
            stage->ring_shared = ring_is_shared(&links, stage->plan);
        }
}
