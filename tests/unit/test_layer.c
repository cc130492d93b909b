/* A layer from kernels: against one in double precision, and its tensor-parallel parts against the
 * whole. */
#include "actors/kernels/layer.h"
#include "workloads/random.h"

#include <math.h>
#include <string.h>

#define LLAMA                                                                                      \
    "{\"model_type\": \"llama\", \"hidden_size\": 48, \"intermediate_size\": 90,"                  \
    " \"num_hidden_layers\": 2, \"num_attention_heads\": 8, \"num_key_value_heads\": 4,"           \
    " \"head_dim\": 10, \"vocab_size\": 70, \"max_position_embeddings\": 512,"                     \
    " \"rope_theta\": 500000.0, \"rms_norm_eps\": 0.01}"
#define QWEN2                                                                                      \
    "{\"model_type\": \"qwen2\", \"hidden_size\": 64, \"intermediate_size\": 96,"                  \
    " \"num_hidden_layers\": 2, \"num_attention_heads\": 4, \"vocab_size\": 33,"                   \
    " \"max_position_embeddings\": 512, \"tie_word_embeddings\": true}"
static const char *const configs[] = {LLAMA, QWEN2};

enum { TOKENS = 5, SEED = 3 };

/* Values here are of the order of 1 and sums of some hundred terms: the float errors seen are below
 * 1e-6, and any mistake in a formula is far above this. */
#define TOLERANCE 1e-5

typedef struct Setting {
    Model *model;
    Checkpoint *checkpoint;
    RankShape whole; /* rank 0 of 1 */
} Setting;

static Setting setting_new(const char *config) {
    g_autoptr(GError) error = NULL;
    g_autoptr(YamlNode) root = yaml_load_text(config, "config.json", &error);
    g_assert_no_error(error);
    Setting setting = {.model = model_read(root, &error)};
    g_assert_no_error(error);
    setting.checkpoint = checkpoint_seeded(setting.model, SEED);
    setting.whole = (RankShape){setting.model, setting.checkpoint, 0, 1};
    return setting;
}

static void setting_clear(Setting *setting) {
    checkpoint_free(setting->checkpoint);
    model_free(setting->model);
}

static float *random_vector(RandomStream *stream, gsize n) {
    float *x = g_new(float, n);
    for (gsize i = 0; i < n; i++)
        x[i] = (float)random_normal(stream);
    return x;
}

static void assert_near(gsize n, const float *x, const double *expected) {
    for (gsize i = 0; i < n; i++)
        g_assert_cmpfloat(fabs((double)x[i] - expected[i]), <=,
                          TOLERANCE * (1 + fabs(expected[i])));
}

static double at(const Tensor *tensor, gsize i) {
    return (double)fp16_to_float(tensor->values[i]);
}

/* The layer once more, in double precision. All return newly allocated vectors. */
static double *normed_in_double(const Model *model, Tensor gain, const float *x) {
    double squares = 0, *y = g_new(double, model->hidden);
    for (gsize i = 0; i < model->hidden; i++)
        squares += (double)x[i] * (double)x[i];
    for (gsize i = 0; i < model->hidden; i++)
        y[i] = (double)x[i] * at(&gain, i) /
               sqrt(squares / (double)model->hidden + model->norm_epsilon);
    return y;
}

static double *linear_in_double(Tensor weights, const double *x) {
    double *y = g_new0(double, weights.rows);
    for (gsize i = 0; i < weights.rows; i++)
        for (gsize j = 0; j < weights.columns; j++)
            y[i] += at(&weights, i * weights.columns + j) * x[j];
    return y;
}

