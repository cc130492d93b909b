/* The YAML tree and the field tables: positions, exact messages, and that what is printed reads
 * back to the same struct. */
#include "workloads/yaml_reader.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

typedef enum { MODE_PBD, MODE_COLOCATED, MODE_OFF } Mode;

typedef struct Arrivals {
    double rate_hz;
    gboolean sorted;
} Arrivals;

typedef struct Sample {
    guint64 tp, seed;
    double warmup_s, share, rate_bytes_per_s, limit_s, offset;
    Mode mode;
    char *name, *note;
    gboolean sort;
    Arrivals arrivals, extra;
} Sample;

static const char *const mode_names[] = {"pbd", "colocated", "off"};
static const char *const pair_names[] = {"fcfs", "shortest_prompt"};

static const YamlField arrivals_fields[] = {
    {.key = "rate",
     .kind = YAML_FIELD_REAL,
     .offset = offsetof(Arrivals, rate_hz),
     .dimension = DIMENSION_HERTZ,
     .min = YAML_ABOVE_ZERO},
    {.key = "sorted",
     .kind = YAML_FIELD_BOOL,
     .offset = offsetof(Arrivals, sorted),
     .fallback = "true"},
};

static const YamlField sample_fields[] = {
    {.key = "tp",
     .kind = YAML_FIELD_COUNT,
     .offset = offsetof(Sample, tp),
     .fallback = "1",
     .min = 1},
    {.key = "seed",
     .kind = YAML_FIELD_COUNT,
     .offset = offsetof(Sample, seed),
     .fallback = "3",
     .min = 2,
     .max = 8},
    {.key = "warmup",
     .kind = YAML_FIELD_REAL,
     .offset = offsetof(Sample, warmup_s),
     .fallback = "2 ms",
     .dimension = DIMENSION_SECONDS},
    {.key = "share",
     .kind = YAML_FIELD_REAL,
     .offset = offsetof(Sample, share),
     .fallback = "90 %",
     .max = 1},
    {.key = "rate",
     .kind = YAML_FIELD_REAL,
     .offset = offsetof(Sample, rate_bytes_per_s),
     .fallback = "30 GB/s",
     .dimension = DIMENSION_BYTES_PER_S,
     .min = YAML_ABOVE_ZERO,
     .max = 1e12},
    {.key = "limit",
     .kind = YAML_FIELD_REAL,
     .offset = offsetof(Sample, limit_s),
     .fallback = YAML_OPTIONAL,
     .dimension = DIMENSION_SECONDS},
    {.key = "offset",
     .kind = YAML_FIELD_REAL,
     .offset = offsetof(Sample, offset),
     .fallback = "-1",
     .min = -INFINITY,
     .max = 10},
    {.key = "mode",
     .kind = YAML_FIELD_ENUM,
     .offset = offsetof(Sample, mode),
     .fallback = "pbd",
     .names = YAML_ENUM_OF(mode_names)},
    {.key = "name",
     .kind = YAML_FIELD_STRING,
     .offset = offsetof(Sample, name),
     .fallback = "no name"},
    {.key = "note",
     .kind = YAML_FIELD_STRING,
     .offset = offsetof(Sample, note),
     .fallback = YAML_OPTIONAL},
    {.key = "sort", .kind = YAML_FIELD_BOOL, .offset = offsetof(Sample, sort), .fallback = "false"},
    {.key = "arrivals",
     .kind = YAML_FIELD_SECTION,
     .offset = offsetof(Sample, arrivals),
     .fields = arrivals_fields,
     .n_fields = G_N_ELEMENTS(arrivals_fields)},
    {.key = "extra",
     .kind = YAML_FIELD_SECTION,
     .offset = offsetof(Sample, extra),
     .fallback = YAML_OPTIONAL,
     .fields = arrivals_fields,
     .n_fields = G_N_ELEMENTS(arrivals_fields)},
};
#define N_SAMPLE_FIELDS G_N_ELEMENTS(sample_fields)

static void sample_clear(Sample *sample) {
    yaml_fields_clear(sample_fields, N_SAMPLE_FIELDS, sample);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Sample, sample_clear)

