#include "analysis/campaign/vary.h"

#include "analysis/output/number_text.h"
#include "workloads/input_error.h"
#include <math.h>
#include <string.h>

#define CHECKED_VALUES 100
#define RANGE_SLACK 1e-9 /* of a step: rounding does not cost the last value */

static void key_free(gpointer data) {
    VaryKey *key = data;

    g_free(key->key);
    g_strfreev(key->values);
    g_free(key);
}

static gboolean wrong(const char *text, InputErrorCode code, GError **error, const char *what) {
    g_set_error(error, INPUT_ERROR, code, "--vary %s: %s", text, what);
    return FALSE;
}

/* --- ranges */

typedef struct Range {
    double from, to, step;
    char *unit; /* " ms" or "", as it stood behind the numbers */
} Range;

/* "100 ms" as 100 and its unit. FALSE when it does not begin with a number. */
static gboolean quantity_split(const char *text, double *number, const char **unit) {
    char *end;

    while (*text == ' ')
        text++;
    if (!g_ascii_isdigit(*text) && strchr("+-.", *text) == NULL)
        return FALSE;
    *number = g_ascii_strtod(text, &end);
    *unit = end;
    return end != text && isfinite(*number);
}

/* FALSE where it is no range of numbers with one unit. */
static gboolean range_parse(const char *text, Range *range) {
    g_auto(GStrv) parts = g_strsplit(text, ":", -1);
    double *const numbers[] = {&range->from, &range->to, &range->step};
    const char *units[G_N_ELEMENTS(numbers)];

    if (g_strv_length(parts) != G_N_ELEMENTS(numbers))
        return FALSE;
    for (guint i = 0; i < G_N_ELEMENTS(numbers); i++) {
        g_strchomp(parts[i]);
        if (!quantity_split(parts[i], numbers[i], &units[i]) || strcmp(units[i], units[0]) != 0)
            return FALSE;
    }
    range->unit = g_strdup(units[0]);
    return TRUE;
}

/* Twelve digits, so that steps of 0.1 do not show how they add up in binary. Caller frees. */
static char *range_value(const Range *range, gsize index) {
    char digits[G_ASCII_DTOSTR_BUF_SIZE], shortest[NUMBER_TEXT_MAX];
    double value = range->from + (double)index * range->step;

    g_ascii_formatd(digits, sizeof digits, "%.12g", value);
    char *end = number_text_shortest(shortest, g_ascii_strtod(digits, NULL));
    return g_strdup_printf("%.*s%s", (int)(end - shortest), shortest, range->unit);
}

static char **range_values(const char *text, const Range *range, GError **error) {
    double steps = floor((range->to - range->from) / range->step + RANGE_SLACK);

    if (!(steps >= 0) || range->step == 0) {
        wrong(text, INPUT_ERROR_VALUE, error, "the range is empty");
        return NULL;
    }
    if (steps >= VARY_RUNS_MAX) {
        wrong(text, INPUT_ERROR_VALUE, error, "the range has more than 100,000 values");
        return NULL;
    }
    char **values = g_new0(char *, (gsize)steps + 2);
    for (gsize i = 0; i <= (gsize)steps; i++)
        values[i] = range_value(range, i);
    return values;
}

/* --- lists */

static gboolean values_are_right(const char *text, char **values, GError **error) {
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);

    for (char **value = values; *value != NULL; value++) {
        if (**value == '\0')
            return wrong(text, INPUT_ERROR_VALUE, error, "a value is empty");
        if (!g_hash_table_add(seen, *value)) {
            g_autofree char *twice = g_strdup_printf("'%s' stands twice", *value);
            return wrong(text, INPUT_ERROR_DUPLICATE, error, twice);
        }
    }
    return TRUE;
}

static char **values_parse(const char *text, const char *values, GError **error) {
    Range range = {0};

    if (strchr(values, ':') != NULL) {
        if (!range_parse(values, &range)) {
            wrong(text, INPUT_ERROR_VALUE, error,
                  "expected FROM:TO:STEP in numbers with one unit, or values with commas between");
            return NULL;
        }
        char **steps = range_values(text, &range, error);
        g_free(range.unit);
        return steps;
    }
    g_auto(GStrv) parts = g_strsplit(values, ",", -1);
    for (char **part = parts; *part != NULL; part++)
        g_strstrip(*part);
    return values_are_right(text, parts, error) ? g_steal_pointer(&parts) : NULL;
}

static VaryKey *key_parse(const char *text, GError **error) {
    const char *equals = strchr(text, '=');

    if (equals == NULL || equals == text || equals[1] == '\0') {
        wrong(text, INPUT_ERROR_VALUE, error, "expected KEY=A,B,C or KEY=FROM:TO:STEP");
        return NULL;
    }
    char **values = values_parse(text, equals + 1, error);
    if (values == NULL)
        return NULL;
    VaryKey *key = g_new(VaryKey, 1);
    *key = (VaryKey){g_strndup(text, (gsize)(equals - text)), values};
    return key;
}

static gboolean key_is_new(const GPtrArray *keys, const VaryKey *key, GError **error) {
    for (guint i = 0; i < keys->len; i++) {
        const VaryKey *other = keys->pdata[i];
        if (strcmp(other->key, key->key) == 0)
            return wrong(key->key, INPUT_ERROR_DUPLICATE, error, "this key stands twice");
    }
    return TRUE;
}

