/* Every rule that an experiment picks by name, one row each: its enumerator, its name in the file,
 * and the function (or table of functions) that is the rule. The enumerations of policy.h, the
 * names that policy_read accepts and the tables that dispatch are all made from these rows, so a
 * new rule is a row here and a file in the folder of its kind. */
#ifndef POLICIES_RULES_H
#define POLICIES_RULES_H

/* routing/: a RoutingRule each. */
#define ROUTING_RULES(RULE)                                                                        \
    RULE(ROUTING_ROUND_ROBIN, "round_robin", routing_round_robin)                                  \
    RULE(ROUTING_LEAST_LOADED, "least_loaded", routing_least_loaded)                               \
    RULE(ROUTING_SHORTEST_QUEUE, "shortest_queue", routing_shortest_queue)

/* admission/: an AdmissionOrder each. */
#define ADMISSION_RULES(RULE)                                                                      \
    RULE(ADMISSION_FCFS, "fcfs", admission_fcfs)                                                   \
    RULE(ADMISSION_SHORTEST_PROMPT, "shortest_prompt", admission_shortest_prompt)

/* batching/: a BatchingRule each. The last column is the name under 'colocated', where the field
 * calls a synchronous batch static. */
#define BATCHING_RULES(RULE)                                                                       \
    RULE(BATCHING_SYNCHRONOUS, "synchronous", batching_synchronous, "static")                      \
    RULE(BATCHING_CONTINUOUS, "continuous", batching_continuous, "continuous")

/* backpressure/: a BackpressureRule each. */
#define BACKPRESSURE_RULES(RULE)                                                                   \
    RULE(BACKPRESSURE_WATERMARK, "watermark", backpressure_watermark)                              \
    RULE(BACKPRESSURE_OFF, "off", backpressure_off)

/* What to make of a row. */
#define RULE_KIND(kind, ...) kind,
#define RULE_NAME(kind, name, ...) name,

#endif