static gboolean sample_read(const char *text, const char *name, Sample *sample, GError **error) {
    g_autoptr(YamlNode) root = yaml_load_text(text, name, error);
    return root != NULL && yaml_read_fields(root, sample_fields, N_SAMPLE_FIELDS, sample, error);
}

static char *sample_write(const Sample *sample) {
    GString *text = g_string_new(NULL);
    yaml_write_fields(text, 0, sample_fields, N_SAMPLE_FIELDS, sample);
    return g_string_free(text, FALSE);
}

typedef struct Refused {
    const char *text, *message;
} Refused;

static const Refused refused_texts[] = {
    {"", "f.yaml:1:1: the file is empty"},
    {"# only this\n", "f.yaml:1:1: the file is empty"},
    {"a: b: c\n", "f.yaml:1:5: mapping values are not allowed in this context"},
    {"a:\n\t- b\n", "f.yaml:2:1: found character that cannot start any token"},
    {"a: [1, 2\n", "f.yaml:2:1: did not find expected ',' or ']'"},
    {"a: 'x\n", "f.yaml:2:1: found unexpected end of stream"},
    {"a: 1\nb: \"\xC3\xA4\xFF\"\n", "f.yaml:2:6: invalid leading UTF-8 octet"},
    {"a: \x01\n", "f.yaml:1:4: control characters are not allowed"},
    {"a: \"x\\0\"\n", "f.yaml:1:4: a text cannot hold a null character"},
    {"a: 1\nb: 2\na: 3\n", "f.yaml:3:1: duplicate key 'a' (first on line 1)"},
    {"x:\n  a: 1\n  'a': 3\n", "f.yaml:3:3: duplicate key 'a' (first on line 2)"},
    {"a: &base 1\n", "f.yaml:1:4: anchor '&base' is not supported"},
    {"\"a\\nb\": 1\n\"a\\nb\": 2\n", "f.yaml:2:1: duplicate key 'a…' (first on line 1)"},
    {"a: !<%0A> 1\n", "f.yaml:1:4: tag '…' is not supported"},
    {"a: &base {}\n", "f.yaml:1:4: anchor '&base' is not supported"},
    {"&k a: 1\n", "f.yaml:1:1: anchor '&k' is not supported"},
    {"a: *base\n", "f.yaml:1:4: alias '*base' is not supported"},
    {"a: !!int 1\n", "f.yaml:1:4: tag 'tag:yaml.org,2002:int' is not supported"},
    {"a: [! x]\n", "f.yaml:1:5: tag '!' is not supported"},
    {"? [a]\n: 1\n", "f.yaml:1:3: a key must be a single name"},
    {"a: 1\n---\nb: 1\n", "f.yaml:2:1: a second document begins; only one is allowed"},
};

static void test_refuses_text_that_is_not_plain_yaml(void) {
    for (gsize i = 0; i < G_N_ELEMENTS(refused_texts); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(YamlNode) root = yaml_load_text(refused_texts[i].text, "f.yaml", &error);
        g_assert_null(root);
        g_assert_cmpstr(error->message, ==, refused_texts[i].message);
        g_assert_true(error->domain == INPUT_ERROR);
    }
}

