#include "analysis/compare/comparison.h"

#include "analysis/compare/key_order.h"
#include <math.h>
#include <string.h>

static void figure_free(gpointer data) {
    ComparedFigure *figure = data;

    g_free(figure->values);
    g_free(figure->present);
    g_free(figure);
}

/* --- one list of figures */

static ComparedFigure *figure_new(const char *key, guint n) {
    ComparedFigure *figure = g_new(ComparedFigure, 1);

    *figure = (ComparedFigure){.key = key,
                               .form = figure_key_form(key),
                               .direction = figure_key_direction(key),
                               .values = g_new(double, n),
                               .present = g_new0(gboolean, n),
                               .n = n};
    for (guint i = 0; i < n; i++)
        figure->values[i] = NAN;
    return figure;
}

static GPtrArray *keys_of(const SummaryFile *summary) {
    GPtrArray *keys = g_ptr_array_new();

    for (guint i = 0; i < summary->figures->len; i++)
        g_ptr_array_add(keys, ((const SummaryFigure *)summary->figures->pdata[i])->key);
    return keys;
}

static void take_values(GHashTable *by_key, const SummaryFile *summary, guint at) {
    for (guint i = 0; i < summary->figures->len; i++) {
        const SummaryFigure *from = summary->figures->pdata[i];
        ComparedFigure *to = g_hash_table_lookup(by_key, from->key);
        to->values[at] = from->value;
        to->present[at] = TRUE;
        if (from->form == FORM_BOOL)
            to->form = FORM_BOOL;
    }
}

/* All keys, those of a section behind the first of them. Borrowed; caller frees the array. */
static GPtrArray *keys_in_order(ResultFolder *const *folders, guint n) {
    g_autoptr(GPtrArray) merged = g_ptr_array_new();
    GPtrArray *order = g_ptr_array_new();

    for (guint i = 0; i < n; i++) {
        g_autoptr(GPtrArray) keys = keys_of(folders[i]->summary);
        key_order_merge(merged, keys);
    }
    while (merged->len > 0) {
        const char *first = merged->pdata[0];
        for (guint i = 0; i < merged->len;)
            if (figure_key_same_section(merged->pdata[i], first))
                g_ptr_array_add(order, g_ptr_array_steal_index(merged, i));
            else
                i++;
    }
    return order;
}

static GPtrArray *figures_of(ResultFolder *const *folders, guint n) {
    g_autoptr(GPtrArray) order = keys_in_order(folders, n);
    g_autoptr(GHashTable) by_key = g_hash_table_new(g_str_hash, g_str_equal);
    GPtrArray *figures = g_ptr_array_new_with_free_func(figure_free);

    for (guint i = 0; i < order->len; i++) {
        ComparedFigure *figure = figure_new(order->pdata[i], n);
        g_ptr_array_add(figures, figure);
        g_hash_table_insert(by_key, order->pdata[i], figure);
    }
    for (guint i = 0; i < n; i++)
        take_values(by_key, folders[i]->summary, i);
    return figures;
}

/* --- differences */

double compared_figure_delta(const ComparedFigure *figure, guint at) {
    return figure->values[at] - figure->values[0];
}

double compared_figure_percent(const ComparedFigure *figure, guint at) {
    double delta = compared_figure_delta(figure, at);
    double base = fabs(figure->values[0]);

    if (!(fabs(delta) > 0))
        return delta;
    return base > 0 ? 100 * delta / base : NAN;
}

Verdict compared_figure_verdict(const ComparedFigure *figure, guint at) {
    double delta = compared_figure_delta(figure, at);

    if (isnan(delta))
        return VERDICT_NONE;
    if (!(fabs(delta) > 0))
        return VERDICT_SAME;
    if (figure->direction == DIRECTION_NONE)
        return VERDICT_NONE;
    return (delta > 0) == (figure->direction == DIRECTION_LARGER) ? VERDICT_BETTER : VERDICT_WORSE;
}

gboolean comparison_exceeds(const Comparison *comparison, const ComparedFigure *figure, guint at) {
    double percent = fabs(compared_figure_percent(figure, at));

    return !isnan(comparison->threshold) && compared_figure_verdict(figure, at) == VERDICT_WORSE &&
           (isnan(percent) || percent > comparison->threshold);
}

