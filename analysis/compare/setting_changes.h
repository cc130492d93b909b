/* What differs between resolved experiments, key by key. */
#ifndef ANALYSIS_SETTING_CHANGES_H
#define ANALYSIS_SETTING_CHANGES_H

#include "workloads/yaml_reader.h"

typedef struct SettingChange {
    char *key;     /* "policy.decode.tp"; of a list, all of it */
    char **values; /* one for each experiment, NULL where the key is absent; as many as there are */
    guint n;
} SettingChange;

/* Keys whose values are not the same in all 'n' trees: SettingChange, in the order of the first
 * tree, each key that only later ones have behind the one that it follows there. Keys below
 * "platform.sources" are left out: where a number is from changes no figure. Caller frees. */
GPtrArray *setting_changes(const YamlNode *const *experiments, guint n);

#endif
