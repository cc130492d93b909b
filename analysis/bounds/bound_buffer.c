#include "analysis/bounds/bound_buffer.h"

/* What buffers on one processor can take in or give out, in bytes/s: through their ports, and from
 * or to neighbours there, which make or use KV no faster than they compute. */
typedef struct Neighbours {
    guint buffers;
    guint stages; /* of the role that makes or uses KV */
} Neighbours;

static guint stages_on(const Experiment *experiment, guint processor, ReplicaRole role) {
    const Plan *plan = experiment->plan;
    guint stages = 0;

    for (guint i = 0; i < plan->n_replicas; i++)
        for (guint s = 0; s < plan->replicas[i].n_stages && plan->replicas[i].role == role; s++)
            for (guint rank = 0; rank < plan->replicas[i].stages[s].tp; rank++)
                if (platform_processor_of(experiment->platform,
                                          plan->replicas[i].stages[s].clusters[rank]) ==
                    processor) {
                    stages++;
                    break;
                }
    return stages;
}

/* By processor; caller frees. */
static Neighbours *neighbours_of(const Experiment *experiment, ReplicaRole role) {
    const Platform *platform = experiment->platform;
    const Plan *plan = experiment->plan;
    guint processors = (guint)(platform->nodes * platform->processors_per_node);
    Neighbours *all = g_new0(Neighbours, processors);

    for (guint i = 0; i < plan->n_buffers; i++) {
        guint processor = platform_processor_of(platform, plan->buffers[i].cluster);
        if (all[processor].buffers++ == 0)
            all[processor].stages = stages_on(experiment, processor, role);
    }
    return all;
}

/* Bytes/s through ports, and from or to neighbours of which each handles 'each'. */
static void add_up(const Experiment *experiment, ReplicaRole role, double each, double *ports,
                   double *local) {
    const Platform *platform = experiment->platform;
    const NetworkSpec *network = &platform->network;
    g_autofree Neighbours *all = neighbours_of(experiment, role);

    *ports = *local = 0;
    for (guint64 p = 0; p < platform->nodes * platform->processors_per_node; p++) {
        *ports += all[p].buffers * network->port.bytes_per_s;
        if (all[p].stages > 0)
            *local += MIN(all[p].buffers * network->local.bytes_per_s, all[p].stages * each);
    }
}

/* Tokens · layers a second that a stage can make or use KV for, at the most. */
static double most_made(const BoundWork *work) {
    const Bounding *bounding = work->bounding;
    double most = 0;

    for (guint k = 0; k < bounding->prefill.n_kinds; k++)
        for (gsize i = 0; i < bounding->load->n; i++) {
            guint32 prompt = bounding->load->prompts[i];
            most = MAX(most, (double)prompt * work->prefill[k].stage->layers /
                                 bound_work_prompt(bounding, &work->prefill[k], prompt));
        }
    return most;
}

static double most_used(const BoundWork *work) {
    const Bounding *bounding = work->bounding;
    const BoundLoad *load = bounding->load;
    double most = 0;

    for (guint k = 0; k < bounding->decode.n_kinds; k++)
        for (gsize i = 0; i < load->n; i++) {
            if (load->outputs[i] == 1)
                continue;
            double work_s =
                bound_work_answer(&work->decode[k], load->outputs[i], work->alone[i].attention_s);
            most = MAX(most, (double)load->prompts[i] * work->decode[k].stage->layers / work_s);
        }
    return most;
}

void bound_buffer_fill(BoundBuffer *buffer, const BoundWork *work) {
    const Experiment *experiment = work->bounding->experiment;
    double layer_bytes = (double)model_kv_bytes_per_token_layer(experiment->model);
    double token_bytes = (double)model_kv_bytes_per_token(experiment->model);
    double buffers = experiment->plan->n_buffers, ports, local;

    *buffer = (BoundBuffer){.out_ports = 1};
    if (work->bounding->colocated || buffers <= 0)
        return;
    buffer->memory_s = token_bytes / (buffers * experiment->platform->cluster.ddr_bytes_per_s);
    add_up(experiment, ROLE_PREFILL, most_made(work) * layer_bytes, &ports, &local);
    buffer->in_s = token_bytes / (ports + local);
    add_up(experiment, ROLE_DECODE, most_used(work) * layer_bytes, &ports, &local);
    buffer->out_s = token_bytes / (ports + local);
    buffer->out_ports = ports / (ports + local);
}
