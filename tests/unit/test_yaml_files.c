#include "workloads/yaml_files.h"

#include <glib/gstdio.h>

typedef struct Folder {
    char *path, *file;
} Folder;

static void folder_make(Folder *folder, gconstpointer data) {
    (void)data;
    folder->path = g_dir_make_tmp("infergrid-XXXXXX", NULL);
    g_assert_nonnull(folder->path);
    folder->file = g_build_filename(folder->path, "file.yaml", NULL);
}

static void folder_remove(Folder *folder, gconstpointer data) {
    (void)data;
    g_unlink(folder->file);
    g_rmdir(folder->path);
    g_free(folder->file);
    g_free(folder->path);
}

static void file_write(const Folder *folder, const char *text) {
    g_assert_true(g_file_set_contents(folder->file, text, -1, NULL));
}

static void expect_slots(YamlFiles *files, const Folder *folder, const char *slots, guint line) {
    g_autoptr(GError) error = NULL;
    g_autoptr(YamlNode) tree = yaml_files_load(files, folder->file, &error);

    g_assert_no_error(error);
    const YamlNode *decode = yaml_get(tree, "decode");
    g_assert_cmpstr(yaml_get(decode, "slots")->text, ==, slots);
    g_assert_cmpuint(yaml_get(decode, "slots")->line, ==, line);
    g_assert_cmpstr(yaml_get(decode, "slots")->origin, ==, folder->file);
    g_assert_cmpuint(yaml_get(tree, "sizes")->values->len, ==, 2);
    /* what becomes of one copy is not seen in the next */
    yaml_put((YamlNode *)decode, "slots", yaml_scalar_new("changed", "--set"));
    yaml_remove(tree, "sizes");
}

static void known_file_stays_as_it_was(Folder *folder, gconstpointer data) {
    g_autoptr(YamlFiles) files = yaml_files_new();

    (void)data;
    file_write(folder, "decode: {slots: 8}\nsizes: [1, 2]\n");
    expect_slots(files, folder, "8", 1);
    file_write(folder, "sizes: [3, 4]\ndecode:\n  slots: '9'\n");
    expect_slots(files, folder, "8", 1);
    expect_slots(files, folder, "8", 1);
    expect_slots(NULL, folder, "9", 3);
}

static void wrong_file_is_read_again(Folder *folder, gconstpointer data) {
    g_autoptr(YamlFiles) files = yaml_files_new();
    g_autoptr(GError) error = NULL;

    (void)data;
    file_write(folder, "decode: {slots: 8\n");
    g_assert_null(yaml_files_load(files, folder->file, &error));
    g_assert_error(error, INPUT_ERROR, INPUT_ERROR_SYNTAX);
    file_write(folder, "decode: {slots: 8}\nsizes: [1, 2]\n");
    expect_slots(files, folder, "8", 1);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add("/yaml-files/known", Folder, NULL, folder_make, known_file_stays_as_it_was,
               folder_remove);
    g_test_add("/yaml-files/wrong", Folder, NULL, folder_make, wrong_file_is_read_again,
               folder_remove);
    return g_test_run();
}
