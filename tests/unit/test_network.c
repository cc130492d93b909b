#include "platforms/network.h"
#include <math.h>

/* 4 nodes of 2 processors of 2 clusters: clusters 0-3 on node 0, 0-1 on its first processor.
 * Two nodes to a leaf where it is a fat tree. Latencies are distinct primes, so that sums tell
 * which links went in. */
static Platform machine(NetworkTopology topology) {
    return (Platform){
        .nodes = 4,
        .processors_per_node = 2,
        .clusters_per_processor = 2,
        .cluster = {.ddr_bytes_per_s = 30e9},
        .network = {.topology = topology,
                    .local = {5e9, 2e-6},
                    .port = {3e9, 5e-6},
                    .nic = {7e9, 7e-6},
                    .nodes_per_leaf = topology == NETWORK_FAT_TREE ? 2 : 0,
                    .uplinks = topology == NETWORK_FAT_TREE ? 2 : 0,
                    .uplink = {1.1e9, 11e-6}},
    };
}

static void test_every_link_has_its_own_name_and_a_rate(void) {
    const struct {
        NetworkTopology topology;
        guint links;
    } cases[] = {{NETWORK_STAR, 16 * 5 + 4 * 2}, {NETWORK_FAT_TREE, 16 * 5 + 4 * 2 + 2 * 2}};

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        Platform platform = machine(cases[i].topology);
        g_autoptr(GHashTable) names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

        g_assert_cmpuint(network_links(&platform), ==, cases[i].links);
        for (guint link = 0; link < cases[i].links; link++) {
            g_assert_true(g_hash_table_add(names, network_link_name(&platform, link)));
            g_assert_cmpfloat(network_link(&platform, link).bytes_per_s, >, 0);
        }
    }
}

static void test_a_last_leaf_may_be_partly_filled(void) {
    Platform platform = machine(NETWORK_FAT_TREE);

    platform.network.nodes_per_leaf = 3;
    g_assert_cmpuint(network_links(&platform), ==, 16 * 5 + 4 * 2 + 2 * 2);
    guint links[NETWORK_ROUTE_MAX];
    g_assert_cmpuint(network_route(&platform, 0, 8, links), ==, 6);  /* nodes 0 and 2 */
    g_assert_cmpuint(network_route(&platform, 0, 12, links), ==, 8); /* nodes 0 and 3 */
}

static const struct RouteCase {
    guint from, to;
    NetworkTopology topology;
    const char *route;
    double latency_s, bytes_per_s;
} route_cases[] = {
    {5, 5, NETWORK_STAR, "cluster5.ddr", 0, 30e9},
    {0, 1, NETWORK_STAR, "cluster0.ddr cluster0.local_out cluster1.local_in cluster1.ddr", 4e-6,
     5e9},
    {1, 0, NETWORK_STAR, "cluster1.ddr cluster1.local_out cluster0.local_in cluster0.ddr", 4e-6,
     5e9},
    {1, 2, NETWORK_STAR, "cluster1.ddr cluster1.port_out cluster2.port_in cluster2.ddr", 10e-6,
     3e9},
    {3, 4, NETWORK_STAR,
     "cluster3.ddr cluster3.port_out node0.nic_out node1.nic_in cluster4.port_in cluster4.ddr",
     24e-6, 3e9},
    {0, 15, NETWORK_STAR,
     "cluster0.ddr cluster0.port_out node0.nic_out node3.nic_in cluster15.port_in cluster15.ddr",
     24e-6, 3e9},
    {3, 4, NETWORK_FAT_TREE,
     "cluster3.ddr cluster3.port_out node0.nic_out node1.nic_in cluster4.port_in cluster4.ddr",
     24e-6, 3e9},
    {15, 0, NETWORK_FAT_TREE,
     "cluster15.ddr cluster15.port_out node3.nic_out leaf1.uplink_out leaf0.uplink_in node0.nic_in "
     "cluster0.port_in cluster0.ddr",
     46e-6, 2.2e9},
};

static void test_routes_pass_the_links_of_their_level(void) {
    for (gsize i = 0; i < G_N_ELEMENTS(route_cases); i++) {
        const struct RouteCase *wanted = &route_cases[i];
        Platform platform = machine(wanted->topology);
        guint links[NETWORK_ROUTE_MAX];
        guint n = network_route(&platform, wanted->from, wanted->to, links);
        g_autoptr(GString) route = g_string_new(NULL);

        for (guint link = 0; link < n; link++) {
            g_autofree char *name = network_link_name(&platform, links[link]);
            g_string_append_printf(route, "%s%s", link > 0 ? " " : "", name);
        }
        g_assert_cmpstr(route->str, ==, wanted->route);

        double latency_s = network_latency(&platform, wanted->from, wanted->to);
        g_assert_cmpfloat_with_epsilon(latency_s, wanted->latency_s, 1e-15);
        g_assert_cmpfloat(network_bandwidth(&platform, wanted->from, wanted->to), ==,
                          wanted->bytes_per_s);
        g_assert_cmpfloat_with_epsilon(
            network_transfer_seconds(&platform, wanted->from, wanted->to, 1e9),
            wanted->latency_s + 1e9 / wanted->bytes_per_s, 1e-12);
    }
}

