#include "workloads/traces/arrivals.h"

void arrivals_init(Arrivals *arrivals, const ArrivalSpec *spec, guint64 seed) {
    *arrivals = (Arrivals){
        .spec = *spec,
        .gaps = random_stream(seed, "arrivals"),
        .thinking = random_stream(seed, "think"),
    };
}

static double at_once(Arrivals *arrivals) {
    (void)arrivals;
    return 0;
}

/* A division each, not a sum of gaps: the millionth arrival is as exact as the second. */
static double constant(Arrivals *arrivals) {
    return (double)arrivals->n / arrivals->spec.rate_per_s;
}

static double poisson(Arrivals *arrivals) {
    return arrivals->last_s + random_exponential(&arrivals->gaps, 1 / arrivals->spec.rate_per_s);
}

/* Shape k and scale θ with mean kθ = 1/rate and cv = 1/√k. */
static double gamma_gaps(Arrivals *arrivals) {
    double variance = arrivals->spec.cv * arrivals->spec.cv;
    return arrivals->last_s +
           random_gamma(&arrivals->gaps, 1 / variance, variance / arrivals->spec.rate_per_s);
}

double arrivals_next_s(Arrivals *arrivals) {
    static double (*const processes[N_ARRIVAL_PROCESSES])(Arrivals *) = {
        [ARRIVALS_BATCH] = at_once,       [ARRIVALS_CONSTANT] = constant,
        [ARRIVALS_POISSON] = poisson,     [ARRIVALS_GAMMA] = gamma_gaps,
        [ARRIVALS_CLOSED_LOOP] = at_once,
    };
    arrivals->last_s = processes[arrivals->spec.process](arrivals);
    arrivals->n++;
    return arrivals->last_s;
}

double arrivals_think_s(Arrivals *arrivals) {
    if (arrivals->spec.think == THINK_FIXED || arrivals->spec.think_time_s <= 0)
        return arrivals->spec.think_time_s;
    return random_exponential(&arrivals->thinking, arrivals->spec.think_time_s);
}
