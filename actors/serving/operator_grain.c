/* A step operator by operator: launches, blocks of multiply-accumulates beside their transfers, and
 * every message of every all-reduce. One rank stands for its TP group in computing, which is the
 * same on all of them; messages are sent by all. */
#include "actors/cluster/op_run.h"
#include "actors/serving/serving.h"

#include "platforms/network.h"
#include "platforms/topology.h"

static void pass(double seconds) {
    if (seconds > 0)
        engine_sleep_until(engine_now() + seconds);
}

static double longest_hop_latency(const Stage *stage) {
    const Platform *platform = stage->replica->simulation->setup.platform;
    const StagePlan *plan = stage->plan;
    double longest = 0;
    for (guint rank = 0; rank < plan->tp; rank++)
        longest = MAX(longest, network_latency(platform, plan->clusters[rank],
                                               plan->clusters[(rank + 1) % plan->tp]));
    return longest;
}

/* 2(n−1) rounds in which every rank sends an n-th of the vector to the next. */
static void run_all_reduce(Stage *stage, const Op *op) {
    Ledger *ledger = stage->replica->simulation->ledger;
    const Platform *platform = stage->replica->simulation->setup.platform;
    const StagePlan *plan = stage->plan;
    guint tp = plan->tp;
    double latency_s = longest_hop_latency(stage), start_s = engine_now();
    guint64 bytes = (guint64)(op->bytes_out / tp + 0.5);
    g_autofree EngineTransfer **messages = g_new(EngineTransfer *, tp);
    double least_s = network_all_reduce_send_seconds(platform, op->bytes_out / tp);
    pass(platform->network.all_reduce.latency_s);
    for (guint round = 0; round < 2 * (tp - 1); round++) {
        pass(latency_s);
        double begin_s = engine_now();
        for (guint rank = 0; rank < tp; rank++)
            messages[rank] =
                engine_transfer_begin(topology_host(plan->clusters[rank]),
                                      topology_host(plan->clusters[(rank + 1) % tp]), bytes);
        for (guint rank = 0; rank < tp; rank++)
            engine_transfer_wait(messages[rank]);
        pass(begin_s + least_s - engine_now());
        ledger->bytes_sent[PURPOSE_ALL_REDUCE] += (double)(bytes * tp);
        ledger->bytes_received[PURPOSE_ALL_REDUCE] += (double)(bytes * tp);
    }
    ledger->transfers[PURPOSE_ALL_REDUCE]++;
    stage->totals->all_reduce_s += engine_now() - start_s;
}

/* Whatever has a table of costs has run on a cluster before, so it has room. */
static void run_op(Stage *stage, const Op *op) {
    g_autoptr(GError) error = NULL;
    if (op->kind == OP_ALL_REDUCE)
        run_all_reduce(stage, op);
    else if (!op_run(stage->cluster, &stage->replica->simulation->device, op, &error))
        g_error("%s", error->message);
}

static void run_graph(Stage *stage, OpGraph *graph) {
    const DeviceModel *device = &stage->replica->simulation->device;
    for (guint i = 0; i < graph->units->len; i++) {
        const FusionUnit *unit = &g_array_index(graph->units, FusionUnit, i);
        for (guint64 n = device->class->unit_launches(device, unit); n > 0; n--)
            cluster_launch(stage->cluster);
        for (gsize j = 0; j < unit->n_ops; j++)
            run_op(stage, &unit->ops[j]);
    }
}

static void run_layers(Stage *stage, const Step *step, OpGraph *layer) {
    for (guint i = 0; i < stage->plan->layers; i++) {
        run_graph(stage, layer);
        if (stage->replica->plan->role == ROLE_PREFILL)
            for (guint c = 0; c < step->chunks->len; c++)
                buffer_migrate_layer(stage, &g_array_index(step->chunks, Chunk, c), i);
    }
}

void operator_grain_run(Stage *stage, const Step *step) {
    const Model *model = stage->replica->simulation->setup.model;
    const DeviceModel *device = &stage->replica->simulation->device;
    BatchShape shape = stage_batch_shape(stage, step);
    guint tp = stage->plan->tp;
    if (stage->index == 0) {
        g_autoptr(OpGraph) embedding = op_graph_embedding(model, &shape);
        run_graph(stage, embedding);
    }
    g_autoptr(OpGraph) layer = device_layer(device, model, &shape, tp);
    run_layers(stage, step, layer);
    if (stage->index + 1 == stage->replica->plan->n_stages) {
        g_autoptr(OpGraph) head = device_head(device, model, &shape, tp);
        run_graph(stage, head);
    }
}
