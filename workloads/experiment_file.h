/* The experiment file as text: its sections, the files they name, and --set overrides. What a
 * section means is read on the floor that owns it; this only splits. */
#ifndef WORKLOADS_EXPERIMENT_FILE_H
#define WORKLOADS_EXPERIMENT_FILE_H

#include "workloads/yaml_files.h"

typedef enum {
    SECTION_PLATFORM,
    SECTION_MODEL,
    SECTION_WORKLOAD,
    SECTION_POLICY,
    SECTION_SLO,
    SECTION_OUTPUT,
    SECTION_SEARCH,
    N_SECTIONS
} SectionKind;

typedef struct ExperimentFile {
    char *path;
    YamlFiles *files;               /* that files are read through; borrowed, may be NULL */
    YamlNode *root;                 /* the top mapping: version, seed and the sections */
    guint64 seed;                   /* default 1 */
    YamlNode *sections[N_SECTIONS]; /* mappings within 'root'; NULL where there is none */
    char *folders[N_SECTIONS];      /* the folder that relative paths within the section start
                                       from: that of the experiment, or of the section's file */
} ExperimentFile;

/* Loads 'path': `version: 1` is required; 'platform', 'model', 'workload' and 'policy' are
 * required; each section stands inline or is a path (relative to the file, then to the installed
 * data folders, so that `model: llama-2-7b.json` finds the shipped one), or is a mapping whose key
 * 'base' names such a file and whose other keys change it (`platform: {base: mt3000, nodes: 24}`).
 * Paths within a section start from the folder of its file. 'overrides' are texts
 * "dotted.path=value" (NULL-terminated, may be NULL); each replaces or adds one scalar and is
 * later validated like the file, its errors saying "--set dotted.path: …". A path that is just a
 * section's name puts a file in its place: "platform=my.yaml" (relative to the current folder).
 * A section's file states `version: 1` itself, but for a model's, which is a foreign format.
 * Optional sections are left NULL when absent. Files that 'files' (may be NULL) knows are not read
 * once more. */
ExperimentFile *experiment_file_load(const char *path, const char *const *overrides,
                                     YamlFiles *files, GError **error);
void experiment_file_free(ExperimentFile *file);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExperimentFile, experiment_file_free)

const char *section_name(SectionKind kind);

/* One section by itself, for a command that needs no whole experiment: 'name' is a file, or the
 * name of a shipped one. 'option' ("--model") is where the name was typed, for the message when
 * there is no such file. */
YamlNode *section_load(SectionKind kind, const char *name, const char *option, GError **error);

/* Replaces or adds scalars of a section that was loaded by itself; 'overrides' as in
 * experiment_file_load, all within it: "platform.nodes=4". */
gboolean section_override(SectionKind kind, YamlNode *section, const char *const *overrides,
                          GError **error);

/* Finds a data file: absolute, relative to 'folder' (NULL: the current one), or by name in the
 * data folders: $INFERGRID_DATA/<kind>, then the shipped ones (<source>/workloads/models,
 * …/platforms, …/workloads/traces, …/analysis/reference, or their installed places). 'kind' is
 * "models", "platforms", "traces", "experiments" or "reference". The extension .yaml or .json may
 * be left out. Caller frees; NULL when nothing is there. */
char *data_file_find(const char *name, const char *folder, const char *kind);
/* " (did you mean 'x'?)" from the names in the data folders, or "". Caller frees. */
char *data_file_hint(const char *name, const char *kind);

#endif
