/* Models: published parameter counts, KV bytes, and what a config.json may and may not say. */
#include "workloads/model.h"

#include <string.h>

static Model *load(const char *path, GError **error) {
    g_autoptr(YamlNode) root = yaml_load_file(path, error);
    return root ? model_read(root, error) : NULL;
}

static Model *load_shipped(const char *name) {
    g_autofree char *file = g_strconcat(name, ".json", NULL);
    g_autofree char *path =
        g_test_build_filename(G_TEST_DIST, "..", "workloads", "models", file, NULL);
    g_autoptr(GError) error = NULL;
    Model *model = load(path, &error);
    g_assert_no_error(error);
    return model;
}

typedef struct {
    const char *name;
    guint64 parameters; /* of the model card */
    guint64 layers, kv_heads, head_dim, max_context;
    DataType data_type;
} Published;

static const Published published[] = {
    {"llama-2-7b", 6738415616, 32, 32, 128, 4096, DATA_TYPE_FP16},
    {"llama-2-13b", 13015864320, 40, 40, 128, 4096, DATA_TYPE_FP16},
    {"llama-2-70b", 68976648192, 80, 8, 128, 4096, DATA_TYPE_FP16},
    {"llama-30b", 32528943616, 60, 52, 128, 2048, DATA_TYPE_FP16},
    {"llama-3-8b", 8030261248, 32, 8, 128, 8192, DATA_TYPE_BF16},
    {"llama-3.1-8b", 8030261248, 32, 8, 128, 131072, DATA_TYPE_BF16},
    {"codellama-34b", 33743970304, 48, 8, 128, 16384, DATA_TYPE_BF16},
    {"qwen2-72b", 72706203648, 80, 8, 128, 32768, DATA_TYPE_BF16},
    {"mixtral-8x7b", 46702792704, 32, 8, 128, 32768, DATA_TYPE_BF16},
    {"tiny-llama", 250432, 4, 4, 8, 2048, DATA_TYPE_FP16},
    {"tiny-qwen2", 382432, 4, 4, 8, 2048, DATA_TYPE_BF16},
};

static void test_shipped_models_have_the_published_parameters(void) {
    for (gsize i = 0; i < G_N_ELEMENTS(published); i++) {
        g_autoptr(Model) model = load_shipped(published[i].name);
        g_assert_cmpstr(model->name, ==, published[i].name);
        g_assert_cmpuint(model_parameters(model), ==, published[i].parameters);
        g_assert_cmpuint(model->max_context, ==, published[i].max_context);
        g_assert_cmpuint(model->data_type, ==, published[i].data_type);
    }
}

static void test_kv_bytes_per_token(void) {
    for (gsize i = 0; i < G_N_ELEMENTS(published); i++) {
        const Published *row = &published[i];
        g_autoptr(Model) model = load_shipped(row->name);
        guint64 layer_bytes = 2 * row->kv_heads * row->head_dim * 2;
        g_assert_cmpuint(model_kv_bytes_per_token_layer(model), ==, layer_bytes);
        g_assert_cmpuint(model_kv_bytes_per_token(model), ==, row->layers * layer_bytes);
    }
}

/* The formula written out for Qwen2, which has biases on Q, K and V and nowhere else. */
static void test_qwen2_has_qkv_biases(void) {
    g_autoptr(Model) model = load_shipped("qwen2-72b");
    guint64 attention = 8192 * (8192 + 2 * 1024) + (8192 + 2 * 1024) + 8192 * 8192;
    guint64 layer = attention + 3 * G_GUINT64_CONSTANT(8192) * 29568 + 2 * 8192;
    g_assert_true(model->qkv_bias && !model->out_bias && !model->mlp_bias);
    g_assert_cmpuint(model_layer_parameters(model), ==, layer);
    g_assert_cmpuint(model_parameters(model), ==,
                     80 * layer + 2 * G_GUINT64_CONSTANT(152064) * 8192 + 8192);
}

