#include "platforms/step_cost.h"

#include <math.h>

/* Costs by row count up to this many are remembered; a step with more is computed afresh, so that
 * memory does not grow with the longest prompt. */
#define REMEMBERED_ROWS 8192
#define UNKNOWN (-1.0) /* seconds of a cost not computed yet */

struct StepCost {
    const DeviceModel *device;
    const Model *model;
    const ModelUnits *units; /* of the model on the stage's ranks */
    StageShape shape;
    GArray *shared;    /* UnitCost by tokens: embedding and all layers without attention */
    GArray *head;      /* UnitCost by sampled rows */
    GArray *decode;    /* double by batch: seconds of a decode step without attention */
    GArray *attention; /* double by context, or key on a wafer: seconds of one decoding request in
                          all layers; not a number where not met yet */
};

static UnitCost scaled(UnitCost cost, double factor) {
    return (UnitCost){.seconds = cost.seconds * factor,
                      .compute_s = cost.compute_s * factor,
                      .memory_s = cost.memory_s * factor,
                      .launch_s = cost.launch_s * factor,
                      .macs = cost.macs * factor,
                      .memory_bytes = cost.memory_bytes * factor,
                      .joules = cost.joules * factor};
}

static UnitCost graph_cost(const DeviceModel *device, const OpGraph *graph) {
    UnitCost sum = {0};
    for (guint i = 0; i < graph->units->len; i++) {
        const FusionUnit *unit = &g_array_index(graph->units, FusionUnit, i);
        UnitCost cost = device->class->unit_cost(device, unit);
        unit_cost_add(&sum, &cost);
    }
    return sum;
}

static UnitCost compute_shared(const StepCost *cost, guint32 tokens) {
    g_autoptr(OpGraph) layer =
        device_layer_shared(cost->device, cost->model, tokens, cost->shape.tp);
    UnitCost one = graph_cost(cost->device, layer);
    UnitCost besides = device_layer_cost(cost->device);
    unit_cost_add(&one, &besides);
    UnitCost sum = scaled(one, cost->shape.layers);
    if (!cost->shape.first)
        return sum;
    Segment all = {.new_tokens = tokens};
    BatchShape batch = {.segments = &all, .n_segments = 1};
    g_autoptr(OpGraph) embedding = op_graph_embedding(cost->model, &batch);
    UnitCost embedding_cost = graph_cost(cost->device, embedding);
    unit_cost_add(&sum, &embedding_cost);
    return sum;
}

static UnitCost compute_head(const StepCost *cost, guint32 sampled) {
    if (!cost->shape.last)
        return (UnitCost){0};
    BatchShape batch = {.sampled = sampled};
    g_autoptr(OpGraph) head = device_head(cost->device, cost->model, &batch, cost->shape.tp);
    return graph_cost(cost->device, head);
}

typedef UnitCost (*RowCost)(const StepCost *cost, guint32 rows);

/* The cost for 'rows' from 'memo', computed when it is met first. */
static UnitCost remembered(const StepCost *cost, GArray *memo, guint32 rows, RowCost compute) {
    if (rows > REMEMBERED_ROWS)
        return compute(cost, rows);
    while (memo->len <= rows) {
        UnitCost unknown = {.seconds = UNKNOWN};
        g_array_append_val(memo, unknown);
    }
    UnitCost *entry = &g_array_index(memo, UnitCost, rows);
    if (entry->seconds < 0.0)
        *entry = compute(cost, rows);
    return *entry;
}

static UnitCost attention_cost(const StepCost *cost, Segment segment) {
    return device_attention(cost->device, cost->units, segment);
}

StepCost *step_cost_new(const DeviceModel *device, const Model *model, StageShape shape) {
    g_assert(shape.tp > 0);
    StepCost *cost = g_new0(StepCost, 1);
    *cost = (StepCost){
        .device = device,
        .model = model,
        .units = device->wafer != NULL ? NULL : op_costs_units(device->costs, model, shape.tp),
        .shape = shape};
    cost->shared = g_array_new(FALSE, FALSE, sizeof(UnitCost));
    cost->head = g_array_new(FALSE, FALSE, sizeof(UnitCost));
    cost->decode = g_array_new(FALSE, FALSE, sizeof(double));
    cost->attention = g_array_new(FALSE, FALSE, sizeof(double));
    return cost;
}

void step_cost_free(StepCost *cost) {
    if (!cost)
        return;
    g_array_unref(cost->shared);
    g_array_unref(cost->head);
    g_array_unref(cost->decode);
    g_array_unref(cost->attention);
    g_free(cost);
}

StageShape step_cost_shape(const StepCost *cost) {
    return cost->shape;
}

/* Seconds of a prompt's step, which is all of it. Joules: busy power · time. */
static UnitCost wafer_prompt_cost(const StepCost *cost, Segment segment) {
    double seconds = wafer_times_seconds(cost->device->wafer, WAFER_PREFILL, segment.new_tokens);
    const PowerSpec *power = &cost->device->platform->power;
    double joules = seconds * (power->cluster_busy_watts - power->cluster_idle_watts);

    g_assert(segment.past_tokens == 0);
    return (UnitCost){.seconds = seconds, .compute_s = seconds, .joules = joules};
}

