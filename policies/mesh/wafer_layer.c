#include "policies/mesh/wafer_layer.h"

#include "policies/mesh/tiles.h"
#include "workloads/input_error.h"

#include <math.h>

#define MIN_SIDE 3u /* of a ring (WaferLLM algorithm 1) */

const char *const wafer_system_names[] = {"waferllm", "t10", "ladder", NULL};
const char *const wafer_op_kind_names[] = {"all-reduce", "local gemv",    "gemm loop",
                                           "local gemm", "tile exchange", "remote loads",
                                           "all-to-all", "software",      NULL};

G_STATIC_ASSERT(G_N_ELEMENTS(wafer_system_names) == N_WAFER_SYSTEMS + 1);
G_STATIC_ASSERT(G_N_ELEMENTS(wafer_op_kind_names) == N_WAFER_OP_KINDS + 1);

/* Which axis a length is divided along. */
typedef enum { ALONG_X, ALONG_Y } Axis;

/* A list being written. Operators go to 'columns' × 'rows': the grid, or an expert's band of it. */
typedef struct Writer {
    const WaferPlan *plan;
    guint columns, rows;
    GArray *ops;
} Writer;

static Writer writer_on_grid(const WaferPlan *plan) {
    return (Writer){plan, plan->columns, plan->rows, g_array_new(FALSE, FALSE, sizeof(WaferOp))};
}

static guint band_rows(const WaferPlan *plan) {
    return plan->rows / (guint)plan->model->experts;
}

gboolean wafer_plan_check(const WaferPlan *plan, GError **error) {
    if (plan->columns < MIN_SIDE || plan->rows < MIN_SIDE) {
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_VALUE,
                    "a grid of %u x %u is too small: each side needs at least %u cores",
                    plan->columns, plan->rows, MIN_SIDE);
        return FALSE;
    }
    /* Levels of nobody are left out, so that two, which is usual, will do on any grid. */
    guint levels = MAX(g_bit_storage(MIN(plan->columns, plan->rows)) - 1, 2);
    if (plan->k_tree > levels) {
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                    "a tree of %u levels is too deep for a grid of %u x %u: at most %u",
                    plan->k_tree, plan->columns, plan->rows, levels);
        return FALSE;
    }
    guint64 needed = MIN_SIDE * plan->model->experts;
    if (plan->rows >= needed)
        return TRUE;
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                "model '%s' has %" G_GUINT64_FORMAT
                " experts, each on at least %u rows of its own: the grid needs %" G_GUINT64_FORMAT
                " rows, not %u",
                plan->model->name, plan->model->experts, MIN_SIDE, needed, plan->rows);
    return FALSE;
}

static guint64 query_width(const Model *model) {
    return model->heads * model->head_dim;
}

static guint64 kv_width(const Model *model) {
    return model->kv_heads * model->head_dim;
}

/* A core's part of a length: padded, as the slowest core has it. */
static guint64 part(const Writer *writer, guint64 length, Axis axis) {
    return tile_largest(length, axis == ALONG_X ? writer->columns : writer->rows);
}

static void append(Writer *writer, WaferOp op) {
    op.columns = writer->columns;
    op.rows = writer->rows;
    g_array_append_val(writer->ops, op);
}

/* Under one shared memory nothing is summed across cores: the loads stand for all communication. */
static void all_reduce(Writer *writer, const char *name, Axis over, guint64 elements) {
    const WaferPlan *plan = writer->plan;
    if (plan->system == WAFER_LADDER)
        return;
    append(writer, (WaferOp){.kind = WAFER_ALL_REDUCE,
                             .name = name,
                             .along_y = over == ALONG_Y,
                             .k_tree = plan->system == WAFER_WAFERLLM ? plan->k_tree : 0,
                             .n = elements});
}

static void local_gemv(Writer *writer, const char *name, guint64 k, guint64 n) {
    append(writer, (WaferOp){.kind = WAFER_LOCAL_GEMV, .name = name, .k = k, .n = n});
}

static void remote_loads(Writer *writer, const char *name, guint64 loads) {
    if (writer->plan->system == WAFER_LADDER)
        append(writer, (WaferOp){.kind = WAFER_REMOTE_LOADS, .name = name, .loads = loads});
}

/* A product of which every core has k × n elements of the matrix, which it loads from afar where
 * memory seems shared. */
static void gemv(Writer *writer, const char *name, guint64 k, guint64 n) {
    remote_loads(writer, name, k * n);
    local_gemv(writer, name, k, n);
}

/* x, along Y, to Q, K and V, along X; Q times the keys, to scores along Y; these times the values,
 * to an output along X; and back to along Y. Seven allreduces. A core's query dimensions all meet
 * its part of the keys and values, whichever heads share these (the published kernels: d vector
 * operations of s elements, then s of d). */
