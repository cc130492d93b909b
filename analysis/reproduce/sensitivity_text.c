#include "analysis/output/csv_text.h"
#include "analysis/reproduce/reproduction_text.h"
#include "analysis/reproduce/sensitivity.h"

#include <math.h>
#include <string.h>

/* --- for people */

/* "12.3", or "-" where there are no errors. Caller frees. */
static char *percent(double share) {
    char digits[G_ASCII_DTOSTR_BUF_SIZE];

    return g_strdup(isnan(share) ? "-"
                                 : g_ascii_formatd(digits, sizeof digits, "%.1f", 100 * share));
}

/* "12.3 .. 8.1": at the low and at the high end. Caller frees. */
static char *two(char *low, char *high) {
    char *both = g_strconcat(low, " .. ", high, NULL);

    g_free(low);
    g_free(high);
    return both;
}

static char *claims(const SensitivityEnd *end) {
    return end->outcome.claims == 0 ? g_strdup("-") : g_strdup_printf("%u", end->outcome.kept);
}

/* "0.25-6 GB/s": the unit once. Caller frees. */
static char *range_of(const SensitivityRow *row) {
    const char *unit = strchr(row->low.value, ' ');
    g_autofree char *digits = unit == NULL
                                  ? g_strdup(row->low.value)
                                  : g_strndup(row->low.value, (gsize)(unit - row->low.value));

    return g_strconcat(digits, "-", row->high.value, NULL);
}

static void append_row(GString *out, const SensitivityRow *row) {
    g_autofree char *range = range_of(row);
    g_autofree char *median =
        two(percent(row->low.outcome.error.median), percent(row->high.outcome.error.median));
    g_autofree char *worst =
        two(percent(row->low.outcome.error.worst), percent(row->high.outcome.error.worst));
    g_autofree char *kept = two(claims(&row->low), claims(&row->high));

    g_string_append_printf(out, "  %-34s%12s%16s%16s%16s%12s\n", row->key, row->shipped, range,
                           median, worst, kept);
}

static void append_refusals(GString *out, const SensitivityRow *row) {
    const SensitivityEnd *ends[] = {&row->low, &row->high};

    for (guint i = 0; i < G_N_ELEMENTS(ends); i++)
        if (ends[i]->refused != NULL)
            g_string_append_printf(out, "  %s at %s: %s\n", row->key, ends[i]->value,
                                   ends[i]->refused);
}

static const SensitivityRow *row_of(const SensitivityTable *table, guint index) {
    return &g_array_index(table->rows, SensitivityRow, index);
}

/* The machines of the rows, each once, in order. Borrowed texts. */
static GPtrArray *machines_of(const SensitivityTable *table) {
    GPtrArray *machines = g_ptr_array_new();

    for (guint i = 0; i < table->rows->len; i++)
        if (!g_ptr_array_find_with_equal_func(machines, row_of(table, i)->machine, g_str_equal,
                                              NULL))
            g_ptr_array_add(machines, row_of(table, i)->machine);
    return machines;
}

static void append_machine(GString *out, const SensitivityTable *table, const char *machine) {
    g_autoptr(GString) still = g_string_new(NULL);

    g_string_append_printf(out, "\n%-36s%12s%16s%16s%16s%12s\n", machine, "shipped", "plausible",
                           "median %", "worst %", "claims");
    for (guint i = 0; i < table->rows->len; i++) {
        const SensitivityRow *row = row_of(table, i);
        if (!g_str_equal(row->machine, machine))
            continue;
        if (row->moves)
            append_row(out, row);
        else
            g_string_append_printf(still, "    %s\n", row->key);
    }
    for (guint i = 0; i < table->rows->len; i++)
        if (g_str_equal(row_of(table, i)->machine, machine))
            append_refusals(out, row_of(table, i));
    if (still->len > 0)
        g_string_append_printf(out, "  without effect:\n%s", still->str);
}

