/* Operator graphs against sums that are found another way: parameters, visible keys, KV bytes. */
#include "tests/unit/fusion_fixture.h"

/* Shapes that differ in everything that matters; small, so that sums are exact in double. */
static const Model models[] = {
    {.model_type = "llama",
     .hidden = 64,
     .layers = 4,
     .heads = 8,
     .kv_heads = 8,
     .head_dim = 8,
     .ffn = 176,
     .vocab = 512,
     .data_type = DATA_TYPE_FP16},
    {.model_type = "llama",
     .hidden = 64,
     .layers = 3,
     .heads = 8,
     .kv_heads = 2,
     .head_dim = 16,
     .ffn = 160,
     .vocab = 500,
     .data_type = DATA_TYPE_FP32,
     .tied_embeddings = TRUE},
    {.model_type = "qwen2",
     .hidden = 96,
     .layers = 2,
     .heads = 12,
     .kv_heads = 1,
     .head_dim = 8,
     .ffn = 200,
     .vocab = 320,
     .data_type = DATA_TYPE_BF16,
     .qkv_bias = TRUE},
    {.model_type = "llama",
     .hidden = 96,
     .layers = 2,
     .heads = 8,
     .kv_heads = 4,
     .head_dim = 12,
     .ffn = 248,
     .vocab = 256,
     .data_type = DATA_TYPE_BF16,
     .qkv_bias = TRUE,
     .out_bias = TRUE,
     .mlp_bias = TRUE},
};

static const Segment mixed[] = {{1, 0}, {1, 99}, {7, 0}, {16, 48}, {1, 1000}};
static const BatchShape mixed_batch = {mixed, G_N_ELEMENTS(mixed), 3};
#define MIXED_TOKENS 26

static OpGraph *layer_of(const Model *model, const BatchShape *batch, guint tp) {
    g_autoptr(ModelUnits) units = served_units(model, &mt3000, tp, TRUE);
    return op_graph_layer(units, batch);
}

static OpGraph *head_of(const Model *model, const BatchShape *batch, guint tp) {
    g_autoptr(ModelUnits) units = served_units(model, &mt3000, tp, TRUE);
    return op_graph_head(units, batch);
}

typedef double (*OpValue)(const Op *op);

static double op_macs(const Op *op) {
    return op->macs;
}

static double op_weight_bytes(const Op *op) {
    return op->weight_bytes;
}

static double sum_over(const OpGraph *graph, OpValue value) {
    double sum = 0.0;
    for (guint i = 0; i < graph->ops->len; i++)
        sum += value(&g_array_index(graph->ops, Op, i));
    return sum;
}

static const Op *find_op(const OpGraph *graph, const char *name) {
    for (guint i = 0; i < graph->ops->len; i++) {
        const Op *op = &g_array_index(graph->ops, Op, i);
        if (g_str_equal(op->name, name))
            return op;
    }
    return NULL;
}

static guint count_kind(const OpGraph *graph, OpKind kind) {
    guint count = 0;
    for (guint i = 0; i < graph->ops->len; i++)
        count += g_array_index(graph->ops, Op, i).kind == kind;
    return count;
}

static void test_weights_are_the_models_parameters(void) {
    for (gsize i = 0; i < G_N_ELEMENTS(models); i++) {
        const Model *model = &models[i];
        double bytes = data_type_bytes(model->data_type);
        g_autoptr(OpGraph) layer = layer_of(model, &mixed_batch, 1);
        g_autoptr(OpGraph) head = head_of(model, &mixed_batch, 1);
        g_autoptr(OpGraph) embedding = op_graph_embedding(model, &mixed_batch);
        g_assert_cmpfloat(sum_over(layer, op_weight_bytes), ==,
                          bytes * (double)model_layer_parameters(model));
        g_assert_cmpfloat(sum_over(head, op_weight_bytes), ==,
                          bytes * (double)model_head_parameters(model));
        g_assert_cmpfloat(sum_over(embedding, op_weight_bytes), ==, 0.0);
    }
}

/* Multiply-accumulates counted one by one: every weight of a matrix once a token, and every
 * (query, visible key) pair twice a value of the head. */
