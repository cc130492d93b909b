/* Results side by side: differences and which way is better, settings that differ, requests one by
 * one, and what is said of a summary that is none. */
#include "analysis/compare/compare_plot.h"
#include "analysis/compare/compare_table.h"
#include "analysis/run/metrics.h"
#include "workloads/input_error.h"
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

/* --- keys */

static void test_keys(void) {
    static const struct {
        const char *key;
        CellForm form;
        FigureDirection direction;
        const char *title, *label;
    } cases[] = {
        {"whole.ttft.p99_s", FORM_SECONDS, DIRECTION_SMALLER, "Whole run", "TTFT p99"},
        {"steady.queueing.mean_s", FORM_SECONDS, DIRECTION_SMALLER, "Steady state",
         "queueing mean"},
        {"whole.e2e.count", FORM_NONE, DIRECTION_NONE, "Whole run", "E2E count"},
        {"whole.output_token_throughput_per_s", FORM_REAL, DIRECTION_LARGER, "Whole run",
         "output token throughput"},
        {"whole.goodput_per_s", FORM_REAL, DIRECTION_LARGER, "Whole run", "goodput"},
        {"whole.ttft_limit.met_share", FORM_SHARE, DIRECTION_LARGER, "Whole run",
         "TTFT limit met share"},
        {"whole.ttft_limit.value_s", FORM_SECONDS, DIRECTION_SMALLER, "Whole run",
         "TTFT limit value"},
        {"requests.rejected_context", FORM_NONE, DIRECTION_SMALLER, "Requests", "rejected context"},
        {"requests.prefix_hit_rate", FORM_SHARE, DIRECTION_LARGER, "Requests", "prefix hit rate"},
        {"roles.decode.utilisation", FORM_SHARE, DIRECTION_NONE, "Replicas", "decode utilisation"},
        {"roles.decode.all_reduce_share", FORM_SHARE, DIRECTION_SMALLER, "Replicas",
         "decode all-reduce share"},
        {"roles.decode.kv_peak_tokens", FORM_NONE, DIRECTION_NONE, "Replicas",
         "decode KV peak tokens"},
        {"buffer.all.backpressure_s", FORM_SECONDS, DIRECTION_SMALLER, "Buffers", "backpressure"},
        {"network.kv_pull.bytes", FORM_BYTES, DIRECTION_NONE, "Network", "KV pull bytes"},
        {"energy.joules", FORM_JOULES, DIRECTION_SMALLER, "Energy", "joules"},
        {"energy.tokens_per_joule", FORM_REAL, DIRECTION_LARGER, "Energy", "tokens per joule"},
        {"wafers.turn_s_per_token", FORM_SECONDS, DIRECTION_SMALLER, "Wafers", "turn"},
        {"wafers.tpr_tokens_per_s", FORM_REAL, DIRECTION_LARGER, "Wafers", "TPR tokens"},
        {"partial", FORM_NONE, DIRECTION_SMALLER, "Run", "partial"},
        {"later.unheard_of_bytes", FORM_BYTES, DIRECTION_NONE, "Later", "unheard of bytes"},
    };

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *title = figure_key_title(cases[i].key);
        g_autofree char *label = figure_key_label(cases[i].key);
        g_test_message("%s", cases[i].key);
        g_assert_cmpint(figure_key_form(cases[i].key), ==, cases[i].form);
        g_assert_cmpint(figure_key_direction(cases[i].key), ==, cases[i].direction);
        g_assert_cmpstr(title, ==, cases[i].title);
        g_assert_cmpstr(label, ==, cases[i].label);
    }
}

/* --- differences */

