/* tokens.csv and the comparison with a single process, on requests whose tokens are made here: by
 * the reference, and with one of them changed. */
#include "analysis/run/token_check.h"
#include "analysis/run/token_log.h"
#include "served_request_fixture.h"

#include "actors/kernels/reference.h"
#include <glib/gstdio.h>
#include <math.h>

#define PROMPT 7
#define OUTPUT 6

typedef struct Fixture {
    Model model;
    Checkpoint *weights;
    NumericsSetup numerics;
    TokenCheck *check;
} Fixture;

static void setup(Fixture *fixture, gconstpointer data) {
    (void)data;
    fixture->model = (Model){.name = (char *)"small",
                             .hidden = 16,
                             .layers = 2,
                             .heads = 4,
                             .kv_heads = 2,
                             .head_dim = 4,
                             .ffn = 24,
                             .vocab = 64,
                             .max_context = 64,
                             .norm_epsilon = 1e-5,
                             .rope_theta = 10000};
    fixture->weights = checkpoint_seeded(&fixture->model, 3);
    fixture->numerics = (NumericsSetup){.checkpoint = fixture->weights,
                                        .seed = 3,
                                        .sampling = {.top_k = 5, .temperature = 1, .seed = 3}};
    fixture->check = token_check_new(&fixture->model, &fixture->numerics);
}

static void teardown(Fixture *fixture, gconstpointer data) {
    (void)data;
    token_check_free(fixture->check);
    checkpoint_free(fixture->weights);
}

static ServedRequest completed(guint64 id, const guint32 *tokens) {
    ServedRequest served = served_request(id, 0, OUTPUT);
    served.request.prompt_tokens = PROMPT;
    served.generated = OUTPUT;
    served.tokens = tokens;
    return served;
}

/* A request of the reference's own tokens, of which number 'wrong' is another. */
static void complete(Fixture *fixture, guint64 id, guint wrong) {
    guint32 prompt[PROMPT];
    reference_prompt(&fixture->model, fixture->numerics.seed, id, prompt, PROMPT);
    Sampling sampling = fixture->numerics.sampling;
    sampling.request = id;
    ReferenceRun run = reference_generate(&(RankShape){&fixture->model, fixture->weights, 0, 1},
                                          prompt, PROMPT, OUTPUT, &sampling);
    if (wrong < OUTPUT)
        run.tokens[wrong] ^= 1;
    ServedRequest served = completed(id, run.tokens);
    tell(token_check_observer(fixture->check), EVENT_COMPLETED, 1, &served);
    reference_run_clear(&run);
}

static void test_equal_tokens_pass(Fixture *fixture, gconstpointer data) {
    (void)data;
    for (guint64 id = 0; id < 4; id++)
        complete(fixture, id, OUTPUT);
    const TokenCheckResult *result = token_check_result(fixture->check);
    g_assert_true(token_check_passed(fixture->check));
    g_assert_cmpuint(result->requests, ==, 4);
    g_assert_cmpuint(result->equal, ==, 4);
    g_assert_cmpuint(result->tokens, ==, 4 * OUTPUT);
    g_assert_cmpfloat(result->smallest_gap, >, 0);
    g_assert_cmpfloat(result->smallest_gap, <, result->largest_logit);
}

static void test_the_first_difference_is_kept(Fixture *fixture, gconstpointer data) {
    (void)data;
    complete(fixture, 5, OUTPUT);
    complete(fixture, 9, 4);
    complete(fixture, 2, 0);
    complete(fixture, 1, OUTPUT);
    const TokenCheckResult *result = token_check_result(fixture->check);
    g_assert_false(token_check_passed(fixture->check));
    g_assert_cmpuint(result->requests, ==, 4);
    g_assert_cmpuint(result->equal, ==, 2);
    g_assert_cmpuint(result->different_id, ==, 9);
    g_assert_cmpuint(result->different_token, ==, 4);
}

static void test_a_last_token_counts(Fixture *fixture, gconstpointer data) {
    (void)data;
    complete(fixture, 0, OUTPUT - 1);
    g_assert_false(token_check_passed(fixture->check));
    g_assert_cmpuint(token_check_result(fixture->check)->different_token, ==, OUTPUT - 1);
}

static void test_only_completed_requests_are_compared(Fixture *fixture, gconstpointer data) {
    (void)data;
    ServedRequest open = served_request(0, 0, OUTPUT);
    for (EventKind kind = 0; kind < N_EVENT_KINDS; kind++)
        if (kind != EVENT_COMPLETED)
            tell(token_check_observer(fixture->check), kind, 1, &open);
    const TokenCheckResult *result = token_check_result(fixture->check);
    g_assert_true(token_check_passed(fixture->check));
    g_assert_cmpuint(result->requests, ==, 0);
    g_assert_true(isinf(result->smallest_gap));
}

/* What tokens.csv holds after 'n' requests complete, the tokens of request i counting from i on. */
static char *logged(guint n, guint32 n_tokens) {
    g_autoptr(GError) error = NULL;
    g_autofree char *path = NULL;
    int descriptor = g_file_open_tmp("token-log-XXXXXX", &path, &error);
    g_assert_no_error(error);
    g_close(descriptor, NULL);
    g_autoptr(TokenLog) log = token_log_new(path, &error);
    g_assert_no_error(error);
    g_autofree guint32 *tokens = g_new(guint32, n_tokens);
    for (guint i = 0; i < n; i++) {
        for (guint32 t = 0; t < n_tokens; t++)
            tokens[t] = i + t;
        ServedRequest served = completed(i, tokens);
        served.generated = n_tokens;
        tell(token_log_observer(log), EVENT_FIRST_TOKEN, 1, &served);
        tell(token_log_observer(log), EVENT_COMPLETED, 1, &served);
    }
    g_assert_true(token_log_finish(log, &error));
    char *text;
    g_assert_true(g_file_get_contents(path, &text, NULL, &error));
    g_remove(path);
    return text;
}

static void test_rows_of_tokens(void) {
    g_autofree char *none = logged(0, 1), *single = logged(2, 1), *more = logged(2, 3);
    g_assert_cmpstr(none, ==, "id,tokens\n");
    g_assert_cmpstr(single, ==, "id,tokens\n0,0\n1,1\n");
    g_assert_cmpstr(more, ==, "id,tokens\n0,0 1 2\n1,1 2 3\n");
}

/* A row longer than any buffer. */
static void test_a_long_row_is_whole(void) {
    const guint32 n = 200000;
    g_autofree char *text = logged(1, n);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    g_assert_cmpuint(g_strv_length(lines), ==, 3);
    g_assert_true(g_str_has_prefix(lines[1], "0,0 1 2 "));
    g_auto(GStrv) tokens = g_strsplit(lines[1] + 2, " ", -1);
    g_assert_cmpuint(g_strv_length(tokens), ==, n);
    for (guint32 i = 0; i < n; i++)
        g_assert_cmpuint(g_ascii_strtoull(tokens[i], NULL, 10), ==, i);
}

#define ADD(name, test) g_test_add("/token_check/" name, Fixture, NULL, setup, test, teardown)

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    ADD("equal_tokens_pass", test_equal_tokens_pass);
    ADD("the_first_difference_is_kept", test_the_first_difference_is_kept);
    ADD("a_last_token_counts", test_a_last_token_counts);
    ADD("only_completed_requests_are_compared", test_only_completed_requests_are_compared);
    g_test_add_func("/token_log/rows_of_tokens", test_rows_of_tokens);
    g_test_add_func("/token_log/a_long_row_is_whole", test_a_long_row_is_whole);
    return g_test_run();
}
