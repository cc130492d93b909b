/* A sink that hands on only what happens on chosen lanes. A lane is a thread, or a counter or kind
 * of phase of a process; its name is its process's and its own ("pool 0 decode 1 stage 0 (tp 4)",
 * "system queue"). A pattern with '*' and '?' chooses a process with all its lanes, or a lane, when
 * it matches the whole of the name from the beginning of any of its words on: 'decode*', 'network',
 * 'kv_pull 0', 'queue'. Arrows join those of their slices that are left. */
#ifndef ANALYSIS_TRACE_FILTER_H
#define ANALYSIS_TRACE_FILTER_H

#include "analysis/timeline/trace_sink.h"

/* Takes 'next'; 'patterns' is NULL-terminated, not empty. To finish is an INPUT_ERROR, which begins
 * with "--lanes: ", when a pattern matched nothing or nothing happened on what they matched. */
TraceSink *trace_filter_new(TraceSink *next, const char *const *patterns);

#endif