/* Of each layer: a router of 4096 × 8, and eight times what Llama-3 8B, otherwise the same, has. */
static void test_experts_are_parameters(void) {
    g_autoptr(Model) mixture = load_shipped("mixtral-8x7b");
    g_autoptr(Model) dense = load_shipped("llama-3-8b");
    g_assert_cmpuint(mixture->experts, ==, 8);
    g_assert_cmpuint(mixture->experts_per_token, ==, 2);
    g_assert_cmpuint(dense->experts, ==, 0);
    g_assert_cmpuint(model_layer_parameters(mixture) - model_layer_parameters(dense), ==,
                     7 * 3 * G_GUINT64_CONSTANT(4096) * 14336 + 4096 * 8);
    g_assert_false(mixture->qkv_bias || mixture->out_bias || mixture->mlp_bias);
}

#define TYPE "\"model_type\": \"llama\""
#define SIZES                                                                                      \
    "\"hidden_size\": 64, \"intermediate_size\": 96, \"num_hidden_layers\": 2,"                    \
    " \"vocab_size\": 100, \"max_position_embeddings\": 512"
#define HEADS "\"num_attention_heads\": 8"
#define CONFIG(more) "{" TYPE ", " SIZES ", " HEADS more "}"
#define MIXTRAL(more) "{\"model_type\": \"mixtral\", " SIZES ", " HEADS more "}"

static Model *read_text(const char *text, const char *name, GError **error) {
    g_autoptr(YamlNode) root = yaml_load_text(text, name, error);
    return root ? model_read(root, error) : NULL;
}

static Model *read_good(const char *text) {
    g_autoptr(GError) error = NULL;
    Model *model = read_text(text, "folder/some-model.json", &error);
    g_assert_no_error(error);
    return model;
}

static void test_absent_keys_have_defaults(void) {
    static const char *const texts[] = {
        CONFIG(""),
        CONFIG(", \"num_key_value_heads\": null, \"head_dim\": null, \"torch_dtype\": null,"
               " \"quantization_config\": null, \"num_local_experts\": null"),
    };
    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autoptr(Model) model = read_good(texts[i]);
        g_assert_cmpstr(model->name, ==, "some-model");
        g_assert_cmpuint(model->kv_heads, ==, 8);
        g_assert_cmpuint(model->head_dim, ==, 8);
        g_assert_cmpuint(model->data_type, ==, DATA_TYPE_FP16);
        g_assert_false(model->tied_embeddings || model->qkv_bias || model->out_bias ||
                       model->mlp_bias);
    }
}

static void test_keys_are_honoured(void) {
    g_autoptr(Model) plain = read_good(CONFIG(""));
    g_autoptr(Model) tied = read_good(CONFIG(", \"tie_word_embeddings\": true"));
    g_assert_cmpuint(model_parameters(plain) - model_parameters(tied), ==, 6400);
    g_assert_cmpuint(model_head_parameters(tied), ==, 6400 + 64);

    g_autoptr(Model) wide = read_good(CONFIG(", \"head_dim\": 16, \"num_key_value_heads\": 2"));
    g_assert_cmpuint(wide->head_dim, ==, 16);
    g_assert_cmpuint(model_kv_bytes_per_token_layer(wide), ==, 2 * 2 * 16 * 2);
    /* Q and O 64×128 each, K and V 64×32 each, against 4 · 64×64 */
    g_assert_cmpuint(model_layer_parameters(wide) - model_layer_parameters(plain), ==,
                     2 * 64 * 128 + 2 * 64 * 32 - 4 * 64 * 64);

    g_autoptr(Model) biased =
        read_good(CONFIG(", \"attention_bias\": true, \"mlp_bias\": true, \"head_dim\": 8"));
    g_assert_cmpuint(model_layer_parameters(biased) - model_layer_parameters(plain), ==,
                     4 * 64 + 2 * 96 + 64);
}

static void test_numbers_that_only_results_depend_on(void) {
    g_autoptr(Model) plain = read_good(CONFIG(""));
    g_assert_cmpfloat(plain->rope_theta, ==, 10000);
    g_assert_cmpfloat(plain->norm_epsilon, ==, 1e-6);
    g_autoptr(GString) printed = g_string_new(NULL);
    model_write(plain, 0, printed);
    g_assert_null(strstr(printed->str, "rope_theta"));
    g_assert_null(strstr(printed->str, "rms_norm_eps"));

    static const char *const bad[] = {"0", "-1", "\"big\"", "1e300"};
    for (gsize i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autofree char *text = g_strdup_printf(CONFIG(",\n\"rms_norm_eps\": %s"), bad[i]);
        g_autoptr(GError) error = NULL;
        g_assert_null(read_text(text, "m.json", &error));
        g_assert_error(error, INPUT_ERROR, INPUT_ERROR_VALUE);
        g_assert_true(g_str_has_prefix(error->message, "m.json:2:17: "));
    }

    g_autoptr(Model) other =
        read_good(CONFIG(", \"rope_theta\": 500000.0, \"rms_norm_eps\": 1e-05"));
    g_assert_cmpfloat(other->rope_theta, ==, 500000);
    g_assert_cmpfloat(other->norm_epsilon, ==, 1e-5);
}

