/* The tensors of a model, by the names and shapes that Hugging Face checkpoints give them. What
 * reads checkpoints and what draws them from a seed share this list. */
#ifndef WORKLOADS_CHECKPOINT_LAYOUT_H
#define WORKLOADS_CHECKPOINT_LAYOUT_H

#include "workloads/checkpoint.h"

typedef enum {
    ROLE_EMBEDDING,
    ROLE_HEAD,
    ROLE_GAIN,
    ROLE_BIAS,
    ROLE_QUERY,
    ROLE_WEIGHT, /* any other matrix */
} TensorRole;

typedef struct TensorSpec {
    char *name;
    TensorRole role;
    guint64 rows, columns; /* rows 0: the model has no such tensor */
} TensorSpec;

enum { PLACE_EMBEDDING, PLACE_FINAL_NORM, PLACE_HEAD, PLACE_FIRST_LAYER };

/* TensorSpec at PLACE_EMBEDDING, PLACE_FINAL_NORM, PLACE_HEAD (rows 0 when tied), then
 * N_LAYER_TENSORS a layer in the order of LayerTensor. Caller unrefs. */
GArray *checkpoint_layout(const Model *model);

/* One of a row: gains and biases have one dimension in a file, and one row here. */
gboolean tensor_spec_is_vector(const TensorSpec *spec);

/* A checkpoint without values yet, its tensors in the order of the layout. */
struct Checkpoint {
    guint64 layers;
    GArray *tensors;    /* Tensor */
    GPtrArray *buffers; /* what was allocated for them */
    GPtrArray *files;   /* Safetensors: what they were mapped from */
};
Checkpoint *checkpoint_new(const Model *model);
/* Memory for the values of one tensor, owned by the checkpoint. */
guint16 *checkpoint_allocate(Checkpoint *checkpoint, guint64 elements);
void checkpoint_set(Checkpoint *checkpoint, guint place, Tensor tensor);

#endif
