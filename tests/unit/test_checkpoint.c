/* Checkpoints: every tensor where it belongs, conversion to FP16, wrong files and folders, and
 * what seeded weights promise. */
#include "workloads/checkpoint.h"

#include "tests/unit/safetensors_writer.h"
#include "workloads/half.h"

#include <glib/gstdio.h>

#define NO_LIMIT 1e9
#define SAFE "model.safetensors"
#define INDEX "model.safetensors.index.json"

static const Model micro = {.name = "micro",
                            .model_type = "qwen2",
                            .hidden = 8,
                            .layers = 1,
                            .heads = 2,
                            .kv_heads = 1,
                            .head_dim = 3,
                            .ffn = 5,
                            .vocab = 7,
                            .max_context = 32,
                            .qkv_bias = TRUE};

/* What Hugging Face calls the tensors of that model. */
typedef struct Entry {
    const char *name, *shape;
    guint elements;
} Entry;

static const Entry entries[] = {
    {"model.embed_tokens.weight", "[7, 8]", 56},
    {"model.norm.weight", "[8]", 8},
    {"lm_head.weight", "[7, 8]", 56},
    {"model.layers.0.input_layernorm.weight", "[8]", 8},
    {"model.layers.0.self_attn.q_proj.weight", "[6, 8]", 48},
    {"model.layers.0.self_attn.k_proj.weight", "[3, 8]", 24},
    {"model.layers.0.self_attn.v_proj.weight", "[3, 8]", 24},
    {"model.layers.0.self_attn.q_proj.bias", "[6]", 6},
    {"model.layers.0.self_attn.k_proj.bias", "[3]", 3},
    {"model.layers.0.self_attn.v_proj.bias", "[3]", 3},
    {"model.layers.0.self_attn.o_proj.weight", "[8, 6]", 48},
    {"model.layers.0.post_attention_layernorm.weight", "[8]", 8},
    {"model.layers.0.mlp.gate_proj.weight", "[5, 8]", 40},
    {"model.layers.0.mlp.up_proj.weight", "[5, 8]", 40},
    {"model.layers.0.mlp.down_proj.weight", "[8, 5]", 40},
};
#define N_ENTRIES G_N_ELEMENTS(entries)
#define Q 4 /* the entry of q_proj.weight */

/* A folder that is removed with all that was written there. */
typedef struct Folder {
    char *path, *file, *index;
} Folder;

static void folder_init(Folder *folder, gconstpointer data) {
    (void)data;
    folder->path = g_dir_make_tmp("checkpoint-XXXXXX", NULL);
    g_assert_nonnull(folder->path);
    folder->file = g_build_filename(folder->path, SAFE, NULL);
    folder->index = g_build_filename(folder->path, INDEX, NULL);
}

static void folder_clear(Folder *folder, gconstpointer data) {
    (void)data;
    g_autoptr(GDir) dir = g_dir_open(folder->path, 0, NULL);
    for (const char *name; (name = g_dir_read_name(dir)) != NULL;) {
        g_autofree char *path = g_build_filename(folder->path, name, NULL);
        g_assert_cmpint(g_remove(path), ==, 0);
    }
    g_assert_cmpint(g_rmdir(folder->path), ==, 0);
    g_free(folder->path);
    g_free(folder->file);
    g_free(folder->index);
}

/* Element i of entry e holds a whole number that no other element holds. */
static float value_of(gsize e, guint i) {
    return (float)(e * 64 + i);
}

/* The entry as FP16, under another name or shape when those are given. */
static void add_entry(SafetensorsWriter *writer, gsize e, const char *name, const char *shape) {
    guint16 values[64];
    for (guint i = 0; i < entries[e].elements; i++)
        values[i] = GUINT16_TO_LE(half_from_float(value_of(e, i)));
    g_autofree char *form =
        g_strdup_printf("\"dtype\": \"F16\", \"shape\": %s", shape ? shape : entries[e].shape);
    safetensors_writer_add(writer, name ? name : entries[e].name, form, values,
                           entries[e].elements * sizeof values[0]);
}

static void add_entries(SafetensorsWriter *writer, gsize from, gsize end) {
    for (gsize e = from; e < end; e++)
        add_entry(writer, e, NULL, NULL);
}

static void write_entries(const char *path, guint padding) {
    g_auto(SafetensorsWriter) writer = safetensors_writer();
    add_entries(&writer, 0, N_ENTRIES);
    safetensors_writer_save(&writer, path, padding);
}

