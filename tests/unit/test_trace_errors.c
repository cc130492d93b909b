/* Traces that are wrong: the message, its line and its column. */
#include "workload_fixture.h"

#define AZURE "TIMESTAMP,ContextTokens,GeneratedTokens\n"
#define VIDUR "arrived_at,num_prefill_tokens,num_decode_tokens\n"
#define OWN "arrival_s,prompt_tokens,output_tokens,prefix_blocks\n"
#define MOON(date, prompt, output, ids)                                                            \
    "{\"timestamp\": " date ", \"input_length\": " prompt ", \"output_length\": " output           \
    ", \"hash_ids\": [" ids "]}\n"
#define MOON_OK MOON("0", "5", "6", "1")
#define UNSORTED "arrival before the previous row's (set 'sort: true' to sort)"
#define TOKENS "expected a whole number of tokens from 0 to 2147483647, found "

typedef struct {
    const char *trace, *options, *message; /* the message after the file's name */
} Mistake;

static const Mistake mistakes[] = {
    {"", "", ":1:1: the file is empty"},
    {"\n\n  \n", "", ":3:1: the file is empty"},
    {AZURE, "", ":1:1: trace without rows"},
    {AZURE "\r\n", "sort: true", ":2:1: trace without rows"},
    {"a,b\n1,2\n", "",
     ":1:1: unknown trace format: columns found: 'a', 'b'; formats known: azure (TIMESTAMP, "
     "ContextTokens, GeneratedTokens); mooncake (JSON lines: timestamp, input_length, "
     "output_length); burstgpt (Timestamp, Request tokens, Response tokens); vidur (arrived_at, "
     "num_prefill_tokens, num_decode_tokens); infergrid (arrival_s, prompt_tokens, "
     "output_tokens)"},
    {"TIMESTAMP,ContextTokens\n", "",
     ":1:1: missing column 'GeneratedTokens' of format 'azure' (columns found: 'TIMESTAMP', "
     "'ContextTokens')"},
    {"arrived_at,,num_decode_tokens\n", "",
     ":1:1: missing column 'num_prefill_tokens' of format 'vidur' (columns found: 'arrived_at', "
     "'', 'num_decode_tokens')"},
    {VIDUR "0,1,1\n", "format: azure",
     ":1:1: missing column 'TIMESTAMP' of format 'azure' (columns found: 'arrived_at', "
     "'num_prefill_tokens', 'num_decode_tokens')"},
    {"arrived_at,num_prefill_tokens,num_decode_tokens,arrived_at\n", "",
     ":1:1: column 'arrived_at' stands 2 times"},
    {VIDUR "0,1,1\n", "format: mooncake", ":1:1: expected a JSON object, found 'arrived_at'"},
    {VIDUR "1,1,1\n0.5,1,1\n", "", ":3:1: " UNSORTED},
    {"n,TIMESTAMP,ContextTokens,GeneratedTokens\n1,2023-11-16 18:00:00.0000001,1,1\n"
     "\n22,2023-11-16 18:00:00,1,1\n",
     "", ":4:4: " UNSORTED},
    {MOON("9", "5", "6", "1") MOON("8", "5", "6", "1"), "", ":2:15: " UNSORTED},
    {AZURE "2023-11-16 18:00:00,374,44\n2023-11-16 18:00:01,37", "",
     ":3:1: expected 3 fields as in the header, found 2"},
    {VIDUR "0,1,1,\n", "", ":2:1: expected 3 fields as in the header, found 4"},
    {VIDUR "0,1x,1\n", "", ":2:3: " TOKENS "'1x'"},
    {VIDUR "0,1,-1\n", "", ":2:5: " TOKENS "'-1'"},
    {VIDUR "0,1,nan\n", "", ":2:5: " TOKENS "'nan'"},
    {VIDUR "0,2147483648,1\n", "", ":2:3: " TOKENS "'2147483648'"},
    {VIDUR "0,99999999999999999999999,1\n", "", ":2:3: " TOKENS "'99999999999999999999999'"},
    {VIDUR "0,1.0,1\n", "", ":2:3: " TOKENS "'1.0'"},
    {VIDUR "0,1,\n", "", ":2:5: " TOKENS "nothing"},
    {VIDUR "0,1,\r7\n", "", ":2:1: carriage return within a row"},
    {VIDUR "-1,1,1\n", "", ":2:1: expected seconds from 0 to 1e12, found '-1'"},
    {VIDUR "NaN,1,1\n", "", ":2:1: expected seconds from 0 to 1e12, found 'NaN'"},
    {VIDUR "2e12,1,1\n", "", ":2:1: expected seconds from 0 to 1e12, found '2e12'"},
    {"x," VIDUR "\"é,\"\"\", 0,1,b\n", "", ":2:13: " TOKENS "'b'"},
    {AZURE "2023-11-16 18:15:46.68059001,1,1\n", "",
     ":2:1: expected a date such as '2023-11-16 18:15:46.6805900', found "
     "'2023-11-16 18:15:46.68059001'"},
    {AZURE "2023-02-29 18:15:46,1,1\n", "",
     ":2:1: expected a date such as '2023-11-16 18:15:46.6805900', found '2023-02-29 18:15:46'"},
    {VIDUR "0,1,1\n1,\"2,1\n", "", ":3:1: quoted field not closed on its line"},
    {VIDUR "0,1\"2\",1\n", "", ":2:4: stray quote"},
    {OWN "0,513,1,1\n", "", ":2:9: 1 prefix blocks for 513 prompt tokens (expected one per 512)"},
    {OWN "0,513,1,1 x\n", "", ":2:9: expected whole numbers separated by spaces, found '1 x'"},
    {MOON("0", "513", "6", "1"), "",
     ":1:71: 1 hash_ids for 513 prompt tokens (expected one per 512)"},
    {MOON_OK MOON("0", "512", "6", "1, 2"), "",
     ":2:71: 2 hash_ids for 512 prompt tokens (expected one per 512)"},
    {MOON_OK "{\"timestamp\": 0, \"input_length\": 5", "",
     ":2:35: expected ',' or '}', found the end of the line"},
    {MOON_OK "{\"timestamp\": 0}", "", ":2:1: missing key 'input_length'"},
    {MOON_OK "{\"timestamp\": 0, \"timestamp\": 0}", "", ":2:18: key 'timestamp' stands twice"},
    {MOON_OK "[]", "", ":2:1: expected a JSON object, found '['"},
    {MOON_OK MOON("0", "\"5\"", "6", "1"), "", ":2:34: " TOKENS "'\"'"},
    {MOON_OK MOON("0", "-5", "6", "1"), "", ":2:34: " TOKENS "'-5'"},
    {MOON_OK MOON("-1", "5", "6", "1"), "",
     ":2:15: expected milliseconds from 0 to 1e15, found '-1'"},
    {MOON_OK MOON("0", "5", "6", "1,"), "", ":2:72: expected a block id, found ']'"},
    {MOON_OK MOON("0", "5", "6", "1 2"), "", ":2:72: expected ',' or ']', found '2'"},
    {MOON_OK MOON("0", "5", "6", "18446744073709551616"), "",
     ":2:70: expected a block id, found '18446744073709551616'"},
    {"{\"timestamp\": 0,}", "", ":1:17: expected a string, found '}'"},
    {"{\"other\": nul}", "", ":1:11: expected a value, found 'nul'"},
    {"{\"other\": {\"a\" 1}}", "", ":1:16: expected ':', found '1'"},
    {"{\"other\": \"a", "", ":1:13: expected a closing quote, found the end of the line"},
    {"{} x", "", ":1:4: expected the end of the line, found 'x'"},
    {VIDUR "0,1,0\n1,0,1\n2,1,1\n", "start: 5 s",
     ":1:1: no request to serve in 3 rows (1 without output, 1 without prompt, 1 outside the "
     "slice)"},
};

