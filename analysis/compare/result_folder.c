#include "analysis/compare/result_folder.h"

#include "workloads/input_error.h"
#include <math.h>
#include <string.h>

/* What other commands leave in the folders that they write. */
static const struct {
    const char *file, *command;
} others[] = {{"search.json", "search"},
              {"plan.json", "plan"},
              {"sweep.json", "sweep"},
              {"result.json", "operator"}};

static gboolean is_folder(const char *path, GError **error) {
    if (g_file_test(path, G_FILE_TEST_IS_DIR))
        return TRUE;
    if (g_file_test(path, G_FILE_TEST_EXISTS))
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_VALUE,
                    "%s: expected a folder that 'infergrid simulate -o' wrote, not a file", path);
    else
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_MISSING, "%s: no such folder", path);
    return FALSE;
}

static gboolean has(const char *folder, const char *name) {
    g_autofree char *path = g_build_filename(folder, name, NULL);

    return g_file_test(path, G_FILE_TEST_EXISTS);
}

static gboolean is_simulated(const char *path, GError **error) {
    for (guint i = 0; !has(path, "summary.json") && i < G_N_ELEMENTS(others); i++)
        if (has(path, others[i].file)) {
            g_set_error(error, INPUT_ERROR, INPUT_ERROR_VALUE,
                        "%s: expected a folder that 'infergrid simulate -o' wrote; "
                        "'infergrid %s' wrote this one",
                        path, others[i].command);
            return FALSE;
        }
    return TRUE;
}

/* Of the version that this program writes. */
static YamlNode *experiment_read(const char *path, GError **error) {
    g_autoptr(YamlNode) root = yaml_load_file(path, error);
    guint64 version;

    if (root == NULL || !yaml_expect(root, YAML_MAPPING, "an experiment: a mapping", error))
        return NULL;
    const YamlNode *node = yaml_get(root, "version");
    if (node == NULL) {
        yaml_error(root, INPUT_ERROR_MISSING, error, "missing key 'version'");
        return NULL;
    }
    if (!yaml_read_count(node, 0, 0, &version, error))
        return NULL;
    if (version != 1) {
        yaml_error(node, INPUT_ERROR_VALUE, error,
                   "'version' must be 1, not %" G_GUINT64_FORMAT
                   ": another infergrid wrote this folder",
                   version);
        return NULL;
    }
    return g_steal_pointer(&root);
}

/* As many rows as requests arrived, and as many completed: a file that was cut off has fewer. */
static gboolean is_consistent(const ResultFolder *folder, const char *path, GError **error) {
    guint64 completed = 0;
    const GArray *rows = folder->requests;

    for (guint i = 0; i < rows->len; i++)
        completed += g_array_index(rows, ServedRow, i).completed ? 1 : 0;
    const struct {
        const char *key, *what;
        guint64 there;
    } counts[] = {{"requests.arrived", "requests", rows->len},
                  {"requests.completed", "completed requests", completed}};
    for (guint i = 0; i < G_N_ELEMENTS(counts); i++) {
        double said = summary_file_value(folder->summary, counts[i].key);
        if (!(fabs(said - (double)counts[i].there) > 0))
            continue;
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                    "%s: %" G_GUINT64_FORMAT " %s, but summary.json beside it counts %.0f", path,
                    counts[i].there, counts[i].what, said);
        return FALSE;
    }
    return TRUE;
}

ResultFolder *result_folder_load(const char *path, GError **error) {
    g_autoptr(ResultFolder) folder = g_new0(ResultFolder, 1);
    g_autofree char *summary = g_build_filename(path, "summary.json", NULL);
    g_autofree char *experiment = g_build_filename(path, "experiment.yaml", NULL);
    g_autofree char *requests = g_build_filename(path, "requests.csv", NULL);

    folder->path = g_strdup(path);
    if (!is_folder(path, error) || !is_simulated(path, error) ||
        (folder->experiment = experiment_read(experiment, error)) == NULL ||
        (folder->summary = summary_read(summary, error)) == NULL ||
        (folder->requests = requests_read(requests, error)) == NULL ||
        !is_consistent(folder, requests, error))
        return NULL;
    folder->closed_loop = summary_file_value(folder->summary, "workload.closed_loop") > 0;
    return g_steal_pointer(&folder);
}

void result_folder_free(ResultFolder *folder) {
    if (folder == NULL)
        return;
    g_clear_pointer(&folder->summary, summary_file_free);
    g_clear_pointer(&folder->experiment, yaml_node_free);
    g_clear_pointer(&folder->requests, g_array_unref);
    g_free(folder->path);
    g_free(folder);
}
