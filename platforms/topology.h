/* The platform as a SimGrid topology: one host per cluster and the links of network.h, with the
 * routes of network_route. Links carry bandwidth only; latency is paid by whoever starts a flow,
 * before it starts, so that flows share a link fairly whatever their distance (SimGrid weighs flows
 * by the inverse of their latency). */
#ifndef PLATFORMS_TOPOLOGY_H
#define PLATFORMS_TOPOLOGY_H

#include "platforms/platform.h"
#include <simgrid/host.h>

G_BEGIN_DECLS

/* Builds it; call once, after simgrid_init and before the first actor. Host speed is the peak for
 * 'type' in multiply-accumulates a second. Borrows 'platform' until the process ends. */
void topology_build(const Platform *platform, DataType type);
sg_host_t topology_host(guint cluster); /* borrowed */
/* The other end of GSM links: a flow between topology_host(cluster) and this host, either way,
 * crosses that cluster's GSM link alone. Borrowed. */
sg_host_t topology_gsm_host(void);

G_END_DECLS

#endif
