/* Private to plans: weights that do not fit on their devices and come from the host in every step.
 *
 * Which: all layers of a replica, when any of its stages has no room for them beside the KV that it
 * must hold; a rank then keeps the embedding table or the output matrix, if it has one, and room
 * for two layers. From where: the host's memory, or the disks of a node, which the ranks share that
 * stream at once: of a pipeline, those of as many stages as there are micro-batches. How fast: what
 * the link from pinned or from pageable memory gives, and the disk where it is slower. A device
 * copies from pinned memory while it computes, so that a step takes the longer of both; it waits
 * for copies from pageable memory.
 */
#ifndef POLICIES_WEIGHT_STREAM_H
#define POLICIES_WEIGHT_STREAM_H

#include "policies/memory_bill.h"

/* Whether the platform has what the policy asks of its host. 'place': the policy section's node. */
gboolean weight_stream_check_host(const BillInputs *inputs, const YamlNode *place, GError **error);

/* The stream of one rank of a stage; its rate is yet to be found. */
WeightStream weight_stream_new(const BillInputs *inputs, const ReplicaShape *shape, guint stage);

/* Finds the rates of a plan whose clusters are known, and refuses it where the host of a node has
 * no room for what the policy puts there: copies of the weights while they are loaded, and those
 * that are streamed. */
gboolean weight_stream_complete(const BillInputs *inputs, Plan *plan, const YamlNode *place,
                                GError **error);

#endif
