#include "platforms/platform.h"
#include <string.h>

#define MAX_CLUSTERS 1000000
#define MAX_COUNT 1e6
#define MAX_SECONDS 3600
#define MAX_RATE 1e18 /* bytes, cycles or multiply-accumulates a second */
#define MAX_BYTES 1e18
#define MAX_WATTS 1e9
#define MAX_SOFTMAX_CYCLES 1e6

#define COUNT(key_, type, member, help_)                                                           \
    {                                                                                              \
        .key = key_, .kind = YAML_FIELD_COUNT, .offset = offsetof(type, member), .min = 1,         \
        .max = MAX_COUNT, .help = help_                                                            \
    }
#define REAL(key_, type, member, dimension_, min_, max_, help_)                                    \
    {                                                                                              \
        .key = key_, .kind = YAML_FIELD_REAL, .offset = offsetof(type, member),                    \
        .dimension = dimension_, .min = min_, .max = max_, .help = help_                           \
    }
#define SECTION(key_, type, member, fields_, help_)                                                \
    {                                                                                              \
        .key = key_, .kind = YAML_FIELD_SECTION, .offset = offsetof(type, member),                 \
        .fields = fields_, .n_fields = G_N_ELEMENTS(fields_), .help = help_                        \
    }

static const char *const kinds[] = {[DEVICE_MT3000] = "mt3000"};
static const char *const topologies[] = {[NETWORK_STAR] = "star", [NETWORK_FAT_TREE] = "fat_tree"};

static const YamlField cluster_fields[] = {
    COUNT("dsps", ClusterSpec, dsps, "cores that share the work of a kernel"),
    REAL("clock", ClusterSpec, clock_hz, DIMENSION_HERTZ, YAML_ABOVE_ZERO, MAX_RATE, "of the DSPs"),
    COUNT("macs_per_cycle_fp32", ClusterSpec, macs_per_cycle_fp32,
          "multiply-accumulates a cycle and DSP in fp32"),
    COUNT("macs_per_cycle_fp16", ClusterSpec, macs_per_cycle_fp16, "the same in fp16 and bf16"),
    REAL("peak_fp32", ClusterSpec, peak_fp32_macs_per_s, DIMENSION_MACS_PER_S, YAML_ABOVE_ZERO,
         MAX_RATE, "of the cluster; must equal dsps x clock x macs_per_cycle_fp32"),
    REAL("peak_fp16", ClusterSpec, peak_fp16_macs_per_s, DIMENSION_MACS_PER_S, YAML_ABOVE_ZERO,
         MAX_RATE, "of the cluster; must equal dsps x clock x macs_per_cycle_fp16"),
    REAL("sm", ClusterSpec, sm_bytes, DIMENSION_BYTES, YAML_ABOVE_ZERO, MAX_BYTES,
         "scalar memory of a DSP"),
    REAL("am", ClusterSpec, am_bytes, DIMENSION_BYTES, YAML_ABOVE_ZERO, MAX_BYTES,
         "array memory of a DSP"),
    REAL("gsm", ClusterSpec, gsm_bytes, DIMENSION_BYTES, YAML_ABOVE_ZERO, MAX_BYTES,
         "memory shared by the cluster's DSPs"),
    REAL("ddr", ClusterSpec, ddr_bytes, DIMENSION_BYTES, YAML_ABOVE_ZERO, MAX_BYTES,
         "off-chip memory installed per cluster"),
    REAL("ddr_usable", ClusterSpec, ddr_usable_bytes, DIMENSION_BYTES, YAML_ABOVE_ZERO, MAX_BYTES,
         "of it, for weights, KV and overhead"),
    REAL("ddr_bandwidth", ClusterSpec, ddr_bytes_per_s, DIMENSION_BYTES_PER_S, YAML_ABOVE_ZERO,
         MAX_RATE, "off-chip bandwidth of the cluster"),
    REAL("gsm_bandwidth", ClusterSpec, gsm_bytes_per_s, DIMENSION_BYTES_PER_S, YAML_ABOVE_ZERO,
         MAX_RATE, "between GSM and the SM and AM of all DSPs together"),
    REAL("softmax_cycles_per_score", ClusterSpec, softmax_cycles_per_score, DIMENSION_NONE,
         YAML_ABOVE_ZERO, MAX_SOFTMAX_CYCLES, "cycles a DSP takes for one score of a row"),
    REAL("reference_bandwidth", ClusterSpec, reference_bytes_per_s, DIMENSION_BYTES_PER_S,
         YAML_ABOVE_ZERO, MAX_RATE, "at which unblocked FP32 kernels touch memory"),
};

