/* Kernels that work on one row: norm, softmax, rotary embedding, SiLU, attention and sampling,
 * against double precision with the bounds that their formulas give. */
#include "actors/kernels/kernels.h"
#include "workloads/random.h"

#include <math.h>
#include <string.h>

#define UNIT_ROUNDOFF 0x1p-24
/* What the C library's exponential, sine and power may err by, in roundings. */
#define LIBRARY_ROUNDINGS 2

static const gsize lengths[] = {1, 2, 7, 31, 32, 33, 64, 100, 1000, 4097};

static float *random_normals(RandomStream *stream, gsize n, double deviation) {
    float *values = g_new(float, n);
    for (gsize i = 0; i < n; i++)
        values[i] = (float)(deviation * random_normal(stream));
    return values;
}

/* |value − expected| ≤ 'roundings' of |expected|, and nothing else. */
static void assert_close(float value, double expected, double roundings) {
    g_assert_cmpfloat(fabs((double)value - expected), <=,
                      roundings * UNIT_ROUNDOFF * fabs(expected) + 1e-38);
}

/* The sum of n squares errs by n roundings in the worst order, of which the root halves the share;
 * five operations more. */
static void test_rmsnorm_is_its_formula(void) {
    RandomStream stream = random_stream(1, "rmsnorm");
    for (gsize l = 0; l < G_N_ELEMENTS(lengths); l++) {
        gsize n = lengths[l];
        g_autofree float *x = random_normals(&stream, n, 3), *y = g_new(float, n),
                         *gain = random_normals(&stream, n, 1);
        double squares = 0;
        for (gsize i = 0; i < n; i++)
            squares += (double)x[i] * (double)x[i];
        double scale = 1 / sqrt(squares / (double)n + (double)1e-5f);
        rmsnorm(n, x, gain, 1e-5f, y);
        for (gsize i = 0; i < n; i++)
            assert_close(y[i], (double)x[i] * scale * (double)gain[i], (double)n / 2 + 6);
    }
}

static void test_rmsnorm_of_nothing_is_nothing(void) {
    const float zeros[3] = {0}, gain[3] = {1, 2, 3};
    float y[3] = {9, 9, 9};
    rmsnorm(3, zeros, gain, 1e-6f, y);
    g_assert_cmpmem(y, sizeof y, zeros, sizeof zeros);
}

/* A difference d from the maximum errs by d roundings in the exponent; the tree by n/32 + 5. */
static void test_softmax_is_its_formula(void) {
    RandomStream stream = random_stream(2, "softmax");
    for (gsize l = 0; l < G_N_ELEMENTS(lengths); l++) {
        gsize n = lengths[l];
        g_autofree float *x = random_normals(&stream, n, 3), *y = g_memdup2(x, n * sizeof *x);
        double largest = (double)x[argmax(n, x)], sum = 0, total = 0, spread = 0;
        for (gsize i = 0; i < n; i++) {
            sum += exp((double)x[i] - largest);
            spread = MAX(spread, largest - (double)x[i]);
        }
        softmax(n, y);
        double roundings = 2 * spread + (double)n / 32 + 5 + 2 * LIBRARY_ROUNDINGS + 3;
        for (gsize i = 0; i < n; i++) {
            assert_close(y[i], exp((double)x[i] - largest) / sum, roundings);
            total += (double)y[i];
        }
        g_assert_cmpfloat(fabs(total - 1), <=, roundings * UNIT_ROUNDOFF);
    }
}

/* Neighbours pairwise down to one lane, as a recursion. */
static float tree_sum(gsize n, const float *x) {
    return n == 1 ? x[0] : tree_sum(n / 2, x) + tree_sum(n / 2, x + n / 2);
}

static void test_softmax_sums_by_the_tree_over_32_lanes(void) {
    RandomStream stream = random_stream(2, "softmax sum");
    for (gsize l = 0; l < G_N_ELEMENTS(lengths); l++) {
        gsize n = lengths[l];
        g_autofree float *x = random_normals(&stream, n, 2), *y = g_memdup2(x, n * sizeof *x);
        float lanes[32] = {0}, largest = x[argmax(n, x)];
        for (gsize lane = 0; lane < 32; lane++)
            for (gsize i = lane; i < n; i += 32)
                lanes[lane] += expf(x[i] - largest);
        float scale = 1 / tree_sum(32, lanes);
        softmax(n, y);
        for (gsize i = 0; i < n; i++)
            g_assert_cmpfloat(y[i], ==, expf(x[i] - largest) * scale);
    }
}