static void test_deltas(void) {
    static const struct {
        FigureDirection direction;
        double first, other, delta, percent;
        Verdict verdict;
        gboolean beyond_ten; /* percent */
    } cases[] = {
        {DIRECTION_SMALLER, 4, 5, 1, 25, VERDICT_WORSE, TRUE},
        {DIRECTION_SMALLER, 4, 3, -1, -25, VERDICT_BETTER, FALSE},
        {DIRECTION_LARGER, 4, 5, 1, 25, VERDICT_BETTER, FALSE},
        {DIRECTION_LARGER, 4, 3, -1, -25, VERDICT_WORSE, TRUE},
        {DIRECTION_NONE, 4, 3, -1, -25, VERDICT_NONE, FALSE},
        {DIRECTION_LARGER, 4, 4, 0, 0, VERDICT_SAME, FALSE},
        {DIRECTION_NONE, 0, 0, 0, 0, VERDICT_SAME, FALSE},
        {DIRECTION_SMALLER, 10, 11, 1, 10, VERDICT_WORSE, FALSE},
        {DIRECTION_SMALLER, 0, 1e-9, 1e-9, NAN, VERDICT_WORSE, TRUE},
        {DIRECTION_LARGER, 0, 3, 3, NAN, VERDICT_BETTER, FALSE},
        {DIRECTION_SMALLER, NAN, 3, NAN, NAN, VERDICT_NONE, FALSE},
        {DIRECTION_SMALLER, 3, NAN, NAN, NAN, VERDICT_NONE, FALSE},
    };

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        double values[] = {cases[i].first, cases[i].other};
        ComparedFigure figure = {.direction = cases[i].direction, .values = values, .n = 2};
        Comparison ten = {.n = 2, .threshold = 10}, none = {.n = 2, .threshold = NAN};
        double delta = compared_figure_delta(&figure, 1);
        double percent = compared_figure_percent(&figure, 1);
        g_test_message("case %u", i);
        g_assert_true(delta == cases[i].delta || (isnan(delta) && isnan(cases[i].delta)));
        g_assert_true(percent == cases[i].percent || (isnan(percent) && isnan(cases[i].percent)));
        g_assert_cmpint(compared_figure_verdict(&figure, 1), ==, cases[i].verdict);
        g_assert_cmpint(comparison_exceeds(&ten, &figure, 1), ==, cases[i].beyond_ten);
        g_assert_false(comparison_exceeds(&none, &figure, 1));
    }
}

static void test_letters(void) {
    static const struct {
        guint at;
        const char *letter;
    } cases[] = {{0, "A"},   {25, "Z"},   {26, "AA"},  {51, "AZ"},
                 {52, "BA"}, {701, "ZZ"}, {702, "AAA"}};

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *letter = comparison_letter(cases[i].at);
        g_assert_cmpstr(letter, ==, cases[i].letter);
    }
}

/* --- settings */

/* "key: a | b | c" a line. */
static char *changes_text(const char *const *texts, guint n) {
    g_autoptr(GPtrArray) trees = g_ptr_array_new_with_free_func((GDestroyNotify)yaml_node_free);
    GString *out = g_string_new(NULL);

    for (guint i = 0; i < n; i++)
        g_ptr_array_add(trees, yaml_load_text(texts[i], "experiment.yaml", NULL));
    g_autoptr(GPtrArray) changes = setting_changes((const YamlNode *const *)trees->pdata, n);
    for (guint i = 0; i < changes->len; i++) {
        const SettingChange *change = changes->pdata[i];
        g_string_append_printf(out, "%s:", change->key);
        for (guint at = 0; at < change->n; at++)
            g_string_append_printf(out, "%s %s", at == 0 ? "" : " |",
                                   change->values[at] == NULL ? "-" : change->values[at]);
        g_string_append_c(out, '\n');
    }
    return g_string_free(out, FALSE);
}

static void test_settings(void) {
    static const char *const texts[] = {
        "version: 1\n"
        "platform: {nodes: 2, sources: {nodes: measured}}\n"
        "policy: {mode: pbd, decode: {tp: 4, pp: 1}}\n"
        "search: {tp: [1, 2]}\n",
        "version: 1\n"
        "platform: {nodes: 2, sources: {nodes: guessed}}\n"
        "policy: {mode: pbd, pools: 1, decode: {tp: 2, pp: 1}, empty: {}}\n"
        "search: {tp: [1, 4], pairs: [{a: 1}]}\n",
        "version: 1\n"
        "platform: {nodes: 2}\n"
        "policy: {mode: pbd, decode: {tp: 4, pp: 1}}\n"
        "search: {tp: [1, 2]}\n",
    };
    g_autofree char *two = changes_text(texts, 2);
    g_autofree char *three = changes_text(texts, 3);
    g_autofree char *none = changes_text((const char *const[]){texts[0], texts[2]}, 2);

    g_assert_cmpstr(two, ==,
                    "policy.pools: - | 1\n"
                    "policy.decode.tp: 4 | 2\n"
                    "search.tp: [1, 2] | [1, 4]\n"
                    "search.pairs: - | [{a: 1}]\n");
    g_assert_cmpstr(three, ==,
                    "policy.pools: - | 1 | -\n"
                    "policy.decode.tp: 4 | 2 | 4\n"
                    "search.tp: [1, 2] | [1, 4] | [1, 2]\n"
                    "search.pairs: - | [{a: 1}] | -\n");
    g_assert_cmpstr(none, ==, "");
}

