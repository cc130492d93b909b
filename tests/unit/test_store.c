/* The store of results: whatever moment a writer is killed at, what it had written is there; what
 * is damaged is told and left as it is. */
#include "analysis/campaign/store.h"

#include "workloads/input_error.h"
#include <glib/gstdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#define IDENTITY "an experiment"

typedef struct Place {
    char *folder, *path, *other;
} Place;

static void place_open(Place *place, gconstpointer data) {
    (void)data;
    place->folder = g_dir_make_tmp("infergrid-store-XXXXXX", NULL);
    place->path = g_build_filename(place->folder, "results", NULL);
    place->other = g_build_filename(place->folder, "others", NULL);
}

static void place_close(Place *place, gconstpointer data) {
    (void)data;
    g_unlink(place->path);
    g_unlink(place->other);
    g_rmdir(place->folder);
    g_free(place->folder);
    g_free(place->path);
    g_free(place->other);
}

static void write_records(const char *path, const char *identity, const char *const *records) {
    g_autoptr(GError) error = NULL;
    g_autoptr(Store) store = store_open(path, identity, &error);

    g_assert_no_error(error);
    for (guint i = 0; records[i] != NULL; i += 2) {
        g_assert_true(store_put(store, records[i], records[i + 1], &error));
        g_assert_no_error(error);
    }
}

static const char *const three[] = {"a", "ok 1", "b", "ok 2 3", "c", "refused - why not", NULL};

static gsize read_file(const char *path, char **bytes) {
    gsize n;

    g_assert_true(g_file_get_contents(path, bytes, &n, NULL));
    return n;
}

/* What 'path' cannot be opened for; it must still hold the same bytes afterwards. */
static void assert_refused(const char *path, const char *identity, const char *message) {
    g_autofree char *before = NULL, *after = NULL;
    gsize n = read_file(path, &before);
    g_autoptr(GError) error = NULL;
    g_autofree char *expected = g_strconcat(path, message, NULL);

    g_assert_null(store_open(path, identity, &error));
    g_assert_error(error, INPUT_ERROR, (gint)error->code);
    g_assert_cmpstr(error->message, ==, expected);
    gsize m = read_file(path, &after);
    g_assert_cmpmem(before, n, after, m);
}

static void test_kept(Place *place, gconstpointer data) {
    (void)data;
    write_records(place->path, IDENTITY, three);
    g_autoptr(Store) store = store_open(place->path, IDENTITY, NULL);
    g_assert_cmpuint(store_records(store), ==, 3);
    for (guint i = 0; three[i] != NULL; i += 2)
        g_assert_cmpstr(store_get(store, three[i]), ==, three[i + 1]);
    g_assert_null(store_get(store, "d"));
}

static void test_in_memory(Place *place, gconstpointer data) {
    (void)place;
    (void)data;
    g_autoptr(Store) store = store_open(NULL, IDENTITY, NULL);
    g_assert_true(store_put(store, "a", "1", NULL));
    g_assert_cmpstr(store_get(store, "a"), ==, "1");
}

/* How many whole lines stand before byte 'cut', the first one not counted. */
static guint records_before(const char *bytes, gsize cut) {
    guint lines = 0;

    for (gsize i = 0; i < cut; i++)
        lines += bytes[i] == '\n' ? 1 : 0;
    return lines == 0 ? 0 : lines - 1;
}

static void test_torn_anywhere(Place *place, gconstpointer data) {
    g_autofree char *bytes = NULL, *mended = NULL;

    (void)data;
    write_records(place->path, IDENTITY, three);
    gsize n = read_file(place->path, &bytes);
    for (gsize cut = 0; cut <= n; cut++) {
        g_autoptr(GError) error = NULL;
        g_assert_true(g_file_set_contents(place->path, bytes, (gssize)cut, NULL));
        Store *store = store_open(place->path, IDENTITY, &error);
        g_assert_no_error(error);
        g_assert_cmpuint(store_records(store), ==, records_before(bytes, cut));
        store_close(store);
        write_records(place->path, IDENTITY, three);
        g_clear_pointer(&mended, g_free);
        gsize m = read_file(place->path, &mended);
        g_assert_cmpmem(bytes, n, mended, m);
    }
}

/* Every byte of whole lines changed, one after the other: told, or at least never believed. */
static void test_damaged_anywhere(Place *place, gconstpointer data) {
    g_autofree char *bytes = NULL;

    (void)data;
    write_records(place->path, IDENTITY, three);
    gsize n = read_file(place->path, &bytes);
    for (gsize at = 0; at + 1 < n; at++) {
        g_autofree char *changed = g_memdup2(bytes, n);
        g_autofree char *after = NULL;
        g_autoptr(GError) error = NULL;
        changed[at] = (char)(changed[at] ^ 1);
        g_assert_true(g_file_set_contents(place->path, changed, (gssize)n, NULL));
        g_assert_null(store_open(place->path, IDENTITY, &error));
        g_assert_nonnull(error);
        g_assert_true(error->domain == INPUT_ERROR);
        gsize m = read_file(place->path, &after);
        g_assert_cmpmem(changed, n, after, m);
    }
}

static void test_damage_has_a_place(Place *place, gconstpointer data) {
    g_autofree char *bytes = NULL;

    (void)data;
    write_records(place->path, IDENTITY, three);
    gsize n = read_file(place->path, &bytes);
    char *second = strchr(strchr(bytes, '\n') + 1, '\n') + 1;
    second[3] = 'X';
    g_file_set_contents(place->path, bytes, (gssize)n, NULL);
    assert_refused(place->path, IDENTITY, ":3:1: damaged record: its checksum is wrong");
    second[3] = '\0';
    g_file_set_contents(place->path, bytes, (gssize)n, NULL);
    assert_refused(place->path, IDENTITY, ":3:1: damaged record: it has bytes of NUL");
}

