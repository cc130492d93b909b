#include "policies/batching.h"

#include "policies/batching/rule.h"

#define BATCHING_ROW(kind, name, rule, ...) [kind] = (rule),
static BatchingRule *const rules[] = {BATCHING_RULES(BATCHING_ROW)};

guint batching_admit(BatchingKind kind, const BatchState *state) {
    return rules[kind](state);
}

/* A synchronous batch that could just be filled would wait for more if it could hold more. */
guint64 batching_slots_needed(BatchingKind kind, const BatchState *state) {
    if (kind == BATCHING_CONTINUOUS)
        return state->held + state->ready;
    return state->running > 0 ? 0 : state->ready + 1;
}
