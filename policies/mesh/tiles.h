/* Dividing matrices over the cores of a mesh. */
#ifndef POLICIES_MESH_TILES_H
#define POLICIES_MESH_TILES_H

#include <glib.h>

/* Balanced parts of 'length' over 'n': sizes differ by at most one and the larger ones are spread
 * evenly, so that any run of parts is as long as any other of so many to within one. */
guint64 tile_begin(guint64 length, guint n, guint part); /* ⌊length · part / n⌋ */
guint64 tile_size(guint64 length, guint n, guint part);
guint64 tile_largest(guint64 length, guint n); /* ⌈length / n⌉ */

/* Tiles a side for a grid of columns × rows: the least common multiple (WaferLLM 5.4). Each core
 * then stands for lcm/columns × lcm/rows of the square's. */
guint tiles_a_side(guint columns, guint rows);

#endif
