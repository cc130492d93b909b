#include "platforms/step_cost.h"

/* Costs by row count up to this many are remembered; a step with more is computed afresh, so that
 * memory does not grow with the longest prompt. */
#define REMEMBERED_ROWS 8192
#define UNKNOWN (-1.0) /* seconds of a cost not computed yet */

/* y = fixed + slope · context */
typedef struct Line {
    double fixed, slope;
} Line;

struct StepCost {
    const DeviceModel *device;
    const Model *model;
    StageShape shape;
    GArray *shared; /* UnitCost by tokens: embedding and all layers without attention */
    GArray *head;   /* UnitCost by sampled rows */
    GArray *decode; /* double by batch: seconds of a decode step without attention */
    /* Attention of one decoding request in all layers lasts the longer of the two. For a batch the
     * longer of the two sums is the sum of the longer ones as long as the same one is longer for
     * every request: memory on an MT-3000 (its DDR feeds 1 MAC where its DSPs do hundreds). */
    Line attention_compute_s, attention_memory_s;
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
    g_autoptr(OpGraph) layer = op_graph_layer_shared(cost->model, tokens, cost->shape.tp);
    UnitCost sum = scaled(graph_cost(cost->device, layer), cost->shape.layers);
    if (!cost->shape.first)
        return sum;
    Segment all = {.new_tokens = tokens};
    BatchShape batch = {.segments = &all, .n_segments = 1};
    g_autoptr(OpGraph) embedding = op_graph_embedding(cost->model, &batch, cost->shape.tp);
    UnitCost embedding_cost = graph_cost(cost->device, embedding);
    unit_cost_add(&sum, &embedding_cost);
    return sum;
}

static UnitCost compute_head(const StepCost *cost, guint32 sampled) {
    if (!cost->shape.last)
        return (UnitCost){0};
    BatchShape batch = {.sampled = sampled};
    g_autoptr(OpGraph) head = op_graph_head(cost->model, &batch, cost->shape.tp);
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
    Op op = op_attention(cost->model, segment, cost->shape.tp);
    return cost->device->class->op_cost(cost->device, &op);
}

static Line line_through(double x0, double y0, double x1, double y1) {
    double slope = (y1 - y0) / (x1 - x0);
    return (Line){.fixed = y0 - slope * x0, .slope = slope};
}

/* Both parts of a decode step's attention are linear in the context: two points tell them. */
static void find_attention_lines(StepCost *cost) {
    const guint32 near_past = 0, far_past = 65535;
    UnitCost near_cost = scaled(attention_cost(cost, (Segment){1, near_past}), cost->shape.layers);
    UnitCost far_cost = scaled(attention_cost(cost, (Segment){1, far_past}), cost->shape.layers);
    double x0 = near_past + 1.0, x1 = far_past + 1.0;
    cost->attention_compute_s = line_through(x0, near_cost.compute_s, x1, far_cost.compute_s);
    cost->attention_memory_s = line_through(x0, near_cost.memory_s, x1, far_cost.memory_s);
}

StepCost *step_cost_new(const DeviceModel *device, const Model *model, StageShape shape) {
    g_assert(shape.tp > 0);
    StepCost *cost = g_new0(StepCost, 1);
    *cost = (StepCost){.device = device, .model = model, .shape = shape};
    cost->shared = g_array_new(FALSE, FALSE, sizeof(UnitCost));
    cost->head = g_array_new(FALSE, FALSE, sizeof(UnitCost));
    cost->decode = g_array_new(FALSE, FALSE, sizeof(double));
    find_attention_lines(cost);
    return cost;
}

void step_cost_free(StepCost *cost) {
    if (!cost)
        return;
    g_array_unref(cost->shared);
    g_array_unref(cost->head);
    g_array_unref(cost->decode);
    g_free(cost);
}

StageShape step_cost_shape(const StepCost *cost) {
    return cost->shape;
}

UnitCost step_cost_batch(StepCost *cost, const BatchShape *batch) {
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
    return sum;
}

static double compute_decode(StepCost *cost, guint32 batch) {
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

static double on_line(Line line, guint32 batch, guint64 contexts) {
    return line.fixed * batch + line.slope * (double)contexts;
}

double step_cost_decode_seconds(StepCost *cost, guint32 batch, guint64 contexts) {
    if (batch >= cost->decode->len)
        know_decode(cost, batch);
    double *shared_s = &g_array_index(cost->decode, double, batch);
    if (G_UNLIKELY(*shared_s < 0.0))
        *shared_s = compute_decode(cost, batch);
    double compute_s = on_line(cost->attention_compute_s, batch, contexts);
    double memory_s = on_line(cost->attention_memory_s, batch, contexts);
    return *shared_s + MAX(compute_s, memory_s);
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
