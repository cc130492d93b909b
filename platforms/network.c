#include "platforms/network.h"

/* Link ids: those of cluster 0, of cluster 1, …; then of each node; then of each leaf switch. */
typedef enum {
    CLUSTER_DDR,
    CLUSTER_LOCAL_OUT,
    CLUSTER_LOCAL_IN,
    CLUSTER_PORT_OUT,
    CLUSTER_PORT_IN,
    LINKS_PER_CLUSTER
} ClusterLink;

typedef enum { DIRECTION_OUT, DIRECTION_IN, N_DIRECTIONS } Direction;

static guint cluster_link(guint cluster, ClusterLink kind) {
    return cluster * LINKS_PER_CLUSTER + kind;
}

static guint first_nic(const Platform *platform) {
    return platform_clusters(platform) * LINKS_PER_CLUSTER;
}

static guint nic(const Platform *platform, guint node, Direction direction) {
    return first_nic(platform) + node * N_DIRECTIONS + direction;
}

static guint first_uplink(const Platform *platform) {
    return first_nic(platform) + (guint)platform->nodes * N_DIRECTIONS;
}

static guint uplink(const Platform *platform, guint leaf, Direction direction) {
    return first_uplink(platform) + leaf * N_DIRECTIONS + direction;
}

static guint leaves(const Platform *platform) {
    const NetworkSpec *network = &platform->network;

    if (network->topology == NETWORK_STAR)
        return 0;
    return (guint)((platform->nodes + network->nodes_per_leaf - 1) / network->nodes_per_leaf);
}

/* All nodes of a star hang under one switch. */
static guint leaf_of(const Platform *platform, guint node) {
    if (platform->network.topology == NETWORK_STAR)
        return 0;
    return (guint)(node / platform->network.nodes_per_leaf);
}

guint network_links(const Platform *platform) {
    return first_uplink(platform) + leaves(platform) * N_DIRECTIONS;
}

static LinkSpec cluster_link_spec(const Platform *platform, ClusterLink kind) {
    switch (kind) {
    case CLUSTER_DDR:
        return (LinkSpec){.bytes_per_s = platform->cluster.ddr_bytes_per_s, .latency_s = 0};
    case CLUSTER_LOCAL_OUT:
    case CLUSTER_LOCAL_IN:
        return platform->network.local;
    case CLUSTER_PORT_OUT:
    case CLUSTER_PORT_IN:
        return platform->network.port;
    default:
        g_assert_not_reached();
    }
}

LinkSpec network_link(const Platform *platform, guint link) {
    const NetworkSpec *network = &platform->network;

    g_assert(link < network_links(platform));
    if (link < first_nic(platform))
        return cluster_link_spec(platform, link % LINKS_PER_CLUSTER);
    if (link < first_uplink(platform))
        return network->nic;

    /* The uplinks of a leaf act as one link: traffic is spread over them evenly. */
    return (LinkSpec){.bytes_per_s = (double)network->uplinks * network->uplink.bytes_per_s,
                      .latency_s = network->uplink.latency_s};
}

char *network_link_name(const Platform *platform, guint link) {
    static const char *const kinds[LINKS_PER_CLUSTER] = {"ddr", "local_out", "local_in", "port_out",
                                                         "port_in"};
    static const char *const directions[N_DIRECTIONS] = {"out", "in"};

    g_assert(link < network_links(platform));
    if (link < first_nic(platform))
        return g_strdup_printf("cluster%u.%s", link / LINKS_PER_CLUSTER,
                               kinds[link % LINKS_PER_CLUSTER]);
    if (link < first_uplink(platform)) {
        guint index = link - first_nic(platform);
        return g_strdup_printf("node%u.nic_%s", index / N_DIRECTIONS,
                               directions[index % N_DIRECTIONS]);
    }
    guint index = link - first_uplink(platform);
    return g_strdup_printf("leaf%u.uplink_%s", index / N_DIRECTIONS,
                           directions[index % N_DIRECTIONS]);
}

