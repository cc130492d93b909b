/* Where KV goes, token by token, against closed forms. */
#include "policies/mesh/kv_ledger.h"

/* What rows hold after 'tokens' in all under shift: as even as it goes, the upper rows first. */
static void assert_even(const KvLedger *ledger, const KvLedgerSetup *setup, guint64 tokens) {
    for (guint row = 0; row < setup->rows; row++) {
        guint64 expected = tokens / setup->rows + (row < tokens % setup->rows ? 1 : 0);
        g_assert_cmpfloat(kv_ledger_row_bytes(ledger, row), ==,
                          (double)expected * setup->token_bytes);
    }
}

static void test_shift_keeps_rows_even_at_every_token(void) {
    for (guint rows = 1; rows <= 9; rows++) {
        for (guint64 prompt = 0; prompt <= 2 * rows; prompt++) {
            KvLedgerSetup setup = {KV_SHIFT, rows, 1e6, 12, prompt};
            g_autoptr(KvLedger) ledger = kv_ledger_new(&setup);
            assert_even(ledger, &setup, prompt);
            for (guint64 token = prompt; token < prompt + 4 * rows; token++) {
                guint moves = G_MAXUINT;
                g_assert_true(kv_ledger_add(ledger, &moves));
                /* it ends where there was room: every row below passes one up */
                g_assert_cmpuint(moves, ==, rows - 1 - token % rows);
                assert_even(ledger, &setup, token + 1);
            }
        }
    }
}

static void test_concat_fills_the_last_row_alone(void) {
    KvLedgerSetup setup = {KV_CONCAT, 4, 100, 10, 6};
    g_autoptr(KvLedger) ledger = kv_ledger_new(&setup);
    guint added = 0, moves = 0;
    while (kv_ledger_add(ledger, &moves)) {
        added++;
        g_assert_cmpuint(moves, ==, 0);
    }
    g_assert_cmpuint(added, ==, 9);
    g_assert_cmpfloat(kv_ledger_row_bytes(ledger, 0), ==, 20);
    g_assert_cmpfloat(kv_ledger_row_bytes(ledger, 3), ==, 100);
    g_assert_cmpfloat(kv_ledger_skew(ledger), ==, 10 * 4 / 15.0);
}

static void test_capacities_are_the_closed_forms(void) {
    static const guint rows[] = {1, 2, 5, 36};
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        for (guint64 prompt = 0; prompt < 3 * rows[i]; prompt += 1 + rows[i] / 4) {
            guint64 n = rows[i], most = 7; /* ⌊100 / 14⌋ */
            KvLedgerSetup setup = {KV_SHIFT, rows[i], 100, 14, prompt};
            KvCapacity shift = kv_ledger_capacity(&setup);
            setup.rule = KV_CONCAT;
            KvCapacity concat = kv_ledger_capacity(&setup);
            g_assert_cmpuint(shift.new_tokens, ==, most * n - prompt);
            g_assert_cmpfloat(shift.skew, ==, 1);
            guint64 in_last_row = prompt / n;
            g_assert_cmpuint(concat.new_tokens, ==, most - in_last_row);
            g_assert_cmpuint(concat.moves, ==, 0);
            if (prompt == 0)
                g_assert_cmpuint(shift.moves, ==, most * n * (n - 1) / 2);
        }
    }
}

static void test_a_core_that_is_full_takes_nothing(void) {
    KvLedgerSetup setup = {KV_SHIFT, 3, 20, 10, 7};
    g_assert_null(kv_ledger_new(&setup));
    KvCapacity capacity = kv_ledger_capacity(&setup);
    g_assert_cmpuint(capacity.new_tokens, ==, 0);
    setup.prompt_tokens = 6;
    g_autoptr(KvLedger) full = kv_ledger_new(&setup);
    guint moves = 5;
    g_assert_false(kv_ledger_add(full, &moves));
    g_assert_cmpuint(moves, ==, 5);
    assert_even(full, &setup, 6);
}

static void test_nothing_held_is_no_skew(void) {
    KvLedgerSetup setup = {KV_CONCAT, 3, 20, 10, 0};
    g_autoptr(KvLedger) empty = kv_ledger_new(&setup);
    g_assert_cmpfloat(kv_ledger_skew(empty), ==, 1);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mesh_kv_ledger/shift_keeps_rows_even_at_every_token",
                    test_shift_keeps_rows_even_at_every_token);
    g_test_add_func("/mesh_kv_ledger/concat_fills_the_last_row_alone",
                    test_concat_fills_the_last_row_alone);
    g_test_add_func("/mesh_kv_ledger/capacities_are_the_closed_forms",
                    test_capacities_are_the_closed_forms);
    g_test_add_func("/mesh_kv_ledger/a_core_that_is_full_takes_nothing",
                    test_a_core_that_is_full_takes_nothing);
    g_test_add_func("/mesh_kv_ledger/nothing_held_is_no_skew", test_nothing_held_is_no_skew);
    return g_test_run();
}