static void test_softmax_bears_large_and_equal_scores(void) {
    float equal[48], far[] = {3e38f, -3e38f, 3e38f};
    for (gsize i = 0; i < G_N_ELEMENTS(equal); i++)
        equal[i] = 1e30f;
    softmax(G_N_ELEMENTS(equal), equal);
    for (gsize i = 0; i < G_N_ELEMENTS(equal); i++)
        g_assert_cmpfloat(equal[i], ==, 1.0f / 48);
    softmax(3, far);
    g_assert_true(far[0] == 0.5f && far[1] == 0 && far[2] == 0.5f);
    softmax(0, NULL);
}

/* A table of angles in double precision, as implementations with a table keep them. The angle of a
 * pair errs by three roundings and the library's; the rest is relative to the pair's length. */
static void test_rope_agrees_with_a_table(void) {
    static const guint64 positions[] = {0, 1, 2, 17, 4095, 131071};
    static const double thetas[] = {1e4, 5e5};
    enum { HEADS = 3, DIM = 16, HALF = DIM / 2 };
    RandomStream stream = random_stream(3, "rope");
    for (gsize c = 0; c < G_N_ELEMENTS(positions) * G_N_ELEMENTS(thetas); c++) {
        guint64 position = positions[c / 2];
        g_autofree float *x = random_normals(&stream, HEADS * DIM, 1),
                         *y = g_memdup2(x, HEADS * DIM * sizeof *x);
        rope(HEADS, DIM, position, (float)thetas[c % 2], y);
        for (gsize j = 0; j < HEADS * DIM; j++) {
            gsize i = j % HALF, low = j - j % DIM + i, high = low + HALF;
            double angle = (double)position * pow(thetas[c % 2], -2.0 * (double)i / DIM);
            double partner = j == low ? -(double)x[high] : (double)x[low];
            double expected = (double)x[j] * cos(angle) + partner * sin(angle);
            double length = hypot((double)x[low], (double)x[high]);
            double bound = length * UNIT_ROUNDOFF * ((3 + LIBRARY_ROUNDINGS) * angle + 6);
            g_assert_cmpfloat(fabs((double)y[j] - expected), <=, bound);
        }
    }
}

/* What rotary embedding is for: scores depend on distances only. */
static void test_rotated_products_depend_on_the_distance(void) {
    enum { DIM = 64 };
    RandomStream stream = random_stream(4, "rope");
    g_autofree float *q = random_normals(&stream, DIM, 1), *k = random_normals(&stream, DIM, 1);
    double products[3];
    for (gsize i = 0; i < G_N_ELEMENTS(products); i++) {
        float q_here[DIM], k_here[DIM];
        memcpy(q_here, q, sizeof q_here);
        memcpy(k_here, k, sizeof k_here);
        rope(1, DIM, 40 * i + 7, 10000, q_here);
        rope(1, DIM, 40 * i, 10000, k_here);
        products[i] = 0;
        for (gsize j = 0; j < DIM; j++)
            products[i] += (double)q_here[j] * (double)k_here[j];
    }
    g_assert_cmpfloat(fabs(products[1] - products[0]), <=, 1e-4);
    g_assert_cmpfloat(fabs(products[2] - products[0]), <=, 1e-4);
}

static void test_silu_mul_and_residual_are_their_formulas(void) {
    const float gates[] = {-200, -20, -1, -0.0f, 0, 0.5f, 3, 90, 200};
    for (gsize i = 0; i < G_N_ELEMENTS(gates); i++) {
        const float up = -1.25f;
        float y, sum = 0.1f;
        silu_mul(1, &gates[i], &up, &y);
        double expected = (double)gates[i] / (1 + exp(-(double)gates[i])) * (double)up;
        /* beyond the range of exp the true value, below 1e-36, is given as 0 */
        if (fabs(expected) < 1e-30)
            g_assert_cmpfloat(fabsf(y), <, 1e-30f);
        else
            assert_close(y, expected, LIBRARY_ROUNDINGS + 4);
        residual_add(1, &gates[i], &sum);
        assert_close(sum, (double)0.1f + (double)gates[i], 1);
    }
}

typedef struct AttentionCase {
    gsize dim, context, stride;
    double sharpness; /* of the scores */
} AttentionCase;

static guint16 *random_halves(RandomStream *stream, gsize n) {
    g_autofree float *values = random_normals(stream, n, 1);
    guint16 *halves = g_new(guint16, n);
    fp16_from_floats(halves, values, n);
    return halves;
}