guint comparison_exceeding(const Comparison *comparison) {
    guint n = 0;

    for (guint i = 0; i < comparison->figures->len; i++)
        for (guint at = 1; at < comparison->n; at++)
            n += comparison_exceeds(comparison, comparison->figures->pdata[i], at) ? 1 : 0;
    return n;
}

/* The same bits of information: values, or nothing, on both sides. */
static gboolean figure_is_same(const ComparedFigure *figure) {
    for (guint at = 1; at < figure->n; at++)
        if (figure->present[at] != figure->present[0] ||
            isnan(figure->values[at]) != isnan(figure->values[0]) ||
            fabs(compared_figure_delta(figure, at)) > 0)
            return FALSE;
    return TRUE;
}

static gboolean is_identical(const Comparison *comparison) {
    if (comparison->changes->len > 0)
        return FALSE;
    for (guint i = 0; i < comparison->figures->len; i++)
        if (!figure_is_same(comparison->figures->pdata[i]))
            return FALSE;
    for (guint at = 1; at < comparison->n; at++)
        if (!paired_requests_equal(comparison->paired[at], comparison->folders[0]->requests,
                                   comparison->folders[at]->requests))
            return FALSE;
    return TRUE;
}

/* --- the whole */

static GPtrArray *changes_of(ResultFolder *const *folders, guint n) {
    g_autofree const YamlNode **experiments = g_new(const YamlNode *, n);

    for (guint i = 0; i < n; i++)
        experiments[i] = folders[i]->experiment;
    return setting_changes(experiments, n);
}

Comparison *comparison_new(ResultFolder *const *folders, guint n, double threshold_percent) {
    Comparison *comparison = g_new0(Comparison, 1);

    *comparison = (Comparison){.folders = folders,
                               .n = n,
                               .changes = changes_of(folders, n),
                               .figures = figures_of(folders, n),
                               .paired = g_new0(PairedRequests *, n),
                               .threshold = threshold_percent};
    for (guint at = 1; at < n; at++) {
        gboolean closed_loop = folders[0]->closed_loop && folders[at]->closed_loop;
        comparison->paired[at] =
            paired_requests_new(folders[0]->requests, folders[at]->requests, closed_loop);
    }
    comparison->identical = is_identical(comparison);
    return comparison;
}

void comparison_free(Comparison *comparison) {
    if (comparison == NULL)
        return;
    for (guint at = 1; at < comparison->n; at++)
        paired_requests_free(comparison->paired[at]);
    g_free(comparison->paired);
    g_ptr_array_unref(comparison->figures);
    g_ptr_array_unref(comparison->changes);
    g_free(comparison);
}

/* --- names */

char *comparison_letter(guint at) {
    char letters[8];
    guint place = sizeof letters - 1;

    letters[place] = '\0';
    for (guint rest = at + 1; rest > 0; rest = (rest - 1) / 26)
        letters[--place] = (char)('A' + (rest - 1) % 26);
    return g_strdup(letters + place);
}

static char *own_name(const char *path) {
    g_autofree char *absolute = g_canonicalize_filename(path, NULL);

    return g_path_get_basename(absolute);
}

char *comparison_name(const Comparison *comparison, guint at) {
    const char *path = comparison->folders[at]->path;
    g_autofree char *letter = comparison_letter(at);
    g_autofree char *own = own_name(path);
    gboolean doubled = FALSE;

    for (guint i = 0; i < comparison->n; i++) {
        g_autofree char *other = own_name(comparison->folders[i]->path);
        doubled = doubled || (i != at && strcmp(own, other) == 0);
    }
    return g_strdup_printf("%s  %s", letter, doubled ? path : own);
}

const char *verdict_name(Verdict verdict) {
    static const char *const names[] = {[VERDICT_NONE] = NULL,
                                        [VERDICT_SAME] = "same",
                                        [VERDICT_BETTER] = "better",
                                        [VERDICT_WORSE] = "worse"};
    return names[verdict];
}

const char *direction_name(FigureDirection direction) {
    static const char *const names[] = {
        [DIRECTION_NONE] = NULL, [DIRECTION_LARGER] = "larger", [DIRECTION_SMALLER] = "smaller"};
    return names[direction];
}
