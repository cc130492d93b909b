/* Weights: no file may crash the reader, every error names the file and is one line, the tensors of
 * a right file fill its data, and a checkpoint that loads holds finite numbers only. */
#include "workloads/checkpoint.h"
#include "workloads/half.h"
#include "workloads/safetensors.h"

#include <stdint.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Small enough for a whole checkpoint to be an input. */
static const Model micro = {.name = "micro",
                            .model_type = "qwen2",
                            .hidden = 2,
                            .layers = 1,
                            .heads = 1,
                            .kv_heads = 1,
                            .head_dim = 2,
                            .ffn = 3,
                            .vocab = 2,
                            .max_context = 8,
                            .qkv_bias = TRUE};

static void check_error(const GError *error, const char *path) {
    g_assert_true(error->domain == INPUT_ERROR);
    g_assert_true(g_str_has_prefix(error->message, path));
    g_assert_true(g_utf8_validate(error->message, -1, NULL));
    g_assert_null(strchr(error->message, '\n'));
}

static void check_tensors(const Safetensors *file, size_t size) {
    const char *start = g_mapped_file_get_contents(file->mapping);
    guint64 at = size;
    for (guint i = file->tensors->len; i-- > 0;) {
        const SafetensorsTensor *tensor = g_ptr_array_index(file->tensors, i);
        guint64 bytes = tensor->elements * data_type_bytes(tensor->data_type);
        g_assert_true((const char *)tensor->data == start + tensor->offset);
        g_assert_cmpuint(tensor->offset + bytes, ==, at);
        at = tensor->offset;
    }
    g_assert_cmpuint(at, >=, 8);
}

static void check_finite(Tensor tensor) {
    for (guint64 i = 0; i < tensor.rows * tensor.columns; i++)
        g_assert_true(half_is_finite(tensor.values[i]));
}

static void load(const char *path) {
    g_autoptr(GError) error = NULL;
    g_autoptr(Checkpoint) checkpoint = checkpoint_load(path, &micro, 1e6, &error);
    if (checkpoint == NULL) {
        check_error(error, path);
        return;
    }
    check_finite(checkpoint_embedding(checkpoint));
    check_finite(checkpoint_final_norm(checkpoint));
    check_finite(checkpoint_head(checkpoint));
    for (LayerTensor tensor = 0; tensor < N_LAYER_TENSORS; tensor++)
        check_finite(checkpoint_layer(checkpoint, 0, tensor));
}

static void open_and_load(const char *path, size_t size) {
    g_autoptr(GError) error = NULL;
    g_autoptr(Safetensors) file = safetensors_open(path, &error);
    if (file == NULL) {
        check_error(error, path);
        return;
    }
    check_tensors(file, size);
    load(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    g_autofree char *path = NULL;
    int file = g_file_open_tmp("fuzz-XXXXXX", &path, NULL);
    g_assert_cmpint(file, >=, 0);
    g_assert_cmpint(write(file, data, size), ==, (gssize)size);
    close(file);
    open_and_load(path, size);
    unlink(path);
    return 0;
}
