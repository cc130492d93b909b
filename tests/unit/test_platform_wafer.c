/* Platforms of kind wafer: reading, refusing, printing, and what is shipped. */
#include "platforms/mesh_cycles.h"
#include "tests/unit/platform_fixture.h"
#include <string.h>

/* A small machine whose every line is known by number, for positions in messages. */
static const char *const wafer_lines[] = {
    "name: toy",                                   /* 1 */
    "kind: wafer",                                 /* 2 */
    "wafers: 2",                                   /* 3 */
    "mesh:",                                       /* 4 */
    "  columns: 12",                               /* 5 */
    "  rows: 10",                                  /* 6 */
    "  clock: 1.1 GHz",                            /* 7 */
    "  sram: 48 KiB",                              /* 8 */
    "  usable: 44976 B",                           /* 9 */
    "  wavelet: 4 B",                              /* 10 */
    "  hop_cycles: 1",                             /* 11 */
    "  relay_cycles: 16.1",                        /* 12 */
    "  ramp_cycles: 2",                            /* 13 */
    "  issue_cycles: 6",                           /* 14 */
    "  fp16: {lanes: 8, cycles: 2}",               /* 15 */
    "  fp32: {lanes: 1, cycles: 1.5}",             /* 16 */
    "  routing_paths: 24",                         /* 17 */
    "  step_cycles: 335",                          /* 18 */
    "  layer_cycles: 2328",                        /* 19 */
    "port: {bandwidth: 150 GB/s, latency: 10 us}", /* 20 */
    "power:",                                      /* 21 */
    "  idle: 7 kW",                                /* 22 */
    "  busy: 15 kW",                               /* 23 */
    "sources:",                                    /* 24 */
    "  mesh.wavelet: a data sheet",                /* 25 */
    "  power.busy: assumed",                       /* 26 */
};

/* The machine with line 'number' (from 1) put in place of its own; "" leaves it out. */
static char *wafer_with(guint number, const char *line) {
    return lines_with(wafer_lines, G_N_ELEMENTS(wafer_lines), number, line);
}

