#include "platforms/kernel_cycles.h"

/* THInfer table II, cycles from issue to result. */
enum { VFMULAS32 = 6, SVBCAST = 4, SLDH = 7, SBALE2 = 1, VLDW = 9 };

/* Table I: each cycle issues one multiply-accumulate to each VMAC, one svbcast, one sldh and one
 * vldw. A vldw loads two vectors; the table shows no store, which is taken to be its mirror. */
enum { VMACS = 3, VECTORS_PER_VLDW = 2, K_PER_LOOP = 2 };

static guint64 divide_up(guint64 a, guint64 b) {
    return (a + b - 1) / b;
}

guint64 kernel_vector_columns(const ClusterSpec *cluster, DataType type) {
    guint64 macs =
        type == DATA_TYPE_FP32 ? cluster->macs_per_cycle_fp32 : cluster->macs_per_cycle_fp16;

    return MAX(macs / VMACS, 1);
}

guint64 kernel_columns(const ClusterSpec *cluster, DataType type) {
    return KERNEL_VECTORS * kernel_vector_columns(cluster, type);
}

/* Cycles in which the VMACs pass once over the accumulators, three rows at a time. */
static guint64 sweep_cycles(guint64 rows, guint64 vectors) {
    return divide_up(rows, VMACS) * vectors;
}

/* One body of the loop takes two steps of k (table I: 16 cycles for 6 rows of 4 vectors): as long
 * as its busiest unit, and no shorter than two dependent updates of an accumulator. */
static guint64 loop_cycles(guint64 rows, guint64 vectors) {
    guint64 vmac = K_PER_LOOP * sweep_cycles(rows, vectors);
    guint64 broadcasts = K_PER_LOOP * rows; /* SMAC, and as many sldh */
    guint64 loads = K_PER_LOOP * divide_up(vectors, VECTORS_PER_VLDW);

    return MAX(MAX(vmac, broadcasts), MAX(loads, (guint64)K_PER_LOOP * VFMULAS32));
}

/* From the first load to the first multiply-accumulate: the chain sldh, sbale2, svbcast of its last
 * row, or the vldw of Y1 and of W1's first row, which need to be there when the sweep reaches them.
 */
static guint64 fill_cycles(guint64 rows, guint64 vectors) {
    guint64 scalar = MIN(rows, VMACS) - 1 + SLDH + SBALE2 + SVBCAST;
    guint64 loads = (rows + 1) * divide_up(vectors, VECTORS_PER_VLDW);
    guint64 vector = loads - 1 + VLDW;
    guint64 sweep = sweep_cycles(rows, vectors);
    guint64 slack = sweep > VECTORS_PER_VLDW ? sweep - VECTORS_PER_VLDW : 0;

    return MAX(scalar, vector > slack ? vector - slack : 0);
}

/* From the end of the loop to the last store of Y1: the stores begin when the first pair of vectors
 * of the last sweep is ready, and the last three rows wait for the last multiply-accumulate. */
static guint64 drain_cycles(guint64 rows, guint64 vectors) {
    guint64 stores = rows * divide_up(vectors, VECTORS_PER_VLDW);
    guint64 sweep = sweep_cycles(rows, vectors);
    guint64 first_ready = MIN(sweep, VECTORS_PER_VLDW) - 1 + VFMULAS32;
    guint64 stored = first_ready + stores;
    guint64 last = VFMULAS32 - 1 + MIN(rows, VMACS);

    return MAX(last, stored > sweep ? stored - sweep : 0);
}

guint64 kernel_cycles(guint64 rows, guint64 vectors, guint64 k) {
    g_assert(rows <= KERNEL_ROWS && vectors <= KERNEL_VECTORS);
    if (rows == 0 || vectors == 0 || k == 0)
        return 0;
    return fill_cycles(rows, vectors) + divide_up(k, K_PER_LOOP) * loop_cycles(rows, vectors) +
           drain_cycles(rows, vectors);
}

/* Of a stripe of at most m1 rows. */
static double stripe_cycles(const KernelTile *tile, guint64 rows, guint64 vector_columns) {
    guint64 full = tile->columns / tile->n1, rest = tile->columns % tile->n1;
    guint64 full_cycles = kernel_cycles(rows, divide_up(tile->n1, vector_columns), tile->k);
    guint64 rest_cycles = kernel_cycles(rows, divide_up(rest, vector_columns), tile->k);

    return (double)full * (double)full_cycles + (double)rest_cycles;
}

double kernel_tile_cycles(const KernelTile *tile, const ClusterSpec *cluster) {
    guint64 vector_columns = kernel_vector_columns(cluster, tile->type);
    guint64 full = tile->rows / tile->m1;

    return (double)full * stripe_cycles(tile, tile->m1, vector_columns) +
           stripe_cycles(tile, tile->rows % tile->m1, vector_columns);
}
