/* The topology in the engine against the table of links: what flows take on each level of the
 * network and how they share it. One engine a process, so each kind of network runs in a child. */
#include "platforms/network.h"
#include "platforms/topology.h"
#include <math.h>
#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xbt/config.h>

#define BYTES 1e9

/* 4 nodes of 2 processors of 2 clusters, two nodes to a leaf: what binds a flow differs by level.
 */
static Platform machine(NetworkTopology topology) {
    return (Platform){
        .nodes = 4,
        .processors_per_node = 2,
        .clusters_per_processor = 2,
        .cluster = {.ddr_bytes_per_s = 30e9,
                    .gsm_bytes_per_s = 150e9,
                    .peak_fp16_macs_per_s = 8e12},
        .network = {.topology = topology,
                    .local = {5e9, 2e-6},
                    .port = {3e9, 5e-6},
                    .nic = {4e9, 7e-6},
                    .nodes_per_leaf = 2,
                    .uplinks = 2,
                    .uplink = {1e9, 11e-6}},
    };
}

#define GSM G_MAXUINT /* as the end of a flow */

typedef struct Flow {
    guint from, to;
    double bytes;
    double seconds; /* found */
} Flow;

static sg_host_t host_of(guint end) {
    return end == GSM ? topology_gsm_host() : topology_host(end);
}

static void flow_main(int argc, char *argv[]) {
    Flow *flow = sg_actor_self_get_data();
    double start_s = simgrid_get_clock();

    (void)argc, (void)argv;
    sg_host_sendto(host_of(flow->from), host_of(flow->to), flow->bytes);
    flow->seconds = simgrid_get_clock() - start_s;
}

/* Starts all flows at one date and runs until the last has ended. */
static void run_flows(Flow *flows, gsize n) {
    for (gsize i = 0; i < n; i++) {
        sg_actor_t actor = sg_actor_init("flow", host_of(flows[i].from));
        sg_actor_set_data(actor, &flows[i]);
        sg_actor_start(actor, flow_main, 0, NULL);
    }
    simgrid_run();
}

/* TRUE when 'seconds' is 'wanted' to 1e-9; otherwise says so. */
static gboolean near(const char *what, double seconds, double wanted) {
    if (fabs(seconds - wanted) <= 1e-9 * wanted)
        return TRUE;
    g_printerr("# %s took %.12g s instead of %.12g s\n", what, seconds, wanted);
    return FALSE;
}

static gboolean one_flow_takes_bytes_over_the_bandwidth_of_its_route(const Platform *platform) {
    gboolean good = TRUE;

    for (guint from = 0; from < platform_clusters(platform); from += 5)
        for (guint to = 0; to < platform_clusters(platform); to++) {
            Flow flow = {.from = from, .to = to, .bytes = BYTES};
            g_autofree char *what = g_strdup_printf("a flow from %u to %u", from, to);
            run_flows(&flow, 1);
            good &= near(what, flow.seconds, BYTES / network_bandwidth(platform, from, to));
        }
    return good;
}

/* Flows that start at one date, and what each of them takes. */
typedef struct SharingCase {
    const char *what;
    NetworkTopology topology; /* that it is for */
    Flow flows[4];
    gsize n;
    double wanted_s[4];
} SharingCase;

static const SharingCase sharing_cases[] = {
    {"two flows out of one NIC", NETWORK_STAR, {{0, 4, BYTES, 0}, {2, 8, BYTES, 0}}, 2, {0.5, 0.5}},
    {"two flows into one NIC", NETWORK_STAR, {{4, 0, BYTES, 0}, {8, 2, BYTES, 0}}, 2, {0.5, 0.5}},
    {"two flows into one port",
     NETWORK_STAR,
     {{4, 0, BYTES, 0}, {8, 0, BYTES, 0}},
     2,
     {2 / 3.0, 2 / 3.0}},
    /* One stays in the node (4 links), one crosses the machine (8): equal halves of the port. */
    {"two distances out of one port",
     NETWORK_STAR,
     {{0, 2, BYTES, 0}, {0, 12, BYTES, 0}},
     2,
     {2 / 3.0, 2 / 3.0}},
    /* The uplinks give 2 GB/s, but the port leaves the far flow only half of its 3 GB/s. */
    {"two distances in a fat tree",
     NETWORK_FAT_TREE,
     {{0, 2, BYTES, 0}, {0, 12, BYTES, 0}},
     2,
     {2 / 3.0, 2 / 3.0}},
    /* 1 GB/s each on the uplink; four nodes' NICs and ports have room. */
    {"two nodes behind one uplink",
     NETWORK_FAT_TREE,
     {{0, 8, BYTES, 0}, {4, 12, BYTES, 0}},
     2,
     {1, 1}},
    /* Half of the NIC each, which is just what the uplinks give. */
    {"a near and a far flow of one NIC",
     NETWORK_FAT_TREE,
     {{0, 4, BYTES, 0}, {2, 8, BYTES, 0}},
     2,
     {0.5, 0.5}},
    {"opposite directions of a port and a NIC",
     NETWORK_STAR,
     {{0, 4, BYTES, 0}, {4, 0, BYTES, 0}},
     2,
     {1 / 3.0, 1 / 3.0}},
    {"opposite directions of a local link",
     NETWORK_STAR,
     {{0, 1, BYTES, 0}, {1, 0, BYTES, 0}},
     2,
     {0.2, 0.2}},
    {"opposite directions of an uplink",
     NETWORK_FAT_TREE,
     {{0, 8, BYTES, 0}, {8, 0, BYTES, 0}},
     2,
     {0.5, 0.5}},
    /* 1.5 GB/s each until the short one has sent 0.5 GB at 1/3 s; then 3 GB/s for the other. */
    {"a flow after its neighbour has ended",
     NETWORK_STAR,
     {{0, 4, BYTES, 0}, {0, 8, BYTES / 2, 0}},
     2,
     {0.5, 1 / 3.0}},
    /* A local flow and a reader of the same memory: DDR 30 = 5 + 25. */
    {"memory shared with the network",
     NETWORK_STAR,
     {{0, 1, BYTES, 0}, {0, 0, 5 * BYTES, 0}},
     2,
     {0.2, 0.2}},
    /* In and out share a cluster's GSM link; another cluster has its own, and DDR is elsewhere. */
    {"GSM of two clusters",
     NETWORK_STAR,
     {{GSM, 0, 15 * BYTES, 0},
      {0, GSM, 15 * BYTES, 0},
      {GSM, 5, 15 * BYTES, 0},
      {0, 0, 3 * BYTES, 0}},
     4,
     {0.2, 0.2, 0.1, 0.1}},
};