static char *scan_error(const char *path, const char *options) {
    g_autoptr(WorkloadSpec) spec = workload_of_trace(path, options);
    g_autoptr(GError) error = NULL;
    WorkloadFacts facts;
    g_assert_false(workload_scan(spec, 1, &facts, &error));
    g_assert_true(error->domain == INPUT_ERROR);
    g_assert_true(g_str_has_prefix(error->message, path));
    return g_strdup(error->message + strlen(path));
}

static void test_mistakes_are_named_where_they_stand(void) {
    for (gsize i = 0; i < G_N_ELEMENTS(mistakes); i++) {
        g_autofree char *path = temporary_trace(mistakes[i].trace, strlen(mistakes[i].trace));
        g_autofree char *message = scan_error(path, mistakes[i].options);
        g_assert_cmpstr(message, ==, mistakes[i].message);
        g_unlink(path);
    }
}

static void test_rows_after_the_slice_are_checked_by_the_scan_alone(void) {
    static const char trace[] = VIDUR "0,1,1\n1,2,2\nx,3,3\n";
    g_autofree char *path = temporary_trace(trace, strlen(trace));
    g_autofree char *message = scan_error(path, "count: 1");
    g_assert_cmpstr(message, ==, ":4:1: expected seconds from 0 to 1e12, found 'x'");
    g_autoptr(WorkloadSpec) spec = workload_of_trace(path, "count: 1");
    g_autoptr(GArray) requests = requests_of(spec, 1);
    g_assert_cmpuint(requests->len, ==, 1);
    g_unlink(path);
}

