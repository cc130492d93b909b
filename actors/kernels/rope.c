#include "actors/kernels/kernels.h"

#include <math.h>

/* THInfer algorithm 1: the angle θ_i·position, its sine and cosine are made on the spot, in FP32
 * (as Hugging Face's tables are), once for all heads. */
void rope(gsize heads, gsize dim, guint64 position, float theta, float *x) {
    gsize half = dim / 2;
    for (gsize i = 0; i < half; i++) {
        float angle = (float)position * powf(theta, -2 * (float)i / (float)dim);
        float sine = sinf(angle), cosine = cosf(angle);
        for (float *head = x; head < x + heads * dim; head += dim) {
            float first = head[i], second = head[i + half];
            head[i] = first * cosine - second * sine;
            head[i + half] = second * cosine + first * sine;
        }
    }
}
