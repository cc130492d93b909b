#include "analysis/compare/summary_read.h"

#include "analysis/compare/figure_key.h"
#include "workloads/input_error.h"
#include <errno.h>
#include <glib/gstdio.h>
#include <json-glib/json-glib.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#define MAX_DEPTH 100

/* A file being read. Its parser tells where it is only while it parses: the place of each member is
 * kept for messages about its value. */
typedef struct Reading {
    const char *path;
    const char *text;
    GHashTable *places; /* "object name" → "line:column" */
    char *doubled;      /* the message about the first name that stands twice in an object */
    SummaryFile *summary;
} Reading;

static char *member_id(const JsonObject *object, const char *name) {
    return g_strdup_printf("%p %s", (const void *)object, name);
}

static const char *line_of(const char *text, guint line) {
    while (line > 1 && *text != '\0')
        line -= *text++ == '\n';
    return text;
}

/* The column of the name, which stands before the value's end; that end where it is on an earlier
 * line. From 1, in characters. */
static guint name_column(const char *text, const char *name, guint line, guint end) {
    const char *start = line_of(text, line);
    g_autofree char *quoted = g_strdup_printf("\"%s\"", name);
    const char *found = g_strrstr_len(start, (gssize)MIN(end, strlen(start)), quoted);

    return found == NULL ? end : (guint)g_utf8_pointer_to_offset(start, found) + 1;
}

static void on_member(JsonParser *parser, JsonObject *object, const char *name, gpointer data) {
    Reading *reading = data;
    guint line = json_parser_get_current_line(parser);
    guint column =
        name_column(reading->text, name, line, (guint)json_parser_get_current_pos(parser));
    char *id = member_id(object, name);

    if (reading->doubled == NULL && g_hash_table_contains(reading->places, id))
        reading->doubled = g_strdup_printf("%u:%u: duplicate key '%s'", line, column, name);
    g_hash_table_insert(reading->places, id, g_strdup_printf("%u:%u", line, column));
}

/* --- errors; all return FALSE */

static gboolean wrong(const Reading *reading, GError **error, const char *message) {
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_SYNTAX, "%s:%s", reading->path, message);
    return FALSE;
}

/* The parser calls its text "<data>". */
static gboolean wrong_syntax(const Reading *reading, const char *message, GError **error) {
    g_auto(GStrv) parts = g_strsplit(message, " Parse error:", 2);
    const char *place = parts[0];

    if (parts[1] == NULL)
        return wrong(reading, error, "1:1: no JSON");
    if (g_str_has_prefix(place, "<data>:"))
        place += strlen("<data>:");
    g_autofree char *told = g_strconcat(place, parts[1], NULL);
    return wrong(reading, error, told);
}

/* 'message' about the character at 'end'. */
static gboolean wrong_at(const Reading *reading, const char *end, const char *message,
                         GError **error) {
    guint line = 1;
    const char *start = reading->text;

    for (const char *at = start; at < end; at++)
        if (*at == '\n') {
            line++;
            start = at + 1;
        }
    g_autofree char *told =
        g_strdup_printf("%u:%ld: %s", line, g_utf8_pointer_to_offset(start, end) + 1, message);
    return wrong(reading, error, told);
}

static gboolean wrong_member(const Reading *reading, JsonObject *object, const char *name,
                             const char *message, GError **error) {
    g_autofree char *id = member_id(object, name);
    const char *place = g_hash_table_lookup(reading->places, id);

    g_set_error(error, INPUT_ERROR, INPUT_ERROR_VALUE, "%s:%s: '%s': %s", reading->path,
                place == NULL ? "1:1" : place, name, message);
    return FALSE;
}

/* --- the tree */

static void figure_free(gpointer data) {
    SummaryFigure *figure = data;

    g_free(figure->key);
    g_free(figure);
}

static void add_figure(SummaryFile *summary, const char *key, CellForm form, double value) {
    SummaryFigure *figure = g_new(SummaryFigure, 1);

    *figure = (SummaryFigure){g_strdup(key), form, value};
    g_ptr_array_add(summary->figures, figure);
}

