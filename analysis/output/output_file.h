/* A file that appears whole or not at all: it is written under a temporary name beside it, which
 * ends like its own, and takes its name at the end. */
#ifndef ANALYSIS_OUTPUT_FILE_H
#define ANALYSIS_OUTPUT_FILE_H

#include <glib.h>

typedef struct OutputFile OutputFile;
/* Refuses a 'path' that exists unless 'force', and a folder always. Parents are made. The
 * temporary file is there, empty. */
OutputFile *output_file_open(const char *path, gboolean force, GError **error);
const char *output_file_temporary(const OutputFile *file);
gboolean output_file_commit(OutputFile *file, GError **error);
void output_file_free(
    OutputFile *file); /* uncommitted: what was written is removed; NULL is fine */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OutputFile, output_file_free)

#endif