static void assert_loads(const char *path, const Model *model) {
    g_autoptr(GError) error = NULL;
    g_autoptr(Checkpoint) checkpoint = checkpoint_load(path, model, NO_LIMIT, &error);
    g_assert_no_error(error);
    g_assert_nonnull(checkpoint);
}

/* 'expected' follows 'place' in the message. */
static void assert_refused_at(const char *path, const Model *model, const char *place,
                              const char *expected) {
    g_autoptr(GError) error = NULL;
    g_autoptr(Checkpoint) checkpoint = checkpoint_load(path, model, NO_LIMIT, &error);
    g_assert_null(checkpoint);
    g_assert_nonnull(error);
    g_assert_true(error->domain == INPUT_ERROR);
    g_assert_true(g_str_has_prefix(error->message, place));
    g_assert_cmpstr(error->message + strlen(place), ==, expected);
}

static void assert_tensor(Tensor tensor, gsize e, guint64 rows, guint64 columns) {
    g_assert_cmpuint(tensor.rows, ==, rows);
    g_assert_cmpuint(tensor.columns, ==, columns);
    g_assert_cmpuint(rows * columns, ==, entries[e].elements);
    for (guint i = 0; i < entries[e].elements; i++)
        g_assert_cmphex(tensor.values[i], ==, half_from_float(value_of(e, i)));
}

static void assert_holds_entries(const char *path) {
    static const struct {
        LayerTensor tensor;
        gsize entry;
        guint64 rows, columns;
    } layer[] = {
        {TENSOR_INPUT_NORM, 3, 1, 8}, {TENSOR_Q, 4, 6, 8},      {TENSOR_K, 5, 3, 8},
        {TENSOR_V, 6, 3, 8},          {TENSOR_Q_BIAS, 7, 1, 6}, {TENSOR_K_BIAS, 8, 1, 3},
        {TENSOR_V_BIAS, 9, 1, 3},     {TENSOR_O, 10, 8, 6},     {TENSOR_POST_NORM, 11, 1, 8},
        {TENSOR_GATE, 12, 5, 8},      {TENSOR_UP, 13, 5, 8},    {TENSOR_DOWN, 14, 8, 5},
    };
    g_autoptr(GError) error = NULL;
    g_autoptr(Checkpoint) checkpoint = checkpoint_load(path, &micro, NO_LIMIT, &error);
    g_assert_no_error(error);
    assert_tensor(checkpoint_embedding(checkpoint), 0, 7, 8);
    assert_tensor(checkpoint_final_norm(checkpoint), 1, 1, 8);
    assert_tensor(checkpoint_head(checkpoint), 2, 7, 8);
    g_assert_cmpuint(G_N_ELEMENTS(layer), ==, N_LAYER_TENSORS);
    for (gsize i = 0; i < G_N_ELEMENTS(layer); i++)
        assert_tensor(checkpoint_layer(checkpoint, 0, layer[i].tensor), layer[i].entry,
                      layer[i].rows, layer[i].columns);
}

/* Both alignments: values in place, and values that must be copied. */
static void test_tensors_are_where_they_belong(Folder *folder, gconstpointer data) {
    (void)data;
    for (guint padding = 0; padding < 4; padding++) {
        write_entries(folder->file, padding);
        assert_holds_entries(folder->file);
    }
    assert_holds_entries(folder->path);
}

/* One change to the right file, and what is then said after its path. */
typedef struct Change {
    gsize entry;
    const char *name, *shape, *message;
} Change;

static const Change changes[] = {
    {Q, "model.layers.0.self_atn.q_proj.weight", NULL,
     ": missing tensor 'model.layers.0.self_attn.q_proj.weight' (did you mean "
     "'model.layers.0.self_atn.q_proj.weight'?)"},
    {Q, "transformer.h.0.attn.q.weight", NULL,
     ": missing tensor 'model.layers.0.self_attn.q_proj.weight'"},
    {Q, NULL, "[8, 6]",
     ": tensor 'model.layers.0.self_attn.q_proj.weight' is [8, 6], expected [6, 8]"},
    {Q, NULL, "[48]", ": tensor 'model.layers.0.self_attn.q_proj.weight' is [48], expected [6, 8]"},
    {1, NULL, "[1, 8]", ": tensor 'model.norm.weight' is [1, 8], expected [8]"},
};

