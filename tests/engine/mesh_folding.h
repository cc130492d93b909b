/* Whether one line of cores stands for all: every kind of sum, one after another, on a folded and
 * on the full mesh. Lines of more than 64 cores leave out the ring, whose messages grow with the
 * cube of a mesh's side. */
#ifndef TESTS_ENGINE_MESH_FOLDING_H
#define TESTS_ENGINE_MESH_FOLDING_H

#include <glib.h>

/* Exactly equal, core by core: cycles and what they went into, hops, stages, paths, bytes,
 * wavelets; and all messages, line by line. */
void mesh_assert_folds(guint columns, guint rows, gboolean along_y);

#endif