char *sensitivity_text(const SensitivityTable *table) {
    GString *out = g_string_new(NULL);
    g_autoptr(GPtrArray) machines = machines_of(table);
    g_autofree char *median = percent(table->shipped.error.median);
    g_autofree char *worst = percent(table->shipped.error.worst);

    g_string_append_printf(out, "%s: %s\n", table->name, table->title);
    if (table->shipped.error.cells > 0)
        g_string_append_printf(out, "as shipped: median error %s %%, worst %s %%, of %u cells\n",
                               median, worst, table->shipped.error.cells);
    if (table->shipped.claims > 0)
        g_string_append_printf(out, "as shipped: %u of %u claims kept\n", table->shipped.kept,
                               table->shipped.claims);
    if (machines->len == 0)
        g_string_append(out, "no number of its machines has a plausible range\n");
    for (guint i = 0; i < machines->len; i++)
        append_machine(out, table, machines->pdata[i]);
    return g_string_free(out, FALSE);
}

/* --- for programs */

static void csv_outcome(GString *out, const SensitivityOutcome *outcome, gboolean refused) {
    if (refused) {
        g_string_append(out, ",,,,,");
        return;
    }
    g_string_append_printf(out, ",%u,", outcome->error.cells);
    csv_text_number(out, outcome->error.median);
    g_string_append_c(out, ',');
    csv_text_number(out, outcome->error.worst);
    g_string_append_printf(out, ",%u,%u", outcome->kept, outcome->claims);
}

static void csv_end(GString *out, const SensitivityTable *table, const SensitivityRow *row,
                    const char *which, const SensitivityEnd *end) {
    const char *cells[] = {table->name, row->machine, row->key, which, end->value};

    for (guint i = 0; i < G_N_ELEMENTS(cells); i++) {
        g_string_append(out, i == 0 ? "" : ",");
        csv_text_cell(out, cells[i]);
    }
    csv_outcome(out, &end->outcome, end->refused != NULL);
    g_string_append_c(out, ',');
    csv_text_cell(out, end->refused == NULL ? "" : end->refused);
    g_string_append_c(out, '\n');
}

char *sensitivity_csv(const GPtrArray *all) {
    GString *out = g_string_new("table,machine,number,end,value,cells,median_error,worst_error,"
                                "claims_kept,claims,refused\n");

    for (guint i = 0; i < all->len; i++) {
        const SensitivityTable *table = g_ptr_array_index(all, i);
        g_string_append_printf(out, "%s,,,shipped,", table->name);
        csv_outcome(out, &table->shipped, FALSE);
        g_string_append(out, ",\n");
        for (guint j = 0; j < table->rows->len; j++) {
            csv_end(out, table, row_of(table, j), "low", &row_of(table, j)->low);
            csv_end(out, table, row_of(table, j), "high", &row_of(table, j)->high);
        }
    }
    return g_string_free(out, FALSE);
}

/* The members of an object that is open. */
static void json_outcome(JsonText *json, const SensitivityOutcome *outcome) {
    reproduction_json_summary(json, &outcome->error);
    json_text_count(json, "claims_kept", outcome->kept);
    json_text_count(json, "claims", outcome->claims);
}

static void json_end(JsonText *json, const char *which, const SensitivityEnd *end) {
    json_text_open(json, which, '{');
    json_text_string(json, "value", end->value);
    if (end->refused != NULL)
        json_text_string(json, "refused", end->refused);
    else
        json_outcome(json, &end->outcome);
    json_text_close(json, '}');
}

static void json_row(JsonText *json, const SensitivityRow *row) {
    json_text_open(json, NULL, '{');
    json_text_string(json, "machine", row->machine);
    json_text_string(json, "number", row->key);
    json_text_string(json, "shipped", row->shipped);
    json_text_bool(json, "moves", row->moves);
    json_end(json, "low", &row->low);
    json_end(json, "high", &row->high);
    json_text_close(json, '}');
}

char *sensitivity_json(const GPtrArray *all) {
    JsonText json = json_text_new();

    json_text_open(&json, NULL, '{');
    json_text_open(&json, "tables", '[');
    for (guint i = 0; i < all->len; i++) {
        const SensitivityTable *table = g_ptr_array_index(all, i);
        json_text_open(&json, NULL, '{');
        json_text_string(&json, "table", table->name);
        json_text_open(&json, "shipped", '{');
        json_outcome(&json, &table->shipped);
        json_text_close(&json, '}');
        json_text_open(&json, "numbers", '[');
        for (guint j = 0; j < table->rows->len; j++)
            json_row(&json, row_of(table, j));
        json_text_close(&json, ']');
        json_text_close(&json, '}');
    }
    json_text_close(&json, ']');
    json_text_close(&json, '}');
    return json_text_end(&json);
}
