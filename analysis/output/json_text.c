#include "analysis/output/json_text.h"

#include "analysis/output/number_text.h"

JsonText json_text_new(void) {
    return (JsonText){.out = g_string_new(NULL), .fresh = TRUE};
}

char *json_text_end(JsonText *json) {
    g_assert(json->depth == 0);
    g_string_append_c(json->out, '\n');
    return g_string_free(g_steal_pointer(&json->out), FALSE);
}

void json_text_quote(GString *out, const char *text) {
    g_autofree char *valid = g_utf8_validate(text, -1, NULL) ? NULL : g_utf8_make_valid(text, -1);

    g_string_append_c(out, '"');
    for (const char *c = valid == NULL ? text : valid; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\')
            g_string_append_printf(out, "\\%c", *c);
        else if ((guchar)*c < 0x20)
            g_string_append_printf(out, "\\u%04x", (guint)(guchar)*c);
        else
            g_string_append_c(out, *c);
    }
    g_string_append_c(out, '"');
}

static void new_line(JsonText *json) {
    g_string_append_printf(json->out, "\n%*s", (int)(2 * json->depth), "");
}

/* What stands before every value: comma, line and key. */
static void begin_value(JsonText *json, const char *key) {
    if (!json->fresh)
        g_string_append_c(json->out, ',');
    if (json->depth > 0)
        new_line(json);
    json->fresh = FALSE;
    if (key == NULL)
        return;
    json_text_quote(json->out, key);
    g_string_append(json->out, ": ");
}

void json_text_open(JsonText *json, const char *key, char bracket) {
    begin_value(json, key);
    g_string_append_c(json->out, bracket);
    json->depth++;
    json->fresh = TRUE;
}

void json_text_close(JsonText *json, char bracket) {
    json->depth--;
    if (!json->fresh)
        new_line(json);
    g_string_append_c(json->out, bracket);
    json->fresh = FALSE;
}

void json_text_string(JsonText *json, const char *key, const char *value) {
    begin_value(json, key);
    json_text_quote(json->out, value);
}

void json_text_count(JsonText *json, const char *key, guint64 value) {
    begin_value(json, key);
    g_string_append_printf(json->out, "%" G_GUINT64_FORMAT, value);
}

void json_text_number(JsonText *json, const char *key, double value) {
    char text[NUMBER_TEXT_MAX];
    begin_value(json, key);
    g_string_append_len(json->out, text, number_text_shortest(text, value) - text);
}

void json_text_bool(JsonText *json, const char *key, gboolean value) {
    begin_value(json, key);
    g_string_append(json->out, value ? "true" : "false");
}

void json_text_null(JsonText *json, const char *key) {
    begin_value(json, key);
    g_string_append(json->out, "null");
}

void json_text_raw(JsonText *json, const char *key, const char *value) {
    begin_value(json, key);
    g_string_append(json->out, value);
}