static void decode_attention(Writer *writer, guint64 context) {
    const Model *model = writer->plan->model;
    guint64 d = part(writer, model->hidden, ALONG_Y);
    guint64 q = part(writer, query_width(model), ALONG_X);
    guint64 kv = part(writer, kv_width(model), ALONG_X);
    guint64 s = part(writer, context, ALONG_Y);
    all_reduce(writer, "attention norm", ALONG_Y, 1);
    gemv(writer, "q", d, q);
    gemv(writer, "k", d, kv);
    gemv(writer, "v", d, kv);
    all_reduce(writer, "qkv", ALONG_Y, q + 2 * kv);
    remote_loads(writer, "keys", kv * s);
    local_gemv(writer, "scores", q, s);
    all_reduce(writer, "scores", ALONG_X, s);
    remote_loads(writer, "softmax", context);
    all_reduce(writer, "softmax maximum", ALONG_Y, 1);
    all_reduce(writer, "softmax sum", ALONG_Y, 1);
    remote_loads(writer, "values", kv * s);
    local_gemv(writer, "values", s, q);
    all_reduce(writer, "values", ALONG_Y, q);
    gemv(writer, "o", q, d);
    all_reduce(writer, "o", ALONG_X, d);
}

/* Two more allreduces, on the grid or on an expert's band. */
static void decode_feed_forward(Writer *writer) {
    const Model *model = writer->plan->model;
    guint64 d = part(writer, model->hidden, ALONG_Y);
    guint64 f = part(writer, model->ffn, ALONG_X);
    gemv(writer, "gate", d, f);
    gemv(writer, "up", d, f);
    all_reduce(writer, "gate and up", ALONG_Y, 2 * f);
    gemv(writer, "down", f, d);
    all_reduce(writer, "down", ALONG_X, d);
}

static void all_to_all(Writer *writer, const char *name, guint64 elements, guint64 link_elements) {
    if (writer->plan->system == WAFER_LADDER)
        return;
    append(writer, (WaferOp){.kind = WAFER_ALL_TO_ALL,
                             .name = name,
                             .n = elements,
                             .link_elements = link_elements});
}

/* Each expert is on a band of rows, and a token's experts work at the same time. Every column has
 * the whole token: its cores multicast their parts to the bands, and the bands theirs to all rows.
 * In the worst case, which is charged, the experts are all at one end of the columns. The router
 * is on every core of a row's part of the token. */
static void decode_experts(Writer *writer) {
    const Model *model = writer->plan->model;
    guint64 d = part(writer, model->hidden, ALONG_Y);
    gemv(writer, "router", d, model->experts);
    all_reduce(writer, "router", ALONG_Y, model->experts);
    all_to_all(writer, "dispatch", d, model->hidden);
    Writer band = {writer->plan, writer->columns, band_rows(writer->plan), writer->ops};
    decode_feed_forward(&band);
    all_to_all(writer, "combine", part(&band, model->hidden, ALONG_Y),
               model->hidden * model->experts_per_token);
}

GArray *wafer_layer_decode(const WaferPlan *plan, guint64 context) {
    Writer writer = writer_on_grid(plan);
    decode_attention(&writer, context);
    all_reduce(&writer, "feed-forward norm", ALONG_Y, 1);
    if (plan->model->experts > 0)
        decode_experts(&writer);
    else
        decode_feed_forward(&writer);
    append(&writer, (WaferOp){.kind = WAFER_SOFTWARE, .name = "software"});
    return writer.ops;
}

/* A product of prefill. */
typedef struct Product {
    const char *name;
    guint64 m, k, n;
    gboolean transposed;
} Product;

static void gemm_loop(Writer *writer, const Product *product) {
    append(writer, (WaferOp){.kind = WAFER_GEMM_LOOP,
                             .name = product->name,
                             .k_tree = product->transposed ? writer->plan->k_tree : 0,
                             .transposed = product->transposed,
                             .m = product->m,
                             .k = product->k,
                             .n = product->n,
                             .steps = tiles_a_side(writer->columns, writer->rows)});
}

/* T10 and Ladder: the same tiles and kernels, but the tiles come from elsewhere. */
static void local_gemm(Writer *writer, const Product *product) {
    append(writer, (WaferOp){.kind = WAFER_LOCAL_GEMM,
                             .name = product->name,
                             .m = product->m,
                             .k = product->k,
                             .n = product->n,
                             .steps = tiles_a_side(writer->columns, writer->rows)});
}

/* T10: partners give and take whole tiles, as a crossbar would, which has no distances. */
static void tile_exchange(Writer *writer, const Product *product) {
    guint steps = tiles_a_side(writer->columns, writer->rows);
    double bytes = data_type_bytes(writer->plan->model->data_type);
    guint64 m = part(writer, product->m, ALONG_Y);
    guint64 n = part(writer, product->n, ALONG_X);
    guint64 k = tile_largest(product->k, steps);
    append(writer, (WaferOp){.kind = WAFER_TILE_EXCHANGE,
                             .name = product->name,
                             .steps = steps,
                             .a_bytes = (double)(m * k) * bytes,
                             .b_bytes = (double)(k * n) * bytes});
}