static void test_a_nul_byte_is_no_part_of_a_number(void) {
    static const char csv[] = VIDUR "0,1\0002,1\n";
    g_autofree char *path = temporary_trace(csv, sizeof csv - 1);
    g_autofree char *message = scan_error(path, "");
    g_assert_cmpstr(message, ==, ":2:3: " TOKENS "'1'");
    g_unlink(path);
    static const char json[] = "{\"timestamp\": 0\0}";
    g_autofree char *other = temporary_trace(json, sizeof json - 1);
    g_autofree char *complaint = scan_error(other, "");
    g_assert_cmpstr(complaint, ==, ":1:16: expected ',' or '}', found the end of the line");
    g_unlink(other);
}

static void test_endless_lines_are_refused(void) {
    const gsize length = 17 << 20;
    g_autofree char *text = g_malloc(length);
    memset(text, '7', length);
    g_autofree char *path = temporary_trace(text, length);
    g_autofree char *message = scan_error(path, "");
    g_assert_cmpstr(message, ==, ":1:1: line longer than 16 MiB");
    g_unlink(path);
}

static void test_a_trace_that_went_away_is_reported(void) {
    g_autofree char *path = temporary_trace(VIDUR, strlen(VIDUR));
    g_autoptr(WorkloadSpec) spec = workload_of_trace(path, "");
    g_unlink(path);
    g_autoptr(GError) error = NULL;
    g_assert_null(request_source_open(spec, 1, &error));
    g_autofree char *expected =
        g_strdup_printf("%s:1:1: cannot open the trace (No such file or directory)", path);
    g_assert_cmpstr(error->message, ==, expected);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/trace_errors/table", test_mistakes_are_named_where_they_stand);
    g_test_add_func("/trace_errors/after_slice",
                    test_rows_after_the_slice_are_checked_by_the_scan_alone);
    g_test_add_func("/trace_errors/nul_byte", test_a_nul_byte_is_no_part_of_a_number);
    g_test_add_func("/trace_errors/endless_line", test_endless_lines_are_refused);
    g_test_add_func("/trace_errors/vanished", test_a_trace_that_went_away_is_reported);
    return g_test_run();
}
