#include "policies/search_spec.h"

#include <stddef.h>
#include <string.h>

#define MOST_VALUES 4096 /* of one key */

#define COMMON(name) .key = (name), .part = PART_COMMON
#define IN(name, of, in) .group = #name, .key = (of), .mode = MODE_PBD, .part = (in)
#define COLOCATED(of) .group = "colocated", .key = (of), .mode = MODE_COLOCATED, .part = PART_DECODE
#define WAFER(of) .group = "wafer", .key = (of), .mode = MODE_WAFER, .part = PART_DECODE

const SearchDimension search_dimensions[N_SEARCH_DIMENSIONS] = {
    [DIM_POOLS] = {COMMON("pools"), .replicas = TRUE},
    [DIM_PLACEMENT] = {COMMON("placement")},
    [DIM_ROUTING] = {COMMON("routing")},
    [DIM_ADMISSION] = {COMMON("admission")},
    [DIM_PREFILL_PP] = {IN(prefill, "pp", PART_PREFILL)},
    [DIM_PREFILL_MICRO_BATCH] = {IN(prefill, "micro_batch", PART_PREFILL)},
    [DIM_PREFILL_CHUNK_TOKENS] = {IN(prefill, "chunk_tokens", PART_PREFILL)},
    [DIM_BUFFER_CLUSTERS] = {IN(buffer, "clusters", PART_BUFFER)},
    [DIM_DECODE_TP] = {IN(decode, "tp", PART_DECODE)},
    [DIM_DECODE_PP] = {IN(decode, "pp", PART_DECODE)},
    [DIM_DECODE_SLOTS] = {IN(decode, "slots", PART_DECODE)},
    [DIM_DECODE_BATCHING] = {IN(decode, "batching", PART_DECODE)},
    [DIM_COLOCATED_TP] = {COLOCATED("tp")},
    [DIM_COLOCATED_PP] = {COLOCATED("pp")},
    [DIM_COLOCATED_SLOTS] = {COLOCATED("slots")},
    [DIM_COLOCATED_BATCHING] = {COLOCATED("batching")},
    [DIM_COLOCATED_CHUNK_TOKENS] = {COLOCATED("chunk_tokens")},
    [DIM_COLOCATED_MAX_BATCH_TOKENS] = {COLOCATED("max_batch_tokens")},
    [DIM_WAFER_PREFILL_GRID] = {WAFER("prefill_grid")},
    [DIM_WAFER_DECODE_GRID] = {WAFER("decode_grid")},
    [DIM_WAFER_REGIONS] = {WAFER("regions")},
    [DIM_WAFER_SYSTEM] = {WAFER("system")},
    [DIM_WAFER_KV] = {WAFER("kv")},
    [DIM_WAFER_K_TREE] = {WAFER("k_tree")},
    [DIM_PREFILL_DP] = {IN(prefill, "dp", PART_PREFILL), .replicas = TRUE},
    [DIM_DECODE_DP] = {IN(decode, "dp", PART_DECODE), .replicas = TRUE},
    [DIM_COLOCATED_DP] = {COLOCATED("dp"), .replicas = TRUE},
    [DIM_WAFER_DP] = {WAFER("dp"), .replicas = TRUE},
};

gboolean search_dimension_in(SearchDimensionKind kind, ServingMode mode) {
    gsize offset;
    return policy_field(mode, search_dimensions[kind].group, search_dimensions[kind].key,
                        &offset) != NULL;
}

static const YamlField *dimension_field(SearchDimensionKind kind) {
    const SearchDimension *dimension = &search_dimensions[kind];
    gsize offset;
    return policy_field(dimension->mode, dimension->group, dimension->key, &offset);
}

static const char *const method_names[] = {"guided", "exhaustive", "analytic"};
static const char *const context_names[] = {"workload", "model"};
static const char *const kv_width_names[] = {"hidden", "kv_heads"};
static const char *const micro_batch_names[] = {"policy", "rule"};
static const char *const pools_names[] = {"ratio", "whole"};
const YamlEnum search_method_names = YAML_ENUM_OF(method_names);

