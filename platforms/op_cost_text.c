/* Tables of operator costs as text: identity, points, rounds, checksum. */
#include "platforms/op_costs.h"

#include "workloads/input_error.h"
#include <string.h>

/* Counted up whenever the simulation of an operator, or the choice of points, gives other times. */
#define COSTS_VERSION 1

static const char *const family_names[N_OP_COST_FAMILIES] = {
    [OP_COST_LINEAR] = "linear", [OP_COST_DECODE] = "decode", [OP_COST_PREFILL] = "prefill"};
static const char *const attention_names[] = {
    [OP_ATTENTION_MT] = "mt", [OP_ATTENTION_FLASH] = "flash", [OP_ATTENTION_UNFUSED] = "unfused"};

static void add_count(GString *out, const char *name, guint64 value) {
    g_string_append_printf(out, "%s %" G_GUINT64_FORMAT "\n", name, value);
}

/* All digits, in every locale alike. */
static void add_real(GString *out, const char *name, double value) {
    char digits[G_ASCII_DTOSTR_BUF_SIZE];

    g_string_append_printf(out, "%s %s\n", name, g_ascii_dtostr(digits, sizeof digits, value));
}

static void add_platform(GString *out, const Platform *platform) {
    const ClusterSpec *cluster = &platform->cluster;
    const struct {
        const char *name;
        double value;
    } reals[] = {
        {"clock", cluster->clock_hz},
        {"sm", cluster->sm_bytes},
        {"am", cluster->am_bytes},
        {"gsm", cluster->gsm_bytes},
        {"ddr_usable", cluster->ddr_usable_bytes},
        {"ddr_bandwidth", cluster->ddr_bytes_per_s},
        {"gsm_bandwidth", cluster->gsm_bytes_per_s},
        {"softmax_cycles_per_score", cluster->softmax_cycles_per_score},
        {"create_group", platform->hthreads.create_group_s},
        {"launch_group", platform->hthreads.launch_group_s},
    };

    add_count(out, "dsps", cluster->dsps);
    add_count(out, "macs_per_cycle_fp32", cluster->macs_per_cycle_fp32);
    add_count(out, "macs_per_cycle_fp16", cluster->macs_per_cycle_fp16);
    for (gsize i = 0; i < G_N_ELEMENTS(reals); i++)
        add_real(out, reals[i].name, reals[i].value);
}

char *op_cost_identity(const OpCostKey *key, const Platform *platform) {
    GString *out = g_string_new(NULL);

    g_string_append_printf(out, "operator costs %d\n", COSTS_VERSION);
    add_platform(out, platform);
    g_string_append_printf(out, "family %s\ntype %s\n", family_names[key->family],
                           data_type_name(key->type));
    if (key->family == OP_COST_LINEAR) {
        add_count(out, "outputs", key->outputs);
        add_count(out, "inputs", key->inputs);
        add_count(out, "x_on_chip", key->x_on_chip ? 1 : 0);
        add_count(out, "y_on_chip", key->y_on_chip ? 1 : 0);
    } else {
        g_string_append_printf(out, "attention %s\n", attention_names[key->attention]);
        add_count(out, "heads", key->heads);
        add_count(out, "kv_heads", key->kv_heads);
        add_count(out, "head_dim", key->head_dim);
    }
    add_count(out, "from", key->from);
    add_count(out, "to", key->to);
    return g_string_free(out, FALSE);
}

static char *checksum_of(const char *text, gsize bytes) {
    return g_compute_checksum_for_data(G_CHECKSUM_SHA256, (const guchar *)text, bytes);
}

char *op_cost_file_name(const char *identity) {
    g_autofree char *hash = checksum_of(identity, strlen(identity));

    return g_strconcat(hash, ".costs", NULL);
}

