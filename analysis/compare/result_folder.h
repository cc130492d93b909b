/* A folder that 'infergrid simulate -o' wrote, read back. */
#ifndef ANALYSIS_RESULT_FOLDER_H
#define ANALYSIS_RESULT_FOLDER_H

#include "analysis/compare/requests_read.h"
#include "analysis/compare/summary_read.h"
#include "workloads/yaml_reader.h"

typedef struct ResultFolder {
    char *path;           /* as it was given */
    SummaryFile *summary; /* summary.json */
    YamlNode *experiment; /* experiment.yaml, of version 1 */
    GArray *requests;     /* requests.csv: ServedRow by id */
    gboolean closed_loop; /* arrivals follow completions */
} ResultFolder;

/* A file that is not there, damaged, of another version or at odds with the others, and a folder
 * that another command wrote, are an INPUT_ERROR; NULL then. */
ResultFolder *result_folder_load(const char *path, GError **error);
void result_folder_free(ResultFolder *folder);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ResultFolder, result_folder_free)

#endif