static const Refused refused_values[] = {
    {"- 1\n", "f.yaml:1:1: expected a mapping, not a sequence"},
    {"arrivals:\n  rat: 1 /s\n", "f.yaml:2:3: unknown key 'rat' (did you mean 'rate'?)"},
    {"warpum: 1 s\n", "f.yaml:1:1: unknown key 'warpum' (did you mean 'warmup'?)"},
    {"bandwidth: 1\n", "f.yaml:1:1: unknown key 'bandwidth'"},
    {"\n\ntp: 1\n", "f.yaml:3:1: missing key 'arrivals'"},
    {"tp: 1\narrivals:\n  sorted: true\n", "f.yaml:3:3: missing key 'rate' in 'arrivals'"},
    {"arrivals: {}\n", "f.yaml:1:11: missing key 'rate' in 'arrivals'"},
    {"arrivals: 8 /s\n", "f.yaml:1:11: expected a mapping for 'arrivals', not '8 /s'"},
    {"arrivals:\n", "f.yaml:1:10: expected a mapping for 'arrivals', not nothing"},
    {"arrivals: []\n", "f.yaml:1:11: expected a mapping for 'arrivals', not a sequence"},
    {"tp: four\n", "f.yaml:1:5: expected a whole number for 'tp', not 'four'"},
    {"tp: 1.5\n", "f.yaml:1:5: expected a whole number for 'tp', not '1.5'"},
    {"tp: '4'\n", "f.yaml:1:5: expected a whole number for 'tp', not the text '4'"},
    {"tp: [4]\n", "f.yaml:1:5: expected a whole number for 'tp', not a sequence"},
    {"tp: {}\n", "f.yaml:1:5: expected a whole number for 'tp', not a mapping"},
    {"tp:\n", "f.yaml:1:4: expected a whole number for 'tp', not nothing"},
    {"tp: 0\n", "f.yaml:1:5: 'tp' must be at least 1, not 0"},
    {"tp: -1\n", "f.yaml:1:5: 'tp' must be at least 1, not -1"},
    {"tp: 9007199254740993\n", "f.yaml:1:5: expected a whole number up to 9007199254740992 for "
                               "'tp', not '9007199254740993'"},
    {"seed: 9\n", "f.yaml:1:7: 'seed' must lie between 2 and 8, not 9"},
    {"warmup: 5\n", "f.yaml:1:9: expected a duration such as '2 ms' for 'warmup', not '5'"},
    {"warmup: []\n", "f.yaml:1:9: expected a duration such as '2 ms' for 'warmup', not a sequence"},
    {"warmup: -2 s\n", "f.yaml:1:9: 'warmup' must be at least 0 s, not -2 s"},
    {"share: 1.5\n", "f.yaml:1:8: 'share' must lie between 0 and 1, not 1.5"},
    {"share: 150 %\n", "f.yaml:1:8: 'share' must lie between 0 and 1, not 150 %"},
    {"share: .nan\n", "f.yaml:1:8: expected a number for 'share', not '.nan'"},
    {"rate: 0 B/s\n", "f.yaml:1:7: 'rate' must be above 0 B/s and at most 1 TB/s, not 0 B/s"},
    {"rate: 2 TB/s\n", "f.yaml:1:7: 'rate' must be above 0 B/s and at most 1 TB/s, not 2 TB/s"},
    {"offset: 11\n", "f.yaml:1:9: 'offset' must be at most 10, not 11"},
    {"arrivals: {rate: 0 Hz}\n", "f.yaml:1:18: 'rate' must be above 0 /s, not 0 Hz"},
    {"mode: pdb\n", "f.yaml:1:7: unknown mode 'pdb' (did you mean 'pbd'?); expected 'pbd', "
                    "'colocated' or 'off'"},
    {"mode: both\n", "f.yaml:1:7: unknown mode 'both'; expected 'pbd', 'colocated' or 'off'"},
    {"mode: {}\n", "f.yaml:1:7: expected 'pbd', 'colocated' or 'off' for 'mode', not a mapping"},
    {"sort: yes\n", "f.yaml:1:7: expected true or false for 'sort', not 'yes'"},
    {"sort: 'true'\n", "f.yaml:1:7: expected true or false for 'sort', not the text 'true'"},
    {"name: null\n", "f.yaml:1:7: expected a text for 'name', not 'null'"},
    {"name: [x]\n", "f.yaml:1:7: expected a text for 'name', not a sequence"},
    {"tp: |\n  one\n  two\n", "f.yaml:1:5: expected a whole number for 'tp', not the text 'one…'"},
    {"tp: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n",
     "f.yaml:1:5: expected a whole number for 'tp', not "
     "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…'"},
};

