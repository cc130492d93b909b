/* Reads and prints the model section: a Hugging Face config.json, of which only what changes shapes
 * matters. What would change them in a way that is not modelled is refused; the rest is ignored. */
#include "workloads/model.h"

#include <string.h>

typedef struct CountKey {
    const char *key;
    gsize offset; /* of a guint64 in Model */
    guint64 max;  /* beyond every model there is, and small enough that no product overflows */
    gboolean optional;
} CountKey;

static const CountKey count_keys[] = {
    {"hidden_size", offsetof(Model, hidden), 1000000, FALSE},
    {"intermediate_size", offsetof(Model, ffn), 10000000, FALSE},
    {"num_hidden_layers", offsetof(Model, layers), 10000, FALSE},
    {"num_attention_heads", offsetof(Model, heads), 10000, FALSE},
    {"num_key_value_heads", offsetof(Model, kv_heads), 10000, TRUE},
    {"head_dim", offsetof(Model, head_dim), 10000, TRUE},
    {"vocab_size", offsetof(Model, vocab), 10000000, FALSE},
    {"max_position_embeddings", offsetof(Model, max_context), 100000000, FALSE},
    {"num_local_experts", offsetof(Model, experts), 10000, TRUE},
    {"num_experts_per_tok", offsetof(Model, experts_per_token), 10000, TRUE},
};

/* Keys that are read, each long enough that one close to it can only be a slip. */
static const char *const known_keys[] = {
    "model_type",          "hidden_size",
    "intermediate_size",   "num_hidden_layers",
    "num_attention_heads", "head_dim",
    "vocab_size",          "max_position_embeddings",
    "num_key_value_heads", "torch_dtype",
    "hidden_act",          "tie_word_embeddings",
    "attention_bias",      "mlp_bias",
    "rope_theta",          "rms_norm_eps",
    "num_local_experts",   "num_experts_per_tok",
    "rope_scaling",
};

/* Real numbers that only what is computed depends on, with the defaults of Hugging Face. */
typedef struct RealKey {
    const char *key;
    gsize offset; /* of a double in Model */
    double fallback, max;
} RealKey;

static const RealKey real_keys[] = {
    {"rope_theta", offsetof(Model, rope_theta), 1e4, 1e12},
    {"rms_norm_eps", offsetof(Model, norm_epsilon), 1e-6, 1},
};

static const char *const model_types[] = {"llama", "qwen2", "mixtral"};
enum { MODEL_TYPE_LLAMA, MODEL_TYPE_QWEN2, MODEL_TYPE_MIXTRAL };

static const char *const moe_types[] = {
    "qwen2_moe", "qwen3_moe", "deepseek_v2", "deepseek_v3", "phimoe", "olmoe",
    "jamba",     "dbrx",      "granitemoe",  "gpt_oss",     "llama4", "llama4_text",
};

/* Keys whose presence (true, or anything that is neither null nor false) makes another model. */
typedef struct ForeignKey {
    const char *key, *what;
    gboolean in_mixtral, elsewhere; /* where it is foreign */
} ForeignKey;

#define MOE_FOREIGN "mixture-of-experts models are not modelled"
#define WINDOW_FOREIGN "sliding-window attention is not modelled"
static const ForeignKey foreign_keys[] = {
    {"num_local_experts", MOE_FOREIGN, FALSE, TRUE},
    {"num_experts", MOE_FOREIGN, TRUE, TRUE},
    {"n_routed_experts", MOE_FOREIGN, TRUE, TRUE},
    {"num_experts_per_tok", MOE_FOREIGN, FALSE, TRUE},
    {"quantization_config", "quantised checkpoints are not modelled", TRUE, TRUE},
    {"text_config", "multimodal models are not modelled", TRUE, TRUE},
    {"kv_lora_rank", "latent attention is not modelled", TRUE, TRUE},
    {"use_sliding_window", WINDOW_FOREIGN, TRUE, TRUE},
    {"sliding_window", WINDOW_FOREIGN, TRUE, FALSE}, /* Qwen2 has a switch for it besides */
};

static const char *const torch_types[N_DATA_TYPES] = {"float16", "bfloat16", "float32"};

