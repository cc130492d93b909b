/* Platforms of kind gpu: reading, refusing, printing, and what is shipped. */
#include "platforms/network.h"
#include "tests/unit/platform_fixture.h"
#include <string.h>

/* A small machine whose every line is known by number, for positions in messages. */
static const char *const gpu_lines[] = {
    "name: toy",                                        /* 1 */
    "kind: gpu",                                        /* 2 */
    "nodes: 2",                                         /* 3 */
    "gpus_per_node: 4",                                 /* 4 */
    "gpu:",                                             /* 5 */
    "  peak_fp16: 130 TFLOP/s",                         /* 6 */
    "  peak_fp32: 16 TFLOP/s",                          /* 7 */
    "  compute_share: 0.6",                             /* 8 */
    "  memory: 32 GB",                                  /* 9 */
    "  usable: 31 GB",                                  /* 10 */
    "  bandwidth: 1 TB/s",                              /* 11 */
    "  bandwidth_share: 0.8",                           /* 12 */
    "  launch: 5 us",                                   /* 13 */
    "network:",                                         /* 14 */
    "  peer: {bandwidth: 300 GB/s, latency: 1 us}",     /* 15 */
    "  port: {bandwidth: 25 GB/s, latency: 2 us}",      /* 16 */
    "  nic: {bandwidth: 100 GB/s, latency: 3 us}",      /* 17 */
    "  all_reduce: {bandwidth: 20 GB/s, latency: 0 s}", /* 18 */
    "host:",                                            /* 19 */
    "  memory: 200 GB",                                 /* 20 */
    "  link: 12 GB/s",                                  /* 21 */
    "  pageable: 6 GB/s",                               /* 22 */
    "  disk: 2 GB/s",                                   /* 23 */
    "power: {idle: 50 W, busy: 300 W, node: 400 W}",    /* 24 */
    "sources:",                                         /* 25 */
    "  gpu.launch: a guess",                            /* 26 */
    "  host.disk: a data sheet",                        /* 27 */
};

/* The machine with line 'number' (from 1) put in place of its own; "" leaves it out. */
static char *gpus_with(guint number, const char *line) {
    return lines_with(gpu_lines, G_N_ELEMENTS(gpu_lines), number, line);
}

