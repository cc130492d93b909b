/* The safetensors file format: eight bytes of header length (little-endian), a JSON header
 * {"name": {"dtype": "F16", "shape": [64, 32], "data_offsets": [0, 4096]}, …}, then the data, which
 * the tensors fill without holes or overlaps. Only F16, BF16 and F32. Files are mapped, not read:
 * a tensor's bytes cost memory when they are looked at. */
#ifndef WORKLOADS_SAFETENSORS_H
#define WORKLOADS_SAFETENSORS_H

#include "workloads/model.h"

/* One tensor of a file. */
typedef struct SafetensorsTensor {
    char *name;
    DataType data_type;
    GArray *shape;      /* guint64; empty for a scalar */
    guint64 elements;   /* the product of the shape */
    guint64 offset;     /* of its first byte in the file; need not be aligned */
    const guint8 *data; /* elements · data_type_bytes, little-endian; within the mapped file */
    const char *path;   /* the file's */
} SafetensorsTensor;

typedef struct Safetensors {
    char *path;
    GMappedFile *mapping;
    GPtrArray *tensors; /* SafetensorsTensor, by offset */
} Safetensors;

/* Maps and checks a file. Errors say "path: …"; those within the header "path: header:line:column:
 * …", counted from the header's first character. The file must not be cut while it is open. */
Safetensors *safetensors_open(const char *path, GError **error);
void safetensors_free(Safetensors *file);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Safetensors, safetensors_free)

/* "[64, 32]", for messages. Caller frees. */
char *safetensors_shape_text(const SafetensorsTensor *tensor);

#endif
