#include "workloads/experiment_file.h"

#include <string.h>

#define FORMAT_VERSION 1

typedef struct SectionRule {
    const char *name;
    const char *data_kind; /* the shipped files that a path may name */
    gboolean required;
    gboolean foreign; /* its file is a format of others and states no version of ours */
} SectionRule;

static const SectionRule rules[N_SECTIONS] = {
    [SECTION_PLATFORM] = {"platform", "platforms", TRUE, FALSE},
    [SECTION_MODEL] = {"model", "models", TRUE, TRUE},
    [SECTION_WORKLOAD] = {"workload", "traces", TRUE, FALSE},
    [SECTION_POLICY] = {"policy", "experiments", TRUE, FALSE},
    [SECTION_SLO] = {"slo", "experiments", FALSE, FALSE},
    [SECTION_OUTPUT] = {"output", "experiments", FALSE, FALSE},
    [SECTION_SEARCH] = {"search", "experiments", FALSE, FALSE},
};

static const char *const top_keys[] = {
    "version", "seed", "platform", "model", "workload", "policy", "slo", "output", "search",
};
#define BASE_KEY "base"              /* of a section: the file that it changes */
#define SETTABLE_KEYS (top_keys + 1) /* all but the version */
#define N_SETTABLE_KEYS (G_N_ELEMENTS(top_keys) - 1)

const char *section_name(SectionKind kind) {
    return rules[kind].name;
}

static gboolean is_one_of(const char *word, const char *const *words, gsize n_words) {
    for (gsize i = 0; i < n_words; i++)
        if (strcmp(word, words[i]) == 0)
            return TRUE;
    return FALSE;
}

static gboolean is_section(const char *word) {
    for (gsize i = 0; i < N_SECTIONS; i++)
        if (strcmp(word, rules[i].name) == 0)
            return TRUE;
    return FALSE;
}

static const char *const extensions[] = {"", ".yaml", ".json"};

static char *find_in(const char *folder, const char *name) {
    for (gsize i = 0; i < G_N_ELEMENTS(extensions); i++) {
        g_autofree char *file = g_strconcat(name, extensions[i], NULL);
        gboolean plain = strcmp(folder, ".") == 0 || g_path_is_absolute(file);
        g_autofree char *path = plain ? g_strdup(file) : g_build_filename(folder, file, NULL);
        if (g_file_test(path, G_FILE_TEST_EXISTS) && !g_file_test(path, G_FILE_TEST_IS_DIR))
            return g_steal_pointer(&path);
    }
    return NULL;
}

/* Data lies on the floor that owns it. */
static const char *source_folder(const char *kind) {
    static const struct {
        const char *kind, *folder;
    } homes[] = {{"platforms", ""}, {"reference", "analysis"}};

    for (gsize i = 0; i < G_N_ELEMENTS(homes); i++)
        if (strcmp(homes[i].kind, kind) == 0)
            return homes[i].folder;
    return "workloads";
}

/* The folders of shipped files of 'kind', in order of search; NULL-terminated. */
static GStrv data_folders(const char *kind) {
    GPtrArray *folders = g_ptr_array_new();
    const char *own = g_getenv("INFERGRID_DATA");
    const char *floor = source_folder(kind);
    if (own != NULL && *own != '\0')
        g_ptr_array_add(folders, g_build_filename(own, kind, NULL));
    g_ptr_array_add(folders, g_build_filename(INFERGRID_SOURCE_DATA, floor, kind, NULL));
    g_ptr_array_add(folders, g_build_filename(INFERGRID_INSTALLED_DATA, kind, NULL));
    g_ptr_array_add(folders, NULL);
    return (GStrv)g_ptr_array_free(folders, FALSE);
}

char *data_file_find(const char *name, const char *folder, const char *kind) {
    if (*name == '\0')
        return NULL;
    char *path = find_in(folder != NULL ? folder : ".", name);
    if (path != NULL || g_path_is_absolute(name))
        return path;
    g_auto(GStrv) folders = data_folders(kind);
    for (gsize i = 0; folders[i] != NULL && path == NULL; i++)
        path = find_in(folders[i], name);
    return path;
}

