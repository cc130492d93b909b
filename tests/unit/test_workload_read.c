/* The 'workload' section: what it prints, and what it refuses. */
#include "workload_fixture.h"

static char *written(const WorkloadSpec *spec) {
    GString *out = g_string_new(NULL);
    workload_write(spec, 0, out);
    return g_string_free(out, FALSE);
}

static void test_defaults_are_filled_in(void) {
    static const char synthetic[] = "synthetic:\n"
                                    "  requests: 5\n"
                                    "  arrivals:\n"
                                    "    process: closed_loop\n"
                                    "    users: 2\n"
                                    "    think_time: 0 s\n"
                                    "    think: exponential\n"
                                    "  prompt:\n"
                                    "    distribution: zipf\n"
                                    "    exponent: 1.5\n"
                                    "    min: 1\n"
                                    "    max: 100\n"
                                    "  output:\n"
                                    "    distribution: fixed\n"
                                    "    tokens: 7\n"
                                    "time_scale: 1\n"
                                    "max_prompt_tokens: 0\n"
                                    "max_output_tokens: 0\n";
    g_autoptr(WorkloadSpec) spec = good_workload_of(
        "{synthetic: {requests: 5, arrivals: {process: closed_loop, users: 2}, prompt: "
        "{distribution: zipf, exponent: 1.5, max: 100}, output: {distribution: fixed, tokens: "
        "7}}}");
    g_autofree char *text = written(spec);
    g_assert_cmpstr(text, ==, synthetic);
}

static void test_a_printed_trace_is_found_from_anywhere(void) {
    g_autoptr(WorkloadSpec) spec = good_workload_of("{trace: vidur.csv, duration: 90 s}");
    g_autofree char *text = written(spec);
    g_autofree char *file = g_test_build_filename(G_TEST_DIST, "data", "traces", "vidur.csv", NULL);
    g_autofree char *absolute = g_canonicalize_filename(file, NULL);
    g_autoptr(GString) scalar = g_string_new(NULL);
    yaml_write_scalar(scalar, absolute);
    g_autofree char *expected = g_strdup_printf("trace: %s\n"
                                                "format: auto\n"
                                                "sort: false\n"
                                                "start: 0 s\n"
                                                "duration: 90 s\n"
                                                "skip: 0\n"
                                                "count: 0\n"
                                                "time_scale: 1\n"
                                                "max_prompt_tokens: 0\n"
                                                "max_output_tokens: 0\n",
                                                scalar->str);
    g_assert_cmpstr(text, ==, expected);
    g_autoptr(GError) error = NULL;
    g_autoptr(YamlNode) node = yaml_load_text(text, "printed", &error);
    g_autoptr(WorkloadSpec) again = workload_read(node, "/nowhere", &error);
    g_assert_no_error(error);
    g_autofree char *reprinted = written(again);
    g_assert_cmpstr(reprinted, ==, text);
    g_assert_cmpuint(facts_of(again, 1).requests, ==, 3);
}

static void test_shipped_traces_are_found_by_name(void) {
    g_autoptr(WorkloadSpec) spec = good_workload_of("trace: azure_like.csv");
    g_assert_cmpuint(facts_of(spec, 1).requests, ==, 1000);
}

#define LENGTH "{distribution: fixed, tokens: 7}"
#define SYNTHETIC(arrivals, prompt, output)                                                        \
    "{synthetic: {requests: 5, arrivals: " arrivals ", prompt: " prompt ", output: " output "}}"
#define ARRIVALS(arrivals) SYNTHETIC(arrivals, LENGTH, LENGTH)
#define PROMPT(prompt) SYNTHETIC("{process: batch}", prompt, LENGTH)

static const char *const good[] = {
    ARRIVALS("{process: batch}"),
    ARRIVALS("{process: constant, rate: 3 /s}"),
    ARRIVALS("{process: poisson, rate: 0.1 /s}"),
    ARRIVALS("{process: gamma, rate: 30 /min, cv: 2.5}"),
    ARRIVALS("{process: closed_loop, users: 3, think_time: 1.5 s, think: fixed}"),
    PROMPT("{distribution: uniform, min: 3, max: 3}"),
    PROMPT("{distribution: lognormal, mean: 100.5, cv: 0.7}"),
    PROMPT("{distribution: lognormal, mean: 100.5, sigma: 0.7}"),
    PROMPT("{distribution: zipf, exponent: 0.99, min: 16, max: 1024}"),
    "{trace: mooncake.jsonl, format: mooncake, sort: true, time_scale: 0.1, start: 2 ms, "
    "duration: 1 h, skip: 1, count: 2, max_prompt_tokens: 600, max_output_tokens: 6}",
};

/* Printed and read again, a section prints the same and draws the same. */
static void test_what_is_printed_reads_back_the_same(void) {
    for (gsize i = 0; i < G_N_ELEMENTS(good); i++) {
        g_autoptr(WorkloadSpec) spec = good_workload_of(good[i]);
        g_autofree char *text = written(spec);
        g_autoptr(WorkloadSpec) again = good_workload_of(text);
        g_autofree char *reprinted = written(again);
        g_assert_cmpstr(reprinted, ==, text);
        g_autoptr(GArray) requests = requests_of(spec, 9), repeated = requests_of(again, 9);
        g_autofree char *one = requests_text(requests), *other = requests_text(repeated);
        g_assert_cmpstr(one, ==, other);
    }
}

