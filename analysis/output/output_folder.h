/* A result folder that appears whole or not at all: files are written into a temporary sibling,
 * which takes the folder's name at the end. */
#ifndef ANALYSIS_OUTPUT_FOLDER_H
#define ANALYSIS_OUTPUT_FOLDER_H

#include <glib.h>
#include <stdio.h>

typedef struct OutputFolder OutputFolder;
/* Refuses a 'path' that exists unless 'force'; then the old one is replaced at commit, if it holds
 * nothing but results of ours. Parents are
 * made. */
OutputFolder *output_folder_open(const char *path, gboolean force, GError **error);
char *output_folder_file(const OutputFolder *folder, const char *name); /* its path; caller frees */
gboolean output_folder_write(OutputFolder *folder, const char *name, const char *text,
                             GError **error);
gboolean output_folder_commit(OutputFolder *folder, GError **error);
void output_folder_free(OutputFolder *folder); /* uncommitted: everything is removed */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OutputFolder, output_folder_free)

#endif
