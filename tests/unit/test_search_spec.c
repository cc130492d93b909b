/* The 'search' section: what is refused at which node, spaces that cannot be, and what is
 * written. */
#include "tests/unit/search_setting.h"

#include <string.h>

static const struct {
    const char *text;
    InputErrorCode code;
    const char *message;
} wrong_sections[] = {
    {"[tp]", INPUT_ERROR_VALUE, "s.yaml:1:1: expected a mapping, not a sequence"},
    {"budget: 10", INPUT_ERROR_UNKNOWN, "s.yaml:1:1: unknown key 'budget'"},
    {"placment: packed", INPUT_ERROR_UNKNOWN,
     "s.yaml:1:1: unknown key 'placment' (did you mean 'placement'?)"},
    {"decode: 4", INPUT_ERROR_VALUE, "s.yaml:1:9: expected a mapping for 'decode', not '4'"},
    {"buffer: {dp: 4}", INPUT_ERROR_UNKNOWN, "s.yaml:1:10: unknown key 'dp'"},
    {"decode: {tp: }", INPUT_ERROR_VALUE,
     "s.yaml:1:14: expected a whole number for 'tp', not nothing"},
    {"decode: {tp: [1, {}]}", INPUT_ERROR_VALUE,
     "s.yaml:1:18: expected a value or a range for 'tp', not a mapping"},
    {"decode: {tp: {from: 1}}", INPUT_ERROR_VALUE,
     "s.yaml:1:14: expected a value, a range or a list for 'tp', not a mapping"},
    {"decode: {tp: 0:4}", INPUT_ERROR_VALUE,
     "s.yaml:1:14: 'tp' must lie between 1 and 4096, not 0"},
    {"decode: {tp: 1:x}", INPUT_ERROR_VALUE,
     "s.yaml:1:14: expected a whole number for 'tp', not 'x'"},
    {"wafer: {dp: all}", INPUT_ERROR_VALUE,
     "s.yaml:1:13: expected a whole number for 'dp', not 'all'"},
    {"objectives: {cost: 1}", INPUT_ERROR_VALUE,
     "s.yaml:1:13: expected a list of names for 'objectives', not a mapping"},
    {"objectives: [[cost]]", INPUT_ERROR_VALUE,
     "s.yaml:1:14: expected the name of an objective for 'objectives', not a sequence"},
    {"modes: []", INPUT_ERROR_VALUE, "s.yaml:1:8: the list of 'modes' is empty"},
    {"modes: [pbd, pbd]", INPUT_ERROR_DUPLICATE,
     "s.yaml:1:14: 'pbd' gives a value of 'modes' that is there already"},
    {"use_all: perhaps", INPUT_ERROR_VALUE,
     "s.yaml:1:10: expected true or false for 'use_all', not 'perhaps'"},
};

static void sections_are_refused_at_the_node(void) {
    for (guint i = 0; i < G_N_ELEMENTS(wrong_sections); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(YamlNode) section = yaml_load_text(wrong_sections[i].text, "s.yaml", &error);
        g_assert_no_error(error);
        g_autoptr(SearchSpec) spec = search_spec_read(section, &error);
        g_assert_null(spec);
        g_assert_error(error, INPUT_ERROR, (int)wrong_sections[i].code);
        g_assert_cmpstr(error->message, ==, wrong_sections[i].message);
    }
}

/* --- what is read and written */

static char *written(const SearchSpec *spec) {
    GString *out = g_string_new(NULL);
    search_spec_write(spec, 2, out);
    return g_string_free(out, FALSE);
}

static void what_is_written_reads_the_same(void) {
    g_autoptr(SearchSpec) spec = spec_of(
        "{method: exhaustive, objectives: [goodput, energy_per_token], clusters: 64, use_all: "
        "false, analytic: {context: model, kv_width: kv_heads, micro_batch: rule, pools: whole}, "
        "modes: [pbd, wafer], pools: 1:3, "
        "placement: spread, prefill: {dp: [8, 1:6:2], chunk_tokens: [512, 0]}, decode: {tp: 4}, "
        "wafer: {prefill_grid: [660, auto], system: [t10], dp: 2}}");
    g_autofree char *text = written(spec);
    g_assert_cmpstr(text, ==,
                    "  method: exhaustive\n"
                    "  clusters: 64\n"
                    "  use_all: false\n"
                    "  analytic:\n"
                    "    context: model\n"
                    "    kv_width: kv_heads\n"
                    "    micro_batch: rule\n"
                    "    pools: whole\n"
                    "  objectives: [goodput, energy_per_token]\n"
                    "  modes: [pbd, wafer]\n"
                    "  pools: [1, 2, 3]\n"
                    "  placement: [spread]\n"
                    "  prefill:\n"
                    "    chunk_tokens: [0, 512]\n"
                    "    dp: [1, 3, 5, 8]\n"
                    "  decode:\n"
                    "    tp: [4]\n"
                    "  wafer:\n"
                    "    prefill_grid: [auto, 660]\n"
                    "    system: [t10]\n"
                    "    dp: [2]\n");
    g_autoptr(SearchSpec) again = spec_of(text);
    g_autofree char *second = written(again);
    g_assert_cmpstr(second, ==, text);
    g_assert_cmpint(search_spec_method(spec), ==, SEARCH_EXHAUSTIVE);
    g_assert_cmpint(search_spec_analytic(spec).context, ==, ANALYTIC_CONTEXT_MODEL);
    g_assert_cmpint(search_spec_analytic(spec).kv_width, ==, ANALYTIC_KV_HEADS);
    g_assert_cmpint(search_spec_analytic(spec).micro_batch, ==, ANALYTIC_MICRO_BATCH_RULE);
    g_assert_cmpint(search_spec_analytic(spec).pools, ==, ANALYTIC_POOLS_WHOLE);
}

