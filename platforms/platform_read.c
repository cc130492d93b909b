#include "platforms/platform_schema.h"

#define MAX_CLUSTERS 1000000
#define MAX_CORES 4000000 /* of one wafer */

/* Which form a section has decides which keys belong, so it is read ahead of the rest. */
typedef struct Form {
    DeviceKind kind;
    NetworkTopology topology;
} Form;

static gboolean read_kind(const YamlNode *section, DeviceKind *kind, GError **error) {
    const YamlNode *node = yaml_get(section, "kind");
    int value;

    if (node == NULL)
        return yaml_error(section, INPUT_ERROR_MISSING, error, "missing key 'kind'");
    if (!yaml_read_enum(node, platform_kinds, &value, error))
        return FALSE;
    *kind = (DeviceKind)value;
    return TRUE;
}

/* A network without a topology is read as a fat tree, and then fails for want of it. */
static gboolean read_topology(const YamlNode *section, NetworkTopology *topology, GError **error) {
    const YamlNode *network = yaml_get(section, "network");
    int value = NETWORK_FAT_TREE;

    *topology = NETWORK_FAT_TREE;
    if (network == NULL || network->type != YAML_MAPPING || yaml_get(network, "topology") == NULL)
        return TRUE;
    if (!yaml_read_enum(yaml_get(network, "topology"), platform_topologies, &value, error))
        return FALSE;
    *topology = (NetworkTopology)value;
    if (*topology == NETWORK_FAT_TREE)
        return TRUE;

    for (gsize i = 0; platform_fat_tree_keys[i] != NULL; i++) {
        const YamlNode *extra = yaml_get(network, platform_fat_tree_keys[i]);
        if (extra != NULL)
            return yaml_error(extra, INPUT_ERROR_CONFLICT, error,
                              "'%s' is for a fat_tree, but 'topology' is 'star'",
                              platform_fat_tree_keys[i]);
    }
    return TRUE;
}

