#include "policies/policy.h"

#include <stddef.h>
#include <string.h>

/* Upper bounds: no machine comes near them, and products of degrees stay within 64 bits. */
#define MOST_DEGREE 4096
#define MOST_COPIES 1000000
#define MOST_TOKENS 1000000000
#define LEAST_GRID 3 /* a ring of interleaved neighbours */
#define MOST_GRID 10000
#define MOST_K 64
#define MOST_OVERHEAD_SECONDS 3600
#define MOST_STAGING_COPIES 100

static const char *const mode_names[] = {"pbd", "colocated", "wafer"};
static const char *const placement_names[] = {"packed", "spread"};
static const char *const grain_names[] = {"step", "operator"};
static const char *const reservation_names[] = {"output", "max_context", "on_demand"};
static const char *const formula_names[] = {"exact", "paper", "paper_kv_heads"};
static const char *const prefix_cache_names[] = {"off", "lru"};
static const char *const operators_names[] = {"reference", "optimised"};
static const char *const fusion_names[] = {"off", "on"};
static const char *const attention_names[] = {"unfused", "flash", "mt"};
static const char *const launch_names[] = {"per_operator", "unified"};
static const char *const kv_cache_names[] = {"in_place", "concat"};
static const char *const offload_names[] = {"none", "host", "disk"};
static const char *const host_transfer_names[] = {"pinned", "pageable"};
static const char *const one_a_stage[] = {"pp"};
static const char *const automatic[] = {"auto"};
static const char *const every[] = {"all"};
static const char *const routing_names[] = {ROUTING_RULES(RULE_NAME)};
static const char *const admission_names[] = {ADMISSION_RULES(RULE_NAME)};
static const char *const backpressure_names[] = {BACKPRESSURE_RULES(RULE_NAME)};
static const char *const batching_names[] = {BATCHING_RULES(RULE_NAME)};
#define RULE_COLOCATED_NAME(kind, name, rule, colocated_name) colocated_name,
static const char *const colocated_batching_names[] = {BATCHING_RULES(RULE_COLOCATED_NAME)};

const YamlEnum policy_mode_names = YAML_ENUM_OF(mode_names);

/* The start of a row, by kind; what a kind needs besides follows it in the row. */
#define COUNT(name, type, member)                                                                  \
    .key = (name), .kind = YAML_FIELD_COUNT, .dimension = DIMENSION_COUNT,                         \
    .offset = offsetof(type, member)
#define BYTES(name, type, member)                                                                  \
    .key = (name), .kind = YAML_FIELD_REAL, .dimension = DIMENSION_BYTES,                          \
    .offset = offsetof(type, member)
#define SHARE(name, type, member)                                                                  \
    .key = (name), .kind = YAML_FIELD_REAL, .dimension = DIMENSION_NONE,                           \
    .offset = offsetof(type, member), .max = 1
#define CHOICE(name, type, member, choices)                                                        \
    .key = (name), .kind = YAML_FIELD_ENUM, .names = YAML_ENUM_OF(choices),                        \
    .offset = offsetof(type, member)
#define GROUP(name, member, rows)                                                                  \
    .key = (name), .kind = YAML_FIELD_SECTION, .fallback = "", .fields = (rows),                   \
    .n_fields = G_N_ELEMENTS(rows), .offset = offsetof(Policy, member)

static const YamlField prefill_fields[] = {
    {COUNT("dp", PrefillSpec, dp), .fallback = "1", .min = 1, .max = MOST_COPIES,
     .help = "replicas that compute prompts, in each pool"},
    {COUNT("pp", PrefillSpec, pp), .fallback = "1", .min = 1, .max = MOST_DEGREE,
     .help = "pipeline stages of a replica"},
    {COUNT("micro_batch", PrefillSpec, micro_batch), .fallback = "1", .min = 1, .max = MOST_COPIES,
     .help = "prompts that a step takes at most"},
    {COUNT("chunk_tokens", PrefillSpec, chunk_tokens), .fallback = "0", .max = MOST_TOKENS,
     .help = "tokens of a prompt that a step takes at most; 0: the whole prompt"},
    {CHOICE("prefix_cache", PrefillSpec, prefix_cache, prefix_cache_names), .fallback = "off",
     .help = "keep the KV of shared prefixes"},
    {BYTES("prefix_cache_bytes", PrefillSpec, prefix_cache_bytes), .fallback = "0 B",
     .help = "room for them in each replica"},
};