guint network_route(const Platform *platform, guint from, guint to,
                    guint links[NETWORK_ROUTE_MAX]) {
    guint n = 0;

    links[n++] = cluster_link(from, CLUSTER_DDR);
    if (from == to)
        return n;

    if (platform_processor_of(platform, from) == platform_processor_of(platform, to)) {
        links[n++] = cluster_link(from, CLUSTER_LOCAL_OUT);
        links[n++] = cluster_link(to, CLUSTER_LOCAL_IN);
        links[n++] = cluster_link(to, CLUSTER_DDR);
        return n;
    }

    guint from_node = platform_node_of(platform, from), to_node = platform_node_of(platform, to);
    guint from_leaf = leaf_of(platform, from_node), to_leaf = leaf_of(platform, to_node);

    links[n++] = cluster_link(from, CLUSTER_PORT_OUT);
    if (from_node != to_node)
        links[n++] = nic(platform, from_node, DIRECTION_OUT);
    if (from_leaf != to_leaf) {
        links[n++] = uplink(platform, from_leaf, DIRECTION_OUT);
        links[n++] = uplink(platform, to_leaf, DIRECTION_IN);
    }
    if (from_node != to_node)
        links[n++] = nic(platform, to_node, DIRECTION_IN);
    links[n++] = cluster_link(to, CLUSTER_PORT_IN);
    links[n++] = cluster_link(to, CLUSTER_DDR);
    return n;
}

double network_latency(const Platform *platform, guint from, guint to) {
    guint links[NETWORK_ROUTE_MAX];
    guint n = network_route(platform, from, to, links);
    double latency_s = 0;

    for (guint i = 0; i < n; i++)
        latency_s += network_link(platform, links[i]).latency_s;
    return latency_s;
}

double network_bandwidth(const Platform *platform, guint from, guint to) {
    guint links[NETWORK_ROUTE_MAX];
    guint n = network_route(platform, from, to, links);
    double bytes_per_s = network_link(platform, links[0]).bytes_per_s;

    for (guint i = 1; i < n; i++)
        bytes_per_s = MIN(bytes_per_s, network_link(platform, links[i]).bytes_per_s);
    return bytes_per_s;
}

double network_transfer_seconds(const Platform *platform, guint from, guint to, double bytes) {
    return network_latency(platform, from, to) + bytes / network_bandwidth(platform, from, to);
}

static int compare_links(gconstpointer a, gconstpointer b) {
    guint left = *(const guint *)a, right = *(const guint *)b;

    return (left > right) - (left < right);
}

/* What the slowest flow of a ring gets: every link is shared evenly by the flows that cross it, so
 * the least share of any link is the rate of the flows that cross that link. 'links' holds one
 * entry for each crossing and is sorted here. */
static double least_share(const Platform *platform, GArray *links) {
    double share = G_MAXDOUBLE;

    g_array_sort(links, compare_links);
    for (guint i = 0, end; i < links->len; i = end) {
        guint link = g_array_index(links, guint, i);
        for (end = i; end < links->len && g_array_index(links, guint, end) == link; end++)
            ;
        share = MIN(share, network_link(platform, link).bytes_per_s / (end - i));
    }
    return share;
}

double network_all_reduce_send_seconds(const Platform *platform, double bytes) {
    double bytes_per_s = platform->network.all_reduce.bytes_per_s;

    return bytes_per_s > 0 ? bytes / bytes_per_s : 0;
}

void network_ring_all_reduce_line(const Platform *platform, const guint *clusters, guint n,
                                  double *fixed_s, double *per_byte_s) {
    g_assert(n >= 1);
    *fixed_s = *per_byte_s = 0;
    if (n == 1)
        return;

    g_autoptr(GArray) crossed = g_array_new(FALSE, FALSE, sizeof(guint));
    double latency_s = 0;

    for (guint i = 0; i < n; i++) {
        guint next = clusters[(i + 1) % n];
        guint links[NETWORK_ROUTE_MAX];
        guint n_links = network_route(platform, clusters[i], next, links);
        g_array_append_vals(crossed, links, n_links);
        latency_s = MAX(latency_s, network_latency(platform, clusters[i], next));
    }
    double rounds = 2.0 * (n - 1);
    *fixed_s = rounds * latency_s + platform->network.all_reduce.latency_s;
    *per_byte_s = MAX(rounds / n / least_share(platform, crossed),
                      network_all_reduce_send_seconds(platform, rounds / n));
}

double network_ring_all_reduce_seconds(const Platform *platform, const guint *clusters, guint n,
                                       double bytes) {
    double fixed_s, per_byte_s;

    network_ring_all_reduce_line(platform, clusters, n, &fixed_s, &per_byte_s);
    return fixed_s + bytes * per_byte_s;
}
