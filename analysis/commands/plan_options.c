#include "analysis/commands/plan_options.h"

#include "workloads/input_error.h"
#include "workloads/units.h"
#include <math.h>
#include <string.h>

#define SIZE_MAX_UNITS 65536
#define MOST_LOADS 64
#define LEAST_LOAD 0.001
#define MOST_LOAD 1000.0
#define LOADS_OF_RANGE 7
#define MOST_SEEDS 1000

static gboolean expected(const char *option, const char *what, const char *text, GError **error) {
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_VALUE, "--%s: expected %s, not '%s'", option, what,
                text);
    return FALSE;
}

/* --- targets */

static gboolean is_share(Figure figure) {
    return figure == FIGURE_GOODPUT || figure == FIGURE_PREFILL_BUSY ||
           figure == FIGURE_DECODE_BUSY || figure == FIGURE_BUFFER_FULL;
}

/* "goodput >= 99" is a slip for 99 %. */
static gboolean target_is_possible(const FigureLimit *target, GError **error) {
    if (target->value >= 0 && (!is_share(target->figure) || target->value <= 1))
        return TRUE;
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_VALUE, "--target: expected %s in '%s'",
                is_share(target->figure) ? "a share from 0 to 100 %, such as '99 %',"
                                         : "a value of at least 0",
                target->text);
    return FALSE;
}

static void add_figure(Objectives *objectives, Figure figure) {
    for (guint i = 0; i < objectives->n; i++)
        if (objectives->figures[i] == figure)
            return;
    if (objectives->n < OBJECTIVES_MAX && figure_info(figure)->is_objective)
        objectives->figures[objectives->n++] = figure;
}

Objectives *plan_options_targets(const PlanOptions *options, const Slo *slo, GError **error) {
    g_autoptr(Objectives) targets = objectives_new("throughput", NULL, NULL, slo, error);

    if (targets == NULL)
        return NULL;
    targets->n = 0;
    for (char **text = options->targets; *text != NULL; text++) {
        if (!objectives_add_limit(targets, *text, "--target", slo, error))
            return NULL;
        const FigureLimit *target =
            &g_array_index(targets->limits, FigureLimit, targets->limits->len - 1);
        if (!target_is_possible(target, error))
            return NULL;
        add_figure(targets, target->figure);
    }
    add_figure(targets, FIGURE_THROUGHPUT);
    return g_steal_pointer(&targets);
}

/* --- loads */

static gboolean load_parse(const char *text, double *load) {
    g_autofree char *word = g_strstrip(g_strdup(text));

    return units_parse(word, DIMENSION_NONE, load) == NULL && *load >= LEAST_LOAD &&
           *load <= MOST_LOAD;
}

static gint ascending(gconstpointer a, gconstpointer b) {
    double first = *(const double *)a, second = *(const double *)b;

    return first < second ? -1 : first > second;
}

static gboolean add_list(GArray *loads, const char *text) {
    g_auto(GStrv) words = g_strsplit(text, ",", MOST_LOADS + 1);
    double load;

    if (words[0] == NULL || g_strv_length(words) > MOST_LOADS)
        return FALSE;
    for (char **word = words; *word != NULL; word++) {
        if (!load_parse(*word, &load))
            return FALSE;
        g_array_append_val(loads, load);
    }
    return TRUE;
}

static gboolean add_range(GArray *loads, const char *text) {
    g_auto(GStrv) ends = g_strsplit(text, ":", -1);
    double from, to;

    if (g_strv_length(ends) != 2 || !load_parse(ends[0], &from) || !load_parse(ends[1], &to) ||
        !(from < to))
        return FALSE;
    for (guint i = 0; i < LOADS_OF_RANGE; i++) {
        double load =
            i + 1 == LOADS_OF_RANGE ? to : from * pow(to / from, (double)i / (LOADS_OF_RANGE - 1));
        g_array_append_val(loads, load);
    }
    return TRUE;
}

