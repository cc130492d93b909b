/* What the tests of every kind of platform ask of the shipped files and their documentation. */
#ifndef TESTS_UNIT_PLATFORM_FIXTURE_H
#define TESTS_UNIT_PLATFORM_FIXTURE_H

#include "platforms/platform.h"
#include <string.h>

/* A text of lines with number 'number' (from 1; 0: none) put in place of its own; "" leaves it out.
 */
static inline char *lines_with(const char *const *lines, gsize n, guint number, const char *line) {
    GString *text = g_string_new(NULL);

    for (gsize i = 0; i < n; i++)
        g_string_append_printf(text, "%s\n", i + 1 == number ? line : lines[i]);
    return g_string_free(text, FALSE);
}

static inline Platform *read_text(const char *text, GError **error) {
    g_autoptr(YamlNode) section = yaml_load_text(text, "toy.yaml", error);

    return section == NULL ? NULL : platform_read(section, error);
}

/* Reads what was printed; printing that again must give the same bytes, and what was read be the
 * same. */
static inline void assert_round_trip(const Platform *first) {
    g_autoptr(GString) printed = g_string_new("platform:\n"), again = g_string_new("platform:\n");
    g_autoptr(GError) error = NULL;

    platform_write(first, 2, printed);
    g_autoptr(YamlNode) root = yaml_load_text(printed->str, "printed", &error);
    g_assert_no_error(error);
    g_autoptr(Platform) second = platform_read(yaml_get(root, "platform"), &error);
    g_assert_no_error(error);
    platform_write(second, 2, again);

    g_assert_cmpstr(again->str, ==, printed->str);
    g_assert_true(memcmp(&first->mesh, &second->mesh, sizeof first->mesh) == 0);
    g_assert_true(memcmp(&first->gpu, &second->gpu, sizeof first->gpu) == 0);
    g_assert_true(memcmp(&first->host, &second->host, sizeof first->host) == 0);
    g_assert_true(memcmp(&first->network, &second->network, sizeof first->network) == 0);
    g_assert_true(memcmp(&first->power, &second->power, sizeof first->power) == 0);
    g_assert_cmpuint(platform_clusters(first), ==, platform_clusters(second));
    g_assert_cmpuint(first->sources->len, ==, second->sources->len);
}

/* Reads a shipped file; its section (the caller frees) lacks the file's version. */
static inline Platform *read_shipped(const char *file, YamlNode **section) {
    g_autofree char *path = g_test_build_filename(G_TEST_DIST, "..", "platforms", file, NULL);
    g_autoptr(GError) error = NULL;

    *section = yaml_load_file(path, &error);
    g_assert_no_error(error);
    yaml_remove(*section, "version"); /* of the file, not of the section */
    Platform *platform = platform_read(*section, &error);
    g_assert_no_error(error);
    return platform;
}

/* Every scalar of 'mapping' that starts with a digit must stand in 'sources'. Returns how many. */
static inline guint assert_sourced(const YamlNode *mapping, const char *prefix,
                                   const YamlNode *sources) {
    guint numbers = 0;

    for (guint i = 0; i < mapping->keys->len; i++) {
        const YamlNode *key = g_ptr_array_index(mapping->keys, i);
        const YamlNode *value = g_ptr_array_index(mapping->values, i);
        g_autofree char *name = g_strconcat(prefix, key->text, NULL);

        if (value == sources)
            continue;
        if (value->type == YAML_MAPPING) {
            g_autofree char *inner = g_strconcat(name, ".", NULL);
            numbers += assert_sourced(value, inner, sources);
        } else if (g_ascii_isdigit(value->text[0])) {
            numbers++;
            if (yaml_get(sources, name) == NULL)
                g_error("'%s' has no source", name);
        }
    }
    return numbers;
}

/* Every scalar key of a mapping, dotted, must have a row in the tables of 'text'. */
static inline void assert_documented(const YamlNode *mapping, const char *prefix,
                                     const char *text) {
    for (guint i = 0; i < mapping->keys->len; i++) {
        const YamlNode *key = g_ptr_array_index(mapping->keys, i);
        const YamlNode *value = g_ptr_array_index(mapping->values, i);
        g_autofree char *name = g_strconcat(prefix, key->text, NULL);

        if (value->type == YAML_MAPPING && !g_str_equal(name, "sources")) {
            g_autofree char *inner = g_strconcat(name, ".", NULL);
            assert_documented(value, inner, text);
            continue;
        }
        g_autofree char *row = g_strdup_printf("| `%s` |", name);
        if (strstr(text, row) == NULL)
            g_error("'%s' has no row in the table of keys", name);
    }
}

/* The first example of YAML behind 'heading' in the floor's README must be valid, and every key of
 * it have a row in a table there. */
static inline Platform *read_documented(const char *heading) {
    g_autofree char *path =
        g_test_build_filename(G_TEST_DIST, "..", "platforms", "README.md", NULL);
    g_autofree char *text = NULL;
    g_autoptr(GError) error = NULL;

    g_assert_true(g_file_get_contents(path, &text, NULL, &error));
    const char *part = strstr(text, heading);
    g_assert_nonnull(part);
    g_auto(GStrv) parts = g_strsplit(strstr(part, "```yaml\n") + strlen("```yaml\n"), "```", 2);
    g_autoptr(YamlNode) section = yaml_load_text(parts[0], "README.md", &error);
    g_assert_no_error(error);
    yaml_remove(section, "version"); /* of the file, not of the section */
    Platform *platform = platform_read(section, &error);
    g_assert_no_error(error);
    assert_documented(section, "", text);
    return platform;
}

#endif