static void gemm(Writer *writer, const Product *product) {
    if (writer->plan->system == WAFER_WAFERLLM) {
        gemm_loop(writer, product);
        return;
    }
    if (writer->plan->system == WAFER_T10)
        tile_exchange(writer, product);
    /* Ladder: over all steps, the core's rows of A and its columns of B. */
    guint64 m = part(writer, product->m, ALONG_Y);
    guint64 n = part(writer, product->n, ALONG_X);
    remote_loads(writer, product->name, (m + n) * product->k);
    local_gemm(writer, product);
}

static void gemms(Writer *writer, const Product *products, gsize n_products) {
    for (gsize i = 0; i < n_products; i++)
        gemm(writer, &products[i]);
}

/* Six loops. Under Ladder, softmax reads a row's scores once in every step of theirs. */
static void prefill_attention(Writer *writer, guint64 tokens) {
    const Model *model = writer->plan->model;
    guint64 d = model->hidden, q = query_width(model), kv = kv_width(model);
    const Product before[] = {
        {"q", tokens, d, q, FALSE},
        {"k", tokens, d, kv, FALSE},
        {"v", tokens, d, kv, FALSE},
        {"scores", tokens, q, tokens, TRUE},
    };
    const Product after[] = {
        {"values", tokens, tokens, q, FALSE},
        {"o", tokens, q, d, FALSE},
    };
    gemms(writer, before, G_N_ELEMENTS(before));
    remote_loads(writer, "softmax", tokens * tiles_a_side(writer->columns, writer->rows));
    gemms(writer, after, G_N_ELEMENTS(after));
}

/* Three loops over 'tokens' tokens, on the grid or on an expert's band. */
static void prefill_feed_forward(Writer *writer, guint64 tokens) {
    const Model *model = writer->plan->model;
    const Product products[] = {
        {"gate", tokens, model->hidden, model->ffn, FALSE},
        {"up", tokens, model->hidden, model->ffn, FALSE},
        {"down", tokens, model->ffn, model->hidden, FALSE},
    };
    gemms(writer, products, G_N_ELEMENTS(products));
}

/* The chance that none of a token's experts is among 'others' of them, all sets of experts being
 * equally likely: C(experts − others, k) / C(experts, k). */
static double chance_of_none(const Model *model, guint64 others) {
    double chance = 1;
    for (guint64 i = 0; i < model->experts_per_token; i++) {
        double left = (double)model->experts - (double)others - (double)i;
        chance *= MAX(left, 0) / (double)(model->experts - i);
    }
    return chance;
}

/* Tokens are everywhere along a column, their experts anywhere. Going out, a token crosses the
 * column's middle at most once, being multicast; coming back, once for each expert on the other
 * side. */
static void prefill_experts(Writer *writer, guint64 tokens) {
    const Model *model = writer->plan->model;
    guint64 width = part(writer, model->hidden, ALONG_X);
    guint64 rows_tokens = part(writer, tokens, ALONG_Y);
    guint64 expert_tokens = tile_largest(tokens * model->experts_per_token, (guint)model->experts);
    double half = 0.5 * (double)tokens * (double)width;
    double out = half * (1 - chance_of_none(model, model->experts / 2));
    double back = half * 0.5 * (double)model->experts_per_token;
    Writer band = {writer->plan, writer->columns, band_rows(writer->plan), writer->ops};
    Product router = {"router", tokens, model->hidden, model->experts, FALSE};
    gemm(writer, &router);
    all_to_all(writer, "dispatch", rows_tokens * width, (guint64)ceil(out));
    prefill_feed_forward(&band, expert_tokens);
    all_to_all(writer, "combine", part(&band, expert_tokens, ALONG_Y) * width, (guint64)ceil(back));
}

GArray *wafer_layer_prefill(const WaferPlan *plan, guint64 tokens) {
    Writer writer = writer_on_grid(plan);
    prefill_attention(&writer, tokens);
    if (plan->model->experts > 0)
        prefill_experts(&writer, tokens);
    else
        prefill_feed_forward(&writer, tokens);
    return writer.ops;
}

/* The choice is the largest logit of a column, then of all columns, with its place. */
GArray *wafer_head(const WaferPlan *plan) {
    Writer writer = writer_on_grid(plan);
    guint64 d = part(&writer, plan->model->hidden, ALONG_Y);
    guint64 logits = part(&writer, plan->model->vocab, ALONG_X);
    all_reduce(&writer, "final norm", ALONG_Y, 1);
    gemv(&writer, "lm head", d, logits);
    all_reduce(&writer, "lm head", ALONG_Y, logits);
    all_reduce(&writer, "choice", ALONG_X, 2);
    return writer.ops;
}
