#include "analysis/run/invariants.h"

#include "analysis/output/number_text.h"
#include <float.h>
#include <math.h>

#define BYTES_TOLERANCE 1e-9 /* relative: bytes are sums of doubles */

/* Two counts of one thing. A run that did not finish may lack some of the 'ended' side. */
typedef struct Balance {
    const char *name;
    double begun, ended;
    double tolerance; /* absolute */
} Balance;

static char *figure(double value) {
    char text[NUMBER_TEXT_MAX];
    if (!isfinite(value))
        return g_strdup_printf("%g", value);
    return g_strndup(text, (gsize)(number_text_shortest(text, value) - text));
}

static char *violation(const Balance *balance) {
    g_autofree char *begun = figure(balance->begun);
    g_autofree char *ended = figure(balance->ended);
    return g_strdup_printf("%s: %s is not %s", balance->name, begun, ended);
}

static char *check_equal(const Balance *balance) {
    double difference = balance->begun - balance->ended;
    return fabs(difference) <= balance->tolerance ? NULL : violation(balance);
}

/* NaN fails both checks. */
static char *check_not_more(const Balance *balance) {
    return balance->ended - balance->begun <= balance->tolerance ? NULL : violation(balance);
}

static Balance bytes_balance(const char *name, double begun, double ended) {
    return (Balance){name, begun, ended, BYTES_TOLERANCE * MAX(fabs(begun), fabs(ended))};
}

static char *count_violation(const char *name, guint64 begun, guint64 ended) {
    if (begun == ended)
        return NULL;
    return g_strdup_printf("%s: %" G_GUINT64_FORMAT " is not %" G_GUINT64_FORMAT, name, begun,
                           ended);
}

static guint64 rejected(const Ledger *ledger) {
    guint64 sum = 0;
    for (guint i = 0; i < N_REJECT_REASONS; i++)
        sum += ledger->rejected[i];
    return sum;
}

static char *something_happened(const Ledger *ledger, SimulationOutcome outcome) {
    if (outcome == OUTCOME_INTERRUPTED || ledger->steps > 0)
        return NULL;
    return g_strdup_printf("something happened: of %" G_GUINT64_FORMAT
                           " requests that arrived, %" G_GUINT64_FORMAT
                           " were rejected, and nothing was computed",
                           ledger->arrived, rejected(ledger));
}

static char *requests_end_once(const Ledger *ledger, SimulationOutcome outcome) {
    guint64 ended = ledger->completed + rejected(ledger);
    if (outcome == OUTCOME_INTERRUPTED)
        return count_violation("requests arrived = completed + rejected + dropped", ledger->arrived,
                               ended + ledger->dropped);
    char *dropped = count_violation("requests dropped = 0", ledger->dropped, 0);
    return dropped != NULL
               ? dropped
               : count_violation("requests arrived = completed + rejected", ledger->arrived, ended);
}

static char *all_requests_arrive(const Ledger *ledger, SimulationOutcome outcome) {
    return outcome == OUTCOME_INTERRUPTED ? NULL
                                          : count_violation("requests of the source = arrived",
                                                            ledger->issued, ledger->arrived);
}

static char *tokens_balance(const Ledger *ledger, SimulationOutcome outcome) {
    (void)outcome;
    return count_violation("tokens in = tokens out + dropped", ledger->output_tokens_asked,
                           ledger->output_tokens_done + ledger->output_tokens_dropped);
}

typedef char *(*BalanceCheck)(const Balance *balance);

/* What is still held or under way when a run is cut short is missing on the 'ended' side. */
static BalanceCheck balance_check(SimulationOutcome outcome) {
    return outcome == OUTCOME_INTERRUPTED ? check_not_more : check_equal;
}

static char *kv_balance(const Ledger *ledger, SimulationOutcome outcome) {
    Balance kv =
        bytes_balance("KV bytes allocated = freed", ledger->kv_allocated, ledger->kv_freed);
    return balance_check(outcome)(&kv);
}

static char *buffer_balance(const Ledger *ledger, SimulationOutcome outcome) {
    Balance buffer = bytes_balance("buffer bytes allocated = freed", ledger->buffer_allocated,
                                   ledger->buffer_freed);
    return balance_check(outcome)(&buffer);
}

/* Little's law: ∫ waiting dt = Σ waits. Besides 1e-9 of the sum, each of the n dates may be off by
 * a rounding of the clock. Those still waiting when a run is cut short are in the integral alone.
 */
static char *littles_law(const Ledger *ledger, SimulationOutcome outcome) {
    double integral = time_integral_until(&ledger->waiting, ledger->end_s);
    double dates = 4.0 * (double)(ledger->arrived + ledger->preemptions + 1);
    double tolerance = 1e-9 * MAX(integral, ledger->waited_s) + dates * DBL_EPSILON * ledger->end_s;
    Balance waits = {"Little's law: integral of waiting = sum of waits", integral, ledger->waited_s,
                     tolerance};
    return balance_check(outcome)(&waits);
}

static char *network_balance(const Ledger *ledger, SimulationOutcome outcome) {
    for (TransferPurpose purpose = 0; purpose < N_PURPOSES; purpose++) {
        g_autofree char *name =
            g_strdup_printf("bytes sent = received (%s)", transfer_purpose_name(purpose));
        Balance network =
            bytes_balance(name, ledger->bytes_sent[purpose], ledger->bytes_received[purpose]);
        char *violated = balance_check(outcome)(&network);
        if (violated != NULL)
            return violated;
    }
    return NULL;
}

/* No stage can have been busy for longer than the run lasted. */
static char *busy_within_the_run(const Ledger *ledger, SimulationOutcome outcome) {
    (void)outcome;
    for (guint i = 0; i < ledger->n_replicas; i++)
        for (guint s = 0; s < ledger->replicas[i].n_stages; s++) {
            double busy_s = ledger->replicas[i].stages[s].busy_s;
            if (busy_s > ledger->end_s * (1 + 1e-9))
                return g_strdup_printf("busy time <= makespan: stage %u of replica %u was busy "
                                       "for %.9g s of %.9g s",
                                       s, i, busy_s, ledger->end_s);
        }
    return NULL;
}

char *invariants_violated(const Ledger *ledger, SimulationOutcome outcome) {
    static char *(*const checks[])(const Ledger *, SimulationOutcome) = {
        something_happened, requests_end_once, all_requests_arrive, tokens_balance,      kv_balance,
        buffer_balance,     littles_law,       network_balance,     busy_within_the_run,
    };
    if (outcome != OUTCOME_FINISHED && outcome != OUTCOME_INTERRUPTED)
        return NULL; /* it broke off in the middle, and its error says why */
    for (guint i = 0; i < G_N_ELEMENTS(checks); i++) {
        char *violated = checks[i](ledger, outcome);
        if (violated != NULL)
            return violated;
    }
    return NULL;
}