/* --- requests */

static void add_row(GArray *rows, guint64 id, double arrival_s, double ttft_s, double tpot_s) {
    ServedRow row = {.id = id,
                     .prompt_tokens = 10,
                     .output_tokens = 2,
                     .arrival_s = arrival_s,
                     .completed = !isnan(ttft_s),
                     .latencies_s = {ttft_s, tpot_s, ttft_s + 1}};

    g_array_append_val(rows, row);
}

static void test_paired(void) {
    g_autoptr(GArray) first = g_array_new(FALSE, FALSE, sizeof(ServedRow));
    g_autoptr(GArray) second = g_array_new(FALSE, FALSE, sizeof(ServedRow));

    for (guint64 id = 0; id < 5; id++)
        add_row(first, id, (double)id, 1, id == 0 ? NAN : 1);
    add_row(second, 0, 0, 1, NAN);
    add_row(second, 1, 1, 0.5, 1);
    add_row(second, 2, 2, 3, 2);
    add_row(second, 3, 3, NAN, NAN); /* rejected there */
    add_row(second, 7, 4, 1, 1);
    g_autoptr(PairedRequests) paired = paired_requests_new(first, second, FALSE);
    const PairedLatency *ttft = &paired->latencies[LATENCY_TTFT];
    const PairedLatency *tpot = &paired->latencies[LATENCY_TPOT];

    g_assert_null(paired->unlike);
    g_assert_cmpuint(paired->common, ==, 4);
    g_assert_cmpuint(paired->completed, ==, 3);
    /* differences 0, −0.5, 2 */
    g_assert_cmpuint(ttft->pairs, ==, 3);
    g_assert_cmpuint(ttft->faster, ==, 1);
    g_assert_cmpuint(ttft->slower, ==, 1);
    g_assert_cmpuint(ttft->same, ==, 1);
    g_assert_cmpfloat(ttft->median_s, ==, 0);
    g_assert_cmpfloat(ttft->mean_s, ==, 0.5);
    g_assert_cmpfloat_with_epsilon(ttft->p5_s, -0.45, 1e-12);
    g_assert_cmpfloat_with_epsilon(ttft->p95_s, 1.8, 1e-12);
    /* differences 0, 1: the single token has none */
    g_assert_cmpuint(tpot->pairs, ==, 2);
    g_assert_cmpfloat(tpot->median_s, ==, 0.5);
    g_assert_false(paired_requests_equal(paired, first, second));
    g_autoptr(PairedRequests) itself = paired_requests_new(first, first, FALSE);
    g_assert_true(paired_requests_equal(itself, first, first));
}

static void test_other_requests(void) {
    g_autoptr(GArray) first = g_array_new(FALSE, FALSE, sizeof(ServedRow));
    g_autoptr(GArray) second = g_array_new(FALSE, FALSE, sizeof(ServedRow));
    g_autoptr(GArray) nothing = g_array_new(FALSE, FALSE, sizeof(ServedRow));

    add_row(first, 3, 1, 1, 1);
    add_row(second, 3, 1.5, 1, 1);
    g_autoptr(PairedRequests) later = paired_requests_new(first, second, FALSE);
    g_assert_cmpstr(later->unlike, ==, "request 3 arrives at 1 and 1.5 s");
    g_autoptr(PairedRequests) closed = paired_requests_new(first, second, TRUE);
    g_assert_null(closed->unlike);
    g_array_index(second, ServedRow, 0).output_tokens = 9;
    g_autoptr(PairedRequests) longer = paired_requests_new(first, second, TRUE);
    g_assert_cmpstr(longer->unlike, ==, "request 3 has 2 and 9 output tokens");
    g_autoptr(PairedRequests) apart = paired_requests_new(first, nothing, TRUE);
    g_assert_cmpstr(apart->unlike, ==, "they have no request in common");
}

