/* A GEMM or GEMV on a mesh of its own in a forked child, and all that can be told of it. */
#ifndef TESTS_ENGINE_MESH_GEMM_FIXTURE_H
#define TESTS_ENGINE_MESH_GEMM_FIXTURE_H

#include "actors/mesh/mesh_gemm.h"
#include "actors/mesh/mesh_gemv.h"

enum { GEMM_TRIAL_CORES = 24 * 24 };

typedef struct GemmCoreSeen {
    double end, compute, communication, wait, peak_bytes;
    guint64 x, y, hops, stages, paths, sent_wavelets;
    guint64 links[4];
} GemmCoreSeen;

typedef struct GemmSeen {
    char error[512]; /* empty: the run ended well */
    MeshTotals totals;
    guint n_cores;
    GemmCoreSeen cores[GEMM_TRIAL_CORES]; /* the first so many */
} GemmSeen;

typedef struct GemmTrial {
    MeshSpec spec;
    guint columns, rows;
    gboolean folded, unlimited;
    MeshGemm gemm;
    const MeshGemv *gemv; /* instead, if given */
    /* Instead of both, if given: sets up and starts the cores. */
    gboolean (*prepare)(Mesh *mesh, gpointer data, GError **error);
    gpointer data;
} GemmTrial;

/* Small costs, all whole numbers of cycles. */
MeshSpec gemm_trial_spec(void);
/* The same with kernels so quick that everybody waits for tiles. */
MeshSpec gemm_trial_quick_spec(void);
/* Of the shipped wafer. */
MeshSpec gemm_trial_wafer(void);

/* Fails the test when the child does. g_free. */
GemmSeen *gemm_trial_run(const GemmTrial *trial);
const GemmCoreSeen *gemm_seen_core(const GemmSeen *seen, guint64 x, guint64 y);

/* Operands in memory that children share. */
typedef struct GemmOperands {
    guint64 m, k, n;
    DataType type;
    gboolean transposed; /* b[n×k] */
    void *a, *b, *c;     /* in 'type' */
    guint roundings;     /* of FP16: of every part of an element on its way; 1 from the start */
} GemmOperands;
GemmOperands gemm_operands_new(const MeshGemm *gemm);
void gemm_operands_give(const GemmOperands *operands, MeshGemm *gemm);
/* What of C is not the product of A and B: elements further than any order of summing in FP32 and
 * rounding so often can be from the product by CBLAS. */
guint64 gemm_operands_wrong(const GemmOperands *operands);

#endif
