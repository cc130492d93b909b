#include "analysis/operators/sweep.h"

#include "workloads/input_error.h"
#include <string.h>

#define SWEEP_MAX 10000

const char *sweep_text_at(gconstpointer options, gsize offset) {
    return *(char *const *)(const void *)((const char *)options + offset);
}

gboolean sweep_flag_at(gconstpointer options, gsize offset) {
    return *(const gboolean *)(const void *)((const char *)options + offset);
}

int sweep_choose(const char *option, const char *what, const char *word, const char *const *names,
                 GError **error) {
    guint n = g_strv_length((char **)names);

    for (guint i = 0; i < n; i++)
        if (strcmp(names[i], word) == 0)
            return (int)i;
    g_autofree char *hint = near_miss_hint(word, names, n);
    g_autofree char *all = g_strjoinv(", ", (char **)names);
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_UNKNOWN,
                "%s: unknown %s '%s'%s; expected one of: %s", option, what, word, hint, all);
    return -1;
}

GArray *sweep_choices(const char *option, const char *what, const char *words,
                      const char *const *names, GError **error) {
    g_autoptr(GArray) values = g_array_new(FALSE, FALSE, sizeof(guint));
    g_auto(GStrv) parts = g_strsplit(words, ",", -1);

    for (char **part = parts; *part != NULL; part++) {
        int chosen = sweep_choose(option, what, g_strstrip(*part), names, error);
        guint value = (guint)chosen;
        if (chosen < 0)
            return NULL;
        g_array_append_val(values, value);
    }
    return g_steal_pointer(&values);
}

gboolean sweep_size_parse(const SizeOption *size, const char *text, guint64 *value,
                          GError **error) {
    double number = 0;
    const char *expected = units_parse(text, size->dimension, &number);

    if (expected != NULL) {
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_VALUE, "%s: expected %s, not '%s'", size->shown,
                    expected, text);
        return FALSE;
    }
    if (number < (double)size->min || (size->max > 0 && number > (double)size->max)) {
        gboolean low = number < (double)size->min;
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_VALUE,
                    "%s: must be at %s %" G_GUINT64_FORMAT ", not %s", size->shown,
                    low ? "least" : "most", low ? size->min : size->max, text);
        return FALSE;
    }
    *value = (guint64)number;
    return TRUE;
}

/* "1024,2048": the values of a size. */
static GArray *sizes_parse(const SizeOption *size, const char *text, GError **error) {
    g_autoptr(GArray) values = g_array_new(FALSE, FALSE, sizeof(guint64));
    g_auto(GStrv) parts = g_strsplit(text, ",", -1);

    for (char **part = parts; *part != NULL; part++) {
        guint64 value;
        if (!sweep_size_parse(size, g_strstrip(*part), &value, error))
            return NULL;
        g_array_append_val(values, value);
    }
    return g_steal_pointer(&values);
}

static gboolean too_many(guint64 runs, const char *who, GError **error) {
    if (runs <= SWEEP_MAX)
        return FALSE;
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_VALUE,
                "%s: the lists make %" G_GUINT64_FORMAT " operators, more than %d", who, runs,
                SWEEP_MAX);
    return TRUE;
}

GArray *sweep_multiply(GArray *specs, gsize target, const GArray *values, const char *who,
                       GError **error) {
    g_autoptr(GArray) taken = specs;
    guint spec_bytes = g_array_get_element_size(specs);
    guint value_bytes = g_array_get_element_size((GArray *)values);

    if (too_many((guint64)specs->len * values->len, who, error))
        return NULL;
    GArray *product = g_array_sized_new(FALSE, FALSE, spec_bytes, specs->len * values->len);
    for (guint i = 0; i < specs->len; i++)
        for (guint j = 0; j < values->len; j++) {
            g_array_append_vals(product, specs->data + (gsize)i * spec_bytes, 1);
            memcpy(product->data + (gsize)(product->len - 1) * spec_bytes + target,
                   values->data + (gsize)j * value_bytes, value_bytes);
        }
    return product;
}

static gboolean is_missing(const SizeTable *table, const SizeOption *size, GError **error) {
    if (sweep_text_at(table->options, size->option) != NULL || size->fallback != NULL)
        return FALSE;
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_MISSING, "%s: %s needs option '%s'", table->who,
                table->name, size->shown);
    return TRUE;
}

GArray *sweep_expand(GArray *specs, const SizeTable *table, guint kinds, GError **error) {
    g_autoptr(GArray) all = specs;

    for (gsize i = 0; i < table->n_sizes && all != NULL; i++) {
        const SizeOption *size = &table->sizes[i];
        const char *text = sweep_text_at(table->options, size->option);
        if ((size->kinds & kinds) == 0)
            continue;
        if (is_missing(table, size, error))
            return NULL;
        if (text == NULL && strcmp(size->fallback, SIZE_LEFT_OPEN) == 0)
            continue;
        g_autoptr(GArray) values = sizes_parse(size, text == NULL ? size->fallback : text, error);
        if (values == NULL)
            return NULL;
        all = sweep_multiply(g_steal_pointer(&all), size->target, values, table->who, error);
    }
    return g_steal_pointer(&all);
}
