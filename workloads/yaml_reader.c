#include "workloads/yaml_reader.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#define MAX_DEPTH 100       /* nested mappings and sequences; keeps the recursion short */
#define MAX_QUOTED_BYTES 60 /* of a user's text within a message */

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(yaml_event_t, yaml_event_delete)
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(yaml_parser_t, yaml_parser_delete)

typedef struct Loader {
    yaml_parser_t *parser;
    const char *name;
    const char *text;
    gsize length;
} Loader;

/* Where a node stands in the tree that is being built. */
typedef struct Place {
    const char *key; /* the key it or its sequence stands under, or NULL */
    guint depth;
} Place;

static YamlNode *load_node(Loader *loader, const yaml_event_t *event, Place place, GError **error);

void yaml_node_free(YamlNode *node) {
    if (node == NULL)
        return;
    g_free(node->text);
    g_clear_pointer(&node->keys, g_ptr_array_unref);
    g_clear_pointer(&node->values, g_ptr_array_unref);
    g_free(node->origin);
    g_free(node->key);
    g_free(node);
}

static void free_node(gpointer node) {
    yaml_node_free(node);
}

static YamlNode *node_new(YamlNodeType type, const char *origin, const char *key) {
    YamlNode *node = g_new0(YamlNode, 1);
    node->type = type;
    node->origin = g_strdup(origin);
    node->key = g_strdup(key);
    if (type == YAML_MAPPING)
        node->keys = g_ptr_array_new_with_free_func(free_node);
    if (type != YAML_SCALAR)
        node->values = g_ptr_array_new_with_free_func(free_node);
    return node;
}

static void copy_nodes(GPtrArray *to, const GPtrArray *from) {
    for (guint i = 0; from != NULL && i < from->len; i++)
        g_ptr_array_add(to, yaml_node_copy(from->pdata[i]));
}

YamlNode *yaml_node_copy(const YamlNode *node) {
    YamlNode *copy = node_new(node->type, node->origin, node->key);

    copy->text = g_strdup(node->text);
    copy->quoted = node->quoted;
    copy->line = node->line;
    copy->column = node->column;
    copy_nodes(copy->keys, node->keys);
    copy_nodes(copy->values, node->values);
    return copy;
}

static YamlNode *node_at(const Loader *loader, YamlNodeType type, const yaml_event_t *event,
                         const char *key) {
    YamlNode *node = node_new(type, loader->name, key);
    node->line = (guint)event->start_mark.line + 1;
    node->column = (guint)event->start_mark.column + 1;
    return node;
}

static void set_error_at(const Loader *loader, yaml_mark_t mark, GError **error,
                         const char *message) {
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_SYNTAX, "%s:%zu:%zu: %s", loader->name,
                mark.line + 1, mark.column + 1, message);
}

/* libyaml gives only the byte at which it could not read on. */
static yaml_mark_t mark_of_byte(const Loader *loader, gsize offset) {
    yaml_mark_t mark = {0};
    for (gsize i = 0; i < MIN(offset, loader->length); i++) {
        guchar byte = (guchar)loader->text[i];
        if (byte == '\n') {
            mark.line++;
            mark.column = 0;
        } else if ((byte & 0xC0) != 0x80) { /* a character's first byte */
            mark.column++;
        }
    }
    return mark;
}

static void set_syntax_error(const Loader *loader, GError **error) {
    const yaml_parser_t *parser = loader->parser;
    gboolean unreadable = parser->error == YAML_READER_ERROR;
    yaml_mark_t mark =
        unreadable ? mark_of_byte(loader, parser->problem_offset) : parser->problem_mark;
    set_error_at(loader, mark, error,
                 parser->problem != NULL ? parser->problem : "cannot parse the text");
}

static gboolean next_event(Loader *loader, yaml_event_t *event, GError **error) {
    if (yaml_parser_parse(loader->parser, event))
        return TRUE;
    set_syntax_error(loader, error);
    return FALSE;
}

/* The text in single quotes, cut where it is long or its first line ends. */
static char *quote(const char *text) {
    gsize length = strcspn(text, "\r\n");
    if (length <= MAX_QUOTED_BYTES && text[length] == '\0')
        return g_strdup_printf("'%s'", text);
    const char *end = text + MIN(length, MAX_QUOTED_BYTES);
    while (end > text && ((guchar)*end & 0xC0) == 0x80) /* not within a character */
        end--;
    return g_strdup_printf("'%.*s…'", (int)(end - text), text);
}

