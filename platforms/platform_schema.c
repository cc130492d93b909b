#include "platforms/platform_schema.h"
#include <string.h>

#define MAX_COUNT 1e6
#define MAX_SECONDS 3600
#define MAX_RATE 1e18 /* bytes, cycles or multiply-accumulates a second */
#define MAX_BYTES 1e18
#define MAX_CORE_BYTES (G_MAXUINT32 + 1.0)
#define MAX_WATTS 1e9
#define MAX_CYCLES 1e6

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

static const char *const kind_names[] = {
    [DEVICE_MT3000] = "mt3000", [DEVICE_WAFER] = "wafer", [DEVICE_GPU] = "gpu"};
static const char *const topology_names[] = {
    [NETWORK_STAR] = "star", [NETWORK_FAT_TREE] = "fat_tree"};
const YamlEnum platform_kinds = YAML_ENUM_OF(kind_names);
const YamlEnum platform_topologies = YAML_ENUM_OF(topology_names);

const char *platform_kind_name(DeviceKind kind) {
    return kind_names[kind];
}

const char *const platform_fat_tree_keys[] = {"nodes_per_leaf", "uplinks", "uplink", NULL};

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
         YAML_ABOVE_ZERO, MAX_CYCLES, "cycles a DSP takes for one score of a row"),
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

static const YamlField all_reduce_fields[] = {
    REAL("bandwidth", LinkSpec, bytes_per_s, DIMENSION_BYTES_PER_S, YAML_ABOVE_ZERO, MAX_RATE,
         "that a rank sends at in all-reduces, at most"),
    {.key = "latency",
     .kind = YAML_FIELD_REAL,
     .offset = offsetof(LinkSpec, latency_s),
     .dimension = DIMENSION_SECONDS,
     .max = MAX_SECONDS,
     .fallback = "0 us",
     .help = "of an all-reduce, besides its messages"},
};

#define ALL_REDUCE_FIELD                                                                           \
    {                                                                                              \
        .key = "all_reduce", .kind = YAML_FIELD_SECTION,                                           \
        .offset = offsetof(NetworkSpec, all_reduce), .fallback = YAML_OPTIONAL,                    \
        .fields = all_reduce_fields, .n_fields = G_N_ELEMENTS(all_reduce_fields),                  \
        .help = "what all-reduces reach, where that is less than the links give"                   \
    }

/* What a fat tree has too comes last. */
#define STAR_FIELDS                                                                                \
    {.key = "topology",                                                                            \
     .kind = YAML_FIELD_ENUM,                                                                      \
     .offset = offsetof(NetworkSpec, topology),                                                    \
     .names = YAML_ENUM_OF(topology_names),                                                        \
     .help = "how nodes are joined"},                                                              \
        SECTION("local", NetworkSpec, local, link_fields,                                          \
                "of a cluster, to the other clusters of its processor"),                           \
        SECTION("port", NetworkSpec, port, link_fields,                                            \
                "of a cluster, to all other processors (MPI)"),                                    \
        SECTION("nic", NetworkSpec, nic, link_fields, "of a node, shared by its clusters"),        \
        ALL_REDUCE_FIELD

static const YamlField star_fields[] = {STAR_FIELDS};
static const YamlField fat_tree_fields[] = {
    STAR_FIELDS,
    COUNT("nodes_per_leaf", NetworkSpec, nodes_per_leaf, "nodes under one leaf switch"),
    COUNT("uplinks", NetworkSpec, uplinks, "links from a leaf switch to the spine"),
    SECTION("uplink", NetworkSpec, uplink, link_fields, "each of them"),
};

static const YamlField host_fields[] = {
    REAL("memory", HostSpec, memory_bytes, DIMENSION_BYTES, YAML_ABOVE_ZERO, MAX_BYTES,
         "of a node's host"),
    REAL("link", HostSpec, link_bytes_per_s, DIMENSION_BYTES_PER_S, YAML_ABOVE_ZERO, MAX_RATE,
         "from its pinned memory to one device"),
    REAL("pageable", HostSpec, pageable_bytes_per_s, DIMENSION_BYTES_PER_S, YAML_ABOVE_ZERO,
         MAX_RATE, "from its pageable memory to one device"),
    REAL("disk", HostSpec, disk_bytes_per_s, DIMENSION_BYTES_PER_S, YAML_ABOVE_ZERO, MAX_RATE,
         "of a node's disks, shared by its devices"),
};

