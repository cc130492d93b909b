#include "platforms/platform.h"
#include "tests/unit/platform_fixture.h"
#include <string.h>

/* A small machine whose every line is known by number, for positions in messages. */
static const char *const machine_lines[] = {
    "name: toy",                                       /* 1 */
    "kind: mt3000",                                    /* 2 */
    "nodes: 3",                                        /* 3 */
    "processors_per_node: 2",                          /* 4 */
    "clusters_per_processor: 4",                       /* 5 */
    "cluster:",                                        /* 6 */
    "  dsps: 24",                                      /* 7 */
    "  clock: 1.8 GHz",                                /* 8 */
    "  macs_per_cycle_fp32: 96",                       /* 9 */
    "  macs_per_cycle_fp16: 192",                      /* 10 */
    "  peak_fp32: 4.1472 TMAC/s",                      /* 11 */
    "  peak_fp16: 8.2944 TMAC/s",                      /* 12 */
    "  sm: 64 KiB",                                    /* 13 */
    "  am: 768 KiB",                                   /* 14 */
    "  gsm: 6 MiB",                                    /* 15 */
    "  ddr: 32 GB",                                    /* 16 */
    "  ddr_usable: 20 GB",                             /* 17 */
    "  ddr_bandwidth: 30 GB/s",                        /* 18 */
    "  gsm_bandwidth: 140 GB/s",                       /* 19 */
    "  softmax_cycles_per_score: 2.5",                 /* 20 */
    "  reference_bandwidth: 2 GB/s",                   /* 21 */
    "hthreads:",                                       /* 22 */
    "  create_group: 10 us",                           /* 23 */
    "  launch_group: 84 us",                           /* 24 */
    "network:",                                        /* 25 */
    "  topology: fat_tree",                            /* 26 */
    "  local: {bandwidth: 5 GB/s, latency: 2 us}",     /* 27 */
    "  port: {bandwidth: 1 GB/s, latency: 5 us}",      /* 28 */
    "  nic: {bandwidth: 12.5 GB/s, latency: 500 ns}",  /* 29 */
    "  nodes_per_leaf: 2",                             /* 30 */
    "  uplinks: 4",                                    /* 31 */
    "  uplink: {bandwidth: 10 GB/s, latency: 100 ns}", /* 32 */
    "power:",                                          /* 33 */
    "  cluster_idle: 15 W",                            /* 34 */
    "  cluster_busy: 50 W",                            /* 35 */
    "  node: 100 W",                                   /* 36 */
    "sources:",                                        /* 37 */
    "  cluster.dsps: \"a data sheet: page 3\"",        /* 38 */
    "  network.uplink.latency: assumed",               /* 39 */
};

/* The machine with line 'number' (from 1) put in place of its own; "" leaves it out. */
static char *machine_with(guint number, const char *line) {
    return lines_with(machine_lines, G_N_ELEMENTS(machine_lines), number, line);
}

#define ASSERT_SAME_BYTES(a, b) g_assert_true(memcmp(&(a), &(b), sizeof(a)) == 0)

static void assert_same(const Platform *a, const Platform *b) {
    g_assert_cmpstr(a->name, ==, b->name);
    g_assert_cmpint(a->kind, ==, b->kind);
    g_assert_cmpuint(a->nodes, ==, b->nodes);
    g_assert_cmpuint(a->processors_per_node, ==, b->processors_per_node);
    g_assert_cmpuint(a->clusters_per_processor, ==, b->clusters_per_processor);
    ASSERT_SAME_BYTES(a->cluster, b->cluster);
    ASSERT_SAME_BYTES(a->hthreads, b->hthreads);
    g_assert_cmpint(a->network.topology, ==, b->network.topology);
    ASSERT_SAME_BYTES(a->network.local, b->network.local);
    ASSERT_SAME_BYTES(a->network.port, b->network.port);
    ASSERT_SAME_BYTES(a->network.nic, b->network.nic);
    g_assert_cmpuint(a->network.nodes_per_leaf, ==, b->network.nodes_per_leaf);
    g_assert_cmpuint(a->network.uplinks, ==, b->network.uplinks);
    ASSERT_SAME_BYTES(a->network.uplink, b->network.uplink);
    ASSERT_SAME_BYTES(a->network.all_reduce, b->network.all_reduce);
    ASSERT_SAME_BYTES(a->power, b->power);
    g_assert_cmpuint(a->sources->len, ==, b->sources->len);
    for (guint i = 0; i < a->sources->len; i++)
        g_assert_cmpstr(g_ptr_array_index(a->sources, i), ==, g_ptr_array_index(b->sources, i));
}

