#include "policies/weight_stream.h"

double weight_stream_seconds(const WeightStream *stream) {
    return stream->bytes > 0 ? stream->bytes / stream->bytes_per_s : 0;
}

gboolean weight_stream_check_host(const BillInputs *inputs, const YamlNode *place, GError **error) {
    const Policy *policy = inputs->policy;
    gboolean offloads = policy->offload != OFFLOAD_NONE;
    if (inputs->platform->host.memory_bytes > 0 || (!offloads && policy->staging_copies == 0))
        return TRUE;
    const char *key = offloads ? "offload" : "staging_copies";
    return yaml_error(policy_place(place, key, NULL), INPUT_ERROR_CONFLICT, error,
                      "'%s' needs 'host' of the platform, and '%s' says nothing of it", key,
                      inputs->platform->name);
}

WeightStream weight_stream_new(const BillInputs *inputs, const ReplicaShape *shape, guint stage) {
    if (!shape->streamed)
        return (WeightStream){0};
    return (WeightStream){.bytes = memory_bill_streamed(inputs, shape, stage),
                          .overlaps = inputs->policy->host_transfer == HOST_TRANSFER_PINNED};
}

/* What the host of one node is asked for. */
typedef struct HostLoad {
    double weight_bytes;   /* of all ranks on the node */
    double streamed_bytes; /* of them, of those that stream */
    double readers;        /* ranks that stream at once, at most */
    /* of the replica that is looked at */
    const ReplicaPlan *replica;
    const StagePlan *stage; /* the last that was counted */
    guint stages;
} HostLoad;

/* Calls for every rank of a replica's stages, with the host of its node. */
typedef void (*RankVisit)(const BillInputs *inputs, const ReplicaPlan *replica, StagePlan *stage,
                          HostLoad *node);

static void each_rank(const BillInputs *inputs, const ReplicaPlan *replica, HostLoad *nodes,
                      RankVisit visit) {
    for (guint i = 0; i < replica->n_stages; i++) {
        StagePlan *stage = &replica->stages[i];
        for (guint rank = 0; rank < stage->tp; rank++)
            visit(inputs, replica, stage,
                  &nodes[platform_node_of(inputs->platform, stage->clusters[rank])]);
    }
}

static void count_rank(const BillInputs *inputs, const ReplicaPlan *replica, StagePlan *stage,
                       HostLoad *node) {
    (void)inputs;
    if (node->replica != replica)
        node->stages = 0;
    if (node->stage != stage)
        node->stages++;
    node->replica = replica;
    node->stage = stage;
    node->weight_bytes += stage->weight_bytes;
    node->streamed_bytes += stage->stream.bytes;
}

/* No more stages compute at once than there are micro-batches; the others read nothing. */
static void count_reader(const BillInputs *inputs, const ReplicaPlan *replica, StagePlan *stage,
                         HostLoad *node) {
    double moving = (double)policy_micro_batches(&inputs->policy->decode, replica->n_stages);
    if (stage->stream.bytes > 0)
        node->readers += MIN(1, moving / node->stages);
}

/* A stage goes as fast as the slowest of its ranks. */
static void slow_down(const BillInputs *inputs, const ReplicaPlan *replica, StagePlan *stage,
                      HostLoad *node) {
    (void)replica;
    const HostSpec *host = &inputs->platform->host;
    double bytes_per_s = inputs->policy->host_transfer == HOST_TRANSFER_PINNED
                             ? host->link_bytes_per_s
                             : host->pageable_bytes_per_s;
    if (stage->stream.bytes == 0)
        return;
    if (inputs->policy->offload == OFFLOAD_DISK)
        bytes_per_s = MIN(bytes_per_s, host->disk_bytes_per_s / node->readers);
    if (stage->stream.bytes_per_s == 0 || stage->stream.bytes_per_s > bytes_per_s)
        stage->stream.bytes_per_s = bytes_per_s;
}

static gboolean check_node(const BillInputs *inputs, const HostLoad *node, guint id,
                           const YamlNode *place, GError **error) {
    const Policy *policy = inputs->policy;
    double loading = (double)policy->staging_copies * node->weight_bytes;
    double kept = policy->offload == OFFLOAD_HOST ? node->streamed_bytes : 0;
    double memory_bytes = inputs->platform->host.memory_bytes;
    if (MAX(loading, kept) <= memory_bytes)
        return TRUE;
    g_autofree char *weights = memory_bill_bytes(node->weight_bytes);
    g_autofree char *streamed = memory_bill_bytes(kept);
    g_autofree char *asked = memory_bill_bytes(loading);
    g_autofree char *memory = memory_bill_bytes(memory_bytes);
    if (loading > memory_bytes)
        return yaml_error(policy_place(place, "staging_copies", NULL), INPUT_ERROR_CONFLICT, error,
                          "out of memory: loading holds %" G_GUINT64_FORMAT
                          " copies of the %s of weights of node %u, %s, and its host has %s",
                          policy->staging_copies, weights, id, asked, memory);
    return yaml_error(policy_place(place, "offload", NULL), INPUT_ERROR_CONFLICT, error,
                      "out of memory: node %u streams %s of weights from its host, which has %s",
                      id, streamed, memory);
}

gboolean weight_stream_complete(const BillInputs *inputs, Plan *plan, const YamlNode *place,
                                GError **error) {
    guint n_nodes = (guint)inputs->platform->nodes;
    g_autofree HostLoad *nodes = g_new0(HostLoad, n_nodes);
    if (inputs->platform->host.memory_bytes == 0)
        return TRUE;
    for (guint i = 0; i < plan->n_replicas; i++) {
        each_rank(inputs, &plan->replicas[i], nodes, count_rank);
        each_rank(inputs, &plan->replicas[i], nodes, count_reader);
    }
    for (guint i = 0; i < plan->n_replicas; i++)
        each_rank(inputs, &plan->replicas[i], nodes, slow_down);
    for (guint id = 0; id < n_nodes; id++)
        if (!check_node(inputs, &nodes[id], id, place, error))
            return FALSE;
    return TRUE;
}
