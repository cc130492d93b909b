/* Mooncake's traces: a JSON object a line of a fixed schema, some with hundreds of block ids.
 * Reading it directly is ten times as fast as building a tree for every line, is strict where
 * general readers are lenient (comments, doubled keys, numbers too large) and knows every column.
 */
#include "workloads/traces/trace_parsers.h"
#include "workloads/traces/trace_values.h"

#include <string.h>

#define MAX_DEPTH 64 /* of values that are passed over */
#define MS_PER_S 1000

/* What stands in a line, by TraceColumn; 'seen' has a bit for each. */
struct MooncakeTrace {
    LineReader *lines; /* borrowed */
    const char *at;    /* in the current line */
    guint seen;
    gsize date_offset, blocks_offset;
    GArray *blocks; /* guint64 */
};

MooncakeTrace *mooncake_trace_new(LineReader *lines) {
    MooncakeTrace *trace = g_new0(MooncakeTrace, 1);
    trace->lines = lines;
    trace->blocks = g_array_new(FALSE, FALSE, sizeof(guint64));
    return trace;
}

void mooncake_trace_free(MooncakeTrace *trace) {
    if (!trace)
        return;
    g_array_unref(trace->blocks);
    g_free(trace);
}

gsize mooncake_trace_date_offset(const MooncakeTrace *trace) {
    return trace->date_offset;
}

static gsize offset(const MooncakeTrace *trace) {
    return (gsize)(trace->at - trace->lines->text);
}

static void skip_blanks(MooncakeTrace *trace) {
    while (*trace->at == ' ' || *trace->at == '\t')
        trace->at++;
}

static gboolean take(MooncakeTrace *trace, char c) {
    skip_blanks(trace);
    if (*trace->at != c)
        return FALSE;
    trace->at++;
    return TRUE;
}

static gsize word_length(const MooncakeTrace *trace) {
    return strcspn(trace->at, " \t,:{}[]\"");
}

static gboolean expected(const MooncakeTrace *trace, const char *what, GError **error) {
    gsize length = MAX(word_length(trace), *trace->at != '\0');
    g_autofree char *found = line_reader_quote(trace->at, length);
    return line_reader_error(trace->lines, offset(trace), INPUT_ERROR_SYNTAX, error,
                             "expected %s, found %s", what, length ? found : "the end of the line");
}

/* A string's contents, escapes left as they are. */
static gboolean take_string(MooncakeTrace *trace, const char **text, gsize *length,
                            GError **error) {
    if (!take(trace, '"'))
        return expected(trace, "a string", error);
    *text = trace->at;
    while (*trace->at && *trace->at != '"')
        trace->at += trace->at[0] == '\\' && trace->at[1] ? 2 : 1;
    *length = (gsize)(trace->at - *text);
    return take(trace, '"') || expected(trace, "a closing quote", error);
}

static gboolean skip_word(MooncakeTrace *trace, GError **error) {
    static const char *const words[] = {"true", "false", "null"};
    gsize length = word_length(trace);
    gsize sign = *trace->at == '-';
    double number;
    gboolean known = length > sign && trace_value_decimal(trace->at + sign, length - sign, &number);
    for (guint i = 0; i < G_N_ELEMENTS(words); i++)
        known |= length == strlen(words[i]) && strncmp(trace->at, words[i], length) == 0;
    if (!known)
        return expected(trace, "a value", error);
    trace->at += length;
    return TRUE;
}

static gboolean skip_value(MooncakeTrace *trace, guint depth, GError **error);

/* The members of an object or array that has just been opened, up to its closing bracket. */
static gboolean skip_members(MooncakeTrace *trace, char close, guint depth, GError **error) {
    if (depth == MAX_DEPTH)
        return expected(trace, "at most 64 levels", error);
    if (take(trace, close))
        return TRUE;
    do {
        const char *key;
        gsize length;
        if (close == '}' && !take_string(trace, &key, &length, error))
            return FALSE;
        if (close == '}' && !take(trace, ':'))
            return expected(trace, "':'", error);
        if (!skip_value(trace, depth + 1, error))
            return FALSE;
    } while (take(trace, ','));
    return take(trace, close) || expected(trace, close == '}' ? "',' or '}'" : "',' or ']'", error);
}

static gboolean skip_value(MooncakeTrace *trace, guint depth, GError **error) {
    const char *text;
    gsize length;
    if (take(trace, '{'))
        return skip_members(trace, '}', depth, error);
    if (take(trace, '['))
        return skip_members(trace, ']', depth, error);
    return *trace->at == '"' ? take_string(trace, &text, &length, error) : skip_word(trace, error);
}

static gboolean read_count(MooncakeTrace *trace, guint64 max, const char *what, guint64 *value,
                           GError **error) {
    skip_blanks(trace);
    gsize length = word_length(trace);
    if (!trace_value_count(trace->at, length, max, value))
        return expected(trace, what, error);
    trace->at += length;
    return TRUE;
}

