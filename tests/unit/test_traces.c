/* Request traces: the formats, their quirks, slices and caps, and real ones when they are there. */
#include "workload_fixture.h"
#include "workloads/traces/trace_values.h"

#define AZURE_HEADER "TIMESTAMP,ContextTokens,GeneratedTokens\n"
#define DAY "2023-11-16 "

typedef struct {
    const char *file, *format;
    const char *requests;
} Sample;

static const Sample samples[] = {
    {"azure_2023.csv", "azure", "0:374/44 4.314579:396/109 4.314579:879/55 4.5418771:91/16"},
    {"azure_2024.csv", "azure", "0:2162/5 1e-06:2399/6 1.500001:76/15"},
    {"burstgpt.csv", "burstgpt", "0:472/18 40:1087/230 113:417/276"},
    {"burstgpt_sessions.csv", "burstgpt", "0:472/18 2.5:1087/230"},
    {"vidur.csv", "vidur", "0:374/44 4.314579:396/109 4.541877:879/55"},
    {"vidur_reordered.csv", "vidur", "1.25:374/44 4.314579:396/109"},
    {"infergrid.csv", "infergrid", "0.25:1025/8 1:512/1 1:20/3"},
    {"mooncake.jsonl", "mooncake", "0:1300/50 0:512/1 3.001:513/7"},
};

static void test_every_format_is_detected_and_read(void) {
    for (gsize i = 0; i < G_N_ELEMENTS(samples); i++) {
        for (guint named = 0; named < 2; named++) {
            g_autofree char *text = g_strdup_printf("trace: %s\nformat: %s\n", samples[i].file,
                                                    named ? samples[i].format : "auto");
            g_autoptr(WorkloadSpec) spec = good_workload_of(text);
            g_autoptr(GArray) requests = requests_of(spec, 1);
            g_autofree char *found = requests_text(requests);
            g_assert_cmpstr(found, ==, samples[i].requests);
        }
    }
}

static char *blocks_text(const GArray *requests) {
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < requests->len; i++) {
        const Request *request = &g_array_index(requests, Request, i);
        for (guint block = 0; block < request->n_blocks; block++)
            g_string_append_printf(text, "%s%" G_GUINT64_FORMAT, block ? " " : "",
                                   request->prefix_blocks[block]);
        g_string_append_c(text, ';');
    }
    return g_string_free(text, FALSE);
}

