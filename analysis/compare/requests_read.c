#include "analysis/compare/requests_read.h"

#include "analysis/run/metrics.h"
#include "workloads/traces/csv_table.h"
#include "workloads/traces/trace_values.h"
#include <math.h>
#include <string.h>

G_STATIC_ASSERT((int)LATENCY_QUEUEING == N_SERVED_LATENCIES);

enum { COLUMN_ID, COLUMN_STATUS, COLUMN_PROMPT, COLUMN_OUTPUT, COLUMN_ARRIVAL, COLUMN_TTFT };

static const char *const columns[] = {"id",        "status", "prompt_tokens", "output_tokens",
                                      "arrival_s", "ttft_s", "tpot_s",        "e2e_s"};
G_STATIC_ASSERT(G_N_ELEMENTS(columns) <= CSV_TABLE_SLOTS);
G_STATIC_ASSERT(COLUMN_TTFT + N_SERVED_LATENCIES == G_N_ELEMENTS(columns));

static gboolean read_count(const CsvTable *table, guint column, guint64 *count, GError **error) {
    const GString *field = csv_table_field(table, column);

    return trace_value_count(field->str, field->len, G_MAXUINT64, count) ||
           csv_table_field_error(table, column, "a whole number", error);
}

/* An empty field, where 'may_lack', is NaN. */
static gboolean read_seconds(const CsvTable *table, guint column, gboolean may_lack,
                             double *seconds, GError **error) {
    const GString *field = csv_table_field(table, column);

    *seconds = NAN;
    if (may_lack && field->len == 0)
        return TRUE;
    return trace_value_decimal(field->str, field->len, seconds) ||
           csv_table_field_error(table, column, "seconds of at least 0", error);
}

/* A completed request has a TTFT and an E2E; TPOT of a single token there is none. */
static gboolean read_latencies(const CsvTable *table, ServedRow *row, GError **error) {
    for (guint kind = 0; kind < N_SERVED_LATENCIES; kind++) {
        gboolean may_lack = !row->completed || kind == LATENCY_TPOT;
        if (!read_seconds(table, COLUMN_TTFT + kind, may_lack, &row->latencies_s[kind], error))
            return FALSE;
    }
    return TRUE;
}

static gboolean read_row(const CsvTable *table, ServedRow *row, GError **error) {
    row->completed = strcmp(csv_table_field(table, COLUMN_STATUS)->str, "completed") == 0;
    return read_count(table, COLUMN_ID, &row->id, error) &&
           read_count(table, COLUMN_PROMPT, &row->prompt_tokens, error) &&
           read_count(table, COLUMN_OUTPUT, &row->output_tokens, error) &&
           read_seconds(table, COLUMN_ARRIVAL, FALSE, &row->arrival_s, error) &&
           read_latencies(table, row, error);
}

static int by_id(gconstpointer a, gconstpointer b) {
    const ServedRow *first = a, *second = b;

    if (first->id != second->id)
        return first->id < second->id ? -1 : 1;
    return first->line < second->line ? -1 : first->line > second->line;
}

/* Sorts; FALSE and an error where an id stands twice. */
static gboolean sort(GArray *rows, const char *path, GError **error) {
    g_array_sort(rows, by_id);
    for (guint i = 1; i < rows->len; i++) {
        const ServedRow *row = &g_array_index(rows, ServedRow, i);
        const ServedRow *before = row - 1;
        if (row->id != before->id)
            continue;
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_DUPLICATE,
                    "%s:%" G_GUINT64_FORMAT ":1: request %" G_GUINT64_FORMAT
                    " stands twice (first on line %" G_GUINT64_FORMAT ")",
                    path, row->line, row->id, before->line);
        return FALSE;
    }
    return TRUE;
}

static gboolean read_rows(LineReader *lines, GArray *rows, GError **error) {
    GError *problem = NULL;
    g_autoptr(CsvTable) table = csv_table_new(lines, error);

    if (table == NULL)
        return FALSE;
    for (guint column = 0; column < G_N_ELEMENTS(columns); column++)
        if (!csv_table_bind(table, column, columns[column], error))
            return FALSE;
    while (csv_table_next(table, &problem)) {
        ServedRow row = {.line = lines->number};
        if (!read_row(table, &row, error))
            return FALSE;
        g_array_append_val(rows, row);
    }
    if (problem == NULL)
        return TRUE;
    g_propagate_error(error, problem);
    return FALSE;
}

GArray *requests_read(const char *path, GError **error) {
    g_autoptr(LineReader) lines = line_reader_open(path, error);
    g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(ServedRow));

    if (lines == NULL || !read_rows(lines, rows, error) || !sort(rows, path, error))
        return NULL;
    return g_steal_pointer(&rows);
}
