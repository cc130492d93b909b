#include "platforms/plausible.h"

#include "workloads/yaml_reader.h"
#include <string.h>

#define WORDS "plausible range"
#define NUMBER "[0-9]+(?:\\.[0-9]+)?"

static void range_clear(gpointer data) {
    PlausibleRange *range = data;

    g_free(range->shipped);
    g_free(range->low);
    g_free(range->high);
}

/* "2 GB/s" */
static char *with_unit(const GMatchInfo *match, gint number) {
    g_autofree char *digits = g_match_info_fetch(match, number);
    g_autofree char *unit = g_match_info_fetch(match, 3);

    return unit == NULL || *unit == '\0' ? g_strdup(digits) : g_strconcat(digits, " ", unit, NULL);
}

/* The text under a dotted key of the platform as it is written out. Caller frees. */
static char *shipped_text(const YamlNode *section, const char *key) {
    g_auto(GStrv) names = g_strsplit(key, ".", -1);
    const YamlNode *node = section;

    for (char **name = names; *name != NULL && node != NULL; name++)
        node = yaml_get(node, *name);
    return g_strdup(node == NULL ? "" : node->text);
}

static YamlNode *written(const Platform *platform, GError **error) {
    g_autoptr(GString) text = g_string_new(NULL);

    platform_write(platform, 0, text);
    return yaml_load_text(text->str, platform->name, error);
}

static gboolean add(GArray *ranges, const GRegex *pattern, const YamlNode *section, const char *key,
                    const char *source, GError **error) {
    g_autoptr(GMatchInfo) match = NULL;

    if (strstr(source, WORDS) == NULL)
        return TRUE;
    if (!g_regex_match(pattern, source, 0, &match)) {
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_SYNTAX,
                    "sources, %s: expected '" WORDS
                    "' with two numbers and their unit, such as '" WORDS " 0.25-6 GB/s', in '%s'",
                    key, source);
        return FALSE;
    }
    PlausibleRange range = {key, shipped_text(section, key), with_unit(match, 1),
                            with_unit(match, 2)};
    g_array_append_val(ranges, range);
    return TRUE;
}

GArray *plausible_ranges(const Platform *platform, GError **error) {
    g_autoptr(GRegex) pattern =
        g_regex_new(WORDS " (" NUMBER ")-(" NUMBER ")(?: ([A-Za-z]+(?:/[A-Za-z]+)?))?", 0, 0, NULL);
    g_autoptr(YamlNode) section = written(platform, error);
    g_autoptr(GArray) ranges = g_array_new(FALSE, FALSE, sizeof(PlausibleRange));

    g_array_set_clear_func(ranges, range_clear);
    if (section == NULL)
        return NULL;
    for (guint i = 0; i < platform->sources->len; i += 2)
        if (!add(ranges, pattern, section, g_ptr_array_index(platform->sources, i),
                 g_ptr_array_index(platform->sources, i + 1), error))
            return NULL;
    return g_steal_pointer(&ranges);
}
