#include "workloads/safetensors.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LENGTH_BYTES 8
#define MAX_HEADER_BYTES 100000000 /* as the format's own library has it */
#define METADATA_KEY "__metadata__"

static const char *const type_names[N_DATA_TYPES] = {"F16", "BF16", "F32"};

/* The parts of a mapped file. */
typedef struct Layout {
    const char *path;
    const char *header;
    gsize header_bytes;
    const guint8 *data;
    guint64 data_bytes;
} Layout;

static void tensor_free(gpointer data) {
    SafetensorsTensor *tensor = data;
    g_free(tensor->name);
    g_array_unref(tensor->shape);
    g_free(tensor);
}

void safetensors_free(Safetensors *file) {
    if (!file)
        return;
    g_ptr_array_unref(file->tensors);
    g_clear_pointer(&file->mapping, g_mapped_file_unref);
    g_free(file->path);
    g_free(file);
}

static gboolean cannot_read(const char *path, const char *why, GError **error) {
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_MISSING, "%s: cannot read '%s': %s", path, path,
                why);
    return FALSE;
}

/* Only a regular file has a size that can be checked and mapped; opening a pipe would wait. */
static gboolean map_file(Safetensors *file, GError **error) {
    struct stat facts;
    if (stat(file->path, &facts) != 0)
        return cannot_read(file->path, g_strerror(errno), error);
    if (!S_ISREG(facts.st_mode))
        return cannot_read(file->path, "not a regular file", error);
    int descriptor = open(file->path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return cannot_read(file->path, g_strerror(errno), error);
    g_autoptr(GError) cause = NULL;
    file->mapping = g_mapped_file_new_from_fd(descriptor, FALSE, &cause);
    close(descriptor);
    return file->mapping != NULL || cannot_read(file->path, cause->message, error);
}

static guint64 read_length(const char *bytes) {
    guint64 length;
    memcpy(&length, bytes, sizeof length);
    return GUINT64_FROM_LE(length);
}

/* What stands in a clone that has not fetched its large files. */
static gboolean is_git_lfs_pointer(const char *bytes, gsize size) {
    static const char start[] = "version https://git-lfs";
    return size >= strlen(start) && memcmp(bytes, start, strlen(start)) == 0;
}

static gboolean split_file(const Safetensors *file, Layout *layout, GError **error) {
    const char *bytes = g_mapped_file_get_contents(file->mapping);
    gsize size = g_mapped_file_get_length(file->mapping);
    g_autofree char *wrong = NULL;
    guint64 length = size >= LENGTH_BYTES ? read_length(bytes) : 0;
    if (size < LENGTH_BYTES)
        wrong = g_strdup_printf("the file has %zu bytes, too few for the header's length", size);
    else if (is_git_lfs_pointer(bytes, size))
        wrong = g_strdup("this is a Git LFS pointer, not the weights");
    else if (length > size - LENGTH_BYTES)
        wrong = g_strdup_printf("the header says %" G_GUINT64_FORMAT " bytes, but the file has %zu",
                                length, size);
    else if (length > MAX_HEADER_BYTES)
        wrong =
            g_strdup_printf("the header says %" G_GUINT64_FORMAT " bytes, more than the %d allowed",
                            length, MAX_HEADER_BYTES);
    else if (length == 0 || bytes[LENGTH_BYTES] != '{')
        wrong = g_strdup_printf("the header at byte %d must begin with '{'", LENGTH_BYTES);
    if (wrong) {
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_SYNTAX, "%s: %s", file->path, wrong);
        return FALSE;
    }
    const char *data = bytes + LENGTH_BYTES + length;
    *layout = (Layout){file->path, bytes + LENGTH_BYTES, (gsize)length, (const guint8 *)data,
                       size - LENGTH_BYTES - length};
    return TRUE;
}

static YamlNode *parse_header(const Layout *layout, GError **error) {
    const char *null = memchr(layout->header, '\0', layout->header_bytes);
    if (null) {
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_SYNTAX,
                    "%s: the header holds a null character at byte %zu", layout->path,
                    (gsize)(null - layout->header) + LENGTH_BYTES);
        return NULL;
    }
    g_autofree char *text = g_strndup(layout->header, layout->header_bytes);
    g_autofree char *name = g_strconcat(layout->path, ": header", NULL);
    g_autoptr(YamlNode) root = yaml_load_text(text, name, error);
    if (!root || !yaml_expect(root, YAML_MAPPING, "an object of tensors", error))
        return NULL;
    return g_steal_pointer(&root);
}

