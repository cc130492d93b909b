/* Which row of a region's cores keeps a token's keys and values (WaferLLM section 4.3), as bytes
 * booked token by token. The cores of a row hold equal parts of its tokens, so one ledger a row is
 * the ledger of each of its cores. Row 0 is the top one. */
#ifndef POLICIES_MESH_KV_LEDGER_H
#define POLICIES_MESH_KV_LEDGER_H

#include <glib.h>

typedef enum {
    KV_CONCAT, /* the last row takes every new token */
    KV_SHIFT,  /* it does, but whatever row then has more than the one above it passes its oldest
                  token up, so that loads never differ by more than one */
    N_KV_RULES
} KvRule;
extern const char *const kv_rule_names[]; /* "concat", "shift", NULL */

/* Rule shift: books a new token at the last row of 'tokens' (of each row) and passes tokens up,
 * from the last row on. Before it no row has more than the one above it, so a row that passes
 * nothing up ends it, and neither has one afterwards. Returns how many rows passed one: the last so
 * many. */
guint kv_shift(guint64 *tokens, guint rows);

typedef struct KvLedgerSetup {
    KvRule rule;
    guint rows;            /* ≥ 1 */
    double room_bytes;     /* of a core, for KV */
    double token_bytes;    /* of a token on each core of its row; above 0 */
    guint64 prompt_tokens; /* there from the start, spread evenly, the upper rows having one more */
} KvLedgerSetup;

typedef struct KvLedger KvLedger;

/* NULL when the prompt alone overflows a core. */
KvLedger *kv_ledger_new(const KvLedgerSetup *setup);
void kv_ledger_free(KvLedger *ledger);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(KvLedger, kv_ledger_free)

/* Books a new token; FALSE, and nothing changed, when a core would overflow. 'moves' (may be NULL):
 * rows that passed a token up for it. */
gboolean kv_ledger_add(KvLedger *ledger, guint *moves);
double kv_ledger_row_bytes(const KvLedger *ledger, guint row); /* held by each core of the row */
/* Most bytes of a core over the mean of all; 1 when there are none. */
double kv_ledger_skew(const KvLedger *ledger);

typedef struct KvCapacity {
    guint64 new_tokens; /* after the prompt, until a core would overflow: the longest output */
    double skew;        /* then */
    guint64 moves;      /* up a row, for all new tokens together */
} KvCapacity;
/* Fills a ledger of its own. All zero when the prompt alone overflows. */
KvCapacity kv_ledger_capacity(const KvLedgerSetup *setup);

#endif