static gint compare_names(gconstpointer a, gconstpointer b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

char *data_file_hint(const char *name, const char *kind) {
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    g_auto(GStrv) folders = data_folders(kind);
    for (gsize i = 0; folders[i] != NULL; i++) {
        g_autoptr(GDir) folder = g_dir_open(folders[i], 0, NULL);
        const char *file;
        while (folder != NULL && (file = g_dir_read_name(folder)) != NULL) {
            g_ptr_array_add(names, g_strdup(file));
            const char *extension = strrchr(file, '.');
            if (extension != NULL)
                g_ptr_array_add(names, g_strndup(file, (gsize)(extension - file)));
        }
    }
    g_ptr_array_sort(names, compare_names);
    return near_miss_hint(name, (const char *const *)names->pdata, names->len);
}

static gboolean check_version(const YamlNode *mapping, GError **error) {
    guint64 version;
    const YamlNode *node = yaml_get(mapping, "version");
    if (node == NULL)
        return yaml_error(mapping, INPUT_ERROR_MISSING, error, "missing key 'version'");
    if (!yaml_read_count(node, 0, 0, &version, error))
        return FALSE;
    if (version != FORMAT_VERSION)
        return yaml_error(node, INPUT_ERROR_VALUE, error, "'version' must be %d, not %s",
                          FORMAT_VERSION, node->text);
    return TRUE;
}

/* A foreign model file is called by its own name unless it states one. */
static void name_model(YamlNode *model, const char *path) {
    if (yaml_get(model, "name") != NULL)
        return;
    g_autofree char *base = g_path_get_basename(path);
    for (gsize i = 1; i < G_N_ELEMENTS(extensions); i++)
        if (g_str_has_suffix(base, extensions[i]))
            base[strlen(base) - strlen(extensions[i])] = '\0';
    yaml_put(model, "name", yaml_scalar_new(base, path));
}

static gboolean no_such_file(const YamlNode *node, const char *data_kind, GError **error) {
    g_autofree char *found = yaml_describe(node);
    if (node->text[0] == '\0')
        return yaml_error(node, INPUT_ERROR_VALUE, error,
                          "expected a mapping or a file for '%s', not %s", node->key, found);
    g_autofree char *hint = data_file_hint(node->text, data_kind);
    return yaml_error(node, INPUT_ERROR_MISSING, error, "no file %s for '%s'%s", found, node->key,
                      hint);
}

static YamlNode *read_section(YamlFiles *files, const char *path, SectionKind kind,
                              GError **error) {
    g_autoptr(YamlNode) section = yaml_files_load(files, path, error);
    if (section == NULL)
        return NULL;
    section->key = g_strdup(rules[kind].name);
    if (!yaml_expect(section, YAML_MAPPING, NULL, error))
        return NULL;
    if (rules[kind].foreign) {
        name_model(section, path);
        return g_steal_pointer(&section);
    }
    if (!check_version(section, error))
        return NULL;
    yaml_remove(section, "version");
    return g_steal_pointer(&section);
}

YamlNode *section_load(SectionKind kind, const char *name, const char *option, GError **error) {
    g_autofree char *path = data_file_find(name, NULL, rules[kind].data_kind);
    if (path != NULL)
        return read_section(NULL, path, kind, error);
    g_autoptr(YamlNode) typed = yaml_scalar_new(name, option);
    typed->key = g_strdup(rules[kind].name);
    no_such_file(typed, rules[kind].data_kind, error);
    return NULL;
}

static char *find_section_file(const ExperimentFile *file, SectionKind kind, const YamlNode *name,
                               GError **error) {
    g_autofree char *home = g_path_get_dirname(file->path);
    gboolean overridden = name->line == 0; /* typed on the command line */
    char *path = data_file_find(name->text, overridden ? "." : home, rules[kind].data_kind);
    if (path == NULL)
        no_such_file(name, rules[kind].data_kind, error);
    return path;
}

/* A section is a file's name, or a mapping, or a mapping that changes the file named by its key
 * 'base'. Puts the whole section in its place; remembers the folder of what it reads. */
static gboolean resolve_section(ExperimentFile *file, SectionKind kind, GError **error) {
    const char *name = rules[kind].name;
    YamlNode *node = yaml_get(file->root, name);
    gboolean inlined = node != NULL && node->type == YAML_MAPPING;
    YamlNode *base = inlined ? yaml_get(node, BASE_KEY) : node;
    if (base == NULL || (!inlined && base->type != YAML_SCALAR)) {
        file->folders[kind] = g_path_get_dirname(file->path);
        return TRUE;
    }
    if (!yaml_expect(base, YAML_SCALAR, NULL, error))
        return FALSE;
    g_autofree char *path = find_section_file(file, kind, base, error);
    g_autoptr(YamlNode) section =
        path != NULL ? read_section(file->files, path, kind, error) : NULL;
    if (section == NULL)
        return FALSE;
    file->folders[kind] = g_path_get_dirname(path);
    if (inlined) {
        yaml_remove(node, BASE_KEY);
        yaml_overlay(section, yaml_steal(file->root, name));
    }
    yaml_put(file->root, name, g_steal_pointer(&section));
    return TRUE;
}

typedef struct Override {
    char *origin; /* "--set policy.decode.tp" */
    GStrv path;
    char *value;
} Override;

static void override_free(gpointer data) {
    Override *override = data;
    g_free(override->origin);
    g_strfreev(override->path);
    g_free(override->value);
    g_free(override);
}

static gboolean refuse_override(const char *origin, InputErrorCode code, const char *message,
                                GError **error) {
    g_set_error(error, INPUT_ERROR, (gint)code, "%s: %s", origin, message);
    return FALSE;
}

static gboolean check_override(const Override *override, GError **error) {
    gsize i = 0;
    do
        if (override->path[i][0] == '\0')
            return refuse_override(override->origin, INPUT_ERROR_VALUE,
                                   "a name in the path is empty", error);
    while (override->path[++i] != NULL);
    const char *first = override->path[0];
    if (is_one_of(first, SETTABLE_KEYS, N_SETTABLE_KEYS))
        return TRUE;
    g_autofree char *hint = near_miss_hint(first, SETTABLE_KEYS, N_SETTABLE_KEYS);
    g_autofree char *message = g_strdup_printf("unknown section '%s'%s", first, hint);
    return refuse_override(override->origin, INPUT_ERROR_UNKNOWN, message, error);
}

static gboolean check_override_text(const char *text, GError **error) {
    const char *equals = strchr(text, '=');
    if (!g_utf8_validate(text, -1, NULL))
        return refuse_override("--set", INPUT_ERROR_SYNTAX, "the text is not valid UTF-8", error);
    if (equals != NULL && equals > text)
        return TRUE;
    g_autofree char *origin = g_strdup_printf("--set %s", text);
    return refuse_override(origin, INPUT_ERROR_SYNTAX,
                           equals == NULL ? "expected path=value" : "the path is empty", error);
}

static Override *override_parse(const char *text) {
    const char *equals = strchr(text, '=');
    g_autofree char *path = g_strndup(text, (gsize)(equals - text));
    Override *override = g_new0(Override, 1);
    override->origin = g_strdup_printf("--set %s", path);
    override->path = g_strsplit(path, ".", -1);
    override->value = g_strdup(equals + 1);
    return override;
}

static gboolean overrides_parse(const char *const *texts, GPtrArray *overrides, GError **error) {
    for (gsize i = 0; texts != NULL && texts[i] != NULL; i++) {
        if (!check_override_text(texts[i], error))
            return FALSE;
        Override *override = override_parse(texts[i]);
        g_ptr_array_add(overrides, override);
        if (!check_override(override, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean names_section_file(const Override *override) {
    return override->path[1] == NULL && is_section(override->path[0]);
}

static gboolean expect_mapping(const Override *override, const YamlNode *node, GError **error) {
    if (node->type == YAML_MAPPING)
        return TRUE;
    g_autofree char *found = yaml_describe(node);
    g_autofree char *message =
        g_strdup_printf("expected a mapping for '%s', not %s", node->key, found);
    return refuse_override(override->origin, INPUT_ERROR_VALUE, message, error);
}

/* Walks to the mapping that holds the last name of the path, making what is not there. */
static YamlNode *override_parent(const Override *override, YamlNode *root, GError **error) {
    YamlNode *mapping = root;
    for (gsize i = 0; override->path[i + 1] != NULL; i++) {
        YamlNode *next = yaml_get(mapping, override->path[i]);
        if (next == NULL) {
            next = yaml_mapping_new(override->origin);
            yaml_put(mapping, override->path[i], next);
        }
        if (!expect_mapping(override, next, error))
            return NULL;
        mapping = next;
    }
    return mapping;
}

static gboolean override_apply(const Override *override, YamlNode *root, GError **error) {
    YamlNode *mapping = override_parent(override, root, error);
    if (mapping == NULL)
        return FALSE;
    const char *name = override->path[g_strv_length(override->path) - 1];
    const YamlNode *old = yaml_get(mapping, name);
    if (old != NULL && old->type != YAML_SCALAR && !names_section_file(override)) {
        g_autofree char *found = yaml_describe(old);
        g_autofree char *message =
            g_strdup_printf("'%s' is %s; only a single value can be set", name, found);
        return refuse_override(override->origin, INPUT_ERROR_VALUE, message, error);
    }
    yaml_put(mapping, name, yaml_scalar_new(override->value, override->origin));
    return TRUE;
}

/* Sections are replaced by files before files are read, single values after. */
static gboolean apply_overrides(GPtrArray *overrides, gboolean section_files, YamlNode *root,
                                GError **error) {
    for (guint i = 0; i < overrides->len; i++) {
        const Override *override = g_ptr_array_index(overrides, i);
        if (names_section_file(override) == section_files && !override_apply(override, root, error))
            return FALSE;
    }
    return TRUE;
}

gboolean section_override(SectionKind kind, YamlNode *section, const char *const *overrides,
                          GError **error) {
    g_autoptr(GPtrArray) parsed = g_ptr_array_new_with_free_func(override_free);
    g_autoptr(YamlNode) root = yaml_mapping_new(rules[kind].name);
    if (!overrides_parse(overrides, parsed, error))
        return FALSE;
    yaml_put(root, rules[kind].name, section);
    gboolean done = apply_overrides(parsed, FALSE, root, error);
    yaml_steal(root, rules[kind].name);
    return done;
}

static gboolean refuse_unknown_keys(const YamlNode *root, GError **error) {
    for (guint i = 0; i < root->keys->len; i++) {
        const YamlNode *key = g_ptr_array_index(root->keys, i);
        if (is_one_of(key->text, top_keys, G_N_ELEMENTS(top_keys)))
            continue;
        g_autofree char *found = yaml_describe(key);
        g_autofree char *hint = near_miss_hint(key->text, top_keys, G_N_ELEMENTS(top_keys));
        return yaml_error(key, INPUT_ERROR_UNKNOWN, error, "unknown key %s%s", found, hint);
    }
    return TRUE;
}

/* Notes where the finished sections are, once no override can move them any more. */
static gboolean collect_sections(ExperimentFile *file, GError **error) {
    for (SectionKind kind = 0; kind < N_SECTIONS; kind++) {
        YamlNode *section = yaml_get(file->root, rules[kind].name);
        if (section == NULL && rules[kind].required)
            return yaml_error(file->root, INPUT_ERROR_MISSING, error, "missing key '%s'",
                              rules[kind].name);
        if (section != NULL && !yaml_expect(section, YAML_MAPPING, NULL, error))
            return FALSE;
        file->sections[kind] = section;
    }
    const YamlNode *seed = yaml_get(file->root, "seed");
    file->seed = 1;
    return seed == NULL || yaml_read_count(seed, 0, 0, &file->seed, error);
}

static gboolean resolve_sections(ExperimentFile *file, GError **error) {
    for (SectionKind kind = 0; kind < N_SECTIONS; kind++)
        if (!resolve_section(file, kind, error))
            return FALSE;
    return TRUE;
}

static gboolean load_sections(ExperimentFile *file, GPtrArray *overrides, GError **error) {
    YamlNode *root = file->root;
    return check_version(root, error) && refuse_unknown_keys(root, error) &&
           apply_overrides(overrides, TRUE, root, error) && resolve_sections(file, error) &&
           apply_overrides(overrides, FALSE, root, error) && collect_sections(file, error);
}

ExperimentFile *experiment_file_load(const char *path, const char *const *overrides,
                                     YamlFiles *files, GError **error) {
    g_autoptr(GPtrArray) parsed = g_ptr_array_new_with_free_func(override_free);
    if (!overrides_parse(overrides, parsed, error))
        return NULL;
    g_autoptr(YamlNode) root = yaml_files_load(files, path, error);
    if (root == NULL ||
        !yaml_expect(root, YAML_MAPPING, "an experiment: a mapping of sections", error))
        return NULL;
    ExperimentFile *file = g_new0(ExperimentFile, 1);
    file->path = g_strdup(path);
    file->files = files;
    file->root = g_steal_pointer(&root);
    if (!load_sections(file, parsed, error))
        g_clear_pointer(&file, experiment_file_free);
    return file;
}

void experiment_file_free(ExperimentFile *file) {
    if (file == NULL)
        return;
    g_free(file->path);
    yaml_node_free(file->root);
    for (SectionKind kind = 0; kind < N_SECTIONS; kind++)
        g_free(file->folders[kind]);
    g_free(file);
}