static const YamlField analytic_fields[] = {
    {.key = "context",
     .kind = YAML_FIELD_ENUM,
     .names = YAML_ENUM_OF(context_names),
     .offset = offsetof(AnalyticSwitches, context),
     .fallback = "workload",
     .help = "S_max of THInfer eq. 13 and 15: prompt and output tokens, or the model's context"},
    {.key = "kv_width",
     .kind = YAML_FIELD_ENUM,
     .names = YAML_ENUM_OF(kv_width_names),
     .offset = offsetof(AnalyticSwitches, kv_width),
     .fallback = "hidden",
     .help = "D_emb of THInfer eq. 13 and 15 as printed, or only the KV heads"},
    {.key = "micro_batch",
     .kind = YAML_FIELD_ENUM,
     .names = YAML_ENUM_OF(micro_batch_names),
     .offset = offsetof(AnalyticSwitches, micro_batch),
     .fallback = "policy",
     .help =
         "of decode: the policy's slots, or what THInfer eq. 22 likes best within eq. 15 and 16"},
    {.key = "pools",
     .kind = YAML_FIELD_ENUM,
     .names = YAML_ENUM_OF(pools_names),
     .offset = offsetof(AnalyticSwitches, pools),
     .fallback = "ratio",
     .help = "in THInfer eq. 21 clusters over a pool's, or whole pools only"},
};

/* The keys that are single values. */
static const YamlField plain_fields[] = {
    {.key = "method",
     .kind = YAML_FIELD_ENUM,
     .names = YAML_ENUM_OF(method_names),
     .offset = offsetof(SearchSpec, method),
     .fallback = "guided",
     .help = "discard plans by bounds, simulate them all, or take the paper's rule"},
    {.key = "clusters",
     .kind = YAML_FIELD_COUNT,
     .dimension = DIMENSION_COUNT,
     .min = 1,
     .offset = offsetof(SearchSpec, clusters),
     .fallback = YAML_OPTIONAL,
     .help = "clusters that a plan may take at most"},
    {.key = "use_all",
     .kind = YAML_FIELD_BOOL,
     .offset = offsetof(SearchSpec, use_all),
     .fallback = "true",
     .help = "leave out plans that have room for one more replica"},
    {.key = "analytic",
     .kind = YAML_FIELD_SECTION,
     .offset = offsetof(SearchSpec, analytic),
     .fallback = "",
     .fields = analytic_fields,
     .n_fields = G_N_ELEMENTS(analytic_fields),
     .help = "how the paper's rule is read"},
};

static void free_node(gpointer node) {
    yaml_node_free(node);
}

/* A scalar that stands where 'node' does. */
static YamlNode *scalar_at(const YamlNode *node, const char *text) {
    YamlNode *copy = yaml_scalar_new(text, node->origin);
    copy->line = node->line;
    copy->column = node->column;
    copy->key = g_strdup(node->key);
    return copy;
}

static GArray *values_new(void) {
    return g_array_new(FALSE, FALSE, sizeof(guint64));
}

/* Where the values of a key are gathered. */
typedef struct ValueList {
    const YamlField *field;
    GArray *values;
} ValueList;

static gboolean add_value(const ValueList *list, guint64 value, const YamlNode *node,
                          GError **error) {
    for (guint i = 0; i < list->values->len; i++)
        if (g_array_index(list->values, guint64, i) == value)
            return yaml_error(node, INPUT_ERROR_DUPLICATE, error,
                              "'%s' gives a value of '%s' that is there already", node->text,
                              list->field->key);
    if (list->values->len == MOST_VALUES)
        return yaml_error(node, INPUT_ERROR_VALUE, error, "'%s' has more than %d values",
                          list->field->key, MOST_VALUES);
    g_array_append_val(list->values, value);
    return TRUE;
}

static gboolean read_count(const YamlField *field, const YamlNode *node, const char *text,
                           guint64 *value, GError **error) {
    g_autoptr(YamlNode) part = scalar_at(node, text);
    return yaml_read_count(part, (guint64)field->min, (guint64)field->max, value, error);
}

/* FROM:TO[:STEP] */
static gboolean add_range(const ValueList *list, const YamlNode *node, GError **error) {
    g_auto(GStrv) parts = g_strsplit(node->text, ":", -1);
    guint n = g_strv_length(parts);
    guint64 from, to, step = 1;
    if (n > 3 || parts[0][0] == '\0' || parts[1][0] == '\0' || parts[n - 1][0] == '\0')
        return yaml_error(node, INPUT_ERROR_VALUE, error,
                          "expected a range FROM:TO or FROM:TO:STEP for '%s', not '%s'",
                          list->field->key, node->text);
    if (!read_count(list->field, node, parts[0], &from, error) ||
        !read_count(list->field, node, parts[1], &to, error))
        return FALSE;
    if (n == 3 && (!read_count(&(YamlField){0}, node, parts[2], &step, error)))
        return FALSE;
    if (step == 0)
        return yaml_error(node, INPUT_ERROR_VALUE, error,
                          "the step of the range '%s' of '%s' must be at least 1", node->text,
                          list->field->key);
    if (from > to)
        return yaml_error(node, INPUT_ERROR_CONFLICT, error,
                          "the range '%s' of '%s' ends before it begins", node->text,
                          list->field->key);
    for (guint64 value = from; value <= to; value += step)
        if (!add_value(list, value, node, error))
            return FALSE;
    return TRUE;
}