#define HOST_FIELD                                                                                 \
    {                                                                                              \
        .key = "host", .kind = YAML_FIELD_SECTION, .offset = offsetof(Platform, host),             \
        .fallback = YAML_OPTIONAL, .fields = host_fields, .n_fields = G_N_ELEMENTS(host_fields),   \
        .help = "a node below its devices' memories"                                               \
    }

static const YamlField power_fields[] = {
    REAL("cluster_idle", PowerSpec, cluster_idle_watts, DIMENSION_WATTS, 0, MAX_WATTS,
         "of a cluster that waits"),
    REAL("cluster_busy", PowerSpec, cluster_busy_watts, DIMENSION_WATTS, 0, MAX_WATTS,
         "of a cluster while a step runs"),
    REAL("node", PowerSpec, node_watts, DIMENSION_WATTS, 0, MAX_WATTS,
         "of a node besides its clusters, always"),
};

#define NAME_FIELD                                                                                 \
    {                                                                                              \
        .key = "name", .kind = YAML_FIELD_STRING, .offset = offsetof(Platform, name),              \
        .help = "for people"                                                                       \
    }
#define KIND_FIELD                                                                                 \
    {                                                                                              \
        .key = "kind", .kind = YAML_FIELD_ENUM, .offset = offsetof(Platform, kind),                \
        .names = YAML_ENUM_OF(kind_names), .help = "cost model of the compute elements"            \
    }
#define SOURCES_FIELD                                                                              \
    {                                                                                              \
        .key = "sources", .kind = YAML_FIELD_SECTION,                                              \
        .offset = offsetof(PlatformSection, sources), .fallback = "",                              \
        .help = "where each number is from, by dotted field name"                                  \
    }

#define CLUSTERS_FIELDS(network_fields)                                                            \
    NAME_FIELD, KIND_FIELD, COUNT("nodes", Platform, nodes, "of the machine"),                     \
        COUNT("processors_per_node", Platform, processors_per_node, "sharing the node's NIC"),     \
        COUNT("clusters_per_processor", Platform, clusters_per_processor, "compute elements"),     \
        SECTION("cluster", Platform, cluster, cluster_fields, "one compute element"),              \
        SECTION("hthreads", Platform, hthreads, hthreads_fields,                                   \
                "costs of the threading library"),                                                 \
        SECTION("network", Platform, network, network_fields, "links between clusters"),           \
        HOST_FIELD, SECTION("power", Platform, power, power_fields, "electrical"), SOURCES_FIELD

static const YamlField clusters_in_star[] = {CLUSTERS_FIELDS(star_fields)};
static const YamlField clusters_in_fat_tree[] = {CLUSTERS_FIELDS(fat_tree_fields)};

static const YamlField vector_fields[] = {
    COUNT("lanes", VectorSpec, lanes, "elements at once"),
    REAL("cycles", VectorSpec, cycles, DIMENSION_NONE, YAML_ABOVE_ZERO, MAX_CYCLES,
         "of each round of lanes"),
};

/* The section of the mesh begins where the whole does: a wavelet is not in MeshSpec as it is read.
 */
#define MESH_CYCLES(key, member, min, help)                                                        \
    REAL(key, PlatformSection, platform.mesh.member, DIMENSION_NONE, min, MAX_CYCLES, help)