static void test_prefix_blocks_are_kept_and_cut_with_the_prompt(void) {
    static const struct {
        const char *section, *blocks;
    } cases[] = {
        {"trace: mooncake.jsonl", "0 1 2;0;0 3;"},
        {"trace: infergrid.csv", "7 8 9;7;;"},
        {"{trace: mooncake.jsonl, max_prompt_tokens: 1025}", "0 1 2;0;0 3;"},
        {"{trace: mooncake.jsonl, max_prompt_tokens: 1024}", "0 1;0;0 3;"},
        {"{trace: mooncake.jsonl, max_prompt_tokens: 1}", "0;0;0;"},
        {"{trace: mooncake.jsonl, sort: true}", "0 1 2;0;0 3;"},
        {"trace: vidur.csv", ";;;"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(WorkloadSpec) spec = good_workload_of(cases[i].section);
        g_autoptr(GArray) requests = requests_of(spec, 1);
        g_autofree char *found = blocks_text(requests);
        g_assert_cmpstr(found, ==, cases[i].blocks);
        g_assert_true(facts_of(spec, 1).has_prefixes == (strpbrk(found, "0123456789") != NULL));
    }
}

typedef struct {
    const char *what, *trace, *options, *requests;
    guint64 rows, skipped_outputs, skipped_prompts, sliced, capped;
} Quirk;

static const Quirk quirks[] = {
    {"no newline at the end", AZURE_HEADER DAY "18:00:00.5,3,4", "", "0:3/4", .rows = 1},
    {"CRLF, blank lines, blanks",
     "\r\n  \r\narrived_at, num_prefill_tokens ,num_decode_tokens\r\n"
     "\r\n0 , 3,4\r\n \t\r\n1,5,\t6\r\n\r\n",
     "", "0:3/4 1:5/6", .rows = 2},
    {"byte order mark before JSON",
     "\xef\xbb\xbf{\"timestamp\":7,\"input_length\":1,\"output_length\":2,\"hash_ids\":[5]}", "",
     "0.007:1/2", .rows = 1},
    {"zero tokens", "arrived_at,num_prefill_tokens,num_decode_tokens\n0,3,0\n1,0,4\n2,0,0\n3,7,8\n",
     "", "3:7/8", .rows = 4, .skipped_outputs = 2, .skipped_prompts = 1},
    {"dates count from the first row, served or not",
     AZURE_HEADER DAY "18:00:00,3,0\n" DAY "18:00:02.25,1,1\n", "", "2.25:1/1", .rows = 2,
     .skipped_outputs = 1},
    {"a day, a month and a year end",
     AZURE_HEADER
     "2023-12-31 23:59:59.9999999,3,4\n"
     "2024-01-01 00:00:00.0000001,5,6\n2024-02-29T00:00:00Z,1,1\n2024-03-01 01:00:00+01:00,2,2\n",
     "", "0:3/4 2e-07:5/6 5097600.0000001:1/1 5184000.0000001:2/2", .rows = 4},
    {"quoted fields with commas and quotes",
     "x,\"arrived_at\",num_prefill_tokens,num_decode_tokens,\n\"a,\"\"b\"\",c\",\"1.5\",\"3\",4,\n",
     "", "1.5:3/4", .rows = 1},
    {"ties keep the file's order",
     "arrived_at,num_prefill_tokens,num_decode_tokens\n"
     "0,1,1\n0,2,1\n0,3,1\n0,2,1\n",
     "", "0:1/1 0:2/1 0:3/1 0:2/1", .rows = 4},
    {"unsorted rows, sorted; ties keep the file's order",
     AZURE_HEADER DAY "18:00:03,1,1\n" DAY "18:00:01,2,1\n" DAY "18:00:03,3,1\n" DAY
                      "18:00:01,4,1\n",
     "sort: true\n", "0:2/1 0:4/1 2:1/1 2:3/1", .rows = 4},
    {"lengths at the limit",
     "arrived_at,num_prefill_tokens,num_decode_tokens\n"
     "0,2147483647,2147483647\n",
     "", "0:2147483647/2147483647", .rows = 1},
    {"caps", "arrived_at,num_prefill_tokens,num_decode_tokens\n0,9,9\n0,5,9\n0,5,6\n0,9,6\n",
     "max_prompt_tokens: 5\nmax_output_tokens: 6\n", "0:5/6 0:5/6 0:5/6 0:5/6", .rows = 4,
     .capped = 3},
};

static void test_quirks_are_handled_and_counted(void) {
    for (gsize i = 0; i < G_N_ELEMENTS(quirks); i++) {
        const Quirk *quirk = &quirks[i];
        g_test_message("%s", quirk->what);
        g_autofree char *path = temporary_trace(quirk->trace, strlen(quirk->trace));
        g_autoptr(WorkloadSpec) spec = workload_of_trace(path, quirk->options);
        g_autoptr(GArray) requests = requests_of(spec, 1);
        g_autofree char *found = requests_text(requests);
        g_assert_cmpstr(found, ==, quirk->requests);
        WorkloadFacts facts = facts_of(spec, 1);
        g_assert_cmpuint(facts.requests, ==, requests->len);
        g_assert_cmpuint(facts.rows, ==, quirk->rows);
        g_assert_cmpuint(facts.skipped_outputs, ==, quirk->skipped_outputs);
        g_assert_cmpuint(facts.skipped_prompts, ==, quirk->skipped_prompts);
        g_assert_cmpuint(facts.sliced, ==, quirk->sliced);
        g_assert_cmpuint(facts.capped, ==, quirk->capped);
        g_assert_false(facts.closed_loop);
        g_unlink(path);
    }
}

/* Ten rows at 0, 1, … 9 s, the third and the seventh with nothing to generate. */
static const char ten_rows[] = "arrived_at,num_prefill_tokens,num_decode_tokens\n"
                               "0,10,1\n1,11,1\n2,12,0\n3,13,1\n4,14,1\n5,15,1\n6,16,0\n7,17,1\n"
                               "8,18,1\n9,19,1\n";

static void test_slices_begin_at_zero_and_count_what_is_outside(void) {
    static const struct {
        const char *options, *requests;
        guint64 sliced;
    } cases[] = {
        {"start: 3 s", "0:13/1 1:14/1 2:15/1 4:17/1 5:18/1 6:19/1", 2},
        {"start: 2.5 s\nduration: 2 s", "0.5:13/1 1.5:14/1", 6},
        {"duration: 3 s", "0:10/1 1:11/1", 6},
        {"count: 3", "0:10/1 1:11/1 3:13/1", 5},
        {"skip: 3", "0:14/1 1:15/1 3:17/1 4:18/1 5:19/1", 3},
        {"skip: 1\ncount: 2", "0:11/1 2:13/1", 6},
        {"start: 3 s\nskip: 1\ncount: 2", "0:14/1 1:15/1", 6},
        {"start: 3 s\nduration: 4 s\nskip: 2", "0:15/1", 7},
        {"time_scale: 0.5\nstart: 3 s\nduration: 3 s", "0:13/1 0.5:14/1 1:15/1", 5},
        {"count: 100", "0:10/1 1:11/1 3:13/1 4:14/1 5:15/1 7:17/1 8:18/1 9:19/1", 0},
    };
    g_autofree char *path = temporary_trace(ten_rows, strlen(ten_rows));
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        for (guint sorted = 0; sorted < 2; sorted++) {
            g_autofree char *options =
                g_strdup_printf("%s\nsort: %s\n", cases[i].options, sorted ? "true" : "false");
            g_autoptr(WorkloadSpec) spec = workload_of_trace(path, options);
            g_autoptr(GArray) requests = requests_of(spec, 1);
            g_autofree char *found = requests_text(requests);
            g_assert_cmpstr(found, ==, cases[i].requests);
            WorkloadFacts facts = facts_of(spec, 1);
            g_assert_cmpuint(facts.sliced, ==, cases[i].sliced);
            g_assert_cmpuint(facts.rows, ==, 10);
            g_assert_cmpuint(facts.skipped_outputs, ==, 2);
            g_assert_cmpuint(facts.requests + facts.sliced + 2, ==, 10);
        }
    }
    g_unlink(path);
}

