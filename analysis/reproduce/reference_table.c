#include "analysis/reproduce/reference_table.h"

#include "workloads/experiment_file.h"
#include "workloads/input_error.h"
#include <math.h>
#include <string.h>

typedef struct Line {
    guint number; /* from 1 */
    GStrv words;
} Line;

struct ReferenceTable {
    char *path;
    GStrv header;
    GArray *lines; /* Line */
};

static void line_clear(gpointer line) {
    g_strfreev(((Line *)line)->words);
}

void reference_table_free(ReferenceTable *table) {
    if (table == NULL)
        return;
    g_free(table->path);
    g_strfreev(table->header);
    g_array_unref(table->lines);
    g_free(table);
}

static gboolean fail(const ReferenceTable *table, guint number, GError **error, const char *what) {
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_SYNTAX, "%s:%u:1: %s", table->path, number, what);
    return FALSE;
}

static gboolean read_text(ReferenceTable *table, const char *text, GError **error) {
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

    for (guint i = 0; lines[i] != NULL; i++) {
        const char *content = g_strstrip(lines[i]);
        if (*content == '\0' || *content == '#')
            continue;
        g_auto(GStrv) words = g_strsplit(content, ",", -1);
        if (table->header == NULL) {
            table->header = g_steal_pointer(&words);
            continue;
        }
        if (g_strv_length(words) != g_strv_length(table->header))
            return fail(table, i + 1, error, "expected a value for every column");
        Line line = {i + 1, g_steal_pointer(&words)};
        g_array_append_val(table->lines, line);
    }
    return table->lines->len > 0 || fail(table, 1, error, "the file has no figures");
}

ReferenceTable *reference_table_load(const char *name, GError **error) {
    g_autoptr(ReferenceTable) table = g_new0(ReferenceTable, 1);
    g_autofree char *text = NULL;

    table->lines = g_array_new(FALSE, FALSE, sizeof(Line));
    g_array_set_clear_func(table->lines, line_clear);
    table->path = data_file_find(name, NULL, "reference");
    if (table->path == NULL) {
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_MISSING,
                    "infergrid reproduce: no file '%s' among the reference data", name);
        return NULL;
    }
    if (!g_file_get_contents(table->path, &text, NULL, error) || !read_text(table, text, error))
        return NULL;
    return g_steal_pointer(&table);
}

guint reference_table_rows(const ReferenceTable *table) {
    return table->lines->len;
}

const char *reference_table_column(const ReferenceTable *table, guint column) {
    return column < g_strv_length(table->header) ? table->header[column] : NULL;
}

gboolean reference_table_error(const ReferenceTable *table, guint row, GError **error,
                               const char *what) {
    return fail(table, g_array_index(table->lines, Line, row).number, error, what);
}

const char *reference_table_text(const ReferenceTable *table, guint row, const char *column,
                                 GError **error) {
    const Line *line = &g_array_index(table->lines, Line, row);

    for (guint i = 0; table->header[i] != NULL; i++)
        if (strcmp(table->header[i], column) == 0)
            return line->words[i];
    g_autofree char *what = g_strdup_printf("expected a column '%s'", column);
    fail(table, line->number, error, what);
    return NULL;
}

gboolean reference_table_number(const ReferenceTable *table, guint row, const char *column,
                                double *value, GError **error) {
    const char *word = reference_table_text(table, row, column, error);
    char *end;

    if (word == NULL)
        return FALSE;
    *value = g_ascii_strtod(word, &end);
    if (end != word && *end == '\0' && isfinite(*value) && *value >= 0)
        return TRUE;
    g_autofree char *what = g_strdup_printf("expected a number under '%s'", column);
    return fail(table, g_array_index(table->lines, Line, row).number, error, what);
}
