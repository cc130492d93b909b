/* The trace formats known: what their columns are called and how their dates count. */
#ifndef WORKLOADS_TRACES_TRACE_FORMAT_H
#define WORKLOADS_TRACES_TRACE_FORMAT_H

#include "workloads/traces/csv_table.h"

typedef enum {
    TRACE_AUTO, /* to be detected */
    TRACE_AZURE,
    TRACE_MOONCAKE,
    TRACE_BURSTGPT,
    TRACE_VIDUR,
    TRACE_INFERGRID,
    N_TRACE_FORMATS
} TraceFormatKind;

typedef enum { TRACE_DATE, TRACE_PROMPT, TRACE_OUTPUT, TRACE_BLOCKS, N_TRACE_COLUMNS } TraceColumn;

typedef struct TraceFormat {
    const char *name;
    const char *columns[N_TRACE_COLUMNS]; /* names; blocks: optional, NULL where unknown */
    double units_per_s;      /* of TraceRow.date: 1 for seconds, 1000 for milliseconds */
    gboolean wall_clock;     /* dates such as "2023-11-16 18:15:46.6805900", else numbers */
    gboolean from_first_row; /* time 0 is the first row's date, else the file's own 0 */
} TraceFormat;

/* The names of all kinds, "auto" first. */
extern const char *const trace_format_names[N_TRACE_FORMATS];

/* The format of a kind other than TRACE_AUTO. */
const TraceFormat *trace_format_of(TraceFormatKind kind);

/* The CSV format whose columns the table has, or an error that lists what was found and what is
 * known; a header that holds all but one column of a format is told which one is missing. */
TraceFormatKind trace_format_detect(const CsvTable *table, const LineReader *lines, GError **error);

/* Binds the columns of 'format' to the slots of TraceColumn. */
gboolean trace_format_bind(const TraceFormat *format, CsvTable *table, const LineReader *lines,
                           GError **error);

#endif
