/* Layers on a wafer: the work adds up to the model's, the lists have the published shape, and
 * priced by the formulas of WaferLLM's section 6 they give its table 4. */
#include "policies/mesh/reduce_tree.h"
#include "policies/mesh/tiles.h"
#include "policies/mesh/wafer_layer.h"
#include "tests/unit/wafer_fixture.h"
#include "workloads/input_error.h"

#include <math.h>

static guint count(const GArray *ops, WaferOpKind kind) {
    guint n = 0;
    for (guint i = 0; i < ops->len; i++)
        n += g_array_index(ops, WaferOp, i).kind == kind;
    return n;
}

/* Multiply-accumulates of all cores together. */
static double macs(const GArray *ops) {
    double sum = 0;
    for (guint i = 0; i < ops->len; i++) {
        const WaferOp *op = &g_array_index(ops, WaferOp, i);
        if (op->kind == WAFER_LOCAL_GEMV)
            sum += (double)op->columns * op->rows * (double)(op->k * op->n);
        else if (op->kind == WAFER_GEMM_LOOP || op->kind == WAFER_LOCAL_GEMM)
            sum += (double)op->m * (double)op->k * (double)op->n;
    }
    return sum;
}

static double attention_weights(const Model *model) {
    double q = (double)(model->heads * model->head_dim);
    double kv = (double)(model->kv_heads * model->head_dim);
    return (double)model->hidden * (2 * q + 2 * kv);
}

static double expert_weights(const Model *model) {
    return 3.0 * (double)model->hidden * (double)model->ffn;
}

static const char *const dense_models[] = {"tiny-llama", "llama-3-8b", "llama-2-13b", "qwen2-72b"};

/* Where the grid divides everything, decode multiplies by each weight once, and each of the query's
 * dimensions by the context twice. */
static void test_decode_works_through_every_weight_once(void) {
    static const guint sides[][2] = {{8, 8}, {16, 8}, {4, 16}};
    for (gsize i = 0; i < G_N_ELEMENTS(dense_models); i++) {
        g_autoptr(Model) model = shipped_model(dense_models[i]);
        if (model->ffn % 16 != 0 || model->hidden % 16 != 0)
            continue;
        for (gsize s = 0; s < G_N_ELEMENTS(sides); s++) {
            WaferPlan plan = {model, sides[s][0], sides[s][1], WAFER_WAFERLLM, 2};
            g_autoptr(GArray) ops = wafer_layer_decode(&plan, 1024);
            double q = (double)(model->heads * model->head_dim);
            /* a KV tile narrower than the query's stands for several heads: counted by the query's
             */
            g_assert_cmpfloat(macs(ops), ==,
                              attention_weights(model) + expert_weights(model) + 2 * q * 1024);
        }
    }
}

static void test_prefill_works_through_every_weight_for_every_token(void) {
    for (gsize i = 0; i < G_N_ELEMENTS(dense_models); i++) {
        g_autoptr(Model) model = shipped_model(dense_models[i]);
        for (guint system = 0; system < N_WAFER_SYSTEMS; system++) {
            WaferPlan plan = {model, 13, 11, (WaferSystem)system, 2};
            g_autoptr(GArray) ops = wafer_layer_prefill(&plan, 777);
            double q = (double)(model->heads * model->head_dim);
            double weights = attention_weights(model) + expert_weights(model);
            g_assert_cmpfloat(macs(ops), ==, 777 * weights + 2 * 777.0 * 777 * q);
        }
    }
}

/* A token's experts, not all: equal shares of the tokens go to each of the eight. */
static void test_prefill_of_experts_works_through_those_chosen(void) {
    g_autoptr(Model) model = shipped_model("mixtral-8x7b");
    WaferPlan plan = {model, 64, 64, WAFER_WAFERLLM, 2};
    g_autoptr(GArray) ops = wafer_layer_prefill(&plan, 512);
    double experts = 0, others = 0;
    for (guint i = 0; i < ops->len; i++) {
        const WaferOp *op = &g_array_index(ops, WaferOp, i);
        double work = (double)op->m * (double)op->k * (double)op->n;
        if (op->rows == 8)
            experts += 8 * work; /* eight bands at once */
        else
            others += work;
    }
    g_assert_cmpfloat(experts, ==, 512 * 2 * expert_weights(model));
    g_assert_cmpfloat(others, ==,
                      512 * (attention_weights(model) + 4096 * 8) + 2 * 512.0 * 512 * 4096);
    g_assert_cmpuint(count(ops, WAFER_ALL_TO_ALL), ==, 2);
}

