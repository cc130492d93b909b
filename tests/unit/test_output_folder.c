#include "analysis/output/output_folder.h"
#include "workloads/input_error.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct Place {
    char *root; /* a fresh folder for one test */
    char *path; /* of the result folder in it, not there yet */
} Place;

static void place_set_up(Place *place, gconstpointer data) {
    (void)data;
    place->root = g_dir_make_tmp("output-folder-XXXXXX", NULL);
    g_assert_nonnull(place->root);
    place->path = g_build_filename(place->root, "results", NULL);
}

static void remove_all(const char *path) {
    if (g_file_test(path, G_FILE_TEST_IS_DIR) && !g_file_test(path, G_FILE_TEST_IS_SYMLINK)) {
        g_autoptr(GDir) folder = g_dir_open(path, 0, NULL);
        for (const char *name; (name = g_dir_read_name(folder)) != NULL;) {
            g_autofree char *inner = g_build_filename(path, name, NULL);
            remove_all(inner);
        }
    }
    g_remove(path);
}

static void place_tear_down(Place *place, gconstpointer data) {
    (void)data;
    remove_all(place->root);
    g_free(place->root);
    g_free(place->path);
}

static void write_file(OutputFolder *folder, const char *name, const char *text) {
    g_autoptr(GError) error = NULL;
    g_assert_true(output_folder_write(folder, name, text, &error));
    g_assert_no_error(error);
}

static char *content(const Place *place, const char *name) {
    g_autofree char *path = g_build_filename(place->path, name, NULL);
    char *text = NULL;
    g_file_get_contents(path, &text, NULL, NULL);
    return text;
}

static guint entries(const char *path) {
    guint n = 0;
    g_autoptr(GDir) folder = g_dir_open(path, 0, NULL);
    while (g_dir_read_name(folder) != NULL)
        n++;
    return n;
}

static void make_old_folder(const Place *place) {
    g_autofree char *inner = g_build_filename(place->path, "inner", NULL);
    g_autofree char *file = g_build_filename(inner, "old.txt", NULL);
    g_assert_cmpint(g_mkdir_with_parents(inner, 0777), ==, 0);
    g_assert_true(g_file_set_contents(file, "old", -1, NULL));
}

static void test_appears_at_commit_only(Place *place, gconstpointer data) {
    (void)data;
    g_autoptr(GError) error = NULL;
    g_autoptr(OutputFolder) folder = output_folder_open(place->path, FALSE, &error);
    g_assert_no_error(error);
    write_file(folder, "summary.json", "{}\n");
    g_assert_false(g_file_test(place->path, G_FILE_TEST_EXISTS));
    g_assert_true(output_folder_commit(folder, &error));
    g_autofree char *text = content(place, "summary.json");
    g_assert_cmpstr(text, ==, "{}\n");
    g_assert_cmpuint(entries(place->root), ==, 1);
}

static void test_uncommitted_leaves_nothing(Place *place, gconstpointer data) {
    (void)data;
    OutputFolder *folder = output_folder_open(place->path, FALSE, NULL);
    write_file(folder, "requests.csv", "id\n");
    output_folder_free(folder);
    g_assert_cmpuint(entries(place->root), ==, 0);
}

static void test_refuses_what_exists(Place *place, gconstpointer data) {
    (void)data;
    g_autoptr(GError) error = NULL;
    make_old_folder(place);
    g_assert_null(output_folder_open(place->path, FALSE, &error));
    g_autofree char *message =
        g_strdup_printf("'%s' exists (use --force to replace it)", place->path);
    g_assert_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT);
    g_assert_cmpstr(error->message, ==, message);
    g_autofree char *old = content(place, "inner/old.txt");
    g_assert_cmpstr(old, ==, "old");
}

static void make_old_results(const Place *place) {
    g_autofree char *file = g_build_filename(place->path, "run.json", NULL);
    g_assert_cmpint(g_mkdir(place->path, 0777), ==, 0);
    g_assert_true(g_file_set_contents(file, "old", -1, NULL));
}

static void test_force_replaces_the_whole_folder(Place *place, gconstpointer data) {
    (void)data;
    g_autoptr(GError) error = NULL;
    make_old_results(place);
    g_autoptr(OutputFolder) folder = output_folder_open(place->path, TRUE, &error);
    write_file(folder, "new.txt", "new");
    g_autofree char *kept = content(place, "run.json");
    g_assert_cmpstr(kept, ==, "old"); /* until commit */
    g_assert_true(output_folder_commit(folder, &error));
    g_autofree char *text = content(place, "new.txt");
    g_assert_cmpstr(text, ==, "new");
    g_assert_cmpuint(entries(place->path), ==, 1);
    g_assert_cmpuint(entries(place->root), ==, 1);
}

