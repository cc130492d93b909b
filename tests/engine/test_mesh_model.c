/* A whole model on a mesh of cores: its tokens are those of a single process. */
#include "actors/kernels/reference.h"
#include "actors/mesh/mesh_model.h"
#include "analysis/campaign/child.h"
#include "tests/engine/mesh_gemm_fixture.h"
#include "workloads/experiment_file.h"
#include <string.h>

/* Sums are added in another order than in one process: logits differ by up to this share of the
 * largest. */
#define LOGIT_ERROR 2.1e-4

enum { N_REQUESTS = 3, MOST_OUTPUT = 12 };

typedef struct Trial {
    const char *model;
    guint side, prompts[N_REQUESTS], outputs[N_REQUESTS];
    guint64 seed; /* one whose logits are far enough apart */
    MeshModelFault fault;
} Trial;

typedef struct Answer {
    guint32 tokens[N_REQUESTS][MOST_OUTPUT];
    double prefill_cycles[N_REQUESTS], decode_cycles[N_REQUESTS];
    MeshTotals totals;
} Answer;

typedef struct Job {
    const Trial *trial;
    const Model *model;
    const Checkpoint *checkpoint;
    Answer answer;
} Job;

static Model *model_of(const char *name) {
    g_autoptr(GError) error = NULL;
    g_autoptr(YamlNode) section = section_load(SECTION_MODEL, name, "--model", &error);
    g_assert_no_error(error);
    Model *model = model_read(section, &error);
    g_assert_no_error(error);
    return model;
}

static Sampling sampling_of(guint64 request) {
    return (Sampling){.top_k = 1, .temperature = 1, .request = request};
}

static gboolean work(gpointer data, gsize index, GByteArray *reply, GError **error) {
    Job *job = data;
    const Trial *trial = job->trial;
    MeshSpec spec = gemm_trial_wafer();
    MeshModelRequest requests[N_REQUESTS];
    guint32 prompts[N_REQUESTS][64];
    MeshModelSetup setup = {.model = job->model,
                            .checkpoint = job->checkpoint,
                            .requests = requests,
                            .n_requests = N_REQUESTS,
                            .k_tree = 2,
                            .fault = trial->fault};

    g_assert_cmpuint(index, ==, 0);
    for (guint i = 0; i < N_REQUESTS; i++) {
        reference_prompt(job->model, trial->seed, i, prompts[i], trial->prompts[i]);
        requests[i] = (MeshModelRequest){.prompt = prompts[i],
                                         .n_prompt = trial->prompts[i],
                                         .n_output = trial->outputs[i],
                                         .tokens = job->answer.tokens[i],
                                         .sampling = sampling_of(i)};
    }
    if (!mesh_model_run(&spec, trial->side, &setup, &job->answer.totals, error))
        return FALSE;
    for (guint i = 0; i < N_REQUESTS; i++) {
        job->answer.prefill_cycles[i] = requests[i].prefill_cycles;
        job->answer.decode_cycles[i] = requests[i].decode_cycles;
    }
    g_byte_array_append(reply, (const guint8 *)&job->answer, sizeof job->answer);
    return TRUE;
}

static gboolean take(gpointer data, gsize index, const GByteArray *reply, GError **error) {
    Job *job = data;
    gsize at = 0;

    (void)index, (void)error;
    return child_reply_read(reply, &at, &job->answer, sizeof job->answer);
}

/* Whether the mesh gives the reference's tokens. */
static gboolean trial_equal(const Trial *trial, Answer *answer) {
    g_autoptr(GError) error = NULL;
    g_autoptr(Model) model = model_of(trial->model);
    g_autoptr(Checkpoint) checkpoint = checkpoint_seeded(model, trial->seed);
    Job job = {.trial = trial, .model = model, .checkpoint = checkpoint};
    ChildJobs jobs = {.n = 1, .data = &job, .work = work, .take = take};
    gboolean equal = TRUE;

    child_run_all(&jobs, &error);
    g_assert_no_error(error);
    for (guint i = 0; i < N_REQUESTS; i++) {
        guint32 prompt[64];
        Sampling sampling = sampling_of(i);
        reference_prompt(model, trial->seed, i, prompt, trial->prompts[i]);
        ReferenceRun run = reference_generate(&(RankShape){model, checkpoint, 0, 1}, prompt,
                                              trial->prompts[i], trial->outputs[i], &sampling);
        g_test_message("gap %g of %g", run.smallest_gap, run.largest_logit);
        g_assert_cmpfloat(run.smallest_gap, >, 10 * LOGIT_ERROR * run.largest_logit);
        equal &= memcmp(run.tokens, job.answer.tokens[i], run.n * sizeof(guint32)) == 0;
        reference_run_clear(&run);
    }
    if (answer != NULL)
        *answer = job.answer;
    return equal;
}

static const Trial llama = {"tiny-llama", 8, {20, 1, 5}, {12, 3, 7}, 45, MESH_MODEL_RIGHT};

static void test_tokens(void) {
    static const Trial trials[] = {
        {"tiny-llama", 4, {20, 3, 5}, {12, 3, 7}, 3, MESH_MODEL_RIGHT},
        {"tiny-qwen2", 12, {17, 2, 9}, {4, 6, 3}, 3, MESH_MODEL_RIGHT},
    };
    Answer answer;

    g_assert_true(trial_equal(&llama, &answer));
    for (guint i = 0; i < N_REQUESTS; i++) {
        g_test_message("prefill %g decode %g cycles", answer.prefill_cycles[i],
                       answer.decode_cycles[i]);
        g_assert_cmpfloat(answer.prefill_cycles[i], >, 0);
        g_assert_cmpfloat(answer.decode_cycles[i], >, 0);
    }
    g_test_message("paths %u, bytes %g", answer.totals.paths, answer.totals.peak_bytes);
    for (guint i = 0; i < G_N_ELEMENTS(trials); i++)
        g_assert_true(trial_equal(&trials[i], NULL));
}

static void test_faults(void) {
    Trial trial = llama;

    trial.fault = MESH_MODEL_LOST_PART;
    g_assert_false(trial_equal(&trial, NULL));
    trial.fault = MESH_MODEL_LOST_KV;
    g_assert_false(trial_equal(&trial, NULL));
}

static void test_refusals(void) {
    g_autoptr(Model) model = model_of("tiny-llama");
    g_autoptr(GError) error = NULL;

    g_assert_true(mesh_model_check(model, 8, &error));
    g_assert_false(mesh_model_check(model, 6, &error));
    g_assert_cmpstr(error->message, ==,
                    "numbers on a 6 x 6 mesh need whole heads and whole groups of them in every "
                    "column, and at least 3 columns: model 'tiny-llama' has 8 heads in groups of "
                    "2");
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mesh-model/tokens", test_tokens);
    g_test_add_func("/mesh-model/faults", test_faults);
    g_test_add_func("/mesh-model/refusals", test_refusals);
    return g_test_run();
}
