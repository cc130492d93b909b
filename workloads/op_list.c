#include "workloads/op_list.h"

OpList *op_list_new(void) {
    OpList *list = g_new0(OpList, 1);
    list->ops = g_array_new(FALSE, FALSE, sizeof(ListedOp));
    list->operands = g_array_new(FALSE, FALSE, sizeof(Operand));
    return list;
}

void op_list_free(OpList *list) {
    if (!list)
        return;
    g_array_unref(list->ops);
    g_array_unref(list->operands);
    g_free(list);
}

const ListedOp *op_list_get(const OpList *list, guint index) {
    g_assert(index < list->ops->len);
    return &g_array_index(list->ops, ListedOp, index);
}

const Operand *op_list_operands(const OpList *list, guint index) {
    return (const Operand *)(const void *)list->operands->data +
           op_list_get(list, index)->first_operand;
}

guint op_list_add(OpList *list, Op op, const Operand *operands, guint n_operands) {
    op.bytes_in = 0.0;
    for (guint i = 0; i < n_operands; i++) {
        g_assert(operands[i].producer == OPERAND_OUTSIDE || operands[i].producer < list->ops->len);
        op.bytes_in += operands[i].bytes;
    }
    ListedOp listed = {.op = op, .first_operand = list->operands->len, .n_operands = n_operands};
    g_array_append_vals(list->operands, operands, n_operands);
    g_array_append_val(list->ops, listed);
    return list->ops->len - 1;
}

static ListedOp *last(OpList *list) {
    return &g_array_index(list->ops, ListedOp, list->ops->len - 1);
}

/* What a layer is built from. */
typedef struct Builder {
    OpList *list;
    const Model *model;
    const BatchShape *batch;
    guint64 tokens;
    guint64 heads, kv_heads, ffn; /* of one rank, rounded up */
    gboolean shared;              /* between ranks: sums must be exchanged */
} Builder;

static guint64 share_of(guint64 whole, guint parts) {
    return (whole + parts - 1) / parts;
}

static double elements_bytes(const Builder *builder, guint64 rows, guint64 columns) {
    return (double)rows * (double)columns * data_type_bytes(builder->model->data_type);
}

/* The whole result of 'producer', or of the layer below: a row of 'hidden' for each token. */
static Operand result_of(const Builder *builder, guint producer, OperandReach reach) {
    double bytes = producer == OPERAND_OUTSIDE
                       ? elements_bytes(builder, builder->tokens, builder->model->hidden)
                       : op_list_get(builder->list, producer)->op.bytes_out;
    return (Operand){.producer = producer, .reach = reach, .bytes = bytes};
}

/* An operator without multiply-accumulates whose result is a row of 'columns' for each token. */
static Op low_op(const Builder *builder, OpKind kind, const char *name, guint64 columns) {
    return (Op){.kind = kind,
                .name = name,
                .m = builder->tokens,
                .n = columns,
                .data_type = builder->model->data_type,
                .bytes_out = elements_bytes(builder, builder->tokens, columns)};
}

static guint add_norm(Builder *builder, const char *name, guint input) {
    Op op = low_op(builder, OP_NORM, name, builder->model->hidden);
    op.weight_bytes = elements_bytes(builder, 1, builder->model->hidden);
    Operand rows = result_of(builder, input, REACH_ROWS);
    return op_list_add(builder->list, op, &rows, 1);
}

static guint add_pointwise(Builder *builder, OpKind kind, const char *name, guint input) {
    guint64 columns = op_list_get(builder->list, input)->op.n;
    Operand tile = result_of(builder, input, REACH_TILE);
    return op_list_add(builder->list, low_op(builder, kind, name, columns), &tile, 1);
}

/* Element by element of two operands; the first one states the columns. */
static guint add_combination(Builder *builder, Op op, guint first, guint second) {
    Operand tiles[] = {result_of(builder, first, REACH_TILE),
                       result_of(builder, second, REACH_TILE)};
    return op_list_add(builder->list, op, tiles, G_N_ELEMENTS(tiles));
}

