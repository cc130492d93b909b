/* Experiment files: sections inline and in files of their own, where files are looked for, and
 * --set. Every test works in a fresh folder whose files replace the shipped ones. */
#include "workloads/experiment_file.h"

#include <glib/gstdio.h>
#include <string.h>

static const char experiment[] = "version: 1\n"
                                 "seed: 7\n"
                                 "platform: machine.yaml\n"
                                 "model: tiny-model\n"
                                 "workload:\n"
                                 "  kind: synthetic\n"
                                 "  arrivals: {rate: 8 /s}\n"
                                 "policy:\n"
                                 "  decode: {tp: 2, pp: 1}\n";

/* Files by their path below the folder of the test. */
static const char *const files[][2] = {
    {"run/exp.yaml", experiment},
    {"run/machine.yaml", "version: 1\nname: here\n"},
    {"run/parts/slo.yaml", "version: 1\nttft: {limit: 1 s}\n"},
    {"data/platforms/machine.yaml", "version: 1\nname: shipped\n"},
    {"data/platforms/mt9.yaml", "version: 1\nname: nine\n"},
    {"data/platforms/no-version.yaml", "name: x\n"},
    {"data/platforms/version-two.yaml", "name: x\nversion: 2\n"},
    {"data/platforms/list.yaml", "- x\n"},
    {"data/models/tiny-model.json", "{\n\t\"layers\": 2, \"version\": 3\n}\n"},
    {"data/models/named.json", "{\"layers\": 3, \"name\": \"own name\"}\n"},
    {"data/traces/fixed.yaml", "version: 1\nkind: fixed\n"},
};

typedef struct Folder {
    char *path, *experiment;
} Folder;

