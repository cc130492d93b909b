#include "actors/kernels/kernels.h"

#include <math.h>

/* A vector register of the DSP holds 32 floats. */
enum { LANES = 32 };

/* THInfer figure 9, for one row: lane by lane over the registers, then neighbouring lanes pairwise
 * (its steps 1 and 2 add lanes 0 and 1, 2 and 3, …) until one is left. */
static float row_sum(gsize n, const float *x) {
    float lanes[LANES] = {0};
    for (gsize i = 0; i < n; i++)
        lanes[i % LANES] += x[i];
    for (gsize left = LANES / 2; left > 0; left /= 2)
        for (gsize i = 0; i < left; i++)
            lanes[i] = lanes[2 * i] + lanes[2 * i + 1];
    return lanes[0];
}

void softmax(gsize n, float *x) {
    if (n == 0)
        return;
    float largest = x[argmax(n, x)];
    for (gsize i = 0; i < n; i++)
        x[i] = expf(x[i] - largest);
    float scale = 1 / row_sum(n, x);
    for (gsize i = 0; i < n; i++)
        x[i] *= scale;
}