/* Somebody's folder, or the one we stand in, is no result of ours. */
static void test_force_does_not_replace_other_folders(Place *place, gconstpointer data) {
    (void)data;
    g_autoptr(GError) error = NULL;
    make_old_folder(place);
    g_assert_null(output_folder_open(place->path, TRUE, &error));
    g_assert_true(g_str_has_suffix(error->message,
                                   "is not a folder of results; --force replaces only those"));
    g_autofree char *old = content(place, "inner/old.txt");
    g_assert_cmpstr(old, ==, "old");
    g_clear_error(&error);
    g_assert_null(output_folder_open(".", TRUE, &error));
    g_assert_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT);
}

static void test_force_does_not_replace_a_file(Place *place, gconstpointer data) {
    (void)data;
    g_autoptr(GError) error = NULL;
    g_assert_true(g_file_set_contents(place->path, "precious", -1, NULL));
    g_assert_null(output_folder_open(place->path, TRUE, &error));
    g_assert_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT);
    g_assert_true(g_str_has_suffix(error->message, "exists and is not a folder"));
}

/* What a replaced link points at is not ours to delete. */
static void test_force_does_not_follow_links(Place *place, gconstpointer data) {
    (void)data;
    g_autoptr(GError) error = NULL;
    g_autofree char *target = g_build_filename(place->root, "target", NULL);
    g_autofree char *file = g_build_filename(target, "run.json", NULL);
    g_assert_cmpint(g_mkdir(target, 0777), ==, 0);
    g_assert_true(g_file_set_contents(file, "precious", -1, NULL));
    g_assert_cmpint(symlink(target, place->path), ==, 0);
    g_autoptr(OutputFolder) folder = output_folder_open(place->path, TRUE, &error);
    g_assert_true(output_folder_commit(folder, &error));
    g_assert_true(g_file_test(file, G_FILE_TEST_EXISTS));
    g_assert_false(g_file_test(place->path, G_FILE_TEST_IS_SYMLINK));
    g_assert_true(g_file_test(place->path, G_FILE_TEST_IS_DIR));
}

static void test_folder_that_appeared_meanwhile_is_kept(Place *place, gconstpointer data) {
    (void)data;
    g_autoptr(GError) error = NULL;
    g_autoptr(OutputFolder) folder = output_folder_open(place->path, FALSE, &error);
    make_old_folder(place);
    g_assert_false(output_folder_commit(folder, &error));
    g_assert_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT);
    g_autofree char *old = content(place, "inner/old.txt");
    g_assert_cmpstr(old, ==, "old");
}

static void test_makes_parents_and_takes_a_trailing_slash(Place *place, gconstpointer data) {
    (void)data;
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_strdup_printf("%s/a/../a/b/", place->path);
    g_autofree char *made = g_build_filename(place->path, "a", "b", NULL);
    g_autoptr(OutputFolder) folder = output_folder_open(path, FALSE, &error);
    g_assert_no_error(error);
    g_assert_true(output_folder_commit(folder, &error));
    g_assert_true(g_file_test(made, G_FILE_TEST_IS_DIR));
}

static void test_folder_is_open_to_others_as_the_umask_says(Place *place, gconstpointer data) {
    (void)data;
    struct stat status;
    mode_t mask = umask(022);
    g_autoptr(OutputFolder) folder = output_folder_open(place->path, FALSE, NULL);
    write_file(folder, "summary.json", "{}\n");
    g_assert_true(output_folder_commit(folder, NULL));
    umask(mask);
    g_autofree char *file = g_build_filename(place->path, "summary.json", NULL);
    g_assert_cmpint(stat(place->path, &status), ==, 0);
    g_assert_cmpuint(status.st_mode & 0777, ==, 0755);
    g_assert_cmpint(stat(file, &status), ==, 0);
    g_assert_cmpuint(status.st_mode & 0777, ==, 0644);
}

static void add(const char *name, void (*test)(Place *, gconstpointer)) {
    g_autofree char *path = g_strdup_printf("/output_folder/%s", name);
    g_test_add(path, Place, NULL, place_set_up, test, place_tear_down);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    add("appears_at_commit_only", test_appears_at_commit_only);
    add("uncommitted_leaves_nothing", test_uncommitted_leaves_nothing);
    add("refuses_what_exists", test_refuses_what_exists);
    add("force_replaces_the_whole_folder", test_force_replaces_the_whole_folder);
    add("force_does_not_replace_other_folders", test_force_does_not_replace_other_folders);
    add("force_does_not_replace_a_file", test_force_does_not_replace_a_file);
    add("force_does_not_follow_links", test_force_does_not_follow_links);
    add("folder_that_appeared_meanwhile_is_kept", test_folder_that_appeared_meanwhile_is_kept);
    add("makes_parents_and_takes_a_trailing_slash", test_makes_parents_and_takes_a_trailing_slash);
    add("folder_is_open_to_others_as_the_umask_says",
        test_folder_is_open_to_others_as_the_umask_says);
    return g_test_run();
}