static const YamlField mesh_fields[] = {
    COUNT("columns", PlatformSection, platform.mesh.columns, "of cores, in the usable rectangle"),
    COUNT("rows", PlatformSection, platform.mesh.rows, "of cores"),
    REAL("clock", PlatformSection, platform.mesh.clock_hz, DIMENSION_HERTZ, YAML_ABOVE_ZERO,
         MAX_RATE, "of the cores and of their links"),
    REAL("sram", PlatformSection, platform.mesh.sram_bytes, DIMENSION_BYTES, YAML_ABOVE_ZERO,
         MAX_CORE_BYTES, "memory of a core"),
    REAL("usable", PlatformSection, platform.mesh.usable_bytes, DIMENSION_BYTES, YAML_ABOVE_ZERO,
         MAX_CORE_BYTES, "of it, for data"),
    REAL("wavelet", PlatformSection, wavelet_bytes, DIMENSION_BYTES, 1, MAX_CORE_BYTES,
         "what a link carries in a cycle"),
    MESH_CYCLES("hop_cycles", hop_cycles, YAML_ABOVE_ZERO, "from core to core in hardware"),
    MESH_CYCLES("relay_cycles", relay_cycles, 0, "more where software sends on"),
    MESH_CYCLES("ramp_cycles", ramp_cycles, 0, "between a core and its router, each way"),
    MESH_CYCLES("issue_cycles", issue_cycles, 0, "of a vector operation"),
    SECTION("fp16", PlatformSection, platform.mesh.fp16, vector_fields,
            "multiply-accumulates in fp16 and bf16"),
    SECTION("fp32", PlatformSection, platform.mesh.fp32, vector_fields,
            "multiply-accumulates in fp32"),
    COUNT("routing_paths", PlatformSection, platform.mesh.routing_paths,
          "that a core can tell apart"),
    MESH_CYCLES("step_cycles", step_cycles, 0, "software of a step of a compute-shift loop"),
    MESH_CYCLES("layer_cycles", layer_cycles, 0, "software of a decode layer"),
};

static const YamlField wafer_power_fields[] = {
    REAL("idle", PowerSpec, cluster_idle_watts, DIMENSION_WATTS, 0, MAX_WATTS,
         "of a wafer that waits"),
    REAL("busy", PowerSpec, cluster_busy_watts, DIMENSION_WATTS, 0, MAX_WATTS,
         "of a wafer while a step runs"),
};

static const YamlField wafers[] = {
    NAME_FIELD,
    KIND_FIELD,
    COUNT("wafers", Platform, nodes, "of the machine"),
    SECTION("mesh", PlatformSection, platform, mesh_fields, "the cores of a wafer"),
    SECTION("port", Platform, network.port, link_fields, "of a wafer, to the outside"),
    SECTION("power", Platform, power, wafer_power_fields, "electrical"),
    SOURCES_FIELD,
};

#define SHARE(key_, type, member, help_)                                                           \
    {                                                                                              \
        .key = key_, .kind = YAML_FIELD_REAL, .offset = offsetof(type, member),                    \
        .dimension = DIMENSION_NONE, .min = YAML_ABOVE_ZERO, .max = 1, .help = help_               \
    }

static const YamlField gpu_fields[] = {
    REAL("peak_fp16", GpuSpec, peak_fp16_flops_per_s, DIMENSION_FLOPS_PER_S, YAML_ABOVE_ZERO,
         MAX_RATE, "of its tensor cores, two operations a multiply-accumulate"),
    REAL("peak_fp32", GpuSpec, peak_fp32_flops_per_s, DIMENSION_FLOPS_PER_S, YAML_ABOVE_ZERO,
         MAX_RATE, "of its vector units"),
    SHARE("compute_share", GpuSpec, compute_share, "of a peak, reached by kernels"),
    REAL("memory", GpuSpec, memory_bytes, DIMENSION_BYTES, YAML_ABOVE_ZERO, MAX_BYTES,
         "installed on the GPU"),
    REAL("usable", GpuSpec, usable_bytes, DIMENSION_BYTES, YAML_ABOVE_ZERO, MAX_BYTES,
         "of it, for weights, KV and overhead"),
    REAL("bandwidth", GpuSpec, bytes_per_s, DIMENSION_BYTES_PER_S, YAML_ABOVE_ZERO, MAX_RATE,
         "of its memory"),
    SHARE("bandwidth_share", GpuSpec, bandwidth_share, "of it, reached by kernels"),
    REAL("launch", GpuSpec, launch_s, DIMENSION_SECONDS, 0, MAX_SECONDS, "launching a kernel"),
};