static guint add_residual(Builder *builder, const char *name, guint sum, guint residual) {
    Op op = low_op(builder, OP_ADD, name, builder->model->hidden);
    return add_combination(builder, op, sum, residual);
}

typedef struct Projection {
    const char *name;
    guint64 outputs, inputs;
    gboolean bias;
} Projection;

/* Every row of the input makes a row of the result. */
static guint add_linear(Builder *builder, Projection to, const Operand *operands,
                        guint n_operands) {
    DataType type = builder->model->data_type;
    Op op = op_linear(to.name, builder->tokens, to.outputs, to.inputs, type);
    if (to.bias)
        op.weight_bytes += elements_bytes(builder, 1, to.outputs);
    return op_list_add(builder->list, op, operands, n_operands);
}

static guint add_linear_after(Builder *builder, Projection to, guint input) {
    Operand rows = result_of(builder, input, REACH_ROWS);
    return add_linear(builder, to, &rows, 1);
}

/* Sums the ranks' parts; nothing to do for one rank. */
static guint add_all_reduce(Builder *builder, const char *name, guint part) {
    if (!builder->shared)
        return part;
    guint sum = add_pointwise(builder, OP_ALL_REDUCE, name, part);
    last(builder->list)->on_network = TRUE;
    return sum;
}

typedef struct Projected {
    guint query, key, value;
} Projected;

/* K and V go to the cache, where later steps read them. */
static Projected add_projections(Builder *builder, guint normed) {
    const Model *model = builder->model;
    guint64 width = builder->heads * model->head_dim,
            kv_width = builder->kv_heads * model->head_dim;
    Projection q = {"q", width, model->hidden, model->qkv_bias};
    Projection k = {"k", kv_width, model->hidden, model->qkv_bias};
    Projection v = {"v", kv_width, model->hidden, model->qkv_bias};
    Projected projected;
    guint query = add_linear_after(builder, q, normed);
    projected.query = add_pointwise(builder, OP_ROPE, "q_rope", query);
    guint key = add_linear_after(builder, k, normed);
    projected.key = add_pointwise(builder, OP_ROPE, "k_rope", key);
    last(builder->list)->kept = TRUE;
    projected.value = add_linear_after(builder, v, normed);
    last(builder->list)->kept = TRUE;
    return projected;
}

/* A part of one request's attention: for each head a matrix of new tokens × 'columns'. */
static Op attention_op(const Builder *builder, OpKind kind, const char *name, const Op *whole) {
    Op op = *whole;
    op.kind = kind;
    op.name = name;
    op.k = 0;
    op.macs = 0.0;
    op.bytes_out = elements_bytes(builder, op.heads * op.m, op.n);
    return op;
}

static guint add_attention_pointwise(Builder *builder, OpKind kind, const char *name, guint input) {
    const Op *before = &op_list_get(builder->list, input)->op;
    Op op = attention_op(builder, kind, name, before);
    Operand operand = result_of(builder, input, kind == OP_SOFTMAX ? REACH_ROWS : REACH_TILE);
    return op_list_add(builder->list, op, &operand, 1);
}

/* softmax(Q·Kᵀ/√d)·V of one request (THInfer eq. 9). Queries, keys and values were made rows by
 * rows; heads are handed out to other cores, so each is needed whole. */