static void test_facts_sum_over_the_served_requests(void) {
    g_autoptr(WorkloadSpec) spec =
        good_workload_of("{trace: azure_2023.csv, time_scale: 2, count: 3}");
    WorkloadFacts facts = facts_of(spec, 1);
    g_assert_cmpuint(facts.prompt_tokens, ==, 374 + 396 + 879);
    g_assert_cmpuint(facts.output_tokens, ==, 44 + 109 + 55);
    g_assert_cmpuint(facts.max_prompt_tokens, ==, 879);
    g_assert_cmpuint(facts.max_output_tokens, ==, 109);
    g_assert_cmpuint(facts.max_total_tokens, ==, 879 + 55);
    g_assert_cmpfloat(facts.last_arrival_s, ==, 2 * 4.314579);
}

/* Rows of growing width, so that some straddle every kind of block boundary. */
static void test_long_files_come_through_whole(void) {
    const guint n = 20000;
    g_autoptr(GString) text = g_string_new("note," AZURE_HEADER);
    for (guint i = 0; i < n; i++)
        g_string_append_printf(text, "%*s,2023-11-16 %02u:%02u:%02u.%07u,%u,%u\r\n", (int)(i % 97),
                               "", i / 3600, i / 60 % 60, i % 60, i, i + 1, i % 500 + 1);
    g_autofree char *path = temporary_trace(text->str, text->len);
    g_autoptr(WorkloadSpec) spec = workload_of_trace(path, NULL);
    g_autoptr(GArray) requests = requests_of(spec, 1);
    g_assert_cmpuint(requests->len, ==, n);
    for (guint i = 0; i < n; i++) {
        const Request *request = &g_array_index(requests, Request, i);
        g_assert_cmpfloat(request->arrival_s, ==, (i * 1e7 + i) / 1e7);
        g_assert_cmpuint(request->prompt_tokens, ==, i + 1);
        g_assert_cmpuint(request->output_tokens, ==, i % 500 + 1);
    }
    g_unlink(path);
}

