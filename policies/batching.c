#include "policies/batching.h"

#include "policies/batching/rule.h"

#define BATCHING_ROW(kind, name, rule, ...) [kind] = (rule),
static BatchingRule *const rules[] = {BATCHING_RULES(BATCHING_ROW)};

guint batching_admit(BatchingKind kind, const BatchState *state) {
    return rules[kind](state);
}