/* With bias, and turned unless 'position' is negative. */
static double *heads_in_double(const Setting *setting, LayerTensor tensor, const double *x,
                               double position) {
    Tensor weights = checkpoint_layer(setting->checkpoint, 0, tensor),
           bias = checkpoint_layer(setting->checkpoint, 0, tensor - TENSOR_Q + TENSOR_Q_BIAS);
    double *y = linear_in_double(weights, x);
    for (gsize i = 0; i < weights.rows && bias.rows > 0; i++)
        y[i] += at(&bias, i);
    if (position < 0)
        return y;
    gsize dim = setting->model->head_dim, half = dim / 2;
    for (gsize low = 0; low < weights.rows; low++) {
        if (low % dim >= half)
            continue;
        double angle =
            position * pow(setting->model->rope_theta, -2.0 * (double)(low % dim) / (double)dim);
        double first = y[low], second = y[low + half];
        y[low] = first * cos(angle) - second * sin(angle);
        y[low + half] = first * sin(angle) + second * cos(angle);
    }
    return y;
}

static double half_at(const GArray *halves, gsize i) {
    return (double)fp16_to_float(g_array_index(halves, guint16, i));
}

/* The last token's row of K or V is 'expected' as a half. */
static void assert_appended(const GArray *halves, gsize width, const double *expected) {
    for (gsize i = 0; i < width; i++)
        g_assert_cmpfloat(fabs(half_at(halves, halves->len - width + i) - expected[i]), <=,
                          0x1.01p-11 * fabs(expected[i]) + TOLERANCE);
}

static double *attended_in_double(const Model *model, const LayerKv *kv, const double *queries) {
    gsize dim = model->head_dim, width = model->kv_heads * dim;
    double *out = g_new0(double, model->heads *dim);
    for (gsize head = 0; head < model->heads; head++) {
        gsize kv_head = head * model->kv_heads / model->heads;
        double sum = 0;
        for (gsize t = 0; t < kv->tokens; t++) {
            double score = 0;
            for (gsize i = 0; i < dim; i++)
                score += queries[head * dim + i] * half_at(kv->keys, t * width + kv_head * dim + i);
            double weight = exp(score / sqrt((double)dim));
            sum += weight;
            for (gsize i = 0; i < dim; i++)
                out[head * dim + i] += weight * half_at(kv->values, t * width + kv_head * dim + i);
        }
        for (gsize i = 0; i < dim; i++)
            out[head * dim + i] /= sum;
    }
    return out;
}

static void assert_attention_half(const Setting *setting, guint64 position, const float *x,
                                  LayerKv *kv) {
    const Model *model = setting->model;
    g_autofree float *partial = g_new(float, model->hidden);
    layer_attention_half(&setting->whole, 0, position, x, kv, partial);
    g_autofree double *normed =
        normed_in_double(model, checkpoint_layer(setting->checkpoint, 0, TENSOR_INPUT_NORM), x);
    g_autofree double *q = heads_in_double(setting, TENSOR_Q, normed, (double)position),
                      *k = heads_in_double(setting, TENSOR_K, normed, (double)position),
                      *v = heads_in_double(setting, TENSOR_V, normed, -1);
    gsize width = model->kv_heads * model->head_dim;
    assert_appended(kv->keys, width, k);
    assert_appended(kv->values, width, v);
    g_autofree double *attended = attended_in_double(model, kv, q);
    g_autofree double *expected =
        linear_in_double(checkpoint_layer(setting->checkpoint, 0, TENSOR_O), attended);
    assert_near(model->hidden, partial, expected);
}

static void test_attention_half_is_its_formula(void) {
    RandomStream stream = random_stream(SEED, "attention half");
    for (gsize c = 0; c < G_N_ELEMENTS(configs); c++) {
        Setting setting = setting_new(configs[c]);
        LayerKv *kv = layer_kv_new();
        for (guint64 position = 0; position < TOKENS; position++) {
            g_autofree float *x = random_vector(&stream, setting.model->hidden);
            assert_attention_half(&setting, position, x, kv);
            g_assert_cmpuint(kv->tokens, ==, position + 1);
        }
        layer_kv_free(kv);
        setting_clear(&setting);
    }
}