GArray *plan_options_loads(const PlanOptions *options, GError **error) {
    const char *text = options->loads == NULL ? "0.5,1,1.5,2,3,4" : options->loads;
    g_autoptr(GArray) loads = g_array_new(FALSE, FALSE, sizeof(double));
    gboolean right = strchr(text, ':') != NULL ? add_range(loads, text) : add_list(loads, text);

    if (!right) {
        expected("load-scale", "A:B with A below B, or at most 64 factors, each from 0.001 to 1000",
                 text, error);
        return NULL;
    }
    g_array_sort(loads, ascending);
    for (guint i = loads->len; i-- > 1;)
        if (g_array_index(loads, double, i - 1) >= g_array_index(loads, double, i))
            g_array_remove_index(loads, i);
    return g_steal_pointer(&loads);
}

/* --- the machine */

static gboolean name_read(const char *option, const char *const *names, const char *text,
                          guint *index, GError **error) {
    guint n = g_strv_length((char **)names);

    for (guint i = 0; names[i] != NULL; i++)
        if (strcmp(names[i], text) == 0) {
            *index = i;
            return TRUE;
        }
    g_autofree char *hint = near_miss_hint(text, names, n);
    g_autofree char *all = g_strjoinv(", ", (char **)names);
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_UNKNOWN,
                "--%s: unknown %s '%s'%s; expected one of: %s", option, option, text, hint, all);
    return FALSE;
}

static gboolean units_read(const PlanOptions *options, const Platform *platform,
                           CapacityUnits *units, GError **error) {
    guint index = capacity_units_of(platform);

    if (options->units != NULL &&
        !name_read("units", capacity_unit_names, options->units, &index, error))
        return FALSE;
    *units = (CapacityUnits)index;
    if (capacity_units_fit(*units, platform))
        return TRUE;
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT, "--units: '%s' is not made of %s",
                platform->name, capacity_unit_names[*units]);
    return FALSE;
}

static gboolean sizes_read(const char *text, CapacitySetup *setup, GError **error) {
    guint64 *const values[] = {&setup->from, &setup->to, &setup->step};
    g_auto(GStrv) parts = g_strsplit(text, ":", -1);
    guint n = g_strv_length(parts);
    gboolean right = n == 2 || n == 3;

    setup->step = 1;
    for (guint i = 0; i < n && right; i++)
        right = g_ascii_string_to_unsigned(parts[i], 10, 1, SIZE_MAX_UNITS, values[i], NULL);
    if (right && setup->from <= setup->to)
        return TRUE;
    return expected("sizes",
                    "FROM:TO or FROM:TO:STEP, whole numbers from 1 to 65536 and FROM not "
                    "above TO",
                    text, error);
}

static gboolean method_read(const char *text, SearchMethod fallback, SearchMethod *method,
                            GError **error) {
    static const char *const names[] = {"guided", "exhaustive", NULL};
    guint index = fallback == SEARCH_EXHAUSTIVE ? SEARCH_EXHAUSTIVE : SEARCH_GUIDED;

    if (text != NULL && !name_read("method", names, text, &index, error))
        return FALSE;
    *method = (SearchMethod)index;
    return TRUE;
}

static gboolean seeds_read(const PlanOptions *options, const Experiment *base, guint64 *seeds,
                           GError **error) {
    *seeds = options->max_rate || workload_trace_path(base->workload) != NULL ? 0 : 4;
    return options->seeds == NULL ||
           g_ascii_string_to_unsigned(options->seeds, 10, 0, MOST_SEEDS, seeds, NULL) ||
           expected("seeds", "a whole number from 0 to 1000", options->seeds, error);
}

static gboolean knee_read(const char *text, double *gain, GError **error) {
    *gain = 0.01;
    if (text == NULL)
        return TRUE;
    return (units_parse(text, DIMENSION_NONE, gain) == NULL && *gain > 0 && *gain <= 1) ||
           expected("knee", "a share above 0 and up to 100 %, such as '1 %'", text, error);
}

gboolean plan_options_read(const PlanOptions *options, const Experiment *base, CapacitySetup *setup,
                           GError **error) {
    setup->own_plan = !options->search;
    return units_read(options, base->platform, &setup->units, error) &&
           sizes_read(options->sizes == NULL ? "1:64" : options->sizes, setup, error) &&
           method_read(options->method, search_spec_method(base->search), &setup->method, error) &&
           seeds_read(options, base, &setup->seeds, error) &&
           knee_read(options->knee, &setup->knee_gain, error);
}
