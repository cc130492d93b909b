#include "workloads/checkpoint_layout.h"

/* The lengths that tensors have. */
typedef enum {
    LENGTH_ONE,
    LENGTH_HIDDEN,
    LENGTH_QUERY,     /* heads · head_dim */
    LENGTH_KEY_VALUE, /* kv_heads · head_dim */
    LENGTH_FFN,
    LENGTH_VOCAB,
    N_LENGTHS
} Length;

typedef struct SpecRow {
    const char *name; /* in a layer: after "model.layers.<n>." */
    TensorRole role;
    Length rows, columns;
} SpecRow;

static const SpecRow shared_rows[PLACE_FIRST_LAYER] = {
    [PLACE_EMBEDDING] = {"model.embed_tokens.weight", ROLE_EMBEDDING, LENGTH_VOCAB, LENGTH_HIDDEN},
    [PLACE_FINAL_NORM] = {"model.norm.weight", ROLE_GAIN, LENGTH_ONE, LENGTH_HIDDEN},
    [PLACE_HEAD] = {"lm_head.weight", ROLE_HEAD, LENGTH_VOCAB, LENGTH_HIDDEN},
};

static const SpecRow layer_rows[N_LAYER_TENSORS] = {
    [TENSOR_INPUT_NORM] = {"input_layernorm.weight", ROLE_GAIN, LENGTH_ONE, LENGTH_HIDDEN},
    [TENSOR_Q] = {"self_attn.q_proj.weight", ROLE_QUERY, LENGTH_QUERY, LENGTH_HIDDEN},
    [TENSOR_K] = {"self_attn.k_proj.weight", ROLE_WEIGHT, LENGTH_KEY_VALUE, LENGTH_HIDDEN},
    [TENSOR_V] = {"self_attn.v_proj.weight", ROLE_WEIGHT, LENGTH_KEY_VALUE, LENGTH_HIDDEN},
    [TENSOR_Q_BIAS] = {"self_attn.q_proj.bias", ROLE_BIAS, LENGTH_ONE, LENGTH_QUERY},
    [TENSOR_K_BIAS] = {"self_attn.k_proj.bias", ROLE_BIAS, LENGTH_ONE, LENGTH_KEY_VALUE},
    [TENSOR_V_BIAS] = {"self_attn.v_proj.bias", ROLE_BIAS, LENGTH_ONE, LENGTH_KEY_VALUE},
    [TENSOR_O] = {"self_attn.o_proj.weight", ROLE_WEIGHT, LENGTH_HIDDEN, LENGTH_QUERY},
    [TENSOR_POST_NORM] = {"post_attention_layernorm.weight", ROLE_GAIN, LENGTH_ONE, LENGTH_HIDDEN},
    [TENSOR_GATE] = {"mlp.gate_proj.weight", ROLE_WEIGHT, LENGTH_FFN, LENGTH_HIDDEN},
    [TENSOR_UP] = {"mlp.up_proj.weight", ROLE_WEIGHT, LENGTH_FFN, LENGTH_HIDDEN},
    [TENSOR_DOWN] = {"mlp.down_proj.weight", ROLE_WEIGHT, LENGTH_HIDDEN, LENGTH_FFN},
};

static guint64 length_of(const Model *model, Length length) {
    const guint64 lengths[N_LENGTHS] = {
        [LENGTH_ONE] = 1,
        [LENGTH_HIDDEN] = model->hidden,
        [LENGTH_QUERY] = model->heads * model->head_dim,
        [LENGTH_KEY_VALUE] = model->kv_heads * model->head_dim,
        [LENGTH_FFN] = model->ffn,
        [LENGTH_VOCAB] = model->vocab,
    };
    return lengths[length];
}

static gboolean is_present(const Model *model, TensorRole role) {
    if (role == ROLE_HEAD)
        return !model->tied_embeddings;
    return role != ROLE_BIAS || model->qkv_bias;
}

static void spec_clear(gpointer data) {
    TensorSpec *spec = data;
    g_free(spec->name);
}

static void append(GArray *layout, const Model *model, const SpecRow *row, char *name) {
    TensorSpec spec = {name, row->role, length_of(model, row->rows),
                       length_of(model, row->columns)};
    if (!is_present(model, row->role))
        spec.rows = spec.columns = 0;
    g_array_append_val(layout, spec);
}

GArray *checkpoint_layout(const Model *model) {
    GArray *layout = g_array_new(FALSE, FALSE, sizeof(TensorSpec));
    g_array_set_clear_func(layout, spec_clear);
    for (guint i = 0; i < PLACE_FIRST_LAYER; i++)
        append(layout, model, &shared_rows[i], g_strdup(shared_rows[i].name));
    for (guint64 layer = 0; layer < model->layers; layer++)
        for (guint i = 0; i < N_LAYER_TENSORS; i++)
            append(layout, model, &layer_rows[i],
                   g_strdup_printf("model.layers.%" G_GUINT64_FORMAT ".%s", layer,
                                   layer_rows[i].name));
    return layout;
}

gboolean tensor_spec_is_vector(const TensorSpec *spec) {
    return spec->role == ROLE_GAIN || spec->role == ROLE_BIAS;
}