static void objectives_keep_their_places(void) {
    g_autoptr(SearchSpec) spec = spec_of("objectives: [goodput,\n  speed]");
    const GPtrArray *objectives = search_spec_objectives(spec);
    g_assert_cmpuint(objectives->len, ==, 2);
    g_autoptr(GError) error = NULL;
    yaml_error(g_ptr_array_index(objectives, 1), INPUT_ERROR_UNKNOWN, &error, "unknown '%s'",
               ((const YamlNode *)g_ptr_array_index(objectives, 1))->text);
    g_assert_cmpstr(error->message, ==, "s.yaml:2:3: unknown 'speed'");
}

static void no_section_is_written_as_none(void) {
    g_autoptr(SearchSpec) spec = search_spec_read(NULL, NULL);
    g_autofree char *text = written(spec);
    const GPtrArray *objectives = search_spec_objectives(spec);
    g_assert_cmpstr(text, ==, "");
    g_assert_cmpint(search_spec_method(spec), ==, SEARCH_GUIDED);
    g_assert_cmpuint(objectives->len, ==, 1);
    g_assert_cmpstr(((const YamlNode *)g_ptr_array_index(objectives, 0))->text, ==, "throughput");
}

typedef struct RefusedSpace {
    const char *name, *policy, *section, *message;
} RefusedSpace;

static const RefusedSpace refused[] = {
    {"all_by_one_rule", "mode: colocated", "colocated: {tp: [3, 5], pp: 1, slots: 8, dp: [1, 2]}",
     "s.yaml:1:1: the search space is empty: of 4 plans all 4 break rule 'tp' (TP does not divide "
     "the model's heads or KV heads)"},
    {"by_several_rules", "mode: colocated",
     "colocated: {tp: [3, 4], pp: [1, 40], slots: 8, dp: [9, 10]}",
     "s.yaml:1:1: the search space is empty: of 8 plans 4 break rule 'tp' (TP does not divide the "
     "model's heads or KV heads), 2 break rule 'layers' (more stages than the model has layers), "
     "and the last 2 break rule 'clusters' (more clusters than there are)"},
    {"memory_last", "{mode: colocated, kv_reservation: max_context}",
     "colocated: {tp: 4, pp: 1, slots: 64, dp: [1, 9]}",
     "s.yaml:1:1: the search space is empty: of 2 plans 1 break rule 'clusters' (more clusters "
     "than there are), and the last 1 break rule 'memory' (weights or one request do not fit)"},
    {"conflict", "{mode: colocated, kv_reservation: on_demand}",
     "colocated: {tp: 4, pp: 1, slots: 8, dp: 1, batching: static}",
     "s.yaml:1:1: the search space is empty: of 1 plans all 1 break rule 'conflict' (the policy "
     "refuses these values together)"},
    {"a_group_of_another_mode", "mode: colocated", "decode: {tp: 4}",
     "s.yaml:1:14: 'decode.tp' belongs to mode 'pbd', which is not searched"},
    {"wafers_where_there_are_none", "mode: pbd", "modes: [pbd, wafer]",
     "s.yaml:1:1: mode 'wafer' is not for platform 'toy', which is of clusters"},
    {"too_many_splits", "mode: pbd",
     "{decode: {slots: 1:4096, tp: 1:4096}, prefill: {micro_batch: 1:4096}}",
     "s.yaml:1:1: 7.6e+15 plans of mode 'pbd' are too many to search: bound more of the policy's "
     "keys"},
};

static void space_is_refused(gconstpointer data) {
    const RefusedSpace *row = data;
    g_autoptr(Policy) policy = policy_of(row->policy);
    g_autoptr(SearchSpec) spec = spec_of(row->section);
    g_autoptr(GError) error = NULL;
    g_autoptr(SearchSpace) space = search_space_new(spec, policy, &llama_2_7b, &machine, 0, &error);
    g_assert_null(space);
    g_assert_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT);
    g_assert_cmpstr(error->message, ==, row->message);
}

/* A space without a section has no place to point at. */
static void an_empty_default_space_says_why(void) {
    Platform tiny = machine;
    tiny.cluster.ddr_usable_bytes = 0.2e9;
    g_autoptr(Policy) policy = policy_of("mode: colocated");
    g_autoptr(SearchSpec) spec = search_spec_read(NULL, NULL);
    g_autoptr(GError) error = NULL;
    g_assert_null(search_space_new(spec, policy, &llama_2_7b, &tiny, 0, &error));
    g_assert_true(g_str_has_prefix(error->message, "the search space is empty: of "));
    g_assert_nonnull(strstr(error->message, " break rule 'memory' "));
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/search_spec/sections_are_refused_at_the_node",
                    sections_are_refused_at_the_node);
    g_test_add_func("/search_spec/what_is_written_reads_the_same", what_is_written_reads_the_same);
    g_test_add_func("/search_spec/objectives_keep_their_places", objectives_keep_their_places);
    g_test_add_func("/search_spec/no_section_is_written_as_none", no_section_is_written_as_none);
    g_test_add_func("/search_spec/an_empty_default_space_says_why",
                    an_empty_default_space_says_why);
    for (guint i = 0; i < G_N_ELEMENTS(refused); i++) {
        g_autofree char *path = g_strconcat("/search_spec/refused/", refused[i].name, NULL);
        g_test_add_data_func(path, &refused[i], space_is_refused);
    }
    return g_test_run();
}
