/* Private to the kernels: which version of a kernel this processor can run. Versions are chosen
 * when a kernel is called, not by the loader, so that they run under sanitizers too. Every version
 * does the same operations on each element in the same order; but a processor with fused
 * multiply-add rounds once where another rounds twice, so last bits may differ between kinds of
 * machine. On one machine the choice never changes. */
#ifndef ACTORS_KERNELS_CPU_H
#define ACTORS_KERNELS_CPU_H

#include <glib.h>

#if defined(__x86_64__)
#define CPU_X86 1
#define CPU_TARGET_F16C __attribute__((target("avx,f16c")))
#define CPU_TARGET_AVX2 __attribute__((target("avx2,fma")))
#define CPU_TARGET_AVX512 __attribute__((target("avx512f")))

static inline gboolean cpu_has_avx2(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static inline gboolean cpu_has_avx512(void) {
    return __builtin_cpu_supports("avx512f") != 0;
}

/* Not every compiler can ask for F16C by name; all processors with AVX2 have it. */
static inline gboolean cpu_has_f16c(void) {
#ifdef __clang__
    return __builtin_cpu_supports("avx2") != 0;
#else
    return __builtin_cpu_supports("f16c") != 0;
#endif
}
#endif

/* Eight floats at any address of a float. Lowered to whatever the processor has. */
typedef float Float8 __attribute__((vector_size(32), aligned(4), may_alias));

#endif
