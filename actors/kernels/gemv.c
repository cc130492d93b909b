#include "actors/kernels/cpu.h"
#include "actors/kernels/kernels.h"

/* Four rows at a time, whose sums depend on nothing but their own row: they hide the latency of one
 * another's additions. FP16 rows become float in pieces of CHUNK, a multiple of the 8 sums, small
 * enough for the stack of an actor. */
enum { LANES = 8, ROWS = 4, CHUNK = 256 };

typedef struct RowSums {
    Float8 lanes[ROWS];
} RowSums;

/* sum[r][l] += Σ row_r[8i + l]·x[8i + l], with zeros beyond k. */
#define DEFINE_ADD_ROWS(function, TARGET)                                                          \
    TARGET static void function(gsize k, const float *const *rows, const float *x,                 \
                                RowSums *sums) {                                                   \
        Float8 s0 = sums->lanes[0], s1 = sums->lanes[1], s2 = sums->lanes[2], s3 = sums->lanes[3]; \
        for (gsize i = 0; i + LANES <= k; i += LANES) {                                            \
            Float8 factor = *(const Float8 *)(x + i);                                              \
            s0 += *(const Float8 *)(rows[0] + i) * factor;                                         \
            s1 += *(const Float8 *)(rows[1] + i) * factor;                                         \
            s2 += *(const Float8 *)(rows[2] + i) * factor;                                         \
            s3 += *(const Float8 *)(rows[3] + i) * factor;                                         \
        }                                                                                          \
        Float8 rest[ROWS + 1] = {{0}};                                                             \
        for (gsize i = k - k % LANES; i < k; i++) {                                                \
            rest[ROWS][i % LANES] = x[i];                                                          \
            for (int r = 0; r < ROWS; r++)                                                         \
                rest[r][i % LANES] = rows[r][i];                                                   \
        }                                                                                          \
        sums->lanes[0] = s0 + rest[0] * rest[ROWS];                                                \
        sums->lanes[1] = s1 + rest[1] * rest[ROWS];                                                \
        sums->lanes[2] = s2 + rest[2] * rest[ROWS];                                                \
        sums->lanes[3] = s3 + rest[3] * rest[ROWS];                                                \
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

static float sum_of_lanes(const Float8 *lanes) {
    const Float8 *l = lanes;
    return (((*l)[0] + (*l)[1]) + ((*l)[2] + (*l)[3])) +
           (((*l)[4] + (*l)[5]) + ((*l)[6] + (*l)[7]));
}

static void add_rows_f16(AddRows add_rows, gsize k, const guint16 *const *rows, const float *x,
                         RowSums *sums) {
    float chunks[ROWS][CHUNK];
    const float *const pieces[ROWS] = {chunks[0], chunks[1], chunks[2], chunks[3]};
    for (gsize i = 0; i < k; i += CHUNK) {
        gsize n = MIN(CHUNK, k - i);
        for (gsize r = 0; r < ROWS; r++)
            fp16_to_floats(chunks[r], rows[r] + i, n);
        add_rows(n, pieces, x + i, sums);
    }
}

/* A last group of fewer rows repeats its last one and drops what it does not need. */
void gemv_f16_rows(const GemvSize *size, const guint16 *weights, const float *x, float *y) {
    AddRows add_rows = choose_add_rows();
    for (gsize i = 0; i < size->n; i += ROWS) {
        gsize here = MIN(ROWS, size->n - i);
        const guint16 *rows[ROWS];
        for (gsize r = 0; r < ROWS; r++)
            rows[r] = weights + (i + MIN(r, here - 1)) * size->stride;
        RowSums sums = {{{0}}};
        add_rows_f16(add_rows, size->k, rows, x, &sums);
        for (gsize r = 0; r < here; r++)
            y[i + r] = sum_of_lanes(&sums.lanes[r]);
    }
}

void gemv_f16(gsize n, gsize k, const guint16 *weights, const float *x, float *y) {
    gemv_f16_rows(&(GemvSize){n, k, k}, weights, x, y);
}

void gemv_f32(gsize n, gsize k, const float *weights, const float *x, float *y) {
    AddRows add_rows = choose_add_rows();
    for (gsize i = 0; i < n; i += ROWS) {
        gsize here = MIN(ROWS, n - i);
        const float *rows[ROWS];
        for (gsize r = 0; r < ROWS; r++)
            rows[r] = weights + (i + MIN(r, here - 1)) * k;
        RowSums sums = {{{0}}};
        add_rows(k, rows, x, &sums);
        for (gsize r = 0; r < here; r++)
            y[i + r] = sum_of_lanes(&sums.lanes[r]);
    }
}
