#include "analysis/output/line_sorter.h"

#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SMALL ((gsize)2 * LINE_SORTER_LINE_MAX) /* so that some hundred lines are set aside */

typedef struct Line {
    LineKey key;
    guint number;
} Line;

static int compare(gconstpointer a, gconstpointer b) {
    const Line *left = a, *right = b;
    if (left->key.date != right->key.date)
        return left->key.date < right->key.date ? -1 : 1;
    if (left->key.rank != right->key.rank)
        return left->key.rank < right->key.rank ? -1 : 1;
    return left->number < right->number ? -1 : 1;
}

static void append_line(GString *out, const Line *line) {
    g_string_append_printf(out, "%u %" G_GINT64_FORMAT "\n", line->number, line->key.date);
}

/* 'n' lines with dates and ranks that often repeat, against qsort. */
static void check(guint n, gsize buffer) {
    g_autofree char *path = g_strdup_printf("%s/lines-%u-%d", g_get_tmp_dir(), n, getpid());
    g_autofree Line *lines = g_new(Line, n + 1); /* qsort wants an array of none, too */
    g_autoptr(GString) expected = g_string_new(NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(LineSorter) sorter = line_sorter_new(path, buffer);
    g_autoptr(TextFile) file = text_file_new(path, &error);
    guint64 state = 1;
    for (guint i = 0; i < n; i++) {
        state = state * G_GUINT64_CONSTANT(6364136223846793005) + 1442695040888963407u;
        lines[i] = (Line){{(gint64)(state >> 33) % (n / 3 + 1), (gint64)(state >> 20) % 3}, i};
        g_autoptr(GString) text = g_string_new(NULL);
        append_line(text, &lines[i]);
        line_sorter_add(sorter, lines[i].key, text->str);
    }
    g_assert_true(line_sorter_write(sorter, file, &error));
    g_assert_true(text_file_finish(file, &error));
    g_assert_no_error(error);
    qsort(lines, n, sizeof(Line), compare);
    for (guint i = 0; i < n; i++)
        append_line(expected, &lines[i]);
    g_autofree char *written = NULL;
    g_assert_true(g_file_get_contents(path, &written, NULL, &error));
    g_assert_cmpstr(written, ==, expected->str);
    g_remove(path);
}

static void test_in_memory(void) {
    const guint counts[] = {0, 1, 2, 100};
    for (guint i = 0; i < G_N_ELEMENTS(counts); i++)
        check(counts[i], LINE_SORTER_BUFFER);
}

static void test_set_aside_and_merged(void) {
    const guint counts[] = {300, 1000, 30000};
    for (guint i = 0; i < G_N_ELEMENTS(counts); i++)
        check(counts[i], SMALL);
}

static void test_lines_as_long_as_allowed(void) {
    g_autofree char *path = g_strdup_printf("%s/long-lines-%d", g_get_tmp_dir(), getpid());
    char line[LINE_SORTER_LINE_MAX + 1];
    g_autoptr(GError) error = NULL;
    g_autoptr(LineSorter) sorter = line_sorter_new(path, SMALL);
    g_autoptr(TextFile) file = text_file_new(path, &error);
    for (guint i = 0; i < 40; i++) {
        memset(line, 'a' + (int)(i % 26), sizeof line - 2);
        memcpy(line + sizeof line - 2, "\n", 2);
        line_sorter_add(sorter, (LineKey){-(gint64)i, 0}, line);
    }
    g_assert_true(line_sorter_write(sorter, file, &error));
    g_assert_true(text_file_finish(file, &error));
    g_autofree char *written = NULL;
    gsize length = 0;
    g_assert_true(g_file_get_contents(path, &written, &length, &error));
    g_assert_cmpuint(length, ==, 40 * LINE_SORTER_LINE_MAX);
    for (guint i = 0; i < 40; i++)
        g_assert_cmpint(written[(gsize)i * LINE_SORTER_LINE_MAX], ==, 'a' + (int)((39 - i) % 26));
    g_remove(path);
}

static void test_no_folder_for_what_is_set_aside(void) {
    g_autoptr(GError) error = NULL;
    g_autoptr(LineSorter) sorter = line_sorter_new("/nowhere/at/all/file", SMALL);
    g_autoptr(TextFile) file = text_file_new("/dev/null", &error);
    for (guint i = 0; i < 1000; i++)
        line_sorter_add(sorter, (LineKey){i, 0}, "a line that takes some room\n");
    g_assert_false(line_sorter_write(sorter, file, &error));
    g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/line_sorter/in_memory", test_in_memory);
    g_test_add_func("/line_sorter/set_aside_and_merged", test_set_aside_and_merged);
    g_test_add_func("/line_sorter/lines_as_long_as_allowed", test_lines_as_long_as_allowed);
    g_test_add_func("/line_sorter/no_folder_for_what_is_set_aside",
                    test_no_folder_for_what_is_set_aside);
    return g_test_run();
}