char *op_cost_table_text(const OpCostTable *table, const char *identity) {
    GString *out = g_string_new(identity);

    add_real(out, "period", table->period);
    add_count(out, "lined_rounds", table->lined_rounds);
    add_count(out, "additive", table->additive ? 1 : 0);
    add_count(out, "points", table->points->len);
    for (guint i = 0; i < table->points->len; i++) {
        const OpCostPoint *point = &g_array_index(table->points, OpCostPoint, i);
        g_string_append_printf(out, "%u %u %" G_GUINT64_FORMAT "\n", point->rows, point->context,
                               point->picoseconds);
    }
    add_count(out, "rounds", table->rounds->len);
    for (guint i = 0; i < table->rounds->len; i++) {
        const OpCostRound *one = &g_array_index(table->rounds, OpCostRound, i);
        char fixed[G_ASCII_DTOSTR_BUF_SIZE], slope[G_ASCII_DTOSTR_BUF_SIZE];
        g_string_append_printf(out, "%u %s %s\n", one->context,
                               g_ascii_dtostr(fixed, sizeof fixed, one->fixed_s),
                               g_ascii_dtostr(slope, sizeof slope, one->per_token_s));
    }
    g_autofree char *checksum = checksum_of(out->str, out->len);
    g_string_append_printf(out, "sha256 %s\n", checksum);
    return g_string_free(out, FALSE);
}

/* --- reading: the checksum is right, so what follows is as it was written */

static gboolean refuse(GError **error, const char *what) {
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_VALUE, "%s", what);
    return FALSE;
}

/* Leaves '*body' behind the identity. */
static gboolean check_whole(const char *text, const char *identity, const char **body,
                            GError **error) {
    static const char mark[] = "sha256 ";
    const char *sum = g_strrstr(text, mark);

    if (sum == NULL || (sum != text && sum[-1] != '\n'))
        return refuse(error, "the file is not complete");
    g_autofree char *checksum = checksum_of(text, (gsize)(sum - text));
    g_autofree char *line = g_strconcat(mark, checksum, "\n", NULL);
    if (!g_str_equal(sum, line))
        return refuse(error, "the checksum is wrong");
    if (!g_str_has_prefix(text, identity))
        return refuse(error, "the file is about something else");
    *body = text + strlen(identity);
    return TRUE;
}

typedef struct Reader {
    const char *next;
} Reader;

/* Past a word and the space behind it. */
static void skip_word(Reader *reader) {
    reader->next += strcspn(reader->next, " ") + 1;
}

static guint64 take_count(Reader *reader) {
    guint64 value = g_ascii_strtoull(reader->next, NULL, 10);

    reader->next += strcspn(reader->next, " \n") + 1;
    return value;
}

static double take_real(Reader *reader) {
    double value = g_ascii_strtod(reader->next, NULL);

    reader->next += strcspn(reader->next, " \n") + 1;
    return value;
}

static guint64 take_named(Reader *reader) {
    skip_word(reader);
    return take_count(reader);
}

OpCostTable *op_cost_table_parse(const char *text, const OpCostKey *key, const char *identity,
                                 GError **error) {
    Reader reader;

    if (!check_whole(text, identity, &reader.next, error))
        return NULL;
    OpCostTable *table = op_cost_table_new(key);
    skip_word(&reader);
    table->period = take_real(&reader);
    table->lined_rounds = (guint)take_named(&reader);
    table->additive = take_named(&reader) != 0;
    for (guint64 n = take_named(&reader); n > 0; n--) {
        OpCostPoint point = {.rows = (guint32)take_count(&reader)};
        point.context = (guint32)take_count(&reader);
        point.picoseconds = take_count(&reader);
        g_array_append_val(table->points, point);
    }
    for (guint64 n = take_named(&reader); n > 0; n--) {
        OpCostRound one = {.context = (guint32)take_count(&reader)};
        one.fixed_s = take_real(&reader);
        one.per_token_s = take_real(&reader);
        g_array_append_val(table->rounds, one);
    }
    return table;
}