static void test_feed_forward_half_is_its_formula(void) {
    RandomStream stream = random_stream(SEED, "feed-forward half");
    for (gsize c = 0; c < G_N_ELEMENTS(configs); c++) {
        Setting setting = setting_new(configs[c]);
        const Model *model = setting.model;
        const Checkpoint *weights = setting.checkpoint;
        g_autofree float *x = random_vector(&stream, model->hidden),
                         *partial = g_new(float, model->hidden);
        layer_feed_forward_half(&setting.whole, 1, x, partial);
        g_autofree double *normed =
            normed_in_double(model, checkpoint_layer(weights, 1, TENSOR_POST_NORM), x);
        g_autofree double *gate =
                              linear_in_double(checkpoint_layer(weights, 1, TENSOR_GATE), normed),
                          *up = linear_in_double(checkpoint_layer(weights, 1, TENSOR_UP), normed);
        for (gsize i = 0; i < model->ffn; i++)
            gate[i] *= up[i] / (1 + exp(-gate[i]));
        g_autofree double *expected =
            linear_in_double(checkpoint_layer(weights, 1, TENSOR_DOWN), gate);
        assert_near(model->hidden, partial, expected);
        setting_clear(&setting);
    }
}

static void test_embedding_and_logits_are_their_formulas(void) {
    for (gsize c = 0; c < G_N_ELEMENTS(configs); c++) {
        Setting setting = setting_new(configs[c]);
        const Model *model = setting.model;
        Tensor embedding = checkpoint_embedding(setting.checkpoint);
        g_autofree float *x = g_new(float, model->hidden), *logits = g_new(float, model->vocab);
        for (guint32 token = 0; token < model->vocab; token += 16) {
            layer_embed(&setting.whole, token, x);
            for (gsize i = 0; i < model->hidden; i++)
                g_assert_cmpfloat((double)x[i], ==, at(&embedding, token * model->hidden + i));
            layer_logits(&setting.whole, x, logits);
            g_autofree double *normed =
                normed_in_double(model, checkpoint_final_norm(setting.checkpoint), x);
            g_autofree double *expected =
                linear_in_double(checkpoint_head(setting.checkpoint), normed);
            assert_near(model->vocab, logits, expected);
        }
        setting_clear(&setting);
    }
}

/* Both halves of layer 1 on every rank: their sums in parts[0], their KV in kv[rank]. */
typedef struct Ranks {
    guint tp;
    float *attention[4], *feed_forward[4];
    LayerKv *kv[4];
} Ranks;

static Ranks ranks_run(const Setting *setting, guint tp, float *const *tokens) {
    Ranks ranks = {.tp = tp};
    gsize hidden = setting->model->hidden;
    for (guint rank = 0; rank < tp; rank++) {
        RankShape shape = {setting->model, setting->checkpoint, rank, tp};
        ranks.attention[rank] = g_new(float, hidden);
        ranks.feed_forward[rank] = g_new(float, hidden);
        ranks.kv[rank] = layer_kv_new();
        for (guint64 position = 0; position < TOKENS; position++)
            layer_attention_half(&shape, 1, position, tokens[position], ranks.kv[rank],
                                 ranks.attention[rank]);
        layer_feed_forward_half(&shape, 1, tokens[0], ranks.feed_forward[rank]);
    }
    layer_ring_sum(tp, hidden, ranks.attention);
    layer_ring_sum(tp, hidden, ranks.feed_forward);
    return ranks;
}

static void ranks_clear(Ranks *ranks) {
    for (guint rank = 0; rank < ranks->tp; rank++) {
        g_free(ranks->attention[rank]);
        g_free(ranks->feed_forward[rank]);
        layer_kv_free(ranks->kv[rank]);
    }
}

static void assert_same_halves(const GArray *a, const GArray *b) {
    g_assert_cmpmem(a->data, a->len * sizeof(guint16), b->data, b->len * sizeof(guint16));
}