static gboolean check_name(const YamlNode *key, GError **error) {
    if (key->text[0] == '\0')
        return yaml_error(key, INPUT_ERROR_VALUE, error, "a tensor needs a name");
    for (const char *c = key->text; *c != '\0'; c++)
        if (g_ascii_iscntrl(*c))
            return yaml_error(key, INPUT_ERROR_VALUE, error,
                              "a tensor's name cannot hold control characters");
    return TRUE;
}

static gboolean check_keys(const YamlNode *key, const YamlNode *value, GError **error) {
    static const char *const known[] = {"dtype", "shape", "data_offsets", NULL};
    if (!yaml_expect(value, YAML_MAPPING, "an object with dtype, shape and data_offsets", error))
        return FALSE;
    for (guint i = 0; i < value->keys->len; i++) {
        const YamlNode *inner = g_ptr_array_index(value->keys, i);
        if (g_strv_contains(known, inner->text))
            continue;
        g_autofree char *found = yaml_describe(inner);
        g_autofree char *hint = near_miss_hint(inner->text, known, G_N_ELEMENTS(known) - 1);
        return yaml_error(inner, INPUT_ERROR_UNKNOWN, error, "unknown key %s in tensor '%s'%s",
                          found, key->text, hint);
    }
    for (gsize i = 0; known[i] != NULL; i++)
        if (!yaml_get(value, known[i]))
            return yaml_error(value, INPUT_ERROR_MISSING, error, "missing key '%s' in tensor '%s'",
                              known[i], key->text);
    return TRUE;
}

static gboolean read_shape(const YamlNode *node, SafetensorsTensor *tensor, GError **error) {
    if (!yaml_expect(node, YAML_SEQUENCE, "a list of dimensions", error))
        return FALSE;
    tensor->elements = 1;
    for (guint i = 0; i < node->values->len; i++) {
        const YamlNode *item = g_ptr_array_index(node->values, i);
        guint64 dimension;
        if (!yaml_read_count(item, 0, 0, &dimension, error))
            return FALSE;
        if (!g_uint64_checked_mul(&tensor->elements, tensor->elements, dimension))
            return yaml_error(item, INPUT_ERROR_VALUE, error, "tensor '%s' is too large to count",
                              tensor->name);
        g_array_append_val(tensor->shape, dimension);
    }
    return TRUE;
}

/* [begin, end) from the start of the data; the bytes must be those of the shape. */
static gboolean read_offsets(const YamlNode *node, const Layout *layout, SafetensorsTensor *tensor,
                             GError **error) {
    guint64 begin, end, bytes;
    if (!yaml_expect(node, YAML_SEQUENCE, "a begin and an end", error))
        return FALSE;
    if (node->values->len != 2)
        return yaml_error(node, INPUT_ERROR_VALUE, error,
                          "expected a begin and an end for 'data_offsets', not %u values",
                          node->values->len);
    if (!yaml_read_count(g_ptr_array_index(node->values, 0), 0, 0, &begin, error) ||
        !yaml_read_count(g_ptr_array_index(node->values, 1), 0, 0, &end, error))
        return FALSE;
    if (end < begin)
        return yaml_error(node, INPUT_ERROR_VALUE, error, "tensor '%s' ends before it begins",
                          tensor->name);
    if (end > layout->data_bytes)
        return yaml_error(node, INPUT_ERROR_VALUE, error,
                          "tensor '%s' ends at byte %" G_GUINT64_FORMAT
                          " of the data, but the file has %" G_GUINT64_FORMAT,
                          tensor->name, end, layout->data_bytes);
    g_autofree char *shape = safetensors_shape_text(tensor);
    if (!g_uint64_checked_mul(&bytes, tensor->elements, data_type_bytes(tensor->data_type)) ||
        bytes != end - begin)
        return yaml_error(node, INPUT_ERROR_CONFLICT, error,
                          "tensor '%s' is %s %s, but has %" G_GUINT64_FORMAT " bytes", tensor->name,
                          type_names[tensor->data_type], shape, end - begin);
    tensor->data = layout->data + begin;
    tensor->offset = LENGTH_BYTES + layout->header_bytes + begin;
    return TRUE;
}

static gboolean read_type(const YamlNode *node, SafetensorsTensor *tensor, GError **error) {
    int type;
    if (!yaml_read_enum(node, (YamlEnum)YAML_ENUM_OF(type_names), &type, error))
        return FALSE;
    tensor->data_type = (DataType)type;
    return TRUE;
}