static void test_names_place_expectation_and_what_it_found(void) {
    for (gsize i = 0; i < G_N_ELEMENTS(refused_values); i++) {
        g_autoptr(GError) error = NULL;
        g_auto(Sample) sample = {0};
        g_assert_false(sample_read(refused_values[i].text, "f.yaml", &sample, &error));
        g_assert_cmpstr(error->message, ==, refused_values[i].message);
        g_assert_true(error->domain == INPUT_ERROR);
    }
}

static void test_fills_in_defaults(void) {
    g_auto(Sample) sample = {0};
    g_assert_true(sample_read("arrivals: {rate: 480 /min}\n", "f.yaml", &sample, NULL));
    g_assert_cmpuint(sample.tp, ==, 1);
    g_assert_cmpuint(sample.seed, ==, 3);
    g_assert_cmpfloat(sample.warmup_s, ==, 2e-3);
    g_assert_cmpfloat(sample.share, ==, 0.9);
    g_assert_cmpfloat(sample.rate_bytes_per_s, ==, 30e9);
    g_assert_cmpfloat(sample.limit_s, ==, 0);
    g_assert_cmpfloat(sample.offset, ==, -1);
    g_assert_cmpint(sample.mode, ==, MODE_PBD);
    g_assert_cmpstr(sample.name, ==, "no name");
    g_assert_null(sample.note);
    g_assert_false(sample.sort);
    g_assert_cmpfloat(sample.arrivals.rate_hz, ==, 8);
    g_assert_true(sample.arrivals.sorted);
    g_assert_cmpfloat(sample.extra.rate_hz, ==, 0);
}

static void test_no_mapping_gives_defaults_or_names_the_missing_key(void) {
    g_auto(Sample) sample = {0};
    g_autoptr(GError) error = NULL;
    g_assert_true(yaml_read_fields(NULL, sample_fields, 3, &sample, NULL));
    g_assert_cmpuint(sample.seed, ==, 3);
    g_assert_false(yaml_read_fields(NULL, sample_fields, N_SAMPLE_FIELDS, &sample, &error));
    g_assert_cmpstr(error->message, ==, "missing key 'arrivals'");
}

static const char *const resolved[] = {
    "arrivals: {rate: 8 Hz}",
    "tp: 4\nseed: 8\nwarmup: 84 us\nshare: 1\nrate: 12.5 GB/s\nlimit: 30 s\noffset: -1e300\n"
    "mode: off\nname: 'null'\nnote: \"a: b # c\\n\\\"\\\\\"\nsort: true\n"
    "arrivals: {rate: 0.3 /s, sorted: false}\nextra: {rate: 7 /min}\n",
    "{\"tp\": 2, \"warmup\": \"1 h\", \"note\": \"\", \"arrivals\": {\"rate\": \"8 /s\"}}",
};

static void test_what_is_printed_reads_back(void) {
    for (gsize i = 0; i < G_N_ELEMENTS(resolved); i++) {
        g_auto(Sample) first = {0}, second = {0};
        g_autoptr(GError) error = NULL;
        sample_read(resolved[i], "f.yaml", &first, &error);
        g_assert_no_error(error);
        g_autofree char *text = sample_write(&first);
        sample_read(text, "printed.yaml", &second, &error);
        g_assert_no_error(error);
        g_autofree char *again = sample_write(&second);
        g_assert_cmpstr(text, ==, again);
        g_assert_cmpstr(first.name, ==, second.name);
        g_assert_cmpstr(first.note, ==, second.note);
        g_assert_true(memcmp(&first.arrivals, &second.arrivals, sizeof(Arrivals)) == 0);
        g_assert_true(first.offset == second.offset && first.limit_s == second.limit_s);
    }
}

static void test_prints_one_key_a_line_with_units(void) {
    g_auto(Sample) sample = {0};
    g_autoptr(GString) text = g_string_new(NULL);
    g_assert_true(sample_read("arrivals: {rate: 8 Hz}\ntp: 4\n", "f.yaml", &sample, NULL));
    yaml_write_fields(text, 2, sample_fields, N_SAMPLE_FIELDS, &sample);
    g_assert_cmpstr(text->str, ==,
                    "  tp: 4\n  seed: 3\n  warmup: 2 ms\n  share: 0.9\n  rate: 30 GB/s\n"
                    "  offset: -1\n  mode: pbd\n  name: no name\n  sort: false\n"
                    "  arrivals:\n    rate: 8 /s\n    sorted: true\n");
}