static void test_data_types_go_by_both_keys(void) {
    static const struct {
        const char *text;
        DataType type;
        const char *name;
        guint bytes;
    } rows[] = {
        {CONFIG(", \"torch_dtype\": \"float16\""), DATA_TYPE_FP16, "fp16", 2},
        {CONFIG(", \"torch_dtype\": \"bfloat16\""), DATA_TYPE_BF16, "bf16", 2},
        {CONFIG(", \"torch_dtype\": \"float32\""), DATA_TYPE_FP32, "fp32", 4},
        {CONFIG(", \"dtype\": \"bfloat16\""), DATA_TYPE_BF16, "bf16", 2},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(Model) model = read_good(rows[i].text);
        g_assert_cmpuint(model->data_type, ==, rows[i].type);
        g_assert_cmpstr(data_type_name(model->data_type), ==, rows[i].name);
        g_assert_cmpuint(data_type_bytes(model->data_type), ==, rows[i].bytes);
    }
}

static void test_foreign_keys_are_ignored(void) {
    g_autoptr(Model) model = read_good(
        CONFIG(", \"architectures\": [\"LlamaForCausalLM\"], \"rope_scaling\": {\"factor\": 8.0},"
               " \"rms_norm_eps\": 1e-05, \"bos_token_id\": 1, \"use_cache\": true,"
               " \"use_sliding_window\": false, \"sliding_window\": 4096,"
               " \"hidden_act\": \"silu\", \"transformers_version\": \"4.31.0\""));
    g_assert_cmpuint(model->hidden, ==, 64);
}

