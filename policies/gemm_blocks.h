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

/* The paper's choice: 6, 128; 30, 256, 256; 720, 2048 (kg 4096 where FP16 lets the whole fit). */
GemmBlocks gemm_blocks_paper(DataType type);

/* Bytes on one DSP (SM, AM) and in GSM that the blocks take, by eq. 6, 7 and 8 for the data type:
 * two X2; two W2, three Y2 and a row of N; one Xg. */
typedef struct GemmFootprint {
    double sm_bytes, am_bytes, gsm_bytes;
} GemmFootprint;
GemmFootprint gemm_footprint(const GemmBlocks *blocks, guint64 n, DataType type);
gboolean gemm_blocks_fit(const GemmBlocks *blocks, guint64 n, DataType type,
                         const ClusterSpec *cluster);

#endif
