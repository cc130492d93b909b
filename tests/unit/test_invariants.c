#include "analysis/run/invariants.h"

#include <math.h>
#include <string.h>

/* Five requests: four completed, one rejected. */
static Ledger sound_ledger(void) {
    return (Ledger){.end_s = 100,
                    .issued = 5,
                    .arrived = 5,
                    .completed = 4,
                    .rejected = {[REJECT_CONTEXT] = 1},
                    .prompt_tokens_in = 400,
                    .output_tokens_asked = 4096,
                    .output_tokens_done = 4096,
                    .kv_allocated = 1e9,
                    .kv_freed = 1e9,
                    .buffer_allocated = 2e9,
                    .buffer_freed = 2e9,
                    .bytes_sent = {1e6, 2e6, 3e6, 4e6},
                    .bytes_received = {1e6, 2e6, 3e6, 4e6},
                    .waiting = {.integral = 12.5, .since_s = 100},
                    .waited_s = 12.5,
                    .steps = 7};
}

static void test_sound_ledger_passes(void) {
    Ledger ledger = sound_ledger();
    g_assert_null(invariants_violated(&ledger, OUTCOME_FINISHED));
}

typedef struct Fault {
    gsize offset;
    enum { COUNT, REAL } type;
    double value;
    const char *message;
} Fault;

#define AT(member) offsetof(Ledger, member)
static const Fault faults[] = {
    {AT(steps), COUNT, 0,
     "something happened: of 5 requests that arrived, 1 were rejected, and nothing was computed"},
    {AT(issued), COUNT, 6, "requests of the source = arrived: 6 is not 5"},
    {AT(completed), COUNT, 3, "requests arrived = completed + rejected: 5 is not 4"},
    {AT(completed), COUNT, 5, "requests arrived = completed + rejected: 5 is not 6"},
    {AT(dropped), COUNT, 1, "requests dropped = 0: 1 is not 0"},
    {AT(output_tokens_done), COUNT, 4095, "tokens in = tokens out + dropped: 4096 is not 4095"},
    {AT(output_tokens_dropped), COUNT, 1, "tokens in = tokens out + dropped: 4096 is not 4097"},
    {AT(kv_freed), REAL, 1e9 + 2, "KV bytes allocated = freed: 1000000000 is not 1000000002"},
    {AT(kv_freed), REAL, NAN, "KV bytes allocated = freed: 1000000000 is not nan"},
    {AT(buffer_freed), REAL, 0, "buffer bytes allocated = freed: 2000000000 is not 0"},
    {AT(waited_s), REAL, 12.5 + 1e-7,
     "Little's law: integral of waiting = sum of waits: 12.5 is not 12.5000001"},
    {AT(bytes_received[PURPOSE_KV_PULL]), REAL, 3e6 + 1,
     "bytes sent = received (kv_pull): 3000000 is not 3000001"},
    {AT(bytes_received[PURPOSE_ALL_REDUCE]), REAL, 0,
     "bytes sent = received (all_reduce): 1000000 is not 0"},
};

static void put_fault(Ledger *ledger, const Fault *fault) {
    char *place = (char *)ledger + fault->offset;
    if (fault->type == COUNT)
        *(guint64 *)place = (guint64)fault->value;
    else
        *(double *)place = fault->value;
}

static void test_each_violation_is_named_with_its_figures(void) {
    for (guint i = 0; i < G_N_ELEMENTS(faults); i++) {
        Ledger ledger = sound_ledger();
        put_fault(&ledger, &faults[i]);
        g_autofree char *violated = invariants_violated(&ledger, OUTCOME_FINISHED);
        g_assert_cmpstr(violated, ==, faults[i].message);
    }
}

static void test_rounding_of_sums_is_no_violation(void) {
    Ledger ledger = sound_ledger();
    ledger.kv_freed = nextafter(ledger.kv_freed, 0);
    ledger.bytes_received[PURPOSE_PIPELINE] *= 1 + 1e-12;
    ledger.waited_s = nextafter(ledger.waited_s, 0);
    g_assert_null(invariants_violated(&ledger, OUTCOME_FINISHED));
}

