/* Sums over the lines of a mesh: every row (or column) on its own. */
#ifndef ACTORS_MESH_MESH_REDUCE_H
#define ACTORS_MESH_MESH_REDUCE_H

#include "actors/mesh/mesh.h"

typedef enum {
    MESH_REDUCE_CHAIN,    /* whole vectors from core to core, each relayed in software */
    MESH_REDUCE_PIPELINE, /* a chain through which the wavelets stream, each relayed in software as
                             it comes: T10's */
    MESH_REDUCE_FABRIC, /* the same added by the fabric, 2 · ramp + 1 cycles a core: the vendor's */
    MESH_REDUCE_RING,   /* reduce-scatter and all-gather around the interleaved ring */
    MESH_REDUCE_TREE,   /* K-tree */
    N_MESH_REDUCE_KINDS
} MeshReduceKind;
extern const char *const mesh_reduce_names[]; /* "chain" …, NULL-terminated */

typedef struct MeshReduce {
    MeshReduceKind kind;
    guint k;               /* TREE */
    gboolean along_y;      /* over columns instead of rows */
    gboolean no_broadcast; /* the sum stays at the root (RING: every core has it anyway) */
    guint64 elements;      /* of each core's vector */
    DataType type; /* of messages; FP16 is packed. Values are added in FP32 and rounded to it
                      wherever they are sent */
    /* values[index of the core in order of rows]: 'elements' floats, summed in place on every core
     * (or on the root alone); NULL: time only. */
    float *const *values;
} MeshReduce;

/* How often, at most, what a core of a line of n adds is rounded to 'type' on its way into the sum:
 * with each message, and as the sum. 0 in FP32. */
guint mesh_reduce_roundings(const MeshReduce *reduce, guint n);

/* Sets paths and memory up and starts the cores. Borrows 'reduce' until the run has ended. */
gboolean mesh_reduce_start(Mesh *mesh, const MeshReduce *reduce, GError **error);

/* As a part of a longer body: prepare once, then every core of a line calls it at its turn. */
typedef struct MeshReducer MeshReducer;
MeshReducer *mesh_reducer_new(Mesh *mesh, const MeshReduce *reduce, GError **error);
void mesh_reducer_free(MeshReducer *reducer);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(MeshReducer, mesh_reducer_free)
/* 'vector': this core's floats, or NULL. */
void mesh_reducer_run(MeshReducer *reducer, MeshCore *core, float *vector);

#endif
