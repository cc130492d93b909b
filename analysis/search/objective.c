#include "analysis/search/objective.h"

#include "workloads/input_error.h"
#include <math.h>
#include <stdarg.h>
#include <string.h>

void figure_limit_clear(FigureLimit *limit) {
    g_clear_pointer(&limit->text, g_free);
}

static void clear_limit(gpointer limit) {
    figure_limit_clear(limit);
}

void objectives_free(Objectives *objectives) {
    if (objectives == NULL)
        return;
    g_array_unref(objectives->limits);
    g_free(objectives);
}

/* The figures' names, of objectives alone or of all; NULL-terminated, caller frees the array. */
static const char **names_of(gboolean objectives_only) {
    GPtrArray *names = g_ptr_array_new();

    for (Figure figure = 0; figure < N_FIGURES; figure++)
        if (!objectives_only || figure_info(figure)->is_objective)
            g_ptr_array_add(names, (gpointer)figure_info(figure)->name);
    g_ptr_array_add(names, NULL);
    return (const char **)g_ptr_array_free(names, FALSE);
}

/* Where a word stands: an option, or a node of the experiment. */
typedef struct Place {
    const char *option;
    const YamlNode *node;
} Place;

static gboolean fail(const Place *place, InputErrorCode code, GError **error, const char *format,
                     ...) G_GNUC_PRINTF(4, 5);

static gboolean fail(const Place *place, InputErrorCode code, GError **error, const char *format,
                     ...) {
    va_list arguments;

    va_start(arguments, format);
    g_autofree char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    if (place->node != NULL)
        return yaml_error(place->node, code, error, "%s", text);
    g_set_error(error, INPUT_ERROR, (gint)code, "%s: %s", place->option, text);
    return FALSE;
}

static gboolean unknown_figure(const Place *place, gboolean objective, const char *word,
                               GError **error) {
    g_autofree const char **names = names_of(objective);
    guint n = g_strv_length((char **)names);
    g_autofree char *hint = near_miss_hint(word, names, n);
    g_autofree char *all = g_strjoinv(", ", (char **)names);

    return fail(place, INPUT_ERROR_UNKNOWN, error, "unknown %s '%s'%s; expected one of: %s",
                objective ? "objective" : "figure", word, hint, all);
}

static gboolean needs_slo(Figure figure) {
    return figure == FIGURE_GOODPUT || figure == FIGURE_GOODPUT_RATE;
}

/* --- objectives */

static gboolean add_objective(Objectives *objectives, const char *word, const Place *place,
                              const Slo *slo, GError **error) {
    int found = figure_find(word);
    Figure figure = (Figure)found;

    if (found < 0 || !figure_info(figure)->is_objective)
        return unknown_figure(place, TRUE, word, error);
    if (needs_slo(figure) && !slo_has_limits(slo))
        return fail(place, INPUT_ERROR_CONFLICT, error,
                    "'%s' needs a limit in the experiment's section 'slo'", word);
    for (guint i = 0; i < objectives->n; i++)
        if (objectives->figures[i] == figure)
            return fail(place, INPUT_ERROR_DUPLICATE, error, "'%s' stands twice", word);
    if (objectives->n == OBJECTIVES_MAX)
        return fail(place, INPUT_ERROR_VALUE, error, "expected at most %d objectives",
                    OBJECTIVES_MAX);
    objectives->figures[objectives->n++] = figure;
    return TRUE;
}

static gboolean read_objectives(Objectives *objectives, const char *names, const Slo *slo,
                                GError **error) {
    g_auto(GStrv) words = g_strsplit(names, ",", -1);
    Place place = {.option = "--objective"};

    if (words[0] == NULL)
        return unknown_figure(&place, TRUE, "", error);
    for (char **word = words; *word != NULL; word++)
        if (!add_objective(objectives, g_strstrip(*word), &place, slo, error))
            return FALSE;
    return TRUE;
}

static gboolean read_nodes(Objectives *objectives, const GPtrArray *nodes, const Slo *slo,
                           GError **error) {
    for (guint i = 0; i < nodes->len; i++) {
        Place place = {.node = nodes->pdata[i]};
        if (!add_objective(objectives, place.node->text, &place, slo, error))
            return FALSE;
    }
    return TRUE;
}

/* --- limits */

gboolean figure_limit_parse(const char *text, const char *option, FigureLimit *limit,
                            GError **error) {
    const char *sign = strstr(text, "<=") != NULL ? strstr(text, "<=") : strstr(text, ">=");

    *limit = (FigureLimit){0};
    if (sign == NULL) {
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_SYNTAX,
                    "%s: expected a figure, '<=' or '>=', and a value, such as 'ttft_p99 <= 2 s', "
                    "not '%s'",
                    option, text);
        return FALSE;
    }
    g_autofree char *name = g_strstrip(g_strndup(text, (gsize)(sign - text)));
    g_autofree char *value = g_strstrip(g_strdup(sign + 2));
    int figure = figure_find(name);
    if (figure < 0)
        return unknown_figure(&(Place){.option = option}, FALSE, name, error);
    const char *expected =
        units_parse(value, figure_info((Figure)figure)->dimension, &limit->value);
    if (expected != NULL) {
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_VALUE, "%s: expected %s for '%s', not '%s'",
                    option, expected, name, value);
        return FALSE;
    }
    limit->figure = (Figure)figure;
    limit->at_most = *sign == '<';
    limit->text = g_strdup_printf("%s %.2s %s", name, sign, value);
    return TRUE;
}