static gboolean read_date(MooncakeTrace *trace, double *ms, GError **error) {
    skip_blanks(trace);
    trace->date_offset = offset(trace);
    gsize length = word_length(trace);
    if (!trace_value_decimal(trace->at, length, ms) || *ms > TRACE_MAX_SECONDS * MS_PER_S)
        return expected(trace, "milliseconds from 0 to 1e15", error);
    trace->at += length;
    return TRUE;
}

static gboolean read_tokens(MooncakeTrace *trace, guint32 *tokens, GError **error) {
    guint64 value;
    if (!read_count(trace, TRACE_MAX_TOKENS, TRACE_TOKENS_EXPECTED, &value, error))
        return FALSE;
    *tokens = (guint32)value;
    return TRUE;
}

static gboolean read_blocks(MooncakeTrace *trace, GError **error) {
    g_array_set_size(trace->blocks, 0);
    if (!take(trace, '['))
        return expected(trace, "a list of block ids", error);
    trace->blocks_offset = offset(trace) - 1;
    if (take(trace, ']'))
        return TRUE;
    do {
        guint64 id;
        if (!read_count(trace, G_MAXUINT64, "a block id", &id, error))
            return FALSE;
        g_array_append_val(trace->blocks, id);
    } while (take(trace, ','));
    return take(trace, ']') || expected(trace, "',' or ']'", error);
}

static gboolean read_value(MooncakeTrace *trace, TraceColumn column, TraceRow *row,
                           GError **error) {
    switch (column) {
    case TRACE_DATE:
        return read_date(trace, &row->date, error);
    case TRACE_PROMPT:
        return read_tokens(trace, &row->prompt_tokens, error);
    case TRACE_OUTPUT:
        return read_tokens(trace, &row->output_tokens, error);
    case TRACE_BLOCKS:
        return read_blocks(trace, error);
    default:
        return skip_value(trace, 0, error);
    }
}

static TraceColumn column_of(const char *key, gsize length) {
    const TraceFormat *format = trace_format_of(TRACE_MOONCAKE);
    guint column = 0;
    while (column < N_TRACE_COLUMNS && (strlen(format->columns[column]) != length ||
                                        strncmp(format->columns[column], key, length) != 0))
        column++;
    return column;
}

/* One `"key": value`. */
static gboolean read_member(MooncakeTrace *trace, TraceRow *row, GError **error) {
    const char *key = "";
    gsize length = 0;
    if (!take_string(trace, &key, &length, error))
        return FALSE;
    TraceColumn column = column_of(key, length);
    if (column < N_TRACE_COLUMNS && trace->seen & 1u << column)
        return line_reader_error(trace->lines, (gsize)(key - trace->lines->text) - 1,
                                 INPUT_ERROR_DUPLICATE, error, "key '%s' stands twice",
                                 trace_format_of(TRACE_MOONCAKE)->columns[column]);
    if (column < N_TRACE_COLUMNS)
        trace->seen |= 1u << column;
    if (!take(trace, ':'))
        return expected(trace, "':'", error);
    skip_blanks(trace);
    return read_value(trace, column, row, error);
}

static gboolean check_row(MooncakeTrace *trace, TraceRow *row, GError **error) {
    for (guint column = 0; column < N_TRACE_COLUMNS; column++) {
        if (!(trace->seen & 1u << column))
            return line_reader_error(trace->lines, 0, INPUT_ERROR_MISSING, error,
                                     "missing key '%s'",
                                     trace_format_of(TRACE_MOONCAKE)->columns[column]);
    }
    if (!trace_blocks_fit(row->prompt_tokens, trace->blocks->len))
        return line_reader_error(trace->lines, trace->blocks_offset, INPUT_ERROR_CONFLICT, error,
                                 "%u hash_ids for %u prompt tokens (expected one per 512)",
                                 trace->blocks->len, row->prompt_tokens);
    row->line = trace->lines->number;
    row->n_blocks = trace->blocks->len;
    row->blocks = (const guint64 *)(gpointer)trace->blocks->data;
    return TRUE;
}

gboolean mooncake_trace_next(MooncakeTrace *trace, TraceRow *row, GError **error) {
    *row = (TraceRow){0};
    if (!line_reader_next(trace->lines, error))
        return FALSE;
    trace->at = trace->lines->text;
    trace->seen = 0;
    if (!take(trace, '{'))
        return expected(trace, "a JSON object", error);
    if (!take(trace, '}')) {
        do {
            if (!read_member(trace, row, error))
                return FALSE;
        } while (take(trace, ','));
        if (!take(trace, '}'))
            return expected(trace, "',' or '}'", error);
    }
    skip_blanks(trace);
    if (offset(trace) != trace->lines->length)
        return expected(trace, "the end of the line", error);
    return check_row(trace, row, error);
}