static void test_wrong_tensors_are_named(Folder *folder, gconstpointer data) {
    (void)data;
    for (gsize i = 0; i < G_N_ELEMENTS(changes); i++) {
        const Change *change = &changes[i];
        g_auto(SafetensorsWriter) writer = safetensors_writer();
        add_entries(&writer, 0, change->entry);
        add_entry(&writer, change->entry, change->name, change->shape);
        add_entries(&writer, change->entry + 1, N_ENTRIES);
        safetensors_writer_save(&writer, folder->file, 0);
        assert_refused_at(folder->file, &micro, folder->file, change->message);
    }
}

/* Weights that would not be used: other biases, other layers. */
static void test_strangers_are_refused_and_known_extras_left_out(Folder *folder,
                                                                 gconstpointer data) {
    (void)data;
    static const struct {
        const char *name, *message;
    } extras[] = {
        {"model.layers.0.self_attn.rotary_emb.inv_freq", NULL},
        {"model.layers.1.mlp.up_proj.weight",
         ": tensor 'model.layers.1.mlp.up_proj.weight' is not one of 'micro'"},
        {"model.layers.0.self_attn.o_proj.bias",
         ": tensor 'model.layers.0.self_attn.o_proj.bias' is not one of 'micro'"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(extras); i++) {
        g_auto(SafetensorsWriter) writer = safetensors_writer();
        add_entries(&writer, 0, N_ENTRIES);
        add_entry(&writer, 1, extras[i].name, NULL);
        safetensors_writer_save(&writer, folder->file, 0);
        if (extras[i].message)
            assert_refused_at(folder->file, &micro, folder->file, extras[i].message);
        else
            assert_loads(folder->file, &micro);
    }
}

/* Another model than the file's: without biases, or tied. */
static void test_the_model_decides_what_is_expected(Folder *folder, gconstpointer data) {
    (void)data;
    Model unbiased = micro, tied = micro;
    unbiased.qkv_bias = FALSE;
    tied.tied_embeddings = TRUE;
    write_entries(folder->file, 0);
    assert_refused_at(folder->file, &unbiased, folder->file,
                      ": tensor 'model.layers.0.self_attn.q_proj.bias' is not one of 'micro'");
    g_autoptr(GError) error = NULL;
    g_autoptr(Checkpoint) checkpoint = checkpoint_load(folder->file, &tied, NO_LIMIT, &error);
    g_assert_no_error(error);
    g_assert_true(checkpoint_head(checkpoint).values == checkpoint_embedding(checkpoint).values);
}

static void test_what_does_not_fit_is_refused(Folder *folder, gconstpointer data) {
    (void)data;
    Model large = micro, biased = micro;
    large.hidden = large.ffn = large.vocab = 10000;
    large.layers = 10;
    biased.mlp_bias = TRUE;
    write_entries(folder->file, 0);
    /* 10 · (3 · 1e8 + …) + 2 · 1e8 parameters of two bytes each */
    assert_refused_at(folder->file, &large, folder->file,
                      ": 'micro' needs 6.404 GB, more than the 1 GB allowed");
    assert_refused_at(folder->file, &biased, folder->file,
                      ": 'micro' has feed-forward biases, which is not computed");
    biased.out_bias = TRUE;
    g_autoptr(GError) error = NULL;
    g_assert_false(checkpoint_check(&biased, NO_LIMIT, &error));
    g_assert_cmpstr(error->message, ==,
                    "'micro' has output projection biases, which is not computed");
    Model stretched = micro;
    stretched.rope_scaling = TRUE;
    g_clear_error(&error);
    g_assert_false(checkpoint_check(&stretched, NO_LIMIT, &error));
    g_assert_cmpstr(error->message, ==,
                    "'micro' stretches its rotary angles ('rope_scaling'), which is not computed");
    guint elements = 0;
    for (gsize e = 0; e < N_ENTRIES; e++)
        elements += entries[e].elements;
    g_assert_cmpfloat(checkpoint_bytes(&micro), ==, 2.0 * elements);
    g_assert_true(checkpoint_check(&micro, 2.0 * elements, NULL));
    g_assert_false(checkpoint_check(&micro, 2.0 * elements - 1, NULL));
}

/* Bits of a value in a file of 'type', and what becomes of it: a half, or a complaint. */
typedef struct Conversion {
    const char *type;
    guint32 bits;
    guint16 half;
    const char *what;
} Conversion;

#define NOT_FINITE "a value that is not a finite number"
static const Conversion conversions[] = {
    {"F16", 0x3C00, 0x3C00, NULL},
    {"F16", 0x7C00, 0, NOT_FINITE},
    {"F16", 0xFE00, 0, NOT_FINITE},
    {"BF16", 0x3F80, 0x3C00, NULL}, /* 1 */
    {"BF16", 0xC049, 0xC248, NULL}, /* −3.140625 */
    {"BF16", 0x3300, 0x0000, NULL}, /* 2^-25, half of the smallest half: to even */
    {"BF16", 0x3301, 0x0001, NULL}, /* a little more */
    {"BF16", 0x477F, 0x7BF8, NULL}, /* 65280 */
    {"BF16", 0x4780, 0, "65536, beyond FP16's largest, 65504,"},
    {"BF16", 0x7FC0, 0, NOT_FINITE},
    {"F32", 0x40490FDB, 0x4248, NULL}, /* π */
    {"F32", 0xC77FEFFF, 0xFBFF, NULL}, /* just above −65520 */
    {"F32", 0xC77FF000, 0, "-65520, beyond FP16's largest, 65504,"},
    {"F32", 0xFF800000, 0, NOT_FINITE},
};

/* The final norm in the type of the conversion: seven ones and, last, the value. */
static void write_conversion(const Conversion *conversion, const char *path) {
    guint bytes = strcmp(conversion->type, "F32") == 0 ? 4 : 2;
    guint32 one = bytes == 4 ? 0x3F800000 : conversion->type[0] == 'F' ? 0x3C00 : 0x3F80;
    guint8 values[8 * 4];
    for (guint i = 0; i < 8; i++) {
        guint32 bits = GUINT32_TO_LE(i < 7 ? one : conversion->bits);
        memcpy(values + i * bytes, &bits, bytes);
    }
    g_auto(SafetensorsWriter) writer = safetensors_writer();
    g_autofree char *form = g_strdup_printf("\"dtype\": \"%s\", \"shape\": [8]", conversion->type);
    add_entries(&writer, 0, 1);
    add_entries(&writer, 2, N_ENTRIES);
    safetensors_writer_add(&writer, entries[1].name, form, values, (gsize)8 * bytes);
    safetensors_writer_save(&writer, path, 0);
}

static void assert_converts(const Conversion *conversion, const char *path) {
    g_autoptr(GError) error = NULL;
    g_autoptr(Checkpoint) checkpoint = checkpoint_load(path, &micro, NO_LIMIT, &error);
    g_assert_no_error(error);
    g_assert_cmphex(checkpoint_final_norm(checkpoint).values[6], ==, 0x3C00);
    g_assert_cmphex(checkpoint_final_norm(checkpoint).values[7], ==, conversion->half);
}

static void test_other_types_become_halves(Folder *folder, gconstpointer data) {
    (void)data;
    for (gsize i = 0; i < G_N_ELEMENTS(conversions); i++) {
        const Conversion *conversion = &conversions[i];
        write_conversion(conversion, folder->file);
        if (!conversion->what) {
            assert_converts(conversion, folder->file);
            continue;
        }
        GStatBuf facts;
        g_assert_cmpint(g_stat(folder->file, &facts), ==, 0);
        guint bytes = strcmp(conversion->type, "F32") == 0 ? 4 : 2;
        g_autofree char *message =
            g_strdup_printf(": tensor 'model.norm.weight' holds %s at byte %" G_GINT64_FORMAT,
                            conversion->what, (gint64)facts.st_size - bytes);
        assert_refused_at(folder->file, &micro, folder->file, message);
    }
}

/* Entries before 'split' in one file, the others in a second. */
static void write_shards(const Folder *folder, gsize split) {
    static const char *const names[] = {"a.safetensors", "b.safetensors"};
    const gsize borders[] = {0, split, N_ENTRIES};
    g_autoptr(GString) map = g_string_new(NULL);
    for (guint shard = 0; shard < 2; shard++) {
        g_auto(SafetensorsWriter) writer = safetensors_writer();
        g_autofree char *path = g_build_filename(folder->path, names[shard], NULL);
        add_entries(&writer, borders[shard], borders[shard + 1]);
        safetensors_writer_save(&writer, path, 0);
        for (gsize e = borders[shard]; e < borders[shard + 1]; e++)
            g_string_append_printf(map, "%s\n\"%s\": \"%s\"", e > 0 ? "," : "", entries[e].name,
                                   names[shard]);
    }
    g_autofree char *text =
        g_strdup_printf("{\"metadata\": {\"total_size\": 824},\n\"weight_map\": {%s}}\n", map->str);
    write_bytes(folder->index, text, strlen(text));
}

static void test_an_index_spreads_tensors_over_files(Folder *folder, gconstpointer data) {
    (void)data;
    write_shards(folder, 5);
    assert_holds_entries(folder->path);
}

/* The index with 'from' replaced once by 'to'. */
static void change_index(const Folder *folder, const char *from, const char *to) {
    g_autofree char *text = NULL;
    g_assert_true(g_file_get_contents(folder->index, &text, NULL, NULL));
    char *at = strstr(text, from);
    g_assert_nonnull(at);
    g_autofree char *changed =
        g_strdup_printf("%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    write_bytes(folder->index, changed, strlen(changed));
}

static void test_wrong_indices_are_refused(Folder *folder, gconstpointer data) {
    (void)data;
    static const struct {
        const char *from, *to, *message;
    } rows[] = {
        {"weight_map", "weigth_map", ":1:1: missing key 'weight_map'"},
        {"\"b.safetensors\"", "\"../b.safetensors\"",
         ":8:43: expected a .safetensors file of the same folder, not '../b.safetensors'"},
        {"\"b.safetensors\"", "\"b.bin\"",
         ":8:43: expected a .safetensors file of the same folder, not 'b.bin'"},
        {"\"b.safetensors\"", "[]",
         ":8:43: expected the name of a file for 'model.layers.0.self_attn.k_proj.weight', not a "
         "sequence"},
        {"\"a.safetensors\"", "\"b.safetensors\"",
         ":3:1: tensor 'model.embed_tokens.weight' is not in 'b.safetensors'"},
        {"\"model.norm.weight\"", "\"model.nrm.weight\"",
         ":4:1: tensor 'model.nrm.weight' is not in 'a.safetensors'"},
        {"\"model.norm.weight\": \"a.safetensors\",", "", ": missing tensor 'model.norm.weight'"},
        {"{\"metadata\"", "[\"metadata\"", ":17:56: did not find expected ',' or ']'"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        write_shards(folder, 5);
        change_index(folder, rows[i].from, rows[i].to);
        assert_refused_at(folder->path, &micro, folder->index, rows[i].message);
    }
}

static void test_errors_of_a_shard_name_the_shard(Folder *folder, gconstpointer data) {
    (void)data;
    write_shards(folder, 5);
    change_index(folder, "\"b.safetensors\"", "\"c.safetensors\"");
    g_autofree char *path = g_build_filename(folder->path, "c.safetensors", NULL);
    g_autofree char *message =
        g_strdup_printf(": cannot read '%s': No such file or directory", path);
    assert_refused_at(folder->path, &micro, path, message);
}

static void test_an_empty_folder_is_refused(Folder *folder, gconstpointer data) {
    (void)data;
    assert_refused_at(folder->path, &micro, folder->path,
                      ": the folder has neither '" INDEX "' nor '" SAFE "'");
}

#define ADD(name, test) g_test_add(name, Folder, NULL, folder_init, test, folder_clear)

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    ADD("/checkpoint/tensors_are_where_they_belong", test_tensors_are_where_they_belong);
    ADD("/checkpoint/wrong_tensors_are_named", test_wrong_tensors_are_named);
    ADD("/checkpoint/strangers_are_refused_and_known_extras_left_out",
        test_strangers_are_refused_and_known_extras_left_out);
    ADD("/checkpoint/the_model_decides_what_is_expected", test_the_model_decides_what_is_expected);
    ADD("/checkpoint/what_does_not_fit_is_refused", test_what_does_not_fit_is_refused);
    ADD("/checkpoint/other_types_become_halves", test_other_types_become_halves);
    ADD("/checkpoint/an_index_spreads_tensors_over_files",
        test_an_index_spreads_tensors_over_files);
    ADD("/checkpoint/wrong_indices_are_refused", test_wrong_indices_are_refused);
    ADD("/checkpoint/errors_of_a_shard_name_the_shard", test_errors_of_a_shard_name_the_shard);
    ADD("/checkpoint/an_empty_folder_is_refused", test_an_empty_folder_is_refused);
    return g_test_run();
}
