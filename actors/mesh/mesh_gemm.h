/* C[m×n] = A[m×k] · B[k×n] over all cores of a mesh (WaferLLM section 5). */
#ifndef ACTORS_MESH_MESH_GEMM_H
#define ACTORS_MESH_MESH_GEMM_H

#include "actors/mesh/mesh.h"

typedef enum {
    MESH_GEMM_INTERLEAVED, /* MeshGEMM */
    MESH_GEMM_CANNON,
    MESH_GEMM_SUMMA,
    MESH_GEMM_ALLGATHER,
    MESH_GEMM_TRANSPOSED, /* dist-GEMM-T: C = A · Bᵀ with B[n×k] */
    N_MESH_GEMM_KINDS
} MeshGemmKind;
extern const char *const mesh_gemm_names[]; /* "meshgemm", "cannon" …, NULL-terminated */

typedef struct MeshGemm {
    MeshGemmKind kind;
    guint64 m, k, n;     /* rows of A are divided along Y, columns of B along X, k along both */
    DataType type;       /* FP16 or FP32 */
    gboolean every_step; /* no fast-forward through the loop; the result is the same, bit by bit */
    gboolean aligned;    /* the tiles lie as the first step needs them: no alignment is simulated */
    guint k_tree;        /* TRANSPOSED: K of the sums along X; 0: 2 */
    /* Row-major without gaps in 'type' (guint16 for FP16); all or none. Sums in FP32, rounded once.
     * Numbers need the full mesh and every_step. */
    const void *a, *b;
    void *c;
} MeshGemm;

/* Sets tiles, paths and memory up and starts the cores. Borrows 'gemm' until the run has ended. */
gboolean mesh_gemm_start(Mesh *mesh, const MeshGemm *gemm, GError **error);
/* As a part of a longer body: prepare once, then every core calls it at its turn with its own
 * tiles, FP32, row-major: of A tile_size rows × tile_size columns of its place (see tiles.h; larger
 * by padding where the divisions are uneven), likewise B and C, which the loop adds to. NULL: time
 * only. Square grids. */
typedef struct MeshMultiplier MeshMultiplier;
MeshMultiplier *mesh_multiplier_new(Mesh *mesh, const MeshGemm *gemm, GError **error);
void mesh_multiplier_free(MeshMultiplier *multiplier);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(MeshMultiplier, mesh_multiplier_free)
void mesh_multiplier_run(MeshMultiplier *multiplier, MeshCore *core, const float *a, const float *b,
                         float *c);

/* Multiply-accumulates of the padded problem over those of the problem itself, less one. */
double mesh_gemm_padding(const MeshGemm *gemm, guint columns, guint rows);

#endif