static double counted_layer_macs(const Model *model, const BatchShape *batch) {
    guint64 matrices = model->hidden * model->head_dim * 2 * (model->heads + model->kv_heads) +
                       3 * model->hidden * model->ffn;
    guint64 macs = 0;
    for (gsize s = 0; s < batch->n_segments; s++) {
        Segment segment = batch->segments[s];
        for (guint64 query = 0; query < segment.new_tokens; query++) {
            guint64 visible_keys = segment.past_tokens + query + 1;
            macs += matrices + 2 * model->heads * model->head_dim * visible_keys;
        }
    }
    return (double)macs;
}

static void test_macs_are_counted_with_the_causal_mask(void) {
    for (gsize i = 0; i < G_N_ELEMENTS(models); i++) {
        g_autoptr(OpGraph) layer = layer_of(&models[i], &mixed_batch, 1);
        g_assert_cmpfloat(sum_over(layer, op_macs), ==,
                          counted_layer_macs(&models[i], &mixed_batch));
    }
}

static void test_chunks_add_up_to_the_whole_prompt(void) {
    const Segment whole = {100, 0}, chunks[] = {{40, 0}, {40, 40}, {20, 80}};
    double macs = 0.0;
    for (gsize i = 0; i < G_N_ELEMENTS(chunks); i++)
        macs += op_attention(&models[0], chunks[i], 1).macs;
    g_assert_cmpfloat(macs, ==, op_attention(&models[0], whole, 1).macs);
}

static void test_attention_reads_the_kv_cache_once(void) {
    for (gsize i = 0; i < G_N_ELEMENTS(models); i++) {
        const Model *model = &models[i];
        const Segment segment = {5, 95};
        Op op = op_attention(model, segment, 1);
        double query_bytes =
            5.0 * (double)(model->heads * model->head_dim) * data_type_bytes(model->data_type);
        g_assert_cmpfloat(op.bytes_in - query_bytes, ==,
                          100.0 * (double)model_kv_bytes_per_token_layer(model));
        g_assert_cmpfloat(op.bytes_out, ==, query_bytes);
        g_assert_cmpuint(op.m, ==, 5);
        g_assert_cmpuint(op.n, ==, 100);
        g_assert_cmpuint(op.k, ==, model->head_dim);
    }
}

static void test_projections_write_the_new_kv(void) {
    for (gsize i = 0; i < G_N_ELEMENTS(models); i++) {
        const Model *model = &models[i];
        g_autoptr(OpGraph) layer = layer_of(model, &mixed_batch, 1);
        g_assert_cmpfloat(find_op(layer, "k")->bytes_out + find_op(layer, "v")->bytes_out, ==,
                          MIXED_TOKENS * (double)model_kv_bytes_per_token_layer(model));
    }
}

static void test_ranks_share_the_work(void) {
    static const char *const split[] = {"q", "k", "v", "out", "gate", "up", "down", "attention"};
    const Model *model = &models[0];
    for (guint tp = 2; tp <= 8; tp *= 2) {
        g_autoptr(OpGraph) whole = layer_of(model, &mixed_batch, 1);
        g_autoptr(OpGraph) part = layer_of(model, &mixed_batch, tp);
        for (gsize i = 0; i < G_N_ELEMENTS(split); i++) {
            const Op *one = find_op(whole, split[i]), *rank = find_op(part, split[i]);
            g_assert_cmpfloat(rank->macs * tp, ==, one->macs);
            g_assert_cmpfloat(rank->weight_bytes * tp, ==, one->weight_bytes);
        }
        g_assert_cmpuint(find_op(part, "q")->k, ==, model->hidden);
        g_assert_cmpuint(find_op(part, "out")->n, ==, model->hidden);
        g_assert_cmpuint(find_op(part, "down")->n, ==, model->hidden);
        g_autoptr(OpGraph) head = head_of(model, &mixed_batch, tp);
        g_assert_cmpuint(find_op(head, "lm_head")->n, ==, model->vocab / tp);
    }
}

static void test_shares_that_do_not_divide_round_up(void) {
    const Model *model = &models[2]; /* 12 heads, 1 KV head, ffn 200, vocabulary 320 */
    g_autoptr(OpGraph) layer = layer_of(model, &mixed_batch, 7);
    g_autoptr(OpGraph) head = head_of(model, &mixed_batch, 7);
    const Op *attention = find_op(layer, "attention");
    g_assert_cmpuint(attention->heads, ==, 2);
    g_assert_cmpuint(attention->kv_heads, ==, 1);
    g_assert_cmpuint(find_op(layer, "q")->n, ==, 2 * 8);
    g_assert_cmpuint(find_op(layer, "k")->n, ==, 1 * 8);
    g_assert_cmpuint(find_op(layer, "gate")->n, ==, 29);
    g_assert_cmpuint(find_op(layer, "down")->k, ==, 29);
    g_assert_cmpuint(find_op(head, "lm_head")->n, ==, 46);
}

