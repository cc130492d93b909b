#include "actors/kernels/cpu.h"
#include "actors/kernels/kernels.h"
#include "workloads/half.h"

#include <math.h>
#include <string.h>
#ifdef CPU_X86
#include <immintrin.h>
#endif

static guint32 bits_of(float value) {
    guint32 bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(guint32 bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* NaN keeps the upper bits of its payload and becomes quiet, as F16C does it. */
guint16 fp16_from_float(float value) {
    if (!isnan(value))
        return half_from_float(value);
    return (guint16)(((bits_of(value) >> 16) & 0x8000) | 0x7E00 | ((bits_of(value) >> 13) & 0x3FF));
}

float fp16_to_float(guint16 value) {
    guint32 sign = (guint32)(value & 0x8000) << 16, mantissa = value & 0x3FF,
            exponent = (value >> 10) & 0x1F;
    if (exponent == 0x1F)
        return float_of(sign | 0x7F800000 | (mantissa ? 0x400000 | mantissa << 13 : 0));
    if (exponent == 0)
        return float_of(sign | bits_of((float)mantissa * 0x1p-24f));
    return float_of(sign | (exponent + 112) << 23 | mantissa << 13);
}

#ifdef CPU_X86
/* Both return how many they have done; fewer than 8 are left. */
CPU_TARGET_F16C static gsize from_floats_f16c(guint16 *out, const float *in, gsize n) {
    gsize i = 0;
    for (; i + 8 <= n; i += 8) {
        __m128i half = _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT);
        _mm_storeu_si128((__m128i *)(out + i), half);
    }
    return i;
}

CPU_TARGET_F16C static gsize to_floats_f16c(float *out, const guint16 *in, gsize n) {
    gsize i = 0;
    for (; i + 8 <= n; i += 8) {
        __m128i half = _mm_loadu_si128((const __m128i *)(in + i));
        _mm256_storeu_ps(out + i, _mm256_cvtph_ps(half));
    }
    return i;
}
#endif

void fp16_from_floats(guint16 *out, const float *in, gsize n) {
    gsize i = 0;
#ifdef CPU_X86
    if (cpu_has_f16c())
        i = from_floats_f16c(out, in, n);
#endif
    for (; i < n; i++)
        out[i] = fp16_from_float(in[i]);
}

void fp16_to_floats(float *out, const guint16 *in, gsize n) {
    gsize i = 0;
#ifdef CPU_X86
    if (cpu_has_f16c())
        i = to_floats_f16c(out, in, n);
#endif
    for (; i < n; i++)
        out[i] = fp16_to_float(in[i]);
}
