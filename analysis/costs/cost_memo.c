#include "analysis/costs/cost_memo.h"

#include "analysis/campaign/child.h"
#include <string.h>

struct CostMemo {
    GHashTable *tables; /* identity → OpCostTable, both owned */
    GPtrArray *fresh;   /* identities, borrowed, of what a child has put; NULL in its parent */
};

static void free_table(gpointer table) {
    op_cost_table_free(table);
}

CostMemo *cost_memo_new(void) {
    CostMemo *memo = g_new0(CostMemo, 1);

    memo->tables = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_table);
    return memo;
}

void cost_memo_free(CostMemo *memo) {
    if (memo == NULL)
        return;
    g_clear_pointer(&memo->fresh, g_ptr_array_unref);
    g_hash_table_unref(memo->tables);
    g_free(memo);
}

OpCostTable *cost_memo_get(const CostMemo *memo, const char *identity) {
    const OpCostTable *table = g_hash_table_lookup(memo->tables, identity);

    return table == NULL ? NULL : op_cost_table_copy(table);
}

void cost_memo_put(CostMemo *memo, const OpCostTable *table, const char *identity) {
    if (g_hash_table_contains(memo->tables, identity))
        return;
    char *own = g_strdup(identity);
    g_hash_table_insert(memo->tables, own, op_cost_table_copy(table));
    if (memo->fresh != NULL)
        g_ptr_array_add(memo->fresh, own);
}

void cost_memo_inherit(CostMemo *memo) {
    memo->fresh = g_ptr_array_new();
}

guint cost_memo_at_once(const CostMemo *memo) {
    return memo->fresh == NULL ? 0 : 1;
}

/* --- between processes: key, identity and text of each table, the texts with their NUL */

static void append_text(GByteArray *reply, const char *text) {
    g_byte_array_append(reply, (const guint8 *)text, (guint)strlen(text) + 1);
}

void cost_memo_reply(const CostMemo *memo, GByteArray *reply) {
    for (guint i = 0; i < memo->fresh->len; i++) {
        const char *identity = memo->fresh->pdata[i];
        const OpCostTable *table = g_hash_table_lookup(memo->tables, identity);
        g_autofree char *text = op_cost_table_text(table, identity);

        g_byte_array_append(reply, (const guint8 *)&table->key, sizeof table->key);
        append_text(reply, identity);
        append_text(reply, text);
    }
}

/* The text at '*at', which is moved behind it; NULL where there is none. */
static const char *read_text(const GByteArray *reply, gsize *at) {
    const char *text = (const char *)reply->data + *at;
    const char *end = *at < reply->len ? memchr(text, '\0', reply->len - *at) : NULL;

    if (end == NULL)
        return NULL;
    *at += (gsize)(end - text) + 1;
    return text;
}

gboolean cost_memo_take(CostMemo *memo, const GByteArray *reply, gsize at) {
    while (at < reply->len) {
        OpCostKey key;
        if (!child_reply_read(reply, &at, &key, sizeof key))
            return FALSE;
        const char *identity = read_text(reply, &at);
        const char *text = identity == NULL ? NULL : read_text(reply, &at);
        g_autoptr(OpCostTable) table =
            text == NULL ? NULL : op_cost_table_parse(text, &key, identity, NULL);
        if (table == NULL)
            return FALSE;
        cost_memo_put(memo, table, identity);
    }
    return TRUE;
}
