/* Phase grain: traffic over a mesh that neither folds nor would end as single flows (re-placing
 * weights, exchanging tiles all over the mesh, remote loads). Every route is walked, X first, and
 * counted exactly on each of its links; the phase then takes as long as the busiest link and the
 * longest route together. On permutations of 8 × 8 to 24 × 24 cores that is 0.95 to 1.28 times as
 * long as when the messages are simulated one by one; where they are relayed, 0.78 to 1.26 times
 * (tests/engine/test_mesh_phase.c). */
#ifndef ACTORS_MESH_PHASE_H
#define ACTORS_MESH_PHASE_H

#include "actors/mesh/mesh.h"

typedef struct MeshPhase MeshPhase;
typedef struct MeshPlace {
    guint x, y;
} MeshPlace;

typedef struct MeshPhaseCounts {
    guint64 messages;      /* that left their core */
    guint64 wavelets;      /* of them all */
    guint64 wavelet_hops;  /* wavelets times links crossed */
    guint64 link_wavelets; /* of the busiest link */
    guint64 link_messages; /* that crossed the link that most crossed */
    guint64 largest;       /* wavelets of the largest message */
    guint hops;            /* of the longest route */
} MeshPhaseCounts;

MeshPhase *mesh_phase_new(guint columns, guint rows);
void mesh_phase_free(MeshPhase *phase);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(MeshPhase, mesh_phase_free)
/* A message from core to core; one to itself costs nothing. In constant time. */
void mesh_phase_send(MeshPhase *phase, MeshPlace from, MeshPlace to, guint64 wavelets);
/* What the messages sent so far come to. */
MeshPhaseCounts mesh_phase_counts(const MeshPhase *phase);

/* On paths set up in hardware: link_wavelets + hops · alpha. Where the software of every core that
 * a message meets receives it whole and sends it on: link_wavelets + hops · (alpha + beta +
 * largest), a routing stage a hop. */
double mesh_phase_cycles(const MeshPhaseCounts *counts, const MeshSpec *spec, gboolean relayed);

#endif
