#include "actors/kernels/cpu.h"
#include "actors/kernels/kernels.h"

#include <string.h>

/* Four rows at a time, whose sums depend on nothing but their own row: they hide the latency of one
 * another's additions. FP16 rows become float in pieces of CHUNK, a multiple of the 8 sums, small
 * enough for the stack of an actor. */
enum { LANES = 8, ROWS = 4, CHUNK = 256 };

typedef struct RowSums {
    Float8 lanes[ROWS];
} RowSums;

/* sum[r][l] += Σ row_r[8i + l]·x[8i + l] for a multiple of 8 terms. There is one multiply-add, so
 * that a compiler that fuses it does so for every term. */
#define DEFINE_ADD_ROWS(function, TARGET)                                                          \
    TARGET static void function(gsize k, const float *const *rows, const float *x,                 \
                                RowSums *sums) {                                                   \
        RowSums sum = *sums;                                                                       \
        for (gsize i = 0; i < k; i += LANES)                                                       \
            _Pragma("GCC unroll 4") for (int r = 0; r < ROWS; r++) {                               \
                sum.lanes[r] += *(const Float8 *)(rows[r] + i) * *(const Float8 *)(x + i);         \
            }                                                                                      \
        *sums = sum;                                                                               \
    }

typedef void (*AddRows)(gsize k, const float *const *rows, const float *x, RowSums *sums);

DEFINE_ADD_ROWS(add_rows_plain, )
#ifdef CPU_X86
DEFINE_ADD_ROWS(add_rows_avx2, CPU_TARGET_AVX2)
#endif

static AddRows choose_add_rows(void) {
#ifdef CPU_X86
    if (cpu_has_avx2())
        return add_rows_avx2;
#endif
    return add_rows_plain;
}

/* Neighbours pairwise. */
static float sum_of_lanes(const Float8 *sum) {
    float l[LANES];
    memcpy(l, sum, sizeof l);
    return ((l[0] + l[1]) + (l[2] + l[3])) + ((l[4] + l[5]) + (l[6] + l[7]));
}

/* Terms beyond the last multiple of 8 are filled up with zeros. */
static void add_rows_to(RowSums *sums, gsize k, const float *const *rows, const float *x) {
    AddRows add_rows = choose_add_rows();
    gsize whole = k - k % LANES;
    add_rows(whole, rows, x, sums);
    if (whole == k)
        return;
    float rest[ROWS + 1][LANES] = {{0}};
    memcpy(rest[ROWS], x + whole, (k - whole) * sizeof *x);
    for (gsize r = 0; r < ROWS; r++)
        memcpy(rest[r], rows[r] + whole, (k - whole) * sizeof *x);
    const float *const filled[ROWS] = {rest[0], rest[1], rest[2], rest[3]};
    add_rows(LANES, filled, rest[ROWS], sums);
}

static void add_rows_f16_to(RowSums *sums, gsize k, const guint16 *const *rows, const float *x) {
    float chunks[ROWS][CHUNK];
    const float *const pieces[ROWS] = {chunks[0], chunks[1], chunks[2], chunks[3]};
    for (gsize i = 0; i < k; i += CHUNK) {
        gsize n = MIN(CHUNK, k - i);
        for (gsize r = 0; r < ROWS; r++)
            fp16_to_floats(chunks[r], rows[r] + i, n);
        add_rows_to(sums, n, pieces, x + i);
    }
}

/* A last group of fewer rows repeats its last one and drops what it does not need. */
void gemv_f16_rows(const GemvSize *size, const guint16 *weights, const float *x, float *y) {
    for (gsize i = 0; i < size->n; i += ROWS) {
        gsize here = MIN(ROWS, size->n - i);
        const guint16 *rows[ROWS];
        for (gsize r = 0; r < ROWS; r++)
            rows[r] = weights + (i + MIN(r, here - 1)) * size->stride;
        RowSums sums = {{{0}}};
        add_rows_f16_to(&sums, size->k, rows, x);
        for (gsize r = 0; r < here; r++)
            y[i + r] = sum_of_lanes(&sums.lanes[r]);
    }
}

void gemv_f16(gsize n, gsize k, const guint16 *weights, const float *x, float *y) {
    gemv_f16_rows(&(GemvSize){n, k, k}, weights, x, y);
}

void gemv_f32(gsize n, gsize k, const float *weights, const float *x, float *y) {
    for (gsize i = 0; i < n; i += ROWS) {
        gsize here = MIN(ROWS, n - i);
        const float *rows[ROWS];
        for (gsize r = 0; r < ROWS; r++)
            rows[r] = weights + (i + MIN(r, here - 1)) * k;
        RowSums sums = {{{0}}};
        add_rows_to(&sums, k, rows, x);
        for (gsize r = 0; r < here; r++)
            y[i + r] = sum_of_lanes(&sums.lanes[r]);
    }
}
