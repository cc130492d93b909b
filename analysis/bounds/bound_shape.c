#include "analysis/bounds/bound_shape.h"

#include "platforms/network.h"
#include <math.h>

/* What a replica adds to the least of all of its role. */
static void stage_look(BoundStage *stage, const StagePlan *plan, const Experiment *experiment) {
    const Model *model = experiment->model;
    double fixed_s = 0, per_byte_s = 0;
    guint rounds = plan->tp > 1 ? 2 * plan->layers : 0;

    if (rounds > 0)
        network_ring_all_reduce_line(experiment->platform, plan->clusters, plan->tp, &fixed_s,
                                     &per_byte_s);
    double row_bytes = (double)model->hidden * data_type_bytes(model->data_type);
    stage->layers = plan->layers;
    stage->ring_fixed_s = MIN(stage->ring_fixed_s, rounds * fixed_s);
    stage->ring_row_s = MIN(stage->ring_row_s, rounds * per_byte_s * row_bytes);
}

static void hops_look(BoundShape *shape, const ReplicaPlan *replica, const Experiment *experiment) {
    const Model *model = experiment->model;
    const Platform *platform = experiment->platform;
    const StagePlan *stages = replica->stages;
    double row_bytes = (double)model->hidden * data_type_bytes(model->data_type);
    double fixed_s = 0, row_s = 0, return_s = 0;

    for (guint i = 0; i + 1 < replica->n_stages; i++) {
        guint from = stages[i].clusters[0], to = stages[i + 1].clusters[0];
        fixed_s += network_latency(platform, from, to);
        row_s += row_bytes / network_bandwidth(platform, from, to);
    }
    if (replica->n_stages > 1)
        return_s = network_latency(platform, stages[replica->n_stages - 1].clusters[0],
                                   stages[0].clusters[0]);
    shape->hops_fixed_s = MIN(shape->hops_fixed_s, fixed_s);
    shape->hops_row_s = MIN(shape->hops_row_s, row_s);
    shape->return_s = MIN(shape->return_s, return_s);
}

/* KV is pulled in one flow to each processor of a TP group, by its ranks there. */
static double largest_share(const StagePlan *stage, const Platform *platform) {
    guint most = 0;

    for (guint first = 0, next; first < stage->tp; first = next) {
        guint processor = platform_processor_of(platform, stage->clusters[first]);
        for (next = first + 1; next < stage->tp; next++)
            if (platform_processor_of(platform, stage->clusters[next]) != processor)
                break;
        most = MAX(most, next - first);
    }
    return (double)most / stage->tp;
}

static void replica_look(BoundShape *shape, BoundStage *stages, const ReplicaPlan *replica,
                         const Experiment *experiment) {
    for (guint s = 0; s < replica->n_stages; s++) {
        stage_look(&stages[s], &replica->stages[s], experiment);
        shape->pull_share =
            MIN(shape->pull_share, largest_share(&replica->stages[s], experiment->platform));
        shape->pull_layers = MAX(shape->pull_layers, replica->stages[s].layers);
    }
    hops_look(shape, replica, experiment);
    shape->kv_tokens = MAX(shape->kv_tokens, replica->kv_tokens);
    shape->replicas++;
}

static gboolean same_kind(const BoundStage *a, const BoundStage *b) {
    return a->layers == b->layers && a->first == b->first && a->last == b->last &&
           a->ring_fixed_s == b->ring_fixed_s && a->ring_row_s == b->ring_row_s;
}

static void add_stage(BoundShape *shape, const BoundStage *stage) {
    BoundStage *whole = &shape->whole;
    guint kind = 0;

    whole->layers += stage->layers;
    whole->ring_fixed_s += stage->ring_fixed_s;
    whole->ring_row_s += stage->ring_row_s;
    while (kind < shape->n_kinds && !same_kind(&shape->kinds[kind], stage))
        kind++;
    if (kind == shape->n_kinds)
        shape->kinds[shape->n_kinds++] = *stage;
    shape->kinds[kind].count++;
}