static const YamlField hthreads_fields[] = {
    REAL("create_group", HthreadsSpec, create_group_s, DIMENSION_SECONDS, 0, MAX_SECONDS,
         "creating a thread group"),
    REAL("launch_group", HthreadsSpec, launch_group_s, DIMENSION_SECONDS, 0, MAX_SECONDS,
         "launching a kernel on it"),
};

static const YamlField link_fields[] = {
    REAL("bandwidth", LinkSpec, bytes_per_s, DIMENSION_BYTES_PER_S, YAML_ABOVE_ZERO, MAX_RATE,
         "each way"),
    REAL("latency", LinkSpec, latency_s, DIMENSION_SECONDS, 0, MAX_SECONDS, "of one pass"),
};

/* The last ones exist only in a fat tree. */
static const YamlField network_fields[] = {
    {.key = "topology",
     .kind = YAML_FIELD_ENUM,
     .offset = offsetof(NetworkSpec, topology),
     .names = YAML_ENUM_OF(topologies),
     .help = "how nodes are joined"},
    SECTION("local", NetworkSpec, local, link_fields,
            "of a cluster, to the other clusters of its processor"),
    SECTION("port", NetworkSpec, port, link_fields, "of a cluster, to all other processors (MPI)"),
    SECTION("nic", NetworkSpec, nic, link_fields, "of a node, shared by its clusters"),
    COUNT("nodes_per_leaf", NetworkSpec, nodes_per_leaf, "nodes under one leaf switch"),
    COUNT("uplinks", NetworkSpec, uplinks, "links from a leaf switch to the spine"),
    SECTION("uplink", NetworkSpec, uplink, link_fields, "each of them"),
};
static const char *const fat_tree_keys[] = {"nodes_per_leaf", "uplinks", "uplink"};

static const YamlField power_fields[] = {
    REAL("cluster_idle", PowerSpec, cluster_idle_watts, DIMENSION_WATTS, 0, MAX_WATTS,
         "of a cluster that waits"),
    REAL("cluster_busy", PowerSpec, cluster_busy_watts, DIMENSION_WATTS, 0, MAX_WATTS,
         "of a cluster while a step runs"),
    REAL("node", PowerSpec, node_watts, DIMENSION_WATTS, 0, MAX_WATTS,
         "of a node besides its clusters, always"),
};

/* The section as it is read and printed: every source has a place of its own, in the order of the
 * fields that they speak of. */
#define MAX_SOURCES 64
typedef struct PlatformSection {
    Platform platform;
    char *sources[MAX_SOURCES];
} PlatformSection;

enum { FIELD_NETWORK = 7, FIELD_SOURCES = 9 };

static const YamlField platform_fields[] = {
    {.key = "name",
     .kind = YAML_FIELD_STRING,
     .offset = offsetof(Platform, name),
     .help = "for people"},
    {.key = "kind",
     .kind = YAML_FIELD_ENUM,
     .offset = offsetof(Platform, kind),
     .names = YAML_ENUM_OF(kinds),
     .help = "cost model of the clusters"},
    COUNT("nodes", Platform, nodes, "of the machine"),
    COUNT("processors_per_node", Platform, processors_per_node, "sharing the node's NIC"),
    COUNT("clusters_per_processor", Platform, clusters_per_processor, "compute elements"),
    SECTION("cluster", Platform, cluster, cluster_fields, "one compute element"),
    SECTION("hthreads", Platform, hthreads, hthreads_fields, "costs of the threading library"),
    [FIELD_NETWORK] =
        SECTION("network", Platform, network, network_fields, "links between clusters"),
    SECTION("power", Platform, power, power_fields, "electrical"),
    [FIELD_SOURCES] = {.key = "sources",
                       .kind = YAML_FIELD_SECTION,
                       .offset = offsetof(PlatformSection, sources),
                       .fallback = "",
                       .help = "where each number is from, by dotted field name"},
};

/* The tables for one topology, with the sources' table that follows from the others. */
typedef struct Schema {
    YamlField fields[G_N_ELEMENTS(platform_fields)];
    GPtrArray *names; /* of the sources' fields */
    YamlField sources[MAX_SOURCES];
} Schema;

static void schema_add_sources(Schema *schema, const char *prefix, const YamlField *fields,
                               gsize n_fields) {
    for (gsize i = 0; i < n_fields; i++) {
        g_autofree char *name = g_strconcat(prefix, fields[i].key, NULL);

        if (fields[i].kind == YAML_FIELD_SECTION) {
            g_autofree char *inner = g_strconcat(name, ".", NULL);
            schema_add_sources(schema, inner, fields[i].fields, fields[i].n_fields);
            continue;
        }
        guint n = schema->names->len;
        g_assert(n < MAX_SOURCES);
        schema->sources[n] = (YamlField){.key = name,
                                         .kind = YAML_FIELD_STRING,
                                         .offset = n * sizeof(char *),
                                         .fallback = YAML_OPTIONAL,
                                         .help = "where this number is from"};
        g_ptr_array_add(schema->names, g_steal_pointer(&name));
    }
}

