#include "analysis/costs/wafer_cache.h"

#include <glib/gstdio.h>
#include <string.h>

static GHashTable *table_new(void) {
    return g_hash_table_new_full(wafer_job_key_hash, wafer_job_key_equal, g_free, g_free);
}

static WaferJobKey key_of(guint64 first) {
    WaferJobKey key = {{0}};
    for (guint i = 0; i < WAFER_JOB_WORDS; i++)
        key.words[i] = first * (i + 1);
    return key;
}

static void put(GHashTable *known, guint64 first, double fixed, double each) {
    WaferJobKey key = key_of(first);
    WaferJobCycles cycles = {fixed, each};
    g_hash_table_insert(known, g_memdup2(&key, sizeof key), g_memdup2(&cycles, sizeof cycles));
}

static void assert_has(GHashTable *known, guint64 first, double fixed, double each) {
    WaferJobKey key = key_of(first);
    const WaferJobCycles *cycles = g_hash_table_lookup(known, &key);
    g_assert_nonnull(cycles);
    g_assert_cmpfloat(cycles->fixed, ==, fixed);
    g_assert_cmpfloat(cycles->each, ==, each);
}

static char *path_in_new_folder(void) {
    g_autofree char *folder = g_dir_make_tmp("infergrid-XXXXXX", NULL);
    return g_build_filename(folder, "wafer.txt", NULL);
}

static void remove_all(const char *path) {
    g_autofree char *folder = g_path_get_dirname(path);
    g_unlink(path);
    g_rmdir(folder);
}

static void what_is_written_reads_back(void) {
    g_autofree char *path = path_in_new_folder();
    g_autoptr(GHashTable) known = table_new();
    g_autoptr(GHashTable) again = table_new();
    put(known, 1, 1.0 / 3, 0);
    put(known, G_MAXUINT64 / 16, 1e9 + 0.1, 2.5);
    wafer_cache_write(path, known);
    wafer_cache_read(path, again);
    g_assert_cmpuint(g_hash_table_size(again), ==, 2);
    assert_has(again, 1, 1.0 / 3, 0);
    assert_has(again, G_MAXUINT64 / 16, 1e9 + 0.1, 2.5);
    remove_all(path);
}

static void what_others_wrote_meanwhile_stays(void) {
    g_autofree char *path = path_in_new_folder();
    g_autoptr(GHashTable) mine = table_new();
    g_autoptr(GHashTable) theirs = table_new();
    g_autoptr(GHashTable) both = table_new();
    put(mine, 1, 10, 0);
    put(theirs, 2, 20, 0);
    wafer_cache_write(path, theirs);
    wafer_cache_write(path, mine);
    wafer_cache_read(path, both);
    assert_has(both, 1, 10, 0);
    assert_has(both, 2, 20, 0);
    remove_all(path);
}

static void a_damaged_file_is_not_believed(void) {
    g_autofree char *path = path_in_new_folder();
    g_autofree char *text = NULL;
    g_autoptr(GHashTable) known = table_new();
    gsize length;
    put(known, 3, 30, 1);
    wafer_cache_write(path, known);
    g_assert_true(g_file_get_contents(path, &text, &length, NULL));
    for (gsize at = 0; at + 1 < length; at += 3) {
        g_autofree char *damaged = g_memdup2(text, length);
        g_autoptr(GHashTable) read = table_new();
        damaged[at] ^= 1;
        g_assert_true(g_file_set_contents(path, damaged, (gssize)length, NULL));
        wafer_cache_read(path, read);
        g_assert_cmpuint(g_hash_table_size(read), ==, 0);
    }
    remove_all(path);
}

static void no_file_is_an_empty_one(void) {
    g_autoptr(GHashTable) known = table_new();
    wafer_cache_read("/nowhere/wafer.txt", known);
    g_assert_cmpuint(g_hash_table_size(known), ==, 0);
}

static void each_mesh_has_a_file(void) {
    const MeshSpec one = {.columns = 8, .rows = 8, .relay_cycles = 16.1};
    MeshSpec other = one;
    other.relay_cycles = 16.2;
    g_setenv("INFERGRID_CACHE", "/cache", TRUE);
    g_autofree char *first = wafer_cache_path(&one), *second = wafer_cache_path(&other);
    g_autofree char *again = wafer_cache_path(&one);
    g_assert_true(g_str_has_prefix(first, "/cache/wafer-"));
    g_assert_cmpstr(first, ==, again);
    g_assert_cmpstr(first, !=, second);
    g_setenv("INFERGRID_CACHE", "", TRUE);
    g_assert_null(wafer_cache_path(&one));
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/wafer_cache/what_is_written_reads_back", what_is_written_reads_back);
    g_test_add_func("/wafer_cache/what_others_wrote_meanwhile_stays",
                    what_others_wrote_meanwhile_stays);
    g_test_add_func("/wafer_cache/a_damaged_file_is_not_believed", a_damaged_file_is_not_believed);
    g_test_add_func("/wafer_cache/no_file_is_an_empty_one", no_file_is_an_empty_one);
    g_test_add_func("/wafer_cache/each_mesh_has_a_file", each_mesh_has_a_file);
    return g_test_run();
}