static const YamlField buffer_fields[] = {
    {COUNT("clusters", BufferSpec, clusters), .fallback = "1", .min = 1, .max = MOST_COPIES,
     .help = "clusters that only hold KV, in each pool"},
    {CHOICE("backpressure", BufferSpec, backpressure, backpressure_names), .fallback = "watermark",
     .help = "the rule that stops admission when the buffer fills"},
    {SHARE("high_watermark", BufferSpec, high_watermark), .fallback = "0.9", .min = YAML_ABOVE_ZERO,
     .help = "share of the buffer's bytes at which admission stops"},
    {SHARE("low_watermark", BufferSpec, low_watermark), .fallback = "0.7",
     .help = "share at which it resumes"},
};

/* What decode and colocated pools have in common. */
/* clang-format off */
#define DEGREE_FIELDS                                                                              \
    {COUNT("tp", DecodeSpec, tp), .fallback = "1", .min = 1, .max = MOST_DEGREE,                   \
     .help = "clusters that share each layer"},                                                    \
    {COUNT("pp", DecodeSpec, pp), .fallback = "1", .min = 1, .max = MOST_DEGREE,                   \
     .help = "pipeline stages of a replica, and micro-batches in flight"},                         \
    {COUNT("dp", DecodeSpec, dp), .fallback = "1", .min = 1, .max = MOST_COPIES,                   \
     .help = "replicas in each pool"},                                                             \
    {COUNT("slots", DecodeSpec, slots), .fallback = "8", .min = 1, .max = MOST_COPIES,             \
     .help = "requests that a micro-batch holds"}
/* clang-format on */

static const YamlField decode_fields[] = {
    DEGREE_FIELDS,
    {CHOICE("batching", DecodeSpec, batching, batching_names), .fallback = "continuous",
     .help = "when requests join a micro-batch"},
};

static const YamlField colocated_fields[] = {
    DEGREE_FIELDS,
    {COUNT("micro_batches", DecodeSpec, micro_batches), .fallback = YAML_OPTIONAL,
     .names = YAML_ENUM_OF(one_a_stage), .min = 1, .max = MOST_DEGREE,
     .help = "that travel through a replica's stages"},
    {CHOICE("batching", DecodeSpec, batching, colocated_batching_names), .fallback = "continuous",
     .help = "when requests join a micro-batch"},
    {COUNT("chunk_tokens", DecodeSpec, chunk_tokens), .fallback = "0", .max = MOST_TOKENS,
     .help = "tokens of a step that mixes prompts and decoding; 0: prompts run on their own"},
    {COUNT("max_batch_tokens", DecodeSpec, max_batch_tokens), .fallback = "8192", .min = 1,
     .max = MOST_TOKENS, .help = "prompt tokens that a step takes at most"},
    {CHOICE("prefix_cache", DecodeSpec, prefix_cache, prefix_cache_names), .fallback = "off",
     .help = "keep the KV of shared prefixes"},
    {BYTES("prefix_cache_bytes", DecodeSpec, prefix_cache_bytes), .fallback = "0 B",
     .help = "room for them in each replica"},
};

#define GRID(name, member)                                                                         \
    COUNT(name, WaferSpec, member), .fallback = "auto", .names = YAML_ENUM_OF(automatic),          \
                                    .min = LEAST_GRID, .max = MOST_GRID

static const YamlField wafer_fields[] = {
    {GRID("prefill_grid", prefill_grid), .help = "cores a side that a prompt is computed on"},
    {GRID("decode_grid", decode_grid), .help = "cores a side of each region that generates"},
    {COUNT("regions", WaferSpec, regions), .fallback = "auto", .names = YAML_ENUM_OF(automatic),
     .min = 1, .max = MOST_DEGREE, .help = "of the decode grid, one after another on the wafer"},
    {.key = "system",
     .kind = YAML_FIELD_ENUM,
     .fallback = "waferllm",
     .names = {wafer_system_names, N_WAFER_SYSTEMS},
     .offset = offsetof(WaferSpec, system),
     .help = "whose division of the work and communication"},
    {.key = "kv",
     .kind = YAML_FIELD_ENUM,
     .fallback = "shift",
     .names = {kv_rule_names, N_KV_RULES},
     .offset = offsetof(WaferSpec, kv),
     .help = "new KV is shifted up until all rows of cores have as much, or stays in the last"},
    {COUNT("k_tree", WaferSpec, k_tree), .fallback = "2", .min = 1, .max = MOST_K,
     .help = "levels of the trees that sums are made by"},
    {COUNT("dp", WaferSpec, dp), .fallback = "all", .names = YAML_ENUM_OF(every), .min = 1,
     .max = MOST_COPIES, .help = "wafers in each pool, each a replica"},
};

