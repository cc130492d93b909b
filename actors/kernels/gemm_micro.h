/* Private to gemm.c, its test and its benchmark: the innermost kernels. One adds the product of a
 * packed panel of A (k columns of 'rows' values) and a packed panel of B (k rows of 'columns'
 * values) to a tile of C that it keeps in registers: one multiply-add after another in the order of
 * k, for every element alike. */
#ifndef ACTORS_KERNELS_GEMM_MICRO_H
#define ACTORS_KERNELS_GEMM_MICRO_H

#include "actors/kernels/kernels.h"

typedef struct GemmMicro {
    const char *name;
    gsize rows, columns;
    void (*run)(gsize k, const float *a, const float *b, float *c, gsize ldc);
} GemmMicro;

/* The versions that this processor can run, the fastest first; NULL beyond the last. */
const GemmMicro *gemm_micro(guint index);

/* gemm_f32 and gemm_f16 with a given version. */
typedef struct GemmOperands {
    const float *a_f32, *b_f32;
    const guint16 *a_f16, *b_f16; /* used where the one above is NULL */
    float *c;
} GemmOperands;
void gemm_with(const GemmMicro *micro, const GemmSize *size, const GemmOperands *operands,
               gboolean accumulate);

#endif
