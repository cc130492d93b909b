/* Cores of a mesh as actors on SimGrid hosts: local work, messages along routing paths set up
 * beforehand, and the count of everything that a PLMR device limits (WaferLLM section 3.1): bytes
 * held, routing paths, hops and routing stages on the critical path.
 *
 * Alone in its process a mesh runs in cycles: one simulated second is one cycle. */
#ifndef ACTORS_MESH_MESH_H
#define ACTORS_MESH_MESH_H

#include "platforms/mesh_cycles.h"

typedef struct Mesh Mesh;
typedef struct MeshPath MeshPath;

/* A stretch of a core's time. Stretches of no time are not told. */
typedef enum { MESH_COMPUTING, MESH_COMMUNICATING, MESH_WAITING } MeshActivity;
typedef struct MeshStretch {
    const struct MeshCore *core;
    MeshActivity activity;
    double start_cycles, end_cycles;
} MeshStretch;

typedef struct MeshSetup {
    const MeshSpec *spec; /* borrowed */
    guint columns, rows;
    gboolean folded;       /* row 0 and column 0 stand for all */
    gboolean unlimited;    /* count what exceeds a core's memory or paths, but do not refuse it */
    const char *algorithm; /* static text, for messages */
    double cycle_s;        /* simulated seconds a cycle takes: 1 alone */
    /* NULL, or told of every stretch of every core's time as it ends (not of what is
     * fast-forwarded). */
    void (*listener)(gpointer data, const MeshStretch *stretch);
    gpointer listener_data;
} MeshSetup;

/* What a core has done and is; the mesh's functions keep it. */
typedef struct MeshCore {
    Mesh *mesh;
    guint x, y;
    gpointer data;               /* the algorithm's */
    double compute_cycles;       /* in mesh_compute and mesh_relay */
    double communication_cycles; /* blocked while what it waited for was under way */
    double wait_cycles;          /* blocked before it had been sent */
    double end_cycles;           /* when its body returned */
    guint hops, stages;          /* on the path of causes that led to its present date */
    guint paths;                 /* distinct routing paths that begin, end or pass here */
    double bytes, peak_bytes;    /* held */
    guint64 sent_wavelets;
} MeshCore;

/* Builds engine topology and cores. After engine_init; once a process (see mesh_alone.h). */
Mesh *mesh_new(const MeshSetup *setup);
void mesh_free(Mesh *mesh);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Mesh, mesh_free)
const MeshSetup *mesh_setup(const Mesh *mesh);
MeshCore *mesh_core(Mesh *mesh, guint x, guint y); /* NULL where a folded mesh has none; borrowed */
/* All cores that exist, in order of rows. */
guint mesh_n_cores(const Mesh *mesh);
MeshCore *mesh_nth_core(Mesh *mesh, guint index);
guint mesh_core_index(const MeshCore *core); /* its place among them */

/* Before the cores start. Both refuse (INPUT_ERROR; the message names core, algorithm, limit and
 * what was asked for) unless the mesh is unlimited.
 *
 * A path from a core to another, X first; with 'multicast' every core on the way receives too (it
 * must then be straight). The same path asked for twice is one. Owned by the mesh. */
MeshPath *mesh_path(Mesh *mesh, MeshCore *from, MeshCore *to, gboolean multicast, GError **error);
gboolean mesh_hold(MeshCore *core, double bytes, GError **error);
void mesh_release(MeshCore *core, double bytes);

/* Starts the actor of a core. */
void mesh_core_start(MeshCore *core, void (*body)(MeshCore *core));

/* The rest is called by core actors. */
void mesh_compute(MeshCore *core, double cycles);
/* The software of one routing stage (beta), and the stage counted. */
void mesh_relay(MeshCore *core);
/* Sends without waiting. 'payload' is handed to the receiver(s) as it is. Messages along one path
 * arrive in order. */
void mesh_send(MeshPath *path, guint64 wavelets, gconstpointer payload);
/* Waits until the last message that this core sent along the path has left it wholly (its buffer
 * is free again). */
void mesh_send_wait(MeshPath *path);
/* Waits until the next message has arrived whole at 'core' (an end of the path, or for a multicast
 * any core on it): start + hops · alpha + wavelets. Returns its payload. */
gconstpointer mesh_receive(MeshCore *core, MeshPath *path);
/* Whether it has, by now. */
gboolean mesh_arrived(MeshCore *core, MeshPath *path);
/* Waits only for its first wavelet: for cores that work on a stream as it passes by. Follow it by
 * mesh_receive for the rest. */
void mesh_receive_head(MeshCore *core, MeshPath *path);

/* What is told of a run. */
typedef struct MeshTotals {
    double cycles; /* until the last core ended */
    /* Of the core that ended last: together its cycles. */
    double compute_cycles, communication_cycles, wait_cycles;
    guint hops, stages;            /* on its path of causes */
    guint farthest_hops;           /* of the longest path along which anything was sent */
    guint64 messages, wavelets;    /* of the cores that were simulated */
    guint paths, paths_x, paths_y; /* most of any core, and which */
    double peak_bytes;             /* most of any core */
    guint bytes_x, bytes_y;
} MeshTotals;
MeshTotals mesh_totals(const Mesh *mesh);
/* Wavelets that crossed the link from core (x, y) to its neighbour; 0: east, 1: west, 2: south,
 * 3: north. Counted as flows are sent, once for a multicast. */
guint64 mesh_link_wavelets(const Mesh *mesh, guint x, guint y, guint side);

#endif
