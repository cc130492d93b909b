#include "analysis/costs/cost_memo.h"

#include "analysis/campaign/child.h"
#include <string.h>

/* What a table's times depend on: the operator, and these fields of the platform. */
typedef struct TableOf {
    ClusterSpec cluster;
    HthreadsSpec hthreads;
    OpCostKey key;
} TableOf;

/* A table that a child has put. */
typedef struct FreshTable {
    const TableOf *of; /* borrowed from the memo */
    char *identity;
} FreshTable;

struct CostMemo {
    GHashTable *tables;     /* TableOf → OpCostTable, both owned */
    GHashTable *units;      /* identity → ModelUnits, both owned, of no model */
    GArray *fresh;          /* FreshTable; NULL in a child's parent */
    GPtrArray *fresh_units; /* identities, borrowed, of units that a child has put */
};

static guint hash_table_of(gconstpointer data) {
    const OpCostKey *key = &((const TableOf *)data)->key;
    const guint64 numbers[] = {key->family,   key->outputs,  key->inputs, key->heads,
                               key->kv_heads, key->head_dim, key->from,   key->to};
    guint64 hash = 0;

    for (guint i = 0; i < G_N_ELEMENTS(numbers); i++)
        hash = hash * 1000003 + numbers[i];
    return (guint)(hash ^ hash >> 32);
}

/* To the bit: a cost belongs to the very numbers that it was found with. */
static gboolean same_bytes(gconstpointer a, gconstpointer b, gsize size) {
    return memcmp(a, b, size) == 0;
}

static gboolean same_table_of(gconstpointer a, gconstpointer b) {
    G_STATIC_ASSERT((sizeof(ClusterSpec) + sizeof(HthreadsSpec)) % sizeof(guint64) ==
                    0); /* no padding: numbers of 8 bytes */
    const TableOf *one = a, *other = b;

    return op_cost_same_operator(&one->key, &other->key) && one->key.from == other->key.from &&
           one->key.to == other->key.to &&
           same_bytes(&one->cluster, &other->cluster, sizeof one->cluster) &&
           same_bytes(&one->hthreads, &other->hthreads, sizeof one->hthreads);
}

static void free_table(gpointer table) {
    op_cost_table_free(table);
}

static void free_units(gpointer units) {
    model_units_free(units);
}

CostMemo *cost_memo_new(void) {
    CostMemo *memo = g_new0(CostMemo, 1);

    memo->tables = g_hash_table_new_full(hash_table_of, same_table_of, g_free, free_table);
    memo->units = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_units);
    return memo;
}

void cost_memo_free(CostMemo *memo) {
    if (memo == NULL)
        return;
    g_clear_pointer(&memo->fresh, g_array_unref);
    g_clear_pointer(&memo->fresh_units, g_ptr_array_unref);
    g_hash_table_unref(memo->units);
    g_hash_table_unref(memo->tables);
    g_free(memo);
}

OpCostTable *cost_memo_get(const CostMemo *memo, const Platform *platform, const OpCostKey *key) {
    const TableOf of = {platform->cluster, platform->hthreads, *key};
    const OpCostTable *table = g_hash_table_lookup(memo->tables, &of);

    return table == NULL ? NULL : op_cost_table_copy(table);
}

/* NULL when there is one already. Takes ownership of the table. */
static const TableOf *keep(CostMemo *memo, const TableOf *of, OpCostTable *table) {
    if (g_hash_table_contains(memo->tables, of)) {
        op_cost_table_free(table);
        return NULL;
    }
    TableOf *own = g_memdup2(of, sizeof *of);
    g_hash_table_insert(memo->tables, own, table);
    return own;
}

void cost_memo_put(CostMemo *memo, const Platform *platform, const OpCostTable *table,
                   const char *identity) {
    const TableOf of = {platform->cluster, platform->hthreads, table->key};
    const TableOf *own = keep(memo, &of, op_cost_table_copy(table));

    if (own == NULL || memo->fresh == NULL)
        return;
    FreshTable fresh = {.of = own, .identity = g_strdup(identity)};
    g_array_append_val(memo->fresh, fresh);
}

/* Everything that units depend on. Caller frees. */
static char *units_identity(const FusionUnitsInput *input) {
    G_STATIC_ASSERT(sizeof(ClusterSpec) % sizeof(guint64) ==
                    0); /* no padding: numbers of 8 bytes */
    g_autoptr(GChecksum) checksum = g_checksum_new(G_CHECKSUM_SHA256);
    g_autoptr(GString) model = g_string_new(NULL);
    guint choice[] = {input->tp, input->fuse ? 1 : 0, input->attention};

    model_write(input->model, 0, model);
    g_checksum_update(checksum, (const guchar *)model->str, (gssize)model->len);
    g_checksum_update(checksum, (const guchar *)input->cluster, sizeof *input->cluster);
    g_checksum_update(checksum, (const guchar *)choice, sizeof choice);
    return g_strdup(g_checksum_get_string(checksum));
}

/* Takes ownership of both. */
static void units_put(CostMemo *memo, char *identity, ModelUnits *units) {
    if (memo->fresh_units != NULL)
        g_ptr_array_add(memo->fresh_units, identity);
    g_hash_table_insert(memo->units, identity, units);
}