/* --- summaries */

#define SUMMARY_HEAD                                                                               \
    "{\n  \"partial\": false,\n  \"outcome\": \"finished\",\n"                                     \
    "  \"simulated\": {\"model\": \"m\", \"platform\": \"p\", \"plan\": \"x\", \"seed\": 1,\n"     \
    "    \"clusters\": 2},\n"
#define SUMMARY_TAIL                                                                               \
    "  \"requests\": {\"arrived\": 1, \"completed\": 1},\n"                                        \
    "  \"pools\": [{\"replicas\": 1}],\n"                                                          \
    "  \"whole\": {\"makespan_s\": 1.5e0, \"output_token_throughput_per_s\": 8,\n"                 \
    "    \"tpot\": {\"p50_s\": null}}\n}\n"

static SummaryFile *read_text(const char *text, gssize length, char **path, GError **error) {
    int file = g_file_open_tmp("summary-XXXXXX", path, NULL);

    g_assert_cmpint(file, >=, 0);
    g_close(file, NULL);
    g_assert_true(g_file_set_contents(*path, text, length, NULL));
    SummaryFile *summary = summary_read(*path, error);
    g_unlink(*path);
    return summary;
}

static void test_summary(void) {
    static const char *const keys[] = {"partial",          "simulated.clusters",
                                       "requests.arrived", "requests.completed",
                                       "whole.makespan_s", "whole.output_token_throughput_per_s",
                                       "whole.tpot.p50_s", "cost.cluster_hours_per_million_tokens"};
    g_autofree char *path = NULL;
    g_autoptr(GError) error = NULL;
    g_autoptr(SummaryFile) summary = read_text(SUMMARY_HEAD SUMMARY_TAIL, -1, &path, &error);

    g_assert_no_error(error);
    g_assert_cmpuint(summary->figures->len, ==, G_N_ELEMENTS(keys));
    for (guint i = 0; i < G_N_ELEMENTS(keys); i++)
        g_assert_cmpstr(((const SummaryFigure *)summary->figures->pdata[i])->key, ==, keys[i]);
    g_assert_cmpstr(summary->simulated, ==, "m on p: x");
    g_assert_cmpfloat(summary_file_value(summary, "whole.makespan_s"), ==, 1.5);
    g_assert_true(isnan(summary_file_value(summary, "whole.tpot.p50_s")));
    /* 2 clusters, 8 tokens a second: a million takes 125,000 s */
    g_assert_cmpfloat_with_epsilon(
        summary_file_value(summary, "cost.cluster_hours_per_million_tokens"), 2 * 125000 / 3600.0,
        1e-9);
}