static const YamlField common_fields[] = {
    {CHOICE("mode", Policy, mode, mode_names),
     .help = "prefill, buffer and decode apart (pbd), one pool that does it all, or wafers"},
    {COUNT("pools", Policy, pools), .fallback = "1", .min = 1, .max = MOST_COPIES,
     .help = "copies of the whole plan"},
    {CHOICE("placement", Policy, placement, placement_names), .fallback = "packed",
     .help = "neighbouring clusters, or round the processors in turn"},
    {CHOICE("grain", Policy, grain, grain_names), .fallback = "step",
     .help = "what one activity stands for"},
    {COUNT("max_context", Policy, max_context), .fallback = "0", .max = MOST_TOKENS,
     .help = "tokens that a request may reach; 0: what the model allows"},
    {CHOICE("kv_reservation", Policy, kv_reservation, reservation_names), .fallback = "output",
     .help = "what is set aside for a request when it is admitted"},
    {CHOICE("kv_formula", Policy, kv_formula, formula_names), .fallback = "exact",
     .help = "memory bill by the model's tensors, or as THInfer prints it, with KV of all heads or "
             "KV heads"},
    {BYTES("overhead", Policy, overhead_bytes), .fallback = "0.1 GB",
     .help = "memory of a cluster that is neither weights nor KV (THInfer eq. 16)"},
    {CHOICE("routing", Policy, routing, routing_names), .fallback = "least_loaded",
     .help = "which replica an arriving request goes to"},
    {CHOICE("admission", Policy, admission, admission_names), .fallback = "fcfs",
     .help = "which waiting request is admitted first"},
    {CHOICE("operators", Policy, operators, operators_names), .fallback = "optimised",
     .help = "kernels with the dataflow of THInfer section III.B, or without"},
    {CHOICE("fusion", Policy, fusion, fusion_names), .fallback = "on",
     .help = "keep what passes between neighbouring operators on the chip"},
    {CHOICE("attention", Policy, attention, attention_names), .fallback = "mt",
     .help = "how attention's scores are staged"},
    {CHOICE("launch", Policy, launch, launch_names), .fallback = "unified",
     .help = "a thread group for each kernel and head, or one for all of them"},
    {CHOICE("kv_cache", Policy, kv_cache, kv_cache_names), .fallback = YAML_OPTIONAL,
     .help = "new KV goes behind the old, or into a copy of all of it in every step"},
    {.key = "layer_overhead",
     .kind = YAML_FIELD_REAL,
     .dimension = DIMENSION_SECONDS,
     .offset = offsetof(Policy, layer_overhead_s),
     .max = MOST_OVERHEAD_SECONDS,
     .fallback = YAML_OPTIONAL,
     .help = "software of the framework, in each layer of a step"},
    {CHOICE("offload", Policy, offload, offload_names), .fallback = YAML_OPTIONAL,
     .help = "where weights lie that do not fit beside the KV"},
    {CHOICE("host_transfer", Policy, host_transfer, host_transfer_names), .fallback = YAML_OPTIONAL,
     .help = "how they come from there: beside the computing, or before it"},
    {COUNT("staging_copies", Policy, staging_copies), .fallback = YAML_OPTIONAL,
     .max = MOST_STAGING_COPIES,
     .help = "of the weights, in the host's memory while they are loaded"},
};

static const YamlField pbd_groups[] = {
    {GROUP("prefill", prefill, prefill_fields), .help = "the pool that computes prompts"},
    {GROUP("buffer", buffer, buffer_fields), .help = "the pool that holds KV in between"},
    {GROUP("decode", decode, decode_fields), .help = "the pool that generates tokens"},
};

static const YamlField colocated_groups[] = {
    {GROUP("colocated", decode, colocated_fields), .help = "the pool that does it all"},
};

static const YamlField wafer_groups[] = {
    {GROUP("wafer", wafer, wafer_fields), .help = "the wafers, which do it all"},
};

