#include "workloads/traces/trace_format.h"

#include "workloads/traces/trace_values.h"

#define N_REQUIRED TRACE_BLOCKS /* date, prompt, output */

const char *const trace_format_names[N_TRACE_FORMATS] = {"auto",     "azure", "mooncake",
                                                         "burstgpt", "vidur", "infergrid"};

static const TraceFormat formats[N_TRACE_FORMATS] = {
    [TRACE_AZURE] = {.name = "azure",
                     .columns = {"TIMESTAMP", "ContextTokens", "GeneratedTokens", NULL},
                     .units_per_s = TICKS_PER_S,
                     .wall_clock = TRUE,
                     .from_first_row = TRUE},
    [TRACE_MOONCAKE] = {.name = "mooncake",
                        .columns = {"timestamp", "input_length", "output_length", "hash_ids"},
                        .units_per_s = 1000},
    [TRACE_BURSTGPT] = {.name = "burstgpt",
                        .columns = {"Timestamp", "Request tokens", "Response tokens", NULL},
                        .units_per_s = 1,
                        .from_first_row = TRUE},
    [TRACE_VIDUR] = {.name = "vidur",
                     .columns = {"arrived_at", "num_prefill_tokens", "num_decode_tokens", NULL},
                     .units_per_s = 1},
    [TRACE_INFERGRID] = {.name = "infergrid",
                         .columns = {"arrival_s", "prompt_tokens", "output_tokens",
                                     "prefix_blocks"},
                         .units_per_s = 1},
};

const TraceFormat *trace_format_of(TraceFormatKind kind) {
    g_assert(kind > TRACE_AUTO && kind < N_TRACE_FORMATS);
    return &formats[kind];
}

static guint columns_present(const TraceFormat *format, const CsvTable *table) {
    guint n = 0;
    for (guint i = 0; i < N_REQUIRED; i++)
        n += csv_table_has(table, format->columns[i]) ? 1 : 0;
    return n;
}

static gboolean missing_column(const TraceFormat *format, const CsvTable *table,
                               const LineReader *lines, GError **error) {
    guint i = 0;
    while (csv_table_has(table, format->columns[i]))
        i++;
    g_autofree char *found = csv_table_columns(table);
    return line_reader_error(lines, 0, INPUT_ERROR_MISSING, error,
                             "missing column '%s' of format '%s' (columns found: %s)",
                             format->columns[i], format->name, found);
}

static void unknown_format(const CsvTable *table, const LineReader *lines, GError **error) {
    g_autofree char *found = csv_table_columns(table);
    g_autoptr(GString) known = g_string_new(NULL);
    for (guint kind = TRACE_AUTO + 1; kind < N_TRACE_FORMATS; kind++) {
        const TraceFormat *format = &formats[kind];
        g_string_append_printf(known, "%s%s (%s%s, %s, %s)", known->len ? "; " : "", format->name,
                               kind == TRACE_MOONCAKE ? "JSON lines: " : "", format->columns[0],
                               format->columns[1], format->columns[2]);
    }
    line_reader_error(lines, 0, INPUT_ERROR_UNKNOWN, error,
                      "unknown trace format: columns found: %s; formats known: %s", found,
                      known->str);
}

TraceFormatKind trace_format_detect(const CsvTable *table, const LineReader *lines,
                                    GError **error) {
    for (guint n = N_REQUIRED; n >= N_REQUIRED - 1; n--) {
        for (guint kind = TRACE_AUTO + 1; kind < N_TRACE_FORMATS; kind++) {
            if (kind == TRACE_MOONCAKE || columns_present(&formats[kind], table) != n)
                continue;
            if (n == N_REQUIRED)
                return kind;
            missing_column(&formats[kind], table, lines, error);
            return TRACE_AUTO;
        }
    }
    unknown_format(table, lines, error);
    return TRACE_AUTO;
}

gboolean trace_format_bind(const TraceFormat *format, CsvTable *table, const LineReader *lines,
                           GError **error) {
    if (columns_present(format, table) < N_REQUIRED)
        return missing_column(format, table, lines, error);
    for (guint i = 0; i < N_TRACE_COLUMNS; i++) {
        const char *column = format->columns[i];
        gboolean wanted = column && (i < N_REQUIRED || csv_table_has(table, column));
        if (wanted && !csv_table_bind(table, i, column, error))
            return FALSE;
    }
    return TRUE;
}
