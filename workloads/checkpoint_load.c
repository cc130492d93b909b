/* Checkpoints from files: which file holds which tensor, whether they are the model's, and their
 * conversion to FP16. */
#include "workloads/checkpoint_layout.h"
#include "workloads/half.h"
#include "workloads/safetensors.h"

#include <math.h>
#include <string.h>

#define SINGLE_FILE "model.safetensors"
#define INDEX_FILE "model.safetensors.index.json"

/* The tensors of one or several files. */
typedef struct Weights {
    char *place;         /* for messages about what is not there: the file or the index */
    GPtrArray *files;    /* Safetensors */
    GPtrArray *tensors;  /* SafetensorsTensor, borrowed, in order of files and offsets */
    GHashTable *by_name; /* name → SafetensorsTensor, borrowed */
} Weights;

static Weights *weights_new(const char *place) {
    Weights *weights = g_new0(Weights, 1);
    weights->place = g_strdup(place);
    weights->files = g_ptr_array_new_with_free_func((GDestroyNotify)safetensors_free);
    weights->tensors = g_ptr_array_new();
    weights->by_name = g_hash_table_new(g_str_hash, g_str_equal);
    return weights;
}

static void weights_free(Weights *weights) {
    g_free(weights->place);
    g_clear_pointer(&weights->files, g_ptr_array_unref);
    g_ptr_array_unref(weights->tensors);
    g_hash_table_unref(weights->by_name);
    g_free(weights);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Weights, weights_free)

static void add_tensor(Weights *weights, SafetensorsTensor *tensor) {
    g_ptr_array_add(weights->tensors, tensor);
    g_hash_table_insert(weights->by_name, tensor->name, tensor);
}

static Weights *open_file(const char *path, GError **error) {
    g_autoptr(Weights) weights = weights_new(path);
    Safetensors *file = safetensors_open(path, error);
    if (!file)
        return NULL;
    g_ptr_array_add(weights->files, file);
    for (guint i = 0; i < file->tensors->len; i++)
        add_tensor(weights, g_ptr_array_index(file->tensors, i));
    return g_steal_pointer(&weights);
}

/* The index's map from tensors to files of its folder. */
typedef struct Index {
    const char *folder;
    const YamlNode *map;
    GHashTable *file_of; /* name of a tensor → YamlNode of its file's name, borrowed */
} Index;

static gboolean check_file_name(const YamlNode *name, GError **error) {
    if (!yaml_expect(name, YAML_SCALAR, "the name of a file", error))
        return FALSE;
    g_autofree char *found = yaml_describe(name);
    if (strchr(name->text, '/') || !g_str_has_suffix(name->text, ".safetensors"))
        return yaml_error(name, INPUT_ERROR_VALUE, error,
                          "expected a .safetensors file of the same folder, not %s", found);
    return TRUE;
}

/* Opens each file once, in the order in which the index first names them. */
static gboolean open_indexed_files(Weights *weights, const Index *index, GError **error) {
    g_autoptr(GHashTable) opened = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint i = 0; i < index->map->keys->len; i++) {
        const YamlNode *key = g_ptr_array_index(index->map->keys, i);
        YamlNode *name = g_ptr_array_index(index->map->values, i);
        if (!check_file_name(name, error))
            return FALSE;
        g_hash_table_insert(index->file_of, key->text, name);
        if (!g_hash_table_add(opened, name->text))
            continue;
        g_autofree char *path = g_build_filename(index->folder, name->text, NULL);
        Safetensors *file = safetensors_open(path, error);
        if (!file)
            return FALSE;
        g_ptr_array_add(weights->files, file);
    }
    return TRUE;
}

/* A file may hold more than the index takes from it. */
static void add_indexed_tensors(Weights *weights, const Index *index, const Safetensors *file) {
    g_autofree char *name = g_path_get_basename(file->path);
    for (guint i = 0; i < file->tensors->len; i++) {
        SafetensorsTensor *tensor = g_ptr_array_index(file->tensors, i);
        const YamlNode *place = g_hash_table_lookup(index->file_of, tensor->name);
        if (place && strcmp(place->text, name) == 0)
            add_tensor(weights, tensor);
    }
}

static gboolean check_index_is_met(const Weights *weights, const Index *index, GError **error) {
    for (guint i = 0; i < index->map->keys->len; i++) {
        const YamlNode *key = g_ptr_array_index(index->map->keys, i);
        const YamlNode *file = g_ptr_array_index(index->map->values, i);
        if (!g_hash_table_contains(weights->by_name, key->text))
            return yaml_error(key, INPUT_ERROR_MISSING, error, "tensor '%s' is not in '%s'",
                              key->text, file->text);
    }
    return TRUE;
}

