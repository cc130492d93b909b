/* A sink that streams events in Chrome's trace-event format, as JSON, one event a line. Format:
 * "Trace Event Format" (Google, 2016), as Perfetto imports it. */
#ifndef ANALYSIS_CHROME_TRACE_H
#define ANALYSIS_CHROME_TRACE_H

#include "analysis/timeline/trace_sink.h"

/* Compressed where 'path' ends in ".gz". */
TraceSink *chrome_trace_new(const char *path, GError **error);

#endif
