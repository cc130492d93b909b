#define _GNU_SOURCE /* nftw */
#include "analysis/output/output_folder.h"

#include "workloads/input_error.h"
#include <errno.h>
#include <ftw.h>
#include <glib/gstdio.h>
#include <sys/stat.h>
#include <unistd.h>

struct OutputFolder {
    char *path;      /* absolute, without trailing slash */
    char *temporary; /* where the files are until commit; NULL afterwards */
    gboolean force;
};

static void set_failure(GError **error, const char *what, const char *path) {
    int code = errno;
    g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(code), "cannot %s '%s': %s", what,
                path, g_strerror(code));
}

/* Something is there, be it a link to nowhere. */
static gboolean exists(const char *path) {
    struct stat status;
    return lstat(path, &status) == 0;
}

/* What commands write: only a folder of these may be replaced. */
static const char *const result_names[] = {
    "best.yaml",       "candidates.csv",   "capacity.pdf",    "capacity.svg",    "claims.csv",
    "experiment.yaml", "headroom.csv",     "headroom.pdf",    "headroom.svg",    "pareto.pdf",
    "pareto.svg",      "plan.json",        "plot.pdf",        "plot.svg",        "report.html",
    "requests.csv",    "result.csv",       "result.json",     "run.json",        "search.json",
    "sensitivity.csv", "sensitivity.json", "sensitivity.pdf", "sensitivity.svg", "series.csv",
    "sizes.csv",       "summary.json",     "sweep.csv",       "sweep.json",      "timeline.json",
    "tokens.csv",      "trace.json",
};

static gboolean is_result_name(const char *name) {
    for (gsize i = 0; i < G_N_ELEMENTS(result_names); i++)
        if (g_str_equal(name, result_names[i]))
            return TRUE;
    return FALSE;
}

/* Holds nothing but results, and nobody is standing in it. */
static gboolean is_result_folder(const char *path) {
    g_autofree char *current = g_get_current_dir();
    if (g_str_equal(path, current))
        return FALSE;
    g_autoptr(GDir) folder = g_dir_open(path, 0, NULL);
    const char *name;
    while (folder != NULL && (name = g_dir_read_name(folder)) != NULL)
        if (!is_result_name(name))
            return FALSE;
    return folder != NULL;
}

static gboolean refuse_existing(const char *path, const char *shown, gboolean force,
                                GError **error) {
    if (!exists(path))
        return TRUE;
    if (!force)
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                    "'%s' exists (use --force to replace it)", shown);
    else if (!g_file_test(path, G_FILE_TEST_IS_DIR))
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT, "'%s' exists and is not a folder",
                    shown);
    else if (!is_result_folder(path))
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                    "'%s' is not a folder of results; --force replaces only those", shown);
    else
        return TRUE;
    return FALSE;
}

/* A new empty folder beside 'path', ".<name>.<suffix>-XXXXXX", so that renaming stays within one
 * file system. Caller frees. */
static char *sibling_new(const char *path, const char *suffix, GError **error) {
    g_autofree char *parent = g_path_get_dirname(path);
    g_autofree char *name = g_path_get_basename(path);
    g_autofree char *sibling = g_strdup_printf("%s/.%s.%s-XXXXXX", parent, name, suffix);
    if (g_mkdir_with_parents(parent, 0777) != 0 || g_mkdtemp_full(sibling, 0777) == NULL) {
        set_failure(error, "make a folder in", parent);
        return NULL;
    }
    return g_steal_pointer(&sibling);
}

OutputFolder *output_folder_open(const char *path, gboolean force, GError **error) {
    g_autofree char *absolute = g_canonicalize_filename(path, NULL);
    if (!refuse_existing(absolute, path, force, error))
        return NULL;
    g_autofree char *temporary = sibling_new(absolute, "partial", error);
    if (temporary == NULL)
        return NULL;
    OutputFolder *folder = g_new0(OutputFolder, 1);
    folder->path = g_steal_pointer(&absolute);
    folder->temporary = g_steal_pointer(&temporary);
    folder->force = force;
    return folder;
}

char *output_folder_file(const OutputFolder *folder, const char *name) {
    return g_build_filename(folder->temporary, name, NULL);
}

gboolean output_folder_write(OutputFolder *folder, const char *name, const char *text,
                             GError **error) {
    g_autofree char *path = output_folder_file(folder, name);
    return g_file_set_contents_full(path, text, -1, G_FILE_SET_CONTENTS_NONE, 0666, error);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place) {
    (void)status, (void)type, (void)place;
    return remove(path);
}

/* Links are removed, not followed. */
static gboolean remove_tree(const char *path) {
    const int open_folders = 16;
    return nftw(path, remove_one, open_folders, FTW_DEPTH | FTW_PHYS) == 0;
}

/* Moves what has the folder's name out of the way, to 'aside'. */
static gboolean set_old_aside(const OutputFolder *folder, char **aside, GError **error) {
    g_autofree char *place = sibling_new(folder->path, "old", error);
    if (place == NULL)
        return FALSE;
    *aside = g_build_filename(place, "old", NULL);
    if (g_rename(folder->path, *aside) == 0)
        return TRUE;
    set_failure(error, "replace", folder->path);
    g_rmdir(place);
    return FALSE;
}

static gboolean take_name(OutputFolder *folder, GError **error) {
    if (g_rename(folder->temporary, folder->path) == 0) {
        g_clear_pointer(&folder->temporary, g_free);
        return TRUE;
    }
    set_failure(error, "make", folder->path);
    return FALSE;
}

gboolean output_folder_commit(OutputFolder *folder, GError **error) {
    g_autofree char *aside = NULL;
    if (!refuse_existing(folder->path, folder->path, folder->force, error))
        return FALSE;
    if (exists(folder->path) && !set_old_aside(folder, &aside, error))
        return FALSE;
    gboolean done = take_name(folder, error);
    if (aside == NULL)
        return done;
    if (!done)
        g_rename(aside, folder->path);
    g_autofree char *place = g_path_get_dirname(aside);
    remove_tree(place);
    return done;
}

void output_folder_free(OutputFolder *folder) {
    if (folder == NULL)
        return;
    if (folder->temporary != NULL)
        remove_tree(folder->temporary);
    g_free(folder->temporary);
    g_free(folder->path);
    g_free(folder);
}
