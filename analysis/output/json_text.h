/* JSON written member by member into a GString, two spaces a level, members in the order of the
 * calls and numbers in the shortest form that reads back exactly. */
#ifndef ANALYSIS_JSON_TEXT_H
#define ANALYSIS_JSON_TEXT_H

#include <glib.h>

typedef struct JsonText {
    GString *out;
    guint depth;
    gboolean fresh; /* nothing stands yet in the innermost object or array */
} JsonText;

JsonText json_text_new(void);        /* writes into a new GString */
char *json_text_end(JsonText *json); /* everything must be closed; caller frees */

/* 'key' is NULL within an array and for the outermost object. */
void json_text_open(JsonText *json, const char *key, char bracket); /* '{' or '[' */
void json_text_close(JsonText *json, char bracket);                 /* '}' or ']' */
void json_text_string(JsonText *json, const char *key, const char *value);
void json_text_count(JsonText *json, const char *key, guint64 value);
void json_text_number(JsonText *json, const char *key, double value); /* null when not finite */
void json_text_bool(JsonText *json, const char *key, gboolean value);
void json_text_null(JsonText *json, const char *key);
/* A value that is JSON already. */
void json_text_raw(JsonText *json, const char *key, const char *value);

/* Appends 'text' in quotes, escaped as JSON asks. Bytes that are no UTF-8, as names of files may
 * have, become U+FFFD. */
void json_text_quote(GString *out, const char *text);

#endif