/* out[i] and Σ weight·|V[i]|, by the definition. Returns the largest |score|. */
static double attend_in_double(const AttentionInput *input, double *out, double *magnitude) {
    g_autofree double *scores = g_new0(double, input->context);
    double largest = -INFINITY, reach = 0, sum = 0;
    for (gsize t = 0; t < input->context; t++) {
        double absolute = 0;
        for (gsize i = 0; i < input->dim; i++) {
            double key = (double)fp16_to_float(input->keys[t * input->stride + i]);
            scores[t] += (double)input->query[i] * key / sqrt((double)input->dim);
            absolute += fabs((double)input->query[i] * key) / sqrt((double)input->dim);
        }
        largest = MAX(largest, scores[t]);
        reach = MAX(reach, absolute);
    }
    for (gsize t = 0; t < input->context; t++)
        sum += exp(scores[t] - largest);
    for (gsize i = 0; i < input->dim; i++) {
        out[i] = magnitude[i] = 0;
        for (gsize t = 0; t < input->context; t++) {
            double value = (double)fp16_to_float(input->values[t * input->stride + i]);
            out[i] += exp(scores[t] - largest) / sum * value;
            magnitude[i] += exp(scores[t] - largest) / sum * fabs(value);
        }
    }
    return reach;
}

/* Each weight errs by the rounding of two scores (dim/8 + 6 of their absolute sum, and of their
 * difference), the exponential's, and up to 2·context sums, twice for numerator and denominator. */
static void assert_attention(AttentionVariant variant, const AttentionInput *input) {
    g_autofree double *expected = g_new(double, input->dim), *magnitude = g_new(double, input->dim);
    double reach = attend_in_double(input, expected, magnitude);
    g_autofree float *out = g_new(float, input->dim);
    attention(variant, input, out);
    double roundings = 4 * reach * ((double)input->dim / 8 + 8) + 2 * LIBRARY_ROUNDINGS +
                       2 * (double)input->context + 8;
    for (gsize i = 0; i < input->dim; i++)
        g_assert_cmpfloat(fabs((double)out[i] - expected[i]), <=,
                          roundings * UNIT_ROUNDOFF * magnitude[i]);
}

static void test_attention_is_its_formula_in_all_variants(void) {
    static const AttentionCase cases[] = {
        {1, 1, 1, 1},     {8, 1, 8, 1},       {16, 63, 16, 1},      {16, 64, 48, 1},
        {16, 65, 32, 10}, {128, 300, 128, 1}, {80, 129, 3 * 80, 5}, {7, 1000, 9, 1},
    };
    RandomStream stream = random_stream(5, "attention");
    for (gsize c = 0; c < G_N_ELEMENTS(cases); c++) {
        const AttentionCase *row = &cases[c];
        gsize length = (row->context - 1) * row->stride + row->dim;
        g_autofree float *query = random_normals(&stream, row->dim, row->sharpness);
        g_autofree guint16 *keys = random_halves(&stream, length),
                           *values = random_halves(&stream, length);
        AttentionInput input = {row->dim, row->context, row->stride, query, keys, values};
        for (int variant = ATTENTION_UNFUSED; variant <= ATTENTION_MT; variant++)
            assert_attention((AttentionVariant)variant, &input);
    }
}

/* Rising scores make Flash rescale at every block; falling ones never. */
static void test_attention_bears_scores_in_any_order(void) {
    enum { CONTEXT = 256 };
    const float query = 1;
    guint16 keys[CONTEXT], values[CONTEXT];
    for (int falling = 0; falling <= 1; falling++) {
        for (int t = 0; t < CONTEXT; t++) {
            keys[t] = fp16_from_float((float)(falling ? CONTEXT - t : t));
            values[t] = fp16_from_float((float)(t % 7) - 3);
        }
        AttentionInput input = {1, CONTEXT, 1, &query, keys, values};
        for (int variant = ATTENTION_UNFUSED; variant <= ATTENTION_MT; variant++)
            assert_attention((AttentionVariant)variant, &input);
    }
}

static void test_argmax_takes_the_first_of_equals(void) {
    const float x[] = {-1, 3, 2, 3, -5}, negative[] = {-INFINITY, -2, -2};
    g_assert_cmpuint(argmax(5, x), ==, 1);
    g_assert_cmpuint(argmax(1, x), ==, 0);
    g_assert_cmpuint(argmax(3, negative), ==, 1);
}

/* The share of each token over many positions, against softmax over the k best: within five
 * standard deviations of the binomial. The tie between tokens 1 and 4 for third place goes to 1. */
static void test_draws_follow_the_softmax_of_the_k_best(void) {
    enum { N = 6, DRAWS = 20000 };
    const float logits[N] = {2, 1, 3, -4, 1, 0.5f};
    static const gsize ranks[] = {2, 0, 1, 4, 5, 3};
    static const struct {
        gsize top_k;
        float temperature;
    } cases[] = {{3, 1}, {3, 0.5f}, {2, 3}, {N, 2}, {100, 1}, {3, 1e30f}, {3, INFINITY}};
    for (gsize c = 0; c < G_N_ELEMENTS(cases); c++) {
        gsize k = MIN(cases[c].top_k, N);
        double weights[N] = {0}, sum = 0;
        for (gsize i = 0; i < k; i++)
            sum += weights[ranks[i]] = exp((double)logits[ranks[i]] / (double)cases[c].temperature);
        guint counts[N] = {0};
        for (guint i = 0; i < DRAWS; i++)
            counts[sample_token(N, logits,
                                &(Sampling){cases[c].top_k, cases[c].temperature, 1, c, i})]++;
        for (gsize i = 0; i < N; i++) {
            double share = weights[i] / sum, deviation = sqrt(share * (1 - share) / DRAWS);
            g_assert_cmpfloat(fabs(counts[i] / (double)DRAWS - share), <=, 5 * deviation);
        }
    }
}