static void test_long_lines_come_through_whole(void) {
    const guint n = 40000; /* ids: some 230 KB */
    g_autoptr(GString) text = g_string_new("{\"hash_ids\": [0");
    for (guint i = 1; i < n; i++)
        g_string_append_printf(text, ",%u", i);
    g_string_append_printf(text, "], \"input_length\": %u, \"output_length\": 1, \"timestamp\": 0}",
                           n * 512);
    g_autofree char *path = temporary_trace(text->str, text->len);
    g_autoptr(WorkloadSpec) spec = workload_of_trace(path, NULL);
    g_autoptr(GArray) requests = requests_of(spec, 1);
    g_assert_cmpuint(requests->len, ==, 1);
    const Request *request = &g_array_index(requests, Request, 0);
    g_assert_cmpuint(request->n_blocks, ==, n);
    for (guint i = 0; i < n; i++)
        g_assert_cmpuint(request->prefix_blocks[i], ==, i);
    g_unlink(path);
}

static void test_open_sources_ignore_completions(void) {
    g_autoptr(GError) error = NULL;
    g_autoptr(WorkloadSpec) spec = good_workload_of("trace: vidur.csv");
    g_autoptr(RequestSource) source = request_source_open(spec, 1, &error);
    g_assert_no_error(error);
    Request request;
    g_assert_false(request_source_completed(source, 1, &request));
}

/* Against GLib's calendar, which counts microseconds. */
static void test_timestamps_agree_with_the_calendar(void) {
    g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
    const char *first = "1970-01-01 00:00:00";
    gint64 epoch;
    g_assert_true(trace_value_timestamp(first, strlen(first), &epoch));
    for (guint i = 0; i < 2000; i++) {
        gint64 seconds = (gint64)g_test_rand_int_range(0, G_MAXINT32) * 3;
        guint ticks = (guint)g_test_rand_int_range(0, TICKS_PER_S);
        g_autoptr(GDateTime) date = g_date_time_new_from_unix_utc(seconds);
        g_autofree char *clock = g_date_time_format(date, "%Y-%m-%d %H:%M:%S");
        g_autofree char *text = g_strdup_printf("%s.%07u", clock, ticks);
        gint64 found;
        g_assert_true(trace_value_timestamp(text, strlen(text), &found));
        g_assert_cmpint(found - epoch, ==, seconds * TICKS_PER_S + ticks);
    }
}

static void test_decimals_are_correctly_rounded(void) {
    for (guint i = 0; i < 5000; i++) {
        g_autofree char *text =
            g_strdup_printf("%.*f", g_test_rand_int_range(0, 20),
                            g_test_rand_double_range(0, pow(10, g_test_rand_int_range(0, 12))));
        double value;
        g_assert_true(trace_value_decimal(text, strlen(text), &value));
        g_assert_cmpfloat(value, ==, g_ascii_strtod(text, NULL));
    }
}

static void test_what_is_no_value_is_refused(void) {
    static const char *const decimals[] = {"",      "-1",    "+1", "nan", "inf", "0x10", "1,5",
                                           "1e999", "1.2.3", ".",  ".5",  "1e",  "1 2",  "١"};
    static const char *const dates[] = {"2023-11-16",
                                        "2023-02-29 00:00:00",
                                        "2023-13-01 00:00:00",
                                        "2023-11-16 24:00:00",
                                        "2023-11-16 18:60:00",
                                        "2023-11-16 18:15:60",
                                        "2023-11-16 18:15:46.",
                                        "2023-11-16 18:15:46.68059001",
                                        "2023-11-16 18:15:46+0000",
                                        "2023-11-16 18:15:46 +00:00",
                                        "2023-11-16 18:15:4",
                                        "23-11-16 18:15:46",
                                        "0000-01-01 00:00:00",
                                        "1684266946"};
    double value;
    gint64 ticks;
    for (gsize i = 0; i < G_N_ELEMENTS(decimals); i++)
        g_assert_false(trace_value_decimal(decimals[i], strlen(decimals[i]), &value));
    for (gsize i = 0; i < G_N_ELEMENTS(dates); i++)
        g_assert_false(trace_value_timestamp(dates[i], strlen(dates[i]), &ticks));
}

