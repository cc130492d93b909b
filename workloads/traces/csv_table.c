#include "workloads/traces/csv_table.h"

#include <csv.h>
#include <string.h>

#define NO_SLOT (-1)

struct CsvTable {
    LineReader *lines;
    struct csv_parser parser;
    GPtrArray *columns; /* names, in file order */
    GArray *slots;      /* int a column: its slot or NO_SLOT */
    GString *fields[CSV_TABLE_SLOTS];
    guint column_of[CSV_TABLE_SLOTS];
    guint n_fields; /* of the current row, so far */
    guint n_rows;   /* found in the current line: a bare CR would make it 2 */
    gboolean in_header;
};

static void on_field(void *text, size_t length, void *data) {
    CsvTable *table = data;
    guint column = table->n_fields++;
    if (table->in_header) {
        g_ptr_array_add(table->columns, g_strndup(text, length));
        return;
    }
    if (column >= table->slots->len)
        return;
    int slot = g_array_index(table->slots, int, column);
    if (slot == NO_SLOT)
        return;
    g_string_truncate(table->fields[slot], 0);
    g_string_append_len(table->fields[slot], text, (gssize)length);
}

static void on_row(int end, void *data) {
    (void)end;
    ((CsvTable *)data)->n_rows++;
}

/* Splits the current line. */
static gboolean parse_line(CsvTable *table, GError **error) {
    LineReader *lines = table->lines;
    table->n_fields = 0;
    table->n_rows = 0;
    gsize read = csv_parse(&table->parser, lines->text, lines->length, on_field, on_row, table);
    if (read != lines->length)
        return line_reader_error(lines, read, INPUT_ERROR_SYNTAX, error, "stray quote");
    if (csv_fini(&table->parser, on_field, on_row, table) != 0)
        return line_reader_error(lines, 0, INPUT_ERROR_SYNTAX, error,
                                 "quoted field not closed on its line");
    if (table->n_rows != 1)
        return line_reader_error(lines, 0, INPUT_ERROR_SYNTAX, error,
                                 "carriage return within a row");
    return TRUE;
}

CsvTable *csv_table_new(LineReader *lines, GError **error) {
    g_autoptr(CsvTable) table = g_new0(CsvTable, 1);
    table->lines = lines;
    table->columns = g_ptr_array_new_with_free_func(g_free);
    table->slots = g_array_new(FALSE, FALSE, sizeof(int));
    for (guint slot = 0; slot < CSV_TABLE_SLOTS; slot++)
        table->fields[slot] = g_string_new(NULL);
    csv_init(&table->parser, CSV_STRICT | CSV_STRICT_FINI);
    GError *problem = NULL;
    if (!line_reader_next(lines, &problem)) {
        if (problem)
            g_propagate_error(error, problem);
        else
            line_reader_error(lines, 0, INPUT_ERROR_SYNTAX, error, "the file is empty");
        return NULL;
    }
    table->in_header = TRUE;
    if (!parse_line(table, error))
        return NULL;
    table->in_header = FALSE;
    const int none = NO_SLOT;
    for (guint i = 0; i < table->columns->len; i++)
        g_array_append_val(table->slots, none);
    return g_steal_pointer(&table);
}

void csv_table_free(CsvTable *table) {
    if (!table)
        return;
    csv_free(&table->parser);
    g_ptr_array_unref(table->columns);
    g_array_unref(table->slots);
    for (guint slot = 0; slot < CSV_TABLE_SLOTS; slot++)
        g_string_free(table->fields[slot], TRUE);
    g_free(table);
}

static guint count_columns(const CsvTable *table, const char *column, guint *index) {
    guint n = 0;
    for (guint i = 0; i < table->columns->len; i++) {
        if (g_str_equal(table->columns->pdata[i], column)) {
            *index = i;
            n++;
        }
    }
    return n;
}

gboolean csv_table_has(const CsvTable *table, const char *column) {
    guint index;
    return count_columns(table, column, &index) > 0;
}

char *csv_table_columns(const CsvTable *table) {
    g_autoptr(GString) names = g_string_new(NULL);
    for (guint i = 0; i < table->columns->len; i++) {
        const char *column = table->columns->pdata[i];
        g_autofree char *name = line_reader_quote(column, strlen(column));
        g_string_append_printf(names, "%s%s", i ? ", " : "", *column ? name : "''");
    }
    return g_string_free(g_steal_pointer(&names), FALSE);
}

gboolean csv_table_bind(CsvTable *table, guint slot, const char *column, GError **error) {
    guint index = 0;
    guint n = count_columns(table, column, &index);
    if (n == 0)
        return line_reader_error(table->lines, 0, INPUT_ERROR_MISSING, error, "missing column '%s'",
                                 column);
    if (n > 1)
        return line_reader_error(table->lines, 0, INPUT_ERROR_DUPLICATE, error,
                                 "column '%s' stands %u times", column, n);
    g_array_index(table->slots, int, index) = (int)slot;
    table->column_of[slot] = index;
    return TRUE;
}

gboolean csv_table_next(CsvTable *table, GError **error) {
    if (!line_reader_next(table->lines, error) || !parse_line(table, error))
        return FALSE;
    if (table->n_fields == table->columns->len)
        return TRUE;
    return line_reader_error(table->lines, 0, INPUT_ERROR_SYNTAX, error,
                             "expected %u fields as in the header, found %u", table->columns->len,
                             table->n_fields);
}

const GString *csv_table_field(const CsvTable *table, guint slot) {
    return table->fields[slot];
}

gsize csv_table_field_offset(const CsvTable *table, guint slot) {
    const char *text = table->lines->text;
    gsize at = 0;
    gboolean quoted = FALSE;
    for (guint column = 0; at < table->lines->length && column < table->column_of[slot]; at++) {
        if (text[at] == '"')
            quoted = !quoted;
        column += text[at] == ',' && !quoted;
    }
    while (at < table->lines->length && (text[at] == ' ' || text[at] == '\t'))
        at++;
    return at;
}

gboolean csv_table_field_error(const CsvTable *table, guint slot, const char *what,
                               GError **error) {
    const GString *field = table->fields[slot];
    g_autofree char *found = line_reader_quote(field->str, field->len);
    return line_reader_error(table->lines, csv_table_field_offset(table, slot), INPUT_ERROR_VALUE,
                             error, "expected %s, found %s", what, found);
}