static void test_every_field_is_read_in_si(void) {
    g_autofree char *text = wafer_with(0, NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(Platform) platform = read_text(text, &error);

    g_assert_no_error(error);
    const MeshSpec *mesh = &platform->mesh;
    g_assert_cmpint(platform->kind, ==, DEVICE_WAFER);
    g_assert_cmpuint(mesh->columns, ==, 12);
    g_assert_cmpuint(mesh->rows, ==, 10);
    g_assert_cmpfloat(mesh->clock_hz, ==, 1.1e9);
    g_assert_cmpfloat(mesh->sram_bytes, ==, 49152);
    g_assert_cmpfloat(mesh->usable_bytes, ==, 44976);
    g_assert_cmpuint(mesh->wavelet_bytes, ==, 4);
    g_assert_cmpfloat(mesh->hop_cycles, ==, 1);
    g_assert_cmpfloat(mesh->relay_cycles, ==, 16.1);
    g_assert_cmpfloat(mesh->ramp_cycles, ==, 2);
    g_assert_cmpfloat(mesh->issue_cycles, ==, 6);
    g_assert_cmpuint(mesh->fp16.lanes, ==, 8);
    g_assert_cmpfloat(mesh->fp16.cycles, ==, 2);
    g_assert_cmpuint(mesh->fp32.lanes, ==, 1);
    g_assert_cmpfloat(mesh->fp32.cycles, ==, 1.5);
    g_assert_cmpuint(mesh->routing_paths, ==, 24);
    g_assert_cmpfloat(mesh->step_cycles, ==, 335);
    g_assert_cmpfloat(mesh->layer_cycles, ==, 2328);
    g_assert_cmpfloat(platform->power.cluster_idle_watts, ==, 7000);
    g_assert_cmpfloat(platform->power.cluster_busy_watts, ==, 15000);
    g_assert_cmpfloat(platform->power.node_watts, ==, 0);
    g_assert_cmpuint(platform->sources->len, ==, 4);
}

static void test_a_wafer_is_a_node_with_one_compute_element(void) {
    g_autofree char *text = wafer_with(0, NULL);
    g_autoptr(Platform) platform = read_text(text, NULL);
    static const ClusterSpec no_cluster;
    const NetworkSpec *network = &platform->network;

    g_assert_cmpuint(platform_clusters(platform), ==, 2);
    g_assert_cmpuint(platform_node_of(platform, 1), ==, 1);
    g_assert_true(memcmp(&platform->cluster, &no_cluster, sizeof no_cluster) == 0);
    g_assert_cmpint(network->topology, ==, NETWORK_STAR);
    g_assert_cmpfloat(network->port.bytes_per_s, ==, 150e9);
    g_assert_cmpfloat(network->local.bytes_per_s, ==, 150e9);
    g_assert_cmpfloat(network->nic.bytes_per_s, ==, 150e9);
    /* Out of one wafer and into another: the port's latency twice, and no other. */
    g_assert_cmpfloat(network->port.latency_s + network->nic.latency_s, ==, 10e-6);
}

static void test_the_peak_is_that_of_all_cores(void) {
    g_autofree char *text = wafer_with(0, NULL);
    g_autoptr(Platform) platform = read_text(text, NULL);

    g_assert_cmpfloat(platform_peak_macs(platform, DATA_TYPE_FP16), ==, 120 * 1.1e9 * 4);
    g_assert_cmpfloat(platform_peak_macs(platform, DATA_TYPE_BF16), ==, 120 * 1.1e9 * 4);
    g_assert_cmpfloat_with_epsilon(platform_peak_macs(platform, DATA_TYPE_FP32), 120 * 1.1e9 / 1.5,
                                   1);
}

static void test_printed_wafers_read_back_the_same(void) {
    g_autofree char *text = wafer_with(0, NULL);
    g_autoptr(Platform) with_sources = read_text(text, NULL);
    *strstr(text, "sources:") = '\0';
    g_autoptr(Platform) without_sources = read_text(text, NULL);

    g_assert_cmpuint(with_sources->sources->len, ==, 4);
    assert_round_trip(with_sources);
    g_assert_cmpuint(without_sources->sources->len, ==, 0);
    assert_round_trip(without_sources);
}

static const struct {
    guint line;       /* replaced … */
    const char *text; /* … by this */
    const char *message;
} bad_cases[] = {
    {9, "  usable: 49153 B",
     "toy.yaml:9:11: 'usable' is 49153 B but a core has only 48 KiB ('sram')"},
    {23, "  busy: 6 kW", "toy.yaml:23:9: 'busy' is 6 kW, less than 'idle', which is 7 kW"},
    {5, "  columns: 400001", "toy.yaml:5:12: the mesh has 4000010 cores, more than 4000000"},
    {5, "  columns: 0", "toy.yaml:5:12: 'columns' must lie between 1 and 1000000, not 0"},
    {10, "  wavelet: 4.5 B",
     "toy.yaml:10:12: 'wavelet' must be a whole number of bytes, not '4.5 B'"},
    {11, "  hop_cycles: 0",
     "toy.yaml:11:15: 'hop_cycles' must be above 0 and at most 1000000, not 0"},
    {15, "  fp16: {lanes: 0, cycles: 2}",
     "toy.yaml:15:17: 'lanes' must lie between 1 and 1000000, not 0"},
    {17, "  routing_paths: 0",
     "toy.yaml:17:18: 'routing_paths' must lie between 1 and 1000000, not 0"},
    {3, "wafer: 2", "toy.yaml:3:1: unknown key 'wafer' (did you mean 'wafers'?)"},
    {3, "nodes: 2", "toy.yaml:3:1: unknown key 'nodes'"},
    {21, "cluster: {dsps: 24}\npower:", "toy.yaml:21:1: unknown key 'cluster'"},
    {12, "  relay_cycle: 16.1",
     "toy.yaml:12:3: unknown key 'relay_cycle' (did you mean 'relay_cycles'?)"},
    {22, "  cluster_idle: 7 kW", "toy.yaml:22:3: unknown key 'cluster_idle'"},
    {25, "  mesh.wavelets: x",
     "toy.yaml:25:3: unknown key 'mesh.wavelets' (did you mean 'mesh.wavelet'?)"},
    {2, "kind: waffer",
     "toy.yaml:2:7: unknown kind 'waffer' (did you mean 'wafer'?); expected 'mt3000', 'wafer' or "
     "'gpu'"},
    {2, "", "toy.yaml:1:1: missing key 'kind'"},
    {17, "", "toy.yaml:5:3: missing key 'routing_paths' in 'mesh'"},
    {20, "", "toy.yaml:1:1: missing key 'port'"},
};

static void test_what_makes_no_wafer_is_refused_at_its_place(void) {
    for (gsize i = 0; i < G_N_ELEMENTS(bad_cases); i++) {
        g_autofree char *text = wafer_with(bad_cases[i].line, bad_cases[i].text);
        g_autoptr(GError) error = NULL;
        g_autoptr(Platform) platform = read_text(text, &error);

        g_assert_null(platform);
        g_assert_nonnull(error);
        g_assert_cmpstr(error->message, ==, bad_cases[i].message);
        g_assert_true(error->domain == INPUT_ERROR);
    }
}

static void test_an_option_that_breaks_a_rule_is_blamed_itself(void) {
    g_autofree char *text = wafer_with(0, NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(YamlNode) section = yaml_load_text(text, "toy.yaml", &error);
    g_assert_no_error(error);
    yaml_put(yaml_get(section, "mesh"), "sram",
             yaml_scalar_new("32 KiB", "--set platform.mesh.sram"));

    g_autoptr(Platform) platform = platform_read(section, &error);
    g_assert_null(platform);
    g_assert_cmpstr(error->message, ==,
                    "--set platform.mesh.sram: 'usable' is 44976 B but a core has only 32 KiB "
                    "('sram')");
}

/* What is shipped, and the peak that its numbers give together. */
static const struct {
    const char *file;
    guint64 cores;
    double fp16_macs_per_s;
} shipped[] = {
    {"wse2.yaml", 750 * 994, 745500 * 4.4e9},
    {"wse3.yaml", 755 * 1170, 883350 * 1.1e9 * 2.92},
    {"blackhole.yaml", 130, 186e12 * 130 / 140}, /* half of 372 TFLOPS; announced to three digits */
};

static void test_shipped_wafers_are_the_announced_machines(void) {
    for (gsize i = 0; i < G_N_ELEMENTS(shipped); i++) {
        g_autoptr(YamlNode) section = NULL;
        g_autoptr(Platform) platform = read_shipped(shipped[i].file, &section);
        double wanted = shipped[i].fp16_macs_per_s;

        g_assert_cmpuint(platform->mesh.columns * platform->mesh.rows, ==, shipped[i].cores);
        g_assert_cmpfloat_with_epsilon(platform_peak_macs(platform, DATA_TYPE_FP16), wanted,
                                       0.05 * wanted);
        assert_round_trip(platform);
    }
}

static void assert_marked(const char *text) {
    static const char *const marks[] = {"WaferLLM", "HPDC 2024",     "ISA docs",
                                        "tt-metal", "Tenstorrent's", "measured",
                                        "derived",  "calibrated on", "assumed, "};
    gboolean marked = FALSE;

    for (gsize mark = 0; mark < G_N_ELEMENTS(marks); mark++)
        marked |= g_str_has_prefix(text, marks[mark]);
    if (!marked)
        g_error("no source: %s", text);
    if (strstr(text, "assumed") != NULL)
        g_assert_nonnull(strstr(text, "plausible range"));
}

static void test_shipped_wafers_say_where_every_number_is_from(void) {
    for (gsize i = 0; i < G_N_ELEMENTS(shipped); i++) {
        g_autoptr(YamlNode) section = NULL;
        g_autoptr(Platform) platform = read_shipped(shipped[i].file, &section);

        g_assert_cmpuint(assert_sourced(section, "", yaml_get(section, "sources")), ==, 22);
        for (guint source = 1; source < platform->sources->len; source += 2)
            assert_marked(g_ptr_array_index(platform->sources, source));
    }
}

static void test_the_documented_example_is_valid_and_its_keys_are_explained(void) {
    g_autoptr(Platform) platform = read_documented("## Wafers");

    g_assert_cmpfloat(platform->mesh.clock_hz, ==, 850e6);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/platform-wafer/every-field-is-read-in-si", test_every_field_is_read_in_si);
    g_test_add_func("/platform-wafer/a-wafer-is-a-node-with-one-compute-element",
                    test_a_wafer_is_a_node_with_one_compute_element);
    g_test_add_func("/platform-wafer/the-peak-is-that-of-all-cores",
                    test_the_peak_is_that_of_all_cores);
    g_test_add_func("/platform-wafer/printed-wafers-read-back-the-same",
                    test_printed_wafers_read_back_the_same);
    g_test_add_func("/platform-wafer/what-makes-no-wafer-is-refused-at-its-place",
                    test_what_makes_no_wafer_is_refused_at_its_place);
    g_test_add_func("/platform-wafer/an-option-that-breaks-a-rule-is-blamed-itself",
                    test_an_option_that_breaks_a_rule_is_blamed_itself);
    g_test_add_func("/platform-wafer/shipped-wafers-are-the-announced-machines",
                    test_shipped_wafers_are_the_announced_machines);
    g_test_add_func("/platform-wafer/shipped-wafers-say-where-every-number-is-from",
                    test_shipped_wafers_say_where_every_number_is_from);
    g_test_add_func("/platform-wafer/the-documented-example-is-valid-and-its-keys-are-explained",
                    test_the_documented_example_is_valid_and_its_keys_are_explained);
    return g_test_run();
}
