#include "policies/mesh/kv_ledger.h"

const char *const kv_rule_names[] = {"concat", "shift", NULL};
G_STATIC_ASSERT(G_N_ELEMENTS(kv_rule_names) == N_KV_RULES + 1);

struct KvLedger {
    KvLedgerSetup setup;
    guint64 *tokens; /* of each row */
    guint64 total;
};

static gboolean fits(const KvLedger *ledger, guint64 tokens) {
    return (double)tokens * ledger->setup.token_bytes <= ledger->setup.room_bytes;
}

KvLedger *kv_ledger_new(const KvLedgerSetup *setup) {
    g_assert(setup->rows >= 1 && setup->token_bytes > 0);
    g_autoptr(KvLedger) ledger = g_new0(KvLedger, 1);
    ledger->setup = *setup;
    ledger->total = setup->prompt_tokens;
    ledger->tokens = g_new0(guint64, setup->rows);
    for (guint row = 0; row < setup->rows; row++) {
        gboolean has_one_more = row < setup->prompt_tokens % setup->rows;
        ledger->tokens[row] = setup->prompt_tokens / setup->rows + (has_one_more ? 1 : 0);
    }
    return fits(ledger, ledger->tokens[0]) ? g_steal_pointer(&ledger) : NULL;
}

void kv_ledger_free(KvLedger *ledger) {
    if (!ledger)
        return;
    g_free(ledger->tokens);
    g_free(ledger);
}

guint kv_shift(guint64 *tokens, guint rows) {
    guint moves = 0;
    tokens[rows - 1]++;
    for (guint row = rows - 1; row > 0 && tokens[row] > tokens[row - 1]; row--) {
        tokens[row]--;
        tokens[row - 1]++;
        moves++;
    }
    return moves;
}

gboolean kv_ledger_add(KvLedger *ledger, guint *moves) {
    guint rows = ledger->setup.rows;
    if (!fits(ledger, ledger->tokens[rows - 1] + 1))
        return FALSE;
    guint moved = 0;
    if (ledger->setup.rule == KV_SHIFT)
        moved = kv_shift(ledger->tokens, rows);
    else
        ledger->tokens[rows - 1]++;
    ledger->total++;
    if (moves)
        *moves = moved;
    return TRUE;
}

double kv_ledger_row_bytes(const KvLedger *ledger, guint row) {
    g_assert(row < ledger->setup.rows);
    return (double)ledger->tokens[row] * ledger->setup.token_bytes;
}

double kv_ledger_skew(const KvLedger *ledger) {
    if (ledger->total == 0)
        return 1;
    guint64 most = ledger->tokens[0];
    for (guint row = 1; row < ledger->setup.rows; row++)
        most = MAX(most, ledger->tokens[row]);
    return (double)most * ledger->setup.rows / (double)ledger->total;
}

KvCapacity kv_ledger_capacity(const KvLedgerSetup *setup) {
    KvCapacity capacity = {0};
    g_autoptr(KvLedger) ledger = kv_ledger_new(setup);
    if (ledger == NULL)
        return capacity;
    for (guint moves = 0; kv_ledger_add(ledger, &moves); capacity.new_tokens++)
        capacity.moves += moves;
    capacity.skew = kv_ledger_skew(ledger);
    return capacity;
}