static void test_all_reduces_follow_out_and_down(void) {
    const Model *model = &models[1];
    g_autoptr(OpGraph) alone = layer_of(model, &mixed_batch, 1);
    g_autoptr(OpGraph) shared = layer_of(model, &mixed_batch, 2);
    g_assert_cmpuint(count_kind(alone, OP_ALL_REDUCE), ==, 0);
    g_assert_cmpuint(count_kind(shared, OP_ALL_REDUCE), ==, 2);
    for (guint i = 1; i < shared->ops->len; i++) {
        const Op *op = &g_array_index(shared->ops, Op, i);
        if (op->kind != OP_ALL_REDUCE)
            continue;
        const char *before = g_array_index(shared->ops, Op, i - 1).name;
        g_assert_true(g_str_equal(before, "out") || g_str_equal(before, "down"));
        g_assert_cmpfloat(op->bytes_out, ==, MIXED_TOKENS * 64.0 * 4.0);
    }
}

static void assert_units_cover(const OpGraph *graph) {
    const Op *next = (const Op *)(const void *)graph->ops->data;
    for (guint i = 0; i < graph->units->len; i++) {
        const FusionUnit *unit = &g_array_index(graph->units, FusionUnit, i);
        g_assert_true(unit->ops == next);
        next += unit->n_ops;
    }
    g_assert_true(next == (const Op *)(const void *)graph->ops->data + graph->ops->len);
}

/* THInfer eq. 19: two launches a layer. By themselves: a kernel for each unit, and for each head of
 * each request. */
static void test_launches_of_a_layer_whatever_the_batch(void) {
    Segment segments[700];
    for (guint i = 0; i < G_N_ELEMENTS(segments); i++)
        segments[i] = (Segment){1 + i % 3, 17 * i};
    for (guint n = 1; n <= G_N_ELEMENTS(segments); n += 233) {
        BatchShape batch = {segments, n, n};
        g_autoptr(OpGraph) layer = layer_of(&models[3], &batch, 2);
        guint64 unified = 0, heads = 0;
        for (guint i = 0; i < layer->units->len; i++) {
            const FusionUnit *unit = &g_array_index(layer->units, FusionUnit, i);
            unified += unit->unified_launches;
            heads += unit->ops[0].kind == OP_ATTENTION ? unit->launches : 0;
            g_assert_true(unit->launches > 0 || unit->ops[0].kind == OP_ALL_REDUCE);
            gboolean norm = FALSE;
            for (gsize j = 0; j < unit->n_ops; j++)
                norm |= unit->ops[j].kind == OP_NORM;
            g_assert_cmpuint(unit->unified_launches, ==, norm ? 1 : 0);
        }
        g_assert_cmpuint(unified, ==, 2);
        g_assert_cmpuint(heads, ==, n * 4);
        g_assert_cmpuint(count_kind(layer, OP_ATTENTION), ==, n);
        assert_units_cover(layer);
    }
}

/* Only what crosses between units: the norms' results that K, V and up read too, and residuals. */
static void test_low_operators_move_what_no_linear_moves_for_them(void) {
    g_autoptr(OpGraph) layer = layer_of(&models[3], &mixed_batch, 1);
    double rows = MIXED_TOKENS * 96.0 * 2.0;
    g_assert_cmpfloat(find_op(layer, "attention_norm")->bytes_in, ==, 0.0);
    g_assert_cmpfloat(find_op(layer, "attention_norm")->bytes_out, ==, rows);
    g_assert_cmpfloat(find_op(layer, "q")->bytes_in, ==, rows);
    g_assert_cmpfloat(find_op(layer, "q_rope")->bytes_in, ==, 0.0);
    g_assert_cmpfloat(find_op(layer, "q_rope")->bytes_out, ==, 0.0);
    g_assert_cmpfloat(find_op(layer, "attention_add")->bytes_in, ==, rows);
}

