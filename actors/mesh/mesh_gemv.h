/* y[n] = x[k] · B[k×n] over all cores of a mesh (WaferLLM section 6): local products, then sums
 * over each column of cores. k is divided along Y and n along X in balanced parts
 * (policies/mesh/tiles.h); x is repeated along X. Every column sums vectors as long as the longest
 * part of n. A folded mesh stands for the whole one as if every column were the one of most work.
 */
#ifndef ACTORS_MESH_MESH_GEMV_H
#define ACTORS_MESH_MESH_GEMV_H

#include "actors/mesh/mesh_reduce.h"

typedef struct MeshGemv {
    guint64 k, n;
    DataType type;         /* BF16 takes the time of FP16; numbers are of FP16 and FP32 only */
    MeshReduceKind reduce; /* TREE: MeshGEMV; FABRIC: the vendor's pipeline; RING */
    guint k_tree;          /* TREE: its K; 0: 2 */
    gboolean no_broadcast;
    /* Row-major without gaps in 'type' (guint16 for FP16); all or none. Sums in FP32, rounded with
     * every message (mesh_reduce_roundings). Numbers need the full mesh. */
    const void *x, *b;
    void *y; /* as a core that is told the sums has it; without broadcast, as the root has */
} MeshGemv;

/* Sets tiles, paths and memory up and starts the cores. Borrows 'gemv' until the run has ended.
 * INPUT_ERROR where memory or paths do not suffice, or numbers are asked of a folded mesh. */
gboolean mesh_gemv_start(Mesh *mesh, const MeshGemv *gemv, GError **error);

/* Cycles of the slowest core's local product. */
double mesh_gemv_kernel_cycles(const MeshSetup *setup, const MeshGemv *gemv);

#endif
