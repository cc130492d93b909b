/* The order in which a Linear operator passes its blocks through a cluster (THInfer III.B.2,
 * figures 5–7), without an engine: actors/cluster/gemm.c lets it happen, gemm_estimate_seconds adds
 * it up.
 *
 * Rows are cut into blocks of Mg, K into blocks of Kg, columns into blocks of N2; a pass is one of
 * each. A pass steps through its K block by K2: every DSP multiplies its X2 by the W2 that all
 * share, while the one lane of transfers brings the next step's X2 and W2 and takes its share of
 * Y2: out of the pass before, into the pass after (three buffers of Y2).
 *
 * With few rows there is nothing to share in X: then the columns are split over the DSPs, X is
 * broadcast and W streams through once. A pass is then a round of columns. */
#ifndef POLICIES_GEMM_SCHEDULE_H
#define POLICIES_GEMM_SCHEDULE_H

#include "policies/gemm_blocks.h"

/* When Y2 crosses the lane: in equal tiles, one a step (figure 7), or whole with the pass's last
 * step (figure 6). */
typedef enum { GEMM_TILED, GEMM_UNTILED } GemmTransfers;

typedef struct GemmMode {
    GemmTransfers transfers;
    gboolean x_on_chip; /* X lies in GSM already */
    gboolean y_on_chip; /* what follows takes Y from AM: finished sums are not written to DDR */
} GemmMode;

typedef struct GemmPlan {
    GemmShape shape;
    GemmMode mode;
    const ClusterSpec *cluster;
    gboolean split_columns; /* the few rows' path */
    guint64 m1, n1;
    guint64 row_tile;                                /* rows of a DSP: M2, or all */
    guint64 column_tile;                             /* columns of a DSP: N2, or its share */
    guint64 row_block, column_block, k_block;        /* Mg, N2 (or all DSPs' share), Kg */
    guint64 k_step;                                  /* K2 */
    guint64 row_blocks, column_blocks, k_blocks;     /* how many */
    gboolean y_stays;                                /* in AM from one K block to the next */
    double sm_bytes, am_bytes, gsm_bytes, ddr_bytes; /* to be booked; SM and AM of one DSP */
} GemmPlan;

/* Borrows the cluster. At most m1 rows for every DSP take the few rows' path, unless the blocks' is
 * faster (few columns, too) and fits. Whether the plan fits is for the caller to find out. */
GemmPlan gemm_plan(const GemmShape *shape, const GemmBlocks *blocks, GemmMode mode,
                   const ClusterSpec *cluster);
guint64 gemm_plan_passes(const GemmPlan *plan);

typedef struct GemmPass {
    guint64 row, rows, column, columns, k, depth; /* the block: first and how many */
    gboolean first, last;                         /* of its rows' and columns' K blocks */
    guint64 in_bytes, out_bytes;                  /* of Y2, all DSPs: partial sums are FP32 */
} GemmPass;
GemmPass gemm_plan_pass(const GemmPlan *plan, guint64 index);

/* What of a pass's block one DSP computes: none ('rows' or 'columns' 0) where the block is partial
 * and the others have it all. The first DSP has the most. */
typedef struct GemmPart {
    guint64 row, rows, column, columns; /* within the block */
} GemmPart;
GemmPart gemm_plan_part(const GemmPlan *plan, const GemmPass *pass, guint64 dsp);

typedef enum {
    GEMM_X_FETCH,     /* DDR to GSM, from where SM gets it in passing */
    GEMM_X_COPY,      /* GSM to SM, in whole tiles */
    GEMM_X_BROADCAST, /* DDR to the SM of every DSP */
} GemmXMove;

typedef struct GemmStep {
    guint64 pass;
    guint64 k, depth; /* of K */
    double cycles;    /* of the busiest DSP */
    GemmXMove x_move; /* before it can compute */
    guint64 x_bytes, w_bytes;
    guint64 y_out_bytes, y_in_bytes; /* while it computes: of the pass before, of the pass after */
    gboolean ends_pass;              /* with it, all of them have passed */
} GemmStep;

/* Walks the steps in order. Borrows the plan. */
typedef struct GemmCursor {
    const GemmPlan *plan;
    guint64 index, step, steps; /* pass; in it */
    GemmPass pass;
    guint64 out_bytes, in_bytes; /* of the neighbours */
    double cycles;               /* of a whole step of the pass */
} GemmCursor;
GemmCursor gemm_cursor(const GemmPlan *plan);
gboolean gemm_cursor_next(GemmCursor *cursor, GemmStep *step); /* FALSE after the last */

/* What the steps last on a platform with nobody else about, without launch. */
double gemm_plan_seconds(const GemmPlan *plan);

#endif