/* Random texts of every kind of character, and the ones that YAML would take for something else. */
static void test_any_text_survives_printing(void) {
    static const char *const awkward[] = {
        "",      "~",     "null", "true",     "1e3",    "-",      "- a", "a: b", "a #b", "#",
        "a:",    "[",     "{a}",  "'",        "\"",     "\\",     "%x",  "@x",   "`",    "a\nb",
        " lead", "tail ", "&a",   "*a",       "!a",     "? a",    "a,b", "0x10", "---",  "...",
        "ä€𝄞",   "\t",    "\x7f", "\xC2\x85", "\u2028", "\ufeff", "=",   "<<",   ".5",   "+1",
    };
    static const gunichar kinds[] = {0x1, 0x20, 0x80, 0x800, 0x2000, 0xFF00, 0x10000, 0x110000};
    g_autoptr(GRand) random = g_rand_new_with_seed(1);
    for (guint i = 0; i < 1000 + G_N_ELEMENTS(awkward); i++) {
        g_autoptr(GString) text = g_string_new(i < G_N_ELEMENTS(awkward) ? awkward[i] : "");
        gint32 length = i < G_N_ELEMENTS(awkward) ? 0 : g_rand_int_range(random, 0, 8);
        while (length-- > 0) {
            gint32 kind = g_rand_int_range(random, 0, G_N_ELEMENTS(kinds) - 1);
            gint32 character =
                g_rand_int_range(random, (gint32)kinds[kind], (gint32)kinds[kind + 1]);
            if (g_unichar_validate((gunichar)character))
                g_string_append_unichar(text, (gunichar)character);
        }
        g_autoptr(GString) yaml = g_string_new("key: ");
        g_autoptr(GError) error = NULL;
        yaml_write_scalar(yaml, text->str);
        g_autoptr(YamlNode) root = yaml_load_text(yaml->str, "f.yaml", &error);
        g_assert_no_error(error);
        g_assert_cmpstr(yaml_get(root, "key")->text, ==, text->str);
    }
}

static void assert_at(const YamlNode *node, guint line, guint column) {
    g_assert_cmpuint(node->line, ==, line);
    g_assert_cmpuint(node->column, ==, column);
}

static void test_nodes_know_where_they_stood(void) {
    g_autoptr(YamlNode) root = yaml_load_text("a: 1\nb:\n  - x\n  - {c: \"y\"}\nä: z", "f", NULL);
    const YamlNode *list = yaml_get(root, "b"), *map = g_ptr_array_index(list->values, 1);
    assert_at(root, 1, 1);
    assert_at(yaml_get(root, "a"), 1, 4);
    assert_at(list, 3, 3);
    assert_at(map, 4, 5);
    assert_at(yaml_get(map, "c"), 4, 9);
    assert_at(yaml_get(root, "ä"), 5, 4);
    assert_at(g_ptr_array_index(root->keys, 1), 2, 1);
    g_assert_true(yaml_get(map, "c")->quoted);
    g_assert_false(yaml_get(root, "a")->quoted);
    g_assert_cmpstr(map->key, ==, "b");
    g_assert_cmpstr(yaml_get(map, "c")->key, ==, "c");
    g_assert_null(yaml_get(root, "d"));
}

/* A byte order mark, CRLF and a missing newline at the end change neither values nor places. */
static void test_accepts_what_editors_leave_behind(void) {
    static const char *const texts[] = {"a: 1\nb: 2\n", "a: 1\r\nb: 2\r\n", "a: 1\nb: 2",
                                        "\xEF\xBB\xBF"
                                        "a: 1\nb: 2\n",
                                        "---\na: 1\nb: 2\n...\n"};
    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(YamlNode) root = yaml_load_text(texts[i], "f.yaml", &error);
        g_assert_no_error(error);
        g_assert_cmpuint(root->keys->len, ==, 2);
        g_assert_cmpstr(yaml_get(root, "a")->text, ==, "1");
        g_assert_cmpstr(yaml_get(root, "b")->text, ==, "2");
        g_assert_cmpuint(yaml_get(root, "a")->column, ==, 4);
    }
}