/* What ranks compute differs from the whole by the order of sums only, and their KV not at all. */
static void assert_ranks_make_the_whole(const Setting *setting, const Ranks *whole,
                                        const Ranks *ranks) {
    for (gsize i = 0; i < setting->model->hidden; i++) {
        g_assert_cmpfloat(fabsf(ranks->attention[0][i] - whole->attention[0][i]), <=, 1e-5f);
        g_assert_cmpfloat(fabsf(ranks->feed_forward[0][i] - whole->feed_forward[0][i]), <=, 1e-5f);
    }
    for (guint rank = 0; rank < ranks->tp; rank++) {
        LayerKv *slice = layer_kv_slice(whole->kv[0], setting->model, rank, ranks->tp);
        g_assert_cmpuint(slice->tokens, ==, ranks->kv[rank]->tokens);
        assert_same_halves(slice->keys, ranks->kv[rank]->keys);
        assert_same_halves(slice->values, ranks->kv[rank]->values);
        layer_kv_free(slice);
    }
}

static void test_ranks_make_the_whole(void) {
    RandomStream stream = random_stream(SEED, "ranks");
    for (gsize c = 0; c < G_N_ELEMENTS(configs); c++) {
        Setting setting = setting_new(configs[c]);
        float *tokens[TOKENS];
        for (gsize i = 0; i < TOKENS; i++)
            tokens[i] = random_vector(&stream, setting.model->hidden);
        Ranks whole = ranks_run(&setting, 1, tokens);
        for (guint tp = 1; tp <= 4; tp *= 2) {
            Ranks ranks = ranks_run(&setting, tp, tokens);
            assert_ranks_make_the_whole(&setting, &whole, &ranks);
            ranks_clear(&ranks);
        }
        ranks_clear(&whole);
        for (gsize i = 0; i < TOKENS; i++)
            g_free(tokens[i]);
        setting_clear(&setting);
    }
}

static void test_ring_sum_is_the_sum(void) {
    enum { N = 13, MAX_TP = 5 };
    RandomStream stream = random_stream(SEED, "ring");
    for (guint tp = 1; tp <= MAX_TP; tp++) {
        float values[2][MAX_TP][N], *parts[2][MAX_TP];
        double sums[2][N] = {{0}};
        for (guint rank = 0; rank < tp; rank++)
            for (gsize i = 0; i < N; i++) {
                values[0][rank][i] = (float)random_below(&stream, 1000) - 500;
                values[1][rank][i] = (float)random_normal(&stream);
                for (int kind = 0; kind < 2; kind++) {
                    sums[kind][i] += (double)values[kind][rank][i];
                    parts[kind][rank] = values[kind][rank];
                }
            }
        layer_ring_sum(tp, N, parts[0]);
        layer_ring_sum(tp, N, parts[1]);
        for (gsize i = 0; i < N; i++) {
            g_assert_cmpfloat((double)values[0][0][i], ==, sums[0][i]);
            g_assert_cmpfloat(fabs((double)values[1][0][i] - sums[1][i]), <=, 1e-5);
        }
    }
}

/* 1 is lost beside 10^8, unless the large ones have met before. */
static void test_ring_sum_starts_a_chunk_at_its_rank(void) {
    float a[] = {1e8f, 1e8f, 1e8f}, b[] = {1, 1, 1}, c[] = {-1e8f, -1e8f, -1e8f};
    float *const parts[] = {a, b, c};
    layer_ring_sum(3, 3, parts);
    const float expected[] = {0, 0, 1};
    g_assert_cmpmem(a, sizeof a, expected, sizeof expected);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/layer/attention_half_is_its_formula", test_attention_half_is_its_formula);
    g_test_add_func("/layer/feed_forward_half_is_its_formula",
                    test_feed_forward_half_is_its_formula);
    g_test_add_func("/layer/embedding_and_logits_are_their_formulas",
                    test_embedding_and_logits_are_their_formulas);
    g_test_add_func("/layer/ranks_make_the_whole", test_ranks_make_the_whole);
    g_test_add_func("/layer/ring_sum_is_the_sum", test_ring_sum_is_the_sum);
    g_test_add_func("/layer/ring_sum_starts_a_chunk_at_its_rank",
                    test_ring_sum_starts_a_chunk_at_its_rank);
    return g_test_run();
}