/* What was expected instead, or NULL. Counts from 2^63 on the parser makes negative. */
static const char *number_fault(JsonNode *node) {
    if (json_node_get_value_type(node) == G_TYPE_INT64)
        return json_node_get_int(node) < 0 ? "expected a whole number from 0 to 2^63" : NULL;
    return isfinite(json_node_get_double(node)) ? NULL : "expected a finite number";
}

typedef struct Member {
    JsonObject *object;
    const char *name;
    const char *key; /* whole */
} Member;

static gboolean read_value(const Reading *reading, const Member *member, JsonNode *node,
                           GError **error) {
    CellForm form = figure_key_form(member->key);
    GType type = json_node_get_value_type(node);

    if (figure_key_is_setting(member->key))
        return TRUE;
    if (JSON_NODE_HOLDS_NULL(node)) {
        add_figure(reading->summary, member->key, form, NAN);
    } else if (type == G_TYPE_INT64 || type == G_TYPE_DOUBLE) {
        const char *fault = number_fault(node);
        if (fault != NULL)
            return wrong_member(reading, member->object, member->name, fault, error);
        add_figure(reading->summary, member->key, form, json_node_get_double(node));
    } else if (form != FORM_NONE) {
        return wrong_member(reading, member->object, member->name, "expected a number or null",
                            error);
    } else if (type == G_TYPE_BOOLEAN) {
        add_figure(reading->summary, member->key, FORM_BOOL, json_node_get_boolean(node) ? 1 : 0);
    }
    return TRUE;
}

static gboolean read_object(const Reading *reading, JsonObject *object, const char *prefix,
                            GError **error) {
    JsonObjectIter iter;
    const char *name;
    JsonNode *node;

    json_object_iter_init_ordered(&iter, object);
    while (json_object_iter_next_ordered(&iter, &name, &node)) {
        g_autofree char *key =
            *prefix == '\0' ? g_strdup(name) : g_strconcat(prefix, ".", name, NULL);
        Member member = {object, name, key};
        gboolean right = TRUE;
        if (JSON_NODE_HOLDS_OBJECT(node))
            right = read_object(reading, json_node_get_object(node), key, error);
        else if (!JSON_NODE_HOLDS_ARRAY(node))
            right = read_value(reading, &member, node, error);
        if (!right)
            return FALSE;
    }
    return TRUE;
}

/* --- a summary */

static gboolean missing(const Reading *reading, const char *what, const char *name,
                        GError **error) {
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_MISSING,
                "%s:1:1: missing %s '%s' of a summary by 'infergrid simulate'", reading->path, what,
                name);
    return FALSE;
}

/* A text of 'object', or an error. Borrowed. */
static const char *text_member(const Reading *reading, JsonObject *object, const char *name,
                               GError **error) {
    JsonNode *node = json_object_get_member(object, name);

    if (node != NULL && json_node_get_value_type(node) == G_TYPE_STRING)
        return json_node_get_string(node);
    if (node == NULL)
        missing(reading, "key", name, error);
    else
        wrong_member(reading, object, name, "expected a text", error);
    return NULL;
}

static gboolean read_words(const Reading *reading, JsonObject *root, GError **error) {
    static const char key[] = "simulated";
    JsonNode *node = json_object_get_member(root, key);
    const char *outcome = text_member(reading, root, "outcome", error);

    if (outcome == NULL)
        return FALSE;
    if (node == NULL)
        return missing(reading, "key", key, error);
    if (!JSON_NODE_HOLDS_OBJECT(node))
        return wrong_member(reading, root, key, "expected an object", error);
    JsonObject *simulated = json_node_get_object(node);
    const char *model = text_member(reading, simulated, "model", error);
    const char *platform =
        model == NULL ? NULL : text_member(reading, simulated, "platform", error);
    const char *plan = platform == NULL ? NULL : text_member(reading, simulated, "plan", error);
    if (plan == NULL)
        return FALSE;
    reading->summary->outcome = g_strdup(outcome);
    reading->summary->simulated = g_strdup_printf("%s on %s: %s", model, platform, plan);
    return TRUE;
}

