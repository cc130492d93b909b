/* The comparison of computed numbers: right ones pass, and a wrong, missing or misplaced one does
 * not. */
#include "actors/kernels/kernels.h"
#include "analysis/operators/operator_numbers.h"
#include "workloads/input_error.h"
#include <math.h>

static const OperatorSpec product = {
    .kind = OPERATOR_GEMM, .gemm = {9, 7, 33, DATA_TYPE_FP32}, .verify = TRUE, .seed = 3};

static void multiply(const GemmOptions *options) {
    const GemmShape *shape = &product.gemm;
    GemmSize size = {.m = shape->m,
                     .n = shape->n,
                     .k = shape->k,
                     .lda = shape->k,
                     .ldb = shape->n,
                     .ldc = shape->n};

    gemm_f32(&size, options->x, options->w, options->y, FALSE);
}

static void test_a_product_is_right_until_one_element_is_not(void) {
    g_autoptr(OperatorNumbers) numbers = operator_numbers_new(&product, NULL);
    GemmOptions options = {0};

    operator_numbers_gemm(numbers, &options);
    multiply(&options);
    OperatorCheck right = operator_numbers_check(numbers, NULL);
    g_assert_cmpuint(right.checked, ==, 63);
    g_assert_cmpuint(right.elements, ==, 63);
    g_assert_cmpfloat(right.worst, <=, 1);
    ((float *)options.y)[40] += 1e-3F;
    g_assert_cmpfloat(operator_numbers_check(numbers, NULL).worst, >, 1);
    ((float *)options.y)[40] = NAN;
    g_assert_cmpfloat(operator_numbers_check(numbers, NULL).worst, >, 1);
}

static void test_what_was_never_computed_is_wrong(void) {
    const OperatorSpec attention = {.kind = OPERATOR_ATTENTION,
                                    .attention = {.heads = 2,
                                                  .kv_heads = 1,
                                                  .head_dim = 8,
                                                  .new_tokens = 3,
                                                  .past_tokens = 4,
                                                  .batch = 1,
                                                  .type = DATA_TYPE_FP16,
                                                  .variant = ATTENTION_MT},
                                    .seed = 1};
    const OperatorSpec ring = {.kind = OPERATOR_ALL_REDUCE, .ranks = 3, .bytes = 40, .seed = 1};
    const OperatorSpec *const specs[] = {&product, &attention, &ring};
    AttentionBlocks blocks = {.columns = 128};

    for (gsize i = 0; i < G_N_ELEMENTS(specs); i++) {
        g_autoptr(OperatorNumbers) numbers = operator_numbers_new(specs[i], NULL);
        g_assert_cmpfloat(operator_numbers_check(numbers, &blocks).worst, >, 1);
    }
}

static void test_types_without_numbers_are_refused(void) {
    OperatorSpec spec = product;
    g_autoptr(GError) error = NULL;

    spec.gemm.type = DATA_TYPE_BF16;
    g_assert_null(operator_numbers_new(&spec, &error));
    g_assert_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT);
    g_assert_cmpstr(error->message, ==,
                    "--verify: numbers are computed in 'fp16' and 'fp32', not in 'bf16'");
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/operator-numbers/product", test_a_product_is_right_until_one_element_is_not);
    g_test_add_func("/operator-numbers/missing", test_what_was_never_computed_is_wrong);
    g_test_add_func("/operator-numbers/types", test_types_without_numbers_are_refused);
    return g_test_run();
}