gboolean step_cost_has_phases(const StepCost *cost) {
    return cost->device->wafer != NULL;
}

double step_cost_transition_seconds(const StepCost *cost, guint32 tokens) {
    return wafer_times_seconds(cost->device->wafer, WAFER_TRANSITION, tokens);
}

guint32 step_cost_decode_key(const StepCost *cost, guint32 prompt, guint32 context) {
    return wafer_times_decode_key(cost->device->wafer, prompt, context);
}

/* A step that computes for 'seconds', with the weights that it has to wait for. */
static double with_stream(const StepCost *cost, double seconds) {
    const StageShape *shape = &cost->shape;
    return shape->stream_overlaps ? MAX(seconds, shape->stream_s) : seconds + shape->stream_s;
}

UnitCost step_cost_batch(StepCost *cost, const BatchShape *batch) {
    if (step_cost_has_phases(cost)) {
        g_assert(batch->n_segments == 1);
        return wafer_prompt_cost(cost, batch->segments[0]);
    }
    guint64 tokens = 0;
    UnitCost attention = {0};
    for (gsize i = 0; i < batch->n_segments; i++) {
        UnitCost term = attention_cost(cost, batch->segments[i]);
        unit_cost_add(&attention, &term);
        tokens += batch->segments[i].new_tokens;
    }
    g_assert(tokens <= G_MAXUINT32);
    UnitCost sum = scaled(attention, cost->shape.layers);
    UnitCost shared = remembered(cost, cost->shared, (guint32)tokens, compute_shared);
    UnitCost head = remembered(cost, cost->head, batch->sampled, compute_head);
    unit_cost_add(&sum, &shared);
    unit_cost_add(&sum, &head);
    double seconds = with_stream(cost, sum.seconds);
    sum.joules += device_joules(cost->device->platform, seconds - sum.seconds);
    sum.seconds = seconds;
    return sum;
}

static double compute_decode(StepCost *cost, guint32 batch) {
    if (step_cost_has_phases(cost))
        return 0; /* on a wafer a request's part of a step is all of it */
    return remembered(cost, cost->shared, batch, compute_shared).seconds +
           remembered(cost, cost->head, batch, compute_head).seconds;
}

/* Extends the table of decode steps to 'batch', at least doubling it. */
static void know_decode(StepCost *cost, guint32 batch) {
    guint len = MAX(MAX(batch + 1, 2 * cost->decode->len), 64);
    while (cost->decode->len < len) {
        double seconds = UNKNOWN;
        g_array_append_val(cost->decode, seconds);
    }
}

/* Extends the table of contexts to 'context', at least doubling it, and computes its entry. */
static void know_attention(StepCost *cost, guint32 context) {
    guint len = MAX(MAX(context + 1, 2 * cost->attention->len), 1024);
    double unknown = NAN;
    if (context >= cost->attention->len)
        while (cost->attention->len < len)
            g_array_append_val(cost->attention, unknown);
    double *seconds = &g_array_index(cost->attention, double, context);
    if (isnan(*seconds))
        *seconds =
            step_cost_has_phases(cost)
                ? wafer_times_decode_seconds(cost->device->wafer, context)
                : attention_cost(cost, (Segment){1, context - 1}).seconds * cost->shape.layers;
}

#define LANES 4 /* sums that do not wait for each other */

/* The sum over contexts[i] + further; not a number when one of them is not known yet. */
static double sum_known(const StepCost *cost, const guint32 *contexts, guint n, guint32 further) {
    const double *known = (const double *)(const void *)cost->attention->data;
    guint len = cost->attention->len, i = 0;
    double sums[LANES] = {0};
    for (; i + LANES <= n; i += LANES)
        for (guint lane = 0; lane < LANES; lane++) {
            guint32 context = contexts[i + lane] + further;
            sums[lane] += G_LIKELY(context < len) ? known[context] : NAN;
        }
    for (guint lane = 0; i < n; i++, lane++) {
        guint32 context = contexts[i] + further;
        sums[lane] += context < len ? known[context] : NAN;
    }
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

double step_cost_decode_seconds(StepCost *cost, const guint32 *contexts, guint batch,
                                guint32 further) {
    double attention_s = sum_known(cost, contexts, batch, further);
    if (G_UNLIKELY(isnan(attention_s))) {
        for (guint i = 0; i < batch; i++)
            know_attention(cost, contexts[i] + further);
        attention_s = sum_known(cost, contexts, batch, further);
    }
    if (batch >= cost->decode->len)
        know_decode(cost, batch);
    double *shared_s = &g_array_index(cost->decode, double, batch);
    if (G_UNLIKELY(*shared_s < 0.0))
        *shared_s = compute_decode(cost, batch);
    return with_stream(cost, *shared_s + attention_s);
}

double step_cost_head_seconds(StepCost *cost, guint32 sampled) {
    return remembered(cost, cost->head, sampled, compute_head).seconds;
}

double step_cost_all_reduce_bytes(const StepCost *cost, guint32 tokens) {
    return (double)tokens * (double)cost->model->hidden * data_type_bytes(cost->model->data_type);
}

guint step_cost_all_reduces(const StepCost *cost) {
    return cost->shape.tp > 1 ? 2 * cost->shape.layers : 0;
}