static void test_a_transfer_takes_longer_the_more_bytes_and_the_less_bandwidth(void) {
    Platform platform = machine(NETWORK_FAT_TREE), slower = platform;

    slower.network.port.bytes_per_s /= 2;
    for (guint to = 0; to < platform_clusters(&platform); to++) {
        double seconds = network_transfer_seconds(&platform, 0, to, 1e6);
        g_assert_cmpfloat(network_transfer_seconds(&platform, 0, to, 2e6), >, seconds);
        g_assert_cmpfloat(network_transfer_seconds(&slower, 0, to, 1e6), >=, seconds);
    }
}

/* A second way: for each flow, its own rate from a plain count of all flows over its links; then
 * the round of the slowest. O(n² · links), with no sorting. */
static double ring_by_flows(const Platform *platform, const guint *clusters, guint n,
                            double bytes) {
    double slowest_s = 0, latency_s = 0;

    for (guint i = 0; i < n; i++) {
        guint links[NETWORK_ROUTE_MAX];
        guint n_links = network_route(platform, clusters[i], clusters[(i + 1) % n], links);
        double rate = INFINITY;
        for (guint link = 0; link < n_links; link++) {
            guint flows = 0;
            for (guint j = 0; j < n; j++) {
                guint others[NETWORK_ROUTE_MAX];
                guint m = network_route(platform, clusters[j], clusters[(j + 1) % n], others);
                for (guint k = 0; k < m; k++)
                    flows += others[k] == links[link];
            }
            rate = MIN(rate, network_link(platform, links[link]).bytes_per_s / flows);
        }
        slowest_s = MAX(slowest_s, bytes / n / rate);
        latency_s = MAX(latency_s, network_latency(platform, clusters[i], clusters[(i + 1) % n]));
    }
    return 2.0 * (n - 1) * (latency_s + slowest_s);
}

static const struct RingCase {
    guint n, clusters[16];
} ring_cases[] = {
    {2, {0, 1}},
    {2, {0, 15}},
    {4, {0, 1, 2, 3}},
    {4, {0, 4, 8, 12}},
    {4, {12, 0, 4, 8}},
    {3, {0, 4, 1}},
    {16, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}},
    {16, {0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15}},
};

static void test_ring_equals_a_count_flow_by_flow(void) {
    for (int topology = NETWORK_STAR; topology <= NETWORK_FAT_TREE; topology++) {
        Platform platform = machine((NetworkTopology)topology);
        for (gsize i = 0; i < G_N_ELEMENTS(ring_cases); i++) {
            const struct RingCase *ring = &ring_cases[i];
            double oracle = ring_by_flows(&platform, ring->clusters, ring->n, 64e6);
            double seconds =
                network_ring_all_reduce_seconds(&platform, ring->clusters, ring->n, 64e6);
            g_assert_cmpfloat_with_epsilon(seconds / oracle, 1, 1e-12);
        }
    }
}

/* On links of one kind with nothing shared: 2(n−1)/n · bytes / bandwidth + 2(n−1) · latency. */
static void test_ring_on_equal_links_is_the_textbook_formula(void) {
    Platform platform = machine(NETWORK_STAR);
    const guint clusters[] = {0, 4, 8, 12};

    double seconds = network_ring_all_reduce_seconds(&platform, clusters, 4, 1e9);
    g_assert_cmpfloat_with_epsilon(seconds, 6 * 24e-6 + 6.0 / 4 * 1e9 / 3e9, 1e-12);
}

/* Two flows leave each node when neighbours in the ring sit on different nodes. */
static void test_ring_shares_a_crowded_nic(void) {
    Platform platform = machine(NETWORK_STAR);
    const guint interleaved[] = {0, 4, 2, 6};

    platform.network.nic.bytes_per_s = 4e9;
    double seconds = network_ring_all_reduce_seconds(&platform, interleaved, 4, 1e9);
    g_assert_cmpfloat_with_epsilon(seconds, 6 * 24e-6 + 6.0 / 4 * 1e9 / 2e9, 1e-12);
}