/* Anchors and tags would let one text mean another; nothing here needs them. */
static gboolean is_plain(const Loader *loader, const yaml_event_t *event, GError **error) {
    const yaml_char_t *anchor = NULL, *tag = NULL;
    const char *kind = "anchor", *sign = "&";
    switch (event->type) {
    case YAML_ALIAS_EVENT:
        kind = "alias";
        sign = "*";
        anchor = event->data.alias.anchor;
        break;
    case YAML_SCALAR_EVENT:
        anchor = event->data.scalar.anchor;
        tag = event->data.scalar.tag;
        break;
    case YAML_SEQUENCE_START_EVENT:
        anchor = event->data.sequence_start.anchor;
        tag = event->data.sequence_start.tag;
        break;
    case YAML_MAPPING_START_EVENT:
        anchor = event->data.mapping_start.anchor;
        tag = event->data.mapping_start.tag;
        break;
    default:
        break;
    }
    if (anchor == NULL && tag == NULL)
        return TRUE;
    g_autofree char *name = anchor != NULL ? g_strconcat(sign, (const char *)anchor, NULL)
                                           : g_strdup((const char *)tag);
    g_autofree char *quoted = quote(name);
    g_autofree char *message =
        g_strdup_printf("%s %s is not supported", anchor != NULL ? kind : "tag", quoted);
    set_error_at(loader, event->start_mark, error, message);
    return FALSE;
}

static YamlNode *load_scalar(const Loader *loader, const yaml_event_t *event, const char *key,
                             GError **error) {
    const char *text = (const char *)event->data.scalar.value;
    gsize length = event->data.scalar.length;
    if (memchr(text, '\0', length) != NULL) {
        set_error_at(loader, event->start_mark, error, "a text cannot hold a null character");
        return NULL;
    }
    YamlNode *node = node_at(loader, YAML_SCALAR, event, key);
    node->text = g_strndup(text, length);
    node->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    return node;
}

static YamlNode *load_sequence(Loader *loader, const yaml_event_t *start, Place place,
                               GError **error) {
    g_autoptr(YamlNode) sequence = node_at(loader, YAML_SEQUENCE, start, place.key);
    Place inner = {place.key, place.depth + 1};
    while (TRUE) {
        g_auto(yaml_event_t) event = {0};
        if (!next_event(loader, &event, error))
            return NULL;
        if (event.type == YAML_SEQUENCE_END_EVENT)
            return g_steal_pointer(&sequence);
        YamlNode *item = load_node(loader, &event, inner, error);
        if (item == NULL)
            return NULL;
        g_ptr_array_add(sequence->values, item);
    }
}

static gboolean is_first(const YamlNode *key, GHashTable *seen, GError **error) {
    const YamlNode *first = g_hash_table_lookup(seen, key->text);
    if (first == NULL) {
        g_hash_table_insert(seen, key->text, (gpointer)key);
        return TRUE;
    }
    g_autofree char *quoted = quote(key->text);
    return yaml_error(key, INPUT_ERROR_DUPLICATE, error, "duplicate key %s (first on line %u)",
                      quoted, first->line);
}

static YamlNode *load_key(Loader *loader, const yaml_event_t *event, GError **error) {
    if (!is_plain(loader, event, error))
        return NULL;
    if (event->type == YAML_SCALAR_EVENT)
        return load_scalar(loader, event, NULL, error);
    set_error_at(loader, event->start_mark, error, "a key must be a single name");
    return NULL;
}

static YamlNode *load_mapping(Loader *loader, const yaml_event_t *start, Place place,
                              GError **error) {
    g_autoptr(YamlNode) mapping = node_at(loader, YAML_MAPPING, start, place.key);
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    while (TRUE) {
        g_auto(yaml_event_t) key_event = {0}, value_event = {0};
        if (!next_event(loader, &key_event, error))
            return NULL;
        if (key_event.type == YAML_MAPPING_END_EVENT)
            return g_steal_pointer(&mapping);
        YamlNode *key = load_key(loader, &key_event, error);
        if (key == NULL)
            return NULL;
        g_ptr_array_add(mapping->keys, key);
        if (!is_first(key, seen, error) || !next_event(loader, &value_event, error))
            return NULL;
        Place inner = {key->text, place.depth + 1};
        YamlNode *value = load_node(loader, &value_event, inner, error);
        if (value == NULL)
            return NULL;
        g_ptr_array_add(mapping->values, value);
    }
}