/* Whether it is a word that stands for a number, such as 'auto' for 0. */
static gboolean is_word(const YamlField *field, const YamlNode *node, guint64 *value) {
    for (gsize i = 0; field->kind == YAML_FIELD_COUNT && i < field->names.n_names; i++) {
        if (strcmp(node->text, field->names.names[i]) != 0)
            continue;
        *value = i;
        return TRUE;
    }
    return FALSE;
}

static gboolean add_scalar(const ValueList *list, const YamlNode *node, GError **error) {
    guint64 value = 0;
    int name = 0;
    if (node->type != YAML_SCALAR)
        return yaml_expect(node, YAML_SCALAR, "a value or a range", error);
    if (list->field->kind == YAML_FIELD_ENUM) {
        if (!yaml_read_enum(node, list->field->names, &name, error))
            return FALSE;
        value = (guint64)name;
    } else if (strchr(node->text, ':') != NULL) {
        return add_range(list, node, error);
    } else if (!is_word(list->field, node, &value) &&
               !yaml_read_count(node, (guint64)list->field->min, (guint64)list->field->max, &value,
                                error)) {
        return FALSE;
    }
    return add_value(list, value, node, error);
}

static gint compare_counts(gconstpointer a, gconstpointer b) {
    guint64 x = *(const guint64 *)a, y = *(const guint64 *)b;
    return x < y ? -1 : x > y;
}

static gboolean is_empty_list(const YamlNode *node) {
    return node->type == YAML_SEQUENCE && node->values->len == 0;
}

static gboolean refuse_empty(const YamlNode *node, const char *key, GError **error) {
    return yaml_error(node, INPUT_ERROR_VALUE, error, "the list of '%s' is empty", key);
}

/* The values of a key: one, a range, or a list of both. NULL on failure. */
static GArray *read_values(const YamlField *field, const YamlNode *node, GError **error) {
    g_autoptr(GArray) values = values_new();
    ValueList list = {field, values};
    gboolean one = node->type == YAML_SCALAR;
    if (!one && !yaml_expect(node, YAML_SEQUENCE, "a value, a range or a list", error))
        return NULL;
    if (is_empty_list(node)) {
        refuse_empty(node, field->key, error);
        return NULL;
    }
    for (guint i = 0; i < (one ? 1 : node->values->len); i++)
        if (!add_scalar(&list, one ? node : g_ptr_array_index(node->values, i), error))
            return NULL;
    if (field->kind == YAML_FIELD_COUNT)
        g_array_sort(values, compare_counts);
    return g_steal_pointer(&values);
}

static gboolean refuse_unknown(const YamlNode *mapping, GPtrArray *known, GError **error) {
    const char *const *names = (const char *const *)known->pdata;
    for (guint i = 0; i < mapping->keys->len; i++) {
        const YamlNode *key = g_ptr_array_index(mapping->keys, i);
        gboolean found = FALSE;
        for (guint j = 0; j < known->len; j++)
            found = found || strcmp(key->text, names[j]) == 0;
        if (found)
            continue;
        g_autofree char *text = yaml_describe(key);
        g_autofree char *hint = near_miss_hint(key->text, names, known->len);
        return yaml_error(key, INPUT_ERROR_UNKNOWN, error, "unknown key %s%s", text, hint);
    }
    return TRUE;
}

/* Adds the keys that stand under 'group' (NULL: in the section itself). */
static void add_dimension_keys(GPtrArray *known, const char *group) {
    for (guint i = 0; i < N_SEARCH_DIMENSIONS; i++)
        if (g_strcmp0(search_dimensions[i].group, group) == 0)
            g_ptr_array_add(known, (gpointer)search_dimensions[i].key);
}

/* Dimensions of one group need not stand together in the table. */
static gboolean begins_group(SearchDimensionKind kind) {
    for (guint i = 0; i < kind; i++)
        if (g_strcmp0(search_dimensions[i].group, search_dimensions[kind].group) == 0)
            return FALSE;
    return search_dimensions[kind].group != NULL;
}

