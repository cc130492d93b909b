#include "actors/kernels/gemm_micro.h"
#include "actors/kernels/cpu.h"

typedef float Float4 __attribute__((vector_size(16), aligned(4), may_alias));
typedef float Float16 __attribute__((vector_size(64), aligned(4), may_alias));

/* The tile of C must fit the registers beside a row of B and a broadcast value of A: 16 registers
 * of 4 or 8 floats, or 32 of 16. A macro, since a type's vectors are lowered for the target of the
 * function that names them. */
#define UNROLL _Pragma("GCC unroll 16")
#define DEFINE_MICRO(function, TARGET, Vector, ROWS, VECTORS)                                      \
    TARGET static void function(gsize k, const float *a, const float *b, float *c, gsize ldc) {    \
        const gsize lanes = sizeof(Vector) / sizeof(float);                                        \
        Vector sum[ROWS][VECTORS];                                                                 \
        UNROLL for (gsize i = 0; i < ROWS; i++) UNROLL for (gsize j = 0; j < VECTORS; j++)         \
            sum[i][j] = *(const Vector *)(c + i * ldc + j * lanes);                                \
        for (gsize p = 0; p < k; p++, a += ROWS, b += VECTORS * lanes) {                           \
            UNROLL for (gsize i = 0; i < ROWS; i++) UNROLL for (gsize j = 0; j < VECTORS; j++)     \
                sum[i][j] += a[i] * *(const Vector *)(b + j * lanes);                              \
        }                                                                                          \
        UNROLL for (gsize i = 0; i < ROWS; i++) UNROLL for (gsize j = 0; j < VECTORS; j++) *       \
            (Vector *)(c + i * ldc + j * lanes) = sum[i][j];                                       \
    }

DEFINE_MICRO(run_4x8, , Float4, 4, 2)
#ifdef CPU_X86
DEFINE_MICRO(run_6x16, CPU_TARGET_AVX2, Float8, 6, 2)
DEFINE_MICRO(run_12x32, CPU_TARGET_AVX512, Float16, 12, 2)
#endif

static gboolean always(void) {
    return TRUE;
}

static const struct {
    gboolean (*runs_here)(void);
    GemmMicro micro;
} versions[] = {
#ifdef CPU_X86
    {cpu_has_avx512, {"12x32 of 16 lanes", 12, 32, run_12x32}},
    {cpu_has_avx2, {"6x16 of 8 lanes", 6, 16, run_6x16}},
#endif
    {always, {"4x8 of 4 lanes", 4, 8, run_4x8}},
};

const GemmMicro *gemm_micro(guint index) {
    for (gsize i = 0; i < G_N_ELEMENTS(versions); i++)
        if (versions[i].runs_here() && index-- == 0)
            return &versions[i].micro;
    return NULL;
}
