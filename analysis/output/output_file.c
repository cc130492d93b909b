#include "analysis/output/output_file.h"

#include "workloads/input_error.h"
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <unistd.h>

struct OutputFile {
    char *path;
    char *temporary; /* NULL once it has its name */
};

static gboolean set_failure(GError **error, const char *path) {
    int code = errno;
    g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(code), "cannot write '%s': %s", path,
                g_strerror(code));
    return FALSE;
}

static gboolean may_replace(const char *path, gboolean force, GError **error) {
    gboolean folder = g_file_test(path, G_FILE_TEST_IS_DIR);
    if (!folder && (force || !g_file_test(path, G_FILE_TEST_EXISTS)))
        return TRUE;
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT, "'%s' %s", path,
                folder ? "is a folder, not a file" : "exists (use --force to replace it)");
    return FALSE;
}

OutputFile *output_file_open(const char *path, gboolean force, GError **error) {
    if (!may_replace(path, force, error))
        return NULL;
    g_autofree char *folder = g_path_get_dirname(path);
    g_autofree char *name = g_path_get_basename(path);
    g_autofree char *temporary = g_strdup_printf("%s/.partial-XXXXXX.%s", folder, name);
    int descriptor = g_mkdir_with_parents(folder, 0777) == 0
                         ? g_mkstemp_full(temporary, O_RDWR | O_CLOEXEC, 0666)
                         : -1;
    if (descriptor < 0) {
        set_failure(error, path);
        return NULL;
    }
    close(descriptor);
    OutputFile *file = g_new0(OutputFile, 1);
    file->path = g_strdup(path);
    file->temporary = g_steal_pointer(&temporary);
    return file;
}

const char *output_file_temporary(const OutputFile *file) {
    return file->temporary;
}

gboolean output_file_commit(OutputFile *file, GError **error) {
    if (g_rename(file->temporary, file->path) != 0)
        return set_failure(error, file->path);
    g_clear_pointer(&file->temporary, g_free);
    return TRUE;
}

void output_file_free(OutputFile *file) {
    if (file == NULL)
        return;
    if (file->temporary != NULL)
        g_unlink(file->temporary);
    g_free(file->temporary);
    g_free(file->path);
    g_free(file);
}
