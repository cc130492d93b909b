/* The timeline of one operator on a mesh in Chrome's trace-event format: a lane a core, with what
 * it computed, the communication it was in, and its waiting for others. */
#ifndef ANALYSIS_MESH_TIMELINE_H
#define ANALYSIS_MESH_TIMELINE_H

#include "analysis/operators/mesh_run.h"

/* Writes the events of 'result' (the spec must have asked for them) to 'path'. */
gboolean mesh_timeline_write(const MeshRunSpec *spec, const MeshRunResult *result, const char *path,
                             GError **error);

#endif