static void test_names_come_from_the_key_or_the_file(void) {
    static const struct {
        const char *text, *file, *name;
    } rows[] = {
        {CONFIG(""), "/models/llama-3.1-8b.json", "llama-3.1-8b"},
        {CONFIG(", \"name\": \"mine\""), "/models/llama-3.1-8b.json", "mine"},
        {CONFIG(""), "experiment.yaml", "llama"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(Model) model = read_text(rows[i].text, rows[i].file, NULL);
        g_assert_nonnull(model);
        g_assert_cmpstr(model->name, ==, rows[i].name);
    }
}

typedef struct {
    const char *text, *message;
    int code; /* InputErrorCode */
} BadModel;

#define MOE "mixture-of-experts models are not modelled: "
static const BadModel bad_models[] = {
    {"[1, 2]", "m.json:1:1: expected the mapping of a config.json, not a sequence",
     INPUT_ERROR_VALUE},
    {"{" SIZES ", " HEADS "}", "m.json:1:1: missing key 'model_type'", INPUT_ERROR_MISSING},
    {"{" TYPE ", " SIZES "}", "m.json:1:1: missing key 'num_attention_heads'", INPUT_ERROR_MISSING},
    {"{" TYPE ",\n \"hiden_size\": 64}",
     "m.json:2:2: unknown key 'hiden_size' (did you mean 'hidden_size'?)", INPUT_ERROR_UNKNOWN},
    {CONFIG(",\n\"num_key_value_head\": 2"),
     "m.json:2:1: unknown key 'num_key_value_head' (did you mean 'num_key_value_heads'?)",
     INPUT_ERROR_UNKNOWN},
    {"{\"model_type\": \"lama\"}",
     "m.json:1:16: unknown model_type 'lama' (did you mean 'llama'?); expected 'llama', 'qwen2' or "
     "'mixtral'",
     INPUT_ERROR_UNKNOWN},
    {"{\"model_type\": \"gpt_neox\"}",
     "m.json:1:16: unknown model_type 'gpt_neox'; expected 'llama', 'qwen2' or 'mixtral'",
     INPUT_ERROR_UNKNOWN},
    {MIXTRAL(""), "m.json:1:1: missing key 'num_local_experts'", INPUT_ERROR_MISSING},
    {MIXTRAL(", \"num_local_experts\": 4"), "m.json:1:1: missing key 'num_experts_per_tok'",
     INPUT_ERROR_MISSING},
    {MIXTRAL(",\n \"num_local_experts\": 0"),
     "m.json:2:23: 'num_local_experts' must lie between 1 and 10000, not 0", INPUT_ERROR_VALUE},
    {MIXTRAL(",\n \"num_local_experts\": 2, \"num_experts_per_tok\": 3"),
     "m.json:2:49: 'num_experts_per_tok' (3) must be at most 'num_local_experts' (2)",
     INPUT_ERROR_CONFLICT},
    {MIXTRAL(",\n \"num_local_expert\": 2, \"num_experts_per_tok\": 1"),
     "m.json:2:2: unknown key 'num_local_expert' (did you mean 'num_local_experts'?)",
     INPUT_ERROR_UNKNOWN},
    {MIXTRAL(",\n \"sliding_window\": 4096"),
     "m.json:2:2: sliding-window attention is not modelled: 'sliding_window'", INPUT_ERROR_UNKNOWN},
    {MIXTRAL(",\n \"num_experts\": 8"), "m.json:2:2: " MOE "'num_experts'", INPUT_ERROR_UNKNOWN},
    {"{\"model_type\": \"qwen2_moe\"}", "m.json:1:16: " MOE "'qwen2_moe'", INPUT_ERROR_UNKNOWN},
    {"{\"model_type\": \"deepseek_v3\"}", "m.json:1:16: " MOE "'deepseek_v3'", INPUT_ERROR_UNKNOWN},
    {CONFIG(",\n \"num_local_experts\": 8"), "m.json:2:2: " MOE "'num_local_experts'",
     INPUT_ERROR_UNKNOWN},
    {CONFIG(",\n \"num_experts\": 64"), "m.json:2:2: " MOE "'num_experts'", INPUT_ERROR_UNKNOWN},
    {CONFIG(",\n \"n_routed_experts\": 256"), "m.json:2:2: " MOE "'n_routed_experts'",
     INPUT_ERROR_UNKNOWN},
    {CONFIG(",\n \"quantization_config\": {\"bits\": 4}"),
     "m.json:2:2: quantised checkpoints are not modelled: 'quantization_config'",
     INPUT_ERROR_UNKNOWN},
    {"{\"text_config\": {" SIZES "}}",
     "m.json:1:2: multimodal models are not modelled: 'text_config'", INPUT_ERROR_UNKNOWN},
    {CONFIG(",\n \"use_sliding_window\": true"),
     "m.json:2:2: sliding-window attention is not modelled: 'use_sliding_window'",
     INPUT_ERROR_UNKNOWN},
    {CONFIG(",\n \"kv_lora_rank\": 512"),
     "m.json:2:2: latent attention is not modelled: 'kv_lora_rank'", INPUT_ERROR_UNKNOWN},
    {CONFIG(",\n \"hidden_act\": \"gelu\""),
     "m.json:2:16: activation 'gelu' is not modelled, expected 'silu'", INPUT_ERROR_UNKNOWN},
    {CONFIG(",\n \"torch_dtype\": \"flaot16\""),
     "m.json:2:17: unknown torch_dtype 'flaot16' (did you mean 'float16'?); expected 'float16', "
     "'bfloat16' or 'float32'",
     INPUT_ERROR_UNKNOWN},
    {CONFIG(",\n \"num_key_value_heads\": 3"),
     "m.json:2:25: 'num_attention_heads' (8) must be a multiple of 'num_key_value_heads' (3)",
     INPUT_ERROR_CONFLICT},
    {CONFIG(",\n \"num_key_value_heads\": 16"),
     "m.json:2:25: 'num_attention_heads' (8) must be a multiple of 'num_key_value_heads' (16)",
     INPUT_ERROR_CONFLICT},
    {"{" TYPE ", \"num_attention_heads\": 7,\n " SIZES "}",
     "m.json:2:17: 'hidden_size' (64) must be a multiple of 'num_attention_heads' (7) without "
     "'head_dim'",
     INPUT_ERROR_CONFLICT},
};

static void test_bad_models_are_refused_with_their_place(void) {
    for (gsize i = 0; i < G_N_ELEMENTS(bad_models); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(Model) model = read_text(bad_models[i].text, "m.json", &error);
        g_assert_null(model);
        g_assert_nonnull(error);
        g_assert_cmpstr(error->message, ==, bad_models[i].message);
        g_assert_error(error, INPUT_ERROR, bad_models[i].code);
    }
}

/* Every count, in turn: zero, negative, beyond every model, fractional, a text. */
static void test_counts_out_of_range_are_refused_at_their_value(void) {
    static const char *const keys[] = {
        "hidden_size",         "intermediate_size", "num_hidden_layers", "num_attention_heads",
        "num_key_value_heads", "head_dim",          "vocab_size",        "max_position_embeddings"};
    static const char *const values[] = {"0", "-4", "1000000000000", "2.5", "\"64\"", "[64]"};
    for (gsize k = 0; k < G_N_ELEMENTS(keys); k++) {
        for (gsize v = 0; v < G_N_ELEMENTS(values); v++) {
            GString *text = g_string_new("{" TYPE);
            for (gsize i = 0; i < G_N_ELEMENTS(keys); i++)
                g_string_append_printf(text, ",\n\"%s\": %s", keys[i], i == k ? values[v] : "8");
            g_string_append_c(text, '}');
            g_autofree char *config = g_string_free(text, FALSE);
            g_autofree char *place =
                g_strdup_printf("m.json:%zu:%zu: ", k + 2, strlen(keys[k]) + 5);
            g_autoptr(GError) error = NULL;
            g_assert_null(read_text(config, "m.json", &error));
            g_assert_error(error, INPUT_ERROR, INPUT_ERROR_VALUE);
            g_assert_true(g_str_has_prefix(error->message, place));
        }
    }
}

static void assert_same_model(const Model *a, const Model *b) {
    g_assert_cmpstr(a->name, ==, b->name);
    g_assert_cmpstr(a->model_type, ==, b->model_type);
    g_assert_cmpuint(a->hidden, ==, b->hidden);
    g_assert_cmpuint(a->layers, ==, b->layers);
    g_assert_cmpuint(a->heads, ==, b->heads);
    g_assert_cmpuint(a->kv_heads, ==, b->kv_heads);
    g_assert_cmpuint(a->head_dim, ==, b->head_dim);
    g_assert_cmpuint(a->ffn, ==, b->ffn);
    g_assert_cmpuint(a->experts, ==, b->experts);
    g_assert_cmpuint(a->experts_per_token, ==, b->experts_per_token);
    g_assert_cmpuint(a->vocab, ==, b->vocab);
    g_assert_cmpuint(a->max_context, ==, b->max_context);
    g_assert_cmpint(a->tied_embeddings, ==, b->tied_embeddings);
    g_assert_cmpint(a->qkv_bias, ==, b->qkv_bias);
    g_assert_cmpint(a->out_bias, ==, b->out_bias);
    g_assert_cmpint(a->mlp_bias, ==, b->mlp_bias);
    g_assert_cmpuint(a->data_type, ==, b->data_type);
    g_assert_cmpfloat(a->rope_theta, ==, b->rope_theta);
    g_assert_cmpint(a->rope_scaling, ==, b->rope_scaling);
    g_assert_cmpfloat(a->norm_epsilon, ==, b->norm_epsilon);
}

/* What is printed, indented below a key as in an experiment, reads back to the same model and
 * prints the same text. */
static void assert_round_trip(const Model *model) {
    g_autoptr(GString) text = g_string_new("model:\n");
    model_write(model, 2, text);
    g_autoptr(GError) error = NULL;
    g_autoptr(YamlNode) root = yaml_load_text(text->str, "experiment.yaml", &error);
    g_assert_no_error(error);
    g_autoptr(Model) again = model_read(yaml_get(root, "model"), &error);
    g_assert_no_error(error);
    assert_same_model(again, model);
    g_autoptr(GString) twice = g_string_new("model:\n");
    model_write(again, 2, twice);
    g_assert_cmpstr(twice->str, ==, text->str);
}

static void test_printed_models_read_back(void) {
    static const char *const texts[] = {
        CONFIG(", \"attention_bias\": true, \"mlp_bias\": true, \"tie_word_embeddings\": true"),
        CONFIG(", \"name\": \"3.1\", \"head_dim\": 24, \"torch_dtype\": \"float32\""),
        CONFIG(", \"name\": \"null\", \"num_key_value_heads\": 1"),
        CONFIG(", \"name\": \"a: b #c\""),
        CONFIG(", \"rope_theta\": 1000000, \"rms_norm_eps\": 1e-05"),
        CONFIG(", \"rope_scaling\": {\"factor\": 8.0, \"rope_type\": \"llama3\"}"),
    };
    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autoptr(Model) model = read_good(texts[i]);
        assert_round_trip(model);
    }
    for (gsize i = 0; i < G_N_ELEMENTS(published); i++) {
        g_autoptr(Model) model = load_shipped(published[i].name);
        assert_round_trip(model);
    }
}

