/* Synthetic workloads: moments against closed forms, seeds, independence of the streams, the
 * closed loop, and the shipped trace, which was drawn this way. */
#include "workload_fixture.h"

#define N 40000

/* Bounds are 5 standard errors: with the seeds fixed a pass stays a pass, and a mean shifted by a
 * truncation would be found. */
#define ERRORS 5

typedef struct {
    double mean, variance;
} Moments;

static Moments moments_of(const double *values, guint n) {
    Moments moments = {0};
    for (guint i = 0; i < n; i++)
        moments.mean += values[i] / n;
    for (guint i = 0; i < n; i++)
        moments.variance += pow(values[i] - moments.mean, 2) / n;
    return moments;
}

static GArray *draw(const char *prompt, const char *arrivals, guint64 seed) {
    g_autofree char *text = g_strdup_printf("synthetic:\n"
                                            "  requests: %d\n"
                                            "  arrivals: {%s}\n"
                                            "  prompt: {%s}\n"
                                            "  output: {distribution: uniform, min: 1, max: 9}\n",
                                            N, arrivals, prompt);
    g_autoptr(WorkloadSpec) spec = good_workload_of(text);
    return requests_of(spec, seed);
}

typedef struct {
    const char *prompt;
    double mean, sd; /* of the tokens */
} Lengths;

static double zipf_moment(double exponent, guint min, guint max, int power) {
    double sum = 0, weight = 0;
    for (guint k = max; k >= min; k--) {
        sum += pow(k, power - exponent);
        weight += pow(k, -exponent);
    }
    return sum / weight;
}

static void check_lengths(const Lengths *expected) {
    g_test_message("%s", expected->prompt);
    g_autoptr(GArray) requests = draw(expected->prompt, "process: batch", 7);
    g_autofree double *values = g_new(double, N);
    for (guint i = 0; i < N; i++)
        values[i] = g_array_index(requests, Request, i).prompt_tokens;
    Moments found = moments_of(values, N);
    double standard_error = expected->sd / sqrt(N);
    g_assert_cmpfloat(fabs(found.mean - expected->mean), <=,
                      ERRORS * standard_error + 1e-9 * expected->mean);
    g_assert_cmpfloat(fabs(sqrt(found.variance) - expected->sd), <=,
                      0.03 * expected->sd + 1e-9 * expected->mean);
}

static void test_lengths_have_the_moments_asked_for(void) {
    double zipf_mean = zipf_moment(1.1, 1, 4096, 1);
    double flat_mean = zipf_moment(2, 10, 100, 1);
    const Lengths cases[] = {
        {"distribution: fixed, tokens: 512", 512, 0},
        {"distribution: uniform, min: 1, max: 1000", 500.5, sqrt((1e6 - 1) / 12)},
        {"distribution: uniform, min: 7, max: 7", 7, 0},
        {"distribution: lognormal, mean: 1024, cv: 1", 1024, 1024},
        {"distribution: lognormal, mean: 200.5, cv: 0.5", 200.5, 100.25},
        {"distribution: lognormal, mean: 1155, sigma: 0.537", 1155,
         1155 * sqrt(expm1(0.537 * 0.537))},
        {"distribution: zipf, exponent: 1.1, max: 4096", zipf_mean,
         sqrt(zipf_moment(1.1, 1, 4096, 2) - zipf_mean * zipf_mean)},
        {"distribution: zipf, exponent: 2, min: 10, max: 100", flat_mean,
         sqrt(zipf_moment(2, 10, 100, 2) - flat_mean * flat_mean)},
        {"distribution: zipf, exponent: 0, max: 1000", 500.5, sqrt((1e6 - 1) / 12)},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
        check_lengths(&cases[i]);
}

/* Where a length below one token is likely, lifting it to one must not lift the mean. */
static void test_short_lognormal_lengths_keep_their_mean(void) {
    static const double means[] = {1, 1.5, 2, 4};
    for (gsize i = 0; i < G_N_ELEMENTS(means); i++) {
        g_autofree char *prompt =
            g_strdup_printf("distribution: lognormal, mean: %g, cv: 1", means[i]);
        g_autoptr(GArray) requests = draw(prompt, "process: batch", 3);
        double sum = 0;
        for (guint k = 0; k < N; k++)
            sum += g_array_index(requests, Request, k).prompt_tokens;
        g_assert_cmpfloat(fabs(sum / N - means[i]), <=, ERRORS * means[i] / sqrt(N));
    }
}

/* Counts of single lengths against their probabilities, by Pearson's chi-square. */
static void test_zipf_frequencies(void) {
    g_autoptr(GArray) requests =
        draw("distribution: zipf, exponent: 1.5, max: 20", "process: batch", 11);
    guint counts[21] = {0};
    for (guint i = 0; i < N; i++)
        counts[g_array_index(requests, Request, i).prompt_tokens]++;
    double weight = 0, chi_square = 0;
    for (guint k = 1; k <= 20; k++)
        weight += pow(k, -1.5);
    for (guint k = 1; k <= 20; k++) {
        double expected = N * pow(k, -1.5) / weight;
        chi_square += pow(counts[k] - expected, 2) / expected;
    }
    g_assert_cmpfloat(chi_square, <, 43.8); /* 19 degrees of freedom, 0.1 % */
}

static void test_arrivals_have_the_rate_and_variation_asked_for(void) {
    static const struct {
        const char *arrivals;
        double rate, cv;
    } cases[] = {
        {"process: constant, rate: 8 /s", 8, 0},
        {"process: poisson, rate: 8 /s", 8, 1},
        {"process: poisson, rate: 30 /min", 0.5, 1},
        {"process: gamma, rate: 8 /s, cv: 2", 8, 2},
        {"process: gamma, rate: 8 /s, cv: 0.5", 8, 0.5},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GArray) requests = draw("distribution: fixed, tokens: 1", cases[i].arrivals, 5);
        g_autofree double *gaps = g_new(double, N - 1);
        for (guint k = 0; k < N - 1; k++) {
            gaps[k] = g_array_index(requests, Request, k + 1).arrival_s -
                      g_array_index(requests, Request, k).arrival_s;
            g_assert_cmpfloat(gaps[k], >=, 0);
        }
        Moments found = moments_of(gaps, N - 1);
        double mean = 1 / cases[i].rate, sd = cases[i].cv * mean;
        g_assert_cmpfloat(fabs(found.mean - mean), <=, ERRORS * sd / sqrt(N) + 1e-9);
        g_assert_cmpfloat(fabs(sqrt(found.variance) - sd), <=, 0.05 * sd + 1e-9);
    }
}

