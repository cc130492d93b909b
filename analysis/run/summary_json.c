#include "analysis/run/summary_rows.h"

#include "analysis/output/json_text.h"

static void write_cell(JsonText *json, const SummaryCell *cell) {
    switch (cell->form) {
    case FORM_COUNT:
        json_text_count(json, cell->key, cell->count);
        break;
    case FORM_REAL:
    case FORM_SECONDS:
    case FORM_BYTES:
    case FORM_JOULES:
    case FORM_SHARE:
        json_text_number(json, cell->key, cell->number);
        break;
    case FORM_BOOL:
        json_text_bool(json, cell->key, cell->count != 0);
        break;
    case FORM_TEXT:
        json_text_string(json, cell->key, cell->text);
        break;
    case FORM_NONE:
        json_text_null(json, cell->key);
        break;
    }
}

/* A row of one unnamed cell is a member; any other is an object. */
static void write_row(JsonText *json, const SummaryRow *row, gboolean in_array) {
    gboolean object = in_array || row->key != NULL;
    if (object)
        json_text_open(json, row->key, '{');
    for (guint i = 0; i < row->cells->len; i++)
        write_cell(json, &g_array_index(row->cells, SummaryCell, i));
    if (object)
        json_text_close(json, '}');
}

static void write_section(JsonText *json, const SummarySection *section) {
    if (section->key != NULL)
        json_text_open(json, section->key, section->array ? '[' : '{');
    for (guint i = 0; i < section->rows->len; i++)
        write_row(json, section->rows->pdata[i], section->array);
    if (section->key != NULL)
        json_text_close(json, section->array ? ']' : '}');
}

char *summary_json(const SummaryInput *input) {
    g_autoptr(SummaryRows) rows = summary_rows_new(input);
    JsonText json = json_text_new();
    json_text_open(&json, NULL, '{');
    for (guint i = 0; i < rows->sections->len; i++)
        write_section(&json, rows->sections->pdata[i]);
    json_text_close(&json, '}');
    return json_text_end(&json);
}
