#include "actors/kernels/kernels.h"

#include <math.h>

void silu_mul(gsize n, const float *gate, const float *up, float *y) {
    for (gsize i = 0; i < n; i++)
        y[i] = gate[i] / (1 + expf(-gate[i])) * up[i];
}