static const YamlNode *find_weight_map(const YamlNode *root, GError **error) {
    if (!yaml_expect(root, YAML_MAPPING, "an object with 'weight_map'", error))
        return NULL;
    const YamlNode *map = yaml_get(root, "weight_map");
    if (!map)
        yaml_error(root, INPUT_ERROR_MISSING, error, "missing key 'weight_map'");
    else if (yaml_expect(map, YAML_MAPPING, "an object of tensors and their files", error))
        return map;
    return NULL;
}

static Weights *open_index(const char *folder, const char *path, GError **error) {
    g_autoptr(YamlNode) root = yaml_load_file(path, error);
    const YamlNode *map = root ? find_weight_map(root, error) : NULL;
    if (!map)
        return NULL;
    g_autoptr(GHashTable) file_of = g_hash_table_new(g_str_hash, g_str_equal);
    Index index = {folder, map, file_of};
    g_autoptr(Weights) weights = weights_new(path);
    if (!open_indexed_files(weights, &index, error))
        return NULL;
    for (guint i = 0; i < weights->files->len; i++)
        add_indexed_tensors(weights, &index, g_ptr_array_index(weights->files, i));
    return check_index_is_met(weights, &index, error) ? g_steal_pointer(&weights) : NULL;
}

static Weights *open_weights(const char *path, GError **error) {
    if (!g_file_test(path, G_FILE_TEST_IS_DIR))
        return open_file(path, error);
    g_autofree char *index = g_build_filename(path, INDEX_FILE, NULL);
    g_autofree char *single = g_build_filename(path, SINGLE_FILE, NULL);
    if (g_file_test(index, G_FILE_TEST_EXISTS))
        return open_index(path, index, error);
    if (g_file_test(single, G_FILE_TEST_EXISTS))
        return open_file(single, error);
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_MISSING,
                "%s: the folder has neither '" INDEX_FILE "' nor '" SINGLE_FILE "'", path);
    return NULL;
}

/* What some checkpoints hold beside the weights: the angles of RoPE, and the head of a tied model,
 * which is the embedding once more. */
static gboolean is_left_out(const Model *model, const char *name) {
    return g_str_has_suffix(name, ".rotary_emb.inv_freq") ||
           (model->tied_embeddings && strcmp(name, "lm_head.weight") == 0);
}

/* Names of tensors that the model does not have, in order; borrowed. */
static GPtrArray *find_strangers(const Weights *weights, const Model *model, const GArray *layout) {
    g_autoptr(GHashTable) known = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint i = 0; i < layout->len; i++) {
        const TensorSpec *spec = &g_array_index(layout, TensorSpec, i);
        if (spec->rows > 0)
            g_hash_table_add(known, spec->name);
    }
    GPtrArray *strangers = g_ptr_array_new();
    for (guint i = 0; i < weights->tensors->len; i++) {
        const SafetensorsTensor *tensor = g_ptr_array_index(weights->tensors, i);
        if (!g_hash_table_contains(known, tensor->name) && !is_left_out(model, tensor->name))
            g_ptr_array_add(strangers, tensor->name);
    }
    return strangers;
}

static gboolean check_presence(const Weights *weights, const GArray *layout,
                               const GPtrArray *strangers, GError **error) {
    const char *const *candidates = (const char *const *)strangers->pdata;
    for (guint i = 0; i < layout->len; i++) {
        const TensorSpec *spec = &g_array_index(layout, TensorSpec, i);
        if (spec->rows == 0 || g_hash_table_contains(weights->by_name, spec->name))
            continue;
        g_autofree char *hint = near_miss_hint(spec->name, candidates, strangers->len);
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_MISSING, "%s: missing tensor '%s'%s",
                    weights->place, spec->name, hint);
        return FALSE;
    }
    return TRUE;
}

/* What is computed without a tensor that was trained would be another model. */
static gboolean refuse_strangers(const Weights *weights, const Model *model,
                                 const GPtrArray *strangers, GError **error) {
    if (strangers->len == 0)
        return TRUE;
    const char *name = g_ptr_array_index(strangers, 0);
    const SafetensorsTensor *tensor = g_hash_table_lookup(weights->by_name, name);
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_UNKNOWN, "%s: tensor '%s' is not one of '%s'",
                tensor->path, name, model->name);
    return FALSE;
}

static char *spec_shape_text(const TensorSpec *spec) {
    if (tensor_spec_is_vector(spec))
        return g_strdup_printf("[%" G_GUINT64_FORMAT "]", spec->columns);
    return g_strdup_printf("[%" G_GUINT64_FORMAT ", %" G_GUINT64_FORMAT "]", spec->rows,
                           spec->columns);
}

static gboolean check_shapes(const Weights *weights, const GArray *layout, GError **error) {
    for (guint i = 0; i < layout->len; i++) {
        const TensorSpec *spec = &g_array_index(layout, TensorSpec, i);
        if (spec->rows == 0)
            continue;
        const SafetensorsTensor *tensor = g_hash_table_lookup(weights->by_name, spec->name);
        g_autofree char *expected = spec_shape_text(spec);
        g_autofree char *found = safetensors_shape_text(tensor);
        if (strcmp(found, expected) == 0)
            continue;
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT, "%s: tensor '%s' is %s, expected %s",
                    tensor->path, tensor->name, found, expected);
        return FALSE;
    }
    return TRUE;
}

