/* The single-process forward pass: against one written from the formulas, in double precision and
 * without a KV cache; and that it depends on all that it should depend on. */
#include "actors/kernels/reference.h"

#include "tests/unit/naive_model.h"
#include "tests/unit/safetensors_writer.h"
#include "workloads/checkpoint_layout.h"

#include <glib/gstdio.h>
#include <math.h>
#include <unistd.h>

#define SEED 13 /* one of which no two largest logits come close */
#define N_REQUESTS 4
#define N_PROMPT 20
#define N_OUTPUT 12
#define N_TOKENS (N_PROMPT + N_OUTPUT)

static const char *const model_names[] = {"tiny-llama", "tiny-qwen2"};
static const Sampling greedy = {.top_k = 1, .temperature = 1};

static Model *load_model(const char *name) {
    g_autofree char *file = g_strconcat(name, ".json", NULL);
    g_autofree char *path =
        g_test_build_filename(G_TEST_DIST, "..", "workloads", "models", file, NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(YamlNode) root = yaml_load_file(path, &error);
    g_assert_no_error(error);
    Model *model = model_read(root, &error);
    g_assert_no_error(error);
    return model;
}

/* A model, its weights, and a prompt followed by what is generated. */
typedef struct Setting {
    Model *model;
    Checkpoint *checkpoint;
    guint32 tokens[N_TOKENS];
    ReferenceRun run;
} Setting;

static void generate(Setting *setting, guint tp, guint64 request) {
    reference_run_clear(&setting->run);
    reference_prompt(setting->model, SEED, request, setting->tokens, N_PROMPT);
    setting->run = reference_generate(&(RankShape){setting->model, setting->checkpoint, 0, tp},
                                      setting->tokens, N_PROMPT, N_OUTPUT, &greedy);
    memcpy(setting->tokens + N_PROMPT, setting->run.tokens, sizeof(guint32) * N_OUTPUT);
}

static Setting setting_of(const char *name) {
    Setting setting = {.model = load_model(name)};
    setting.checkpoint = checkpoint_seeded(setting.model, SEED);
    return setting;
}

static void setting_clear(Setting *setting) {
    reference_run_clear(&setting->run);
    checkpoint_free(setting->checkpoint);
    model_free(setting->model);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Setting, setting_clear)

static float *logits_of(const Setting *setting, guint tp) {
    RankShape shape = {setting->model, setting->checkpoint, 0, tp};
    float *logits = g_new(float, N_TOKENS * setting->model->vocab);
    reference_logits(&shape, setting->tokens, N_TOKENS, logits);
    return logits;
}

/* The largest difference between the logits of two ways to sum. */
static float largest_difference(const Setting *setting, const float *a, const float *b) {
    float largest = 0;
    for (guint64 i = 0; i < N_TOKENS * setting->model->vocab; i++)
        largest = fmaxf(largest, fabsf(a[i] - b[i]));
    return largest;
}

static void assert_same_tokens(const ReferenceRun *a, const ReferenceRun *b) {
    g_assert_cmpuint(a->n, ==, b->n);
    for (guint i = 0; i < a->n; i++)
        g_assert_cmpuint(a->tokens[i], ==, b->tokens[i]);
}

static gboolean is_same_run(const ReferenceRun *a, const ReferenceRun *b) {
    return a->n == b->n && memcmp(a->tokens, b->tokens, a->n * sizeof(guint32)) == 0;
}

static void assert_splits_agree(Setting *setting, guint64 request) {
    generate(setting, 1, request);
    g_autofree float *expected = logits_of(setting, 1);
    for (guint tp = 2; tp <= 4; tp *= 2) {
        ReferenceRun split =
            reference_generate(&(RankShape){setting->model, setting->checkpoint, 0, tp},
                               setting->tokens, N_PROMPT, N_OUTPUT, &greedy);
        assert_same_tokens(&split, &setting->run);
        reference_run_clear(&split);
        g_autofree float *logits = logits_of(setting, tp);
        float difference = largest_difference(setting, logits, expected);
        g_test_message("tp %u: largest difference %g, smallest gap %g, largest logit %g", tp,
                       (double)difference, (double)setting->run.smallest_gap,
                       (double)setting->run.largest_logit);
        g_assert_cmpfloat(difference, >, 0); /* they did sum in another order */
        g_assert_cmpfloat(setting->run.smallest_gap, >, 10 * difference);
    }
}

static void test_every_tp_gives_the_same_tokens(void) {
    for (gsize m = 0; m < G_N_ELEMENTS(model_names); m++) {
        g_auto(Setting) setting = setting_of(model_names[m]);
        for (guint64 request = 0; request < N_REQUESTS; request++)
            assert_splits_agree(&setting, request);
    }
}

/* Logits lie within 2^-11 of the largest: floats lose far less, but where K or V lies between two
 * halves, one of the passes may take the other. */
static void test_the_formulas_give_the_same_tokens(gconstpointer name) {
    g_auto(Setting) setting = setting_of(name);
    generate(&setting, 1, 0);
    guint64 vocab = setting.model->vocab;
    g_autofree float *logits = logits_of(&setting, 1);
    NaiveModel naive = {setting.model, setting.checkpoint, N_TOKENS};
    g_autofree double *expected = naive_logits(&naive, setting.tokens);
    double largest = 0;
    for (guint64 i = 0; i < N_TOKENS * vocab; i++)
        largest = fmax(largest, fabs((double)logits[i] - expected[i]));
    g_test_message("largest difference %g, smallest gap %g", largest,
                   (double)setting.run.smallest_gap);
    g_assert_cmpfloat(largest, <, 0x1p-11 * (double)setting.run.largest_logit);
    for (guint i = 0; i < N_OUTPUT; i++) {
        const double *row = expected + (N_PROMPT - 1 + i) * vocab;
        guint64 best = 0;
        for (guint64 token = 1; token < vocab; token++)
            best = row[token] > row[best] ? token : best;
        g_assert_cmpuint(best, ==, setting.run.tokens[i]);
    }
}

/* The facts that a run records, from its logits. */
static void test_gap_and_largest_logit(void) {
    g_auto(Setting) setting = setting_of("tiny-qwen2");
    generate(&setting, 1, 0);
    g_autofree float *logits = logits_of(&setting, 1);
    float smallest_gap = INFINITY, largest = 0;
    for (guint i = 0; i < N_OUTPUT; i++) {
        const float *row = logits + (N_PROMPT - 1 + i) * setting.model->vocab;
        for (guint64 token = 0; token < setting.model->vocab; token++) {
            largest = fmaxf(largest, fabsf(row[token]));
            if (token != setting.run.tokens[i])
                smallest_gap = fminf(smallest_gap, row[setting.run.tokens[i]] - row[token]);
        }
    }
    g_assert_cmpfloat(setting.run.smallest_gap, ==, smallest_gap);
    g_assert_cmpfloat(setting.run.largest_logit, ==, largest);
}

/* "dtype" and "shape" of a tensor of halves. Caller frees. */
static char *form_of(const TensorSpec *spec) {
    if (tensor_spec_is_vector(spec))
        return g_strdup_printf("\"dtype\": \"F16\", \"shape\": [%" G_GUINT64_FORMAT "]",
                               spec->columns);
    return g_strdup_printf("\"dtype\": \"F16\", \"shape\": [%" G_GUINT64_FORMAT
                           ", %" G_GUINT64_FORMAT "]",
                           spec->rows, spec->columns);
}

static void write_checkpoint(const Setting *setting, const char *path) {
    g_autoptr(GArray) layout = checkpoint_layout(setting->model);
    g_auto(SafetensorsWriter) writer = safetensors_writer();
    for (guint place = 0; place < layout->len; place++) {
        const TensorSpec *spec = &g_array_index(layout, TensorSpec, place);
        const Tensor *tensor = &g_array_index(setting->checkpoint->tensors, Tensor, place);
        g_autofree char *form = form_of(spec);
        if (spec->rows > 0)
            safetensors_writer_add(&writer, spec->name, form, tensor->values,
                                   spec->rows * spec->columns * sizeof(guint16));
    }
    safetensors_writer_save(&writer, path, 1);
}

static void test_a_written_checkpoint_generates_the_same(void) {
    g_autofree char *path = NULL;
    close(g_file_open_tmp("reference-XXXXXX.safetensors", &path, NULL));
    for (gsize m = 0; m < G_N_ELEMENTS(model_names); m++) {
        g_autoptr(GError) error = NULL;
        g_auto(Setting) drawn = setting_of(model_names[m]);
        g_auto(Setting) loaded = {.model = load_model(model_names[m])};
        write_checkpoint(&drawn, path);
        loaded.checkpoint = checkpoint_load(path, loaded.model, 1e9, &error);
        g_assert_no_error(error);
        generate(&drawn, 1, 0);
        generate(&loaded, 1, 0);
        assert_same_tokens(&loaded.run, &drawn.run);
        g_assert_cmpfloat(loaded.run.smallest_gap, ==, drawn.run.smallest_gap);
    }
    g_assert_cmpint(g_remove(path), ==, 0);
}

/* All other tensors are the same: each has a stream of its own. */
static void test_biases_matter(void) {
    g_auto(Setting) with = setting_of("tiny-qwen2");
    g_auto(Setting) without = {.model = load_model("tiny-qwen2")};
    without.model->qkv_bias = FALSE;
    without.checkpoint = checkpoint_seeded(without.model, SEED);
    for (guint64 request = 0; request < N_REQUESTS; request++) {
        generate(&with, 1, request);
        generate(&without, 1, request);
        g_assert_false(is_same_run(&with.run, &without.run));
    }
}

static ReferenceRun run_of(const Setting *setting, const guint32 *prompt, guint n_output) {
    return reference_generate(&(RankShape){setting->model, setting->checkpoint, 0, 1}, prompt,
                              N_PROMPT, n_output, &greedy);
}

/* A wrong or misplaced token far back in the context changes what is generated. */
static void test_every_prompt_token_matters(void) {
    for (gsize m = 0; m < G_N_ELEMENTS(model_names); m++) {
        g_auto(Setting) setting = setting_of(model_names[m]);
        generate(&setting, 1, 0);
        for (guint i = 0; i < N_PROMPT - 1; i++) {
            guint32 changed[N_PROMPT];
            memcpy(changed, setting.tokens, sizeof changed);
            changed[i] = setting.tokens[i + 1];
            changed[i + 1] = setting.tokens[i];
            ReferenceRun swapped = run_of(&setting, changed, N_OUTPUT);
            g_assert_false(is_same_run(&swapped, &setting.run));
            reference_run_clear(&swapped);
        }
    }
}

/* A request that is computed again from what it has generated goes on the same way, also when
 * tokens are drawn. */
static void test_generation_goes_on_from_any_point(void) {
    static const Sampling samplings[] = {
        {.top_k = 1, .temperature = 1},
        {.top_k = 8, .temperature = 0.8F, .seed = 3, .request = 5},
    };
    g_auto(Setting) setting = setting_of("tiny-llama");
    guint32 *tokens = setting.tokens;
    for (gsize i = 0; i < G_N_ELEMENTS(samplings); i++) {
        reference_prompt(setting.model, SEED, 1, tokens, N_PROMPT);
        ReferenceRun whole =
            reference_generate(&(RankShape){setting.model, setting.checkpoint, 0, 1}, tokens,
                               N_PROMPT, N_OUTPUT, &samplings[i]);
        memcpy(tokens + N_PROMPT, whole.tokens, sizeof(guint32) * N_OUTPUT);
        for (guint done = 1; done < N_OUTPUT; done++) {
            ReferenceRun rest =
                reference_generate(&(RankShape){setting.model, setting.checkpoint, 0, 1}, tokens,
                                   N_PROMPT + done, N_OUTPUT - done, &samplings[i]);
            for (guint k = 0; k < rest.n; k++)
                g_assert_cmpuint(rest.tokens[k], ==, whole.tokens[done + k]);
            reference_run_clear(&rest);
        }
        reference_run_clear(&whole);
    }
}

static void test_drawn_tokens_depend_on_the_request(void) {
    g_auto(Setting) setting = setting_of("tiny-llama");
    Sampling sampling = {.top_k = 8, .temperature = 1, .seed = 3};
    reference_prompt(setting.model, SEED, 0, setting.tokens, N_PROMPT);
    ReferenceRun runs[2];
    for (guint i = 0; i < 2; i++) {
        sampling.request = i;
        runs[i] = reference_generate(&(RankShape){setting.model, setting.checkpoint, 0, 1},
                                     setting.tokens, N_PROMPT, N_OUTPUT, &sampling);
    }
    g_assert_false(is_same_run(&runs[0], &runs[1]));
    reference_run_clear(&runs[0]);
    reference_run_clear(&runs[1]);
}

static void test_no_output_is_an_empty_run(void) {
    g_auto(Setting) setting = setting_of("tiny-llama");
    reference_prompt(setting.model, SEED, 0, setting.tokens, N_PROMPT);
    ReferenceRun run = run_of(&setting, setting.tokens, 0);
    g_assert_cmpuint(run.n, ==, 0);
    reference_run_clear(&run);
}

static void test_prompts_are_pure_functions(void) {
    g_autoptr(Model) model = load_model("tiny-llama");
    guint32 tokens[64], shorter[40], other_id[64], other_seed[64];
    reference_prompt(model, 1, 7, tokens, 64);
    reference_prompt(model, 1, 7, shorter, 40);
    reference_prompt(model, 1, 8, other_id, 64);
    reference_prompt(model, 2, 7, other_seed, 64);
    g_assert_cmpint(memcmp(tokens, shorter, sizeof shorter), ==, 0);
    g_assert_cmpint(memcmp(tokens, other_id, sizeof tokens), !=, 0);
    g_assert_cmpint(memcmp(tokens, other_seed, sizeof tokens), !=, 0);
    for (guint i = 0; i < 64; i++)
        g_assert_cmpuint(tokens[i], <, model->vocab);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/reference/every_tp_gives_the_same_tokens",
                    test_every_tp_gives_the_same_tokens);
    g_test_add_data_func("/reference/the_formulas_give_the_same_tokens/llama", model_names[0],
                         test_the_formulas_give_the_same_tokens);
    g_test_add_data_func("/reference/the_formulas_give_the_same_tokens/qwen2", model_names[1],
                         test_the_formulas_give_the_same_tokens);
    g_test_add_func("/reference/gap_and_largest_logit", test_gap_and_largest_logit);
    g_test_add_func("/reference/a_written_checkpoint_generates_the_same",
                    test_a_written_checkpoint_generates_the_same);
    g_test_add_func("/reference/biases_matter", test_biases_matter);
    g_test_add_func("/reference/every_prompt_token_matters", test_every_prompt_token_matters);
    g_test_add_func("/reference/generation_goes_on_from_any_point",
                    test_generation_goes_on_from_any_point);
    g_test_add_func("/reference/drawn_tokens_depend_on_the_request",
                    test_drawn_tokens_depend_on_the_request);
    g_test_add_func("/reference/no_output_is_an_empty_run", test_no_output_is_an_empty_run);
    g_test_add_func("/reference/prompts_are_pure_functions", test_prompts_are_pure_functions);
    return g_test_run();
}
