/* What one layer of a model is on a wafer: a list of operators one after another, each of which
 * fills its part of the grid (WaferLLM section 4). Matrices are divided along both axes. In decode
 * a vector lies along one axis and is repeated along the other, and every product turns it: what is
 * summed along Y (over the rows) comes to lie along X and the other way round, so that nothing is
 * ever transposed. The operators say what is done, not how long it takes. */
#ifndef POLICIES_MESH_WAFER_LAYER_H
#define POLICIES_MESH_WAFER_LAYER_H

#include "workloads/model.h"

/* Whose rules the operators follow: WaferLLM's own, T10's (right division of work and memory, but
 * every core seems equally near), Ladder's (one shared memory). */
typedef enum { WAFER_WAFERLLM, WAFER_T10, WAFER_LADDER, N_WAFER_SYSTEMS } WaferSystem;
extern const char *const wafer_system_names[]; /* "waferllm", "t10", "ladder", NULL */

typedef enum {
    WAFER_ALL_REDUCE, /* n elements on every core summed (or their maximum taken) over each line
                         and given to all of the line; along_y; k_tree */
    WAFER_LOCAL_GEMV, /* every core for itself: k vector operations of n elements */
    WAFER_GEMM_LOOP, /* C[m×n] = A[m×k] · B[k×n] as a compute-shift loop; or B[n×k] transposed */
    WAFER_LOCAL_GEMM,    /* the kernels of such a loop alone: nothing is shifted */
    WAFER_TILE_EXCHANGE, /* 'steps' times: every core gets a tile of A (a_bytes) and one of B
                            (b_bytes) from partners anywhere on the grid */
    WAFER_REMOTE_LOADS,  /* every core loads 'loads' elements one by one from its row's memories */
    WAFER_ALL_TO_ALL,    /* every core that has some sends n elements along its column; of all,
                            link_elements cross the column's busiest link in one direction, and the
                            farthest go from end to end */
    WAFER_SOFTWARE,      /* what a decode layer costs besides: MeshSpec.layer_cycles, once */
    N_WAFER_OP_KINDS
} WaferOpKind;
extern const char *const wafer_op_kind_names[]; /* "all-reduce" …, NULL */

/* Unused fields are 0. Elements are of the model's data type. */
typedef struct WaferOp {
    WaferOpKind kind;
    const char *name;    /* static: "q", "softmax max" … */
    guint columns, rows; /* what it runs on: the grid, or a band of its rows (an expert's) */
    gboolean along_y;    /* ALL_REDUCE: over the cores of a column, 'rows' of them */
    guint k_tree; /* ALL_REDUCE, transposed GEMM_LOOP; 0: the chain that T10 streams through */
    gboolean transposed; /* GEMM_LOOP */
    guint64 m, k, n;     /* GEMMs: of the whole. LOCAL_GEMV: k, n of a core. Others: n */
    guint steps;         /* GEMMs, TILE_EXCHANGE: tiles_a_side. Whoever runs GEMM_LOOP or LOCAL_GEMM
                            adds steps × MeshSpec.step_cycles */
    double a_bytes, b_bytes;
    guint64 loads;
    guint64 link_elements;
} WaferOp;

/* What the lists depend on. 'model' is borrowed. */
typedef struct WaferPlan {
    const Model *model;
    guint columns, rows; /* the grid that the layer runs on */
    WaferSystem system;
    guint k_tree; /* of WaferLLM's allreduces; ≥ 1 */
} WaferPlan;

/* INPUT_ERROR when the grid is too small for the model's experts, each of which has rows of its
 * own, or for a ring (3 × 3). The lists below want a plan that this accepts. The message has no
 * place. */
gboolean wafer_plan_check(const WaferPlan *plan, GError **error);

/* Arrays of WaferOp, one layer's or the head's; the caller unrefs.
 *
 * Decode of one token that attends to 'context' tokens. Dense: ten allreduces. Elementwise work
 * (RoPE, SiLU, exponentials, residuals) is part of the calibrated SOFTWARE, no operator. */
GArray *wafer_layer_decode(const WaferPlan *plan, guint64 context);
/* Prefill of 'tokens' tokens. Dense: nine loops. Elementwise work, norms and softmax are part of
 * the calibrated step_cycles. Experts are taken to get equal numbers of tokens. */
GArray *wafer_layer_prefill(const WaferPlan *plan, guint64 tokens);
/* Final norm, LM head and the choice of the likeliest token, for one token: of decode, or the last
 * of prefill. Layers × the layer's list and once this make a token. */
GArray *wafer_head(const WaferPlan *plan);

#endif
