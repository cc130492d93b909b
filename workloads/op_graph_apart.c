/* The graphs of op_graph.h before any fusion: op_list.h's operators, in the same two units. */
#include "workloads/op_graph_build.h"
#include "workloads/op_list.h"

/* In the list, attention is a few operators; here it is one for each request. */
static gboolean is_part_of_attention(const Op *op) {
    return op->heads > 0;
}

static OpGraph *layer_of(const OpList *list, const Model *model, const BatchShape *batch, guint tp,
                         gboolean attention) {
    OpGraph *graph = op_graph_new(list->ops->len + batch->n_segments);
    gboolean attended = FALSE;

    for (guint i = 0; i < list->ops->len; i++) {
        const Op *op = &op_list_get(list, i)->op;
        if (i == 0 || (op->kind == OP_NORM && graph->units->len == 1))
            op_graph_begin_unit(graph, i == 0 ? "attention" : "feed_forward");
        if (!is_part_of_attention(op)) {
            op_graph_push(graph, *op);
            continue;
        }
        for (gsize s = 0; attention && !attended && s < batch->n_segments; s++) {
            if (batch->segments[s].new_tokens == 0)
                continue;
            Op whole = op_attention(model, batch->segments[s], tp);
            op_graph_push(graph, whole);
        }
        attended = TRUE;
    }
    return op_graph_finish(graph);
}

OpGraph *op_graph_layer_apart(const Model *model, const BatchShape *batch, guint tp) {
    g_autoptr(OpList) list = op_list_layer(model, batch, tp);

    return layer_of(list, model, batch, tp, TRUE);
}

OpGraph *op_graph_layer_shared_apart(const Model *model, guint64 tokens, guint tp) {
    g_assert(tokens <= G_MAXUINT32);
    Segment all = {.new_tokens = (guint32)tokens};
    BatchShape batch = {.segments = &all, .n_segments = 1};
    g_autoptr(OpList) list = op_list_layer(model, &batch, tp);

    return layer_of(list, model, &batch, tp, FALSE);
}

OpGraph *op_graph_head_apart(const Model *model, const BatchShape *batch, guint tp) {
    OpGraph *graph = op_graph_head(model, batch, tp);

    for (guint i = 0; i < graph->ops->len; i++) {
        Op *op = &g_array_index(graph->ops, Op, i);
        if (op->kind == OP_NORM)
            op->bytes_in = op->bytes_out =
                (double)op->m * (double)op->n * data_type_bytes(op->data_type);
    }
    return graph;
}
