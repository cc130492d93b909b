/* What mesh.c, where cores and paths are made, and mesh_messages.c, where they are used, share. */
#ifndef ACTORS_MESH_MESH_PRIVATE_H
#define ACTORS_MESH_MESH_PRIVATE_H

#include "actors/engine.h"
#include "actors/mesh/mesh.h"

typedef struct Core Core;

typedef struct Message {
    double sent_cycles;  /* the date of mesh_send */
    double start_cycles; /* the date at which its flow began: later, behind others on its path */
    guint64 wavelets;
    gconstpointer payload;
    guint hops, stages; /* on the path of causes that led its sender to sending it */
    guint unread;       /* by so many cores */
} Message;

/* A transfer that its actor has to see ending before it ends itself. */
typedef struct Flow {
    EngineTransfer *transfer;
    MeshPath *path;
    double due_cycles; /* if nothing is in its way */
    struct Flow *next;
} Flow;

typedef struct FlowList {
    Flow *first, *last;
} FlowList;

struct MeshPath {
    Mesh *mesh;
    Core *from, *to;
    gboolean multicast;
    guint hops;
    EngineChannel *channel; /* to the farthest core; from when that has been started */
    MeshPath *next_out;     /* of those from the same core */
    MeshPath *next_in;      /* of those to the same core */

    guint64 kept, started, sent; /* messages by number: a ring holds kept … sent − 1 */
    Message *ring;
    guint capacity;
    guint n_blocked;    /* cores that wait for a message that has not been started */
    Flow *last_flow;    /* NULL once seen ended */
    double free_cycles; /* the date at which the last one started has left, if nothing is in its
                           way */
    gboolean courier;   /* an actor is starting those that have had to wait */
    guint64 wavelets;   /* of all messages started */
    guint32 n_read[]; /* by the core after so many hops, less one; without multicast: by the end */
};

struct Core {
    MeshCore core; /* first, so that one is the other */
    Wake *wake;    /* NULL until it first waits for a message that has not been started */
    MeshPath *out, *in;
    guint paths_along[2]; /* along X, along Y; one with a bend counts in both */
    guint64 messages;
    FlowList flows;
    void (*body)(MeshCore *core);
    const MeshPath *awaited; /* while it waits so, of which path */
    double awaited_wavelets; /* until so many have arrived; INFINITY: all */
    gboolean started, ended;
};

struct Mesh {
    MeshSetup setup;
    guint n_cores;
    Core *cores;                 /* in order of rows; folded: row 0, then the rest of column 0 */
    guint most_paths[2];         /* folded: most of any core along X, along Y */
    guint most_paths_at[2];      /* and its column, its row */
    guint64 (*link_wavelets)[4]; /* by core and side; NULL until asked for */
    gboolean links_stale;
};

Core *mesh_core_at(const Mesh *mesh, guint x, guint y); /* NULL where there is none */
double mesh_now_cycles(const Mesh *mesh);
/* The body of a core's actor: the algorithm's, then the end of what it has sent. */
void mesh_core_main(int argc, char **argv);

#endif
