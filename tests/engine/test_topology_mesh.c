/* A mesh of cores in the engine: what messages take alone and together, full and folded, in cycles
 * of a second and of a nanosecond. One engine a process, so each mesh is built in a child. */
#include "actors/engine.h"
#include "platforms/topology_mesh.h"
#include <math.h>
#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define COLUMNS 7
#define ROWS 5
#define WAVELET_BYTES 4

typedef struct Core {
    guint x, y;
} Core;

typedef struct Flow {
    Core from, to;
    guint64 bytes;
    double wanted; /* cycles */
    double cycles; /* found */
} Flow;

/* A mesh whose links carry a wavelet in a cycle and are a cycle long. */
static TopologyMesh mesh_of(double cycle_s, gboolean folded) {
    return (TopologyMesh){.columns = COLUMNS,
                          .rows = ROWS,
                          .folded = folded,
                          .bytes_per_s = WAVELET_BYTES / cycle_s,
                          .hop_s = cycle_s};
}

static sg_host_t host_of(Core core) {
    return topology_mesh_host(core.x, core.y);
}

static void flow_main(int argc, char **argv) {
    Flow *flow = engine_actor_data();
    double start_s = engine_now();

    (void)argc, (void)argv;
    engine_transfer_wait(
        engine_transfer_begin(host_of(flow->from), host_of(flow->to), flow->bytes));
    flow->cycles = engine_now() - start_s; /* seconds still */
}

/* Starts all flows at one date and runs until the last has ended. */
static void run_flows(Flow *flows, gsize n, double cycle_s) {
    for (gsize i = 0; i < n; i++)
        engine_actor_start("flow", host_of(flows[i].from), flow_main, &flows[i]);
    simgrid_run();
    for (gsize i = 0; i < n; i++)
        flows[i].cycles /= cycle_s;
}

static void assert_wanted(const Flow *flow) {
    if (fabs(flow->cycles - flow->wanted) > 1e-9 * flow->wanted)
        g_error("%u,%u to %u,%u: %" G_GUINT64_FORMAT " bytes took %.12g cycles, not %.12g",
                flow->from.x, flow->from.y, flow->to.x, flow->to.y, flow->bytes, flow->cycles,
                flow->wanted);
}

static guint distance(guint a, guint b) {
    return a < b ? b - a : a - b;
}

/* Hops, then one cycle for each wavelet: cut-through. */
static double alone_cycles(const Flow *flow) {
    guint hops = distance(flow->from.x, flow->to.x) + distance(flow->from.y, flow->to.y);

    return hops + (double)flow->bytes / WAVELET_BYTES;
}

static Core random_core(GRand *random) {
    Core core = {(guint)g_rand_int_range(random, 0, COLUMNS),
                 (guint)g_rand_int_range(random, 0, ROWS)};
    return core;
}

static void lone_messages_take_hops_and_wavelets(double cycle_s) {
    g_autoptr(GRand) random = g_rand_new_with_seed(7);

    for (guint i = 0; i < 200; i++) {
        Flow flow = {.from = random_core(random), .to = random_core(random)};
        if (flow.from.x == flow.to.x && flow.from.y == flow.to.y)
            continue;
        flow.bytes = WAVELET_BYTES * (guint64)g_rand_int_range(random, 1, 20000);
        flow.wanted = alone_cycles(&flow);
        run_flows(&flow, 1, cycle_s);
        assert_wanted(&flow);
    }
}

/* 400 bytes are 100 cycles of a link. */
typedef struct SharingCase {
    const char *what;
    Flow flows[3];
    gsize n;
} SharingCase;

