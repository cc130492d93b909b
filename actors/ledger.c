#include "actors/simulation.h"

void time_integral_set(TimeIntegral *quantity, double now_s, double value) {
    quantity->integral += quantity->value * (now_s - quantity->since_s);
    quantity->since_s = now_s;
    quantity->value = value;
    quantity->peak = MAX(quantity->peak, value);
}

void time_integral_add(TimeIntegral *quantity, double now_s, double change) {
    time_integral_set(quantity, now_s, quantity->value + change);
}

double time_integral_until(const TimeIntegral *quantity, double now_s) {
    return quantity->integral + quantity->value * (now_s - quantity->since_s);
}

void ledger_clear(Ledger *ledger) {
    for (guint i = 0; i < ledger->n_replicas; i++)
        g_free(ledger->replicas[i].stages);
    g_free(ledger->replicas);
    g_free(ledger->buffer_bytes);
    g_free(ledger->paused_s);
    *ledger = (Ledger){0};
}

const char *reject_reason_name(RejectReason reason) {
    static const char *const names[N_REJECT_REASONS] = {"", "context", "kv_capacity",
                                                        "buffer_capacity"};
    return names[reason];
}

const char *transfer_purpose_name(TransferPurpose purpose) {
    static const char *const names[N_PURPOSES] = {"all_reduce", "kv_migration", "kv_pull",
                                                  "pipeline"};
    return names[purpose];
}