static gboolean read_tensor(const Layout *layout, const YamlNode *key, const YamlNode *value,
                            SafetensorsTensor *tensor, GError **error) {
    if (!check_name(key, error) || !check_keys(key, value, error))
        return FALSE;
    tensor->name = g_strdup(key->text);
    tensor->path = layout->path;
    return read_type(yaml_get(value, "dtype"), tensor, error) &&
           read_shape(yaml_get(value, "shape"), tensor, error) &&
           read_offsets(yaml_get(value, "data_offsets"), layout, tensor, error);
}

static gboolean read_tensors(Safetensors *file, const Layout *layout, const YamlNode *root,
                             GError **error) {
    for (guint i = 0; i < root->keys->len; i++) {
        const YamlNode *key = g_ptr_array_index(root->keys, i);
        const YamlNode *value = g_ptr_array_index(root->values, i);
        if (strcmp(key->text, METADATA_KEY) == 0) {
            if (!yaml_expect(value, YAML_MAPPING, "an object of texts", error))
                return FALSE;
            continue;
        }
        SafetensorsTensor *tensor = g_new0(SafetensorsTensor, 1);
        tensor->shape = g_array_new(FALSE, FALSE, sizeof(guint64));
        g_ptr_array_add(file->tensors, tensor);
        if (!read_tensor(layout, key, value, tensor, error))
            return FALSE;
    }
    return TRUE;
}

static guint64 tensor_bytes(const SafetensorsTensor *tensor) {
    return tensor->elements * data_type_bytes(tensor->data_type);
}

/* Empty tensors come before what begins where they stand. */
static gint compare_places(gconstpointer a, gconstpointer b) {
    const SafetensorsTensor *first = *(SafetensorsTensor *const *)a;
    const SafetensorsTensor *second = *(SafetensorsTensor *const *)b;
    if (first->offset != second->offset)
        return first->offset < second->offset ? -1 : 1;
    guint64 first_bytes = tensor_bytes(first), second_bytes = tensor_bytes(second);
    if (first_bytes != second_bytes)
        return first_bytes < second_bytes ? -1 : 1;
    return strcmp(first->name, second->name);
}

static gboolean hole(const char *path, guint64 begin, guint64 end, GError **error) {
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                "%s: no tensor holds the %" G_GUINT64_FORMAT " bytes from byte %" G_GUINT64_FORMAT,
                path, end - begin, begin);
    return FALSE;
}

/* The tensors, in order of their offsets, must fill the data. */
static gboolean check_places(const Safetensors *file, const Layout *layout, GError **error) {
    guint64 at = LENGTH_BYTES + layout->header_bytes, end = at + layout->data_bytes;
    for (guint i = 0; i < file->tensors->len; i++) {
        const SafetensorsTensor *tensor = g_ptr_array_index(file->tensors, i);
        if (tensor->offset > at)
            return hole(file->path, at, tensor->offset, error);
        if (tensor->offset < at) {
            const SafetensorsTensor *before = g_ptr_array_index(file->tensors, i - 1);
            g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                        "%s: tensors '%s' and '%s' overlap at byte %" G_GUINT64_FORMAT, file->path,
                        before->name, tensor->name, tensor->offset);
            return FALSE;
        }
        at += tensor_bytes(tensor);
    }
    return at == end || hole(file->path, at, end, error);
}

Safetensors *safetensors_open(const char *path, GError **error) {
    g_autoptr(Safetensors) file = g_new0(Safetensors, 1);
    Layout layout;
    file->path = g_strdup(path);
    file->tensors = g_ptr_array_new_with_free_func(tensor_free);
    if (!map_file(file, error) || !split_file(file, &layout, error))
        return NULL;
    g_autoptr(YamlNode) root = parse_header(&layout, error);
    if (!root || !read_tensors(file, &layout, root, error))
        return NULL;
    g_ptr_array_sort(file->tensors, compare_places);
    return check_places(file, &layout, error) ? g_steal_pointer(&file) : NULL;
}

char *safetensors_shape_text(const SafetensorsTensor *tensor) {
    GString *text = g_string_new("[");
    for (guint i = 0; i < tensor->shape->len; i++)
        g_string_append_printf(text, "%s%" G_GUINT64_FORMAT, i == 0 ? "" : ", ",
                               g_array_index(tensor->shape, guint64, i));
    return g_string_free(g_string_append_c(text, ']'), FALSE);
}