static gboolean check_keys(const YamlNode *section, GError **error) {
    g_autoptr(GPtrArray) known = g_ptr_array_new();
    for (guint i = 0; i < G_N_ELEMENTS(plain_fields); i++)
        g_ptr_array_add(known, (gpointer)plain_fields[i].key);
    g_ptr_array_add(known, "objectives");
    g_ptr_array_add(known, "modes");
    add_dimension_keys(known, NULL);
    for (SearchDimensionKind kind = 0; kind < N_SEARCH_DIMENSIONS; kind++)
        if (begins_group(kind))
            g_ptr_array_add(known, (gpointer)search_dimensions[kind].group);
    return refuse_unknown(section, known, error);
}

static gboolean check_group(const YamlNode *section, const char *group, GError **error) {
    const YamlNode *mapping = yaml_get(section, group);
    if (mapping == NULL)
        return TRUE;
    g_autoptr(GPtrArray) known = g_ptr_array_new();
    add_dimension_keys(known, group);
    return yaml_expect(mapping, YAML_MAPPING, NULL, error) && refuse_unknown(mapping, known, error);
}

static gboolean read_dimensions(SearchSpec *spec, const YamlNode *section, GError **error) {
    for (SearchDimensionKind kind = 0; kind < N_SEARCH_DIMENSIONS; kind++) {
        const SearchDimension *dimension = &search_dimensions[kind];
        if (begins_group(kind) && !check_group(section, dimension->group, error))
            return FALSE;
        const YamlNode *mapping =
            dimension->group == NULL ? section : yaml_get(section, dimension->group);
        const YamlNode *node = mapping == NULL ? NULL : yaml_get(mapping, dimension->key);
        if (node == NULL)
            continue;
        YamlField field = *dimension_field(kind);
        if (dimension->replicas)
            field.names = (YamlEnum){0}; /* counted, so 'all' would say nothing */
        spec->values[kind] = read_values(&field, node, error);
        if (spec->values[kind] == NULL)
            return FALSE;
        spec->places[kind] = scalar_at(node, "");
    }
    return TRUE;
}

static gboolean add_objective(SearchSpec *spec, const YamlNode *node, GError **error) {
    if (node->type != YAML_SCALAR)
        return yaml_expect(node, YAML_SCALAR, "the name of an objective", error);
    for (guint i = 0; i < spec->objectives->len; i++) {
        const YamlNode *other = g_ptr_array_index(spec->objectives, i);
        if (strcmp(other->text, node->text) == 0)
            return yaml_error(node, INPUT_ERROR_DUPLICATE, error, "objective '%s' stands twice",
                              node->text);
    }
    g_ptr_array_add(spec->objectives, scalar_at(node, node->text));
    return TRUE;
}

static gboolean read_objectives(SearchSpec *spec, const YamlNode *node, GError **error) {
    if (node == NULL) {
        g_ptr_array_add(spec->objectives, yaml_scalar_new("throughput", "default"));
        return TRUE;
    }
    if (is_empty_list(node))
        return refuse_empty(node, "objectives", error);
    if (node->type != YAML_SEQUENCE)
        return node->type == YAML_SCALAR
                   ? add_objective(spec, node, error)
                   : yaml_expect(node, YAML_SEQUENCE, "a list of names", error);
    for (guint i = 0; i < node->values->len; i++)
        if (!add_objective(spec, g_ptr_array_index(node->values, i), error))
            return FALSE;
    return TRUE;
}

static gboolean read_modes(SearchSpec *spec, const YamlNode *node, GError **error) {
    const YamlField field = {.key = "modes", .kind = YAML_FIELD_ENUM, .names = policy_mode_names};
    if (node == NULL)
        return TRUE;
    spec->modes = read_values(&field, node, error);
    return spec->modes != NULL;
}

static gboolean is_plain(const char *key) {
    for (gsize i = 0; i < G_N_ELEMENTS(plain_fields); i++)
        if (strcmp(plain_fields[i].key, key) == 0)
            return TRUE;
    return FALSE;
}

/* Reads the keys of the table, which must not see the others. */
static gboolean read_plain(SearchSpec *spec, const YamlNode *section, GError **error) {
    if (section == NULL)
        return yaml_read_fields(NULL, plain_fields, G_N_ELEMENTS(plain_fields), spec, error);
    g_autoptr(GPtrArray) keys = g_ptr_array_new();
    g_autoptr(GPtrArray) values = g_ptr_array_new();
    for (guint i = 0; i < section->keys->len; i++) {
        const YamlNode *key = g_ptr_array_index(section->keys, i);
        if (!is_plain(key->text))
            continue;
        g_ptr_array_add(keys, (gpointer)key);
        g_ptr_array_add(values, g_ptr_array_index(section->values, i));
    }
    YamlNode view = *section;
    view.keys = keys;
    view.values = values;
    return yaml_read_fields(&view, plain_fields, G_N_ELEMENTS(plain_fields), spec, error);
}

