#include "workloads/traces/trace_rows.h"

struct TraceRows {
    TraceReader *reader;
    GArray *sorted;   /* TraceRow with blocks of their own; NULL when streaming */
    guint64 n_passed; /* rows handed out */
    double first_date, last_date;
};

static void clear_row(gpointer row) {
    g_free((guint64 *)((TraceRow *)row)->blocks);
}

static gint by_date_then_line(gconstpointer a, gconstpointer b) {
    const TraceRow *one = a, *other = b;
    if (one->date != other->date)
        return one->date < other->date ? -1 : 1;
    return one->line < other->line ? -1 : 1;
}

static gboolean read_all(TraceRows *rows, GError **error) {
    GError *problem = NULL;
    TraceRow row;
    rows->sorted = g_array_new(FALSE, FALSE, sizeof(TraceRow));
    g_array_set_clear_func(rows->sorted, clear_row);
    while (trace_reader_next(rows->reader, &row, &problem)) {
        row.blocks = g_memdup2(row.blocks, row.n_blocks * sizeof *row.blocks);
        g_array_append_val(rows->sorted, row);
    }
    if (problem) {
        g_propagate_error(error, problem);
        return FALSE;
    }
    g_array_sort(rows->sorted, by_date_then_line);
    return TRUE;
}

TraceRows *trace_rows_open(const char *path, TraceFormatKind kind, gboolean sort, GError **error) {
    TraceReader *reader = trace_reader_open(path, kind, error);
    if (!reader)
        return NULL;
    TraceRows *rows = g_new0(TraceRows, 1);
    rows->reader = reader;
    if (!sort || read_all(rows, error))
        return rows;
    trace_rows_free(rows);
    return NULL;
}

void trace_rows_free(TraceRows *rows) {
    if (!rows)
        return;
    trace_reader_free(rows->reader);
    g_clear_pointer(&rows->sorted, g_array_unref);
    g_free(rows);
}

static gboolean fetch(TraceRows *rows, TraceRow *row, GError **error) {
    if (!rows->sorted)
        return trace_reader_next(rows->reader, row, error);
    if (rows->n_passed == rows->sorted->len)
        return FALSE;
    *row = g_array_index(rows->sorted, TraceRow, rows->n_passed);
    return TRUE;
}

gboolean trace_rows_next(TraceRows *rows, TraceRow *row, double *date_s, GError **error) {
    if (!fetch(rows, row, error))
        return FALSE;
    if (rows->n_passed == 0)
        rows->first_date = row->date;
    else if (row->date < rows->last_date)
        return trace_reader_date_error(
            rows->reader, "arrival before the previous row's (set 'sort: true' to sort)", error);
    rows->n_passed++;
    rows->last_date = row->date;
    const TraceFormat *format = trace_reader_format(rows->reader);
    double origin = format->from_first_row ? rows->first_date : 0;
    *date_s = (row->date - origin) / format->units_per_s;
    return TRUE;
}