static const SharingCase sharing_cases[] = {
    {"opposite directions along X have a link each",
     {{.from = {1, 2}, .to = {4, 2}, .bytes = 400, .wanted = 103},
      {.from = {4, 2}, .to = {1, 2}, .bytes = 400, .wanted = 103}},
     2},
    {"opposite directions along Y have a link each",
     {{.from = {3, 0}, .to = {3, 4}, .bytes = 400, .wanted = 104},
      {.from = {3, 4}, .to = {3, 0}, .bytes = 400, .wanted = 104}},
     2},
    {"two messages over the same links share them",
     {{.from = {1, 2}, .to = {3, 2}, .bytes = 400, .wanted = 202},
      {.from = {1, 2}, .to = {3, 2}, .bytes = 400, .wanted = 202}},
     2},
    {"two messages that meet on one link share it",
     {{.from = {0, 1}, .to = {2, 1}, .bytes = 400, .wanted = 202},
      {.from = {1, 1}, .to = {3, 1}, .bytes = 400, .wanted = 202}},
     2},
    {"messages one behind the other share nothing",
     {{.from = {0, 1}, .to = {1, 1}, .bytes = 400, .wanted = 101},
      {.from = {1, 1}, .to = {2, 1}, .bytes = 400, .wanted = 101},
      {.from = {2, 1}, .to = {3, 1}, .bytes = 400, .wanted = 101}},
     3},
    /* Both turn at (4, 1) and go south together; if Y came first, they would part at once. */
    {"routes go along X first",
     {{.from = {2, 1}, .to = {4, 4}, .bytes = 400, .wanted = 205},
      {.from = {6, 1}, .to = {4, 4}, .bytes = 400, .wanted = 205}},
     2},
    /* They would share column 0 and row 4 if Y came first. */
    {"routes do not go along Y first",
     {{.from = {0, 1}, .to = {5, 4}, .bytes = 400, .wanted = 108},
      {.from = {0, 2}, .to = {6, 4}, .bytes = 400, .wanted = 108}},
     2},
    {"messages that cross at a core share nothing",
     {{.from = {0, 2}, .to = {6, 2}, .bytes = 400, .wanted = 106},
      {.from = {3, 0}, .to = {3, 4}, .bytes = 400, .wanted = 104}},
     2},
    {"rows are apart from each other",
     {{.from = {0, 0}, .to = {6, 0}, .bytes = 400, .wanted = 106},
      {.from = {0, 1}, .to = {6, 1}, .bytes = 400, .wanted = 106}},
     2},
    /* The link in common is busy from cycle 1 to cycle 201. The near message has two cycles of it
     * alone, then three quarters of it: shares go by the inverse of latency. */
    {"a near and a far message share by their distances",
     {{.from = {0, 2}, .to = {3, 2}, .bytes = 400, .wanted = 201},
      {.from = {2, 2}, .to = {3, 2}, .bytes = 400, .wanted = 3 + 98 / 0.75}},
     2},
};

static void messages_share_the_links_they_have_in_common(double cycle_s) {
    for (gsize i = 0; i < G_N_ELEMENTS(sharing_cases); i++) {
        SharingCase sharing = sharing_cases[i];

        g_test_message("%s", sharing.what);
        run_flows(sharing.flows, sharing.n, cycle_s);
        for (gsize flow = 0; flow < sharing.n; flow++)
            assert_wanted(&sharing.flows[flow]);
    }
}

static void a_full_mesh_has_every_core(double cycle_s) {
    TopologyMesh mesh = mesh_of(cycle_s, FALSE);

    topology_mesh_build(&mesh);
    g_assert_cmpuint(sg_host_count(), ==, COLUMNS * ROWS);
    for (guint y = 0; y < ROWS; y++)
        for (guint x = 0; x < COLUMNS; x++) {
            g_autofree char *name = g_strdup_printf("r%04uc%04u", y, x);
            g_assert_cmpstr(sg_host_get_name(topology_mesh_host(x, y)), ==, name);
        }
    lone_messages_take_hops_and_wavelets(cycle_s);
    messages_share_the_links_they_have_in_common(cycle_s);
}