/* A real trace, from INFERGRID_SHARED or the folder beside the source's; NULL: the test skips. */
static char *real_trace(const char *folder, const char *file) {
    const char *shared = g_getenv("INFERGRID_SHARED");
    char *path = shared != NULL ? g_build_filename(shared, "data", folder, file, NULL)
                                : g_test_build_filename(G_TEST_DIST, "..", "..", "shared", "data",
                                                        folder, file, NULL);
    if (g_file_test(path, G_FILE_TEST_EXISTS))
        return path;
    g_autofree char *reason = g_strdup_printf("no real trace at %s", path);
    g_test_skip(reason);
    g_free(path);
    return NULL;
}

static void test_real_azure_trace(void) {
    g_autofree char *path = real_trace("azure-2023", "AzureLLMInferenceTrace_conv.csv");
    if (path == NULL)
        return;
    g_autoptr(WorkloadSpec) spec = workload_of_trace(path, NULL);
    WorkloadFacts facts = facts_of(spec, 1);
    g_assert_cmpuint(facts.requests, ==, 19366);
    g_assert_cmpuint(facts.rows, ==, 19366);
    g_assert_cmpuint(facts.max_prompt_tokens, ==, 14050);
    g_assert_cmpuint(facts.max_output_tokens, ==, 1000);
    g_assert_cmpfloat(fabs(facts.last_arrival_s - 3501.7), <, 0.05);
    g_autoptr(GArray) requests = requests_of(spec, 1);
    guint too_long = 0; /* for a context of 4,096 */
    for (guint i = 0; i < requests->len; i++) {
        const Request *request = &g_array_index(requests, Request, i);
        too_long += request->prompt_tokens + request->output_tokens > 4096;
    }
    g_assert_cmpfloat(g_array_index(requests, Request, 0).arrival_s, ==, 0);
    g_assert_cmpuint(too_long, ==, 1612);
}

static void test_real_mooncake_trace(void) {
    g_autofree char *path = real_trace("mooncake", "conversation_trace.jsonl");
    if (path == NULL)
        return;
    g_autoptr(WorkloadSpec) spec = workload_of_trace(path, NULL);
    WorkloadFacts facts = facts_of(spec, 1);
    g_assert_cmpuint(facts.requests, ==, 12031);
    g_assert_cmpuint(facts.max_prompt_tokens, ==, 126195);
    g_assert_cmpfloat(fabs(facts.last_arrival_s - 3537), <, 0.05);
    g_assert_true(facts.has_prefixes);
    g_autoptr(GArray) requests = requests_of(spec, 1);
    guint ties = 0;
    for (guint i = 1; i < requests->len; i++)
        ties += g_array_index(requests, Request, i).arrival_s ==
                g_array_index(requests, Request, i - 1).arrival_s;
    g_assert_cmpuint(ties, ==, 10851);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/traces/formats", test_every_format_is_detected_and_read);
    g_test_add_func("/traces/prefix_blocks", test_prefix_blocks_are_kept_and_cut_with_the_prompt);
    g_test_add_func("/traces/quirks", test_quirks_are_handled_and_counted);
    g_test_add_func("/traces/slices", test_slices_begin_at_zero_and_count_what_is_outside);
    g_test_add_func("/traces/facts", test_facts_sum_over_the_served_requests);
    g_test_add_func("/traces/long_files", test_long_files_come_through_whole);
    g_test_add_func("/traces/long_lines", test_long_lines_come_through_whole);
    g_test_add_func("/traces/no_closed_loop", test_open_sources_ignore_completions);
    g_test_add_func("/traces/timestamps", test_timestamps_agree_with_the_calendar);
    g_test_add_func("/traces/decimals", test_decimals_are_correctly_rounded);
    g_test_add_func("/traces/refused_values", test_what_is_no_value_is_refused);
    g_test_add_func("/traces/real/azure", test_real_azure_trace);
    g_test_add_func("/traces/real/mooncake", test_real_mooncake_trace);
    return g_test_run();
}
