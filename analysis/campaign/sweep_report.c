#include "analysis/campaign/sweep_report.h"

#include "analysis/output/csv_text.h"
#include "analysis/output/json_text.h"
#include <math.h>
#include <string.h>

static void csv_head(GString *out, const SweepResult *result) {
    for (guint i = 0; i < result->keys->len; i++) {
        csv_text_cell(out, ((const VaryKey *)result->keys->pdata[i])->key);
        g_string_append_c(out, ',');
    }
    g_string_append(out, "status,reason");
    for (guint i = 0; i < N_FIGURES; i++)
        g_string_append_printf(out, ",%s", figure_info((Figure)i)->column);
    g_string_append_c(out, '\n');
}

static void csv_row(GString *out, const SweepResult *result, gsize run) {
    const Outcome *outcome = &result->runs[run].outcome;

    for (guint i = 0; i < result->keys->len; i++) {
        csv_text_cell(out, vary_value(result->keys, run, i));
        g_string_append_c(out, ',');
    }
    g_string_append_printf(out, "%s,", outcome_status_name(outcome->status));
    csv_text_cell(out, outcome->reason == NULL ? "" : outcome->reason);
    for (guint i = 0; i < N_FIGURES; i++) {
        g_string_append_c(out, ',');
        csv_text_number(out, outcome->figures[i]);
    }
    g_string_append_c(out, '\n');
}

char *sweep_report_csv(const SweepResult *result) {
    GString *out = g_string_new(NULL);
    gsize n = vary_runs(result->keys);

    csv_head(out, result);
    for (gsize i = 0; i < n; i++)
        if (result->shown[i])
            csv_row(out, result, i);
    return g_string_free(out, FALSE);
}

static void json_vary(JsonText *json, const GPtrArray *keys) {
    json_text_open(json, "vary", '[');
    for (guint i = 0; i < keys->len; i++) {
        const VaryKey *key = keys->pdata[i];
        json_text_open(json, NULL, '{');
        json_text_string(json, "key", key->key);
        json_text_open(json, "values", '[');
        for (char **value = key->values; *value != NULL; value++)
            json_text_string(json, NULL, *value);
        json_text_close(json, ']');
        json_text_close(json, '}');
    }
    json_text_close(json, ']');
}

static void json_run(JsonText *json, const SweepResult *result, gsize run) {
    const Outcome *outcome = &result->runs[run].outcome;

    json_text_open(json, NULL, '{');
    json_text_open(json, "settings", '{');
    for (guint i = 0; i < result->keys->len; i++)
        json_text_string(json, ((const VaryKey *)result->keys->pdata[i])->key,
                         vary_value(result->keys, run, i));
    json_text_close(json, '}');
    json_text_string(json, "status", outcome_status_name(outcome->status));
    if (outcome->reason == NULL)
        json_text_null(json, "reason");
    else
        json_text_string(json, "reason", outcome->reason);
    for (guint i = 0; i < N_FIGURES; i++)
        json_text_number(json, figure_info((Figure)i)->column, outcome->figures[i]);
    json_text_close(json, '}');
}

char *sweep_report_json(const SweepResult *result) {
    JsonText json = json_text_new();
    gsize n = vary_runs(result->keys);

    json_text_open(&json, NULL, '{');
    json_text_string(&json, "experiment", result->experiment);
    json_vary(&json, result->keys);
    json_text_open(&json, "runs", '[');
    for (gsize i = 0; i < n; i++)
        if (result->shown[i])
            json_run(&json, result, i);
    json_text_close(&json, ']');
    json_text_close(&json, '}');
    return json_text_end(&json);
}
