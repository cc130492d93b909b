/* Blocks of the Linear operator on a cluster: Y[M×N] = X[M×K]·W[K×N] cut into blocks that fit the
 * memory tiers (THInfer III.B.2, eq. 4–8), and the search for the best ones. */
#ifndef POLICIES_GEMM_BLOCKS_H
#define POLICIES_GEMM_BLOCKS_H

#include "platforms/platform.h"

typedef struct GemmShape {
    guint64 m, n, k;
    DataType type;
} GemmShape;

typedef struct GemmBlocks {
    guint64 m1, n1;     /* the kernel's registers: rows × columns */
    guint64 m2, k2, n2; /* X2[m2×k2] in SM, W2[k2×n2] and Y2[m2×n2] in AM, of each DSP */
    guint64 mg, kg;     /* Xg[mg×kg] in GSM */
} GemmBlocks;

/* The paper's choice: 6, 128; 30, 256, 256; 720, 2048. In FP16 kg is 4096, which fits, and n1 256:
 * the kernel keeps its structure (THInfer III.B.4) and its registers hold twice the columns. */
GemmBlocks gemm_blocks_paper(DataType type);

/* Bytes on one DSP (SM, AM) and in GSM that the blocks take, by eq. 6, 7 and 8 for the data type:
 * two X2; two W2, three Y2 and a row of N; one Xg. Y2 holds FP32 sums whatever the type. */
typedef struct GemmFootprint {
    double sm_bytes, am_bytes, gsm_bytes;
} GemmFootprint;
GemmFootprint gemm_footprint(const GemmBlocks *blocks, guint64 n, DataType type);
/* Whether blocks are blocks at all: none is 0, the kernel has registers for m1×n1, and Xg has a
 * tile of m2 rows for every DSP at most. FALSE and an error otherwise. */
gboolean gemm_blocks_check(const GemmBlocks *blocks, DataType type, const ClusterSpec *cluster,
                           GError **error);
/* … and fit into SM, AM and GSM. */
gboolean gemm_blocks_fit(const GemmBlocks *blocks, guint64 n, DataType type,
                         const ClusterSpec *cluster);

/* Seconds of the operator, blocks tiled and everything off chip, without launch: what the
 * simulation of gemm_schedule.h takes with nobody else about. */
double gemm_estimate_seconds(const GemmShape *shape, const GemmBlocks *blocks,
                             const Platform *platform);

/* The best blocks of a fixed grid by that estimate (ties go to the earlier), and how far the
 * paper's are from them: paper_s / best_s − 1. 'best' is the paper's where nothing is better. */
typedef struct GemmSearch {
    GemmBlocks best;
    double best_s, paper_s; /* paper_s is INFINITY where the paper's choice does not fit */
    guint tried, fitting;
} GemmSearch;
GemmSearch gemm_blocks_search(const GemmShape *shape, const Platform *platform);

#endif
