#include "analysis/capacity/capacity_report.h"
#include "analysis/output/json_text.h"
#include "analysis/output/number_text.h"
#include <math.h>
#include <string.h>

/* --- CSV */

static void csv_text(GString *out, const char *text) {
    g_auto(GStrv) parts = g_strsplit(text == NULL ? "" : text, "\"", -1);
    g_autofree char *doubled = g_strjoinv("\"\"", parts);

    if (text != NULL)
        g_string_append_printf(out, "\"%s\"", doubled);
}

static void csv_number(GString *out, double value) {
    char text[NUMBER_TEXT_MAX];

    if (isfinite(value))
        g_string_append_len(out, text, number_text_shortest(text, value) - text);
}

static void csv_point(GString *out, const CapacityPoint *point) {
    g_string_append_printf(out, ",%s,", point->holds ? "true" : "false");
    csv_text(out, point->plan);
    g_string_append_c(out, ',');
    csv_text(out, point->reason);
    for (guint i = 0; i < N_FIGURES; i++) {
        g_string_append_c(out, ',');
        csv_number(out, point->figures[i]);
    }
    g_string_append_c(out, '\n');
}

static void csv_head(GString *out) {
    g_string_append(out, ",holds,plan,reason");
    for (guint i = 0; i < N_FIGURES; i++)
        g_string_append_printf(out, ",%s", figure_info((Figure)i)->column);
    g_string_append_c(out, '\n');
}

char *capacity_report_sizes_csv(const CapacityReport *report) {
    const GPtrArray *sizes = report->capacity->sizes;
    const char *units = capacity_unit_names[report->setup->units];
    GString *out = g_string_new("units,size,plans,simulated,other_seeds,other_seeds_held");

    csv_head(out);
    for (guint i = 0; i < sizes->len; i++) {
        const CapacityPoint *point = sizes->pdata[i];
        g_string_append_printf(
            out, "%s,%" G_GUINT64_FORMAT ",%" G_GSIZE_FORMAT ",%" G_GSIZE_FORMAT ",%u,%u", units,
            point->size, point->candidates, point->simulated, point->seeds_asked,
            point->seeds_held);
        csv_point(out, point);
    }
    return g_string_free(out, FALSE);
}

char *capacity_report_loads_csv(const CapacityReport *report) {
    const GPtrArray *loads = report->capacity->loads;
    GString *out = g_string_new("load,offered_rate_per_s");

    csv_head(out);
    for (guint i = 0; i < loads->len; i++) {
        const CapacityPoint *point = loads->pdata[i];
        csv_number(out, point->load);
        g_string_append_c(out, ',');
        csv_number(out, report->capacity->rate_per_s * point->load);
        csv_point(out, point);
    }
    return g_string_free(out, FALSE);
}

/* --- JSON */

static void json_text_or_null(JsonText *json, const char *key, const char *text) {
    if (text == NULL)
        json_text_null(json, key);
    else
        json_text_string(json, key, text);
}

static void json_settings(JsonText *json, char *const *settings) {
    json_text_open(json, "settings", '[');
    for (; settings != NULL && *settings != NULL; settings++)
        json_text_string(json, NULL, *settings);
    json_text_close(json, ']');
}

static void json_point(JsonText *json, const char *key, const CapacityPoint *point) {
    json_text_open(json, key, '{');
    if (point->size > 0)
        json_text_count(json, "size", point->size);
    json_text_number(json, "load", point->load);
    json_text_bool(json, "holds", point->holds);
    json_text_or_null(json, "plan", point->plan);
    json_text_or_null(json, "reason", point->reason);
    json_settings(json, point->settings);
    if (point->candidates > 0) {
        json_text_bool(json, "ruled_out_by_bound", point->bounded);
        json_text_count(json, "plans", point->candidates);
        json_text_count(json, "simulated", point->simulated);
        json_text_count(json, "other_seeds", point->seeds_asked);
        json_text_count(json, "other_seeds_held", point->seeds_held);
    }
    for (guint i = 0; i < N_FIGURES; i++)
        json_text_number(json, figure_info((Figure)i)->column, point->figures[i]);
    json_text_close(json, '}');
}