static YamlNode *load_node(Loader *loader, const yaml_event_t *event, Place place, GError **error) {
    if (!is_plain(loader, event, error))
        return NULL;
    if (event->type == YAML_SCALAR_EVENT)
        return load_scalar(loader, event, place.key, error);
    if (place.depth >= MAX_DEPTH) {
        set_error_at(loader, event->start_mark, error, "nested more than 100 levels deep");
        return NULL;
    }
    return event->type == YAML_SEQUENCE_START_EVENT ? load_sequence(loader, event, place, error)
                                                    : load_mapping(loader, event, place, error);
}

/* Passes the stream's and the document's start; the next event is the root. */
static gboolean begin_document(Loader *loader, GError **error) {
    for (guint i = 0; i < 2; i++) {
        g_auto(yaml_event_t) event = {0};
        if (!next_event(loader, &event, error))
            return FALSE;
        if (event.type == YAML_STREAM_END_EVENT) {
            g_set_error(error, INPUT_ERROR, INPUT_ERROR_SYNTAX, "%s:1:1: the file is empty",
                        loader->name);
            return FALSE;
        }
    }
    return TRUE;
}

/* Passes the document's end; nothing may follow it. */
static gboolean end_document(Loader *loader, GError **error) {
    g_auto(yaml_event_t) document_end = {0}, stream_end = {0};
    if (!next_event(loader, &document_end, error) || !next_event(loader, &stream_end, error))
        return FALSE;
    if (stream_end.type == YAML_STREAM_END_EVENT)
        return TRUE;
    set_error_at(loader, stream_end.start_mark, error,
                 "a second document begins; only one is allowed");
    return FALSE;
}

static YamlNode *load_document(Loader *loader, GError **error) {
    if (!begin_document(loader, error))
        return NULL;
    g_auto(yaml_event_t) event = {0};
    if (!next_event(loader, &event, error))
        return NULL;
    YamlNode *root = load_node(loader, &event, (Place){NULL, 0}, error);
    if (root != NULL && !end_document(loader, error))
        g_clear_pointer(&root, yaml_node_free);
    return root;
}

/* JSON may be indented by tabs, which YAML forbids: outside strings they become blanks. */
static void blank_tabs(char *json, gsize length) {
    gboolean in_string = FALSE;
    for (gsize i = 0; i < length; i++) {
        if (json[i] == '"')
            in_string = !in_string;
        else if (in_string && json[i] == '\\')
            i++;
        else if (!in_string && json[i] == '\t')
            json[i] = ' ';
    }
}

static YamlNode *load_bytes(const char *text, gsize length, const char *name, GError **error) {
    static const char byte_order_mark[] = "\xEF\xBB\xBF";
    if (length >= 3 && memcmp(text, byte_order_mark, 3) == 0) {
        text += 3;
        length -= 3;
    }
    g_autofree char *copy = g_memdup2(text, length);
    if (copy != NULL && g_str_has_suffix(name, ".json"))
        blank_tabs(copy, length);
    g_auto(yaml_parser_t) parser;
    if (!yaml_parser_initialize(&parser))
        g_error("out of memory");
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    const char *bytes = copy != NULL ? copy : "";
    yaml_parser_set_input_string(&parser, (const guchar *)bytes, length);
    Loader loader = {&parser, name, bytes, length};
    return load_document(&loader, error);
}

YamlNode *yaml_load_text(const char *text, const char *name, GError **error) {
    return load_bytes(text, strlen(text), name, error);
}

YamlNode *yaml_load_file(const char *path, GError **error) {
    FILE *file = fopen(path, "rb");
    g_autoptr(GString) text = g_string_new(NULL);
    char block[4096];
    gsize got;
    while (file != NULL && (got = fread(block, 1, sizeof block, file)) > 0)
        g_string_append_len(text, block, (gssize)got);
    gboolean failed = file == NULL || ferror(file);
    int cause = errno;
    if (file != NULL)
        fclose(file);
    if (!failed)
        return load_bytes(text->str, text->len, path, error);
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_MISSING, "%s: cannot read '%s': %s", path, path,
                g_strerror(cause));
    return NULL;
}

static gboolean find_key(const YamlNode *mapping, const char *key, guint *index) {
    for (guint i = 0; i < mapping->keys->len; i++) {
        const YamlNode *candidate = g_ptr_array_index(mapping->keys, i);
        if (strcmp(candidate->text, key) == 0) {
            *index = i;
            return TRUE;
        }
    }
    return FALSE;
}

