/* When synthetic requests arrive. */
#ifndef WORKLOADS_TRACES_ARRIVALS_H
#define WORKLOADS_TRACES_ARRIVALS_H

#include "workloads/random.h"

typedef enum {
    ARRIVALS_BATCH,       /* all at 0 */
    ARRIVALS_CONSTANT,    /* request k at k / rate */
    ARRIVALS_POISSON,     /* exponential gaps, the first from 0 */
    ARRIVALS_GAMMA,       /* gamma gaps of a coefficient of variation, the first from 0 */
    ARRIVALS_CLOSED_LOOP, /* each user sends, waits for the end, thinks, sends again */
    N_ARRIVAL_PROCESSES
} ArrivalProcess;

typedef enum { THINK_EXPONENTIAL, THINK_FIXED, N_THINK_KINDS } ThinkKind;

typedef struct ArrivalSpec {
    ArrivalProcess process;
    double rate_per_s;   /* constant, Poisson, gamma */
    double cv;           /* gamma: standard deviation / mean of the gaps */
    guint64 users;       /* closed loop */
    double think_time_s; /* closed loop: the mean */
    ThinkKind think;
} ArrivalSpec;

typedef struct Arrivals {
    ArrivalSpec spec;
    RandomStream gaps, thinking;
    guint64 n; /* arrivals given */
    double last_s;
} Arrivals;

void arrivals_init(Arrivals *arrivals, const ArrivalSpec *spec, guint64 seed);
/* The next arrival from outside, in seconds; in a closed loop, 0 for each user's first request. */
double arrivals_next_s(Arrivals *arrivals);
/* Closed loop: how long a user thinks before the next request, seconds. */
double arrivals_think_s(Arrivals *arrivals);

#endif
