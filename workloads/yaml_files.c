#include "workloads/yaml_files.h"

struct YamlFiles {
    GHashTable *trees; /* path → YamlNode, both owned */
};

static void free_tree(gpointer tree) {
    yaml_node_free(tree);
}

YamlFiles *yaml_files_new(void) {
    YamlFiles *files = g_new(YamlFiles, 1);

    files->trees = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_tree);
    return files;
}

void yaml_files_free(YamlFiles *files) {
    if (files == NULL)
        return;
    g_hash_table_unref(files->trees);
    g_free(files);
}

YamlNode *yaml_files_load(YamlFiles *files, const char *path, GError **error) {
    const YamlNode *known = files == NULL ? NULL : g_hash_table_lookup(files->trees, path);

    if (known != NULL)
        return yaml_node_copy(known);
    YamlNode *tree = yaml_load_file(path, error);
    if (tree != NULL && files != NULL)
        g_hash_table_insert(files->trees, g_strdup(path), yaml_node_copy(tree));
    return tree;
}
