/* One operator alone on a mesh of cores, simulated core by core in a child of its own. */
#ifndef ANALYSIS_MESH_RUN_H
#define ANALYSIS_MESH_RUN_H

#include "actors/mesh/mesh_gemm.h"
#include "actors/mesh/mesh_gemv.h"
#include "analysis/operators/operator_run.h"

/* In the order of MeshGemmKind as far as they are products of matrices. */
typedef enum {
    MESH_OPERATOR_MESHGEMM,
    MESH_OPERATOR_CANNON,
    MESH_OPERATOR_SUMMA,
    MESH_OPERATOR_ALLGATHER,
    MESH_OPERATOR_TRANSPOSED,
    MESH_OPERATOR_MESHGEMV,
    MESH_OPERATOR_GEMV_PIPELINE,
    MESH_OPERATOR_GEMV_RING,
    MESH_OPERATOR_ALL_REDUCE,
    N_MESH_OPERATORS
} MeshOperator;
extern const char *const mesh_operator_names[]; /* "meshgemm" …, NULL-terminated */

typedef enum { MESH_FAMILY_GEMM, MESH_FAMILY_GEMV, MESH_FAMILY_REDUCE } MeshFamily;
MeshFamily mesh_operator_family(MeshOperator kind);

/* How the broadcasts of SUMMA and allgather travel. */
typedef enum {
    MESH_ROUTING_AUTO,   /* direct where a core's routing paths suffice, else relayed */
    MESH_ROUTING_DIRECT, /* a path of its own from every source */
    MESH_ROUTING_RELAY,  /* from neighbour to neighbour in software */
} MeshRouting;
extern const char *const mesh_routing_names[]; /* "auto" …, NULL-terminated */

/* Columns × rows of cores. */
typedef struct MeshGrid {
    guint columns, rows;
} MeshGrid;

typedef struct MeshRunSpec {
    guint kind; /* MeshOperator */
    MeshGrid grid;
    guint64 m, k, n;  /* GEMM: C[m×n] = A[m×k] · B[k×n]; GEMV: y[n] = x[k] · B[k×n] */
    guint64 elements; /* all-reduce: of each core's vector, summed along every row */
    guint algorithm;  /* all-reduce: MeshReduceKind */
    guint64 k_tree;   /* of K-trees */
    gboolean no_broadcast;
    MeshRouting routing; /* SUMMA, allgather */
    DataType type;
    gboolean full;       /* every core is an actor; else row 0 and column 0 stand for all */
    gboolean every_step; /* no fast-forward */
    gboolean aligned;    /* GEMM: the first alignment of the tiles is left out */
    gboolean unlimited;  /* what exceeds a core's memory or paths is counted, not refused */
    gboolean verify;     /* with seeded numbers, compared with a reference; wants 'full' */
    guint64 seed;
    gboolean heat;   /* what every core did is kept */
    gboolean events; /* and every stretch of every core's time, for a timeline */
} MeshRunSpec;

/* How a GEMV or an all-reduce sums. */
MeshReduceKind mesh_operator_reduce(const MeshRunSpec *spec);

/* Events are kept of no more cores and of no more stretches of their time. */
#define MESH_EVENTS_CORES_MAX 1024
#define MESH_EVENTS_MAX 500000

/* What a core did. */
typedef struct MeshCoreHeat {
    guint x, y;
    double compute_cycles, communication_cycles, wait_cycles;
    guint64 link_wavelets; /* of the busiest of its four links out */
} MeshCoreHeat;

typedef struct MeshRunResult {
    MeshTotals totals;
    double macs;         /* of the problem itself; 0 for an all-reduce */
    double padding;      /* multiply-accumulates of the padded problem over those, less one */
    MeshGemmInfo gemm;   /* GEMM */
    gboolean relayed;    /* broadcasts went through software */
    guint cores;         /* that were actors */
    OperatorCheck check; /* with 'verify' */
    GArray *heat;        /* MeshCoreHeat, in order of rows; or NULL */
    GArray *events;      /* OperatorEvent, in seconds, lane = row · columns + column; or NULL
                            when they were not asked for or are too many */
} MeshRunResult;

/* The most levels that a tree of the run's sums may have: more than halvings of its line would be
 * levels of nobody. 0: it has no tree. */
guint mesh_run_most_levels(const MeshRunSpec *spec);

/* FALSE and an INPUT_ERROR when the operator cannot run on this grid or platform: the grid is
 * larger than the mesh or too small for the operator, K is out of range, numbers are asked of a
 * folded or large mesh. What only setting up shows (memory, paths) is told by the run. */
gboolean mesh_run_check(const MeshRunSpec *spec, const Platform *platform, GError **error);
/* Runs them all, as operator_run_all does; results in the order of the specs, to be released by
 * mesh_run_result_clear. */
gboolean mesh_run_all(const MeshRunSpec *specs, gsize n, const Platform *platform,
                      MeshRunResult *results, GError **error);
void mesh_run_result_clear(MeshRunResult *result);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(MeshRunResult, mesh_run_result_clear)

#endif
