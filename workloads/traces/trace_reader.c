#include "workloads/traces/trace_parsers.h"

#include "workloads/request_source.h"

struct TraceReader {
    LineReader *lines;
    CsvTrace *csv; /* one of the two */
    MooncakeTrace *mooncake;
    gboolean any_row;
};

static gboolean is_json(const LineReader *lines) {
    const char *at = lines->text;
    while (*at == ' ' || *at == '\t')
        at++;
    return *at == '{';
}

/* Looks at the first line to tell JSON lines from CSV; an empty file counts as CSV. */
static gboolean starts_with_json(LineReader *lines, gboolean *json, GError **error) {
    GError *problem = NULL;
    if (line_reader_next(lines, &problem)) {
        *json = is_json(lines);
        line_reader_unread(lines);
    }
    if (!problem)
        return TRUE;
    g_propagate_error(error, problem);
    return FALSE;
}

TraceReader *trace_reader_open(const char *path, TraceFormatKind kind, GError **error) {
    g_autoptr(LineReader) lines = line_reader_open(path, error);
    gboolean json = kind == TRACE_MOONCAKE;
    if (!lines || (kind == TRACE_AUTO && !starts_with_json(lines, &json, error)))
        return NULL;
    CsvTrace *csv = json ? NULL : csv_trace_new(lines, kind, error);
    if (!json && !csv)
        return NULL;
    TraceReader *reader = g_new0(TraceReader, 1);
    reader->csv = csv;
    reader->mooncake = json ? mooncake_trace_new(lines) : NULL;
    reader->lines = g_steal_pointer(&lines);
    return reader;
}

void trace_reader_free(TraceReader *reader) {
    if (!reader)
        return;
    csv_trace_free(reader->csv);
    mooncake_trace_free(reader->mooncake);
    line_reader_free(reader->lines);
    g_free(reader);
}

const TraceFormat *trace_reader_format(const TraceReader *reader) {
    return reader->csv ? csv_trace_format(reader->csv) : trace_format_of(TRACE_MOONCAKE);
}

gboolean trace_reader_next(TraceReader *reader, TraceRow *row, GError **error) {
    GError *problem = NULL;
    gboolean found = reader->csv ? csv_trace_next(reader->csv, row, &problem)
                                 : mooncake_trace_next(reader->mooncake, row, &problem);
    reader->any_row |= found;
    if (found)
        return TRUE;
    if (problem)
        g_propagate_error(error, problem);
    else if (!reader->any_row)
        line_reader_error(reader->lines, 0, INPUT_ERROR_SYNTAX, error, "trace without rows");
    return FALSE;
}

gboolean trace_reader_date_error(const TraceReader *reader, const char *message, GError **error) {
    gsize offset = reader->csv ? csv_trace_date_offset(reader->csv)
                               : mooncake_trace_date_offset(reader->mooncake);
    return line_reader_error(reader->lines, offset, INPUT_ERROR_VALUE, error, "%s", message);
}

gboolean trace_blocks_fit(guint32 prompt_tokens, guint n_blocks) {
    return n_blocks == ((guint64)prompt_tokens + PREFIX_BLOCK_TOKENS - 1) / PREFIX_BLOCK_TOKENS;
}