static Schema *schema_new(NetworkTopology topology) {
    Schema *schema = g_new0(Schema, 1);

    memcpy(schema->fields, platform_fields, sizeof platform_fields);
    if (topology == NETWORK_STAR)
        schema->fields[FIELD_NETWORK].n_fields -= G_N_ELEMENTS(fat_tree_keys);
    schema->names = g_ptr_array_new_with_free_func(g_free);
    schema_add_sources(schema, "", schema->fields, FIELD_SOURCES);
    schema->fields[FIELD_SOURCES].fields = schema->sources;
    schema->fields[FIELD_SOURCES].n_fields = schema->names->len;
    return schema;
}

static void schema_free(Schema *schema) {
    g_ptr_array_unref(schema->names);
    g_free(schema);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Schema, schema_free)

/* Which keys belong depends on the topology, so it is read ahead of the rest. A network without it
 * is read as a fat tree, and then fails for want of it. */
static gboolean read_topology(const YamlNode *section, NetworkTopology *topology, GError **error) {
    const YamlNode *network = yaml_get(section, "network");
    int value = NETWORK_FAT_TREE;

    *topology = NETWORK_FAT_TREE;
    if (network == NULL || network->type != YAML_MAPPING || yaml_get(network, "topology") == NULL)
        return TRUE;
    YamlEnum names = YAML_ENUM_OF(topologies);
    if (!yaml_read_enum(yaml_get(network, "topology"), names, &value, error))
        return FALSE;
    *topology = (NetworkTopology)value;
    if (*topology == NETWORK_FAT_TREE)
        return TRUE;

    for (gsize i = 0; i < G_N_ELEMENTS(fat_tree_keys); i++) {
        const YamlNode *extra = yaml_get(network, fat_tree_keys[i]);
        if (extra != NULL)
            return yaml_error(extra, INPUT_ERROR_CONFLICT, error,
                              "'%s' is for a fat_tree, but 'topology' is 'star'", fat_tree_keys[i]);
    }
    return TRUE;
}

/* The node to blame when several values do not go together: the first, unless another was given as
 * an option, which is then what made the trouble. 'keys' ends with NULL. */
static const YamlNode *blamed(const YamlNode *mapping, const char *const *keys) {
    for (gsize i = 0; keys[i] != NULL; i++) {
        const YamlNode *node = yaml_get(mapping, keys[i]);
        if (node->line == 0)
            return node;
    }
    return yaml_get(mapping, keys[0]);
}

typedef struct PeakRule {
    const char *keys[5]; /* the peak, then its factors */
    gsize peak, width;   /* offsets in ClusterSpec */
} PeakRule;

static gboolean check_peak(const YamlNode *node, const ClusterSpec *cluster, const PeakRule *rule,
                           GError **error) {
    double peak = G_STRUCT_MEMBER(double, cluster, rule->peak);
    guint64 width = G_STRUCT_MEMBER(guint64, cluster, rule->width);
    double product = (double)cluster->dsps * cluster->clock_hz * (double)width;

    if (ABS(peak - product) <= 1e-9 * product)
        return TRUE;

    g_autofree char *stated = units_format(peak, DIMENSION_MACS_PER_S);
    g_autofree char *clock = units_format(cluster->clock_hz, DIMENSION_HERTZ);
    g_autofree char *given = units_format(product, DIMENSION_MACS_PER_S);
    return yaml_error(blamed(node, rule->keys), INPUT_ERROR_CONFLICT, error,
                      "'%s' is %s but %" G_GUINT64_FORMAT " DSPs x %s x %" G_GUINT64_FORMAT
                      " MAC/cycle give %s",
                      rule->keys[0], stated, cluster->dsps, clock, width, given);
}

static gboolean check_peaks(const YamlNode *node, const ClusterSpec *cluster, GError **error) {
    static const PeakRule rules[] = {
        {{"peak_fp32", "dsps", "clock", "macs_per_cycle_fp32"},
         offsetof(ClusterSpec, peak_fp32_macs_per_s),
         offsetof(ClusterSpec, macs_per_cycle_fp32)},
        {{"peak_fp16", "dsps", "clock", "macs_per_cycle_fp16"},
         offsetof(ClusterSpec, peak_fp16_macs_per_s),
         offsetof(ClusterSpec, macs_per_cycle_fp16)},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(rules); i++)
        if (!check_peak(node, cluster, &rules[i], error))
            return FALSE;
    return TRUE;
}