gboolean figure_limit_kept(const FigureLimit *limit, const double *figures) {
    double value = figures[limit->figure];

    return limit->at_most ? value <= limit->value : value >= limit->value;
}

static gboolean contradict(const FigureLimit *a, const FigureLimit *b) {
    if (a->figure != b->figure || a->at_most == b->at_most)
        return FALSE;
    return a->at_most ? a->value < b->value : b->value < a->value;
}

gboolean objectives_add_limit(Objectives *objectives, const char *text, const char *option,
                              const Slo *slo, GError **error) {
    FigureLimit limit;

    if (!figure_limit_parse(text, option, &limit, error))
        return FALSE;
    g_array_append_val(objectives->limits, limit);
    if (needs_slo(limit.figure) && !slo_has_limits(slo)) {
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                    "%s: '%s' needs a limit in the experiment's section 'slo'", option,
                    figure_info(limit.figure)->name);
        return FALSE;
    }
    for (guint i = 0; i + 1 < objectives->limits->len; i++) {
        const FigureLimit *other = &g_array_index(objectives->limits, FigureLimit, i);
        if (!contradict(other, &limit))
            continue;
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                    "%s: '%s' and '%s' contradict each other", option, other->text, limit.text);
        return FALSE;
    }
    return TRUE;
}

Objectives *objectives_new(const char *names, const GPtrArray *nodes, const char *const *limits,
                           const Slo *slo, GError **error) {
    g_autoptr(Objectives) objectives = g_new0(Objectives, 1);

    objectives->limits = g_array_new(FALSE, FALSE, sizeof(FigureLimit));
    g_array_set_clear_func(objectives->limits, clear_limit);
    if (names != NULL ? !read_objectives(objectives, names, slo, error)
                      : !read_nodes(objectives, nodes, slo, error))
        return NULL;
    for (guint i = 0; limits != NULL && limits[i] != NULL; i++)
        if (!objectives_add_limit(objectives, limits[i], "--limit", slo, error))
            return NULL;
    return g_steal_pointer(&objectives);
}

const FigureLimit *objectives_broken_limit(const Objectives *objectives, const double *figures) {
    for (guint i = 0; i < objectives->limits->len; i++) {
        const FigureLimit *limit = &g_array_index(objectives->limits, FigureLimit, i);
        if (!figure_limit_kept(limit, figures))
            return limit;
    }
    return NULL;
}

/* --- comparing */

int objective_compare(Figure figure, double a, double b) {
    if (isnan(a) || isnan(b))
        return (isnan(a) ? 1 : 0) - (isnan(b) ? 1 : 0);
    if (a == b)
        return 0;
    return (a > b) == figure_info(figure)->larger_is_better ? -1 : 1;
}

Comparison objectives_compare(const Objectives *objectives, const double *a, const double *b) {
    gboolean better = FALSE, worse = FALSE;

    for (guint i = 0; i < objectives->n; i++) {
        Figure figure = objectives->figures[i];
        int order = objective_compare(figure, a[figure], b[figure]);
        better |= order < 0;
        worse |= order > 0;
    }
    if (better && worse)
        return OBJECTIVES_MIXED;
    if (better || worse)
        return better ? OBJECTIVES_BETTER : OBJECTIVES_WORSE;
    return OBJECTIVES_EQUAL;
}

int objectives_order(const Objectives *objectives, const double *a, const double *b) {
    for (guint i = 0; i < objectives->n; i++) {
        Figure figure = objectives->figures[i];
        int order = objective_compare(figure, a[figure], b[figure]);
        if (order != 0)
            return order;
    }
    return 0;
}

/* What stands behind a figure whose dimension alone does not say it. */
static const char *unit_of(Figure figure) {
    static const struct {
        Figure figure;
        const char *unit;
    } units[] = {{FIGURE_THROUGHPUT, " tokens/s"},
                 {FIGURE_REQUEST_RATE, " requests/s"},
                 {FIGURE_GOODPUT_RATE, " requests/s"},
                 {FIGURE_COST, " cluster-h/Mtoken"},
                 {FIGURE_ENERGY, " J"},
                 {FIGURE_ENERGY_PER_TOKEN, " J/token"},
                 {FIGURE_CLUSTERS, " clusters"}};

    for (gsize i = 0; i < G_N_ELEMENTS(units); i++)
        if (units[i].figure == figure)
            return units[i].unit;
    return NULL;
}

static gboolean is_share(Figure figure) {
    return figure == FIGURE_GOODPUT || figure == FIGURE_PREFILL_BUSY ||
           figure == FIGURE_DECODE_BUSY || figure == FIGURE_BUFFER_FULL;
}

void objectives_figures(const Objectives *objectives, gboolean *wanted) {
    for (guint i = 0; i < objectives->n; i++)
        wanted[objectives->figures[i]] = TRUE;
    for (guint i = 0; i < objectives->limits->len; i++)
        wanted[g_array_index(objectives->limits, FigureLimit, i).figure] = TRUE;
}

char *objective_text(Figure figure, double value) {
    const char *unit = unit_of(figure);

    if (isnan(value))
        return g_strdup("-");
    if (is_share(figure))
        return g_strdup_printf("%.2f %%", 100 * value);
    if (unit == NULL)
        return units_format_brief(value, figure_info(figure)->dimension);
    return value >= 1000 ? g_strdup_printf("%.0f%s", value, unit)
                         : g_strdup_printf("%.4g%s", value, unit);
}
