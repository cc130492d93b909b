/* Strict reading of YAML (and JSON, which is YAML) by table, and printing it back.
 *
 * A file becomes a tree of YamlNode, each knowing where it stood. A section of an experiment is
 * described once, by an array of YamlField: key, kind, unit, bounds, default, help. The same table
 * reads the section, refuses what does not belong, fills in defaults and prints the resolved
 * section, so that what is printed is always a valid input that gives the same struct. */
#ifndef WORKLOADS_YAML_READER_H
#define WORKLOADS_YAML_READER_H

#include "workloads/input_error.h"
#include "workloads/units.h"
#include <glib.h>

typedef enum { YAML_SCALAR, YAML_SEQUENCE, YAML_MAPPING } YamlNodeType;

/* One node of a document. All strings are owned by the tree; nothing is edited in place. */
typedef struct YamlNode {
    YamlNodeType type;
    char *text;         /* scalar: its text, otherwise NULL */
    gboolean quoted;    /* scalar: it stood in quotes (so it is a string, not null or a number) */
    GPtrArray *keys;    /* mapping: YamlNode* scalars, in file order */
    GPtrArray *values;  /* mapping and sequence: YamlNode* */
    char *origin;       /* a file name, or "--set policy.decode.tp" */
    guint line, column; /* from 1; both 0 when the origin is an option */
    char *key;          /* the key it (or its sequence) stands under, for messages; may be NULL */
} YamlNode;

/* Parses a file, or a text that is to be called 'name' in messages. Duplicate keys, anchors,
 * aliases, tags, several documents, an empty file are errors. NULL and 'error' on failure. */
YamlNode *yaml_load_file(const char *path, GError **error);
YamlNode *yaml_load_text(const char *text, const char *name, GError **error);
YamlNode *yaml_node_copy(const YamlNode *node);
void yaml_node_free(YamlNode *node);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(YamlNode, yaml_node_free)

/* The value of 'key' in a mapping, or NULL. Borrowed. */
YamlNode *yaml_get(const YamlNode *mapping, const char *key);

/* Puts 'value' (taken over) under 'key', in place of what stood there or at the end. */
void yaml_put(YamlNode *mapping, const char *key, YamlNode *value);

/* Takes 'key' and its value out of a mapping, if they are there. */
void yaml_remove(YamlNode *mapping, const char *key);

/* Takes the value of 'key' out of a mapping and hands it over; NULL when it is not there. */
YamlNode *yaml_steal(YamlNode *mapping, const char *key);

/* Moves every entry of 'changes' (taken over) into 'base': mappings are merged, anything else takes
 * the place of what stood there. Positions go along. */
void yaml_overlay(YamlNode *base, YamlNode *changes);

/* A new scalar, or an empty mapping, whose messages name 'origin' and no line, for command-line
 * overrides. */
YamlNode *yaml_scalar_new(const char *text, const char *origin);
YamlNode *yaml_mapping_new(const char *origin);

/* Sets 'error' to "place: message"; returns FALSE, so that a reader can `return yaml_error(…)`. */
gboolean yaml_error(const YamlNode *node, InputErrorCode code, GError **error, const char *format,
                    ...) G_GNUC_PRINTF(4, 5);

/* What stands there, for a message: "'four'", "a mapping", "nothing". Caller frees. */
char *yaml_describe(const YamlNode *node);

/* Checks one node's type; the message names what was expected ("expected a mapping for 'policy',
 * not 'x'"). 'what' says it in the caller's words ("a list of names"); NULL: in YAML's. */
gboolean yaml_expect(const YamlNode *node, YamlNodeType type, const char *what, GError **error);

/* A row of names for an enumeration whose values count from 0. */
typedef struct {
    const char *const *names;
    gsize n_names;
} YamlEnum;
#define YAML_ENUM_OF(array)                                                                        \
    { (array), G_N_ELEMENTS(array) }

typedef enum {
    YAML_FIELD_BOOL,    /* gboolean; true or false */
    YAML_FIELD_COUNT,   /* guint64 */
    YAML_FIELD_REAL,    /* double, in 'dimension' */
    YAML_FIELD_ENUM,    /* an int-sized enumeration by name */
    YAML_FIELD_STRING,  /* char *, g_malloc'd */
    YAML_FIELD_SECTION, /* a nested struct at 'offset', read by 'fields' */
} YamlFieldKind;

/* One key of a mapping. 'fallback' is the default as text, read like input; NULL makes the key
 * required (for a section: NULL makes it required, "" gives it its own defaults). A field whose
 * fallback is YAML_OPTIONAL keeps the zero of its struct when absent and is then not printed. */
#define YAML_OPTIONAL "\x01"
#define YAML_ABOVE_ZERO G_MINDOUBLE
typedef struct YamlField {
    const char *key;
    YamlFieldKind kind;
    gsize offset;
    const char *fallback;
    Dimension dimension;            /* YAML_FIELD_REAL */
    double min, max;                /* COUNT and REAL, inclusive. max 0: no upper bound; min
                                       YAML_ABOVE_ZERO: 0 is excluded, -INFINITY: no lower bound */
    YamlEnum names;                 /* YAML_FIELD_ENUM; of a COUNT: words that stand for 0, 1 … */
    const struct YamlField *fields; /* YAML_FIELD_SECTION */
    gsize n_fields;
    const char *help; /* one line, for the generated documentation */
} YamlField;

/* Fills 'target', which starts zeroed, from 'mapping' by the table. Unknown keys (with a near
 * miss), wrong types, units or ranges, and missing required keys are errors at their node.
 * 'mapping' may be NULL: then only defaults are used, and a required key is reported as missing
 * without a place. On failure 'target' may hold strings already read: release with
 * yaml_fields_clear. */
gboolean yaml_read_fields(const YamlNode *mapping, const YamlField *fields, gsize n_fields,
                          gpointer target, GError **error);

/* Frees the strings that yaml_read_fields put into 'target'. */
void yaml_fields_clear(const YamlField *fields, gsize n_fields, gpointer target);

/* Appends the resolved mapping to 'out', one key a line, indented by 'indent' spaces. */
void yaml_write_fields(GString *out, guint indent, const YamlField *fields, gsize n_fields,
                       gconstpointer target);

/* One scalar read on its own, for readers that walk a tree by hand (foreign formats).
 * The value must lie in [min, max]; 'max' 0 means no bound. */
gboolean yaml_read_count(const YamlNode *node, guint64 min, guint64 max, guint64 *value,
                         GError **error);
gboolean yaml_read_real(const YamlNode *node, Dimension dimension, double min, double max,
                        double *value, GError **error);
gboolean yaml_read_bool(const YamlNode *node, gboolean *value, GError **error);
gboolean yaml_read_enum(const YamlNode *node, YamlEnum names, int *value, GError **error);

/* Writes 'text' as a YAML scalar, quoted when it has to be. */
void yaml_write_scalar(GString *out, const char *text);

#endif