static gboolean check_memory(const YamlNode *node, const ClusterSpec *cluster, GError **error) {
    static const char *const keys[] = {"ddr_usable", "ddr", NULL};

    if (cluster->ddr_usable_bytes <= cluster->ddr_bytes)
        return TRUE;
    g_autofree char *usable = units_format(cluster->ddr_usable_bytes, DIMENSION_BYTES);
    g_autofree char *installed = units_format(cluster->ddr_bytes, DIMENSION_BYTES);
    return yaml_error(blamed(node, keys), INPUT_ERROR_CONFLICT, error,
                      "'ddr_usable' is %s but only %s are installed ('ddr')", usable, installed);
}

static gboolean check_power(const YamlNode *node, const PowerSpec *power, GError **error) {
    static const char *const keys[] = {"cluster_busy", "cluster_idle", NULL};

    if (power->cluster_busy_watts >= power->cluster_idle_watts)
        return TRUE;
    g_autofree char *busy = units_format(power->cluster_busy_watts, DIMENSION_WATTS);
    g_autofree char *idle = units_format(power->cluster_idle_watts, DIMENSION_WATTS);
    return yaml_error(blamed(node, keys), INPUT_ERROR_CONFLICT, error,
                      "'cluster_busy' is %s, less than 'cluster_idle', which is %s", busy, idle);
}

static gboolean check_size(const YamlNode *section, const Platform *platform, GError **error) {
    static const char *const keys[] = {"nodes", "processors_per_node", "clusters_per_processor",
                                       NULL};
    guint64 clusters =
        platform->nodes * platform->processors_per_node * platform->clusters_per_processor;

    if (clusters <= MAX_CLUSTERS)
        return TRUE;
    return yaml_error(blamed(section, keys), INPUT_ERROR_VALUE, error,
                      "the platform has %" G_GUINT64_FORMAT " clusters, more than %u", clusters,
                      MAX_CLUSTERS);
}

static gboolean check_platform(const YamlNode *section, const Platform *platform, GError **error) {
    const YamlNode *cluster = yaml_get(section, "cluster");

    return check_size(section, platform, error) &&
           check_peaks(cluster, &platform->cluster, error) &&
           check_memory(cluster, &platform->cluster, error) &&
           check_power(yaml_get(section, "power"), &platform->power, error);
}

/* A platform of its own that takes the strings out of 'section'. */
static Platform *platform_take(PlatformSection *section, const Schema *schema) {
    Platform *platform = g_memdup2(&section->platform, sizeof *platform);

    platform->sources = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; i < schema->names->len; i++) {
        if (section->sources[i] == NULL)
            continue;
        g_ptr_array_add(platform->sources, g_strdup(g_ptr_array_index(schema->names, i)));
        g_ptr_array_add(platform->sources, section->sources[i]);
    }
    return platform;
}

Platform *platform_read(const YamlNode *section, GError **error) {
    NetworkTopology topology;
    PlatformSection read = {0};

    if (!yaml_expect(section, YAML_MAPPING, NULL, error) ||
        !read_topology(section, &topology, error))
        return NULL;

    g_autoptr(Schema) schema = schema_new(topology);
    if (!yaml_read_fields(section, schema->fields, G_N_ELEMENTS(schema->fields), &read, error) ||
        !check_platform(section, &read.platform, error)) {
        yaml_fields_clear(schema->fields, G_N_ELEMENTS(schema->fields), &read);
        return NULL;
    }
    return platform_take(&read, schema);
}

/* The text that 'platform' gives as the source of field 'name', or NULL. */
static char *source_of(const Platform *platform, const char *name) {
    for (guint i = 0; i < platform->sources->len; i += 2)
        if (g_str_equal(g_ptr_array_index(platform->sources, i), name))
            return g_ptr_array_index(platform->sources, i + 1);
    return NULL;
}

void platform_write(const Platform *platform, guint indent, GString *out) {
    g_autoptr(Schema) schema = schema_new(platform->network.topology);
    PlatformSection section = {.platform = *platform};
    gsize n_fields = platform->sources->len > 0 ? G_N_ELEMENTS(schema->fields) : FIELD_SOURCES;

    for (guint i = 0; i < schema->names->len; i++)
        section.sources[i] = source_of(platform, g_ptr_array_index(schema->names, i));
    yaml_write_fields(out, indent, schema->fields, n_fields, &section);
}