gsize vary_runs(const GPtrArray *keys) {
    double runs = 1;

    for (guint i = 0; i < keys->len; i++)
        runs *= g_strv_length(((const VaryKey *)keys->pdata[i])->values);
    return (gsize)MIN(runs, (double)VARY_RUNS_MAX * VARY_RUNS_MAX);
}

GPtrArray *vary_parse(const char *const *texts, GError **error) {
    g_autoptr(GPtrArray) keys = g_ptr_array_new_with_free_func(key_free);

    for (guint i = 0; texts != NULL && texts[i] != NULL; i++) {
        VaryKey *key = key_parse(texts[i], error);
        if (key == NULL)
            return NULL;
        gboolean is_new = key_is_new(keys, key, error);
        g_ptr_array_add(keys, key);
        if (!is_new)
            return NULL;
    }
    if (keys->len > 0 && vary_runs(keys) <= VARY_RUNS_MAX)
        return g_steal_pointer(&keys);
    if (keys->len == 0)
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_MISSING,
                    "infergrid sweep: missing option '--vary'");
    else
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_VALUE,
                    "--vary: the lists make more than 100,000 runs");
    return NULL;
}

/* --- the product */

const char *vary_value(const GPtrArray *keys, gsize run, guint key) {
    for (guint i = keys->len; i-- > key + 1;)
        run /= g_strv_length(((const VaryKey *)keys->pdata[i])->values);
    char **values = ((const VaryKey *)keys->pdata[key])->values;
    return values[run % g_strv_length(values)];
}

char **vary_overrides(const GPtrArray *keys, gsize run) {
    char **overrides = g_new0(char *, keys->len + 1);

    for (guint i = 0; i < keys->len; i++) {
        const VaryKey *key = keys->pdata[i];
        overrides[i] = g_strdup_printf("%s=%s", key->key, vary_value(keys, run, i));
    }
    return overrides;
}

int vary_find(const GPtrArray *keys, const char *word) {
    int found = -1;

    for (guint i = 0; i < keys->len; i++) {
        const char *key = ((const VaryKey *)keys->pdata[i])->key;
        g_autofree char *end = g_strconcat(".", word, NULL);
        if (strcmp(key, word) == 0)
            return (int)i;
        if (g_str_has_suffix(key, end))
            found = found == -1 ? (int)i : -2;
    }
    return found;
}

/* --- checking */

/* What stands beside the one value that is tried. */
typedef enum { BESIDE_NOTHING, BESIDE_FIRST, BESIDE_LAST, N_BESIDES } Beside;

/* Caller frees the array and its texts. */
static char **trial_of(const GPtrArray *keys, guint tried, const char *value, Beside beside) {
    g_autoptr(GStrvBuilder) builder = g_strv_builder_new();

    for (guint i = 0; i < keys->len; i++) {
        const VaryKey *key = keys->pdata[i];
        guint last = g_strv_length(key->values) - 1;
        const char *other = key->values[beside == BESIDE_LAST ? last : 0];
        if (i != tried && beside == BESIDE_NOTHING)
            continue;
        g_autofree char *override = g_strdup_printf("%s=%s", key->key, i == tried ? value : other);
        g_strv_builder_add(builder, override);
    }
    return g_strv_builder_end(builder);
}

/* Of the experiment that the keys belong to. */
typedef struct Checker {
    const GPtrArray *keys;
    const CampaignSetup *setup;
    const Experiment *base;
} Checker;

/* TRUE when the experiment loads, or when its parts are right but do not go together. */
static gboolean exists(const Checker *checker, char **trial, GError **error) {
    const CampaignSetup *setup = checker->setup;
    g_autoptr(GStrvBuilder) builder = g_strv_builder_new();
    g_autoptr(GError) failure = NULL;

    if (setup->overrides != NULL)
        g_strv_builder_addv(builder, (const char **)setup->overrides);
    g_strv_builder_addv(builder, (const char **)trial);
    g_auto(GStrv) overrides = g_strv_builder_end(builder);
    g_autoptr(Experiment) experiment = experiment_load_beside(
        checker->base, setup->path, (const char *const *)overrides, &failure);
    if (experiment != NULL || g_error_matches(failure, INPUT_ERROR, INPUT_ERROR_CONFLICT))
        return TRUE;
    g_propagate_error(error, g_steal_pointer(&failure));
    return FALSE;
}

static gboolean value_exists(const Checker *checker, guint tried, const char *value,
                             GError **error) {
    g_autoptr(GError) failure = NULL;

    for (Beside beside = BESIDE_NOTHING; beside < N_BESIDES; beside++) {
        g_auto(GStrv) trial = trial_of(checker->keys, tried, value, beside);
        if (exists(checker, trial, failure == NULL ? &failure : NULL))
            return TRUE;
    }
    g_propagate_error(error, g_steal_pointer(&failure));
    return FALSE;
}

gboolean vary_check(const GPtrArray *keys, const CampaignSetup *setup, const Experiment *base,
                    GError **error) {
    Checker checker = {keys, setup, base};

    for (guint i = 0; i < keys->len; i++) {
        char **values = ((const VaryKey *)keys->pdata[i])->values;
        for (guint v = 0; v < CHECKED_VALUES && values[v] != NULL; v++)
            if (!value_exists(&checker, i, values[v], error))
                return FALSE;
    }
    return TRUE;
}
