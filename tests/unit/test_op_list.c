/* A layer's operators one by one, against the layer as serving sees it. */
#include "tests/unit/fusion_fixture.h"

static const Model models[] = {
    {.model_type = "llama",
     .hidden = 64,
     .heads = 8,
     .kv_heads = 8,
     .head_dim = 8,
     .ffn = 176,
     .data_type = DATA_TYPE_FP16},
    {.model_type = "llama",
     .hidden = 96,
     .heads = 8,
     .kv_heads = 4,
     .head_dim = 12,
     .ffn = 248,
     .data_type = DATA_TYPE_BF16,
     .qkv_bias = TRUE,
     .out_bias = TRUE,
     .mlp_bias = TRUE},
    {.model_type = "qwen2",
     .hidden = 96,
     .heads = 12,
     .kv_heads = 1,
     .head_dim = 8,
     .ffn = 200,
     .data_type = DATA_TYPE_FP32,
     .qkv_bias = TRUE},
};
static const Segment mixed[] = {{1, 0}, {1, 99}, {7, 0}, {16, 48}, {1, 1000}};
static const BatchShape mixed_batch = {mixed, G_N_ELEMENTS(mixed), 3};
#define MIXED_TOKENS 26

static double graph_sum(const OpGraph *graph, gsize offset) {
    double sum = 0.0;
    for (guint i = 0; i < graph->ops->len; i++)
        sum += G_STRUCT_MEMBER(double, &g_array_index(graph->ops, Op, i), offset);
    return sum;
}

static double list_sum(const OpList *list, gsize offset) {
    double sum = 0.0;
    for (guint i = 0; i < list->ops->len; i++)
        sum += G_STRUCT_MEMBER(double, &op_list_get(list, i)->op, offset);
    return sum;
}

static void test_work_and_weights_are_the_layers(void) {
    for (gsize i = 0; i < G_N_ELEMENTS(models); i++) {
        for (guint tp = 1; tp <= 5; tp++) {
            g_autoptr(ModelUnits) units = served_units(&models[i], &mt3000, tp, TRUE);
            g_autoptr(OpGraph) graph = op_graph_layer(units, &mixed_batch);
            g_autoptr(OpList) list = op_list_layer(&models[i], &mixed_batch, tp);
            const gsize sums[] = {G_STRUCT_OFFSET(Op, macs), G_STRUCT_OFFSET(Op, weight_bytes)};
            for (gsize j = 0; j < G_N_ELEMENTS(sums); j++)
                g_assert_cmpfloat(list_sum(list, sums[j]), ==, graph_sum(graph, sums[j]));
        }
    }
}

static void test_producers_stand_before_their_readers(void) {
    g_autoptr(OpList) list = op_list_layer(&models[1], &mixed_batch, 2);
    for (guint i = 0; i < list->ops->len; i++) {
        const Operand *operands = op_list_operands(list, i);
        double bytes = 0.0;
        g_assert_cmpuint(op_list_get(list, i)->n_operands, >, 0);
        for (guint j = 0; j < op_list_get(list, i)->n_operands; j++) {
            g_assert_true(operands[j].producer == OPERAND_OUTSIDE || operands[j].producer < i);
            bytes += operands[j].bytes;
        }
        g_assert_cmpfloat(bytes, ==, op_list_get(list, i)->op.bytes_in);
    }
}

/* Nobody reads more of a result than was made, but of K and V, whose cache is older. */
static void test_operands_are_the_results_of_their_producers(void) {
    g_autoptr(OpList) list = op_list_layer(&models[0], &mixed_batch, 1);
    guint query = find(list, "q_rope");
    double query_bytes = 0.0;
    for (guint i = 0; i < list->ops->len; i++) {
        const Operand *operands = op_list_operands(list, i);
        for (guint j = 0; j < op_list_get(list, i)->n_operands; j++) {
            if (operands[j].producer == query)
                query_bytes += operands[j].bytes;
            else if (operands[j].producer != OPERAND_OUTSIDE &&
                     !op_list_get(list, operands[j].producer)->kept)
                g_assert_cmpfloat(operands[j].bytes, ==,
                                  op_list_get(list, operands[j].producer)->op.bytes_out);
        }
    }
    g_assert_cmpfloat(query_bytes, ==, op_list_get(list, query)->op.bytes_out);
}

