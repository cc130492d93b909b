/* Cycles of the inner kernel of matrix multiplication on one DSP, from the VLIW schedule that
 * THInfer prints (tables I and II): Y1[rows×columns] += X1[rows×k]·W1[k×columns], with three VMAC
 * units in each of the DSP's accelerator cores, all in lockstep. A vector is what one 64-bit
 * register in every core holds of a row: two FP32 or four FP16 columns a core. */
#ifndef PLATFORMS_KERNEL_CYCLES_H
#define PLATFORMS_KERNEL_CYCLES_H

#include "platforms/platform.h"

#define KERNEL_ROWS 6    /* M1: rows of accumulators */
#define KERNEL_VECTORS 4 /* vectors of accumulators in a row */

/* Columns of one vector (32 in FP32, 64 in FP16 and BF16 on an MT-3000) and of a whole kernel (N1:
 * 128 and, with the same structure, 256). */
guint64 kernel_vector_columns(const ClusterSpec *cluster, DataType type);
guint64 kernel_columns(const ClusterSpec *cluster, DataType type);

/* One call of the kernel over 'k', with at most KERNEL_ROWS rows and kernel_columns columns:
 * loading Y1, the loop, storing Y1. */
guint64 kernel_cycles(guint64 rows, guint64 vectors, guint64 k);

/* A tile of any size on one DSP, cut into calls of at most m1 rows and n1 columns. */
typedef struct KernelTile {
    guint64 rows, columns, k;
    guint64 m1, n1;
    DataType type;
} KernelTile;
double kernel_tile_cycles(const KernelTile *tile, const ClusterSpec *cluster);

#endif