/* Kolmogorov–Smirnov: the gaps of a Poisson process are exponential to the last, not cut. */
static int compare_doubles(const void *a, const void *b) {
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

static void test_poisson_gaps_are_exponential(void) {
    g_autoptr(GArray) requests =
        draw("distribution: fixed, tokens: 1", "process: poisson, rate: 1 /s", 5);
    g_autofree double *gaps = g_new(double, N);
    double previous = 0, distance = 0;
    for (guint i = 0; i < N; i++) {
        gaps[i] = g_array_index(requests, Request, i).arrival_s - previous;
        previous = g_array_index(requests, Request, i).arrival_s;
    }
    qsort(gaps, N, sizeof *gaps, compare_doubles);
    for (guint i = 0; i < N; i++)
        distance = MAX(distance, fabs(-expm1(-gaps[i]) - (i + 0.5) / N));
    g_assert_cmpfloat(distance, <, 1.95 / sqrt(N)); /* 0.1 % */
    g_assert_cmpfloat(gaps[N - 1], >, 8);           /* ln(N) = 10.6 is expected */
}

static void test_batch_arrives_at_zero(void) {
    g_autoptr(GArray) requests = draw("distribution: fixed, tokens: 512", "process: batch", 1);
    g_assert_cmpuint(requests->len, ==, N);
    for (guint i = 0; i < N; i++)
        g_assert_cmpfloat(g_array_index(requests, Request, i).arrival_s, ==, 0);
}

static void test_constant_arrivals_do_not_drift(void) {
    g_autoptr(GArray) requests =
        draw("distribution: fixed, tokens: 1", "process: constant, rate: 10 /s", 1);
    for (guint i = 0; i < N; i++)
        g_assert_cmpfloat(g_array_index(requests, Request, i).arrival_s, ==, i / 10.0);
}

/* Which of arrivals, prompts and outputs are the same in two workloads. */
typedef struct {
    gboolean arrivals, prompts, outputs;
} Sameness;

static Sameness compare(const GArray *a, const GArray *b) {
    Sameness same = {TRUE, TRUE, TRUE};
    for (guint i = 0; i < N; i++) {
        const Request *one = &g_array_index(a, Request, i), *other = &g_array_index(b, Request, i);
        same.arrivals &= one->arrival_s == other->arrival_s;
        same.prompts &= one->prompt_tokens == other->prompt_tokens;
        same.outputs &= one->output_tokens == other->output_tokens;
    }
    return same;
}

static void test_seeds_and_streams(void) {
    const char *lognormal = "distribution: lognormal, mean: 512, cv: 1";
    const char *poisson = "process: poisson, rate: 8 /s";
    g_autoptr(GArray) first = draw(lognormal, poisson, 1);
    g_autoptr(GArray) again = draw(lognormal, poisson, 1);
    g_autoptr(GArray) other = draw(lognormal, poisson, 2);
    g_autoptr(GArray) lengths = draw("distribution: uniform, min: 1, max: 9", poisson, 1);
    g_autoptr(GArray) arrivals = draw(lognormal, "process: gamma, rate: 8 /s, cv: 2", 1);
    Sameness same = compare(first, again);
    g_assert_true(same.arrivals && same.prompts && same.outputs);
    same = compare(first, other);
    g_assert_false(same.arrivals || same.prompts || same.outputs);
    same = compare(first, lengths);
    g_assert_true(same.arrivals && !same.prompts && same.outputs);
    same = compare(first, arrivals);
    g_assert_true(!same.arrivals && same.prompts && same.outputs);
    guint equal = 0; /* prompts and outputs of one distribution are drawn apart */
    for (guint i = 0; i < N; i++)
        equal += g_array_index(lengths, Request, i).prompt_tokens ==
                 g_array_index(lengths, Request, i).output_tokens;
    g_assert_cmpuint(equal, <, N / 5);
}

static void test_time_scale_and_caps_apply(void) {
    g_autoptr(WorkloadSpec) spec = good_workload_of(
        "{synthetic: {requests: 100, arrivals: {process: constant, rate: 1 /s}, prompt: "
        "{distribution: uniform, min: 1, max: 100}, output: {distribution: fixed, tokens: 9}}, "
        "time_scale: 0.25, max_prompt_tokens: 50, max_output_tokens: 20}");
    WorkloadFacts facts = facts_of(spec, 1);
    g_assert_cmpuint(facts.requests, ==, 100);
    g_assert_cmpuint(facts.rows, ==, 100);
    g_assert_cmpuint(facts.max_prompt_tokens, ==, 50);
    g_assert_cmpuint(facts.max_output_tokens, ==, 9);
    g_assert_cmpuint(facts.output_tokens, ==, 900);
    g_assert_cmpuint(facts.capped, >, 30);
    g_assert_cmpuint(facts.capped, <, 70);
    g_assert_cmpfloat(facts.last_arrival_s, ==, 99 * 0.25);
    g_assert_false(facts.has_prefixes);
}

static WorkloadSpec *closed_loop(guint requests, guint users, const char *thinking) {
    g_autofree char *text = g_strdup_printf(
        "{synthetic: {requests: %u, arrivals: {process: closed_loop, users: %u%s}, prompt: "
        "{distribution: uniform, min: 1, max: 100}, output: {distribution: fixed, tokens: 9}}}",
        requests, users, thinking);
    return good_workload_of(text);
}

/* Ends each request 'service_s' after its arrival, one at a time; returns how many there were. */
static guint run_closed_loop(const WorkloadSpec *spec, double service_s, double *thought_s) {
    g_autoptr(GError) error = NULL;
    g_autoptr(RequestSource) source = request_source_open(spec, 1, &error);
    g_autoptr(GQueue) open = g_queue_new();
    Request request, follower;
    guint n = 0, users = 0;
    *thought_s = 0;
    for (; request_source_next(source, &request, &error); users++) {
        g_assert_cmpfloat(request.arrival_s, ==, 0);
        g_queue_push_tail(open, g_memdup2(&request, sizeof request));
    }
    while (!g_queue_is_empty(open)) {
        g_autofree Request *done = g_queue_pop_head(open);
        double end_s = done->arrival_s + service_s;
        n++;
        if (!request_source_completed(source, end_s, &follower))
            continue;
        g_assert_cmpuint(follower.id, ==, users++);
        g_assert_cmpfloat(follower.arrival_s, >=, end_s);
        *thought_s += follower.arrival_s - end_s;
        g_queue_push_tail(open, g_memdup2(&follower, sizeof follower));
    }
    g_assert_false(request_source_completed(source, 0, &follower));
    return n;
}

static void test_closed_loop_sends_all_requests_and_no_more(void) {
    static const struct { guint requests, users; } cases[] = {{1, 1}, {10, 3}, {3, 10}, {12, 12}};
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(WorkloadSpec) spec = closed_loop(cases[i].requests, cases[i].users, "");
        g_autoptr(GArray) first = requests_of(spec, 1);
        double thought_s;
        g_assert_cmpuint(first->len, ==, MIN(cases[i].requests, cases[i].users));
        g_assert_cmpuint(run_closed_loop(spec, 1, &thought_s), ==, cases[i].requests);
        g_assert_cmpfloat(thought_s, ==, 0);
        WorkloadFacts facts = facts_of(spec, 1);
        g_assert_true(facts.closed_loop);
        g_assert_cmpuint(facts.requests, ==, cases[i].requests);
        g_assert_cmpuint(facts.output_tokens, ==, 9 * cases[i].requests);
    }
}