static void test_summary_errors(void) {
    static const struct {
        const char *text, *message; /* behind the path */
    } cases[] = {
        {"", ":1:1: the file is empty"},
        {"[]", ":1:1: expected an object, not a sequence"},
        {"{}", ":1:1: missing key 'outcome' of a summary by 'infergrid simulate'"},
        {"{\"outcome\": \"finished\"}",
         ":1:1: missing key 'simulated' of a summary by 'infergrid simulate'"},
        {"{\n  \"outcome\": 3}", ":2:14: expected a text for 'outcome', not '3'"},
        {SUMMARY_HEAD "  \"x\": 1}",
         ":1:1: missing figure 'requests.arrived' of a summary by 'infergrid simulate'"},
        {SUMMARY_HEAD "  \"a\": {\"b_s\": \"long\"},\n" SUMMARY_TAIL,
         ":6:16: expected a number of at least 0 or null for 'b_s', not 'long'"},
        {SUMMARY_HEAD "  \"a\": {\"b_s\": true},\n" SUMMARY_TAIL,
         ":6:16: expected a number of at least 0 or null for 'b_s', not 'true'"},
        {SUMMARY_HEAD "  \"a\": {\"b_s\": },\n" SUMMARY_TAIL,
         ":6:16: expected a number of at least 0 or null for 'b_s', not nothing"},
        {SUMMARY_HEAD "  \"a\": {\"c\": 1, \"b\": -1},\n" SUMMARY_TAIL,
         ":6:22: expected a number of at least 0 or null for 'b', not '-1'"},
        {SUMMARY_HEAD "  \"b\": 1e999,\n" SUMMARY_TAIL,
         ":6:8: expected a number of at least 0 or null for 'b', not '1e999'"},
        {SUMMARY_HEAD "  \"b\": -Infinity,\n" SUMMARY_TAIL,
         ":6:8: expected a number of at least 0 or null for 'b', not '-Infinity'"},
        {SUMMARY_HEAD "  \"b\": 90 %,\n" SUMMARY_TAIL,
         ":6:8: expected a number of at least 0 or null for 'b', not '90 %'"},
        {SUMMARY_HEAD "  \"outcome\": \"finished\",\n" SUMMARY_TAIL,
         ":6:3: duplicate key 'outcome' (first on line 3)"},
        {SUMMARY_HEAD "  \"note\": \"\xff\"}", ":6:12: invalid leading UTF-8 octet"},
        {SUMMARY_HEAD "  \"a\": NaN}",
         ":6:8: expected a number of at least 0 or null for 'a', not 'NaN'"},
    };

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *path = NULL;
        g_autoptr(GError) error = NULL;
        g_autoptr(SummaryFile) summary = read_text(cases[i].text, -1, &path, &error);
        g_assert_null(summary);
        g_assert_true(error->domain == INPUT_ERROR);
        g_assert_true(g_str_has_prefix(error->message, path));
        g_assert_cmpstr(error->message + strlen(path), ==, cases[i].message);
    }
}

/* Brackets without end must not exhaust the stack; those within texts are none. */
static void test_deep(void) {
    static const struct {
        const char *opening, *message; /* behind the path */
    } cases[] = {{"[", ":2:105: nested more than 100 levels deep"},
                 {"{\"a\": ", ":2:600: nested more than 100 levels deep"}};

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GString) text = g_string_new("{\"outcome\": \"[[\\\"{\",\n\"a\": ");
        g_autofree char *path = NULL;
        g_autoptr(GError) error = NULL;
        for (guint depth = 0; depth < 1000000; depth++)
            g_string_append(text, cases[i].opening);
        g_autoptr(SummaryFile) summary = read_text(text->str, -1, &path, &error);
        g_assert_null(summary);
        g_assert_cmpstr(error->message + strlen(path), ==, cases[i].message);
    }
}

/* A file that was cut off anywhere is an error, never a summary and never a crash. */
static void test_cut_off(void) {
    static const char text[] = SUMMARY_HEAD SUMMARY_TAIL;

    for (gssize length = 0; length < (gssize)strlen(text) - 2; length++) {
        g_autofree char *path = NULL;
        g_autoptr(GError) error = NULL;
        g_autoptr(SummaryFile) summary = read_text(text, length, &path, &error);
        g_assert_null(summary);
        g_assert_true(error->domain == INPUT_ERROR);
    }
}

/* --- the whole */

static SummaryFile *summary_of(const char *extra) {
    g_autofree char *path = NULL;
    g_autofree char *text = g_strconcat(SUMMARY_HEAD, extra, SUMMARY_TAIL, NULL);
    SummaryFile *summary = read_text(text, -1, &path, NULL);

    g_assert_nonnull(summary);
    return summary;
}

static ResultFolder *folder_of(const char *path, const char *extra) {
    ResultFolder *folder = g_new0(ResultFolder, 1);

    folder->path = g_strdup(path);
    folder->summary = summary_of(extra);
    folder->experiment = yaml_load_text("version: 1", "experiment.yaml", NULL);
    folder->requests = g_array_new(FALSE, FALSE, sizeof(ServedRow));
    add_row(folder->requests, 0, 0, 1, NAN);
    return folder;
}

/* Figures of one folder alone stand where that folder has them, and are absent in the other. */
static void test_absent(void) {
    g_autoptr(ResultFolder) first = folder_of("a", "  \"extra\": {\"one_s\": 4, \"lost\": 2},\n");
    g_autoptr(ResultFolder) second = folder_of("b", "  \"extra\": {\"one_s\": 5, \"new\": 3},\n");
    ResultFolder *const both[] = {first, second};
    g_autoptr(Comparison) comparison = comparison_new(both, 2, NAN);
    g_autofree char *table = compare_table(comparison);

    g_assert_nonnull(strstr(table,
                            "\nExtra                                  A         B       delta   "
                            "delta %\n"
                            "  one                                4 s       5 s        +1 s   "
                            "+25.0 %\n"
                            "  new                             absent         3           -  "
                            "       -\n"
                            "  lost                                 2    absent           -  "
                            "       -\n"));
    g_assert_false(comparison->identical);
}

