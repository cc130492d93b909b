/* A mesh simulated in a child process, and what came of it. */
#ifndef TESTS_ENGINE_MESH_FIXTURE_H
#define TESTS_ENGINE_MESH_FIXTURE_H

#include "actors/mesh/mesh_alone.h"

typedef gboolean (*MeshPrepare)(Mesh *mesh, gpointer data, GError **error);

/* A device like the first wafer: a hop a cycle, 16.1 cycles a relay, 24 paths, 45,000 bytes. */
MeshSpec mesh_fixture_spec(void);

typedef struct MeshFound {
    gsize size;      /* of the memory that this is in */
    char error[256]; /* "" when it ran */
    MeshTotals totals;
    guint64 link_wavelets; /* of all links together */
    guint n_cores;
    MeshCore cores[]; /* in order of rows; their pointers mean nothing here */
} MeshFound;

/* Fails the test when the child crashes. Freed by mesh_found_free. */
MeshFound *mesh_child_run(const MeshSetup *setup, MeshPrepare prepare, gpointer data);
void mesh_found_free(MeshFound *found);
const MeshCore *mesh_found_core(const MeshFound *found, const MeshSetup *setup, guint x, guint y);
/* Every core's compute, communication and waiting are its time. */
void mesh_assert_accounted(const MeshFound *found);

#endif
