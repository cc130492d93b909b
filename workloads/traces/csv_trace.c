#include "workloads/traces/trace_parsers.h"
#include "workloads/traces/trace_values.h"

#include <math.h>
#include <string.h>

struct CsvTrace {
    LineReader *lines; /* borrowed */
    CsvTable *table;
    const TraceFormat *format;
    GArray *blocks; /* guint64: the current row's */
    gboolean has_blocks;
    gboolean has_first;
    gint64 first_ticks; /* of a wall clock: rows count from here, so that doubles stay exact */
};

CsvTrace *csv_trace_new(LineReader *lines, TraceFormatKind kind, GError **error) {
    g_autoptr(CsvTable) table = csv_table_new(lines, error);
    if (!table)
        return NULL;
    if (kind == TRACE_AUTO)
        kind = trace_format_detect(table, lines, error);
    if (kind == TRACE_AUTO || !trace_format_bind(trace_format_of(kind), table, lines, error))
        return NULL;
    CsvTrace *trace = g_new0(CsvTrace, 1);
    trace->lines = lines;
    trace->format = trace_format_of(kind);
    trace->blocks = g_array_new(FALSE, FALSE, sizeof(guint64));
    const char *blocks = trace->format->columns[TRACE_BLOCKS];
    trace->has_blocks = blocks && csv_table_has(table, blocks);
    trace->table = g_steal_pointer(&table);
    return trace;
}

void csv_trace_free(CsvTrace *trace) {
    if (!trace)
        return;
    csv_table_free(trace->table);
    g_array_unref(trace->blocks);
    g_free(trace);
}

const TraceFormat *csv_trace_format(const CsvTrace *trace) {
    return trace->format;
}

gsize csv_trace_date_offset(const CsvTrace *trace) {
    return csv_table_field_offset(trace->table, TRACE_DATE);
}

static gboolean read_wall_clock(CsvTrace *trace, double *date, GError **error) {
    const GString *field = csv_table_field(trace->table, TRACE_DATE);
    gint64 ticks;
    if (!trace_value_timestamp(field->str, field->len, &ticks))
        return csv_table_field_error(trace->table, TRACE_DATE,
                                     "a date such as '2023-11-16 18:15:46.6805900'", error);
    if (!trace->has_first)
        trace->first_ticks = ticks;
    trace->has_first = TRUE;
    *date = (double)(ticks - trace->first_ticks);
    return TRUE;
}

static gboolean read_seconds(CsvTrace *trace, double *date, GError **error) {
    const GString *field = csv_table_field(trace->table, TRACE_DATE);
    if (trace_value_decimal(field->str, field->len, date) && *date <= TRACE_MAX_SECONDS)
        return TRUE;
    return csv_table_field_error(trace->table, TRACE_DATE, "seconds from 0 to 1e12", error);
}

static gboolean read_tokens(const CsvTrace *trace, TraceColumn column, guint32 *tokens,
                            GError **error) {
    const GString *field = csv_table_field(trace->table, column);
    guint64 value;
    if (!trace_value_count(field->str, field->len, TRACE_MAX_TOKENS, &value))
        return csv_table_field_error(trace->table, column, TRACE_TOKENS_EXPECTED, error);
    *tokens = (guint32)value;
    return TRUE;
}

/* "7 8 9": ids separated by blanks; an empty field means that nothing is known of the prefix. */
static gboolean read_blocks(CsvTrace *trace, TraceRow *row, GError **error) {
    const GString *field = csv_table_field(trace->table, TRACE_BLOCKS);
    g_array_set_size(trace->blocks, 0);
    for (gsize at = 0; at < field->len;) {
        gsize length = strcspn(field->str + at, " ");
        guint64 id;
        if (!trace_value_count(field->str + at, length, G_MAXUINT64, &id))
            return csv_table_field_error(trace->table, TRACE_BLOCKS, TRACE_BLOCK_ID_EXPECTED,
                                         error);
        g_array_append_val(trace->blocks, id);
        at += length;
        at += strspn(field->str + at, " ");
    }
    if (trace->blocks->len > 0 && !trace_blocks_fit(row->prompt_tokens, trace->blocks->len))
        return line_reader_error(trace->lines, csv_table_field_offset(trace->table, TRACE_BLOCKS),
                                 INPUT_ERROR_CONFLICT, error,
                                 "%u prefix blocks for %u prompt tokens (expected one per 512)",
                                 trace->blocks->len, row->prompt_tokens);
    row->n_blocks = trace->blocks->len;
    row->blocks = (const guint64 *)(gpointer)trace->blocks->data;
    return TRUE;
}

gboolean csv_trace_next(CsvTrace *trace, TraceRow *row, GError **error) {
    *row = (TraceRow){0};
    if (!csv_table_next(trace->table, error))
        return FALSE;
    row->line = trace->lines->number;
    gboolean dated = trace->format->wall_clock ? read_wall_clock(trace, &row->date, error)
                                               : read_seconds(trace, &row->date, error);
    return dated && read_tokens(trace, TRACE_PROMPT, &row->prompt_tokens, error) &&
           read_tokens(trace, TRACE_OUTPUT, &row->output_tokens, error) &&
           (!trace->has_blocks || read_blocks(trace, row, error));
}
