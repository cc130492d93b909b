/* The rows of a trace in order of arrival, dated in seconds from the trace's beginning: streamed
 * from a file that is in order, or read as a whole and sorted. */
#ifndef WORKLOADS_TRACES_TRACE_ROWS_H
#define WORKLOADS_TRACES_TRACE_ROWS_H

#include "workloads/traces/trace_reader.h"

typedef struct TraceRows TraceRows;

/* With 'sort', the file is read at once and ties keep their order; otherwise a row that is dated
 * before the previous one is an error when it is met. */
TraceRows *trace_rows_open(const char *path, TraceFormatKind kind, gboolean sort, GError **error);
void trace_rows_free(TraceRows *rows);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TraceRows, trace_rows_free)

/* The next row, its date in 'date_s': seconds from the first row, or from the file's own 0 where
 * the format counts from one. FALSE at the end, or on an error (then it is set). */
gboolean trace_rows_next(TraceRows *rows, TraceRow *row, double *date_s, GError **error);

#endif
