/* The rows of a trace file in file order, whatever its format. A row is checked by itself here;
 * order and time 0 are the business of trace_rows.h. */
#ifndef WORKLOADS_TRACES_TRACE_READER_H
#define WORKLOADS_TRACES_TRACE_READER_H

#include "workloads/traces/trace_format.h"

typedef struct TraceRow {
    guint64 line;                         /* where it stands in the file */
    double date;                          /* in the format's units: whole numbers are exact */
    guint32 prompt_tokens, output_tokens; /* may be 0 */
    guint32 n_blocks;                     /* 0, or ceil(prompt / 512) */
    const guint64 *blocks;                /* borrowed; valid until the next row */
} TraceRow;

typedef struct TraceReader TraceReader;

/* Opens 'path' as 'kind', or detects the format. */
TraceReader *trace_reader_open(const char *path, TraceFormatKind kind, GError **error);
void trace_reader_free(TraceReader *reader);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TraceReader, trace_reader_free)

const TraceFormat *trace_reader_format(const TraceReader *reader);

/* FALSE at the end, or on an error (then it is set). A file without a row is an error. */
gboolean trace_reader_next(TraceReader *reader, TraceRow *row, GError **error);

/* Sets 'error' at the date of the current row; returns FALSE. */
gboolean trace_reader_date_error(const TraceReader *reader, const char *message, GError **error);

#endif