/* Files as their authors published them, where they are at hand. */
static char *real_config(const char *name) {
    const char *shared = g_getenv("INFERGRID_SHARED");
    g_autofree char *beside = g_test_build_filename(G_TEST_DIST, "..", "..", "shared", NULL);
    g_autofree char *path =
        g_build_filename(shared ? shared : beside, "data", "hf-configs", name, NULL);
    if (g_file_test(path, G_FILE_TEST_EXISTS))
        return g_steal_pointer(&path);
    return NULL;
}

static void test_real_files_are_read(void) {
    static const struct {
        const char *file;
        guint64 parameters;
    } rows[] = {
        {"llama-2-7b-hf.config.json", 6738415616},
        {"codellama-34b-instruct-hf.config.json", 33743970304},
        {"llama-3.1-8b-instruct.config.json", 8030261248},
        {"llama-3.1-70b-instruct.config.json", 70553706496},
        {"meta-llama--Meta-Llama-3.1-8B_config.json", 8030261248},
        {"meta-llama--Meta-Llama-3.1-405B_config.json", 405853388800},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *path = real_config(rows[i].file);
        if (!path) {
            g_test_skip("no published config.json at hand (set INFERGRID_SHARED)");
            return;
        }
        g_autoptr(GError) error = NULL;
        g_autoptr(Model) model = load(path, &error);
        g_assert_no_error(error);
        g_assert_cmpuint(model_parameters(model), ==, rows[i].parameters);
    }
}