static void test_every_field_is_read_in_si(void) {
    g_autofree char *text = gpus_with(0, NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(Platform) platform = read_text(text, &error);

    g_assert_no_error(error);
    const GpuSpec *gpu = &platform->gpu;
    g_assert_cmpint(platform->kind, ==, DEVICE_GPU);
    g_assert_cmpfloat(gpu->peak_fp16_flops_per_s, ==, 130e12);
    g_assert_cmpfloat(gpu->peak_fp32_flops_per_s, ==, 16e12);
    g_assert_cmpfloat(gpu->compute_share, ==, 0.6);
    g_assert_cmpfloat(gpu->memory_bytes, ==, 32e9);
    g_assert_cmpfloat(gpu->usable_bytes, ==, 31e9);
    g_assert_cmpfloat(gpu->bytes_per_s, ==, 1e12);
    g_assert_cmpfloat(gpu->bandwidth_share, ==, 0.8);
    g_assert_cmpfloat_with_epsilon(gpu->launch_s, 5e-6, 1e-18);
    g_assert_cmpfloat(platform->host.memory_bytes, ==, 200e9);
    g_assert_cmpfloat(platform->host.link_bytes_per_s, ==, 12e9);
    g_assert_cmpfloat(platform->host.pageable_bytes_per_s, ==, 6e9);
    g_assert_cmpfloat(platform->host.disk_bytes_per_s, ==, 2e9);
    g_assert_cmpfloat(platform->power.cluster_busy_watts, ==, 300);
    g_assert_cmpfloat(platform->power.node_watts, ==, 400);
    g_assert_cmpuint(platform->sources->len, ==, 4);
    g_assert_cmpstr(platform_elements_name(platform->kind, 2), ==, "GPUs");
    g_assert_cmpstr(platform_kind_name(platform->kind), ==, "gpu");
}

/* Peers talk over their own links, and nodes over ports and NICs. */
static void test_the_gpus_of_a_node_are_neighbours(void) {
    g_autofree char *text = gpus_with(0, NULL);
    g_autoptr(Platform) platform = read_text(text, NULL);

    g_assert_cmpuint(platform_clusters(platform), ==, 8);
    g_assert_cmpuint(platform_node_of(platform, 3), ==, 0);
    g_assert_cmpuint(platform_node_of(platform, 4), ==, 1);
    g_assert_cmpfloat(network_bandwidth(platform, 0, 3), ==, 300e9);
    g_assert_cmpfloat_with_epsilon(network_latency(platform, 0, 3), 2e-6, 1e-15);
    g_assert_cmpfloat(network_bandwidth(platform, 3, 4), ==, 25e9);
    g_assert_cmpfloat_with_epsilon(network_latency(platform, 3, 4), 10e-6, 1e-15);
    g_assert_cmpfloat(network_bandwidth(platform, 0, 0), ==, 1e12);
    g_assert_cmpfloat(platform->cluster.ddr_usable_bytes, ==, 31e9);
    g_assert_cmpfloat(platform_memory_bytes_per_s(platform), ==, 0.8e12);
}

/* A multiply-accumulate is two of a data sheet's operations. */
static void test_the_peak_is_half_of_the_operations(void) {
    g_autofree char *text = gpus_with(0, NULL);
    g_autoptr(Platform) platform = read_text(text, NULL);

    g_assert_cmpfloat(platform_peak_macs(platform, DATA_TYPE_FP16), ==, 65e12);
    g_assert_cmpfloat(platform_peak_macs(platform, DATA_TYPE_BF16), ==, 65e12);
    g_assert_cmpfloat(platform_peak_macs(platform, DATA_TYPE_FP32), ==, 8e12);
}

static void test_printed_gpus_read_back_the_same(void) {
    g_autofree char *text = gpus_with(0, NULL);
    g_autoptr(Platform) whole = read_text(text, NULL);
    assert_round_trip(whole);

    *strstr(text, "sources:") = '\0';
    memmove(strstr(text, "host:"), strstr(text, "power:"), strlen(strstr(text, "power:")) + 1);
    memmove(strstr(text, "  all_reduce"), strstr(text, "power:"),
            strlen(strstr(text, "power:")) + 1);
    g_autoptr(GError) error = NULL;
    g_autoptr(Platform) least = read_text(text, &error);
    g_assert_no_error(error);
    g_assert_cmpfloat(least->host.memory_bytes, ==, 0);
    g_assert_cmpfloat(least->network.all_reduce.bytes_per_s, ==, 0);
    assert_round_trip(least);
}

static const struct {
    guint line;       /* replaced … */
    const char *text; /* … by this */
    const char *message;
} bad_cases[] = {
    {10, "  usable: 33 GB",
     "toy.yaml:10:11: 'usable' is 33 GB but only 32 GB are installed ('memory')"},
    {24, "power: {idle: 50 W, busy: 40 W, node: 0 W}",
     "toy.yaml:24:27: 'busy' is 40 W, less than 'idle', which is 50 W"},
    {6, "  peak_fp16: 130 TMAC/s",
     "toy.yaml:6:14: expected a speed such as '8 TFLOP/s' for 'peak_fp16', not '130 TMAC/s'"},
    {6, "  peak_fp61: 130 TFLOP/s",
     "toy.yaml:6:3: unknown key 'peak_fp61' (did you mean 'peak_fp16'?)"},
    {8, "  compute_share: 1.2",
     "toy.yaml:8:18: 'compute_share' must be above 0 and at most 1, not 1.2"},
    {12, "  bandwidth_share: nan",
     "toy.yaml:12:20: expected a number for 'bandwidth_share', not 'nan'"},
    {4, "gpus_per_nod: 4",
     "toy.yaml:4:1: unknown key 'gpus_per_nod' (did you mean "
     "'gpus_per_node'?)"},
    {3, "nodes: 900000", "toy.yaml:3:8: the platform has 3600000 GPUs, more than 1000000"},
    {15, "  local: {bandwidth: 1 GB/s, latency: 1 us}", "toy.yaml:15:3: unknown key 'local'"},
    {18, "  all_reduce: {latency: 1 us}",
     "toy.yaml:18:15: missing key 'bandwidth' in 'all_reduce'"},
    {18, "  all_reduce: {bandwith: 20 GB/s}",
     "toy.yaml:18:16: unknown key 'bandwith' (did you mean 'bandwidth'?)"},
    {23, "  disc: 2 GB/s", "toy.yaml:23:3: unknown key 'disc' (did you mean 'disk'?)"},
    {21, "", "toy.yaml:20:3: missing key 'link' in 'host'"},
    {20, "  memory: -1 GB",
     "toy.yaml:20:11: 'memory' must be above 0 B and at most 1000 PB, not -1 GB"},
    {14, "cluster: {dsps: 24}\nnetwork:", "toy.yaml:14:1: unknown key 'cluster'"},
    {26, "  gpu.lunch: a guess",
     "toy.yaml:26:3: unknown key 'gpu.lunch' (did you mean 'gpu.launch'?)"},
};

static void test_what_makes_no_gpus_is_refused_at_its_place(void) {
    for (gsize i = 0; i < G_N_ELEMENTS(bad_cases); i++) {
        g_autofree char *text = gpus_with(bad_cases[i].line, bad_cases[i].text);
        g_autoptr(GError) error = NULL;
        g_autoptr(Platform) platform = read_text(text, &error);

        g_assert_null(platform);
        g_assert_nonnull(error);
        g_assert_cmpstr(error->message, ==, bad_cases[i].message);
        g_assert_true(error->domain == INPUT_ERROR);
    }
}

static const struct {
    const char *file;
    guint gpus, numbers;
    double fp16_macs_per_s;
} shipped[] = {
    {"v100s.yaml", 2, 23, 65e12}, {"a800.yaml", 1, 23, 156e12}, {"a100.yaml", 16, 25, 156e12}};

static void assert_marked(const char *text) {
    static const char *const marks[] = {"THInfer",   "WaferLLM",       "data sheet",
                                        "derived: ", "calibrated on ", "assumed, "};
    gboolean marked = FALSE;

    for (gsize mark = 0; mark < G_N_ELEMENTS(marks); mark++)
        marked |= g_str_has_prefix(text, marks[mark]);
    if (!marked)
        g_error("no source: %s", text);
    if (strstr(text, "assumed") != NULL || strstr(text, "calibrated on") != NULL)
        g_assert_nonnull(strstr(text, "plausible range"));
}

static void test_shipped_gpus_are_the_announced_ones_and_sourced(void) {
    for (gsize i = 0; i < G_N_ELEMENTS(shipped); i++) {
        g_autoptr(YamlNode) section = NULL;
        g_autoptr(Platform) platform = read_shipped(shipped[i].file, &section);

        g_assert_cmpuint(platform_clusters(platform), ==, shipped[i].gpus);
        g_assert_cmpfloat(platform_peak_macs(platform, DATA_TYPE_FP16), ==,
                          shipped[i].fp16_macs_per_s);
        g_assert_cmpuint(assert_sourced(section, "", yaml_get(section, "sources")), ==,
                         shipped[i].numbers);
        for (guint source = 1; source < platform->sources->len; source += 2)
            assert_marked(g_ptr_array_index(platform->sources, source));
        assert_round_trip(platform);
    }
}

static void test_the_documented_example_is_valid_and_its_keys_are_explained(void) {
    g_autoptr(Platform) platform = read_documented("## GPUs");

    g_assert_cmpint(platform->kind, ==, DEVICE_GPU);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/platform-gpu/every-field-is-read-in-si", test_every_field_is_read_in_si);
    g_test_add_func("/platform-gpu/the-gpus-of-a-node-are-neighbours",
                    test_the_gpus_of_a_node_are_neighbours);
    g_test_add_func("/platform-gpu/the-peak-is-half-of-the-operations",
                    test_the_peak_is_half_of_the_operations);
    g_test_add_func("/platform-gpu/printed-gpus-read-back-the-same",
                    test_printed_gpus_read_back_the_same);
    g_test_add_func("/platform-gpu/what-makes-no-gpus-is-refused-at-its-place",
                    test_what_makes_no_gpus_is_refused_at_its_place);
    g_test_add_func("/platform-gpu/shipped-gpus-are-the-announced-ones-and-sourced",
                    test_shipped_gpus_are_the_announced_ones_and_sourced);
    g_test_add_func("/platform-gpu/the-documented-example-is-valid-and-its-keys-are-explained",
                    test_the_documented_example_is_valid_and_its_keys_are_explained);
    return g_test_run();
}
