#include "workloads/model.h"

#define N_NORMS_PER_LAYER 2 /* before attention and before the feed-forward half */

static const char *const type_names[N_DATA_TYPES] = {"fp16", "bf16", "fp32"};
static const guint type_bytes[N_DATA_TYPES] = {2, 2, 4};

const char *data_type_name(DataType type) {
    g_assert((guint)type < N_DATA_TYPES);
    return type_names[type];
}

guint data_type_bytes(DataType type) {
    g_assert((guint)type < N_DATA_TYPES);
    return type_bytes[type];
}

void model_free(Model *model) {
    if (!model)
        return;
    g_free(model->name);
    g_free(model->model_type);
    g_free(model);
}

static guint64 attention_parameters(const Model *model) {
    guint64 query_width = model->heads * model->head_dim;
    guint64 qkv_width = (model->heads + 2 * model->kv_heads) * model->head_dim;
    guint64 biases = (model->qkv_bias ? qkv_width : 0) + (model->out_bias ? model->hidden : 0);
    return model->hidden * qkv_width + query_width * model->hidden + biases;
}

/* Gate, up and down: SwiGLU has three matrices. Experts are such each, and have a router that
 * scores them. */
static guint64 feed_forward_parameters(const Model *model) {
    guint64 biases = model->mlp_bias ? 2 * model->ffn + model->hidden : 0;
    guint64 expert = 3 * model->hidden * model->ffn + biases;
    return model->experts == 0 ? expert : model->experts * (expert + model->hidden);
}

guint64 model_layer_parameters(const Model *model) {
    return attention_parameters(model) + feed_forward_parameters(model) +
           N_NORMS_PER_LAYER * model->hidden;
}

guint64 model_embedding_parameters(const Model *model) {
    return model->vocab * model->hidden;
}

guint64 model_head_parameters(const Model *model) {
    return model->hidden + model->vocab * model->hidden;
}

guint64 model_parameters(const Model *model) {
    guint64 shared = model->tied_embeddings ? model_embedding_parameters(model) : 0;
    return model->layers * model_layer_parameters(model) + model_embedding_parameters(model) +
           model_head_parameters(model) - shared;
}

guint64 model_kv_bytes_per_token_layer(const Model *model) {
    return 2 * model->kv_heads * model->head_dim * data_type_bytes(model->data_type);
}

guint64 model_kv_bytes_per_token(const Model *model) {
    return model->layers * model_kv_bytes_per_token_layer(model);
}
