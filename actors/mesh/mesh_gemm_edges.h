/* The logical ring of tiles along one axis of the mesh: where a tile leaves a core for another when
 * all tiles shift by one place. Tiles whose neighbour is on the same core (grids with columns ≠
 * rows) cost no message. Only for mesh_gemm*.c. */
#ifndef ACTORS_MESH_MESH_GEMM_EDGES_H
#define ACTORS_MESH_MESH_GEMM_EDGES_H

#include "actors/mesh/mesh_gemm_run.h"
#include "policies/mesh/interleave.h"

/* From the tile of one part to that of another, on another core. */
typedef struct GemmEdge {
    GemmOut out;
    guint from, to;
} GemmEdge;

/* Neighbours are at most two tiles apart but for the way back of Cannon's ring, so no core has more
 * than two tiles that leave it, nor that come to it. */
enum { GEMM_EDGES = 2 };

typedef struct GemmEdges {
    guint first; /* part of the core's first tile along the axis */
    guint n_out, n_in;
    GemmEdge out[GEMM_EDGES];
    const GemmEdge *in[GEMM_EDGES]; /* other cores' */
} GemmEdges;

typedef struct GemmRing {
    RingRule rule;
    gboolean along_y;
    guint n;
    guint *places;    /* in the ring, of each part */
    guint *parts;     /* at each place */
    GemmEdges *cores; /* by the run's order; empty where a core takes no part */
    guint n_cores;
} GemmRing;

/* NULL where the mesh refuses a path. */
GemmRing *gemm_ring_new(GemmRun *run, RingRule rule, gboolean along_y, GError **error);
void gemm_ring_free(GemmRing *ring);
void gemm_ring_settle(GemmRing *ring); /* gemm_out_settle of all */
/* The part that is where 'part' was after everything has moved on by 'moves' places. */
guint gemm_ring_part(const GemmRing *ring, guint part, guint moves);
GemmEdges *gemm_ring_edges(const GemmRing *ring, const GemmCore *core);

#endif