YamlNode *yaml_get(const YamlNode *mapping, const char *key) {
    guint index;
    g_assert(mapping->type == YAML_MAPPING);
    return find_key(mapping, key, &index) ? g_ptr_array_index(mapping->values, index) : NULL;
}

void yaml_put(YamlNode *mapping, const char *key, YamlNode *value) {
    guint index;
    g_assert(mapping->type == YAML_MAPPING);
    g_free(value->key);
    value->key = g_strdup(key);
    if (find_key(mapping, key, &index)) {
        yaml_node_free(g_ptr_array_index(mapping->values, index));
        g_ptr_array_index(mapping->values, index) = value;
        return;
    }
    YamlNode *name = yaml_scalar_new(key, value->origin);
    name->line = value->line;
    name->column = value->column;
    g_ptr_array_add(mapping->keys, name);
    g_ptr_array_add(mapping->values, value);
}

YamlNode *yaml_steal(YamlNode *mapping, const char *key) {
    guint index;
    g_assert(mapping->type == YAML_MAPPING);
    if (!find_key(mapping, key, &index))
        return NULL;
    g_ptr_array_remove_index(mapping->keys, index);
    return g_ptr_array_steal_index(mapping->values, index);
}

void yaml_remove(YamlNode *mapping, const char *key) {
    yaml_node_free(yaml_steal(mapping, key));
}

static void overlay_entry(YamlNode *base, YamlNode *key, YamlNode *value) {
    guint index;
    if (!find_key(base, key->text, &index)) {
        g_ptr_array_add(base->keys, key);
        g_ptr_array_add(base->values, value);
        return;
    }
    YamlNode *old = g_ptr_array_index(base->values, index);
    if (old->type == YAML_MAPPING && value->type == YAML_MAPPING) {
        yaml_overlay(old, value);
        yaml_node_free(key);
        return;
    }
    yaml_node_free(g_ptr_array_index(base->keys, index));
    yaml_node_free(old);
    g_ptr_array_index(base->keys, index) = key;
    g_ptr_array_index(base->values, index) = value;
}

void yaml_overlay(YamlNode *base, YamlNode *changes) {
    g_assert(base->type == YAML_MAPPING && changes->type == YAML_MAPPING);
    while (changes->keys->len > 0)
        overlay_entry(base, g_ptr_array_steal_index(changes->keys, 0),
                      g_ptr_array_steal_index(changes->values, 0));
    yaml_node_free(changes);
}

YamlNode *yaml_scalar_new(const char *text, const char *origin) {
    YamlNode *node = node_new(YAML_SCALAR, origin, NULL);
    node->text = g_strdup(text);
    return node;
}

YamlNode *yaml_mapping_new(const char *origin) {
    return node_new(YAML_MAPPING, origin, NULL);
}

gboolean yaml_error(const YamlNode *node, InputErrorCode code, GError **error, const char *format,
                    ...) {
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *message = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    if (node->line == 0)
        g_set_error(error, INPUT_ERROR, (gint)code, "%s: %s", node->origin, message);
    else
        g_set_error(error, INPUT_ERROR, (gint)code, "%s:%u:%u: %s", node->origin, node->line,
                    node->column, message);
    return FALSE;
}

char *yaml_describe(const YamlNode *node) {
    if (node->type == YAML_SEQUENCE)
        return g_strdup("a sequence");
    if (node->type == YAML_MAPPING)
        return g_strdup("a mapping");
    if (node->text[0] == '\0' && !node->quoted)
        return g_strdup("nothing");
    return quote(node->text);
}

gboolean yaml_expect(const YamlNode *node, YamlNodeType type, const char *what, GError **error) {
    static const char *const types[] = {
        [YAML_SCALAR] = "a single value",
        [YAML_SEQUENCE] = "a sequence",
        [YAML_MAPPING] = "a mapping",
    };
    if (node->type == type)
        return TRUE;
    g_autofree char *found = yaml_describe(node);
    g_autofree char *whose = node->key != NULL ? g_strdup_printf(" for '%s'", node->key) : NULL;
    return yaml_error(node, INPUT_ERROR_VALUE, error, "expected %s%s, not %s",
                      what != NULL ? what : types[type], whose != NULL ? whose : "", found);
}
