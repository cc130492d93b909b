#include "analysis/compare/setting_changes.h"

#include "analysis/compare/key_order.h"
#include <string.h>

#define SOURCES "platform.sources"

static void change_free(gpointer data) {
    SettingChange *change = data;

    for (guint i = 0; i < change->n; i++)
        g_free(change->values[i]);
    g_free(change->values);
    g_free(change->key);
    g_free(change);
}

/* The value as one line. */
static void append_value(GString *out, const YamlNode *node) {
    const char *brackets = node->type == YAML_SEQUENCE ? "[]" : "{}";

    if (node->type == YAML_SCALAR) {
        g_string_append(out, node->text);
        return;
    }
    g_string_append_c(out, brackets[0]);
    for (guint i = 0; i < node->values->len; i++) {
        g_string_append(out, i == 0 ? "" : ", ");
        if (node->type == YAML_MAPPING)
            g_string_append_printf(out, "%s: ", ((const YamlNode *)node->keys->pdata[i])->text);
        append_value(out, node->values->pdata[i]);
    }
    g_string_append_c(out, brackets[1]);
}

/* Every key with a scalar or a list (an empty mapping sets nothing), in the file's order, and what
 * stands there. */
typedef struct Settings {
    GPtrArray *keys;    /* char * */
    GHashTable *values; /* key → text; owns the texts alone */
} Settings;

static void settings_add(Settings *settings, const YamlNode *node, const char *key) {
    gboolean inner = node->type == YAML_MAPPING;

    if (strcmp(key, SOURCES) == 0)
        return;
    for (guint i = 0; inner && i < node->keys->len; i++) {
        const char *name = ((const YamlNode *)node->keys->pdata[i])->text;
        g_autofree char *whole = *key == '\0' ? g_strdup(name) : g_strconcat(key, ".", name, NULL);
        settings_add(settings, node->values->pdata[i], whole);
    }
    if (inner)
        return;
    GString *text = g_string_new(NULL);
    append_value(text, node);
    char *owned = g_strdup(key);
    g_ptr_array_add(settings->keys, owned);
    g_hash_table_insert(settings->values, owned, g_string_free(text, FALSE));
}

static Settings settings_of(const YamlNode *experiment) {
    Settings settings = {g_ptr_array_new_with_free_func(g_free),
                         g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free)};

    settings_add(&settings, experiment, "");
    return settings;
}

static SettingChange *change_new(const char *key, const Settings *settings, guint n) {
    SettingChange *change = g_new(SettingChange, 1);

    *change = (SettingChange){g_strdup(key), g_new(char *, n), n};
    for (guint i = 0; i < n; i++)
        change->values[i] = g_strdup(g_hash_table_lookup(settings[i].values, key));
    return change;
}

static gboolean all_same(const SettingChange *change) {
    for (guint i = 1; i < change->n; i++)
        if (g_strcmp0(change->values[0], change->values[i]) != 0)
            return FALSE;
    return TRUE;
}

GPtrArray *setting_changes(const YamlNode *const *experiments, guint n) {
    g_autofree Settings *settings = g_new(Settings, n);
    GPtrArray *changes = g_ptr_array_new_with_free_func(change_free);
    g_autoptr(GPtrArray) order = g_ptr_array_new();

    for (guint i = 0; i < n; i++) {
        settings[i] = settings_of(experiments[i]);
        key_order_merge(order, settings[i].keys);
    }
    for (guint i = 0; i < order->len; i++) {
        SettingChange *change = change_new(order->pdata[i], settings, n);
        if (all_same(change))
            change_free(change);
        else
            g_ptr_array_add(changes, change);
    }
    for (guint i = 0; i < n; i++) {
        g_hash_table_unref(settings[i].values);
        g_ptr_array_unref(settings[i].keys);
    }
    return changes;
}
