#include "workloads/yaml_reader.h"

#include <math.h>
#include <string.h>

#define MAX_COUNT 9007199254740992.0 /* 2^53: the largest that units_parse gives */

/* A mapping, what it may hold, and what messages about its absent keys say. */
typedef struct Section {
    const YamlNode *mapping; /* may be NULL: only defaults */
    const YamlNode *place;   /* where an absent key is reported; may be NULL */
    const char *name;        /* the key it stands under; may be NULL */
    const YamlField *fields;
    gsize n_fields;
} Section;

static gboolean read_section(const Section *section, gpointer target, GError **error);

/* "expected <what> for '<key>', not <what stands there>". */
static gboolean wrong_value(const YamlNode *node, const char *expected, GError **error) {
    g_autofree char *found = yaml_describe(node);
    const char *text = node->type == YAML_SCALAR && node->quoted ? "the text " : "";
    if (node->key == NULL)
        return yaml_error(node, INPUT_ERROR_VALUE, error, "expected %s, not %s%s", expected, text,
                          found);
    return yaml_error(node, INPUT_ERROR_VALUE, error, "expected %s for '%s', not %s%s", expected,
                      node->key, text, found);
}

/* Bounds as the messages name them. */
typedef struct Bounds {
    double min, max;
    Dimension dimension;
} Bounds;

static char *describe_bounds(Bounds bounds) {
    gboolean has_max = bounds.max != 0 && !isinf(bounds.max);
    gboolean above_zero = bounds.min == YAML_ABOVE_ZERO;
    g_autofree char *min = units_format(above_zero ? 0 : bounds.min, bounds.dimension);
    g_autofree char *max = units_format(bounds.max, bounds.dimension);
    if (isinf(bounds.min))
        return g_strdup_printf("be at most %s", max);
    if (!has_max)
        return g_strdup_printf("be %s %s", above_zero ? "above" : "at least", min);
    if (above_zero)
        return g_strdup_printf("be above %s and at most %s", min, max);
    return g_strdup_printf("lie between %s and %s", min, max);
}

static gboolean check_bounds(const YamlNode *node, double value, Bounds bounds, GError **error) {
    if (value >= bounds.min && (bounds.max == 0 || value <= bounds.max))
        return TRUE;
    g_autofree char *must = describe_bounds(bounds);
    return yaml_error(node, INPUT_ERROR_VALUE, error, "'%s' must %s, not %s",
                      node->key != NULL ? node->key : "value", must, node->text);
}

gboolean yaml_read_count(const YamlNode *node, guint64 min, guint64 max, guint64 *value,
                         GError **error) {
    double number;
    if (node->type != YAML_SCALAR || node->quoted)
        return wrong_value(node, "a whole number", error);
    const char *expected = units_parse(node->text, DIMENSION_COUNT, &number);
    if (expected != NULL)
        return wrong_value(node, expected, error);
    Bounds bounds = {(double)min, MIN((double)max, MAX_COUNT), DIMENSION_COUNT};
    if (!check_bounds(node, number, bounds, error))
        return FALSE;
    *value = (guint64)number;
    return TRUE;
}

gboolean yaml_read_real(const YamlNode *node, Dimension dimension, double min, double max,
                        double *value, GError **error) {
    double number;
    const char *expected =
        units_parse(node->type == YAML_SCALAR ? node->text : "", dimension, &number);
    if (expected != NULL)
        return wrong_value(node, expected, error);
    if (!check_bounds(node, number, (Bounds){min, max, dimension}, error))
        return FALSE;
    *value = number;
    return TRUE;
}

gboolean yaml_read_bool(const YamlNode *node, gboolean *value, GError **error) {
    gboolean plain = node->type == YAML_SCALAR && !node->quoted;
    gboolean is_true = plain && strcmp(node->text, "true") == 0;
    if (!is_true && !(plain && strcmp(node->text, "false") == 0))
        return wrong_value(node, "true or false", error);
    *value = is_true;
    return TRUE;
}

