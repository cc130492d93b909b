/* Weights drawn from a seed: their distributions, and that they are the same everywhere. */
#include "workloads/checkpoint.h"

#include <math.h>
#include <string.h>

static const Model small = {.name = "small",
                            .model_type = "qwen2",
                            .hidden = 64,
                            .layers = 2,
                            .heads = 8,
                            .kv_heads = 4,
                            .head_dim = 8,
                            .ffn = 100,
                            .vocab = 300,
                            .max_context = 128,
                            .qkv_bias = TRUE};

/* Small halves, none of them subnormal enough to matter. */
static double value_of(guint16 half) {
    double fraction = ldexp(1024 + (half & 0x3FF), (int)((half >> 10) & 0x1F) - 25);
    return half & 0x8000 ? -fraction : fraction;
}

/* Mean and deviation of n draws lie within five of their standard errors. */
static void assert_distribution(Tensor tensor, double mean, double deviation) {
    guint64 n = tensor.rows * tensor.columns;
    double sum = 0, squares = 0, bound = 5 * deviation / sqrt((double)n);
    for (guint64 i = 0; i < n; i++) {
        double value = value_of(tensor.values[i]) - mean;
        sum += value;
        squares += value * value;
    }
    g_assert_cmpfloat_with_epsilon(sum / (double)n, 0, bound);
    g_assert_cmpfloat_with_epsilon(sqrt(squares / (double)n), deviation, bound);
}

static void test_variances(void) {
    g_autoptr(Checkpoint) checkpoint = checkpoint_seeded(&small, 7);
    assert_distribution(checkpoint_embedding(checkpoint), 0, 1);
    assert_distribution(checkpoint_head(checkpoint), 0, 4 / sqrt(64));
    assert_distribution(checkpoint_final_norm(checkpoint), 1, 0.1);
    for (guint layer = 0; layer < 2; layer++) {
        assert_distribution(checkpoint_layer(checkpoint, layer, TENSOR_Q), 0, 2 / sqrt(64));
        assert_distribution(checkpoint_layer(checkpoint, layer, TENSOR_V), 0, 1 / sqrt(64));
        assert_distribution(checkpoint_layer(checkpoint, layer, TENSOR_DOWN), 0, 1 / sqrt(100));
        assert_distribution(checkpoint_layer(checkpoint, layer, TENSOR_POST_NORM), 1, 0.1);
        assert_distribution(checkpoint_layer(checkpoint, layer, TENSOR_K_BIAS), 0, 0.3);
    }
}

static gboolean is_same(Tensor a, Tensor b) {
    return a.rows == b.rows && a.columns == b.columns &&
           memcmp(a.values, b.values, a.rows * a.columns * sizeof a.values[0]) == 0;
}

static void test_seed_and_name_decide(void) {
    g_autoptr(Checkpoint) first = checkpoint_seeded(&small, 7);
    g_autoptr(Checkpoint) again = checkpoint_seeded(&small, 7);
    g_autoptr(Checkpoint) other = checkpoint_seeded(&small, 8);
    for (LayerTensor tensor = 0; tensor < N_LAYER_TENSORS; tensor++) {
        Tensor here = checkpoint_layer(first, 0, tensor);
        g_assert_true(is_same(here, checkpoint_layer(again, 0, tensor)));
        g_assert_false(is_same(here, checkpoint_layer(other, 0, tensor)));
        g_assert_false(is_same(here, checkpoint_layer(first, 1, tensor)));
    }
    g_assert_false(
        is_same(checkpoint_layer(first, 0, TENSOR_K), checkpoint_layer(first, 0, TENSOR_V)));
    g_assert_false(
        is_same(checkpoint_layer(first, 0, TENSOR_GATE), checkpoint_layer(first, 0, TENSOR_UP)));
}

/* More layers change nothing in those that were there. */
static void test_a_deeper_model_begins_alike(void) {
    Model deep = small;
    deep.layers = 3;
    g_autoptr(Checkpoint) shallow = checkpoint_seeded(&small, 7);
    g_autoptr(Checkpoint) deeper = checkpoint_seeded(&deep, 7);
    for (LayerTensor tensor = 0; tensor < N_LAYER_TENSORS; tensor++)
        g_assert_true(
            is_same(checkpoint_layer(shallow, 1, tensor), checkpoint_layer(deeper, 1, tensor)));
    g_assert_true(is_same(checkpoint_head(shallow), checkpoint_head(deeper)));
}

static void test_absent_tensors(void) {
    Model plain = small;
    plain.qkv_bias = FALSE;
    plain.tied_embeddings = TRUE;
    g_autoptr(Checkpoint) checkpoint = checkpoint_seeded(&plain, 7);
    for (LayerTensor tensor = TENSOR_Q_BIAS; tensor <= TENSOR_V_BIAS; tensor++)
        g_assert_cmpuint(checkpoint_layer(checkpoint, 1, tensor).rows, ==, 0);
    g_assert_true(checkpoint_head(checkpoint).values == checkpoint_embedding(checkpoint).values);
}

/* FNV-1a over the bits, least significant byte first. */
static guint64 hash_tensor(guint64 hash, Tensor tensor) {
    for (guint64 i = 0; i < tensor.rows * tensor.columns; i++)
        for (guint byte = 0; byte < 2; byte++)
            hash = (hash ^ (tensor.values[i] >> (8 * byte) & 0xFF)) *
                   G_GUINT64_CONSTANT(0x100000001B3);
    return hash;
}

/* The only oracle for "the same bits on every machine" is the value that one of them found. */
static void test_same_bits_on_every_machine(void) {
    g_autoptr(Checkpoint) checkpoint = checkpoint_seeded(&small, 7);
    guint64 hash = G_GUINT64_CONSTANT(0xCBF29CE484222325);
    hash = hash_tensor(hash, checkpoint_embedding(checkpoint));
    hash = hash_tensor(hash, checkpoint_final_norm(checkpoint));
    hash = hash_tensor(hash, checkpoint_head(checkpoint));
    for (guint layer = 0; layer < 2; layer++)
        for (LayerTensor tensor = 0; tensor < N_LAYER_TENSORS; tensor++)
            hash = hash_tensor(hash, checkpoint_layer(checkpoint, layer, tensor));
    g_assert_cmphex(hash, ==, G_GUINT64_CONSTANT(0x141F27A02EAF3CA));
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/checkpoint_seeded/variances", test_variances);
    g_test_add_func("/checkpoint_seeded/seed_and_name_decide", test_seed_and_name_decide);
    g_test_add_func("/checkpoint_seeded/a_deeper_model_begins_alike",
                    test_a_deeper_model_begins_alike);
    g_test_add_func("/checkpoint_seeded/absent_tensors", test_absent_tensors);
    g_test_add_func("/checkpoint_seeded/same_bits_on_every_machine",
                    test_same_bits_on_every_machine);
    return g_test_run();
}