/* Lengths and lines of the ten, where both sides differ: d = 512/256, q = 256, kv = 64, f = 896. */
static void test_decode_is_ten_allreduces(void) {
    static const struct {
        gboolean along_y;
        guint64 elements;
    } expected[] = {
        {TRUE, 1},   {TRUE, 256 + 2 * 64}, {FALSE, 32}, {TRUE, 1},       {TRUE, 1},
        {TRUE, 256}, {FALSE, 128},         {TRUE, 1},   {TRUE, 2 * 896}, {FALSE, 128},
    };
    g_autoptr(Model) model = shipped_model("llama-3-8b");
    WaferPlan plan = {model, 16, 32, WAFER_WAFERLLM, 3};
    g_autoptr(GArray) ops = wafer_layer_decode(&plan, 1000);
    gsize found = 0;
    for (guint i = 0; i < ops->len; i++) {
        const WaferOp *op = &g_array_index(ops, WaferOp, i);
        if (op->kind != WAFER_ALL_REDUCE)
            continue;
        g_assert_cmpuint(found, <, G_N_ELEMENTS(expected));
        g_assert_cmpint(op->along_y, ==, expected[found].along_y);
        g_assert_cmpuint(op->n, ==, expected[found].elements);
        g_assert_cmpuint(op->k_tree, ==, 3);
        found++;
    }
    g_assert_cmpuint(found, ==, G_N_ELEMENTS(expected));
    g_assert_cmpuint(count(ops, WAFER_SOFTWARE), ==, 1);
}

/* How many operators of each kind a layer has under each system. */
static void test_systems_differ_in_how_data_comes(void) {
    static const guint expected[N_WAFER_SYSTEMS][2][N_WAFER_OP_KINDS] = {
        /* all-reduce, gemv, loop, gemm, exchange, loads, all-to-all, software */
        {{10, 9, 0, 0, 0, 0, 0, 1}, {0, 0, 9, 0, 0, 0, 0, 0}},
        {{10, 9, 0, 0, 0, 0, 0, 1}, {0, 0, 0, 9, 9, 0, 0, 0}},
        {{0, 9, 0, 0, 0, 10, 0, 1}, {0, 0, 0, 9, 0, 10, 0, 0}},
    };
    g_autoptr(Model) model = shipped_model("llama-3-8b");
    for (guint system = 0; system < N_WAFER_SYSTEMS; system++) {
        WaferPlan plan = {model, 420, 420, (WaferSystem)system, 2};
        g_autoptr(GArray) decode = wafer_layer_decode(&plan, 4096);
        g_autoptr(GArray) prefill = wafer_layer_prefill(&plan, 4096);
        for (guint kind = 0; kind < N_WAFER_OP_KINDS; kind++) {
            g_assert_cmpuint(count(decode, (WaferOpKind)kind), ==, expected[system][0][kind]);
            g_assert_cmpuint(count(prefill, (WaferOpKind)kind), ==, expected[system][1][kind]);
        }
    }
}

static void test_only_scores_are_transposed(void) {
    g_autoptr(Model) model = shipped_model("llama-2-13b");
    WaferPlan plan = {model, 12, 18, WAFER_WAFERLLM, 2};
    g_autoptr(GArray) ops = wafer_layer_prefill(&plan, 300);
    for (guint i = 0; i < ops->len; i++) {
        const WaferOp *op = &g_array_index(ops, WaferOp, i);
        g_assert_cmpint(op->transposed, ==, g_str_equal(op->name, "scores"));
        g_assert_cmpuint(op->steps, ==, 36);
    }
}

/* The formulas: K-tree with a multicast back (WaferLLM section 6), a chain through which wavelets
 * stream, vector operations of 6 + 2 · ⌈n / 8⌉ cycles, loads that cross the grid once. */
#define RELAY 16.1

static double all_reduce_cycles(const WaferOp *op) {
    guint n = op->along_y ? op->rows : op->columns;
    double wavelets = ceil((double)op->n / 2);
    if (op->k_tree == 0)
        return (n - 1) * (RELAY + 2) + 2 * wavelets + n - 1;
    g_autoptr(ReduceTree) tree = reduce_tree_k(n, op->k_tree);
    guint farthest = MAX(tree->root, n - 1 - tree->root);
    return tree->stages * (RELAY + wavelets) + tree->hops + wavelets + farthest;
}

