/* A transformer's dimensions as its Hugging Face config.json states them, and what follows from
 * them: parameters and bytes of KV. Llama-like models: Llama, Qwen2, and Mixtral, whose
 * feed-forward half is several experts of which a router chooses some for each token. */
#ifndef WORKLOADS_MODEL_H
#define WORKLOADS_MODEL_H

#include "workloads/yaml_reader.h"

typedef enum { DATA_TYPE_FP16, DATA_TYPE_BF16, DATA_TYPE_FP32, N_DATA_TYPES } DataType;
const char *data_type_name(DataType type); /* "fp16" … */
guint data_type_bytes(DataType type);

typedef struct Model {
    char *name;       /* file name without ".json" */
    char *model_type; /* "llama", "qwen2", "mixtral" */
    guint64 hidden;
    guint64 layers;
    guint64 heads;
    guint64 kv_heads;
    guint64 head_dim;
    guint64 ffn;               /* intermediate_size, of an expert where there are some */
    guint64 experts;           /* num_local_experts; 0: dense */
    guint64 experts_per_token; /* num_experts_per_tok; 0: dense */
    guint64 vocab;
    guint64 max_context; /* max_position_embeddings, tokens */
    gboolean tied_embeddings;
    gboolean qkv_bias; /* Qwen2 always; Llama with attention_bias */
    gboolean out_bias; /* Llama with attention_bias */
    gboolean mlp_bias;
    DataType data_type;
    double rope_theta;     /* base of the rotary angles; 10000 when not given */
    gboolean rope_scaling; /* the angles are stretched by a rule that is not modelled: time does not
                              depend on it, numbers do */
    double norm_epsilon;   /* rms_norm_eps; 1e-6 when not given */
} Model;

/* Reads the section: a config.json's mapping ('folder' and the node's origin give the name).
 * Unknown model_type, other MoE, quantisation, missing, inconsistent fields are errors at their
 * node; other unknown keys are ignored, the format being foreign. */
Model *model_read(const YamlNode *section, GError **error);
void model_free(Model *model);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Model, model_free)

/* Prints the section so that model_read gives the same model, name included. */
void model_write(const Model *model, guint indent, GString *out);

guint64 model_parameters(const Model *model);       /* equals the model card's count */
guint64 model_layer_parameters(const Model *model); /* of one layer, norms, biases, router and all
                                                        experts included */
guint64 model_embedding_parameters(const Model *model); /* vocab × hidden: the input table */
guint64 model_head_parameters(const Model *model);      /* final norm + output matrix, the latter
                                                           counted even when tied (it is read) */
/* Bytes of K and V for one token in one layer: 2 · kv_heads · head_dim · bytes. */
guint64 model_kv_bytes_per_token_layer(const Model *model);
/* … in all layers. */
guint64 model_kv_bytes_per_token(const Model *model);

#endif
