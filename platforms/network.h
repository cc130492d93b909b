/* The network as a table of links and arithmetic routes: the one truth that both the SimGrid
 * topology and the closed forms use. A route from a cluster to itself is its DDR alone.
 *
 *   same processor:  ddr(a) local_out(a) local_in(b) ddr(b)
 *   same node:       ddr(a) port_out(a) port_in(b) ddr(b)
 *   else:            ddr(a) port_out(a) nic_out [uplink_out uplink_in] nic_in port_in(b) ddr(b)
 *
 * Every link but the DDR exists once for each direction. */
#ifndef PLATFORMS_NETWORK_H
#define PLATFORMS_NETWORK_H

#include "platforms/platform.h"

G_BEGIN_DECLS

#define NETWORK_ROUTE_MAX 8

guint network_links(const Platform *platform);                 /* ids 0 … n−1 */
LinkSpec network_link(const Platform *platform, guint link);   /* its bandwidth, latency */
char *network_link_name(const Platform *platform, guint link); /* caller frees */
/* Fills 'links' in order of travel and returns how many. */
guint network_route(const Platform *platform, guint from, guint to, guint links[NETWORK_ROUTE_MAX]);

double network_latency(const Platform *platform, guint from, guint to);   /* sum over the route */
double network_bandwidth(const Platform *platform, guint from, guint to); /* of its slowest link */
/* One transfer with nobody else about: latency + bytes / bandwidth. */
double network_transfer_seconds(const Platform *platform, guint from, guint to, double bytes);

/* A ring all-reduce of a vector over n clusters (in ring order): 2(n−1) rounds in each of which
 * every rank sends bytes/n to the next; a round takes the longest latency plus bytes/n over the
 * bandwidth that the most loaded link leaves each of its flows, or over that of
 * 'network.all_reduce' where it is less, whose latency each all-reduce takes besides. 0 for n = 1.
 * Patarasu & Yuan 2009, "Bandwidth optimal all-reduce algorithms for clusters of workstations". */
double network_ring_all_reduce_seconds(const Platform *platform, const guint *clusters, guint n,
                                       double bytes);
/* Its two parts: seconds = fixed + bytes · per_byte. */
void network_ring_all_reduce_line(const Platform *platform, const guint *clusters, guint n,
                                  double *fixed_s, double *per_byte_s);
/* What a rank needs to send so many bytes in all-reduces, whatever the links give; 0 without
 * 'network.all_reduce'. */
double network_all_reduce_send_seconds(const Platform *platform, double bytes);

G_END_DECLS

#endif