static double cycles(const WaferOp *op) {
    switch (op->kind) {
    case WAFER_ALL_REDUCE:
        return all_reduce_cycles(op);
    case WAFER_LOCAL_GEMV:
        return (double)op->k * (6 + 2 * ceil((double)op->n / 8));
    case WAFER_REMOTE_LOADS:
        return (double)op->loads * op->columns;
    case WAFER_SOFTWARE:
        return 0; /* added by those who have calibrated it */
    default:
        g_assert_not_reached();
    }
}

/* Tokens a second of table 4; below, the errors aimed at. */
static const struct {
    const char *model;
    guint side;
    double published[N_WAFER_SYSTEMS];
} table4[] = {
    {"llama-3-8b", 420, {2699.9, 418.3, 14.6}},  {"llama-3-8b", 660, {2243.3, 265.1, 11.4}},
    {"llama-2-13b", 420, {2039.2, 341.8, 11.0}}, {"llama-2-13b", 660, {1739.8, 233.7, 9.0}},
    {"qwen2-72b", 420, {839.7, 168.5, 3.2}},     {"qwen2-72b", 660, {787.1, 114.6, 3.4}},
};
static const double aims[N_WAFER_SYSTEMS] = {0.07, 0.10, 0.15};

static double layer_cycles(const Model *model, guint side, WaferSystem system) {
    WaferPlan plan = {model, side, side, system, 2};
    g_autoptr(GArray) ops = wafer_layer_decode(&plan, 4096);
    double sum = 0;
    for (guint i = 0; i < ops->len; i++)
        sum += cycles(&g_array_index(ops, WaferOp, i));
    return sum;
}

#define CLOCK_HZ 1.1e9
#define N_CALIBRATING 2 /* rows: LLaMA3-8B's, of WaferLLM */

/* What the published rates leave for software, on average. */
static double calibrated_software_cycles(void) {
    double sum = 0;
    for (gsize i = 0; i < N_CALIBRATING; i++) {
        g_autoptr(Model) model = shipped_model(table4[i].model);
        double published = CLOCK_HZ / table4[i].published[WAFER_WAFERLLM] / (double)model->layers;
        sum += published - layer_cycles(model, table4[i].side, WAFER_WAFERLLM);
    }
    return sum / N_CALIBRATING;
}

static void test_priced_lists_give_the_published_decode_rates(void) {
    double software = calibrated_software_cycles();
    g_test_message("software: %.0f cycles a layer", software);
    for (gsize i = 0; i < G_N_ELEMENTS(table4); i++) {
        g_autoptr(Model) model = shipped_model(table4[i].model);
        for (guint system = 0; system < N_WAFER_SYSTEMS; system++) {
            double layer = layer_cycles(model, table4[i].side, (WaferSystem)system) + software;
            double rate = CLOCK_HZ / (layer * (double)model->layers);
            double error = rate / table4[i].published[system] - 1;
            g_test_message("%s %u %s: %.1f, %+.1f %%", table4[i].model, table4[i].side,
                           wafer_system_names[system], rate, 100 * error);
            g_assert_cmpfloat(fabs(error), <=, aims[system]);
        }
    }
}

/* Both of a token's experts work at once on bands of an eighth of the rows: d' = 8 · d. */
static void test_decode_of_experts_runs_on_bands(void) {
    g_autoptr(Model) model = shipped_model("mixtral-8x7b");
    WaferPlan plan = {model, 64, 64, WAFER_WAFERLLM, 2};
    g_autoptr(GArray) ops = wafer_layer_decode(&plan, 512);
    g_assert_cmpuint(count(ops, WAFER_ALL_REDUCE), ==, 11); /* the router's too */
    g_assert_cmpuint(count(ops, WAFER_ALL_TO_ALL), ==, 2);
    double band = 0;
    for (guint i = 0; i < ops->len; i++) {
        const WaferOp *op = &g_array_index(ops, WaferOp, i);
        if (op->rows == 8 && op->kind == WAFER_LOCAL_GEMV)
            band += 64.0 * 8 * (double)(op->k * op->n);
        if (op->kind == WAFER_ALL_TO_ALL)
            g_assert_cmpuint(op->link_elements, ==,
                             g_str_equal(op->name, "dispatch") ? 4096 : 2 * 4096);
    }
    g_assert_cmpfloat(band, ==, expert_weights(model));
}

/* Of tokens with two of eight experts anywhere, 1 − (4·3)/(8·7) have one on the other half, and one
 * expert is there on average. 512 tokens, 64 elements wide on a core, half of them on each side. */
