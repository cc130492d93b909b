/* YAML files that are read once and then known, for whoever needs each of them many times. */
#ifndef WORKLOADS_YAML_FILES_H
#define WORKLOADS_YAML_FILES_H

#include "workloads/yaml_reader.h"

typedef struct YamlFiles YamlFiles;
YamlFiles *yaml_files_new(void);
void yaml_files_free(YamlFiles *files);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(YamlFiles, yaml_files_free)

/* What yaml_load_file gives for 'path', as it was when it was read for the first time; only what
 * could be read is kept. 'files' may be NULL: nothing is. Caller frees. */
YamlNode *yaml_files_load(YamlFiles *files, const char *path, GError **error);

#endif