static void folder_write(const Folder *folder, const char *name, const char *text) {
    g_autofree char *path = g_build_filename(folder->path, name, NULL);
    g_autofree char *parent = g_path_get_dirname(path);
    g_assert_cmpint(g_mkdir_with_parents(parent, 0700), ==, 0);
    g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

static void folder_set_up(Folder *folder, gconstpointer data) {
    (void)data;
    folder->path = g_dir_make_tmp("infergrid-XXXXXX", NULL);
    folder->experiment = g_build_filename(folder->path, "run/exp.yaml", NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(files); i++)
        folder_write(folder, files[i][0], files[i][1]);
    g_autofree char *shipped = g_build_filename(folder->path, "data", NULL);
    g_setenv("INFERGRID_DATA", shipped, TRUE);
}

static void remove_tree(const char *path) {
    g_autoptr(GDir) folder = g_dir_open(path, 0, NULL);
    const char *name;
    while (folder != NULL && (name = g_dir_read_name(folder)) != NULL) {
        g_autofree char *inner = g_build_filename(path, name, NULL);
        remove_tree(inner);
    }
    g_remove(path);
}

static void folder_tear_down(Folder *folder, gconstpointer data) {
    (void)data;
    remove_tree(folder->path);
    g_free(folder->path);
    g_free(folder->experiment);
}

static ExperimentFile *load(const Folder *folder, const char *const *overrides) {
    g_autoptr(GError) error = NULL;
    ExperimentFile *file = experiment_file_load(folder->experiment, overrides, NULL, &error);
    g_assert_no_error(error);
    return file;
}

/* The text at a dotted path below a section. */
static const char *text_at(const ExperimentFile *file, SectionKind kind, const char *path) {
    g_auto(GStrv) names = g_strsplit(path, ".", -1);
    const YamlNode *node = file->sections[kind];
    for (gsize i = 0; names[i] != NULL && node != NULL; i++)
        node = yaml_get(node, names[i]);
    return node != NULL ? node->text : NULL;
}

static void assert_below(const Folder *folder, const char *path, const char *expected) {
    g_autofree char *full = g_build_filename(folder->path, expected, NULL);
    g_assert_cmpstr(path, ==, full);
}

static void test_splits_sections_and_finds_their_files(Folder *folder, gconstpointer data) {
    (void)data;
    g_autoptr(ExperimentFile) file = load(folder, NULL);
    g_assert_cmpuint(file->seed, ==, 7);
    g_assert_cmpstr(text_at(file, SECTION_PLATFORM, "name"), ==, "here");
    g_assert_cmpstr(text_at(file, SECTION_MODEL, "layers"), ==, "2");
    g_assert_cmpstr(text_at(file, SECTION_WORKLOAD, "arrivals.rate"), ==, "8 /s");
    g_assert_cmpstr(text_at(file, SECTION_POLICY, "decode.tp"), ==, "2");
    g_assert_null(file->sections[SECTION_SLO]);
    g_assert_null(file->sections[SECTION_OUTPUT]);
    g_assert_null(file->sections[SECTION_SEARCH]);
    assert_below(folder, file->folders[SECTION_PLATFORM], "run");
    assert_below(folder, file->folders[SECTION_MODEL], "data/models");
    assert_below(folder, file->folders[SECTION_WORKLOAD], "run");
    assert_below(folder, file->folders[SECTION_SLO], "run");
    assert_below(folder, file->sections[SECTION_PLATFORM]->origin, "run/machine.yaml");
    g_assert_cmpstr(section_name(SECTION_SEARCH), ==, "search");
}

/* Our own version is taken off; a foreign file keeps its own and is named after itself. */
static void test_section_files_are_named_and_versioned(Folder *folder, gconstpointer data) {
    (void)data;
    g_autoptr(ExperimentFile) file = load(folder, NULL);
    g_assert_null(text_at(file, SECTION_PLATFORM, "version"));
    g_assert_cmpstr(text_at(file, SECTION_MODEL, "version"), ==, "3");
    g_assert_cmpstr(text_at(file, SECTION_MODEL, "name"), ==, "tiny-model");
    const char *const overrides[] = {"model=named", NULL};
    g_autoptr(ExperimentFile) named = load(folder, overrides);
    g_assert_cmpstr(text_at(named, SECTION_MODEL, "name"), ==, "own name");
}

/* 'base' names the file; what stands beside it is merged in, mapping by mapping. */
static void test_a_base_file_is_changed(Folder *folder, gconstpointer data) {
    (void)data;
    folder_write(
        folder, "data/platforms/deep.yaml",
        "version: 1\nname: deep\nnetwork: {nic: {bandwidth: 1, latency: 2}, kind: star}\n");
    folder_write(folder, "run/exp.yaml",
                 "version: 1\nmodel: tiny-model\nworkload: {a: 1}\npolicy: {b: 2}\nplatform:\n"
                 "  base: deep\n  nodes: 24\n  network: {nic: {latency: 7}}\n");
    g_autoptr(GError) error = NULL;
    g_autoptr(ExperimentFile) file = experiment_file_load(folder->experiment, NULL, NULL, &error);
    g_assert_no_error(error);
    const YamlNode *platform = file->sections[SECTION_PLATFORM];
    const YamlNode *nic = yaml_get(yaml_get(platform, "network"), "nic");
    g_assert_null(yaml_get(platform, "base"));
    g_assert_cmpstr(yaml_get(platform, "name")->text, ==, "deep");
    g_assert_cmpstr(yaml_get(platform, "nodes")->text, ==, "24");
    g_assert_cmpuint(yaml_get(platform, "nodes")->line, ==, 7);
    g_assert_cmpstr(yaml_get(nic, "bandwidth")->text, ==, "1");
    g_assert_cmpstr(yaml_get(nic, "latency")->text, ==, "7");
    g_assert_cmpstr(yaml_get(yaml_get(platform, "network"), "kind")->text, ==, "star");
}

static void test_seed_is_one_by_default(Folder *folder, gconstpointer data) {
    (void)data;
    folder_write(folder, "run/exp.yaml",
                 "version: 1\nplatform: {}\nmodel: {}\nworkload: {}\npolicy: {}\n");
    g_autoptr(ExperimentFile) file = load(folder, NULL);
    g_assert_cmpuint(file->seed, ==, 1);
}

static void test_overrides_replace_and_add_single_values(Folder *folder, gconstpointer data) {
    (void)data;
    const char *const overrides[] = {
        "policy.decode.tp=4", "policy.decode.dp=3", "slo.ttft.limit=500 ms", "seed=9",
        "platform.name=a=b",  "policy.decode.tp=8", "workload.note=",        NULL};
    g_autoptr(ExperimentFile) file = load(folder, overrides);
    g_assert_cmpuint(file->seed, ==, 9);
    g_assert_cmpstr(text_at(file, SECTION_POLICY, "decode.tp"), ==, "8");
    g_assert_cmpstr(text_at(file, SECTION_POLICY, "decode.pp"), ==, "1");
    g_assert_cmpstr(text_at(file, SECTION_POLICY, "decode.dp"), ==, "3");
    g_assert_cmpstr(text_at(file, SECTION_SLO, "ttft.limit"), ==, "500 ms");
    g_assert_cmpstr(text_at(file, SECTION_PLATFORM, "name"), ==, "a=b");
    g_assert_cmpstr(text_at(file, SECTION_WORKLOAD, "note"), ==, "");
    const YamlNode *tp = yaml_get(yaml_get(file->sections[SECTION_POLICY], "decode"), "tp");
    g_assert_cmpstr(tp->origin, ==, "--set policy.decode.tp");
    g_assert_cmpuint(tp->line, ==, 0);
    g_assert_cmpstr(tp->key, ==, "tp");
}

/* … whatever stood there, and before the single values, in whatever order they are given. */
static void test_overrides_replace_sections_by_files(Folder *folder, gconstpointer data) {
    (void)data;
    g_autofree char *slo = g_build_filename(folder->path, "run/parts/slo.yaml", NULL);
    g_autofree char *slo_override = g_strdup_printf("slo=%s", slo);
    const char *const overrides[] = {"platform.name=mine", "platform=mt9", "workload=fixed",
                                     slo_override, NULL};
    g_autoptr(ExperimentFile) file = load(folder, overrides);
    g_assert_cmpstr(text_at(file, SECTION_PLATFORM, "name"), ==, "mine");
    g_assert_cmpstr(text_at(file, SECTION_WORKLOAD, "kind"), ==, "fixed");
    g_assert_cmpstr(text_at(file, SECTION_SLO, "ttft.limit"), ==, "1 s");
    assert_below(folder, file->folders[SECTION_PLATFORM], "data/platforms");
    assert_below(folder, file->folders[SECTION_WORKLOAD], "data/traces");
    assert_below(folder, file->folders[SECTION_SLO], "run/parts");
}

typedef struct Refused {
    const char *text;     /* of the experiment; NULL: the usual one */
    const char *override; /* or NULL */
    const char *message;  /* "@" stands for the folder */
} Refused;

static const Refused refused[] = {
    {"[]\n", NULL,
     "@/run/exp.yaml:1:1: expected an experiment: a mapping of sections, not a "
     "sequence"},
    {"seed: 1\n", NULL, "@/run/exp.yaml:1:1: missing key 'version'"},
    {"version: 2\n", NULL, "@/run/exp.yaml:1:10: 'version' must be 1, not 2"},
    {"version: one\n", NULL,
     "@/run/exp.yaml:1:10: expected a whole number for 'version', not 'one'"},
    {"version: 1\nplatfrom: x\n", NULL,
     "@/run/exp.yaml:2:1: unknown key 'platfrom' (did you mean 'platform'?)"},
    {"version: 1\nhardware: x\n", NULL, "@/run/exp.yaml:2:1: unknown key 'hardware'"},
    {"version: 1\n", NULL, "@/run/exp.yaml:1:1: missing key 'platform'"},
    {"version: 1\nplatform: {}\nmodel: {}\nworkload: {}\n", NULL,
     "@/run/exp.yaml:1:1: missing key 'policy'"},
    {"version: 1\nplatform: mt8\n", NULL,
     "@/run/exp.yaml:2:11: no file 'mt8' for 'platform' (did you mean 'mt9'?)"},
    {"version: 1\nplatform: wafer\n", NULL, "@/run/exp.yaml:2:11: no file 'wafer' for 'platform'"},
    {"version: 1\nplatform: /no/such/file\n", NULL,
     "@/run/exp.yaml:2:11: no file '/no/such/file' for 'platform'"},
    {"version: 1\nplatform: parts\n", NULL, "@/run/exp.yaml:2:11: no file 'parts' for 'platform'"},
    {"version: 1\nplatform:\n", NULL,
     "@/run/exp.yaml:2:10: expected a mapping or a file for 'platform', not nothing"},
    {"version: 1\nplatform: no-version\n", NULL,
     "@/data/platforms/no-version.yaml:1:1: missing key 'version'"},
    {"version: 1\nplatform: version-two\n", NULL,
     "@/data/platforms/version-two.yaml:2:10: 'version' must be 1, not 2"},
    {"version: 1\nplatform: list\n", NULL,
     "@/data/platforms/list.yaml:1:1: expected a mapping for 'platform', not a sequence"},
    {"version: 1\nplatform: []\nmodel: {}\nworkload: {}\npolicy: {}\n", NULL,
     "@/run/exp.yaml:2:11: expected a mapping for 'platform', not a sequence"},
    {"version: 1\nseed: -1\nplatform: {}\nmodel: {}\nworkload: {}\npolicy: {}\n", NULL,
     "@/run/exp.yaml:2:7: 'seed' must be at least 0, not -1"},
    {NULL, "policy.decode.tp", "--set policy.decode.tp: expected path=value"},
    {NULL, "=4", "--set =4: the path is empty"},
    {NULL, "policy..tp=4", "--set policy..tp: a name in the path is empty"},
    {NULL, "policy.=4", "--set policy.: a name in the path is empty"},
    {NULL, "polcy.decode.tp=4",
     "--set polcy.decode.tp: unknown section 'polcy' (did you mean 'policy'?)"},
    {NULL, "version=1", "--set version: unknown section 'version'"},
    {NULL, "policy.decode=4",
     "--set policy.decode: 'decode' is a mapping; only a single value can be set"},
    {NULL, "policy.decode.tp.x=4",
     "--set policy.decode.tp.x: expected a mapping for 'tp', not '2'"},
    {NULL, "seed.x=4", "--set seed.x: expected a mapping for 'seed', not '7'"},
    {NULL, "seed=many", "--set seed: expected a whole number for 'seed', not 'many'"},
    {NULL, "platform=mt8", "--set platform: no file 'mt8' for 'platform' (did you mean 'mt9'?)"},
    {NULL, "platform=", "--set platform: expected a mapping or a file for 'platform', not nothing"},
    {NULL, "platform.name=\xFF", "--set: the text is not valid UTF-8"},
};

static void test_refuses_with_the_place(Folder *folder, gconstpointer data) {
    (void)data;
    for (gsize i = 0; i < G_N_ELEMENTS(refused); i++) {
        const char *const overrides[] = {refused[i].override, NULL};
        g_autoptr(GError) error = NULL;
        g_auto(GStrv) parts = g_strsplit(refused[i].message, "@", -1);
        g_autofree char *message = g_strjoinv(folder->path, parts);
        folder_write(folder, "run/exp.yaml", refused[i].text ? refused[i].text : experiment);
        g_assert_null(experiment_file_load(folder->experiment, overrides, NULL, &error));
        g_assert_cmpstr(error->message, ==, message);
        g_assert_true(error->domain == INPUT_ERROR);
    }
}

static void assert_found(const char *name, const char *folder, const char *expected) {
    g_autofree char *path = data_file_find(name, folder, "platforms");
    g_assert_cmpstr(path, ==, expected);
}

/* The folder comes before the shipped data, a full name before one without its extension. */
static void test_data_files_are_searched_in_order(Folder *folder, gconstpointer data) {
    (void)data;
    g_autofree char *run = g_build_filename(folder->path, "run", NULL);
    g_autofree char *here = g_build_filename(run, "machine.yaml", NULL);
    g_autofree char *shipped = g_build_filename(folder->path, "data/platforms/machine.yaml", NULL);
    g_autofree char *without = g_build_filename(folder->path, "data/platforms/machine", NULL);
    assert_found("machine.yaml", run, here);
    assert_found("machine", run, here);
    assert_found("machine", folder->path, shipped);
    assert_found("machine", NULL, shipped);
    assert_found(shipped, run, shipped);
    assert_found(without, run, shipped);
    assert_found("", run, NULL);
    assert_found("parts", run, NULL);
    assert_found("/no/such", run, NULL);
    assert_found("tiny-model", run, NULL);
    folder_write(folder, "data/platforms/machine", "");
    assert_found("machine", NULL, without);
}

#define ADD(name)                                                                                  \
    g_test_add("/experiment_file/" #name, Folder, NULL, folder_set_up, test_##name,                \
               folder_tear_down)

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    ADD(splits_sections_and_finds_their_files);
    ADD(section_files_are_named_and_versioned);
    ADD(a_base_file_is_changed);
    ADD(seed_is_one_by_default);
    ADD(overrides_replace_and_add_single_values);
    ADD(overrides_replace_sections_by_files);
    ADD(refuses_with_the_place);
    ADD(data_files_are_searched_in_order);
    return g_test_run();
}