static void test_the_shared_layer_is_the_layer_without_attention(void) {
    for (guint tp = 1; tp <= 4; tp++) {
        g_autoptr(OpGraph) layer = layer_of(&models[3], &mixed_batch, tp);
        g_autoptr(ModelUnits) units = served_units(&models[3], &mt3000, tp, TRUE);
        g_autoptr(OpGraph) shared = op_graph_layer_shared(units, MIXED_TOKENS);
        guint next = 0;
        for (guint i = 0; i < layer->ops->len; i++) {
            const Op *op = &g_array_index(layer->ops, Op, i);
            if (op->kind == OP_ATTENTION)
                continue;
            const Op *twin = &g_array_index(shared->ops, Op, next++);
            g_assert_cmpstr(twin->name, ==, op->name);
            g_assert_cmpfloat(twin->macs, ==, op->macs);
            g_assert_cmpfloat(twin->bytes_in + twin->bytes_out + twin->weight_bytes, ==,
                              op->bytes_in + op->bytes_out + op->weight_bytes);
        }
        g_assert_cmpuint(next, ==, shared->ops->len);
        assert_units_cover(shared);
    }
}

static void test_the_ends_of_the_model(void) {
    const Model *model = &models[1];
    g_autoptr(OpGraph) embedding = op_graph_embedding(model, &mixed_batch);
    g_autoptr(OpGraph) head = head_of(model, &mixed_batch, 1);
    g_assert_cmpuint(embedding->units->len, ==, 1);
    g_assert_cmpfloat(find_op(embedding, "embedding")->bytes_in, ==, MIXED_TOKENS * 64.0 * 4.0);
    g_assert_cmpuint(head->units->len, >, 0);
    g_assert_cmpuint(find_op(head, "lm_head")->m, ==, mixed_batch.sampled);
    g_assert_cmpuint(find_op(head, "lm_head")->k, ==, model->hidden);
    g_assert_cmpuint(find_op(head, "lm_head")->n, ==, model->vocab);
}

static void test_no_rows_need_no_operators(void) {
    const BatchShape nothing = {NULL, 0, 0}, unsampled = {mixed, G_N_ELEMENTS(mixed), 0};
    g_autoptr(OpGraph) layer = layer_of(&models[0], &nothing, 2);
    g_autoptr(OpGraph) embedding = op_graph_embedding(&models[0], &nothing);
    g_autoptr(OpGraph) head = head_of(&models[0], &unsampled, 2);
    g_assert_cmpuint(layer->ops->len + embedding->ops->len + head->ops->len, ==, 0);
    g_assert_cmpuint(layer->units->len + embedding->units->len + head->units->len, ==, 0);
}

static void test_kinds_have_different_names(void) {
    for (int i = 0; i < N_OP_KINDS; i++)
        for (int j = 0; j < i; j++)
            g_assert_cmpstr(op_kind_name((OpKind)i), !=, op_kind_name((OpKind)j));
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/op_graph/weights_are_the_models_parameters",
                    test_weights_are_the_models_parameters);
    g_test_add_func("/op_graph/macs_are_counted_with_the_causal_mask",
                    test_macs_are_counted_with_the_causal_mask);
    g_test_add_func("/op_graph/chunks_add_up_to_the_whole_prompt",
                    test_chunks_add_up_to_the_whole_prompt);
    g_test_add_func("/op_graph/attention_reads_the_kv_cache_once",
                    test_attention_reads_the_kv_cache_once);
    g_test_add_func("/op_graph/projections_write_the_new_kv", test_projections_write_the_new_kv);
    g_test_add_func("/op_graph/ranks_share_the_work", test_ranks_share_the_work);
    g_test_add_func("/op_graph/shares_that_do_not_divide_round_up",
                    test_shares_that_do_not_divide_round_up);
    g_test_add_func("/op_graph/all_reduces_follow_out_and_down",
                    test_all_reduces_follow_out_and_down);
    g_test_add_func("/op_graph/launches_of_a_layer_whatever_the_batch",
                    test_launches_of_a_layer_whatever_the_batch);
    g_test_add_func("/op_graph/low_operators_move_what_no_linear_moves_for_them",
                    test_low_operators_move_what_no_linear_moves_for_them);
    g_test_add_func("/op_graph/the_shared_layer_is_the_layer_without_attention",
                    test_the_shared_layer_is_the_layer_without_attention);
    g_test_add_func("/op_graph/the_ends_of_the_model", test_the_ends_of_the_model);
    g_test_add_func("/op_graph/no_rows_need_no_operators", test_no_rows_need_no_operators);
    g_test_add_func("/op_graph/kinds_have_different_names", test_kinds_have_different_names);
    return g_test_run();
}
