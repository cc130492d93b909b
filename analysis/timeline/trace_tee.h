/* A sink that hands everything on to several others: one run, a file of each format. */
#ifndef ANALYSIS_TRACE_TEE_H
#define ANALYSIS_TRACE_TEE_H

#include "analysis/timeline/trace_sink.h"

/* Takes the array and its sinks (TraceSink *, with trace_sink_free as its free function). All of
 * them are finished; the error is that of the first that failed. */
TraceSink *trace_tee_new(GPtrArray *sinks);

#endif
