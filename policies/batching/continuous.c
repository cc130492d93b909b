/* Slots are refilled between two steps (Orca's iteration-level scheduling). */
#include "policies/batching/rule.h"

guint batching_continuous(const BatchState *state) {
    if (state->held >= state->slots)
        return 0;
    return (guint)MIN(state->ready, state->slots - state->held);
}