static const YamlField gpu_network_fields[] = {
    SECTION("peer", NetworkSpec, local, link_fields, "of a GPU, to the others of its node"),
    SECTION("port", NetworkSpec, port, link_fields, "of a GPU, to all other nodes"),
    SECTION("nic", NetworkSpec, nic, link_fields, "of a node, shared by its GPUs"),
    ALL_REDUCE_FIELD,
};

static const YamlField gpu_power_fields[] = {
    REAL("idle", PowerSpec, cluster_idle_watts, DIMENSION_WATTS, 0, MAX_WATTS,
         "of a GPU that waits"),
    REAL("busy", PowerSpec, cluster_busy_watts, DIMENSION_WATTS, 0, MAX_WATTS,
         "of a GPU while a step runs"),
    REAL("node", PowerSpec, node_watts, DIMENSION_WATTS, 0, MAX_WATTS,
         "of a node besides its GPUs, always"),
};

static const YamlField gpus[] = {
    NAME_FIELD,
    KIND_FIELD,
    COUNT("nodes", Platform, nodes, "of the machine"),
    COUNT("gpus_per_node", Platform, clusters_per_processor, "sharing the node's NIC"),
    SECTION("gpu", Platform, gpu, gpu_fields, "one of them"),
    SECTION("network", Platform, network, gpu_network_fields, "links between GPUs"),
    HOST_FIELD,
    SECTION("power", Platform, power, gpu_power_fields, "electrical"),
    SOURCES_FIELD,
};

static void schema_take(PlatformSchema *schema, const YamlField *fields, gsize n_fields) {
    g_assert(n_fields <= PLATFORM_MAX_FIELDS);
    memcpy(schema->fields, fields, n_fields * sizeof *fields);
    schema->n_fields = n_fields;
}

static void schema_add_sources(PlatformSchema *schema, const char *prefix, const YamlField *fields,
                               gsize n_fields) {
    for (gsize i = 0; i < n_fields; i++) {
        g_autofree char *name = g_strconcat(prefix, fields[i].key, NULL);

        if (fields[i].kind == YAML_FIELD_SECTION) {
            g_autofree char *inner = g_strconcat(name, ".", NULL);
            schema_add_sources(schema, inner, fields[i].fields, fields[i].n_fields);
            continue;
        }
        guint n = schema->names->len;
        g_assert(n < PLATFORM_MAX_SOURCES);
        schema->sources[n] = (YamlField){.key = name,
                                         .kind = YAML_FIELD_STRING,
                                         .offset = n * sizeof(char *),
                                         .fallback = YAML_OPTIONAL,
                                         .help = "where this number is from"};
        g_ptr_array_add(schema->names, g_steal_pointer(&name));
    }
}

PlatformSchema *platform_schema_new(DeviceKind kind, NetworkTopology topology) {
    PlatformSchema *schema = g_new0(PlatformSchema, 1);

    if (kind == DEVICE_WAFER)
        schema_take(schema, wafers, G_N_ELEMENTS(wafers));
    else if (kind == DEVICE_GPU)
        schema_take(schema, gpus, G_N_ELEMENTS(gpus));
    else if (topology == NETWORK_STAR)
        schema_take(schema, clusters_in_star, G_N_ELEMENTS(clusters_in_star));
    else
        schema_take(schema, clusters_in_fat_tree, G_N_ELEMENTS(clusters_in_fat_tree));

    gsize last = schema->n_fields - 1;
    schema->names = g_ptr_array_new_with_free_func(g_free);
    schema_add_sources(schema, "", schema->fields, last);
    schema->fields[last].fields = schema->sources;
    schema->fields[last].n_fields = schema->names->len;
    return schema;
}

void platform_schema_free(PlatformSchema *schema) {
    g_ptr_array_unref(schema->names);
    g_free(schema);
}