/* Common keys that say how clusters are used and what runs on them: not for wafers. */
static const char *const cluster_keys[] = {
    "placement", "grain",         "kv_formula",     "overhead", "operators",
    "fusion",    "attention",     "launch",         "kv_cache", "layer_overhead",
    "offload",   "host_transfer", "staging_copies", NULL};

/* The groups that a mode adds to the common keys. */
static const struct {
    const YamlField *fields;
    gsize n_fields;
} mode_groups[] = {
    [MODE_PBD] = {pbd_groups, G_N_ELEMENTS(pbd_groups)},
    [MODE_COLOCATED] = {colocated_groups, G_N_ELEMENTS(colocated_groups)},
    [MODE_WAFER] = {wafer_groups, G_N_ELEMENTS(wafer_groups)},
};

/* The whole section's table in one mode. */
typedef struct SectionTable {
    YamlField fields[G_N_ELEMENTS(common_fields) + G_N_ELEMENTS(pbd_groups)];
    gsize n_fields;
} SectionTable;

static gboolean is_common(const YamlField *field, ServingMode mode) {
    return mode != MODE_WAFER || !g_strv_contains(cluster_keys, field->key);
}

static SectionTable section_table(ServingMode mode) {
    SectionTable table = {.n_fields = 0};
    for (gsize i = 0; i < G_N_ELEMENTS(common_fields); i++)
        if (is_common(&common_fields[i], mode))
            table.fields[table.n_fields++] = common_fields[i];
    for (gsize i = 0; i < mode_groups[mode].n_fields; i++)
        table.fields[table.n_fields++] = mode_groups[mode].fields[i];
    return table;
}

guint64 policy_micro_batches(const DecodeSpec *decode, guint64 pp) {
    return decode->micro_batches > 0 ? decode->micro_batches : pp;
}

const char *policy_decode_key(ServingMode mode) {
    return mode == MODE_PBD ? "decode" : mode_names[mode];
}

static const YamlField *find_field(const YamlField *fields, gsize n_fields, const char *key) {
    for (gsize i = 0; i < n_fields; i++)
        if (strcmp(fields[i].key, key) == 0)
            return &fields[i];
    return NULL;
}

const YamlField *policy_field(ServingMode mode, const char *group, const char *key, gsize *offset) {
    const YamlField *fields = common_fields;
    gsize n_fields = G_N_ELEMENTS(common_fields), start = 0;
    if (group != NULL) {
        const YamlField *row =
            find_field(mode_groups[mode].fields, mode_groups[mode].n_fields, group);
        if (row == NULL)
            return NULL;
        fields = row->fields;
        n_fields = row->n_fields;
        start = row->offset;
    }
    const YamlField *field = find_field(fields, n_fields, key);
    if (field == NULL || (group == NULL && !is_common(field, mode)))
        return NULL;
    *offset = start + field->offset;
    return field;
}

const YamlNode *policy_place(const YamlNode *section, const char *group, const char *key) {
    const YamlNode *place = section;
    const char *const path[] = {group, key};
    for (guint i = 0; i < G_N_ELEMENTS(path); i++) {
        const YamlNode *inner =
            path[i] != NULL && place->type == YAML_MAPPING ? yaml_get(place, path[i]) : NULL;
        if (path[i] != NULL && inner == NULL)
            break;
        place = inner != NULL ? inner : place;
    }
    return place;
}

/* Whose group a key is: N_MODES when it is none. */
static ServingMode mode_of_group(const char *key) {
    for (ServingMode mode = 0; mode < N_MODES; mode++)
        for (gsize i = 0; i < mode_groups[mode].n_fields; i++)
            if (strcmp(mode_groups[mode].fields[i].key, key) == 0)
                return mode;
    return N_MODES;
}

/* Whether a key was written in a file whose mode an option has changed since, for the mode that it
 * had: such keys fall away. */
static gboolean is_outdated(const YamlNode *section, const YamlNode *key, ServingMode mode) {
    const YamlNode *node = yaml_get(section, "mode");
    ServingMode group = mode_of_group(key->text);
    gboolean foreign = group != N_MODES
                           ? group != mode
                           : mode == MODE_WAFER && g_strv_contains(cluster_keys, key->text);
    return foreign && node != NULL && node->line == 0 && key->line > 0;
}

