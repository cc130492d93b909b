/* The simulations that a wafer's costs are made of: one each, told apart by what its cycles depend
 * on. */
#ifndef ANALYSIS_WAFER_JOB_H
#define ANALYSIS_WAFER_JOB_H

#include "actors/mesh/wafer_move.h"
#include "actors/mesh/wafer_op.h"

typedef enum {
    WAFER_JOB_OPERATOR,
    WAFER_JOB_READS,      /* Ladder's remote loads over a row */
    WAFER_JOB_EXCHANGE,   /* a step of T10's exchange of tiles over a grid */
    WAFER_JOB_GEMV,       /* MeshGEMV alone, its sums left at the roots */
    WAFER_JOB_TRANSITION, /* from prefill to decode */
    WAFER_JOB_LAYER_IN,   /* a layer's weights onto the prefill grid */
    WAFER_JOB_HAND_OVERS, /* between regions, all of one token */
} WaferJobKind;

typedef struct WaferJob {
    WaferJobKind kind;
    DataType type;
    WaferOp op;     /* READS: its columns. GEMV: columns, rows, m, k, n and k_tree */
    Model model;    /* its numbers alone: names may be gone */
    WaferMove move; /* with 'model' and 'spec' not set */
} WaferJob;

#define WAFER_JOB_WORDS 16
typedef struct WaferJobKey {
    guint64 words[WAFER_JOB_WORDS];
} WaferJobKey;

WaferJob wafer_job_operator(const WaferOp *op, DataType type);
WaferJob wafer_job_move(WaferJobKind kind, const WaferMove *move);
/* Equal for jobs of equal cycles on one platform. */
WaferJobKey wafer_job_key(const WaferJob *job);
guint wafer_job_key_hash(gconstpointer key);
gboolean wafer_job_key_equal(gconstpointer a, gconstpointer b);

/* Cycles of a job: fixed + each · units. Of READS a unit is a load, of EXCHANGE a wavelet of A's
 * and B's tiles together; elsewhere there are none. */
typedef struct WaferJobCycles {
    double fixed, each;
} WaferJobCycles;

/* Runs it; wants a process that has not started the engine. FALSE and INPUT_ERROR where a shape or
 * grid cannot be. */
gboolean wafer_job_run(const WaferJob *job, const MeshSpec *spec, WaferJobCycles *cycles,
                       GError **error);
/* What an operator takes, its job's cycles being known. */
double wafer_job_op_cycles(const WaferOp *op, const WaferJobCycles *cycles, const MeshSpec *spec);

#endif