static gboolean is_plain_scalar(const YamlNode *node, const char *text) {
    return node->type == YAML_SCALAR && !node->quoted && strcmp(node->text, text) == 0;
}

/* The value of 'key'; a JSON null counts as absent. */
static const YamlNode *get(const YamlNode *section, const char *key) {
    const YamlNode *value = yaml_get(section, key);
    if (!value || is_plain_scalar(value, "null") || is_plain_scalar(value, "~") ||
        is_plain_scalar(value, ""))
        return NULL;
    return value;
}

static const YamlNode *key_node(const YamlNode *section, const char *key) {
    for (guint i = 0; i < section->keys->len; i++) {
        const YamlNode *node = g_ptr_array_index(section->keys, i);
        if (strcmp(node->text, key) == 0)
            return node;
    }
    g_assert_not_reached();
}

static gboolean is_one_of(const char *word, const char *const *words, gsize n_words) {
    for (gsize i = 0; i < n_words; i++)
        if (strcmp(word, words[i]) == 0)
            return TRUE;
    return FALSE;
}

static gboolean is_type(const char *type, int expected) {
    return strcmp(type, model_types[expected]) == 0;
}

static gboolean refuse_foreign_keys(const YamlNode *section, GError **error) {
    const YamlNode *type = get(section, "model_type");
    gboolean is_mixtral =
        type && type->type == YAML_SCALAR && is_type(type->text, MODEL_TYPE_MIXTRAL);
    for (gsize i = 0; i < G_N_ELEMENTS(foreign_keys); i++) {
        const YamlNode *value = get(section, foreign_keys[i].key);
        gboolean is_foreign = is_mixtral ? foreign_keys[i].in_mixtral : foreign_keys[i].elsewhere;
        if (is_foreign && value && !is_plain_scalar(value, "false"))
            return yaml_error(key_node(section, foreign_keys[i].key), INPUT_ERROR_UNKNOWN, error,
                              "%s: '%s'", foreign_keys[i].what, foreign_keys[i].key);
    }
    return TRUE;
}

/* Unknown keys are ignored unless one is a slip of a key that is not there: then leaving it out
 * would silently read another model. */
static gboolean refuse_slips(const YamlNode *section, GError **error) {
    for (guint i = 0; i < section->keys->len; i++) {
        const YamlNode *key = g_ptr_array_index(section->keys, i);
        if (is_one_of(key->text, known_keys, G_N_ELEMENTS(known_keys)))
            continue;
        const char *meant = near_miss(key->text, known_keys, G_N_ELEMENTS(known_keys));
        if (meant && !yaml_get(section, meant))
            return yaml_error(key, INPUT_ERROR_UNKNOWN, error,
                              "unknown key '%s' (did you mean '%s'?)", key->text, meant);
    }
    return TRUE;
}

static gboolean missing(const YamlNode *section, const char *key, GError **error) {
    return yaml_error(section, INPUT_ERROR_MISSING, error, "missing key '%s'", key);
}

static gboolean read_model_type(const YamlNode *section, Model *model, GError **error) {
    const YamlNode *node = get(section, "model_type");
    if (!node)
        return missing(section, "model_type", error);
    if (node->type == YAML_SCALAR && is_one_of(node->text, moe_types, G_N_ELEMENTS(moe_types)))
        return yaml_error(node, INPUT_ERROR_UNKNOWN, error,
                          "mixture-of-experts models are not modelled: '%s'", node->text);
    int type = 0;
    if (!yaml_read_enum(node, (YamlEnum)YAML_ENUM_OF(model_types), &type, error))
        return FALSE;
    model->model_type = g_strdup(model_types[type]);
    return TRUE;
}