static void test_every_field_is_read_in_si(void) {
    g_autofree char *text = machine_with(0, NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(Platform) platform = read_text(text, &error);

    g_assert_no_error(error);
    g_assert_cmpstr(platform->name, ==, "toy");
    g_assert_cmpint(platform->kind, ==, DEVICE_MT3000);
    g_assert_cmpuint(platform->cluster.dsps, ==, 24);
    g_assert_cmpfloat(platform->cluster.clock_hz, ==, 1.8e9);
    g_assert_cmpfloat(platform->cluster.peak_fp16_macs_per_s, ==, 8.2944e12);
    g_assert_cmpfloat(platform->cluster.sm_bytes, ==, 65536);
    g_assert_cmpfloat(platform->cluster.am_bytes, ==, 768 * 1024);
    g_assert_cmpfloat(platform->cluster.gsm_bytes, ==, 6 * 1024 * 1024);
    g_assert_cmpfloat(platform->cluster.ddr_bytes, ==, 32e9);
    g_assert_cmpfloat(platform->cluster.ddr_usable_bytes, ==, 20e9);
    g_assert_cmpfloat(platform->cluster.ddr_bytes_per_s, ==, 30e9);
    g_assert_cmpfloat(platform->cluster.gsm_bytes_per_s, ==, 140e9);
    g_assert_cmpfloat(platform->cluster.softmax_cycles_per_score, ==, 2.5);
    g_assert_cmpfloat(platform->cluster.reference_bytes_per_s, ==, 2e9);
    g_assert_cmpfloat_with_epsilon(platform->hthreads.create_group_s, 10e-6, 1e-18);
    g_assert_cmpfloat_with_epsilon(platform->hthreads.launch_group_s, 84e-6, 1e-18);
    g_assert_cmpint(platform->network.topology, ==, NETWORK_FAT_TREE);
    g_assert_cmpfloat(platform->network.local.bytes_per_s, ==, 5e9);
    g_assert_cmpfloat_with_epsilon(platform->network.port.latency_s, 5e-6, 1e-18);
    g_assert_cmpfloat(platform->network.nic.bytes_per_s, ==, 12.5e9);
    g_assert_cmpuint(platform->network.nodes_per_leaf, ==, 2);
    g_assert_cmpuint(platform->network.uplinks, ==, 4);
    g_assert_cmpfloat(platform->network.uplink.bytes_per_s, ==, 10e9);
    g_assert_cmpfloat(platform->power.cluster_idle_watts, ==, 15);
    g_assert_cmpfloat(platform->power.node_watts, ==, 100);
    g_assert_cmpuint(platform->sources->len, ==, 4);
    g_assert_cmpstr(g_ptr_array_index(platform->sources, 1), ==, "a data sheet: page 3");
}

static void test_clusters_count_processors_and_nodes_in_order(void) {
    g_autofree char *text = machine_with(0, NULL);
    g_autoptr(Platform) platform = read_text(text, NULL);

    g_assert_cmpuint(platform_clusters(platform), ==, 24);
    for (guint cluster = 0; cluster < 24; cluster++) {
        g_assert_cmpuint(platform_processor_of(platform, cluster), ==, cluster / 4);
        g_assert_cmpuint(platform_node_of(platform, cluster), ==, cluster / 8);
    }
}

static void test_peak_follows_the_data_type(void) {
    g_autofree char *text = machine_with(0, NULL);
    g_autoptr(Platform) platform = read_text(text, NULL);

    g_assert_cmpfloat(platform_peak_macs(platform, DATA_TYPE_FP32), ==, 4.1472e12);
    g_assert_cmpfloat(platform_peak_macs(platform, DATA_TYPE_FP16), ==, 8.2944e12);
    g_assert_cmpfloat(platform_peak_macs(platform, DATA_TYPE_BF16), ==, 8.2944e12);
}

static void test_printed_platform_reads_back_the_same(void) {
    const char *const topologies[] = {"  topology: fat_tree", "  topology: star"};

    for (gsize i = 0; i < G_N_ELEMENTS(topologies); i++) {
        g_autoptr(GString) text = g_string_new(NULL);
        for (guint line = 1; line <= G_N_ELEMENTS(machine_lines); line++) {
            gboolean tree_only = (line >= 30 && line <= 32) || line == 39;
            if (i == 0 || !tree_only)
                g_string_append_printf(text, "%s\n",
                                       line == 26 ? topologies[i] : machine_lines[line - 1]);
        }
        g_autoptr(GError) error = NULL;
        g_autoptr(Platform) first = read_text(text->str, &error);
        g_assert_no_error(error);
        g_autoptr(GString) printed = g_string_new("platform:\n");
        platform_write(first, 2, printed);

        g_autoptr(YamlNode) root = yaml_load_text(printed->str, "printed", &error);
        g_assert_no_error(error);
        g_autoptr(Platform) second = platform_read(yaml_get(root, "platform"), &error);
        g_assert_no_error(error);
        assert_same(first, second);

        g_autoptr(GString) again = g_string_new("platform:\n");
        platform_write(second, 2, again);
        g_assert_cmpstr(again->str, ==, printed->str);
    }
}

static void test_what_all_reduces_reach_may_be_left_out(void) {
    g_autofree char *text = machine_with(29, "  nic: {bandwidth: 12.5 GB/s, latency: 500 ns}\n"
                                             "  all_reduce: {bandwidth: 0.25 GB/s}");
    g_autofree char *without = machine_with(0, NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(Platform) platform = read_text(text, &error);
    g_assert_no_error(error);
    g_autoptr(Platform) plain = read_text(without, &error);
    g_assert_cmpfloat(platform->network.all_reduce.bytes_per_s, ==, 0.25e9);
    g_assert_cmpfloat(platform->network.all_reduce.latency_s, ==, 0);
    g_assert_cmpfloat(plain->network.all_reduce.bytes_per_s, ==, 0);

    g_autoptr(GString) printed = g_string_new(NULL);
    platform_write(platform, 0, printed);
    g_autoptr(Platform) again = read_text(printed->str, &error);
    g_assert_no_error(error);
    assert_same(platform, again);
    g_string_truncate(printed, 0);
    platform_write(plain, 0, printed);
    g_assert_null(strstr(printed->str, "all_reduce"));
}

static void test_a_platform_without_sources_prints_a_valid_section(void) {
    g_autofree char *text = machine_with(0, NULL);
    *strstr(text, "sources:") = '\0';
    g_autoptr(GError) error = NULL;
    g_autoptr(Platform) first = read_text(text, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(first->sources->len, ==, 0);

    g_autoptr(GString) printed = g_string_new(NULL);
    platform_write(first, 0, printed);
    g_autoptr(Platform) second = read_text(printed->str, &error);
    g_assert_no_error(error);
    assert_same(first, second);
}

typedef struct {
    guint line;       /* replaced … */
    const char *text; /* … by this */
    const char *message;
} BadCase;

static const BadCase bad_cases[] = {
    {12, "  peak_fp16: 8.1 TMAC/s",
     "toy.yaml:12:14: 'peak_fp16' is 8.1 TMAC/s but 24 DSPs x 1.8 GHz x 192 MAC/cycle give "
     "8.2944 TMAC/s"},
    {9, "  macs_per_cycle_fp32: 48",
     "toy.yaml:11:14: 'peak_fp32' is 4.1472 TMAC/s but 24 DSPs x 1.8 GHz x 48 MAC/cycle give "
     "2.0736 TMAC/s"},
    {17, "  ddr_usable: 33 GB",
     "toy.yaml:17:15: 'ddr_usable' is 33 GB but only 32 GB are installed ('ddr')"},
    {35, "  cluster_busy: 10 W",
     "toy.yaml:35:17: 'cluster_busy' is 10 W, less than 'cluster_idle', which is 15 W"},
    {3, "nodes: 200000", "toy.yaml:3:8: the platform has 1600000 clusters, more than 1000000"},
    {26, "  topology: star",
     "toy.yaml:30:19: 'nodes_per_leaf' is for a fat_tree, but 'topology' is 'star'"},
};

static void test_values_that_do_not_go_together_are_refused_at_their_place(void) {
    for (gsize i = 0; i < G_N_ELEMENTS(bad_cases); i++) {
        g_autofree char *text = machine_with(bad_cases[i].line, bad_cases[i].text);
        g_autoptr(GError) error = NULL;
        g_autoptr(Platform) platform = read_text(text, &error);

        g_assert_null(platform);
        g_assert_nonnull(error);
        g_assert_cmpstr(error->message, ==, bad_cases[i].message);
        g_assert_true(error->domain == INPUT_ERROR);
    }
}

/* What the tables refuse: the place and the words that matter. */
static const struct {
    guint line;
    const char *text, *place, *part;
} refused[] = {
    {3, "nodes: 0", "toy.yaml:3:8: ", "nodes"},
    {7, "  dpss: 24", "toy.yaml:7:3: ", "did you mean 'dsps'?"},
    {2, "kind: mt300", "toy.yaml:2:7: ", "did you mean 'mt3000'?"},
    {18, "  ddr_bandwidth: 30", "toy.yaml:18:18: ", "30"},
    {18, "  ddr_bandwidth: 0 GB/s", "toy.yaml:18:18: ", "0 GB/s"},
    {19, "  gsm_bandwith: 140 GB/s", "toy.yaml:19:3: ", "did you mean 'gsm_bandwidth'?"},
    {19, "  gsm_bandwidth: 0 GB/s", "toy.yaml:19:18: ", "0 GB/s"},
    {27, "  local: {bandwidth: 5 GB/s, latency: -1 us}", "toy.yaml:27:39: ", "latency"},
    {28, "  port: {bandwidth: 0 GB/s, latency: 1 us}", "toy.yaml:28:21: ", "bandwidth"},
    {20, "  softmax_cycles_per_score: 0", "toy.yaml:20:29: ", "softmax_cycles_per_score"},
    {21, "  reference_bandwidth: 0 GB/s", "toy.yaml:21:24: ", "reference_bandwidth"},
    {31, "", "toy.yaml:", "uplinks"},
    {26, "", "toy.yaml:", "topology"},
    {38, "  cluster.dspss: x", "toy.yaml:38:3: ", "did you mean 'cluster.dsps'?"},
    {38, "  cluster: x", "toy.yaml:38:3: ", "'cluster'"},
};

static void test_the_tables_refuse_what_does_not_belong(void) {
    for (gsize i = 0; i < G_N_ELEMENTS(refused); i++) {
        g_autofree char *text = machine_with(refused[i].line, refused[i].text);
        g_autoptr(GError) error = NULL;
        g_autoptr(Platform) platform = read_text(text, &error);

        g_assert_null(platform);
        g_assert_nonnull(error);
        g_test_message("%s", error->message);
        g_assert_true(g_str_has_prefix(error->message, refused[i].place));
        g_assert_nonnull(strstr(error->message, refused[i].part));
    }
}

static void test_an_option_that_breaks_a_rule_is_blamed_itself(void) {
    g_autofree char *text = machine_with(0, NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(YamlNode) section = yaml_load_text(text, "toy.yaml", &error);
    g_assert_no_error(error);
    yaml_put(yaml_get(section, "cluster"), "clock",
             yaml_scalar_new("2 GHz", "--set platform.cluster.clock"));

    g_autoptr(Platform) platform = platform_read(section, &error);
    g_assert_null(platform);
    g_assert_cmpstr(error->message, ==,
                    "--set platform.cluster.clock: 'peak_fp32' is 4.1472 TMAC/s but 24 DSPs x "
                    "2 GHz x 96 MAC/cycle give 4608 GMAC/s");
}

static void test_shipped_mt3000_is_the_papers_machine(void) {
    g_autoptr(YamlNode) section = NULL;
    g_autoptr(Platform) platform = read_shipped("mt3000.yaml", &section);

    g_assert_cmpuint(platform_clusters(platform), ==, 32);
    /* THInfer section III.B.1 and fig. 11 print 4.05 and 8.10, in units of 2^10 x 10^9. */
    g_assert_cmpfloat(platform->cluster.peak_fp32_macs_per_s, ==, 4.05 * 1024e9);
    g_assert_cmpfloat(platform->cluster.peak_fp16_macs_per_s, ==, 8.10 * 1024e9);
}

static void test_shipped_mt3000_says_where_every_number_is_from(void) {
    g_autoptr(YamlNode) section = NULL;
    g_autoptr(Platform) platform = read_shipped("mt3000.yaml", &section);
    static const char *const marks[] = {"THInfer", "derived", "calibrated on", "assumed"};

    g_assert_cmpuint(assert_sourced(section, "", yaml_get(section, "sources")), ==, 31);
    for (guint i = 1; i < platform->sources->len; i += 2) {
        const char *text = g_ptr_array_index(platform->sources, i);
        gboolean marked = FALSE;
        for (gsize mark = 0; mark < G_N_ELEMENTS(marks); mark++)
            marked |= g_str_has_prefix(text, marks[mark]);
        g_assert_true(marked);
        if (g_str_has_prefix(text, "assumed, "))
            g_assert_nonnull(strstr(text, "plausible range"));
    }
}

static void test_the_documented_example_is_valid_and_its_keys_are_explained(void) {
    g_autoptr(Platform) platform = read_documented("## How to add a machine");

    g_assert_cmpuint(platform_clusters(platform), ==, 1024);
    g_assert_cmpint(platform->network.topology, ==, NETWORK_FAT_TREE);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/platform/every-field-is-read-in-si", test_every_field_is_read_in_si);
    g_test_add_func("/platform/clusters-count-processors-and-nodes-in-order",
                    test_clusters_count_processors_and_nodes_in_order);
    g_test_add_func("/platform/peak-follows-the-data-type", test_peak_follows_the_data_type);
    g_test_add_func("/platform/printed-platform-reads-back-the-same",
                    test_printed_platform_reads_back_the_same);
    g_test_add_func("/platform/what_all_reduces_reach_may_be_left_out",
                    test_what_all_reduces_reach_may_be_left_out);
    g_test_add_func("/platform/a-platform-without-sources-prints-a-valid-section",
                    test_a_platform_without_sources_prints_a_valid_section);
    g_test_add_func("/platform/values-that-do-not-go-together-are-refused-at-their-place",
                    test_values_that_do_not_go_together_are_refused_at_their_place);
    g_test_add_func("/platform/the-tables-refuse-what-does-not-belong",
                    test_the_tables_refuse_what_does_not_belong);
    g_test_add_func("/platform/an-option-that-breaks-a-rule-is-blamed-itself",
                    test_an_option_that_breaks_a_rule_is_blamed_itself);
    g_test_add_func("/platform/shipped-mt3000-is-the-papers-machine",
                    test_shipped_mt3000_is_the_papers_machine);
    g_test_add_func("/platform/shipped-mt3000-says-where-every-number-is-from",
                    test_shipped_mt3000_says_where_every_number_is_from);
    g_test_add_func("/platform/the-documented-example-is-valid-and-its-keys-are-explained",
                    test_the_documented_example_is_valid_and_its_keys_are_explained);
    return g_test_run();
}
