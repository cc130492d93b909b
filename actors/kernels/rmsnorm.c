#include "actors/kernels/kernels.h"

#include <math.h>

void rmsnorm(gsize n, const float *x, const float *gain, float epsilon, float *y) {
    float sum_of_squares;
    gemv_f32(1, n, x, x, &sum_of_squares);
    float scale = 1 / sqrtf(sum_of_squares / (float)n + epsilon);
    for (gsize i = 0; i < n; i++)
        y[i] = x[i] * scale * gain[i];
}