ModelUnits *cost_memo_units(CostMemo *memo, const FusionUnitsInput *input) {
    if (memo == NULL)
        return fusion_units_new(input);
    g_autofree char *identity = units_identity(input);
    const ModelUnits *known = g_hash_table_lookup(memo->units, identity);
    if (known != NULL)
        return model_units_copy(known, input->model);
    ModelUnits *units = fusion_units_new(input);
    units_put(memo, g_steal_pointer(&identity), model_units_copy(units, NULL));
    return units;
}

static void clear_fresh(gpointer fresh) {
    g_free(((FreshTable *)fresh)->identity);
}

void cost_memo_inherit(CostMemo *memo) {
    memo->fresh = g_array_new(FALSE, FALSE, sizeof(FreshTable));
    g_array_set_clear_func(memo->fresh, clear_fresh);
    memo->fresh_units = g_ptr_array_new();
}

guint cost_memo_at_once(const CostMemo *memo) {
    return memo->fresh == NULL ? 0 : 1;
}

/* --- between processes: how many units, of each its identity and its numbers; then what each table
 * is of, its identity and its text. Texts end with their NUL. */

static void append_text(GByteArray *reply, const char *text) {
    g_byte_array_append(reply, (const guint8 *)text, (guint)strlen(text) + 1);
}

static void append_count(GByteArray *reply, guint count) {
    g_byte_array_append(reply, (const guint8 *)&count, sizeof count);
}

static void append_ranges(GByteArray *reply, const GPtrArray *ranges) {
    append_count(reply, ranges->len);
    for (guint i = 0; i < ranges->len; i++) {
        const OpUnits *range = ranges->pdata[i];
        g_byte_array_append(reply, (const guint8 *)&range->rows_to, sizeof range->rows_to);
        append_count(reply, range->ops->len);
        g_byte_array_append(reply, (const guint8 *)range->ops->data,
                            range->ops->len * (guint)sizeof(UnitOp));
    }
}

static void reply_units(const CostMemo *memo, GByteArray *reply) {
    append_count(reply, memo->fresh_units->len);
    for (guint i = 0; i < memo->fresh_units->len; i++) {
        const char *identity = memo->fresh_units->pdata[i];
        const ModelUnits *units = g_hash_table_lookup(memo->units, identity);
        guint64 most = units->most_fused_contexts;

        append_text(reply, identity);
        append_count(reply, units->tp);
        g_byte_array_append(reply, (const guint8 *)&most, sizeof most);
        append_ranges(reply, units->layer);
        append_ranges(reply, units->head);
    }
}

void cost_memo_reply(const CostMemo *memo, GByteArray *reply) {
    reply_units(memo, reply);
    for (guint i = 0; i < memo->fresh->len; i++) {
        const FreshTable *fresh = &g_array_index(memo->fresh, FreshTable, i);
        const OpCostTable *table = g_hash_table_lookup(memo->tables, fresh->of);
        g_autofree char *text = op_cost_table_text(table, fresh->identity);

        g_byte_array_append(reply, (const guint8 *)fresh->of, sizeof *fresh->of);
        append_text(reply, fresh->identity);
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

static gboolean read_range(const GByteArray *reply, gsize *at, GPtrArray *ranges) {
    guint64 rows_to;
    guint n;

    if (!child_reply_read(reply, at, &rows_to, sizeof rows_to) ||
        !child_reply_read(reply, at, &n, sizeof n) || n > (reply->len - *at) / sizeof(UnitOp))
        return FALSE;
    OpUnits *range = op_units_new(rows_to);
    g_array_set_size(range->ops, n);
    g_ptr_array_add(ranges, range);
    return child_reply_read(reply, at, range->ops->data, n * sizeof(UnitOp));
}

static gboolean read_ranges(const GByteArray *reply, gsize *at, GPtrArray *ranges) {
    guint n;

    if (!child_reply_read(reply, at, &n, sizeof n))
        return FALSE;
    for (guint i = 0; i < n; i++)
        if (!read_range(reply, at, ranges))
            return FALSE;
    return TRUE;
}

static gboolean take_units(CostMemo *memo, const GByteArray *reply, gsize *at) {
    const char *identity = read_text(reply, at);
    guint64 most;
    guint tp;

    if (identity == NULL || !child_reply_read(reply, at, &tp, sizeof tp) ||
        !child_reply_read(reply, at, &most, sizeof most))
        return FALSE;
    g_autoptr(ModelUnits) units = model_units_new(NULL, tp);
    units->most_fused_contexts = most;
    if (!read_ranges(reply, at, units->layer) || !read_ranges(reply, at, units->head))
        return FALSE;
    if (!g_hash_table_contains(memo->units, identity))
        units_put(memo, g_strdup(identity), g_steal_pointer(&units));
    return TRUE;
}

gboolean cost_memo_take(CostMemo *memo, const GByteArray *reply, gsize at) {
    guint n = 0;

    if (at < reply->len && !child_reply_read(reply, &at, &n, sizeof n))
        return FALSE;
    for (guint i = 0; i < n; i++)
        if (!take_units(memo, reply, &at))
            return FALSE;
    while (at < reply->len) {
        TableOf of;
        if (!child_reply_read(reply, &at, &of, sizeof of))
            return FALSE;
        const char *identity = read_text(reply, &at);
        const char *text = identity == NULL ? NULL : read_text(reply, &at);
        OpCostTable *table =
            text == NULL ? NULL : op_cost_table_parse(text, &of.key, identity, NULL);
        if (table == NULL)
            return FALSE;
        keep(memo, &of, table);
    }
    return TRUE;
}