/* Waits of almost nothing: their sum is made of roundings of the clock alone. */
static void test_littles_law_allows_the_clocks_own_rounding(void) {
    Ledger ledger = sound_ledger();
    ledger.waiting.integral = 0;
    ledger.waited_s = 1e-14;
    g_assert_null(invariants_violated(&ledger, OUTCOME_FINISHED));
    ledger.waited_s = 1e-9;
    g_autofree char *violated = invariants_violated(&ledger, OUTCOME_FINISHED);
    g_assert_nonnull(violated);
}

static void test_waiting_until_the_end_is_part_of_the_integral(void) {
    Ledger ledger = sound_ledger();
    ledger.waiting = (TimeIntegral){.integral = 10, .value = 1, .since_s = 97.5};
    g_assert_null(invariants_violated(&ledger, OUTCOME_FINISHED));
}

static Ledger interrupted_ledger(void) {
    Ledger ledger = sound_ledger();
    ledger.completed = 2;
    ledger.dropped = 2;
    ledger.output_tokens_done = 3000;
    ledger.output_tokens_dropped = 1096;
    ledger.kv_freed = 5e8;
    ledger.bytes_received[PURPOSE_KV_MIGRATION] = 1e6;
    ledger.waited_s = 8;
    return ledger;
}

static void test_interrupted_run_may_hold_what_it_has_not_freed(void) {
    Ledger ledger = interrupted_ledger();
    g_assert_null(invariants_violated(&ledger, OUTCOME_INTERRUPTED));
    g_autofree char *violated = invariants_violated(&ledger, OUTCOME_FINISHED);
    g_assert_cmpstr(violated, ==, "requests dropped = 0: 2 is not 0");
}

static void test_interrupted_run_still_balances(void) {
    static const struct {
        gsize offset;
        double value; /* a real, or a count when 'count' */
        gboolean count;
        const char *start;
    } cases[] = {
        {AT(dropped), 1, TRUE, "requests arrived = completed + rejected + dropped: 5 is not 4"},
        {AT(output_tokens_done), 2999, TRUE, "tokens in = tokens out + dropped"},
        {AT(kv_freed), 2e9, FALSE, "KV bytes"},
        {AT(bytes_received[PURPOSE_KV_PULL]), 4e6, FALSE, "bytes sent = received (kv_pull)"},
        {AT(waited_s), 13, FALSE, "Little's law"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        Ledger ledger = interrupted_ledger();
        Fault fault = {cases[i].offset, cases[i].count ? COUNT : REAL, cases[i].value, NULL};
        put_fault(&ledger, &fault);
        g_autofree char *violated = invariants_violated(&ledger, OUTCOME_INTERRUPTED);
        g_assert_nonnull(violated);
        g_assert_true(g_str_has_prefix(violated, cases[i].start));
    }
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/invariants/sound_ledger_passes", test_sound_ledger_passes);
    g_test_add_func("/invariants/each_violation_is_named_with_its_figures",
                    test_each_violation_is_named_with_its_figures);
    g_test_add_func("/invariants/rounding_of_sums_is_no_violation",
                    test_rounding_of_sums_is_no_violation);
    g_test_add_func("/invariants/littles_law_allows_the_clocks_own_rounding",
                    test_littles_law_allows_the_clocks_own_rounding);
    g_test_add_func("/invariants/waiting_until_the_end_is_part_of_the_integral",
                    test_waiting_until_the_end_is_part_of_the_integral);
    g_test_add_func("/invariants/interrupted_run_may_hold_what_it_has_not_freed",
                    test_interrupted_run_may_hold_what_it_has_not_freed);
    g_test_add_func("/invariants/interrupted_run_still_balances",
                    test_interrupted_run_still_balances);
    return g_test_run();
}
