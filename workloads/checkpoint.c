#include "workloads/checkpoint.h"

#include "workloads/checkpoint_layout.h"
#include "workloads/half.h"
#include "workloads/random.h"
#include "workloads/safetensors.h"

#include <math.h>

/* a + b · c in two roundings on every processor, so that seeded weights have the same bits. */
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#else
#pragma GCC optimize("fp-contract=off")
#endif

/* Weights of variance 1/columns keep the size of what passes through them. Queries are twice as
 * large, so that attention is not almost a mean, which would hide a wrong token of the context. The
 * head's logits are spread four times as wide, so that their softmax is far from flat; gaps between
 * them and rounding errors grow alike. Biases and gains differ enough to be missed when they are
 * left out. */
#define QUERY_SHARPNESS 2.0
#define HEAD_SHARPNESS 4.0
#define GAIN_DEVIATION 0.1
#define BIAS_DEVIATION 0.3

double checkpoint_bytes(const Model *model) {
    return (double)model_parameters(model) * data_type_bytes(DATA_TYPE_FP16);
}

/* What of the model the kernels do not compute; NULL when they compute all of it. */
static const char *not_computed(const Model *model) {
    if (model->out_bias)
        return "has output projection biases";
    if (model->mlp_bias)
        return "has feed-forward biases";
    if (model->experts > 0)
        return "has experts";
    if (model->rope_scaling)
        return "stretches its rotary angles ('rope_scaling')";
    return NULL;
}

gboolean checkpoint_check(const Model *model, double memory_limit_bytes, GError **error) {
    const char *reason = not_computed(model);
    if (reason) {
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT, "'%s' %s, which is not computed",
                    model->name, reason);
        return FALSE;
    }
    double bytes = checkpoint_bytes(model);
    if (bytes <= memory_limit_bytes)
        return TRUE;
    g_autofree char *needed = units_format_brief(bytes, DIMENSION_BYTES);
    g_autofree char *allowed = units_format_brief(memory_limit_bytes, DIMENSION_BYTES);
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT, "'%s' needs %s, more than the %s allowed",
                model->name, needed, allowed);
    return FALSE;
}

Checkpoint *checkpoint_new(const Model *model) {
    Checkpoint *checkpoint = g_new0(Checkpoint, 1);
    checkpoint->layers = model->layers;
    guint n_tensors = PLACE_FIRST_LAYER + (guint)model->layers * N_LAYER_TENSORS;
    checkpoint->tensors = g_array_new(FALSE, TRUE, sizeof(Tensor));
    g_array_set_size(checkpoint->tensors, n_tensors);
    checkpoint->buffers = g_ptr_array_new_with_free_func(g_free);
    checkpoint->files = g_ptr_array_new_with_free_func((GDestroyNotify)safetensors_free);
    return checkpoint;
}

void checkpoint_free(Checkpoint *checkpoint) {
    if (!checkpoint)
        return;
    g_array_unref(checkpoint->tensors);
    g_ptr_array_unref(checkpoint->buffers);
    g_ptr_array_unref(checkpoint->files);
    g_free(checkpoint);
}

guint16 *checkpoint_allocate(Checkpoint *checkpoint, guint64 elements) {
    guint16 *values = g_new(guint16, elements);
    g_ptr_array_add(checkpoint->buffers, values);
    return values;
}

void checkpoint_set(Checkpoint *checkpoint, guint place, Tensor tensor) {
    g_array_index(checkpoint->tensors, Tensor, place) = tensor;
}

/* Values are drawn from mean + deviation · normal. */
typedef struct Distribution {
    double mean, deviation;
} Distribution;

static Distribution distribution_of(const TensorSpec *spec) {
    double width = sqrt((double)spec->columns);
    switch (spec->role) {
    case ROLE_EMBEDDING:
        return (Distribution){0, 1};
    case ROLE_QUERY:
        return (Distribution){0, QUERY_SHARPNESS / width};
    case ROLE_HEAD:
        return (Distribution){0, HEAD_SHARPNESS / width};
    case ROLE_GAIN:
        return (Distribution){1, GAIN_DEVIATION};
    case ROLE_BIAS:
        return (Distribution){0, BIAS_DEVIATION};
    case ROLE_WEIGHT:
        return (Distribution){0, 1 / width};
    }
    g_assert_not_reached();
}

/* One stream a tensor, named after it: another model with a tensor of that name and shape has it
 * the same. */
static Tensor draw_tensor(Checkpoint *checkpoint, const TensorSpec *spec, guint64 seed) {
    RandomStream stream = random_stream(seed, spec->name);
    Distribution distribution = distribution_of(spec);
    guint64 elements = spec->rows * spec->columns;
    guint16 *values = checkpoint_allocate(checkpoint, elements);
    for (guint64 i = 0; i < elements; i++) {
        double value = distribution.mean + distribution.deviation * random_normal(&stream);
        values[i] = half_from_float((float)value);
    }
    return (Tensor){spec->rows, spec->columns, values};
}

Checkpoint *checkpoint_seeded(const Model *model, guint64 seed) {
    g_assert(!model->out_bias && !model->mlp_bias);
    g_autoptr(GArray) layout = checkpoint_layout(model);
    Checkpoint *checkpoint = checkpoint_new(model);
    for (guint place = 0; place < layout->len; place++) {
        const TensorSpec *spec = &g_array_index(layout, TensorSpec, place);
        if (spec->rows > 0)
            checkpoint_set(checkpoint, place, draw_tensor(checkpoint, spec, seed));
    }
    return checkpoint;
}

static Tensor tensor_at(const Checkpoint *checkpoint, guint place) {
    g_assert(place < checkpoint->tensors->len);
    return g_array_index(checkpoint->tensors, Tensor, place);
}

Tensor checkpoint_layer(const Checkpoint *checkpoint, guint layer, LayerTensor tensor) {
    g_assert(layer < checkpoint->layers && (guint)tensor < N_LAYER_TENSORS);
    return tensor_at(checkpoint, PLACE_FIRST_LAYER + layer * N_LAYER_TENSORS + tensor);
}

Tensor checkpoint_embedding(const Checkpoint *checkpoint) {
    return tensor_at(checkpoint, PLACE_EMBEDDING);
}

Tensor checkpoint_final_norm(const Checkpoint *checkpoint) {
    return tensor_at(checkpoint, PLACE_FINAL_NORM);
}

Tensor checkpoint_head(const Checkpoint *checkpoint) {
    Tensor head = tensor_at(checkpoint, PLACE_HEAD);
    return head.rows > 0 ? head : checkpoint_embedding(checkpoint);
}