static void test_foreign_files(Place *place, gconstpointer data) {
    static const char *const texts[] = {"version: 1\n", "version: 1", "\n", "x"};

    (void)data;
    for (guint i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_file_set_contents(place->path, texts[i], -1, NULL);
        assert_refused(place->path, IDENTITY, ":1:1: not a store of results");
    }
    g_unlink(place->path);
    write_records(place->path, IDENTITY, three);
    assert_refused(place->path, "another experiment",
                   ":1:1: results of another experiment, or of another version of the program");
}

static void test_twice(Place *place, gconstpointer data) {
    g_autoptr(GError) error = NULL;
    g_autofree char *before = NULL, *after = NULL;

    (void)data;
    write_records(place->path, IDENTITY, three);
    gsize n = read_file(place->path, &before);
    g_autoptr(Store) store = store_open(place->path, IDENTITY, NULL);
    g_assert_true(store_put(store, "a", "ok 1", &error));
    g_assert_no_error(error);
    g_assert_false(store_put(store, "a", "ok 2", &error));
    g_assert_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT);
    g_assert_nonnull(strstr(error->message, "two different results of run 'a'"));
    gsize m = read_file(place->path, &after);
    g_assert_cmpmem(before, n, after, m);
}

static void test_locked(Place *place, gconstpointer data) {
    (void)data;
    g_autoptr(Store) store = store_open(place->path, IDENTITY, NULL);
    assert_refused(place->path, IDENTITY, ": another process writes this store");
    g_assert_true(store_put(store, "a", "1", NULL));
}

/* A child that lives on after its parent does not keep the store locked. */
static void test_a_child_lets_go(Place *place, gconstpointer data) {
    g_autoptr(GError) error = NULL;
    int ends[2];

    (void)data;
    g_assert_cmpint(pipe(ends), ==, 0);
    Store *store = store_open(place->path, IDENTITY, NULL);
    pid_t child = fork();
    if (child == 0) {
        char byte;
        store_detach(store);
        close(ends[1]);
        _exit(read(ends[0], &byte, 1) == 0 ? 0 : 1);
    }
    g_usleep(20000);
    store_close(store);
    store = store_open(place->path, IDENTITY, &error);
    g_assert_no_error(error);
    store_close(store);
    close(ends[1]);
    close(ends[0]);
    waitpid(child, NULL, 0);
}

static void test_merge(Place *place, gconstpointer data) {
    static const char *const others[] = {"c", "refused - why not", "d", "ok 4", NULL};
    g_autoptr(GError) error = NULL;

    (void)data;
    write_records(place->path, IDENTITY, three);
    write_records(place->other, IDENTITY, others);
    g_autoptr(Store) store = store_open(place->path, IDENTITY, NULL);
    g_assert_true(store_merge(store, place->other, &error));
    g_assert_no_error(error);
    g_assert_cmpuint(store_records(store), ==, 4);
    g_assert_cmpstr(store_get(store, "d"), ==, "ok 4");
    g_autofree char *identity = store_identity(place->other, NULL);
    g_assert_cmpstr(identity, ==, IDENTITY);
}

static void test_merge_refused(Place *place, gconstpointer data) {
    static const char *const contradicting[] = {"d", "ok 4", "a", "ok 2", NULL};
    static const struct {
        const char *identity, *says;
    } cases[] = {{IDENTITY, "two different results of run 'a'"},
                 {"another", ":1:1: results of another experiment"}};

    (void)data;
    write_records(place->path, IDENTITY, three);
    g_autoptr(Store) store = store_open(place->path, IDENTITY, NULL);
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        g_unlink(place->other);
        write_records(place->other, cases[i].identity, contradicting);
        g_assert_false(store_merge(store, place->other, &error));
        g_assert_true(error->domain == INPUT_ERROR);
        g_assert_nonnull(strstr(error->message, cases[i].says));
        g_assert_cmpuint(store_records(store), ==, 3);
    }
    g_autoptr(GError) missing = NULL;
    g_unlink(place->other);
    g_assert_false(store_merge(store, place->other, &missing));
    g_assert_nonnull(strstr(missing->message, "cannot read: No such file or directory"));
}

#define ADD(name, test) g_test_add("/store/" name, Place, NULL, place_open, test, place_close)

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    ADD("what_was_put_is_there_when_it_is_opened_again", test_kept);
    ADD("without_a_path_it_is_in_memory", test_in_memory);
    ADD("torn_at_any_byte_it_keeps_the_whole_records", test_torn_anywhere);
    ADD("a_changed_byte_anywhere_is_noticed_and_left", test_damaged_anywhere);
    ADD("damage_is_told_with_its_line", test_damage_has_a_place);
    ADD("foreign_files_and_identities_are_left_alone", test_foreign_files);
    ADD("a_key_has_one_result", test_twice);
    ADD("two_processes_do_not_write_one_store", test_locked);
    ADD("a_child_lets_go_of_the_lock", test_a_child_lets_go);
    ADD("merging_puts_what_is_not_there", test_merge);
    ADD("merging_refuses_what_does_not_belong_before_it_puts_anything", test_merge_refused);
    return g_test_run();
}
