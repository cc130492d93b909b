/* The timeline of one operator on a mesh: a lane a core, with what it computed, the communication
 * it was in, and its waiting for others. */
#ifndef ANALYSIS_MESH_TIMELINE_H
#define ANALYSIS_MESH_TIMELINE_H

#include "analysis/operators/mesh_run.h"
#include "analysis/timeline/trace_sink.h"

/* Puts those events of 'result' (the spec must have asked for them) that touch the window. */
void mesh_timeline_put(const MeshRunSpec *spec, const MeshRunResult *result,
                       const TraceWindow *window, TraceSink *sink);

#endif