/* What no run is without. */
static gboolean is_whole(const Reading *reading, GError **error) {
    static const char *const needed[] = {"simulated.clusters", "requests.arrived",
                                         "requests.completed", "whole.makespan_s"};

    for (guint i = 0; i < G_N_ELEMENTS(needed); i++) {
        if (!isfinite(summary_file_value(reading->summary, needed[i])))
            return missing(reading, "figure", needed[i], error);
    }
    return TRUE;
}

/* Clusters of the plan times hours for a million generated tokens, of the steady state where one
 * was cut. */
static void add_cost(SummaryFile *summary) {
    double steady = summary_file_value(summary, "steady.output_token_throughput_per_s");
    double whole = summary_file_value(summary, "whole.output_token_throughput_per_s");
    double tokens_per_s = isnan(steady) ? whole : steady;
    double clusters = summary_file_value(summary, "simulated.clusters");
    double cost = tokens_per_s > 0 ? clusters * 1e6 / 3600 / tokens_per_s : NAN;

    add_figure(summary, "cost.cluster_hours_per_million_tokens", FORM_REAL, cost);
}

static gboolean read_root(const Reading *reading, JsonNode *root, GError **error) {
    if (reading->doubled != NULL)
        return wrong(reading, error, reading->doubled);
    if (root == NULL)
        return wrong(reading, error, "1:1: the file is empty");
    if (!JSON_NODE_HOLDS_OBJECT(root))
        return wrong(reading, error, "1:1: expected an object");
    JsonObject *object = json_node_get_object(root);
    if (!read_words(reading, object, error) || !read_object(reading, object, "", error) ||
        !is_whole(reading, error))
        return FALSE;
    add_cost(reading->summary);
    return TRUE;
}

/* The bracket that opens one level too many, or NULL: the parser calls itself at each. */
static const char *too_deep(const char *text) {
    gboolean in_string = FALSE;
    guint depth = 0;

    for (const char *at = text; *at != '\0'; at++) {
        if (in_string && *at == '\\' && at[1] != '\0')
            at++;
        else if (*at == '"')
            in_string = !in_string;
        else if (!in_string && (*at == '{' || *at == '[') && ++depth > MAX_DEPTH)
            return at;
        else if (!in_string && (*at == '}' || *at == ']') && depth > 0)
            depth--;
    }
    return NULL;
}

static gboolean parse(Reading *reading, gsize length, GError **error) {
    g_autoptr(JsonParser) parser = json_parser_new();
    g_autoptr(GError) problem = NULL;
    const char *end;

    if (!g_utf8_validate_len(reading->text, length, &end))
        return wrong_at(reading, end, "bytes that are no text", error);
    if ((end = too_deep(reading->text)) != NULL)
        return wrong_at(reading, end, "nested more than 100 levels deep", error);
    g_signal_connect(parser, "object-member", G_CALLBACK(on_member), reading);
    if (!json_parser_load_from_data(parser, reading->text, (gssize)length, &problem))
        return wrong_syntax(reading, problem->message, error);
    return read_root(reading, json_parser_get_root(parser), error);
}

SummaryFile *summary_read(const char *path, GError **error) {
    g_autofree char *text = NULL;
    gsize length;

    if (g_access(path, R_OK) != 0 || !g_file_get_contents(path, &text, &length, NULL)) {
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_MISSING, "%s: cannot read '%s': %s", path, path,
                    g_strerror(errno));
        return NULL;
    }
    g_autoptr(SummaryFile) summary = g_new0(SummaryFile, 1);
    summary->figures = g_ptr_array_new_with_free_func(figure_free);
    g_autoptr(GHashTable) places = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    Reading reading = {path, text, places, NULL, summary};
    gboolean right = parse(&reading, length, error);
    g_free(reading.doubled);
    return right ? g_steal_pointer(&summary) : NULL;
}

void summary_file_free(SummaryFile *summary) {
    if (summary == NULL)
        return;
    g_ptr_array_unref(summary->figures);
    g_free(summary->simulated);
    g_free(summary->outcome);
    g_free(summary);
}

double summary_file_value(const SummaryFile *summary, const char *key) {
    for (guint i = 0; i < summary->figures->len; i++) {
        const SummaryFigure *figure = summary->figures->pdata[i];
        if (strcmp(figure->key, key) == 0)
            return figure->value;
    }
    return NAN;
}