static gboolean flows_share_what_they_have_in_common(const Platform *platform) {
    gboolean good = TRUE;

    for (gsize i = 0; i < G_N_ELEMENTS(sharing_cases); i++) {
        SharingCase sharing = sharing_cases[i];
        if (sharing.topology != platform->network.topology)
            continue;
        run_flows(sharing.flows, sharing.n);
        for (gsize flow = 0; flow < sharing.n; flow++)
            good &= near(sharing.what, sharing.flows[flow].seconds, sharing.wanted_s[flow]);
    }
    return good;
}

static const guint rings[][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15},
    {0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15},
};

/* The longest flow of one round, times the rounds, is the all-reduce of a ring without latency. */
static gboolean a_round_of_a_ring_lasts_as_its_closed_form_says(const Platform *platform) {
    gboolean good = TRUE;

    for (gsize ring = 0; ring < G_N_ELEMENTS(rings); ring++)
        for (guint n = 2; n <= 16; n += 7) {
            Flow flows[16];
            double fixed_s, per_byte_s, longest_s = 0;

            for (guint i = 0; i < n; i++)
                flows[i] =
                    (Flow){.from = rings[ring][i], .to = rings[ring][(i + 1) % n], .bytes = BYTES};
            run_flows(flows, n);
            for (guint i = 0; i < n; i++)
                longest_s = MAX(longest_s, flows[i].seconds);
            network_ring_all_reduce_line(platform, rings[ring], n, &fixed_s, &per_byte_s);
            good &= near("a ring", 2.0 * (n - 1) * longest_s, per_byte_s * n * BYTES);
        }
    return good;
}

static gboolean hosts_run_at_the_peak(const Platform *platform) {
    return near("a second of peak", 8e12 / sg_host_get_speed(topology_host(7)), 1) &&
           sg_host_count() == platform_clusters(platform) + 1; /* GSM */
}

typedef gboolean (*Check)(const Platform *platform);
static const struct {
    const char *name;
    Check check;
} checks[] = {
    {"hosts run at the peak", hosts_run_at_the_peak},
    {"one flow takes bytes over the bandwidth of its route",
     one_flow_takes_bytes_over_the_bandwidth_of_its_route},
    {"flows share what they have in common", flows_share_what_they_have_in_common},
    {"a round of a ring lasts as its closed form says",
     a_round_of_a_ring_lasts_as_its_closed_form_says},
};

static void start_engine(int *argc, char **argv) {
    simgrid_init(argc, argv);
    sg_cfg_set_string("network/model", "CM02");
    sg_cfg_set_boolean("network/crosstraffic", "no");
    sg_cfg_set_double("network/TCP-gamma", 0);
    sg_cfg_set_double("surf/precision", 1e-12);
    const char *factory = g_getenv("INFERGRID_CONTEXT_FACTORY");
    if (factory != NULL)
        sg_cfg_set_string("contexts/factory", factory);
}

/* In a child: runs all checks on one kind of network, numbering them from 'first'. */
static int run_checks(NetworkTopology topology, gsize first, int *argc, char **argv) {
    static const char *const names[] = {"star", "fat tree"};
    Platform platform = machine(topology);
    int failures = 0;

    start_engine(argc, argv);
    topology_build(&platform, DATA_TYPE_FP16);
    for (gsize i = 0; i < G_N_ELEMENTS(checks); i++) {
        gboolean good = checks[i].check(&platform);
        g_print("%s %" G_GSIZE_FORMAT " %s: %s\n", good ? "ok" : "not ok", first + i,
                names[topology], checks[i].name);
        failures += !good;
    }
    return failures > 0;
}

int main(int argc, char **argv) {
    int failed = 0;

    g_print("1..%" G_GSIZE_FORMAT "\n", 2 * G_N_ELEMENTS(checks));
    fflush(stdout);
    for (gsize i = 0; i < 2; i++) {
        pid_t child = fork();
        if (child == 0)
            exit(run_checks((NetworkTopology)i, 1 + i * G_N_ELEMENTS(checks), &argc, argv));

        int status = 1;
        waitpid(child, &status, 0);
        failed |= !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    }
    return failed;
}
