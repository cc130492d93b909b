/* A mesh with the process to itself. */
#ifndef ACTORS_MESH_MESH_ALONE_H
#define ACTORS_MESH_MESH_ALONE_H

#include "actors/mesh/mesh.h"

/* Starts the engine and builds the mesh in cycles (cycle_s is set to 1); prepare(mesh, data) sets
 * paths up and starts cores; runs to the end. NULL when 'prepare' failed. Once a process. The
 * caller frees the mesh, which can still be asked for totals. */
Mesh *mesh_alone_run(const MeshSetup *setup,
                     gboolean (*prepare)(Mesh *mesh, gpointer data, GError **error), gpointer data,
                     GError **error);

#endif