/* "'a', 'b' or 'c'". Caller frees. */
static char *list_names(YamlEnum names) {
    GString *list = g_string_new(NULL);
    for (gsize i = 0; i < names.n_names; i++) {
        const char *separator = i == 0 ? "" : i + 1 == names.n_names ? " or " : ", ";
        g_string_append_printf(list, "%s'%s'", separator, names.names[i]);
    }
    return g_string_free(list, FALSE);
}

gboolean yaml_read_enum(const YamlNode *node, YamlEnum names, int *value, GError **error) {
    g_autofree char *expected = list_names(names);
    if (node->type != YAML_SCALAR || node->text[0] == '\0')
        return wrong_value(node, expected, error);
    for (gsize i = 0; i < names.n_names; i++) {
        if (strcmp(names.names[i], node->text) == 0) {
            *value = (int)i;
            return TRUE;
        }
    }
    g_autofree char *found = yaml_describe(node);
    g_autofree char *hint = near_miss_hint(node->text, names.names, names.n_names);
    return yaml_error(node, INPUT_ERROR_UNKNOWN, error, "unknown %s %s%s; expected %s",
                      node->key != NULL ? node->key : "value", found, hint, expected);
}

static gboolean read_string(const YamlNode *node, char **value, GError **error) {
    static const char *const nulls[] = {"", "~", "null", NULL};
    gboolean absent =
        node->type != YAML_SCALAR || (!node->quoted && g_strv_contains(nulls, node->text));
    if (absent)
        return wrong_value(node, "a text", error);
    g_free(*value);
    *value = g_strdup(node->text);
    return TRUE;
}

/* A table's bounds are doubles: -INFINITY, YAML_ABOVE_ZERO and INFINITY have a meaning there. */
static guint64 count_bound(double bound) {
    return (guint64)ceil(CLAMP(bound, 0, MAX_COUNT));
}

/* A number, or a word that stands for one. */
static gboolean read_count(const YamlNode *node, const YamlField *field, guint64 *value,
                           GError **error) {
    const YamlEnum names = field->names;
    gboolean scalar = node->type == YAML_SCALAR && !node->quoted;
    double number;
    for (gsize i = 0; scalar && i < names.n_names; i++) {
        if (strcmp(names.names[i], node->text) == 0) {
            *value = i;
            return TRUE;
        }
    }
    if (names.n_names > 0 &&
        (!scalar || units_parse(node->text, DIMENSION_COUNT, &number) != NULL)) {
        g_autofree char *words = list_names(names);
        g_autofree char *found = yaml_describe(node);
        g_autofree char *hint =
            scalar ? near_miss_hint(node->text, names.names, names.n_names) : g_strdup("");
        return yaml_error(node, INPUT_ERROR_VALUE, error,
                          "expected %s or a whole number for '%s', not %s%s", words, field->key,
                          found, hint);
    }
    return yaml_read_count(node, count_bound(field->min), count_bound(field->max), value, error);
}

static gboolean read_value(const YamlNode *node, const YamlField *field, gpointer slot,
                           GError **error) {
    Section section = {node, node, field->key, field->fields, field->n_fields};
    switch (field->kind) {
    case YAML_FIELD_BOOL:
        return yaml_read_bool(node, slot, error);
    case YAML_FIELD_COUNT:
        return read_count(node, field, slot, error);
    case YAML_FIELD_REAL:
        return yaml_read_real(node, field->dimension, field->min, field->max, slot, error);
    case YAML_FIELD_ENUM:
        return yaml_read_enum(node, field->names, slot, error);
    case YAML_FIELD_STRING:
        return read_string(node, slot, error);
    case YAML_FIELD_SECTION:
        return read_section(&section, slot, error);
    }
    g_assert_not_reached();
}

static gboolean missing_key(const Section *section, const char *key, GError **error) {
    g_autofree char *within =
        section->name != NULL ? g_strdup_printf(" in '%s'", section->name) : g_strdup("");
    if (section->place != NULL)
        return yaml_error(section->place, INPUT_ERROR_MISSING, error, "missing key '%s'%s", key,
                          within);
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_MISSING, "missing key '%s'%s", key, within);
    return FALSE;
}

