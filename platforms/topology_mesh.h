/* A mesh of cores as a SimGrid topology: one host a core, four directed links a core, routes along
 * X, then along Y. A lone message over h hops takes h · hop_s + bytes / bytes_per_s. Messages that
 * cross a link at one time share it by the inverse of their routes' latencies, as SimGrid does:
 * fair between messages that travel equally far, while a nearer one gets more than a farther one.
 */
#ifndef PLATFORMS_TOPOLOGY_MESH_H
#define PLATFORMS_TOPOLOGY_MESH_H

#include <glib.h>
#include <simgrid/host.h>

G_BEGIN_DECLS

typedef struct TopologyMesh {
    guint columns, rows;
    gboolean folded;    /* only row 0 and column 0 exist, and the routes along them */
    double bytes_per_s; /* of a link */
    double hop_s;       /* its latency, above zero */
} TopologyMesh;

/* Builds it; call once, after the engine has begun and before the first actor. */
void topology_mesh_build(const TopologyMesh *mesh);
/* The core in column x of row y, which must exist. Borrowed. */
sg_host_t topology_mesh_host(guint x, guint y);

G_END_DECLS

#endif