static void test_identical(void) {
    g_autoptr(ResultFolder) first = folder_of("a", "");
    g_autoptr(ResultFolder) second = folder_of("b", "");
    ResultFolder *const both[] = {first, second};
    g_autoptr(Comparison) same = comparison_new(both, 2, 0);

    g_assert_true(same->identical);
    g_assert_cmpuint(comparison_exceeding(same), ==, 0);
    g_array_index(second->requests, ServedRow, 0).latencies_s[LATENCY_E2E] = 9;
    g_autoptr(Comparison) other = comparison_new(both, 2, 0);
    g_assert_false(other->identical);
}

/* No line of a table of ten is wider than 100 columns, and each folder has its column. */
static void test_ten(void) {
    g_autoptr(GPtrArray) folders =
        g_ptr_array_new_with_free_func((GDestroyNotify)result_folder_free);

    for (guint i = 0; i < 10; i++)
        g_ptr_array_add(folders, folder_of("a", i % 2 == 0 ? "" : "  \"extra_bytes\": 123456,\n"));
    g_autoptr(Comparison) comparison =
        comparison_new((ResultFolder *const *)folders->pdata, folders->len, NAN);
    g_autofree char *table = compare_table(comparison);
    g_auto(GStrv) lines = g_strsplit(table, "\n", -1);
    guint headings = 0;

    for (char **line = lines; *line != NULL; line++) {
        g_assert_cmpuint(strlen(*line), <=, 100);
        headings += g_str_has_prefix(*line, "Whole run");
    }
    g_assert_cmpuint(headings, ==, 3);
    g_assert_nonnull(strstr(table, "         H                   I                   J\n"));
}

/* Every run has its curve in every panel, and each curve ends at 1. */
static void test_plot(void) {
    g_autoptr(ResultFolder) first = folder_of("results/a", "");
    g_autoptr(ResultFolder) second = folder_of("it's", "");
    ResultFolder *const both[] = {first, second};

    add_row(first->requests, 1, 0, 100, 0.002);
    add_row(second->requests, 1, 0, 2, 0.001);
    g_autoptr(Comparison) comparison = comparison_new(both, 2, NAN);
    g_autofree char *script = compare_plot_script(comparison, "out.svg", "out.svg");
    g_assert_nonnull(strstr(script, "set label 'A  a' noenhanced"));
    g_assert_nonnull(strstr(script, "set label 'B  it''s' noenhanced"));
    g_assert_nonnull(strstr(script, "$d0_0 << EOD\n1 0\n1 0.5\n100 1\n100 1\nEOD\n"));
    g_assert_nonnull(strstr(script, "set logscale x\nset xlabel 'TTFT (s)'\n"));
    g_assert_nonnull(strstr(script, "unset logscale x\nset xlabel 'TPOT (ms)'\n"));
    g_assert_nonnull(strstr(script, "$d1_1 << EOD\n1 0\n1 1\n2 1\nEOD\n"));
    g_assert_nonnull(strstr(script, "$d2_1 using 1:2"));
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/compare/keys", test_keys);
    g_test_add_func("/compare/deltas", test_deltas);
    g_test_add_func("/compare/letters", test_letters);
    g_test_add_func("/compare/settings", test_settings);
    g_test_add_func("/compare/paired", test_paired);
    g_test_add_func("/compare/other-requests", test_other_requests);
    g_test_add_func("/compare/summary", test_summary);
    g_test_add_func("/compare/summary-errors", test_summary_errors);
    g_test_add_func("/compare/deep", test_deep);
    g_test_add_func("/compare/cut-off", test_cut_off);
    g_test_add_func("/compare/absent", test_absent);
    g_test_add_func("/compare/identical", test_identical);
    g_test_add_func("/compare/ten", test_ten);
    g_test_add_func("/compare/plot", test_plot);
    return g_test_run();
}