/* On row 0, on column 0, and from the one around the corner into the other. */
static void a_folded_mesh_takes_as_long_as_a_full_one(double cycle_s) {
    static const Flow flows[] = {
        {.from = {0, 0}, .to = {6, 0}, .bytes = 400}, {.from = {5, 0}, .to = {1, 0}, .bytes = 40},
        {.from = {0, 1}, .to = {0, 4}, .bytes = 400}, {.from = {0, 4}, .to = {0, 0}, .bytes = 4},
        {.from = {6, 0}, .to = {0, 4}, .bytes = 80},
    };
    TopologyMesh mesh = mesh_of(cycle_s, TRUE);

    topology_mesh_build(&mesh);
    g_assert_cmpuint(sg_host_count(), ==, COLUMNS + ROWS - 1);
    for (gsize i = 0; i < G_N_ELEMENTS(flows); i++) {
        Flow flow = flows[i];
        flow.wanted = alone_cycles(&flow);
        run_flows(&flow, 1, cycle_s);
        assert_wanted(&flow);
    }
    Flow together[] = {{.from = {1, 0}, .to = {4, 0}, .bytes = 400, .wanted = 203},
                       {.from = {1, 0}, .to = {4, 0}, .bytes = 400, .wanted = 203},
                       {.from = {4, 0}, .to = {1, 0}, .bytes = 400, .wanted = 103}};
    run_flows(together, G_N_ELEMENTS(together), cycle_s);
    for (gsize i = 0; i < G_N_ELEMENTS(together); i++)
        assert_wanted(&together[i]);
}

static void a_folded_wafer_has_1743_cores(double cycle_s) {
    TopologyMesh mesh = {.columns = 750,
                         .rows = 994,
                         .folded = TRUE,
                         .bytes_per_s = WAVELET_BYTES / cycle_s,
                         .hop_s = cycle_s};
    Flow flow = {.from = {749, 0}, .to = {0, 993}, .bytes = 4000, .wanted = 749 + 993 + 1000};

    topology_mesh_build(&mesh);
    g_assert_cmpuint(sg_host_count(), ==, 1743);
    run_flows(&flow, 1, cycle_s);
    assert_wanted(&flow);
}

static void a_line_of_cores_is_a_mesh(double cycle_s) {
    TopologyMesh mesh = {.columns = 1, .rows = 9, .bytes_per_s = 4 / cycle_s, .hop_s = cycle_s};
    Flow flow = {.from = {0, 8}, .to = {0, 0}, .bytes = 40, .wanted = 18};

    topology_mesh_build(&mesh);
    run_flows(&flow, 1, cycle_s);
    assert_wanted(&flow);
}

/* Runs one check in a child with a fresh engine; what it refuses ends it. */
static void in_a_child(void (*check)(double cycle_s), double cycle_s) {
    int status = 1;
    pid_t child = fork();

    if (child == 0) {
        engine_init();
        check(cycle_s);
        exit(EXIT_SUCCESS);
    }
    waitpid(child, &status, 0);
    g_assert_cmpint(status, ==, 0);
}

static const struct {
    const char *path;
    void (*check)(double cycle_s);
} checks[] = {
    {"a-full-mesh-has-every-core-and-its-links", a_full_mesh_has_every_core},
    {"a-folded-mesh-takes-as-long-as-a-full-one", a_folded_mesh_takes_as_long_as_a_full_one},
    {"a-folded-wafer-has-1743-cores", a_folded_wafer_has_1743_cores},
    {"a-line-of-cores-is-a-mesh", a_line_of_cores_is_a_mesh},
};

/* In cycles of a second, and of the shipped wafer's clock. */
static void run_check(gconstpointer index) {
    in_a_child(checks[GPOINTER_TO_UINT(index)].check, 1.0);
    in_a_child(checks[GPOINTER_TO_UINT(index)].check, 1 / 1.1e9);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    for (guint i = 0; i < G_N_ELEMENTS(checks); i++) {
        g_autofree char *path = g_strconcat("/topology-mesh/", checks[i].path, NULL);
        g_test_add_data_func(path, GUINT_TO_POINTER(i), run_check);
    }
    return g_test_run();
}