static gboolean read_form(const YamlNode *section, Form *form, GError **error) {
    return yaml_expect(section, YAML_MAPPING, NULL, error) &&
           read_kind(section, &form->kind, error) &&
           (form->kind != DEVICE_MT3000 || read_topology(section, &form->topology, error));
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

/* 'keys': of the usable and of the installed bytes, then NULL. */
static gboolean check_memory(const YamlNode *node, const char *const *keys, double usable_bytes,
                             double installed_bytes, GError **error) {
    if (usable_bytes <= installed_bytes)
        return TRUE;
    g_autofree char *usable = units_format(usable_bytes, DIMENSION_BYTES);
    g_autofree char *installed = units_format(installed_bytes, DIMENSION_BYTES);
    return yaml_error(blamed(node, keys), INPUT_ERROR_CONFLICT, error,
                      "'%s' is %s but only %s are installed ('%s')", keys[0], usable, installed,
                      keys[1]);
}

static gboolean check_power(const YamlNode *node, const char *const *keys, const PowerSpec *power,
                            GError **error) {

    if (power->cluster_busy_watts >= power->cluster_idle_watts)
        return TRUE;
    g_autofree char *busy = units_format(power->cluster_busy_watts, DIMENSION_WATTS);
    g_autofree char *idle = units_format(power->cluster_idle_watts, DIMENSION_WATTS);
    return yaml_error(blamed(node, keys), INPUT_ERROR_CONFLICT, error,
                      "'%s' is %s, less than '%s', which is %s", keys[0], busy, keys[1], idle);
}

static gboolean check_size(const YamlNode *section, const Platform *platform, GError **error) {
    static const char *const cluster_keys[] = {"nodes", "processors_per_node",
                                               "clusters_per_processor", NULL};
    static const char *const gpu_keys[] = {"nodes", "gpus_per_node", NULL};
    const char *const *keys = platform->kind == DEVICE_GPU ? gpu_keys : cluster_keys;
    guint64 clusters =
        platform->nodes * platform->processors_per_node * platform->clusters_per_processor;

    if (clusters <= MAX_CLUSTERS)
        return TRUE;
    return yaml_error(blamed(section, keys), INPUT_ERROR_VALUE, error,
                      "the platform has %" G_GUINT64_FORMAT " %s, more than %u", clusters,
                      platform_elements_name(platform->kind, clusters), MAX_CLUSTERS);
}

static gboolean check_clusters(const YamlNode *section, const PlatformSection *read,
                               GError **error) {
    static const char *const power_keys[] = {"cluster_busy", "cluster_idle", NULL};
    static const char *const memory_keys[] = {"ddr_usable", "ddr", NULL};
    const YamlNode *cluster = yaml_get(section, "cluster");
    const Platform *platform = &read->platform;

    return check_size(section, platform, error) &&
           check_peaks(cluster, &platform->cluster, error) &&
           check_memory(cluster, memory_keys, platform->cluster.ddr_usable_bytes,
                        platform->cluster.ddr_bytes, error) &&
           check_power(yaml_get(section, "power"), power_keys, &platform->power, error);
}

static gboolean check_cores(const YamlNode *node, const MeshSpec *mesh, GError **error) {
    static const char *const keys[] = {"columns", "rows", NULL};

    if (mesh->columns * mesh->rows <= MAX_CORES)
        return TRUE;
    return yaml_error(blamed(node, keys), INPUT_ERROR_VALUE, error,
                      "the mesh has %" G_GUINT64_FORMAT " cores, more than %u",
                      mesh->columns * mesh->rows, MAX_CORES);
}

static gboolean check_sram(const YamlNode *node, const MeshSpec *mesh, GError **error) {
    static const char *const keys[] = {"usable", "sram", NULL};

    if (mesh->usable_bytes <= mesh->sram_bytes)
        return TRUE;
    g_autofree char *usable = units_format(mesh->usable_bytes, DIMENSION_BYTES);
    g_autofree char *installed = units_format(mesh->sram_bytes, DIMENSION_BYTES);
    return yaml_error(blamed(node, keys), INPUT_ERROR_CONFLICT, error,
                      "'usable' is %s but a core has only %s ('sram')", usable, installed);
}

static gboolean check_wavelet(const YamlNode *node, double bytes, GError **error) {
    const YamlNode *wavelet = yaml_get(node, "wavelet");

    if (bytes == (double)(guint64)bytes)
        return TRUE;
    return yaml_error(wavelet, INPUT_ERROR_VALUE, error,
                      "'wavelet' must be a whole number of bytes, not '%s'", wavelet->text);
}

static gboolean check_wafers(const YamlNode *section, const PlatformSection *read, GError **error) {
    static const char *const power_keys[] = {"busy", "idle", NULL};
    const YamlNode *mesh = yaml_get(section, "mesh");
    const Platform *platform = &read->platform;

    return check_cores(mesh, &platform->mesh, error) && check_sram(mesh, &platform->mesh, error) &&
           check_wavelet(mesh, read->wavelet_bytes, error) &&
           check_power(yaml_get(section, "power"), power_keys, &platform->power, error);
}

/* A wafer is a node with one compute element. Its port is the only way out, so a message pays the
 * latency of that once on the way out and once on the way in; the other links of a star just do not
 * slow it down. */
static void complete_wafers(PlatformSection *read) {
    Platform *platform = &read->platform;
    NetworkSpec *network = &platform->network;

    platform->processors_per_node = 1;
    platform->clusters_per_processor = 1;
    platform->mesh.wavelet_bytes = (guint64)read->wavelet_bytes;
    network->topology = NETWORK_STAR;
    network->local = network->port;
    network->nic = (LinkSpec){.bytes_per_s = network->port.bytes_per_s, .latency_s = 0};
}

static gboolean check_gpus(const YamlNode *section, const PlatformSection *read, GError **error) {
    static const char *const power_keys[] = {"busy", "idle", NULL};
    static const char *const memory_keys[] = {"usable", "memory", NULL};
    const Platform *platform = &read->platform;

    return check_size(section, platform, error) &&
           check_memory(yaml_get(section, "gpu"), memory_keys, platform->gpu.usable_bytes,
                        platform->gpu.memory_bytes, error) &&
           check_power(yaml_get(section, "power"), power_keys, &platform->power, error);
}

/* The GPUs of a node lie beside each other as the clusters of a processor do, and their memory is
 * where the DDR of those is. */
static void complete_gpus(PlatformSection *read) {
    Platform *platform = &read->platform;

    platform->network.topology = NETWORK_STAR;
    platform->cluster = (ClusterSpec){.ddr_bytes = platform->gpu.memory_bytes,
                                      .ddr_usable_bytes = platform->gpu.usable_bytes,
                                      .ddr_bytes_per_s = platform->gpu.bytes_per_s};
}

static gboolean check_platform(const YamlNode *section, PlatformSection *read, GError **error) {
    switch (read->platform.kind) {
    case DEVICE_WAFER:
        if (!check_wafers(section, read, error))
            return FALSE;
        complete_wafers(read);
        return TRUE;
    case DEVICE_GPU:
        read->platform.processors_per_node = 1;
        if (!check_gpus(section, read, error))
            return FALSE;
        complete_gpus(read);
        return TRUE;
    case DEVICE_MT3000:
        return check_clusters(section, read, error);
    }
    g_assert_not_reached();
}

/* A platform of its own that takes the strings out of 'section'. */
static Platform *platform_take(PlatformSection *section, const PlatformSchema *schema) {
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
    Form form = {0};
    PlatformSection read = {0};

    if (!read_form(section, &form, error))
        return NULL;

    g_autoptr(PlatformSchema) schema = platform_schema_new(form.kind, form.topology);
    if (!yaml_read_fields(section, schema->fields, schema->n_fields, &read, error) ||
        !check_platform(section, &read, error)) {
        yaml_fields_clear(schema->fields, schema->n_fields, &read);
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
    g_autoptr(PlatformSchema) schema =
        platform_schema_new(platform->kind, platform->network.topology);
    PlatformSection section = {.platform = *platform,
                               .wavelet_bytes = (double)platform->mesh.wavelet_bytes};
    gsize n_fields = schema->n_fields - (platform->sources->len > 0 ? 0 : 1);

    for (guint i = 0; i < schema->names->len; i++)
        section.sources[i] = source_of(platform, g_ptr_array_index(schema->names, i));
    yaml_write_fields(out, indent, schema->fields, n_fields, &section);
}