static guint add_attention(Builder *builder, Segment segment, const Projected *projected) {
    const Model *model = builder->model;
    Op whole = {.data_type = model->data_type,
                .m = segment.new_tokens,
                .n = (guint64)segment.past_tokens + segment.new_tokens,
                .heads = builder->heads,
                .kv_heads = builder->kv_heads};
    double fresh = segment.new_tokens, past = segment.past_tokens;
    double macs = (double)(whole.heads * model->head_dim) * fresh * (past + (fresh + 1.0) / 2.0);
    guint64 context = whole.n;
    double cache_bytes = elements_bytes(builder, context, builder->kv_heads * model->head_dim);
    double query_bytes = elements_bytes(builder, whole.m, builder->heads * model->head_dim);

    Op scores = attention_op(builder, OP_MATMUL, "scores", &whole);
    scores.k = model->head_dim;
    scores.macs = macs;
    Operand left[] = {{projected->query, REACH_WHOLE, query_bytes},
                      {projected->key, REACH_WHOLE, cache_bytes}};
    guint scored = op_list_add(builder->list, scores, left, G_N_ELEMENTS(left));
    guint scaled = add_attention_pointwise(builder, OP_SCALE, "scale", scored);
    guint masked = add_attention_pointwise(builder, OP_MASK, "mask", scaled);
    guint weights = add_attention_pointwise(builder, OP_SOFTMAX, "softmax", masked);

    whole.n = model->head_dim;
    Op sums = attention_op(builder, OP_MATMUL, "values", &whole);
    sums.k = context;
    sums.macs = macs;
    Operand right[] = {result_of(builder, weights, REACH_ROWS),
                       {projected->value, REACH_WHOLE, cache_bytes}};
    return op_list_add(builder->list, sums, right, G_N_ELEMENTS(right));
}

/* Returns what the feed-forward half starts from. */
static guint add_attention_half(Builder *builder) {
    const Model *model = builder->model;
    guint normed = add_norm(builder, "attention_norm", OPERAND_OUTSIDE);
    Projected projected = add_projections(builder, normed);
    g_autoptr(GArray) parts = g_array_new(FALSE, FALSE, sizeof(Operand));
    for (gsize i = 0; i < builder->batch->n_segments; i++) {
        if (builder->batch->segments[i].new_tokens == 0)
            continue;
        guint part = add_attention(builder, builder->batch->segments[i], &projected);
        Operand operand = result_of(builder, part, REACH_WHOLE);
        g_array_append_val(parts, operand);
    }
    Projection out = {"out", model->hidden, builder->heads * model->head_dim, model->out_bias};
    guint sum = add_linear(builder, out, (const Operand *)(const void *)parts->data, parts->len);
    sum = add_all_reduce(builder, "out_all_reduce", sum);
    return add_residual(builder, "attention_add", sum, OPERAND_OUTSIDE);
}

static void add_feed_forward_half(Builder *builder, guint input) {
    const Model *model = builder->model;
    guint normed = add_norm(builder, "ffn_norm", input);
    Projection gate = {"gate", builder->ffn, model->hidden, model->mlp_bias};
    Projection up = {"up", builder->ffn, model->hidden, model->mlp_bias};
    Projection down = {"down", model->hidden, builder->ffn, model->mlp_bias};
    guint gated = add_linear_after(builder, gate, normed);
    guint activated = add_pointwise(builder, OP_SILU, "silu", gated);
    guint raised = add_linear_after(builder, up, normed);
    Op mul = low_op(builder, OP_MUL, "mul", builder->ffn);
    guint product = add_combination(builder, mul, activated, raised);
    guint sum =
        add_all_reduce(builder, "down_all_reduce", add_linear_after(builder, down, product));
    add_residual(builder, "ffn_add", sum, input);
    last(builder->list)->kept = TRUE;
}

OpList *op_list_layer(const Model *model, const BatchShape *batch, guint tp) {
    g_assert(tp > 0);
    OpList *list = op_list_new();
    Builder builder = {.list = list,
                       .model = model,
                       .batch = batch,
                       .heads = share_of(model->heads, tp),
                       .kv_heads = share_of(model->kv_heads, tp),
                       .ffn = share_of(model->ffn, tp),
                       .shared = tp > 1};
    for (gsize i = 0; i < batch->n_segments; i++)
        builder.tokens += batch->segments[i].new_tokens;
    if (builder.tokens > 0)
        add_feed_forward_half(&builder, add_attention_half(&builder));
    return list;
}

OpList *op_list_head(const Model *model, guint64 rows, guint tp) {
    g_assert(tp > 0);
    OpList *list = op_list_new();
    Builder builder = {.list = list, .model = model, .tokens = rows};
    if (rows == 0)
        return list;
    Projection to = {"lm_head", share_of(model->vocab, tp), model->hidden, FALSE};
    add_linear_after(&builder, to, add_norm(&builder, "final_norm", OPERAND_OUTSIDE));
    last(list)->kept = TRUE;
    return list;
}