/* At infinite temperature all of the k best appear, and no other: sorting is the second way. */
static void test_the_k_best_of_many_are_found(void) {
    enum { N = 500, K = 40 };
    RandomStream stream = random_stream(6, "sampling");
    float logits[N];
    for (gsize i = 0; i < N; i++)
        logits[i] = (float)random_below(&stream, 100);
    gboolean seen[N] = {FALSE};
    for (guint i = 0; i < 2000; i++)
        seen[sample_token(N, logits, &(Sampling){K, INFINITY, 7, 0, i})] = TRUE;
    for (gsize i = 0; i < N; i++) {
        guint better = 0;
        for (gsize j = 0; j < N; j++)
            better += logits[j] > logits[i] || (logits[j] == logits[i] && j < i);
        g_assert_true(seen[i] == (better < K));
    }
}

static void test_cold_draws_are_the_argmax(void) {
    const float logits[] = {0.25f, 0.5f, 0.5f, -1};
    for (guint i = 0; i < 100; i++) {
        g_assert_cmpuint(sample_token(4, logits, &(Sampling){1, 1, 3, 0, i}), ==, 1);
        g_assert_cmpuint(sample_token(4, logits, &(Sampling){4, 0, 3, 0, i}), ==, 1);
    }
    /* next to 0 the two largest share, and only they */
    for (guint i = 0; i < 100; i++)
        g_assert_cmpuint(sample_token(4, logits, &(Sampling){4, 1e-6f, 3, 0, i}) - 1, <=, 1);
}

/* The same draw for the same key, whatever was drawn before; other keys draw otherwise. */
static void test_draws_are_keyed_by_seed_request_and_position(void) {
    enum { N = 1024 };
    const float flat[N] = {0};
    const Sampling key = {N, 1, 5, 6, 7};
    gsize first = sample_token(N, flat, &key);
    const Sampling others[] = {{N, 1, 6, 6, 7}, {N, 1, 5, 7, 7}, {N, 1, 5, 6, 8}, {N, 1, 5, 7, 6}};
    for (gsize i = 0; i < G_N_ELEMENTS(others); i++)
        g_assert_cmpuint(sample_token(N, flat, &others[i]), !=, first);
    g_assert_cmpuint(sample_token(N, flat, &key), ==, first);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/rmsnorm/is_its_formula", test_rmsnorm_is_its_formula);
    g_test_add_func("/rmsnorm/of_nothing_is_nothing", test_rmsnorm_of_nothing_is_nothing);
    g_test_add_func("/softmax/is_its_formula", test_softmax_is_its_formula);
    g_test_add_func("/softmax/sums_by_the_tree_over_32_lanes",
                    test_softmax_sums_by_the_tree_over_32_lanes);
    g_test_add_func("/softmax/bears_large_and_equal_scores",
                    test_softmax_bears_large_and_equal_scores);
    g_test_add_func("/rope/agrees_with_a_table", test_rope_agrees_with_a_table);
    g_test_add_func("/rope/rotated_products_depend_on_the_distance",
                    test_rotated_products_depend_on_the_distance);
    g_test_add_func("/silu_mul/and_residual_are_their_formulas",
                    test_silu_mul_and_residual_are_their_formulas);
    g_test_add_func("/attention/is_its_formula_in_all_variants",
                    test_attention_is_its_formula_in_all_variants);
    g_test_add_func("/attention/bears_scores_in_any_order",
                    test_attention_bears_scores_in_any_order);
    g_test_add_func("/sampling/argmax_takes_the_first_of_equals",
                    test_argmax_takes_the_first_of_equals);
    g_test_add_func("/sampling/draws_follow_the_softmax_of_the_k_best",
                    test_draws_follow_the_softmax_of_the_k_best);
    g_test_add_func("/sampling/the_k_best_of_many_are_found", test_the_k_best_of_many_are_found);
    g_test_add_func("/sampling/cold_draws_are_the_argmax", test_cold_draws_are_the_argmax);
    g_test_add_func("/sampling/draws_are_keyed_by_seed_request_and_position",
                    test_draws_are_keyed_by_seed_request_and_position);
    return g_test_run();
}