/* An element as it stands in the file: the bits of a half, or a float (BF16 is its upper half). */
static guint16 half_at(const SafetensorsTensor *tensor, guint64 i) {
    guint16 bits;
    memcpy(&bits, tensor->data + i * sizeof bits, sizeof bits);
    return GUINT16_FROM_LE(bits);
}

static float float_at(const SafetensorsTensor *tensor, guint64 i) {
    guint32 bits;
    float value;
    if (tensor->data_type == DATA_TYPE_BF16) {
        bits = (guint32)half_at(tensor, i) << 16;
    } else {
        memcpy(&bits, tensor->data + i * sizeof bits, sizeof bits);
        bits = GUINT32_FROM_LE(bits);
    }
    memcpy(&value, &bits, sizeof value);
    return value;
}

static gboolean refuse_value(const SafetensorsTensor *tensor, guint64 i, GError **error) {
    guint64 byte = tensor->offset + i * data_type_bytes(tensor->data_type);
    double value = tensor->data_type == DATA_TYPE_FP16 ? NAN : (double)float_at(tensor, i);
    g_autofree char *what = isfinite(value)
                                ? g_strdup_printf("%g, beyond FP16's largest, %g,", value, HALF_MAX)
                                : g_strdup("a value that is not a finite number");
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_VALUE,
                "%s: tensor '%s' holds %s at byte %" G_GUINT64_FORMAT, tensor->path, tensor->name,
                what, byte);
    return FALSE;
}

static gboolean convert(const SafetensorsTensor *tensor, guint16 *values, GError **error) {
    for (guint64 i = 0; i < tensor->elements; i++) {
        values[i] = tensor->data_type == DATA_TYPE_FP16 ? half_at(tensor, i)
                                                        : half_from_float(float_at(tensor, i));
        if (!half_is_finite(values[i]))
            return refuse_value(tensor, i, error);
    }
    return TRUE;
}

/* Whether the file's bytes are values as they stand. */
static gboolean is_usable_in_place(const SafetensorsTensor *tensor) {
    return tensor->data_type == DATA_TYPE_FP16 && G_BYTE_ORDER == G_LITTLE_ENDIAN &&
           (guintptr)tensor->data % sizeof(guint16) == 0;
}

static const guint16 *values_in_place(const SafetensorsTensor *tensor, GError **error) {
    const guint16 *values = (const guint16 *)(gconstpointer)tensor->data;
    for (guint64 i = 0; i < tensor->elements; i++) {
        if (!half_is_finite(values[i])) {
            refuse_value(tensor, i, error);
            return NULL;
        }
    }
    return values;
}

static const guint16 *load_values(Checkpoint *checkpoint, const SafetensorsTensor *tensor,
                                  GError **error) {
    if (is_usable_in_place(tensor))
        return values_in_place(tensor, error);
    guint16 *values = checkpoint_allocate(checkpoint, tensor->elements);
    return convert(tensor, values, error) ? values : NULL;
}

static gboolean load_tensors(Checkpoint *checkpoint, const Weights *weights, const GArray *layout,
                             GError **error) {
    for (guint place = 0; place < layout->len; place++) {
        const TensorSpec *spec = &g_array_index(layout, TensorSpec, place);
        if (spec->rows == 0)
            continue;
        const SafetensorsTensor *tensor = g_hash_table_lookup(weights->by_name, spec->name);
        const guint16 *values = load_values(checkpoint, tensor, error);
        if (!values)
            return FALSE;
        checkpoint_set(checkpoint, place, (Tensor){spec->rows, spec->columns, values});
    }
    return TRUE;
}

static gboolean check_weights(const Weights *weights, const Model *model, const GArray *layout,
                              GError **error) {
    g_autoptr(GPtrArray) strangers = find_strangers(weights, model, layout);
    return check_presence(weights, layout, strangers, error) &&
           refuse_strangers(weights, model, strangers, error) &&
           check_shapes(weights, layout, error);
}

Checkpoint *checkpoint_load(const char *path, const Model *model, double memory_limit_bytes,
                            GError **error) {
    if (!checkpoint_check(model, memory_limit_bytes, error)) {
        g_prefix_error(error, "%s: ", path);
        return NULL;
    }
    g_autoptr(Weights) weights = open_weights(path, error);
    g_autoptr(GArray) layout = checkpoint_layout(model);
    if (!weights || !check_weights(weights, model, layout, error))
        return NULL;
    g_autoptr(Checkpoint) checkpoint = checkpoint_new(model);
    if (!load_tensors(checkpoint, weights, layout, error))
        return NULL;
    g_ptr_array_unref(checkpoint->files);
    checkpoint->files = g_steal_pointer(&weights->files);
    return g_steal_pointer(&checkpoint);
}
