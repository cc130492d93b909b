/* What counts as off-chip traffic:
 *   - every weight of an operator is read once a step, whatever the batch (a norm's gain too);
 *   - operands and results as the units say; alone, an operator reads and writes all of its own;
 *   - ATTENTION reads its queries and writes its outputs, and reads K and V of the whole context
 *     once; the new K and V were written before;
 *   - EMBEDDING reads one row a token and writes it. */
#include "workloads/op_graph.h"

#include "workloads/op_list.h"

static const char *const kind_names[N_OP_KINDS] = {
    [OP_EMBEDDING] = "embedding",
    [OP_NORM] = "norm",
    [OP_LINEAR] = "linear",
    [OP_ROPE] = "rope",
    [OP_ATTENTION] = "attention",
    [OP_ACTIVATION] = "activation",
    [OP_ADD] = "add",
    [OP_ALL_REDUCE] = "all_reduce",
    [OP_MATMUL] = "matmul",
    [OP_SCALE] = "scale",
    [OP_MASK] = "mask",
    [OP_SOFTMAX] = "softmax",
    [OP_SILU] = "silu",
    [OP_MUL] = "mul",
};

const char *op_kind_name(OpKind kind) {
    g_assert((guint)kind < N_OP_KINDS);
    return kind_names[kind];
}

/* The share of one of 'parts' ranks, rounded up. */
static guint64 share_of(guint64 whole, guint parts) {
    return (whole + parts - 1) / parts;
}

static double bytes_of(double elements, DataType type) {
    return elements * data_type_bytes(type);
}

Op op_linear(const char *name, guint64 m, guint64 n, guint64 k, DataType type) {
    double rows = (double)m, outputs = (double)n, inputs = (double)k;
    return (Op){.kind = OP_LINEAR,
                .name = name,
                .m = m,
                .n = n,
                .k = k,
                .data_type = type,
                .macs = rows * outputs * inputs,
                .weight_bytes = bytes_of(inputs * outputs, type),
                .bytes_in = bytes_of(rows * inputs, type),
                .bytes_out = bytes_of(rows * outputs, type)};
}

Op op_attention(const Model *model, Segment segment, guint tp) {
    g_assert(segment.new_tokens > 0 && tp > 0);
    guint64 heads = share_of(model->heads, tp), kv_heads = share_of(model->kv_heads, tp);
    double fresh = segment.new_tokens, past = segment.past_tokens;
    double query_width = (double)(heads * model->head_dim);
    double kv_width = (double)(kv_heads * model->head_dim);
    /* Query i of the new ones sees past + i keys (causal mask), i = 1 … new. */
    double query_key_pairs = fresh * past + fresh * (fresh + 1.0) / 2.0;
    return (Op){.kind = OP_ATTENTION,
                .name = "attention",
                .m = segment.new_tokens,
                .n = (guint64)segment.past_tokens + segment.new_tokens,
                .k = model->head_dim,
                .heads = heads,
                .kv_heads = kv_heads,
                .data_type = model->data_type,
                .macs = 2.0 * query_width * query_key_pairs, /* Q·Kᵀ and P·V */
                .bytes_in = bytes_of(fresh * query_width + 2.0 * (past + fresh) * kv_width,
                                     model->data_type),
                .bytes_out = bytes_of(fresh * query_width, model->data_type)};
}

#define SCORE_PASSES 4 /* written by scores, scale, mask and softmax; read by those behind them */

Op op_attention_apart(const Model *model, Segment segment, guint tp) {
    Op op = op_attention(model, segment, tp);
    double scores = (double)op.heads * (double)op.m * (double)op.n;
    op.apart = TRUE;
    op.bytes_in += bytes_of(SCORE_PASSES * scores, op.data_type);
    op.bytes_out += bytes_of(SCORE_PASSES * scores, op.data_type);
    return op;
}

FusionUnit op_graph_attention(const ModelUnits *units, Segment segment, Op *op) {
    guint64 context = (guint64)segment.past_tokens + segment.new_tokens;
    *op = context > units->most_fused_contexts
              ? op_attention_apart(units->model, segment, units->tp)
              : op_attention(units->model, segment, units->tp);
    return (FusionUnit){.ops = op, .n_ops = 1, .launches = op->heads};
}

static OpGraph *graph_new(gsize reserved_ops) {
    OpGraph *graph = g_new0(OpGraph, 1);
    graph->ops = g_array_sized_new(FALSE, FALSE, sizeof(Op), (guint)reserved_ops);
    graph->units = g_array_new(FALSE, FALSE, sizeof(FusionUnit));
    return graph;
}

void op_graph_free(OpGraph *graph) {
    if (!graph)
        return;
    g_array_unref(graph->ops);
    g_array_unref(graph->units);
    g_free(graph);
}