static void test_printing_keeps_the_indent(void) {
    g_autoptr(WorkloadSpec) spec = good_workload_of(good[0]);
    g_autoptr(GString) out = g_string_new("workload:\n");
    workload_write(spec, 2, out);
    g_assert_true(g_str_has_prefix(out->str, "workload:\n  synthetic:\n    requests: 5\n"));
}

typedef struct {
    const char *section, *message;
} Refusal;

static const Refusal refusals[] = {
    {"{}", "1:1: missing key 'trace' or 'synthetic' in 'workload'"},
    {"[]", "1:1: expected a mapping, not a sequence"},
    {"{trace: vidur.csv, synthetic: {}}", "1:2: 'trace' does not belong to 'synthetic'"},
    {"{synthetic: {}, sort: true}", "1:17: 'sort' does not belong to 'synthetic'"},
    {"{synthetic: 5}", "1:13: expected a mapping for 'synthetic', not '5'"},
    {"{trace: nothing.csv}", "1:9: no file 'nothing.csv' for 'trace'"},
    {"{trace: [a]}", "1:9: expected a text for 'trace', not a sequence"},
    {"{trace: vidur.csv, formt: azure}", "1:20: unknown key 'formt' (did you mean 'format'?)"},
    {"{trace: vidur.csv, format: azur}",
     "1:28: unknown format 'azur' (did you mean 'azure'?); expected 'auto', 'azure', 'mooncake', "
     "'burstgpt', 'vidur' or 'infergrid'"},
    {"{trace: vidur.csv, sort: yes}", "1:26: expected true or false for 'sort', not 'yes'"},
    {"{trace: vidur.csv, time_scale: 0}",
     "1:32: 'time_scale' must be above 0 and at most 1000000000, not 0"},
    {"{trace: vidur.csv, duration: 0 s}",
     "1:30: 'duration' must be above 0 s and at most 10000 d, not 0 s"},
    {"{synthetic: {requests: 5, prompt: {distribution: fixed, tokens: 1}, output: "
     "{distribution: fixed, tokens: 1}}}",
     "1:13: missing key 'arrivals' in 'synthetic'"},
    {ARRIVALS("{rate: 3 /s}"), "1:37: missing key 'process' in 'arrivals'"},
    {ARRIVALS("batch"), "1:37: expected a mapping for 'arrivals', not 'batch'"},
    {ARRIVALS("{process: poison, rate: 3 /s}"),
     "1:47: unknown process 'poison' (did you mean 'poisson'?); expected 'batch', 'constant', "
     "'poisson', 'gamma' or 'closed_loop'"},
    {ARRIVALS("{process: batch, rate: 3 /s}"), "1:54: 'rate' does not belong to process 'batch'"},
    {ARRIVALS("{process: poisson, rate: 3 /s, cv: 2}"),
     "1:68: 'cv' does not belong to process 'poisson'"},
    {ARRIVALS("{process: poisson}"), "1:37: missing key 'rate' in 'arrivals'"},
    {ARRIVALS("{process: gamma, rate: 3 /s}"), "1:37: missing key 'cv' in 'arrivals'"},
    {ARRIVALS("{process: closed_loop, users: 0}"),
     "1:67: 'users' must lie between 1 and 1000000000, not 0"},
    {ARRIVALS("{process: closed_loop, user: 1}"),
     "1:60: unknown key 'user' (did you mean 'users'?)"},
    {PROMPT("{distribution: fixed, min: 1}"),
     "1:85: 'min' does not belong to distribution 'fixed'"},
    {PROMPT("{distribution: fixed, tokens: 0}"),
     "1:93: 'tokens' must lie between 1 and 2147483647, not 0"},
    {PROMPT("{distribution: uniform, min: 5, max: 4}"), "1:100: 'max' is below 'min' (5)"},
    {PROMPT("{distribution: zipf, exponent: 1, min: 5, max: 4}"),
     "1:110: 'max' is below 'min' (5)"},
    {PROMPT("{distribution: lognormal, mean: 9}"), "1:63: missing key 'cv' or 'sigma' in 'prompt'"},
    {PROMPT("{distribution: lognormal, mean: 9, cv: 1, sigma: 1}"),
     "1:112: 'cv' and 'sigma' both state the spread; give one"},
    {PROMPT("{distribution: lognormal, mean: 9, cv: 0}"),
     "1:102: 'cv' must be above 0 and at most 10, not 0"},
    {PROMPT("{distribution: lognormal, mean: 0.5, cv: 1}"),
     "1:95: 'mean' must lie between 1 and 1000000, not 0.5"},
};

static void test_what_is_wrong_is_refused_at_its_place(void) {
    for (gsize i = 0; i < G_N_ELEMENTS(refusals); i++) {
        g_autoptr(GError) error = NULL;
        g_autofree char *expected = g_strconcat("test.yaml:", refusals[i].message, NULL);
        g_assert_null(workload_of(refusals[i].section, &error));
        g_assert_true(error->domain == INPUT_ERROR);
        g_assert_cmpstr(error->message, ==, expected);
    }
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/workload_read/defaults", test_defaults_are_filled_in);
    g_test_add_func("/workload_read/absolute_path", test_a_printed_trace_is_found_from_anywhere);
    g_test_add_func("/workload_read/shipped", test_shipped_traces_are_found_by_name);
    g_test_add_func("/workload_read/round_trip", test_what_is_printed_reads_back_the_same);
    g_test_add_func("/workload_read/indent", test_printing_keeps_the_indent);
    g_test_add_func("/workload_read/refusals", test_what_is_wrong_is_refused_at_its_place);
    return g_test_run();
}