static void test_scores_are_whole_matrices(void) {
    static const char *const squares[] = {"scores", "scale", "mask", "softmax"};
    const Segment segment = {5, 95};
    const BatchShape batch = {&segment, 1, 1};
    for (gsize i = 0; i < G_N_ELEMENTS(models); i++) {
        const Model *model = &models[i];
        double bytes = data_type_bytes(model->data_type);
        double kv_width = (double)(model->kv_heads * model->head_dim);
        g_autoptr(OpList) list = op_list_layer(model, &batch, 1);
        for (gsize j = 0; j < G_N_ELEMENTS(squares); j++)
            g_assert_cmpfloat(op_list_get(list, find(list, squares[j]))->op.bytes_out, ==,
                              5.0 * 100.0 * (double)model->heads * bytes);
        const Op *values = &op_list_get(list, find(list, "values"))->op;
        g_assert_cmpfloat(values->bytes_in, ==,
                          (5.0 * 100.0 * (double)model->heads + 100.0 * kv_width) * bytes);
        g_assert_cmpfloat(values->bytes_out, ==,
                          5.0 * (double)(model->heads * model->head_dim) * bytes);
    }
}

static void test_every_request_attends_alone(void) {
    g_autoptr(OpList) list = op_list_layer(&models[0], &mixed_batch, 1);
    guint products = 0;
    for (guint i = 0; i < list->ops->len; i++)
        products += op_list_get(list, i)->op.kind == OP_MATMUL ? 1 : 0;
    g_assert_cmpuint(products, ==, 2 * G_N_ELEMENTS(mixed));
    g_assert_cmpuint(op_list_get(list, find(list, "out"))->n_operands, ==, G_N_ELEMENTS(mixed));
    g_assert_cmpuint(op_list_get(list, find(list, "out"))->op.m, ==, MIXED_TOKENS);
}

static void test_what_outlives_the_layer_is_kept(void) {
    static const char *const kept[] = {"k_rope", "v", "ffn_add"};
    g_autoptr(OpList) list = op_list_layer(&models[0], &mixed_batch, 2);
    guint n_kept = 0;
    for (guint i = 0; i < list->ops->len; i++)
        n_kept += op_list_get(list, i)->kept ? 1 : 0;
    g_assert_cmpuint(n_kept, ==, G_N_ELEMENTS(kept));
    for (gsize i = 0; i < G_N_ELEMENTS(kept); i++)
        g_assert_true(op_list_get(list, find(list, kept[i]))->kept);
}

static void test_only_ranks_that_share_communicate(void) {
    for (guint tp = 1; tp <= 2; tp++) {
        g_autoptr(OpList) list = op_list_layer(&models[0], &mixed_batch, tp);
        guint communications = 0;
        for (guint i = 0; i < list->ops->len; i++)
            communications += op_list_get(list, i)->on_network ? 1 : 0;
        g_assert_cmpuint(communications, ==, tp == 1 ? 0 : 2);
    }
}

static void test_no_tokens_need_no_operators(void) {
    const BatchShape nothing = {NULL, 0, 0};
    g_autoptr(OpList) list = op_list_layer(&models[0], &nothing, 2);
    g_assert_cmpuint(list->ops->len, ==, 0);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/op_list/work_and_weights_are_the_layers",
                    test_work_and_weights_are_the_layers);
    g_test_add_func("/op_list/producers_stand_before_their_readers",
                    test_producers_stand_before_their_readers);
    g_test_add_func("/op_list/operands_are_the_results_of_their_producers",
                    test_operands_are_the_results_of_their_producers);
    g_test_add_func("/op_list/scores_are_whole_matrices", test_scores_are_whole_matrices);
    g_test_add_func("/op_list/every_request_attends_alone", test_every_request_attends_alone);
    g_test_add_func("/op_list/what_outlives_the_layer_is_kept",
                    test_what_outlives_the_layer_is_kept);
    g_test_add_func("/op_list/only_ranks_that_share_communicate",
                    test_only_ranks_that_share_communicate);
    g_test_add_func("/op_list/no_tokens_need_no_operators", test_no_tokens_need_no_operators);
    return g_test_run();
}
