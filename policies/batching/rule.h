/* Private to batching: what a rule is. It answers how many of the ready requests join now, never
 * more than are ready or than there are slots. */
#ifndef POLICIES_BATCHING_RULE_H
#define POLICIES_BATCHING_RULE_H

#include "policies/batching.h"

typedef guint BatchingRule(const BatchState *state);

#define DECLARE_BATCHING_RULE(kind, name, rule, ...) BatchingRule rule;
BATCHING_RULES(DECLARE_BATCHING_RULE)

#endif