static void begin_unit(OpGraph *graph, guint64 launches) {
    FusionUnit unit = {.launches = launches, .unified_launches = graph->units->len == 0 ? 1 : 0};
    g_array_append_val(graph->units, unit);
}

/* A norm begins each half of a layer, and with it the launch that the half's kernels share. */
static void push(OpGraph *graph, Op op) {
    FusionUnit *unit = &g_array_index(graph->units, FusionUnit, graph->units->len - 1);
    g_array_append_val(graph->ops, op);
    unit->n_ops++;
    if (op.kind == OP_NORM)
        unit->unified_launches = 1;
}

/* Points the units at their operators, which lie one after another and move no more. */
static OpGraph *finish(OpGraph *graph) {
    Op *next = (Op *)(void *)graph->ops->data;
    for (guint i = 0; i < graph->units->len; i++) {
        FusionUnit *unit = &g_array_index(graph->units, FusionUnit, i);
        unit->ops = next;
        next += unit->n_ops;
    }
    return graph;
}

static guint64 batch_tokens(const BatchShape *batch) {
    guint64 tokens = 0;
    for (gsize i = 0; i < batch->n_segments; i++)
        tokens += batch->segments[i].new_tokens;
    return tokens;
}

/* Without requests, no attention. */
static void push_attention(OpGraph *graph, const ModelUnits *units, const BatchShape *batch) {
    for (gsize i = 0; i < batch->n_segments; i++) {
        if (batch->segments[i].new_tokens == 0)
            continue;
        Op op;
        FusionUnit unit = op_graph_attention(units, batch->segments[i], &op);
        begin_unit(graph, unit.launches);
        push(graph, op);
    }
}

static Op op_in_unit(const OpList *list, const UnitOp *place) {
    Op op = op_list_get(list, place->op)->op;
    const Operand *operands = op_list_operands(list, place->op);
    op.bytes_in = 0.0;
    for (guint i = 0; i < op_list_get(list, place->op)->n_operands; i++)
        op.bytes_in += (place->read >> i & 1) != 0 ? operands[i].bytes : 0.0;
    if (!place->written)
        op.bytes_out = 0.0;
    return op;
}

/* The operators of 'list' in the units of 'places', attention for the requests of 'batch'. */
static OpGraph *graph_of(const ModelUnits *units, const OpUnits *places, const OpList *list,
                         const BatchShape *batch) {
    OpGraph *graph = graph_new(places->ops->len + batch->n_segments);
    for (guint i = 0; i < places->ops->len; i++) {
        const UnitOp *place = &g_array_index(places->ops, UnitOp, i);
        const ListedOp *listed = op_list_get(list, place->op);
        if (listed->op.heads > 0) {
            push_attention(graph, units, batch);
            continue;
        }
        if (place->begins_unit)
            begin_unit(graph, listed->on_network ? 0 : 1);
        push(graph, op_in_unit(list, place));
    }
    return finish(graph);
}

static OpGraph *layer_of(const ModelUnits *units, guint64 tokens, const BatchShape *attending) {
    g_assert(tokens <= G_MAXUINT32);
    if (tokens == 0)
        return graph_new(0);
    Segment all = {.new_tokens = (guint32)tokens};
    BatchShape one = {.segments = &all, .n_segments = 1};
    g_autoptr(OpList) list = op_list_layer(units->model, &one, units->tp);
    return graph_of(units, op_units_for(units->layer, tokens), list, attending);
}

OpGraph *op_graph_layer(const ModelUnits *units, const BatchShape *batch) {
    return layer_of(units, batch_tokens(batch), batch);
}

OpGraph *op_graph_layer_shared(const ModelUnits *units, guint64 tokens) {
    static const BatchShape nobody = {0};
    return layer_of(units, tokens, &nobody);
}

OpGraph *op_graph_head(const ModelUnits *units, const BatchShape *batch) {
    static const BatchShape nobody = {0};
    if (batch->sampled == 0)
        return graph_new(0);
    g_autoptr(OpList) list = op_list_head(units->model, batch->sampled, units->tp);
    return graph_of(units, op_units_for(units->head, batch->sampled), list, &nobody);
}

/* The table is not split: every rank looks up every token, so that no exchange follows. */
OpGraph *op_graph_embedding(const Model *model, const BatchShape *batch) {
    guint64 tokens = batch_tokens(batch);
    OpGraph *graph = graph_new(1);
    if (tokens > 0) {
        double bytes = bytes_of((double)tokens * (double)model->hidden, model->data_type);
        begin_unit(graph, 1);
        push(graph, (Op){.kind = OP_EMBEDDING,
                         .name = kind_names[OP_EMBEDDING],
                         .m = tokens,
                         .n = model->hidden,
                         .data_type = model->data_type,
                         .bytes_in = bytes,
                         .bytes_out = bytes});
    }
    return finish(graph);
}
