/* YAML: no text may crash the reader or a section's reader, every error says something, and a
 * section that is right prints as one that is right and prints the same. */
#include "platforms/platform.h"
#include "policies/policy.h"
#include "workloads/model.h"
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A section's reader and writer behind one shape. */
typedef struct Section {
    gpointer (*read)(const YamlNode *node, GError **error);
    void (*write)(gconstpointer section, guint indent, GString *out);
    void (*free)(gpointer section);
} Section;

static gpointer read_policy(const YamlNode *node, GError **error) {
    return policy_read(node, DEVICE_MT3000, error);
}

static void write_policy(gconstpointer section, guint indent, GString *out) {
    policy_write(section, indent, out);
}

static void free_policy(gpointer section) {
    policy_free(section);
}

static gpointer read_platform(const YamlNode *node, GError **error) {
    return platform_read(node, error);
}

static void write_platform(gconstpointer section, guint indent, GString *out) {
    platform_write(section, indent, out);
}

static void free_platform(gpointer section) {
    platform_free(section);
}

static gpointer read_model(const YamlNode *node, GError **error) {
    return model_read(node, error);
}

static void write_model(gconstpointer section, guint indent, GString *out) {
    model_write(section, indent, out);
}

static void free_model(gpointer section) {
    model_free(section);
}

static const Section sections[] = {{read_policy, write_policy, free_policy},
                                   {read_platform, write_platform, free_platform},
                                   {read_model, write_model, free_model}};

/* The section's printed form; NULL when 'node' is no such section. */
static char *print(const Section *section, const YamlNode *node) {
    g_autoptr(GError) error = NULL;
    gpointer read = section->read(node, &error);
    if (read == NULL) {
        g_assert_nonnull(error);
        g_assert_cmpuint(error->message[0], !=, '\0');
        return NULL;
    }
    g_assert_no_error(error);
    GString *out = g_string_new(NULL);
    section->write(read, 0, out);
    section->free(read);
    return g_string_free(out, FALSE);
}

static void check_round_trip(const Section *section, const YamlNode *node) {
    g_autofree char *printed = print(section, node);
    if (printed == NULL) {
        return;
    }
    g_autoptr(GError) error = NULL;
    g_autoptr(YamlNode) again = yaml_load_text(printed, "printed", &error);
    g_assert_no_error(error);
    g_autofree char *reprinted = print(section, again);
    g_assert_cmpstr(printed, ==, reprinted);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    g_autofree char *text = g_strndup((const char *)data, size);
    g_autoptr(GError) error = NULL;
    g_autoptr(YamlNode) node = yaml_load_text(text, "fuzz", &error);
    if (node == NULL) {
        g_assert_true(g_str_has_prefix(error->message, "fuzz:"));
        return 0;
    }
    if (node->type != YAML_MAPPING) {
        return 0;
    }
    for (gsize i = 0; i < G_N_ELEMENTS(sections); i++) {
        check_round_trip(&sections[i], node);
    }
    return 0;
}
