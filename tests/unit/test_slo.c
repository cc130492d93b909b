#include "analysis/run/slo.h"

static gboolean read_text(const char *text, Slo *slo, GError **error) {
    g_autoptr(YamlNode) node = yaml_load_text(text, "slo.yaml", error);
    return node != NULL && slo_read(node, slo, error);
}

static void test_absent_section_sets_no_limit(void) {
    Slo slo = {.ttft = {3, 0.5}};
    g_autoptr(GError) error = NULL;
    g_assert_true(slo_read(NULL, &slo, &error));
    g_assert_no_error(error);
    g_assert_cmpfloat(slo.ttft.limit_s, ==, 0);
    g_assert_cmpfloat(slo.e2e.limit_s, ==, 0);
}

static void test_limits_are_read_with_units_and_shares(void) {
    Slo slo;
    g_autoptr(GError) error = NULL;
    g_assert_true(read_text("ttft:\n  limit: 2 s\n"
                            "tpot: {limit: 50 ms, percentile: 90 %}\n",
                            &slo, &error));
    g_assert_cmpfloat(slo.ttft.limit_s, ==, 2);
    g_assert_cmpfloat(slo.ttft.percentile, ==, 0.99);
    g_assert_cmpfloat(slo.tpot.limit_s, ==, 0.05);
    g_assert_cmpfloat(slo.tpot.percentile, ==, 0.9);
    g_assert_cmpfloat(slo.e2e.limit_s, ==, 0);
}

static void test_what_is_written_reads_back(void) {
    static const Slo cases[] = {
        {.ttft = {2, 0.99}, .tpot = {0.05, 0.9}, .e2e = {123.456, 0.5}},
        {.e2e = {1.0 / 3, 1.0 / 7}},
        {.ttft = {0, 0}},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        Slo slo;
        g_autoptr(GError) error = NULL;
        g_autoptr(GString) text = g_string_new(NULL);
        slo_write(&cases[i], 0, text);
        g_assert_true(read_text(text->str, &slo, &error));
        g_assert_cmpmem(&slo, sizeof slo, &cases[i], sizeof slo);
    }
}

static void test_bad_limits_are_refused_at_their_place(void) {
    static const struct {
        const char *text, *place;
    } cases[] = {
        {"ttft:\n  limit: 2\n", "slo.yaml:2:10: "},
        {"ttft:\n  limit: 0 s\n", "slo.yaml:2:10: "},
        {"ttft:\n  percentile: 0.9\n", "slo.yaml:2:3: "},
        {"tpot: {limit: 2 s, percentile: 99}\n", "slo.yaml:1:32: "},
        {"ttfb:\n  limit: 2 s\n", "slo.yaml:1:1: unknown key 'ttfb' (did you mean 'ttft'?)"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        Slo slo;
        g_autoptr(GError) error = NULL;
        g_assert_false(read_text(cases[i].text, &slo, &error));
        g_assert_true(g_str_has_prefix(error->message, cases[i].place));
    }
}

static void test_output_section_has_defaults_and_reads_back(void) {
    OutputSpec defaults, again;
    g_autoptr(GError) error = NULL;
    g_autoptr(GString) text = g_string_new(NULL);
    g_assert_true(output_spec_read(NULL, &defaults, &error));
    g_assert_cmpfloat(defaults.warmup_s, ==, 0);
    g_assert_cmpfloat(defaults.cooldown_s, ==, 0);
    g_assert_cmpfloat(defaults.series_interval_s, ==, 1);
    OutputSpec spec = {.warmup_s = 60, .cooldown_s = 1.5, .series_interval_s = 0.25};
    output_spec_write(&spec, 0, text);
    g_autoptr(YamlNode) node = yaml_load_text(text->str, "output.yaml", &error);
    g_assert_true(output_spec_read(node, &again, &error));
    g_assert_cmpmem(&again, sizeof again, &spec, sizeof spec);
}

static void test_keys_about_numbers_are_written_where_set(void) {
    static const char *const texts[] = {
        "warmup: 0 s\ncooldown: 0 s\nseries_interval: 1 s\n",
        "warmup: 0 s\ncooldown: 0 s\nseries_interval: 1 s\nnumerics: true\n",
        "warmup: 0 s\ncooldown: 0 s\nseries_interval: 1 s\nnumerics: true\n"
        "checkpoint: weights\ntop_k: 5\ntemperature: 0.5\n",
    };
    for (guint i = 0; i < G_N_ELEMENTS(texts); i++) {
        OutputSpec output;
        g_autoptr(GError) error = NULL;
        g_autoptr(GString) text = g_string_new(NULL);
        g_autoptr(YamlNode) node = yaml_load_text(texts[i], "output.yaml", &error);
        g_assert_true(output_spec_read(node, &output, &error));
        g_assert_cmpint(output.numerics, ==, i > 0);
        output_spec_write(&output, 0, text);
        g_assert_cmpstr(text->str, ==, texts[i]);
        output_spec_clear(&output);
        g_assert_null(output.checkpoint);
    }
}

static void test_negative_warmup_and_zero_interval_are_refused(void) {
    static const char *const texts[] = {
        "warmup: -1 s\n", "cooldown: -1 s\n", "series_interval: 0 s\n", "warmup: 5\n",
        "numerics: 1\n",  "top_k: 0\n",       "temperature: -1\n",      "checkpoint: ~\n"};
    for (guint i = 0; i < G_N_ELEMENTS(texts); i++) {
        OutputSpec output;
        g_autoptr(GError) error = NULL;
        g_autoptr(YamlNode) node = yaml_load_text(texts[i], "output.yaml", &error);
        g_assert_false(output_spec_read(node, &output, &error));
        output_spec_clear(&output);
        g_assert_true(g_str_has_prefix(error->message, "output.yaml:1:"));
    }
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/slo/absent_section_sets_no_limit", test_absent_section_sets_no_limit);
    g_test_add_func("/slo/limits_are_read_with_units_and_shares",
                    test_limits_are_read_with_units_and_shares);
    g_test_add_func("/slo/what_is_written_reads_back", test_what_is_written_reads_back);
    g_test_add_func("/slo/bad_limits_are_refused_at_their_place",
                    test_bad_limits_are_refused_at_their_place);
    g_test_add_func("/slo/output_section_has_defaults_and_reads_back",
                    test_output_section_has_defaults_and_reads_back);
    g_test_add_func("/slo/keys_about_numbers_are_written_where_set",
                    test_keys_about_numbers_are_written_where_set);
    g_test_add_func("/slo/negative_warmup_and_zero_interval_are_refused",
                    test_negative_warmup_and_zero_interval_are_refused);
    return g_test_run();
}