static void test_a_real_mixture_of_experts_is_read(void) {
    g_autofree char *path = real_config("mixtral-8x7b-v0.1.config.json");
    if (!path) {
        g_test_skip("no published config.json at hand (set INFERGRID_SHARED)");
        return;
    }
    g_autoptr(GError) error = NULL;
    g_autoptr(Model) model = load(path, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(model_parameters(model), ==, 46702792704);
    g_assert_cmpuint(model->experts_per_token, ==, 2);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/model/shipped_models_have_the_published_parameters",
                    test_shipped_models_have_the_published_parameters);
    g_test_add_func("/model/kv_bytes_per_token", test_kv_bytes_per_token);
    g_test_add_func("/model/qwen2_has_qkv_biases", test_qwen2_has_qkv_biases);
    g_test_add_func("/model/experts_are_parameters", test_experts_are_parameters);
    g_test_add_func("/model/absent_keys_have_defaults", test_absent_keys_have_defaults);
    g_test_add_func("/model/keys_are_honoured", test_keys_are_honoured);
    g_test_add_func("/model/numbers_that_only_results_depend_on",
                    test_numbers_that_only_results_depend_on);
    g_test_add_func("/model/data_types_go_by_both_keys", test_data_types_go_by_both_keys);
    g_test_add_func("/model/foreign_keys_are_ignored", test_foreign_keys_are_ignored);
    g_test_add_func("/model/names_come_from_the_key_or_the_file",
                    test_names_come_from_the_key_or_the_file);
    g_test_add_func("/model/bad_models_are_refused_with_their_place",
                    test_bad_models_are_refused_with_their_place);
    g_test_add_func("/model/counts_out_of_range_are_refused_at_their_value",
                    test_counts_out_of_range_are_refused_at_their_value);
    g_test_add_func("/model/printed_models_read_back", test_printed_models_read_back);
    g_test_add_func("/model/real_files_are_read", test_real_files_are_read);
    g_test_add_func("/model/a_real_mixture_of_experts_is_read",
                    test_a_real_mixture_of_experts_is_read);
    return g_test_run();
}
