/* y[n] = x[k] · B[k×n] over all cores of a mesh (WaferLLM section 6): local products, then sums
 * over each column of cores. x is divided along Y and repeated along X. */
#ifndef ACTORS_MESH_MESH_GEMV_H
#define ACTORS_MESH_MESH_GEMV_H

#include "actors/mesh/mesh_reduce.h"

typedef struct MeshGemv {
    guint64 k, n;
    DataType type;
    MeshReduceKind reduce; /* TREE: MeshGEMV; FABRIC: the vendor's pipeline; RING */
    guint k_tree;
    gboolean no_broadcast;
    const void *x, *b; /* row-major, in 'type'; all or none */
    void *y;
} MeshGemv;

gboolean mesh_gemv_start(Mesh *mesh, const MeshGemv *gemv, GError **error);

#endif