static void test_links_of_prefilled_experts(void) {
    g_autoptr(Model) model = shipped_model("mixtral-8x7b");
    WaferPlan plan = {model, 64, 64, WAFER_WAFERLLM, 2};
    g_autoptr(GArray) ops = wafer_layer_prefill(&plan, 512);
    for (guint i = 0; i < ops->len; i++) {
        const WaferOp *op = &g_array_index(ops, WaferOp, i);
        if (op->kind != WAFER_ALL_TO_ALL)
            continue;
        gboolean is_dispatch = g_str_equal(op->name, "dispatch");
        double expected = 256 * 64 * (is_dispatch ? 1 - 12.0 / 56 : 1);
        g_assert_cmpuint(op->link_elements, ==, (guint64)ceil(expected));
        g_assert_cmpuint(op->n, ==, is_dispatch ? 8 * 64 : 16 * 64);
    }
}

static void test_the_head_is_one_product_and_its_sums(void) {
    g_autoptr(Model) model = shipped_model("llama-3-8b");
    WaferPlan plan = {model, 64, 32, WAFER_T10, 2};
    g_autoptr(GArray) ops = wafer_head(&plan);
    g_assert_cmpuint(count(ops, WAFER_ALL_REDUCE), ==, 3);
    g_assert_cmpuint(count(ops, WAFER_LOCAL_GEMV), ==, 1);
    g_assert_cmpfloat(macs(ops), ==, 4096.0 * 128256);
    g_assert_cmpuint(g_array_index(ops, WaferOp, 2).n, ==, 128256 / 64);
    g_assert_cmpuint(g_array_index(ops, WaferOp, 2).k_tree, ==, 0);
}

static void test_grids_too_small_are_refused(void) {
    g_autoptr(Model) dense = shipped_model("llama-3-8b");
    g_autoptr(Model) mixture = shipped_model("mixtral-8x7b");
    const struct {
        WaferPlan plan;
        const char *message;
    } rows[] = {
        {{dense, 3, 3, WAFER_WAFERLLM, 2}, NULL},
        {{mixture, 3, 24, WAFER_WAFERLLM, 2}, NULL},
        {{dense, 2, 9, WAFER_WAFERLLM, 2},
         "a grid of 2 x 9 is too small: each side needs at least 3 cores"},
        {{dense, 9, 8, WAFER_WAFERLLM, 4},
         "a tree of 4 levels is too deep for a grid of 9 x 8: at most 3"},
        {{mixture, 30, 23, WAFER_WAFERLLM, 2},
         "model 'mixtral-8x7b' has 8 experts, each on at least 3 rows of its own: the grid needs "
         "24 rows, not 23"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_cmpint(wafer_plan_check(&rows[i].plan, &error), ==, rows[i].message == NULL);
        g_assert_cmpstr(error ? error->message : NULL, ==, rows[i].message);
        g_assert_true(error == NULL || error->domain == INPUT_ERROR);
    }
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mesh_wafer_layer/decode_works_through_every_weight_once",
                    test_decode_works_through_every_weight_once);
    g_test_add_func("/mesh_wafer_layer/prefill_works_through_every_weight_for_every_token",
                    test_prefill_works_through_every_weight_for_every_token);
    g_test_add_func("/mesh_wafer_layer/prefill_of_experts_works_through_those_chosen",
                    test_prefill_of_experts_works_through_those_chosen);
    g_test_add_func("/mesh_wafer_layer/decode_is_ten_allreduces", test_decode_is_ten_allreduces);
    g_test_add_func("/mesh_wafer_layer/systems_differ_in_how_data_comes",
                    test_systems_differ_in_how_data_comes);
    g_test_add_func("/mesh_wafer_layer/only_scores_are_transposed",
                    test_only_scores_are_transposed);
    g_test_add_func("/mesh_wafer_layer/priced_lists_give_the_published_decode_rates",
                    test_priced_lists_give_the_published_decode_rates);
    g_test_add_func("/mesh_wafer_layer/decode_of_experts_runs_on_bands",
                    test_decode_of_experts_runs_on_bands);
    g_test_add_func("/mesh_wafer_layer/links_of_prefilled_experts",
                    test_links_of_prefilled_experts);
    g_test_add_func("/mesh_wafer_layer/the_head_is_one_product_and_its_sums",
                    test_the_head_is_one_product_and_its_sums);
    g_test_add_func("/mesh_wafer_layer/grids_too_small_are_refused",
                    test_grids_too_small_are_refused);
    return g_test_run();
}