/* A user may end a first request before another user has sent one: the total still holds. */
static void test_closed_loop_with_ends_between_first_requests(void) {
    g_autoptr(WorkloadSpec) spec = closed_loop(4, 3, "");
    g_autoptr(GError) error = NULL;
    g_autoptr(RequestSource) source = request_source_open(spec, 1, &error);
    Request request;
    g_assert_true(request_source_next(source, &request, &error));
    g_assert_true(request_source_completed(source, 1, &request));
    g_assert_cmpuint(request.id, ==, 1);
    g_assert_false(request_source_completed(source, 2, &request));
    g_assert_true(request_source_next(source, &request, &error));
    g_assert_true(request_source_next(source, &request, &error));
    g_assert_cmpuint(request.id, ==, 3);
    g_assert_false(request_source_next(source, &request, &error));
    g_assert_false(request_source_completed(source, 3, &request));
}

static void test_think_times(void) {
    double thought_s;
    g_autoptr(WorkloadSpec) fixed = closed_loop(10010, 10, ", think_time: 2 s, think: fixed");
    g_assert_cmpuint(run_closed_loop(fixed, 0, &thought_s), ==, 10010);
    g_assert_cmpfloat(fabs(thought_s - 20000), <, 1e-6);
    g_autoptr(WorkloadSpec) random = closed_loop(10010, 10, ", think_time: 2 s");
    g_assert_cmpuint(run_closed_loop(random, 0, &thought_s), ==, 10010);
    g_assert_cmpfloat(fabs(thought_s - 20000), >, 1e-3);
    g_assert_cmpfloat(fabs(thought_s / 10000 - 2), <=, ERRORS * 2 / sqrt(10000));
}

