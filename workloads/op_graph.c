/* What counts as off-chip traffic:
 *   - every weight of an operator is read once a step, whatever the batch (a norm's gain too);
 *   - LINEAR reads its input X[m×k] and writes its output Y[m×n];
 *   - ATTENTION reads its queries and writes its outputs, and reads K and V of the whole context
 *     once; the new K and V were written as part of the QKV projection's Y;
 *   - norm, RoPE, activation and residual are fused into their linear neighbours: their activations
 *     never leave the chip, and their arithmetic is not counted as multiply-accumulates;
 *   - EMBEDDING reads one row a token and writes it. */
#include "workloads/op_graph_build.h"

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

static Op add_bias(Op linear, gboolean has_bias) {
    if (has_bias)
        linear.weight_bytes += bytes_of((double)linear.n, linear.data_type);
    return linear;
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

/* An operator fused into its neighbours: m rows of n values that stay on the chip. */
static Op op_fused(OpKind kind, guint64 m, guint64 n, DataType type) {
    return (Op){.kind = kind, .name = kind_names[kind], .m = m, .n = n, .data_type = type};
}

static Op op_norm(const Model *model, guint64 tokens) {
    Op op = op_fused(OP_NORM, tokens, model->hidden, model->data_type);
    op.weight_bytes = bytes_of((double)model->hidden, model->data_type);
    return op;
}

/* The vector that travels has the model's data type (THInfer eq. 17: its D_size). */
static Op op_all_reduce(const Model *model, guint64 tokens) {
    Op op = op_fused(OP_ALL_REDUCE, tokens, model->hidden, model->data_type);
    op.bytes_out = bytes_of((double)tokens * (double)model->hidden, model->data_type);
    return op;
}

static Op op_embedding(const Model *model, guint64 tokens) {
    double bytes = bytes_of((double)tokens * (double)model->hidden, model->data_type);
    Op op = op_fused(OP_EMBEDDING, tokens, model->hidden, model->data_type);
    op.bytes_in = bytes;
    op.bytes_out = bytes;
    return op;
}

OpGraph *op_graph_new(gsize reserved_ops) {
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

void op_graph_begin_unit(OpGraph *graph, const char *name) {
    FusionUnit unit = {.name = name};
    g_array_append_val(graph->units, unit);
}

void op_graph_push(OpGraph *graph, Op op) {
    g_array_append_val(graph->ops, op);
    g_array_index(graph->units, FusionUnit, graph->units->len - 1).n_ops++;
}

OpGraph *op_graph_finish(OpGraph *graph) {
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

/* 'batch' may be NULL: then no attention. */
static void push_attention_half(OpGraph *graph, const Model *model, const BatchShape *batch,
                                guint64 tokens, guint tp) {
    guint64 query_width = share_of(model->heads, tp) * model->head_dim;
    guint64 kv_width = share_of(model->kv_heads, tp) * model->head_dim;
    DataType type = model->data_type;
    op_graph_begin_unit(graph, "attention");
    op_graph_push(graph, op_norm(model, tokens));
    op_graph_push(
        graph, add_bias(op_linear("qkv", tokens, query_width + 2 * kv_width, model->hidden, type),
                        model->qkv_bias));
    op_graph_push(graph, op_fused(OP_ROPE, tokens, query_width + kv_width, type));
    for (gsize i = 0; batch && i < batch->n_segments; i++)
        op_graph_push(graph, op_attention(model, batch->segments[i], tp));
    op_graph_push(graph, add_bias(op_linear("out", tokens, model->hidden, query_width, type),
                                  model->out_bias));
    if (tp > 1)
        op_graph_push(graph, op_all_reduce(model, tokens));
    op_graph_push(graph, op_fused(OP_ADD, tokens, model->hidden, type));
}

static void push_feed_forward_half(OpGraph *graph, const Model *model, guint64 tokens, guint tp) {
    guint64 width = share_of(model->ffn, tp);
    DataType type = model->data_type;
    op_graph_begin_unit(graph, "feed_forward");
    op_graph_push(graph, op_norm(model, tokens));
    op_graph_push(graph, add_bias(op_linear("gate_up", tokens, 2 * width, model->hidden, type),
                                  model->mlp_bias));
    op_graph_push(graph, op_fused(OP_ACTIVATION, tokens, width, type));
    op_graph_push(graph,
                  add_bias(op_linear("down", tokens, model->hidden, width, type), model->mlp_bias));
    if (tp > 1)
        op_graph_push(graph, op_all_reduce(model, tokens));
    op_graph_push(graph, op_fused(OP_ADD, tokens, model->hidden, type));
}

#define MAX_SHARED_OPS 12 /* a layer's operators without attention */

OpGraph *op_graph_layer(const Model *model, const BatchShape *batch, guint tp) {
    g_assert(tp > 0);
    guint64 tokens = batch_tokens(batch);
    OpGraph *graph = op_graph_new(MAX_SHARED_OPS + batch->n_segments);
    if (tokens > 0) {
        push_attention_half(graph, model, batch, tokens, tp);
        push_feed_forward_half(graph, model, tokens, tp);
    }
    return op_graph_finish(graph);
}

OpGraph *op_graph_layer_shared(const Model *model, guint64 tokens, guint tp) {
    g_assert(tp > 0);
    OpGraph *graph = op_graph_new(MAX_SHARED_OPS);
    if (tokens > 0) {
        push_attention_half(graph, model, NULL, tokens, tp);
        push_feed_forward_half(graph, model, tokens, tp);
    }
    return op_graph_finish(graph);
}

/* The table is not split: every rank looks up every token, so that no exchange follows. */
OpGraph *op_graph_embedding(const Model *model, const BatchShape *batch, guint tp) {
    g_assert(tp > 0);
    guint64 tokens = batch_tokens(batch);
    OpGraph *graph = op_graph_new(1);
    if (tokens > 0) {
        op_graph_begin_unit(graph, "embedding");
        op_graph_push(graph, op_embedding(model, tokens));
    }
    return op_graph_finish(graph);
}

OpGraph *op_graph_head(const Model *model, const BatchShape *batch, guint tp) {
    g_assert(tp > 0);
    guint64 rows = batch->sampled;
    OpGraph *graph = op_graph_new(2);
    if (rows > 0) {
        op_graph_begin_unit(graph, "head");
        op_graph_push(graph, op_norm(model, rows));
        op_graph_push(graph, op_linear("lm_head", rows, share_of(model->vocab, tp), model->hidden,
                                       model->data_type));
    }
    return op_graph_finish(graph);
}