static gboolean read_absent(const Section *section, const YamlField *field, gpointer slot,
                            GError **error) {
    if (field->fallback == NULL)
        return missing_key(section, field->key, error);
    if (strcmp(field->fallback, YAML_OPTIONAL) == 0)
        return TRUE;
    if (field->kind == YAML_FIELD_SECTION) {
        Section inner = {NULL, section->place, field->key, field->fields, field->n_fields};
        return read_section(&inner, slot, error);
    }
    g_autoptr(YamlNode) node = yaml_scalar_new(field->fallback, "default");
    node->key = g_strdup(field->key);
    node->quoted = field->kind == YAML_FIELD_STRING;
    g_autoptr(GError) mistake = NULL;
    if (!read_value(node, field, slot, &mistake)) /* the table contradicts itself */
        g_error("%s", mistake->message);
    return TRUE;
}

static gboolean refuse_unknown_keys(const Section *section, GError **error) {
    g_autoptr(GPtrArray) keys = g_ptr_array_sized_new((guint)section->n_fields + 1);
    for (gsize i = 0; i < section->n_fields; i++)
        g_ptr_array_add(keys, (gpointer)section->fields[i].key);
    g_ptr_array_add(keys, NULL);
    const char *const *names = (const char *const *)keys->pdata;
    for (guint i = 0; i < section->mapping->keys->len; i++) {
        const YamlNode *key = g_ptr_array_index(section->mapping->keys, i);
        if (g_strv_contains(names, key->text))
            continue;
        g_autofree char *found = yaml_describe(key);
        g_autofree char *hint = near_miss_hint(key->text, names, section->n_fields);
        return yaml_error(key, INPUT_ERROR_UNKNOWN, error, "unknown key %s%s", found, hint);
    }
    return TRUE;
}

static gboolean read_field(const Section *section, const YamlField *field, gpointer slot,
                           GError **error) {
    const YamlNode *value =
        section->mapping != NULL ? yaml_get(section->mapping, field->key) : NULL;
    return value != NULL ? read_value(value, field, slot, error)
                         : read_absent(section, field, slot, error);
}

static gboolean read_section(const Section *section, gpointer target, GError **error) {
    if (section->mapping != NULL && (!yaml_expect(section->mapping, YAML_MAPPING, NULL, error) ||
                                     !refuse_unknown_keys(section, error)))
        return FALSE;
    for (gsize i = 0; i < section->n_fields; i++) {
        const YamlField *field = &section->fields[i];
        if (!read_field(section, field, (char *)target + field->offset, error))
            return FALSE;
    }
    return TRUE;
}

gboolean yaml_read_fields(const YamlNode *mapping, const YamlField *fields, gsize n_fields,
                          gpointer target, GError **error) {
    const char *name = mapping != NULL ? mapping->key : NULL;
    Section section = {mapping, mapping, name, fields, n_fields};
    return read_section(&section, target, error);
}

void yaml_fields_clear(const YamlField *fields, gsize n_fields, gpointer target) {
    for (gsize i = 0; i < n_fields; i++) {
        gpointer slot = (char *)target + fields[i].offset;
        if (fields[i].kind == YAML_FIELD_SECTION)
            yaml_fields_clear(fields[i].fields, fields[i].n_fields, slot);
        else if (fields[i].kind == YAML_FIELD_STRING)
            g_clear_pointer((char **)slot, g_free);
    }
}

/* Whether a field holds the zero that an absent optional key leaves. */
static gboolean is_zero(const YamlField *field, gconstpointer slot) {
    switch (field->kind) {
    case YAML_FIELD_BOOL:
    case YAML_FIELD_ENUM:
        return *(const int *)slot == 0;
    case YAML_FIELD_COUNT:
        return *(const guint64 *)slot == 0;
    case YAML_FIELD_REAL:
        return *(const double *)slot == 0;
    case YAML_FIELD_STRING:
        return *(char *const *)slot == NULL;
    case YAML_FIELD_SECTION:
        break;
    }
    for (gsize i = 0; i < field->n_fields; i++)
        if (!is_zero(&field->fields[i], (const char *)slot + field->fields[i].offset))
            return FALSE;
    return TRUE;
}