static void test_json_may_be_indented_by_tabs(void) {
    static const char json[] =
        "{\n\t\"a\":\t\"x\ty\\\"\t\",\n\t\"b\": [\n\t\t1,\n\t\tnull\n\t]\n}\n";
    g_autoptr(GError) error = NULL;
    g_autoptr(YamlNode) root = yaml_load_text(json, "config.json", &error);
    g_assert_no_error(error);
    g_assert_cmpstr(yaml_get(root, "a")->text, ==, "x\ty\"\t");
    assert_at(g_ptr_array_index(yaml_get(root, "b")->values, 0), 4, 3);
    g_autoptr(YamlNode) none = yaml_load_text("a:\n\t1", "f.yaml", &error);
    g_assert_null(none);
    g_assert_error(error, INPUT_ERROR, INPUT_ERROR_SYNTAX);
}

static void test_nesting_has_a_limit(void) {
    for (guint depth = 100; depth <= 101; depth++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(GString) text = g_string_new(NULL);
        for (guint i = 0; i < depth; i++)
            g_string_append_c(text, '[');
        for (guint i = 0; i < depth; i++)
            g_string_append_c(text, ']');
        g_autoptr(YamlNode) root = yaml_load_text(text->str, "f.yaml", &error);
        if (depth == 100)
            g_assert_no_error(error);
        else
            g_assert_cmpstr(error->message, ==, "f.yaml:1:101: nested more than 100 levels deep");
    }
}