/* NULL when there is none of the role. */
static const ReplicaPlan *one_of(const Plan *plan, ReplicaRole role) {
    for (guint i = 0; i < plan->n_replicas; i++)
        if (plan->replicas[i].role == role)
            return &plan->replicas[i];
    return NULL;
}

void bound_shape_init(BoundShape *shape, const Experiment *experiment, ReplicaRole role,
                      BoundRates *rates, const DeviceModel *device) {
    const Plan *plan = experiment->plan;
    const ReplicaPlan *one = one_of(plan, role);

    *shape = (BoundShape){.hops_fixed_s = INFINITY,
                          .hops_row_s = INFINITY,
                          .return_s = INFINITY,
                          .pull_share = 1,
                          .whole = {.count = 1, .first = TRUE, .last = TRUE}};
    if (one == NULL)
        return;
    g_autofree BoundStage *stages = g_new0(BoundStage, one->n_stages);
    for (guint s = 0; s < one->n_stages; s++)
        stages[s] = (BoundStage){.first = s == 0,
                                 .last = s + 1 == one->n_stages,
                                 .ring_fixed_s = INFINITY,
                                 .ring_row_s = INFINITY};
    shape->n_stages = one->n_stages;
    shape->micro_batches = policy_micro_batches(&experiment->policy->decode, one->n_stages);
    shape->tp = one->stages[0].tp;
    shape->rates = bound_rates_of(rates, device, experiment->model, shape->tp);
    for (guint i = 0; i < plan->n_replicas; i++)
        if (plan->replicas[i].role == role)
            replica_look(shape, stages, &plan->replicas[i], experiment);
    shape->kinds = g_new0(BoundStage, one->n_stages);
    for (guint s = 0; s < one->n_stages; s++)
        add_stage(shape, &stages[s]);
}

void bound_shape_clear(BoundShape *shape) {
    g_clear_pointer(&shape->kinds, g_free);
}

double bound_shape_step(const BoundShape *shape, const BoundStage *stage, guint32 rows,
                        guint32 sampled) {
    double seconds = stage->layers * tp_rates_layer(shape->rates, rows) + stage->ring_fixed_s +
                     rows * stage->ring_row_s;

    if (stage->first)
        seconds += tp_rates_embedding(shape->rates, rows);
    if (stage->last && sampled > 0)
        seconds += tp_rates_head(shape->rates, sampled);
    return seconds;
}

/* Each part at its own best: no step can be better in all of them. */
double bound_shape_row(const BoundShape *shape, const BoundStage *stage, guint64 rows) {
    double seconds = stage->layers * tp_rates_least_layer(shape->rates, rows) + stage->ring_row_s +
                     stage->ring_fixed_s / (double)rows;

    return stage->first ? seconds + tp_rates_least_embedding(shape->rates, rows) : seconds;
}

double bound_shape_sampled(const BoundShape *shape, const BoundStage *stage, guint64 sampled) {
    double least = INFINITY;

    if (!stage->last || sampled == 0 || sampled > BOUND_ROWS_MAX)
        return 0;
    for (guint32 rows = 1; rows <= sampled; rows++)
        least = MIN(least, tp_rates_head(shape->rates, rows) / rows);
    return least;
}

double bound_shape_decode_row(const BoundShape *shape, const BoundStage *stage) {
    double least = INFINITY;

    for (guint32 batch = 1; batch <= shape->batch; batch++)
        least = MIN(least, bound_shape_step(shape, stage, batch, batch) / batch);
    return least;
}

double bound_shape_decode_cycle(const BoundShape *shape, guint32 batch) {
    return bound_shape_step(shape, &shape->whole, batch, batch) + shape->hops_fixed_s +
           shape->return_s + batch * shape->hops_row_s;
}
