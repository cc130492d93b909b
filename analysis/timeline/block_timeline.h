/* The timeline of one operator in Chrome's trace-event format, block by block: a cluster's
 * computing beside its lane of transfers, or the messages of each rank of an all-reduce. */
#ifndef ANALYSIS_BLOCK_TIMELINE_H
#define ANALYSIS_BLOCK_TIMELINE_H

#include "analysis/operators/operator_run.h"

/* Writes the events of 'result' (the spec must have asked for them) to 'path'. */
gboolean block_timeline_write(const OperatorSpec *spec, const OperatorResult *result,
                              const char *path, GError **error);

#endif