/* Refuses the groups of the other modes, and for wafers what is said of clusters. */
static gboolean check_groups(const YamlNode *section, ServingMode mode, GError **error) {
    for (guint i = 0; i < section->keys->len; i++) {
        const YamlNode *key = g_ptr_array_index(section->keys, i);
        ServingMode other = mode_of_group(key->text);
        if (is_outdated(section, key, mode))
            continue;
        if (other != N_MODES && other != mode)
            return yaml_error(key, INPUT_ERROR_CONFLICT, error,
                              "'%s' belongs to mode '%s', and this is '%s'", key->text,
                              mode_names[other], mode_names[mode]);
        if (mode == MODE_WAFER && g_strv_contains(cluster_keys, key->text))
            return yaml_error(key, INPUT_ERROR_CONFLICT, error,
                              "'%s' is about clusters, and in mode 'wafer' there are none",
                              key->text);
    }
    return TRUE;
}

static gboolean check_prefix_cache(const YamlNode *section, const char *group, PrefixCacheKind kind,
                                   double bytes, GError **error) {
    if (kind == PREFIX_CACHE_LRU && bytes <= 0)
        return yaml_error(policy_place(section, group, "prefix_cache"), INPUT_ERROR_CONFLICT, error,
                          "'prefix_cache: lru' needs 'prefix_cache_bytes' above 0");
    if (kind == PREFIX_CACHE_OFF && bytes > 0)
        return yaml_error(policy_place(section, group, "prefix_cache_bytes"), INPUT_ERROR_CONFLICT,
                          error, "'prefix_cache_bytes' needs 'prefix_cache: lru'");
    return TRUE;
}

static gboolean check_watermarks(const YamlNode *section, const BufferSpec *buffer,
                                 GError **error) {
    if (buffer->low_watermark <= buffer->high_watermark)
        return TRUE;
    const YamlNode *group = yaml_get(section, "buffer");
    const char *written =
        yaml_get(group, "low_watermark") != NULL ? "low_watermark" : "high_watermark";
    return yaml_error(policy_place(section, "buffer", written), INPUT_ERROR_CONFLICT, error,
                      "'low_watermark' %g exceeds 'high_watermark' %g", buffer->low_watermark,
                      buffer->high_watermark);
}

static gboolean check_batching(const YamlNode *section, const Policy *policy, GError **error) {
    if (policy->decode.batching == BATCHING_CONTINUOUS)
        return TRUE;
    const char *group = policy_decode_key(policy->mode);
    if (policy->kv_reservation == KV_RESERVE_ON_DEMAND)
        return yaml_error(policy_place(section, "kv_reservation", NULL), INPUT_ERROR_CONFLICT,
                          error,
                          "'kv_reservation: on_demand' needs '%s.batching: continuous': a batch "
                          "that runs to its end has no place for a preempted request",
                          group);
    if (policy->decode.chunk_tokens > 0)
        return yaml_error(policy_place(section, group, "chunk_tokens"), INPUT_ERROR_CONFLICT, error,
                          "'chunk_tokens' needs '%s.batching: continuous': a static batch never "
                          "mixes prompts with decoding",
                          group);
    return TRUE;
}

/* Operator by operator, kernels alone are simulated. */
static gboolean check_grain(const YamlNode *section, const Policy *policy, GError **error) {
    const struct {
        const char *key;
        gboolean used;
    } keys[] = {{"kv_cache", policy->kv_cache != KV_CACHE_IN_PLACE},
                {"layer_overhead", policy->layer_overhead_s > 0},
                {"offload", policy->offload != OFFLOAD_NONE}};
    for (gsize i = 0; i < G_N_ELEMENTS(keys) && policy->grain == GRAIN_OPERATOR; i++)
        if (keys[i].used)
            return yaml_error(policy_place(section, keys[i].key, NULL), INPUT_ERROR_CONFLICT, error,
                              "'%s' needs 'grain: step': at grain 'operator' nothing but kernels "
                              "and transfers between them takes time",
                              keys[i].key);
    return TRUE;
}

static gboolean check_micro_batches(const YamlNode *section, const Policy *policy, GError **error) {
    const DecodeSpec *decode = &policy->decode;
    if (decode->micro_batches <= decode->pp)
        return TRUE;
    return yaml_error(policy_place(section, "colocated", "micro_batches"), INPUT_ERROR_CONFLICT,
                      error,
                      "micro_batches %" G_GUINT64_FORMAT " exceeds the %" G_GUINT64_FORMAT
                      " stage%s ('pp') that they travel through",
                      decode->micro_batches, decode->pp, decode->pp == 1 ? "" : "s");
}

