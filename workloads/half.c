#include "workloads/half.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define HALF_SIGN 0x8000
#define HALF_EXPONENT 0x7C00 /* all ones: infinite or not a number */
#define HALF_QUIET_NAN 0x7E00

#define FLOAT_INFINITY 0x7F800000
#define FLOAT_65520 0x477FF000               /* half-way between 65504 and the next power of two */
#define FLOAT_SMALLEST_NORMAL 0x38800000     /* 2^-14; below it halves are multiples of 2^-24 */
#define EXPONENT_SHIFT (UINT32_C(112) << 23) /* the exponents' biases: 127 − 15 */

guint16 half_from_float(float value) {
    guint32 bits;
    memcpy(&bits, &value, sizeof bits);
    guint32 sign = (bits >> 16) & HALF_SIGN, magnitude = bits & 0x7FFFFFFF;
    if (magnitude > FLOAT_INFINITY)
        return (guint16)(sign | HALF_QUIET_NAN);
    if (magnitude >= FLOAT_65520)
        return (guint16)(sign | HALF_EXPONENT);
    if (magnitude < FLOAT_SMALLEST_NORMAL)
        return (guint16)(sign | (guint32)lrintf(fabsf(value) * 0x1p24f));
    /* 13 bits of the fraction go: add just under half of their weight, or half if that makes even.
     * A carry runs into the exponent, as it should. */
    guint32 rounded = magnitude + 0xFFF + ((magnitude >> 13) & 1);
    return (guint16)(sign | ((rounded - EXPONENT_SHIFT) >> 13));
}

gboolean half_is_finite(guint16 half) {
    return (half & HALF_EXPONENT) != HALF_EXPONENT;
}
