/* What trace_reader.c chooses between: one parser for each shape of file. */
#ifndef WORKLOADS_TRACES_TRACE_PARSERS_H
#define WORKLOADS_TRACES_TRACE_PARSERS_H

#include "workloads/traces/trace_reader.h"

#define TRACE_TOKENS_EXPECTED "a whole number of tokens from 0 to 2147483647"
#define TRACE_BLOCK_ID_EXPECTED "whole numbers separated by spaces"

/* Any CSV format, bound by header names. TRACE_AUTO detects. */
typedef struct CsvTrace CsvTrace;
CsvTrace *csv_trace_new(LineReader *lines, TraceFormatKind kind, GError **error);
void csv_trace_free(CsvTrace *trace);
const TraceFormat *csv_trace_format(const CsvTrace *trace);
gboolean csv_trace_next(CsvTrace *trace, TraceRow *row, GError **error);
gsize csv_trace_date_offset(const CsvTrace *trace);

/* Mooncake's JSON lines. */
typedef struct MooncakeTrace MooncakeTrace;
MooncakeTrace *mooncake_trace_new(LineReader *lines);
void mooncake_trace_free(MooncakeTrace *trace);
gboolean mooncake_trace_next(MooncakeTrace *trace, TraceRow *row, GError **error);
gsize mooncake_trace_date_offset(const MooncakeTrace *trace);

/* Whether 'n_blocks' is ceil(prompt_tokens / 512). */
gboolean trace_blocks_fit(guint32 prompt_tokens, guint n_blocks);

#endif