static gboolean check_section(const YamlNode *section, const Policy *policy, GError **error) {
    const PrefillSpec *prefill = &policy->prefill;
    const DecodeSpec *decode = &policy->decode;
    if (!check_batching(section, policy, error) || !check_grain(section, policy, error) ||
        !check_micro_batches(section, policy, error))
        return FALSE;
    if (policy->mode == MODE_WAFER)
        return TRUE;
    if (policy->mode == MODE_COLOCATED)
        return check_prefix_cache(section, "colocated", decode->prefix_cache,
                                  decode->prefix_cache_bytes, error);
    return check_watermarks(section, &policy->buffer, error) &&
           check_prefix_cache(section, "prefill", prefill->prefix_cache,
                              prefill->prefix_cache_bytes, error);
}

/* Without a mode, the table that fits what is written reports that it is missing. */
static gboolean read_mode(const YamlNode *section, ServingMode *mode, GError **error) {
    const YamlNode *node = yaml_get(section, "mode");
    int value = yaml_get(section, "colocated") != NULL ? MODE_COLOCATED
                : yaml_get(section, "wafer") != NULL   ? MODE_WAFER
                                                       : MODE_PBD;
    if (node != NULL && !yaml_read_enum(node, policy_mode_names, &value, error))
        return FALSE;
    *mode = (ServingMode)value;
    return node == NULL || check_groups(section, *mode, error);
}

/* The table's defaults are those of clusters of DSPs. */
static void default_to_gpus(SectionTable *table) {
    static const char *const fallbacks[][2] = {
        {"fusion", "off"}, {"attention", "flash"}, {"launch", "per_operator"}};
    for (gsize i = 0; i < G_N_ELEMENTS(fallbacks); i++)
        for (gsize field = 0; field < table->n_fields; field++)
            if (strcmp(table->fields[field].key, fallbacks[i][0]) == 0)
                table->fields[field].fallback = fallbacks[i][1];
}

/* Reads what is not outdated. */
static gboolean read_fields(const YamlNode *section, DeviceKind kind, Policy *policy,
                            GError **error) {
    ServingMode mode = policy->mode;
    SectionTable table = section_table(mode);
    if (kind == DEVICE_GPU)
        default_to_gpus(&table);
    g_autoptr(GPtrArray) keys = g_ptr_array_new();
    g_autoptr(GPtrArray) values = g_ptr_array_new();
    for (guint i = 0; i < section->keys->len; i++) {
        YamlNode *key = g_ptr_array_index(section->keys, i);
        if (is_outdated(section, key, mode))
            continue;
        g_ptr_array_add(keys, key);
        g_ptr_array_add(values, g_ptr_array_index(section->values, i));
    }
    YamlNode view = *section; /* its nodes are the section's */
    view.keys = keys;
    view.values = values;
    return yaml_read_fields(&view, table.fields, table.n_fields, policy, error);
}

/* One request at a time, its prompt on its own and whole. */
static DecodeSpec one_slot(const WaferSpec *wafer) {
    return (DecodeSpec){.tp = 1,
                        .pp = 1,
                        .dp = wafer->dp,
                        .slots = 1,
                        .batching = BATCHING_CONTINUOUS,
                        .max_batch_tokens = 1};
}

Policy *policy_read(const YamlNode *section, DeviceKind kind, GError **error) {
    if (!yaml_expect(section, YAML_MAPPING, NULL, error))
        return NULL;
    g_autoptr(Policy) policy = g_new0(Policy, 1);
    if (!read_mode(section, &policy->mode, error) || !read_fields(section, kind, policy, error))
        return NULL;
    if (policy->mode == MODE_WAFER)
        policy->decode = one_slot(&policy->wafer);
    if (!check_section(section, policy, error))
        return NULL;
    return g_steal_pointer(&policy);
}

void policy_free(Policy *policy) {
    g_free(policy);
}

void policy_write(const Policy *policy, guint indent, GString *out) {
    SectionTable table = section_table(policy->mode);
    yaml_write_fields(out, indent, table.fields, table.n_fields, policy);
}
