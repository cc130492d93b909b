/* The weights of a model: from safetensors files, or drawn from a seed so that a small model needs
 * no file. Tensors keep the names and shapes of Hugging Face checkpoints. */
#ifndef WORKLOADS_CHECKPOINT_H
#define WORKLOADS_CHECKPOINT_H

#include "workloads/model.h"

/* One tensor, FP16 bits (BF16 and FP32 files are converted when loaded). */
typedef struct Tensor {
    guint64 rows, columns; /* a vector has one row */
    const guint16 *values;
} Tensor;

typedef enum {
    TENSOR_INPUT_NORM, /* [hidden] */
    TENSOR_Q,
    TENSOR_K,
    TENSOR_V, /* [heads·head_dim or kv_heads·head_dim, hidden] */
    TENSOR_Q_BIAS,
    TENSOR_K_BIAS,
    TENSOR_V_BIAS,    /* or absent: rows 0 */
    TENSOR_O,         /* [hidden, heads·head_dim] */
    TENSOR_POST_NORM, /* [hidden] */
    TENSOR_GATE,
    TENSOR_UP,   /* [ffn, hidden] */
    TENSOR_DOWN, /* [hidden, ffn] */
    N_LAYER_TENSORS
} LayerTensor;

typedef struct Checkpoint Checkpoint;
/* Reads a .safetensors file, or a folder of them with model.safetensors.index.json. Errors name
 * the file and what is wrong (truncated header, offsets out of range or overlapping, missing
 * tensor, wrong shape or dtype); more bytes than 'memory_limit' are refused with both figures. */
Checkpoint *checkpoint_load(const char *path, const Model *model, double memory_limit_bytes,
                            GError **error);
/* Seeded weights, the same on every machine: normal with variance 1/columns, Q's 4 and the head's
 * 16 times that; embedding rows of variance 1, norms around 1, small biases. The model must pass
 * checkpoint_check. */
Checkpoint *checkpoint_seeded(const Model *model, guint64 seed);
void checkpoint_free(Checkpoint *checkpoint);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Checkpoint, checkpoint_free)

/* Bytes of all weights as FP16. */
double checkpoint_bytes(const Model *model);
/* Whether the model can be computed with: no biases other than those of Q, K and V, and no more
 * bytes than the limit. Both ways of making a checkpoint need it; checkpoint_load asks itself. */
gboolean checkpoint_check(const Model *model, double memory_limit_bytes, GError **error);

Tensor checkpoint_layer(const Checkpoint *checkpoint, guint layer, LayerTensor tensor);
Tensor checkpoint_embedding(const Checkpoint *checkpoint);  /* [vocab, hidden] */
Tensor checkpoint_final_norm(const Checkpoint *checkpoint); /* [hidden] */
Tensor checkpoint_head(const Checkpoint *checkpoint); /* [vocab, hidden]; the embedding when tied */

#endif
