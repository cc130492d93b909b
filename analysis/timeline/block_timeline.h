/* The timeline of one operator, block by block: a cluster's computing beside its lane of transfers,
 * or the messages of each rank of an all-reduce. */
#ifndef ANALYSIS_BLOCK_TIMELINE_H
#define ANALYSIS_BLOCK_TIMELINE_H

#include "analysis/operators/operator_run.h"
#include "analysis/timeline/trace_sink.h"

/* Puts those events of 'result' (the spec must have asked for them) that touch the window. */
void block_timeline_put(const OperatorSpec *spec, const OperatorResult *result,
                        const TraceWindow *window, TraceSink *sink);

#endif
