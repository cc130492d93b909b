/* How long one operator of a layer takes on a wafer's mesh, found by running it. Sums over lines
 * and compute-shift loops are core actors with messages; traffic all over the grid is at phase
 * grain (see phase.h); what a core does by itself is a duration. */
#ifndef ACTORS_MESH_WAFER_OP_H
#define ACTORS_MESH_WAFER_OP_H

#include "actors/mesh/phase.h"
#include "policies/mesh/wafer_layer.h"

/* Whether the operator is more than local work: then wafer_op_run wants a process that has not
 * started the engine yet. */
gboolean wafer_op_needs_engine(const WaferOp *op);
/* Cycles of the operator on elements of 'type', from its first core's start to its last one's end.
 * Negative and INPUT_ERROR where its shape or grid cannot be. */
double wafer_op_run(const WaferOp *op, DataType type, const MeshSpec *spec, GError **error);

/* What the operator takes more where its columns turn at an end of the wafer, so that two cores of
 * each are 'columns' hops apart: the messages of all columns that go from one to the other share a
 * row's links. A sum crosses once on each level of its tree, and once on its way back. */
double wafer_op_turn_cycles(const WaferOp *op, DataType type, const MeshSpec *spec);
/* Of one such crossing, by 'wavelets' in each column, beyond the one hop that it would be. */
double wafer_op_crossing_cycles(guint columns, guint64 wavelets, const MeshSpec *spec);

/* Of a message of 'bytes'. */
double wafer_op_wavelets(const MeshSpec *spec, double bytes);

/* T10 sees a crossbar: tiles come from anywhere. A message of 'wavelets' from every core to another
 * one, all different, drawn once from a fixed stream. */
MeshPhaseCounts wafer_op_exchange(guint columns, guint rows, guint64 wavelets);
/* Ladder sees one memory: a vector is interleaved over the cores of a row, and every core of the
 * row reads it wavelet by wavelet, each a request there and a reply back before the next. Cycles of
 * a read, on average over the vector, of the core that waits longest, or of the busiest link where
 * that takes longer. */
double wafer_op_read_cycles(guint columns, const MeshSpec *spec);

#endif