/* Every cluster sends and receives at once, so its memory serves two flows. */
static void test_ring_shares_the_memory_of_each_rank(void) {
    Platform platform = machine(NETWORK_STAR);
    const guint pair[] = {0, 1};

    platform.cluster.ddr_bytes_per_s = 6e9;
    double seconds = network_ring_all_reduce_seconds(&platform, pair, 2, 1e9);
    g_assert_cmpfloat_with_epsilon(seconds, 2 * 4e-6 + 1e9 / 3e9, 1e-12);
}

/* Staged through CPUs, a ring goes at its own pace where the links would allow more, and not faster
 * than they do where they allow less. */
static void test_ring_goes_at_most_at_the_rate_of_all_reduces(void) {
    Platform platform = machine(NETWORK_STAR);
    const guint clusters[] = {0, 4, 8, 12}, alone = 3;

    platform.network.all_reduce = (LinkSpec){.bytes_per_s = 0.5e9, .latency_s = 13e-6};
    double seconds = network_ring_all_reduce_seconds(&platform, clusters, 4, 1e9);
    g_assert_cmpfloat_with_epsilon(seconds, 13e-6 + 6 * 24e-6 + 6.0 / 4 * 1e9 / 0.5e9, 1e-12);
    platform.network.all_reduce.bytes_per_s = 100e9;
    seconds = network_ring_all_reduce_seconds(&platform, clusters, 4, 1e9);
    g_assert_cmpfloat_with_epsilon(seconds, 13e-6 + 6 * 24e-6 + 6.0 / 4 * 1e9 / 3e9, 1e-12);
    g_assert_cmpfloat(network_ring_all_reduce_seconds(&platform, &alone, 1, 1e9), ==, 0);
    g_assert_cmpfloat(network_all_reduce_send_seconds(&platform, 1e9), ==, 0.01);
}

static void test_ring_of_one_is_free(void) {
    Platform platform = machine(NETWORK_STAR);
    const guint alone = 3;
    double fixed_s = 1, per_byte_s = 1;

    network_ring_all_reduce_line(&platform, &alone, 1, &fixed_s, &per_byte_s);
    g_assert_cmpfloat(fixed_s, ==, 0);
    g_assert_cmpfloat(per_byte_s, ==, 0);
    g_assert_cmpfloat(network_ring_all_reduce_seconds(&platform, &alone, 1, 1e9), ==, 0);
}

static void test_ring_is_its_line(void) {
    Platform platform = machine(NETWORK_FAT_TREE);
    const struct RingCase *ring = &ring_cases[6];
    double fixed_s, per_byte_s;

    network_ring_all_reduce_line(&platform, ring->clusters, ring->n, &fixed_s, &per_byte_s);
    g_assert_cmpfloat(network_ring_all_reduce_seconds(&platform, ring->clusters, ring->n, 0), ==,
                      fixed_s);
    for (double bytes = 1; bytes < 1e12; bytes *= 10)
        g_assert_cmpfloat(
            network_ring_all_reduce_seconds(&platform, ring->clusters, ring->n, bytes), ==,
            fixed_s + bytes * per_byte_s);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/network/every-link-has-its-own-name-and-a-rate",
                    test_every_link_has_its_own_name_and_a_rate);
    g_test_add_func("/network/a-last-leaf-may-be-partly-filled",
                    test_a_last_leaf_may_be_partly_filled);
    g_test_add_func("/network/routes-pass-the-links-of-their-level",
                    test_routes_pass_the_links_of_their_level);
    g_test_add_func("/network/a-transfer-takes-longer-the-more-bytes-and-the-less-bandwidth",
                    test_a_transfer_takes_longer_the_more_bytes_and_the_less_bandwidth);
    g_test_add_func("/network/ring-equals-a-count-flow-by-flow",
                    test_ring_equals_a_count_flow_by_flow);
    g_test_add_func("/network/ring-on-equal-links-is-the-textbook-formula",
                    test_ring_on_equal_links_is_the_textbook_formula);
    g_test_add_func("/network/ring-shares-a-crowded-nic", test_ring_shares_a_crowded_nic);
    g_test_add_func("/network/ring-shares-the-memory-of-each-rank",
                    test_ring_shares_the_memory_of_each_rank);
    g_test_add_func("/network/ring-goes-at-most-at-the-rate-of-all-reduces",
                    test_ring_goes_at_most_at_the_rate_of_all_reduces);
    g_test_add_func("/network/ring-of-one-is-free", test_ring_of_one_is_free);
    g_test_add_func("/network/ring-is-its-line", test_ring_is_its_line);
    return g_test_run();
}