static void json_points(JsonText *json, const char *key, const GPtrArray *points) {
    json_text_open(json, key, '[');
    for (guint i = 0; i < points->len; i++)
        json_point(json, NULL, points->pdata[i]);
    json_text_close(json, ']');
}

static void json_targets(JsonText *json, const CapacityReport *report) {
    const GArray *limits = report->setup->targets->limits;

    json_text_open(json, "targets", '[');
    for (guint i = 0; i < limits->len; i++)
        json_text_string(json, NULL, g_array_index(limits, FigureLimit, i).text);
    json_text_close(json, ']');
}

static void json_sizes(JsonText *json, const CapacityReport *report) {
    const Capacity *capacity = report->capacity;
    const CapacitySetup *setup = report->setup;
    gsize exception = capacity->size_search.exception;

    if (capacity->sizes->len == 0)
        return;
    json_text_string(json, "units", capacity_unit_names[setup->units]);
    json_text_bool(json, "monotone", !capacity->size_search.scanned && exception == NO_PLACE);
    if (exception != NO_PLACE)
        json_text_count(json, "larger_that_fails", setup->from + exception * setup->step);
    if (capacity->knee == NO_PLACE)
        json_text_null(json, "knee");
    else
        json_text_count(json, "knee",
                        ((const CapacityPoint *)capacity->sizes->pdata[capacity->knee])->size);
    json_text_number(json, "knee_gain", setup->knee_gain);
    json_points(json, "sizes", capacity->sizes);
}

static void json_loads(JsonText *json, const Capacity *capacity) {
    json_text_number(json, "offered_rate_per_s", capacity->rate_per_s);
    json_text_number(json, "highest_load", capacity->highest_load);
    json_text_number(json, "highest_rate_per_s", capacity->highest_load * capacity->rate_per_s);
    json_text_number(json, "lowest_broken_load", capacity->lowest_broken);
    json_text_bool(json, "loads_monotone", !capacity->loads_uneven);
    json_points(json, "loads", capacity->loads);
}

static void json_bottleneck(JsonText *json, const Capacity *capacity) {
    const CapacityRelief *bottleneck =
        capacity->bottleneck < 0 ? NULL : capacity->reliefs->pdata[capacity->bottleneck];

    json_text_or_null(json, "bottleneck", bottleneck == NULL ? NULL : bottleneck->resource);
    json_text_open(json, "reliefs", '[');
    for (guint i = 0; i < capacity->reliefs->len; i++) {
        const CapacityRelief *relief = capacity->reliefs->pdata[i];
        json_text_open(json, NULL, '{');
        json_text_or_null(json, "resource", relief->resource);
        json_text_or_null(json, "change", relief->change);
        json_text_number(json, "closed_share", relief->closed);
        json_text_open(json, "runs", '[');
        for (guint j = 0; j < PRESSED_LOADS; j++)
            json_point(json, NULL, relief->points[j]);
        json_text_close(json, ']');
        json_text_close(json, '}');
    }
    json_text_close(json, ']');
}

static void json_causes(JsonText *json, const GPtrArray *causes) {
    json_text_open(json, "causes", '[');
    for (guint i = 0; i < causes->len; i++) {
        const CapacityCause *cause = causes->pdata[i];
        json_text_open(json, NULL, '{');
        json_text_string(json, "target", cause->target->text);
        json_text_bool(json, "never", cause->never);
        json_text_string(json, "why", cause->text);
        json_text_close(json, '}');
    }
    json_text_close(json, ']');
}

char *capacity_report_json(const CapacityReport *report) {
    const Capacity *capacity = report->capacity;
    JsonText json = json_text_new();

    json_text_open(&json, NULL, '{');
    json_text_string(&json, "experiment", report->experiment);
    json_targets(&json, report);
    if (capacity->chosen == NULL)
        json_text_null(&json, "chosen");
    else
        json_point(&json, "chosen", capacity->chosen);
    json_sizes(&json, report);
    json_loads(&json, capacity);
    json_bottleneck(&json, capacity);
    json_points(&json, "seeds", capacity->seeds);
    json_causes(&json, capacity->causes);
    json_text_close(&json, '}');
    return json_text_end(&json);
}
