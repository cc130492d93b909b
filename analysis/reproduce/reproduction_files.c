/* Reproductions as CSV and JSON. */
#include "analysis/reproduce/reproduction_text.h"

#include "analysis/output/csv_text.h"
#include "analysis/output/json_text.h"

/* --- CSV */

/* A cell behind others; NULL: an empty one. */
static void append_words(GString *out, const char *words) {
    g_string_append_c(out, ',');
    csv_text_cell(out, words == NULL ? "" : words);
}

static void append_number(GString *out, double value, gboolean oom) {
    g_string_append_c(out, ',');
    if (oom)
        g_string_append(out, "OOM");
    else
        csv_text_number(out, value);
}

static void append_cell(GString *out, const char *table, const ReproducedCell *cell) {
    g_string_append(out, table);
    append_words(out, cell->series);
    append_words(out, cell->row);
    append_words(out, cell->column);
    append_words(out, cell->unit);
    append_number(out, cell->published, cell->published_oom);
    append_number(out, cell->simulated, cell->simulated_oom);
    append_number(out, reproduced_cell_error(cell), FALSE);
    append_words(out, (cell->marks & CELL_CALIBRATED) != 0 ? "yes" : "no");
    append_words(out, (cell->marks & CELL_UNEXPLAINED) != 0 ? "yes" : "no");
    append_words(out, (cell->marks & CELL_CONTRADICTED) != 0 ? "yes" : "no");
    append_words(out, (cell->marks & CELL_CHOSEN) != 0 ? "yes" : "no");
    append_words(out, cell->note);
    append_words(out, cell->detail);
    g_string_append_c(out, '\n');
}

char *reproduction_csv(const GPtrArray *all) {
    GString *out = g_string_new("table,series,row,column,unit,published,simulated,error,calibrated,"
                                "unexplained,contradicted,chosen,note,detail\n");

    for (guint i = 0; i < all->len; i++) {
        const Reproduction *table = g_ptr_array_index(all, i);
        for (guint j = 0; j < table->cells->len; j++)
            append_cell(out, table->name, reproduction_cell(table, j));
    }
    return g_string_free(out, FALSE);
}

char *reproduction_claims_csv(const GPtrArray *all) {
    GString *out = g_string_new("table,claim,of,kept,found\n");

    for (guint i = 0; i < all->len; i++) {
        const Reproduction *table = g_ptr_array_index(all, i);
        for (guint j = 0; j < table->claims->len; j++) {
            const ReproducedClaim *claim = &g_array_index(table->claims, ReproducedClaim, j);
            g_string_append(out, table->name);
            append_words(out, claim->text);
            g_string_append_printf(out, ",%u,%u", claim->of, claim->kept);
            append_words(out, claim->found);
            g_string_append_c(out, '\n');
        }
    }
    return g_string_free(out, FALSE);
}

/* --- JSON */

static void json_words(JsonText *json, const char *key, const char *words) {
    if (words == NULL)
        json_text_null(json, key);
    else
        json_text_string(json, key, words);
}

static void json_outcome(JsonText *json, const char *key, double value, gboolean oom) {
    if (oom)
        json_text_string(json, key, "OOM");
    else
        json_text_number(json, key, value);
}

static void json_cell(JsonText *json, const ReproducedCell *cell) {
    json_text_open(json, NULL, '{');
    json_text_string(json, "series", cell->series);
    json_text_string(json, "row", cell->row);
    json_text_string(json, "column", cell->column);
    json_text_string(json, "unit", cell->unit);
    json_outcome(json, "published", cell->published, cell->published_oom);
    json_outcome(json, "simulated", cell->simulated, cell->simulated_oom);
    json_text_number(json, "error", reproduced_cell_error(cell));
    json_text_bool(json, "calibrated", (cell->marks & CELL_CALIBRATED) != 0);
    json_text_bool(json, "unexplained", (cell->marks & CELL_UNEXPLAINED) != 0);
    json_text_bool(json, "contradicted", (cell->marks & CELL_CONTRADICTED) != 0);
    json_text_bool(json, "chosen", (cell->marks & CELL_CHOSEN) != 0);
    json_words(json, "note", cell->note);
    json_words(json, "detail", cell->detail);
    json_text_close(json, '}');
}

void reproduction_json_summary(JsonText *json, const ErrorSummary *summary) {
    json_text_count(json, "cells", summary->cells);
    json_text_number(json, "median_error", summary->median);
    json_text_number(json, "worst_error", summary->worst);
}

static void json_errors(JsonText *json, const Reproduction *table) {
    g_autoptr(GArray) all = reproduction_errors(table);
    ErrorSummary whole = reproduction_error_of(&table, 1);

    json_text_open(json, "predicted", '{');
    reproduction_json_summary(json, &whole);
    json_text_open(json, "series", '[');
    for (guint i = 0; i < all->len; i++) {
        const ErrorSummary *summary = &g_array_index(all, ErrorSummary, i);
        json_text_open(json, NULL, '{');
        json_text_string(json, "series", summary->series);
        json_text_string(json, "unit", summary->unit);
        reproduction_json_summary(json, summary);
        json_text_close(json, '}');
    }
    json_text_close(json, ']');
    json_text_close(json, '}');
}

static void json_claims(JsonText *json, const Reproduction *table) {
    json_text_open(json, "claims", '[');
    for (guint i = 0; i < table->claims->len; i++) {
        const ReproducedClaim *claim = &g_array_index(table->claims, ReproducedClaim, i);
        json_text_open(json, NULL, '{');
        json_text_string(json, "claim", claim->text);
        json_text_count(json, "of", claim->of);
        json_text_count(json, "kept", claim->kept);
        json_words(json, "found", claim->found);
        json_text_close(json, '}');
    }
    json_text_close(json, ']');
}

static void json_table(JsonText *json, const Reproduction *table) {
    json_text_open(json, NULL, '{');
    json_text_string(json, "table", table->name);
    json_text_string(json, "paper", table->paper);
    json_text_string(json, "title", table->title);
    json_text_bool(json, "derived", table->derived);
    json_errors(json, table);
    json_claims(json, table);
    json_text_open(json, "remarks", '[');
    for (guint i = 0; i < table->remarks->len; i++)
        json_text_string(json, NULL, g_ptr_array_index(table->remarks, i));
    json_text_close(json, ']');
    json_text_open(json, "cells", '[');
    for (guint i = 0; i < table->cells->len; i++)
        json_cell(json, reproduction_cell(table, i));
    json_text_close(json, ']');
    json_text_close(json, '}');
}

char *reproduction_json(const GPtrArray *all) {
    JsonText json = json_text_new();
    g_autoptr(GPtrArray) own = g_ptr_array_new();

    for (guint i = 0; i < all->len; i++)
        if (!((const Reproduction *)g_ptr_array_index(all, i))->derived)
            g_ptr_array_add(own, g_ptr_array_index(all, i));
    ErrorSummary summary = reproduction_error_of((const Reproduction *const *)own->pdata, own->len);
    json_text_open(&json, NULL, '{');
    json_text_open(&json, "predicted", '{');
    reproduction_json_summary(&json, &summary);
    json_text_close(&json, '}');
    json_text_open(&json, "tables", '[');
    for (guint i = 0; i < all->len; i++)
        json_table(&json, g_ptr_array_index(all, i));
    json_text_close(&json, ']');
    json_text_close(&json, '}');
    return json_text_end(&json);
}