static void test_reads_files_and_says_when_it_cannot(void) {
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = g_dir_make_tmp("infergrid-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "a.yaml", NULL);
    g_autofree char *absent =
        g_strdup_printf("%s: cannot read '%s': No such file or directory", path, path);
    g_autofree char *not_a_file =
        g_strdup_printf("%s: cannot read '%s': Is a directory", folder, folder);
    g_assert_null(yaml_load_file(path, &error));
    g_assert_cmpstr(error->message, ==, absent);
    g_clear_error(&error);
    g_assert_null(yaml_load_file(folder, &error));
    g_assert_cmpstr(error->message, ==, not_a_file);
    g_assert_true(g_file_set_contents(path, "a: 1\n\0b", 7, NULL));
    g_clear_error(&error);
    g_assert_null(yaml_load_file(path, &error));
    g_assert_true(
        g_str_has_suffix(error->message, "a.yaml:2:1: control characters are not allowed"));
    g_assert_true(g_file_set_contents(path, "a: 1\n", -1, NULL));
    g_autoptr(YamlNode) root = yaml_load_file(path, NULL);
    g_assert_cmpstr(yaml_get(root, "a")->text, ==, "1");
    g_assert_cmpstr(yaml_get(root, "a")->origin, ==, path);
    g_unlink(path);
    g_rmdir(folder);
}

static void test_put_replaces_and_appends_and_remove_takes_out(void) {
    g_autoptr(YamlNode) root = yaml_load_text("tp: 2\nmode: pbd\n", "f.yaml", NULL);
    g_autoptr(GError) error = NULL;
    g_auto(Sample) sample = {0};
    yaml_put(root, "tp", yaml_scalar_new("0", "--set policy.tp"));
    yaml_put(root, "sed", yaml_scalar_new("2", "--set policy.sed"));
    g_assert_cmpuint(root->keys->len, ==, 3);
    g_assert_false(yaml_read_fields(root, sample_fields, N_SAMPLE_FIELDS, &sample, &error));
    g_assert_cmpstr(error->message, ==,
                    "--set policy.sed: unknown key 'sed' (did you mean 'seed'?)");
    yaml_remove(root, "sed");
    yaml_remove(root, "absent");
    g_assert_cmpuint(root->keys->len, ==, 2);
    g_clear_error(&error);
    g_assert_false(yaml_read_fields(root, sample_fields, N_SAMPLE_FIELDS, &sample, &error));
    g_assert_cmpstr(error->message, ==, "--set policy.tp: 'tp' must be at least 1, not 0");
}

static void test_near_miss_is_close_and_earliest(void) {
    static const char *const names[] = {"seed", "feed", "bandwidth", "tp", "latency"};
    static const struct {
        const char *word, *nearest;
    } cases[] = {
        {"seed", "seed"},
        {"sead", "seed"},
        {"eeed", "seed"},
        {"feeds", "feed"},
        {"bandwith", "bandwidth"},
        {"badnwidth", "bandwidth"},
        {"bndwdth", "bandwidth"},
        {"bndwdh", NULL},
        {"tq", "tp"},
        {"xy", NULL},
        {"x", NULL},
        {"pt", "tp"},
        {"", NULL},
        {"latencyxyz", NULL},
        {"latencyxy", "latency"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
        g_assert_cmpstr(near_miss(cases[i].word, names, G_N_ELEMENTS(names)), ==, cases[i].nearest);
    g_autofree char *hint = near_miss_hint("sead", names, G_N_ELEMENTS(names));
    g_autofree char *none = near_miss_hint("gone", names, G_N_ELEMENTS(names));
    g_assert_cmpstr(hint, ==, " (did you mean 'seed'?)");
    g_assert_cmpstr(none, ==, "");
}

static void test_scalars_are_read_on_their_own(void) {
    g_autoptr(YamlNode) root = yaml_load_text("[7, fcfs, true, 2 ms, lifo]", "f", NULL);
    YamlNode **items = (YamlNode **)root->values->pdata;
    const YamlEnum pair = YAML_ENUM_OF(pair_names);
    g_autoptr(GError) error = NULL;
    guint64 count;
    int name = -1;
    gboolean flag;
    double seconds;
    g_assert_true(yaml_read_count(items[0], 0, 0, &count, NULL) && count == 7);
    g_assert_true(yaml_read_enum(items[1], pair, &name, NULL) && name == 0);
    g_assert_true(yaml_read_bool(items[2], &flag, NULL) && flag);
    g_assert_true(yaml_read_real(items[3], DIMENSION_SECONDS, 0, 0, &seconds, NULL));
    g_assert_cmpfloat(seconds, ==, 2e-3);
    g_assert_false(yaml_read_enum(items[4], pair, &name, &error));
    g_assert_cmpstr(error->message, ==,
                    "f:1:23: unknown value 'lifo'; expected 'fcfs' or 'shortest_prompt'");
    g_clear_error(&error);
    g_assert_false(yaml_read_count(items[0], 8, G_MAXUINT64, &count, &error));
    g_assert_cmpstr(error->message, ==,
                    "f:1:2: 'value' must lie between 8 and 9007199254740992, not 7");
    g_clear_error(&error);
    g_assert_false(yaml_expect(items[0], YAML_SEQUENCE, "a list of names", &error));
    g_assert_cmpstr(error->message, ==, "f:1:2: expected a list of names, not '7'");
}

#define ADD(name) g_test_add_func("/yaml_reader/" #name, test_##name)

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    ADD(refuses_text_that_is_not_plain_yaml);
    ADD(names_place_expectation_and_what_it_found);
    ADD(fills_in_defaults);
    ADD(no_mapping_gives_defaults_or_names_the_missing_key);
    ADD(what_is_printed_reads_back);
    ADD(prints_one_key_a_line_with_units);
    ADD(any_text_survives_printing);
    ADD(nodes_know_where_they_stood);
    ADD(accepts_what_editors_leave_behind);
    ADD(json_may_be_indented_by_tabs);
    ADD(nesting_has_a_limit);
    ADD(reads_files_and_says_when_it_cannot);
    ADD(put_replaces_and_appends_and_remove_takes_out);
    ADD(near_miss_is_close_and_earliest);
    ADD(scalars_are_read_on_their_own);
    return g_test_run();
}
