/* A micro-batch is filled, decoded to its end and replaced (THInfer III.D.2). */
#include "policies/batching/rule.h"

guint batching_synchronous(const BatchState *state) {
    if (state->running > 0)
        return 0;
    if (state->ready >= state->slots)
        return state->slots;
    /* A smaller batch starts only when waiting cannot fill it any further. */
    return state->upstream_quiet ? (guint)state->ready : 0;
}
