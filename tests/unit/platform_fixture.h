/* What the tests of every kind of platform ask of the shipped files and their documentation. */
#ifndef TESTS_UNIT_PLATFORM_FIXTURE_H
#define TESTS_UNIT_PLATFORM_FIXTURE_H

#include "workloads/yaml_reader.h"
#include <string.h>

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

#endif