static void write_count(GString *out, const YamlField *field, guint64 count) {
    if (count < field->names.n_names)
        g_string_append(out, field->names.names[count]);
    else
        g_string_append_printf(out, "%" G_GUINT64_FORMAT, count);
}

static void write_value(GString *out, const YamlField *field, gconstpointer slot) {
    g_autofree char *number = NULL;
    switch (field->kind) {
    case YAML_FIELD_BOOL:
        g_string_append(out, *(const gboolean *)slot ? "true" : "false");
        break;
    case YAML_FIELD_COUNT:
        write_count(out, field, *(const guint64 *)slot);
        break;
    case YAML_FIELD_REAL:
        number = units_format(*(const double *)slot, field->dimension);
        g_string_append(out, number);
        break;
    case YAML_FIELD_ENUM:
        g_string_append(out, field->names.names[*(const int *)slot]);
        break;
    case YAML_FIELD_STRING:
        yaml_write_scalar(out, *(char *const *)slot);
        break;
    case YAML_FIELD_SECTION:
        g_assert_not_reached();
    }
}

static void write_section(GString *out, guint indent, const YamlField *field, gconstpointer slot) {
    gsize before = out->len;
    g_string_append_printf(out, "%*s%s:\n", (int)indent, "", field->key);
    gsize heading_end = out->len;
    yaml_write_fields(out, indent + 2, field->fields, field->n_fields, slot);
    if (out->len > heading_end)
        return;
    g_string_truncate(out, before);
    g_string_append_printf(out, "%*s%s: {}\n", (int)indent, "", field->key);
}

void yaml_write_fields(GString *out, guint indent, const YamlField *fields, gsize n_fields,
                       gconstpointer target) {
    for (gsize i = 0; i < n_fields; i++) {
        const YamlField *field = &fields[i];
        gconstpointer slot = (const char *)target + field->offset;
        if (g_strcmp0(field->fallback, YAML_OPTIONAL) == 0 && is_zero(field, slot))
            continue;
        if (field->kind == YAML_FIELD_SECTION) {
            write_section(out, indent, field, slot);
            continue;
        }
        g_string_append_printf(out, "%*s%s: ", (int)indent, "", field->key);
        write_value(out, field, slot);
        g_string_append_c(out, '\n');
    }
}

/* A text that a YAML reader would take for something else, or not take at all, when plain. */
static gboolean needs_quotes(const char *text) {
    static const char *const words[] = {"", "~", "null", "Null", "NULL", "true", "false", NULL};
    if (g_strv_contains(words, text) || strchr("!&*-?:,[]{}#|>@`\"'%=<.+ ", *text) != NULL)
        return TRUE;
    if (g_ascii_isdigit(*text)) {
        char *end;
        g_ascii_strtod(text, &end);
        if (*end == '\0')
            return TRUE;
    }
    for (const char *c = text; *c != '\0'; c++)
        if ((guchar)*c < ' ' || (guchar)*c > '~' || strchr(":#,[]{}\"\\", *c) != NULL)
            return TRUE;
    return text[strlen(text) - 1] == ' ';
}

void yaml_write_scalar(GString *out, const char *text) {
    if (!needs_quotes(text)) {
        g_string_append(out, text);
        return;
    }
    g_string_append_c(out, '"');
    for (const char *c = text; *c != '\0'; c = g_utf8_next_char(c)) {
        gunichar character = g_utf8_get_char(c);
        if (character == '"' || character == '\\')
            g_string_append_printf(out, "\\%c", (int)character);
        else if (g_unichar_isprint(character))
            g_string_append_unichar(out, character);
        else
            g_string_append_printf(out, "\\U%08X", character);
    }
    g_string_append_c(out, '"');
}
