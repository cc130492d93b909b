#include "analysis/reproduce/wafer_reproduction_text.h"

#include "analysis/output/json_text.h"
#include "analysis/output/number_text.h"
#include <math.h>
#include <string.h>

static const char *const titles[N_WAFER_TABLES] = {
    "WaferLLM table 2: generated tokens/s, prompt and output together",
    "WaferLLM table 3: prompt tokens/s, 4096 tokens",
    "WaferLLM table 4: decoded tokens/s at a context of 4096 tokens",
    "WaferLLM table 5: longest output until a core is full",
    "WaferLLM table 6: vector times matrix, FP16, K-tree without broadcast",
    "WaferLLM table 7: prefill of 4096 tokens, energy against GPUs",
    "WaferLLM table 8: decode at a context of 4096 tokens, energy against GPUs",
};

static const WaferRow *row_at(const WaferReproduction *reproduction, guint index) {
    return &g_array_index(reproduction->rows, WaferRow, index);
}

static const char *whole_models(WaferTable table) {
    static const char *const layers =
        "layers only, as in the published kernels: no final norm, no LM head, no shift of KV";

    if (table == WAFER_TABLE_KV || table == WAFER_TABLE_GEMV)
        return NULL;
    return table == WAFER_TABLE_END_TO_END
               ? layers
               : "layers only, as in the published kernels: no final norm, no LM head, no shift of "
                 "KV, no weights moved in from beside the grid";
}

/* --- the table */

static void append_fixed(GString *out, const char *format, double value) {
    char digits[G_ASCII_DTOSTR_BUF_SIZE];

    g_string_append_printf(out, "%11s", g_ascii_formatd(digits, sizeof digits, format, value));
}

static const char *const formats[N_WAFER_QUANTITIES] = {
    [WAFER_TOKENS_PER_S] = "%.1f", [WAFER_TOKENS] = "%.0f",      [WAFER_MILLISECONDS] = "%.5f",
    [WAFER_ENERGY_RATIO] = "%.3f", [WAFER_TOKEN_RATIO] = "%.1f",
};

static void append_row(GString *out, const WaferRow *row) {
    g_string_append_printf(out, "%-12s%-10s%-20s%-13s", row->model, row->system, row->setting,
                           wafer_quantity_names[row->quantity]);
    append_fixed(out, formats[row->quantity], row->published);
    if (isnan(row->simulated)) {
        g_string_append(out, "          -        -\n");
        return;
    }
    append_fixed(out, formats[row->quantity], row->simulated);
    char digits[G_ASCII_DTOSTR_BUF_SIZE];
    g_string_append_printf(
        out, "%9s", g_ascii_formatd(digits, sizeof digits, "%+.1f", 100 * wafer_row_error(row)));
    g_string_append(out, row->calibrated ? " c\n" : "\n");
}

/* Whether an earlier row says the same. */
static gboolean told_before(const WaferReproduction *reproduction, guint index) {
    for (guint i = 0; i < index; i++)
        if (row_at(reproduction, i)->note == row_at(reproduction, index)->note)
            return TRUE;
    return FALSE;
}

static void append_notes(GString *out, const WaferReproduction *reproduction) {
    const char *whole = whole_models(reproduction->table);
    gboolean calibrated = FALSE;

    for (guint i = 0; i < reproduction->rows->len; i++)
        calibrated |= row_at(reproduction, i)->calibrated;
    g_string_append_c(out, '\n');
    if (calibrated)
        g_string_append(out, "c  the platform's numbers were calibrated on these: no prediction\n");
    for (guint i = 0; i < reproduction->rows->len; i++) {
        const WaferRow *row = row_at(reproduction, i);
        if (row->note != NULL && !told_before(reproduction, i))
            g_string_append_printf(out, "%s (%s, %s): %s\n", row->model, row->system,
                                   wafer_quantity_names[row->quantity], row->note);
        if (row->detail != NULL && strcmp(row->system, "WaferLLM") == 0)
            g_string_append_printf(out, "%s, %s, %s: %s\n", row->model, row->system, row->setting,
                                   row->detail);
    }
    if (whole != NULL)
        g_string_append_printf(out, "%s\n", whole);
}