/* The section and the seed that workloads/traces/README.md names. */
static void test_shipped_trace_is_what_its_readme_says(void) {
    g_autofree char *path =
        g_test_build_filename(G_TEST_DIST, "..", "workloads", "traces", "azure_like.csv", NULL);
    g_autoptr(WorkloadSpec) shipped = workload_of_trace(path, "format: azure\n");
    g_autoptr(WorkloadSpec) recipe =
        good_workload_of("synthetic:\n"
                         "  requests: 1000\n"
                         "  arrivals: {process: poisson, rate: 2 /s}\n"
                         "  prompt: {distribution: lognormal, mean: 1155, sigma: 0.537}\n"
                         "  output: {distribution: lognormal, mean: 200, cv: 0.8}\n");
    g_autoptr(GArray) found = requests_of(shipped, 1);
    g_autoptr(GArray) expected = requests_of(recipe, 2023);
    g_assert_cmpuint(found->len, ==, expected->len);
    double first_s = g_array_index(expected, Request, 0).arrival_s;
    for (guint i = 0; i < found->len; i++) {
        const Request *row = &g_array_index(found, Request, i);
        const Request *drawn = &g_array_index(expected, Request, i);
        g_assert_cmpfloat(fabs(row->arrival_s - (drawn->arrival_s - first_s)), <=, 1.01e-7);
        g_assert_cmpuint(row->prompt_tokens, ==, drawn->prompt_tokens);
        g_assert_cmpuint(row->output_tokens, ==, drawn->output_tokens);
    }
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/synthetic/lengths", test_lengths_have_the_moments_asked_for);
    g_test_add_func("/synthetic/short_lengths", test_short_lognormal_lengths_keep_their_mean);
    g_test_add_func("/synthetic/zipf", test_zipf_frequencies);
    g_test_add_func("/synthetic/arrivals", test_arrivals_have_the_rate_and_variation_asked_for);
    g_test_add_func("/synthetic/poisson", test_poisson_gaps_are_exponential);
    g_test_add_func("/synthetic/batch", test_batch_arrives_at_zero);
    g_test_add_func("/synthetic/constant", test_constant_arrivals_do_not_drift);
    g_test_add_func("/synthetic/seeds", test_seeds_and_streams);
    g_test_add_func("/synthetic/scale_and_caps", test_time_scale_and_caps_apply);
    g_test_add_func("/synthetic/closed_loop", test_closed_loop_sends_all_requests_and_no_more);
    g_test_add_func("/synthetic/closed_loop/early_ends",
                    test_closed_loop_with_ends_between_first_requests);
    g_test_add_func("/synthetic/think", test_think_times);
    g_test_add_func("/synthetic/shipped", test_shipped_trace_is_what_its_readme_says);
    return g_test_run();
}