static gboolean read_counts(const YamlNode *section, Model *model, GError **error) {
    for (gsize i = 0; i < G_N_ELEMENTS(count_keys); i++) {
        const CountKey *row = &count_keys[i];
        const YamlNode *node = get(section, row->key);
        if (!node && row->optional)
            continue;
        if (!node)
            return missing(section, row->key, error);
        guint64 *value = G_STRUCT_MEMBER_P(model, row->offset);
        if (!yaml_read_count(node, 1, row->max, value, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean read_reals(const YamlNode *section, Model *model, GError **error) {
    for (gsize i = 0; i < G_N_ELEMENTS(real_keys); i++) {
        const RealKey *row = &real_keys[i];
        const YamlNode *node = get(section, row->key);
        double *value = G_STRUCT_MEMBER_P(model, row->offset);
        *value = row->fallback;
        if (node && !yaml_read_real(node, DIMENSION_NONE, YAML_ABOVE_ZERO, row->max, value, error))
            return FALSE;
    }
    return TRUE;
}

/* Heads that are not given follow from those that are (Llama-1 and the first Llama-2 files know no
 * num_key_value_heads; head_dim is new). */
static gboolean complete_heads(const YamlNode *section, Model *model, GError **error) {
    if (model->kv_heads == 0)
        model->kv_heads = model->heads;
    g_assert(model->kv_heads > 0);
    if (model->heads % model->kv_heads != 0)
        return yaml_error(get(section, "num_key_value_heads"), INPUT_ERROR_CONFLICT, error,
                          "'num_attention_heads' (%" G_GUINT64_FORMAT ") must be a multiple of "
                          "'num_key_value_heads' (%" G_GUINT64_FORMAT ")",
                          model->heads, model->kv_heads);
    if (model->head_dim != 0)
        return TRUE;
    if (model->hidden % model->heads != 0)
        return yaml_error(get(section, "hidden_size"), INPUT_ERROR_CONFLICT, error,
                          "'hidden_size' (%" G_GUINT64_FORMAT ") must be a multiple of "
                          "'num_attention_heads' (%" G_GUINT64_FORMAT ") without 'head_dim'",
                          model->hidden, model->heads);
    model->head_dim = model->hidden / model->heads;
    return TRUE;
}

/* A mixture says how many experts there are and how many a token goes to: without, it would be
 * another model. */
static gboolean check_experts(const YamlNode *section, const Model *model, GError **error) {
    if (!is_type(model->model_type, MODEL_TYPE_MIXTRAL))
        return TRUE;
    if (model->experts == 0)
        return missing(section, "num_local_experts", error);
    if (model->experts_per_token == 0)
        return missing(section, "num_experts_per_tok", error);
    if (model->experts_per_token <= model->experts)
        return TRUE;
    return yaml_error(get(section, "num_experts_per_tok"), INPUT_ERROR_CONFLICT, error,
                      "'num_experts_per_tok' (%" G_GUINT64_FORMAT ") must be at most "
                      "'num_local_experts' (%" G_GUINT64_FORMAT ")",
                      model->experts_per_token, model->experts);
}

/* Newer files say dtype for torch_dtype. Absent means float16, in which Llama weights are published
 * and served. */
static gboolean read_data_type(const YamlNode *section, Model *model, GError **error) {
    const YamlNode *node = get(section, "torch_dtype");
    if (!node)
        node = get(section, "dtype");
    int type = DATA_TYPE_FP16;
    if (node && !yaml_read_enum(node, (YamlEnum)YAML_ENUM_OF(torch_types), &type, error))
        return FALSE;
    model->data_type = (DataType)type;
    return TRUE;
}

static gboolean read_flag(const YamlNode *section, const char *key, gboolean *flag,
                          GError **error) {
    const YamlNode *node = get(section, key);
    return !node || yaml_read_bool(node, flag, error);
}

/* null, or how the rotary angles are stretched: only whether is kept. */
static void read_rope_scaling(const YamlNode *section, Model *model) {
    model->rope_scaling = get(section, "rope_scaling") != NULL;
}

static gboolean read_flags(const YamlNode *section, Model *model, GError **error) {
    gboolean attention_bias = FALSE, mlp_bias = FALSE;
    if (!read_flag(section, "tie_word_embeddings", &model->tied_embeddings, error) ||
        !read_flag(section, "attention_bias", &attention_bias, error) ||
        !read_flag(section, "mlp_bias", &mlp_bias, error))
        return FALSE;
    gboolean is_llama = is_type(model->model_type, MODEL_TYPE_LLAMA);
    gboolean is_qwen2 = is_type(model->model_type, MODEL_TYPE_QWEN2); /* always, without a key */
    model->qkv_bias = (is_llama && attention_bias) || is_qwen2;
    model->out_bias = attention_bias && is_llama;
    model->mlp_bias = mlp_bias && is_llama;
    return TRUE;
}

static gboolean check_activation(const YamlNode *section, GError **error) {
    const YamlNode *node = get(section, "hidden_act");
    if (!node)
        return TRUE;
    if (!yaml_expect(node, YAML_SCALAR, "the name of an activation", error))
        return FALSE;
    if (strcmp(node->text, "silu") == 0)
        return TRUE;
    g_autofree char *found = yaml_describe(node);
    return yaml_error(node, INPUT_ERROR_UNKNOWN, error,
                      "activation %s is not modelled, expected 'silu'", found);
}

/* The key 'name', or the file's name; a section within another file is called by its type. */
static gboolean read_name(const YamlNode *section, Model *model, GError **error) {
    const YamlNode *node = get(section, "name");
    if (node && !yaml_expect(node, YAML_SCALAR, "a name", error))
        return FALSE;
    g_autofree char *base = g_path_get_basename(section->origin);
    if (node)
        model->name = g_strdup(node->text);
    else if (g_str_has_suffix(base, ".json"))
        model->name = g_strndup(base, strlen(base) - strlen(".json"));
    else
        model->name = g_strdup(model->model_type);
    return TRUE;
}

Model *model_read(const YamlNode *section, GError **error) {
    g_autoptr(Model) model = g_new0(Model, 1);
    if (!yaml_expect(section, YAML_MAPPING, "the mapping of a config.json", error) ||
        !refuse_foreign_keys(section, error) || !refuse_slips(section, error) ||
        !read_model_type(section, model, error) || !read_counts(section, model, error) ||
        !complete_heads(section, model, error) || !check_experts(section, model, error) ||
        !read_data_type(section, model, error) || !read_flags(section, model, error) ||
        !read_reals(section, model, error) || !check_activation(section, error) ||
        !read_name(section, model, error))
        return NULL;
    read_rope_scaling(section, model);
    return g_steal_pointer(&model);
}

static void write_text(GString *out, guint indent, const char *key, const char *text) {
    g_string_append_printf(out, "%*s%s: ", (int)indent, "", key);
    yaml_write_scalar(out, text);
    g_string_append_c(out, '\n');
}

static void write_flag(GString *out, guint indent, const char *key, gboolean flag) {
    g_string_append_printf(out, "%*s%s: %s\n", (int)indent, "", key, flag ? "true" : "false");
}

/* Those that are not as they would be anyway. */
static void write_reals(const Model *model, guint indent, GString *out) {
    for (gsize i = 0; i < G_N_ELEMENTS(real_keys); i++) {
        double value = G_STRUCT_MEMBER(double, model, real_keys[i].offset);
        if (value == real_keys[i].fallback)
            continue;
        g_autofree char *text = units_format(value, DIMENSION_NONE);
        g_string_append_printf(out, "%*s%s: %s\n", (int)indent, "", real_keys[i].key, text);
    }
}

void model_write(const Model *model, guint indent, GString *out) {
    write_text(out, indent, "name", model->name);
    write_text(out, indent, "model_type", model->model_type);
    for (gsize i = 0; i < G_N_ELEMENTS(count_keys); i++) {
        guint64 value = G_STRUCT_MEMBER(guint64, model, count_keys[i].offset);
        if (value > 0) /* a dense model has no experts */
            g_string_append_printf(out, "%*s%s: %" G_GUINT64_FORMAT "\n", (int)indent, "",
                                   count_keys[i].key, value);
    }
    write_flag(out, indent, "tie_word_embeddings", model->tied_embeddings);
    write_flag(out, indent, "attention_bias", model->qkv_bias);
    write_flag(out, indent, "mlp_bias", model->mlp_bias);
    write_text(out, indent, "torch_dtype", torch_types[model->data_type]);
    write_reals(model, indent, out);
    if (model->rope_scaling)
        g_string_append_printf(out, "%*srope_scaling: {}\n", (int)indent, "");
}
