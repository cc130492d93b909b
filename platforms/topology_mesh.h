/* A mesh of cores as a SimGrid topology: one host a core, four directed links a core, routes along
 * X, then along Y. */
#ifndef PLATFORMS_TOPOLOGY_MESH_H
#define PLATFORMS_TOPOLOGY_MESH_H

#include <glib.h>
#include <simgrid/host.h>

G_BEGIN_DECLS

typedef struct TopologyMesh {
    guint columns, rows;
    gboolean folded;    /* only the cores of row 0 and column 0 exist */
    double bytes_per_s; /* of a link */
    double hop_s;       /* its latency, above zero */
} TopologyMesh;

/* Builds it; call once, after the engine has begun and before the first actor. */
void topology_mesh_build(const TopologyMesh *mesh);
/* The core in column x of row y, which must exist. Borrowed. */
sg_host_t topology_mesh_host(guint x, guint y);

G_END_DECLS

#endif