static void append_errors(GString *out, const WaferReproduction *reproduction) {
    g_autoptr(GArray) all = wafer_reproduction_errors(reproduction);

    g_string_append_printf(out, "\n%-12s%-14s%9s%10s%10s\n", "predicted", "", "figures", "median %",
                           "worst %");
    for (guint i = 0; i < all->len; i++) {
        const WaferErrors *errors = &g_array_index(all, WaferErrors, i);
        char median[G_ASCII_DTOSTR_BUF_SIZE], worst[G_ASCII_DTOSTR_BUF_SIZE];
        g_string_append_printf(out, "%-12s%-14s%9u%10s%10s\n", errors->system,
                               wafer_quantity_names[errors->quantity], errors->rows,
                               g_ascii_formatd(median, sizeof median, "%.1f", 100 * errors->median),
                               g_ascii_formatd(worst, sizeof worst, "%.1f", 100 * errors->worst));
    }
}

char *wafer_reproduction_table(const WaferReproduction *reproduction) {
    GString *out = g_string_new(NULL);

    g_string_append_printf(out, "%s\n\n%-12s%-10s%-20s%-13s%11s%11s%9s\n",
                           titles[reproduction->table], "model", "system", "setting", "quantity",
                           "published", "simulated", "error %");
    for (guint i = 0; i < reproduction->rows->len; i++)
        append_row(out, row_at(reproduction, i));
    append_notes(out, reproduction);
    append_errors(out, reproduction);
    return g_string_free(out, FALSE);
}

/* --- CSV */

static void append_number(GString *out, double value) {
    char text[NUMBER_TEXT_MAX];

    g_string_append_c(out, ',');
    if (!isnan(value))
        g_string_append_len(out, text, number_text_shortest(text, value) - text);
}

/* In quotes where it has a comma; none of ours has quotes. */
static void append_words(GString *out, const char *words) {
    const char *quote = words != NULL && g_strstr_len(words, -1, ",") != NULL ? "\"" : "";

    g_string_append_printf(out, ",%s%s%s", quote, words == NULL ? "" : words, quote);
}

char *wafer_reproduction_csv(const WaferReproduction *reproduction) {
    GString *out = g_string_new("model,system,setting,quantity,published,simulated,error,"
                                "calibrated,note,detail\n");

    for (guint i = 0; i < reproduction->rows->len; i++) {
        const WaferRow *row = row_at(reproduction, i);
        g_string_append(out, row->model);
        append_words(out, row->system);
        append_words(out, row->setting);
        append_words(out, wafer_quantity_names[row->quantity]);
        append_number(out, row->published);
        append_number(out, row->simulated);
        append_number(out, wafer_row_error(row));
        append_words(out, row->calibrated ? "yes" : "no");
        append_words(out, row->note);
        append_words(out, row->detail);
        g_string_append_c(out, '\n');
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

static void json_row(JsonText *json, const WaferRow *row) {
    json_text_open(json, NULL, '{');
    json_text_string(json, "model", row->model);
    json_text_string(json, "system", row->system);
    json_text_string(json, "setting", row->setting);
    json_text_string(json, "quantity", wafer_quantity_names[row->quantity]);
    json_text_number(json, "published", row->published);
    json_text_number(json, "simulated", row->simulated);
    json_text_number(json, "error", wafer_row_error(row));
    json_text_bool(json, "calibrated", row->calibrated);
    json_words(json, "note", row->note);
    json_words(json, "detail", row->detail);
    json_text_close(json, '}');
}

static void json_errors(JsonText *json, const WaferReproduction *reproduction) {
    g_autoptr(GArray) all = wafer_reproduction_errors(reproduction);

    json_text_open(json, "predicted", '[');
    for (guint i = 0; i < all->len; i++) {
        const WaferErrors *errors = &g_array_index(all, WaferErrors, i);
        json_text_open(json, NULL, '{');
        json_text_string(json, "system", errors->system);
        json_text_string(json, "quantity", wafer_quantity_names[errors->quantity]);
        json_text_count(json, "rows", errors->rows);
        json_text_number(json, "median_error", errors->median);
        json_text_number(json, "worst_error", errors->worst);
        json_text_close(json, '}');
    }
    json_text_close(json, ']');
}

char *wafer_reproduction_json(const WaferReproduction *reproduction, const Platform *platform) {
    JsonText json = json_text_new();

    json_text_open(&json, NULL, '{');
    json_text_string(&json, "table", wafer_table_names[reproduction->table]);
    json_text_string(&json, "platform", platform->name);
    json_words(&json, "models", whole_models(reproduction->table));
    json_errors(&json, reproduction);
    json_text_open(&json, "rows", '[');
    for (guint i = 0; i < reproduction->rows->len; i++)
        json_row(&json, row_at(reproduction, i));
    json_text_close(&json, ']');
    json_text_close(&json, '}');
    return json_text_end(&json);
}
