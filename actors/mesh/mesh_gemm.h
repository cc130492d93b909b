/* C[m×n] = A[m×k] · B[k×n] over all cores of a mesh (WaferLLM section 5).
 *
 * Core (x, y) of columns × rows begins with part y of A's rows and part x of its columns, part y of
 * B's rows and part x of its columns (TRANSPOSED: of B[n×k] likewise), and ends with part y of C's
 * rows and part x of its columns; all parts are balanced (policies/mesh/tiles.h) and as uneven as
 * they are. Where columns ≠ rows every core stands for several of the square of tiles_a_side.
 *
 * A folded mesh stands for the whole one as if it were the slowest of its rows and of its columns:
 * the largest tiles and the longest alignment. It is exact where nobody waits for tiles. Otherwise
 * what waits for both axes in turn is left out (two hops a loop of MeshGEMM, Cannon's way back once
 * more, a crossing of the mesh for SUMMA, in software where it is relayed), and tiles that are not
 * all of a size, or several a core, make it slower or quicker by what they differ:
 * mesh_gemm_fold_bound. Hops and stages on the path of causes differ with that, by up to a crossing
 * of both axes.
 *
 * Cores wait for what they need and for nothing else: there is no barrier between steps, and a
 * sender does not wait for room at its receiver. */
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
    DataType type;       /* BF16 takes the time of FP16; numbers are of FP16 and FP32 only */
    gboolean every_step; /* no fast-forward through the loop; the result is the same, bit by bit */
    gboolean aligned;    /* the tiles lie as the first step needs them: no alignment is simulated */
    gboolean relayed;    /* SUMMA, ALLGATHER: tiles go from neighbour to neighbour, each relaying in
                            software, instead of on a path from every source */
    guint k_tree; /* TRANSPOSED: K of the tree of the sums along X; 0: 1, from both ends to the
                     middle. The levels of larger ones meet on links: always stepped */
    /* Row-major without gaps in 'type' (guint16 for FP16); all or none. Sums in FP32, rounded once;
     * TRANSPOSED: and with every message of a sum. Numbers need the full mesh and every_step. */
    const void *a, *b;
    void *c;
} MeshGemm;

/* What there is to tell of a run. */
typedef struct MeshGemmInfo {
    const char *grain;     /* "full", or "folded, approximate" */
    guint tiles_a_side;    /* and so steps of the loop */
    guint alignment_steps; /* before it */
    guint drain_steps;     /* after it, until the last sums are where they belong */
    gboolean stepped;      /* all steps through the engine; otherwise fast-forwarded */
    double fold_bound;     /* by how many cycles a folded run may be off; 0: in full */
    double peak_cycles;    /* were every core to multiply at its peak all the time */
    double kernel_cycles;  /* of the slowest core's kernels, without software */
} MeshGemmInfo;
MeshGemmInfo mesh_gemm_info(const MeshSetup *setup, const MeshGemm *gemm);
/* By how many cycles a folded run may end earlier or later than the full one would. */
double mesh_gemm_fold_bound(const MeshSetup *setup, const MeshGemm *gemm);

/* Sets tiles, paths and memory up and starts the cores. Borrows 'gemm' until the run has ended.
 * INPUT_ERROR where a grid is too small for its ring, memory or paths do not suffice, or numbers
 * are asked of a folded mesh. */
gboolean mesh_gemm_start(Mesh *mesh, const MeshGemm *gemm, GError **error);
/* As a part of a longer body: prepare once, then every core calls it at its turn with its own
 * tiles, FP32, row-major without gaps: tile_size(m, rows, y) × tile_size(k, columns, x) of A,
 * likewise B and C, which the loop adds to; they are copied, so the caller may free them as soon as
 * its core returns. NULL on all cores: time only. Every step goes through the engine; a, b and c of
 * 'gemm' do not matter. Square grids. Paths and memory are the multiplier's from 'new' on; free it
 * after the last core has returned. */
typedef struct MeshMultiplier MeshMultiplier;
MeshMultiplier *mesh_multiplier_new(Mesh *mesh, const MeshGemm *gemm, GError **error);
void mesh_multiplier_free(MeshMultiplier *multiplier);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(MeshMultiplier, mesh_multiplier_free)
void mesh_multiplier_run(MeshMultiplier *multiplier, MeshCore *core, const float *a, const float *b,
                         float *c);

/* How often, at most, a part of an element of C is rounded to 'type' on its way into C: TRANSPOSED
 * sends sums along X; the others round once. 0 in FP32. */
guint mesh_gemm_roundings(const MeshGemm *gemm, guint columns);

/* What the largest tile costs everybody: multiply-accumulates, were all tiles as large as the
 * largest, over those of the problem itself, less one. */
double mesh_gemm_padding(const MeshGemm *gemm, guint columns, guint rows);

#endif
