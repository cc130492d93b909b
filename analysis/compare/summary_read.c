#include "analysis/compare/summary_read.h"

#include "analysis/compare/figure_key.h"
#include "workloads/traces/trace_values.h"
#include "workloads/yaml_reader.h"
#include <math.h>
#include <string.h>

static void figure_free(gpointer data) {
    SummaryFigure *figure = data;

    g_free(figure->key);
    g_free(figure);
}

static void add_figure(SummaryFile *summary, const char *key, CellForm form, double value) {
    SummaryFigure *figure = g_new(SummaryFigure, 1);

    *figure = (SummaryFigure){g_strdup(key), form, value};
    g_ptr_array_add(summary->figures, figure);
}

/* --- the tree */

static gboolean wrong(const YamlNode *node, const char *expected, GError **error) {
    g_autofree char *found = yaml_describe(node);

    return yaml_error(node, INPUT_ERROR_VALUE, error, "expected %s for '%s', not %s", expected,
                      node->key, found);
}

/* A number as JSON writes it, of at least 0, as every figure is; null is NaN. */
static gboolean is_number(const YamlNode *node, double *value) {
    *value = NAN;
    return !node->quoted && (strcmp(node->text, "null") == 0 ||
                             trace_value_decimal(node->text, strlen(node->text), value));
}

static gboolean is_truth(const YamlNode *node, double *value) {
    *value = strcmp(node->text, "true") == 0 ? 1 : 0;
    return !node->quoted && (*value > 0 || strcmp(node->text, "false") == 0);
}

/* Texts are no figures; where a figure belongs they are wrong. */
static gboolean read_value(SummaryFile *summary, const char *key, const YamlNode *node,
                           GError **error) {
    CellForm form = figure_key_form(key);
    double value;

    if (figure_key_is_repeated(key) || (node->quoted && form == FORM_NONE))
        return TRUE;
    if (form == FORM_NONE && is_truth(node, &value))
        add_figure(summary, key, FORM_BOOL, value);
    else if (is_number(node, &value))
        add_figure(summary, key, form, value);
    else
        return wrong(node, "a number of at least 0 or null", error);
    return TRUE;
}

static gboolean read_mapping(SummaryFile *summary, const YamlNode *mapping, const char *prefix,
                             GError **error) {
    for (guint i = 0; i < mapping->keys->len; i++) {
        const YamlNode *name = mapping->keys->pdata[i], *node = mapping->values->pdata[i];
        g_autofree char *key = g_strconcat(prefix, name->text, NULL);
        g_autofree char *inner = g_strconcat(key, ".", NULL);
        if ((node->type == YAML_MAPPING && !read_mapping(summary, node, inner, error)) ||
            (node->type == YAML_SCALAR && !read_value(summary, key, node, error)))
            return FALSE;
    }
    return TRUE;
}

/* --- a summary */

static gboolean missing(const YamlNode *mapping, const char *what, const char *name,
                        GError **error) {
    return yaml_error(mapping, INPUT_ERROR_MISSING, error,
                      "missing %s '%s' of a summary by 'infergrid simulate'", what, name);
}

/* A text of 'mapping', or NULL and an error. Borrowed. */
static const char *text_of(const YamlNode *mapping, const char *name, GError **error) {
    const YamlNode *node = yaml_get(mapping, name);

    if (node == NULL)
        missing(mapping, "key", name, error);
    else if (!node->quoted)
        wrong(node, "a text", error);
    else
        return node->text;
    return NULL;
}

static gboolean read_words(SummaryFile *summary, const YamlNode *root, GError **error) {
    static const char *const names[] = {"model", "platform", "plan"};
    const char *texts[G_N_ELEMENTS(names)];
    const YamlNode *simulated = yaml_get(root, "simulated");
    const char *outcome = text_of(root, "outcome", error);

    if (outcome == NULL)
        return FALSE;
    if (simulated == NULL)
        return missing(root, "key", "simulated", error);
    if (!yaml_expect(simulated, YAML_MAPPING, "an object", error))
        return FALSE;
    for (guint i = 0; i < G_N_ELEMENTS(names); i++)
        if ((texts[i] = text_of(simulated, names[i], error)) == NULL)
            return FALSE;
    summary->outcome = g_strdup(outcome);
    summary->simulated = g_strdup_printf("%s on %s: %s", texts[0], texts[1], texts[2]);
    return TRUE;
}

/* What no run is without. */
static gboolean is_whole(const SummaryFile *summary, const YamlNode *root, GError **error) {
    static const char *const needed[] = {"simulated.clusters", "requests.arrived",
                                         "requests.completed", "whole.makespan_s"};

    for (guint i = 0; i < G_N_ELEMENTS(needed); i++)
        if (isnan(summary_file_value(summary, needed[i])))
            return missing(root, "figure", needed[i], error);
    return TRUE;
}

/* Clusters of the plan times hours for a million generated tokens, of the steady state where one
 * was cut. */
static void add_cost(SummaryFile *summary) {
    double steady = summary_file_value(summary, "steady.output_token_throughput_per_s");
    double whole = summary_file_value(summary, "whole.output_token_throughput_per_s");
    double tokens_per_s = isnan(steady) ? whole : steady;
    double clusters = summary_file_value(summary, "simulated.clusters");
    double cost = tokens_per_s > 0 ? clusters * 1e6 / 3600 / tokens_per_s : NAN;

    add_figure(summary, "cost.cluster_hours_per_million_tokens", FORM_REAL, cost);
}

SummaryFile *summary_read(const char *path, GError **error) {
    g_autoptr(SummaryFile) summary = g_new0(SummaryFile, 1);
    g_autoptr(YamlNode) root = yaml_load_file(path, error);

    summary->figures = g_ptr_array_new_with_free_func(figure_free);
    if (root == NULL || !yaml_expect(root, YAML_MAPPING, "an object", error) ||
        !read_words(summary, root, error) || !read_mapping(summary, root, "", error) ||
        !is_whole(summary, root, error))
        return NULL;
    add_cost(summary);
    return g_steal_pointer(&summary);
}

void summary_file_free(SummaryFile *summary) {
    if (summary == NULL)
        return;
    g_ptr_array_unref(summary->figures);
    g_free(summary->simulated);
    g_free(summary->outcome);
    g_free(summary);
}

double summary_file_value(const SummaryFile *summary, const char *key) {
    for (guint i = 0; i < summary->figures->len; i++) {
        const SummaryFigure *figure = summary->figures->pdata[i];
        if (strcmp(figure->key, key) == 0)
            return figure->value;
    }
    return NAN;
}