SearchSpec *search_spec_read(const YamlNode *section, GError **error) {
    g_autoptr(SearchSpec) spec = g_new0(SearchSpec, 1);
    spec->objectives = g_ptr_array_new_with_free_func(free_node);
    if (section != NULL &&
        (!yaml_expect(section, YAML_MAPPING, NULL, error) || !check_keys(section, error)))
        return NULL;
    if (!read_plain(spec, section, error) ||
        !read_objectives(spec, section == NULL ? NULL : yaml_get(section, "objectives"), error))
        return NULL;
    if (section == NULL)
        return g_steal_pointer(&spec);
    spec->place = scalar_at(section, "");
    if (!read_modes(spec, yaml_get(section, "modes"), error) ||
        !read_dimensions(spec, section, error))
        return NULL;
    return g_steal_pointer(&spec);
}

void search_spec_free(SearchSpec *spec) {
    if (spec == NULL)
        return;
    yaml_node_free(spec->place);
    g_ptr_array_unref(spec->objectives);
    g_clear_pointer(&spec->modes, g_array_unref);
    for (guint i = 0; i < N_SEARCH_DIMENSIONS; i++) {
        g_clear_pointer(&spec->values[i], g_array_unref);
        yaml_node_free(spec->places[i]);
    }
    g_free(spec);
}

SearchMethod search_spec_method(const SearchSpec *spec) {
    return spec->method;
}

AnalyticSwitches search_spec_analytic(const SearchSpec *spec) {
    return spec->analytic;
}

const GPtrArray *search_spec_objectives(const SearchSpec *spec) {
    return spec->objectives;
}

/* "tp: [1, 2, 4]" */
static void write_values(const YamlField *field, const GArray *values, guint indent, GString *out) {
    g_string_append_printf(out, "%*s%s: [", (int)indent, "", field->key);
    for (guint i = 0; i < values->len; i++) {
        guint64 value = g_array_index(values, guint64, i);
        g_string_append(out, i > 0 ? ", " : "");
        if (value < field->names.n_names)
            g_string_append(out, field->names.names[value]);
        else
            g_string_append_printf(out, "%" G_GUINT64_FORMAT, value);
    }
    g_string_append(out, "]\n");
}

static void write_objectives(const SearchSpec *spec, guint indent, GString *out) {
    g_string_append_printf(out, "%*sobjectives: [", (int)indent, "");
    for (guint i = 0; i < spec->objectives->len; i++) {
        const YamlNode *objective = g_ptr_array_index(spec->objectives, i);
        g_string_append(out, i > 0 ? ", " : "");
        yaml_write_scalar(out, objective->text);
    }
    g_string_append(out, "]\n");
}

/* The dimensions of one group, under its name. */
static void write_group(const SearchSpec *spec, const char *group, guint indent, GString *out) {
    gboolean begun = group == NULL;
    for (SearchDimensionKind kind = 0; kind < N_SEARCH_DIMENSIONS; kind++) {
        if (spec->values[kind] == NULL || g_strcmp0(search_dimensions[kind].group, group) != 0)
            continue;
        if (!begun)
            g_string_append_printf(out, "%*s%s:\n", (int)indent, "", group);
        begun = TRUE;
        write_values(dimension_field(kind), spec->values[kind], indent + (group != NULL ? 2 : 0),
                     out);
    }
}

void search_spec_write(const SearchSpec *spec, guint indent, GString *out) {
    const YamlField modes = {.key = "modes", .kind = YAML_FIELD_ENUM, .names = policy_mode_names};
    if (spec->place == NULL)
        return;
    yaml_write_fields(out, indent, plain_fields, G_N_ELEMENTS(plain_fields), spec);
    write_objectives(spec, indent, out);
    if (spec->modes != NULL)
        write_values(&modes, spec->modes, indent, out);
    write_group(spec, NULL, indent, out);
    for (SearchDimensionKind kind = 0; kind < N_SEARCH_DIMENSIONS; kind++)
        if (begins_group(kind))
            write_group(spec, search_dimensions[kind].group, indent, out);
}
