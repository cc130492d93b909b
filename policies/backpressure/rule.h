/* Private to backpressure: what a rule is. It answers whether admission is to stop at this
 * occupancy; whether it is stopped already stands in rule->paused. */
#ifndef POLICIES_BACKPRESSURE_RULE_H
#define POLICIES_BACKPRESSURE_RULE_H

#include "policies/backpressure.h"

typedef gboolean BackpressureRule(const Backpressure *state, double occupied_bytes);

#define DECLARE_BACKPRESSURE_RULE(kind, name, rule) BackpressureRule rule;
BACKPRESSURE_RULES(DECLARE_BACKPRESSURE_RULE)

#endif
