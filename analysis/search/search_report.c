#include "analysis/search/search_report.h"

#include "analysis/output/csv_text.h"
#include "analysis/output/json_text.h"
#include <math.h>
#include <string.h>

/* What is no plan goes by its settings. Caller frees. */
static char *plan_of(const SearchSetup *setup, const SearchPoint *point) {
    g_autofree const char **settings = search_settings(setup, point);
    g_autoptr(Experiment) experiment = campaign_experiment(setup->campaign, settings, NULL);

    return experiment == NULL ? g_strjoinv(" ", point->settings)
                              : search_plan_text(experiment->policy);
}

void search_report_name(const SearchSetup *setup, SearchResult *result) {
    for (gsize i = 0; i < result->n; i++) {
        Candidate *candidate = &result->candidates[i];
        if (candidate->plan == NULL)
            candidate->plan = plan_of(setup, candidate->point);
    }
}

const char *search_report_setting(const Candidate *candidate, const char *key) {
    gsize length = strlen(key);

    for (char **setting = candidate->point->settings; *setting != NULL; setting++)
        if (strncmp(*setting, key, length) == 0 && (*setting)[length] == '=')
            return *setting + length + 1;
    return NULL;
}

char **search_report_keys(const SearchResult *result) {
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    GPtrArray *keys = g_ptr_array_new();

    for (gsize i = 0; i < result->n; i++)
        for (char **setting = result->candidates[i].point->settings; *setting != NULL; setting++) {
            g_autofree char *key = g_strndup(*setting, (gsize)(strchr(*setting, '=') - *setting));
            if (g_hash_table_contains(seen, key))
                continue;
            g_hash_table_add(seen, key);
            g_ptr_array_add(keys, g_steal_pointer(&key));
        }
    g_ptr_array_add(keys, NULL);
    return (char **)g_ptr_array_free(keys, FALSE);
}

/* --- why a candidate is not ranked */

/* "throughput at most 412 tokens/s where candidate 17 has 530 tokens/s" for each objective; ", by
 * what its run had shown" where it was simulated for a while. */
static char *bound_reason(const SearchReport *report, const Candidate *candidate) {
    const Objectives *objectives = report->setup->objectives;
    GString *out = g_string_new(NULL);

    if (candidate->by == NO_CANDIDATE)
        return g_string_free(g_string_append(out, "its bound breaks a limit"), FALSE);
    const Candidate *other = &report->result->candidates[candidate->by];
    for (guint i = 0; i < objectives->n; i++) {
        Figure figure = objectives->figures[i];
        gboolean larger = figure_info(figure)->larger_is_better;
        g_autofree char *bound = objective_text(figure, candidate->best_figures[figure]);
        g_autofree char *value = objective_text(figure, other->outcome.figures[figure]);
        g_string_append_printf(out, "%s%s at %s %s where candidate %" G_GSIZE_FORMAT " has %s",
                               i == 0 ? "" : ", ", figure_info(figure)->name,
                               larger ? "most" : "least", bound, candidate->by, value);
    }
    if (candidate->cut)
        g_string_append(out, ", by what its run had shown");
    return g_string_free(out, FALSE);
}

static char *limit_reason(const SearchReport *report, const Candidate *candidate) {
    const FigureLimit *limit =
        objectives_broken_limit(report->setup->objectives, candidate->outcome.figures);
    g_autofree char *value =
        objective_text(limit->figure, candidate->outcome.figures[limit->figure]);

    return g_strdup_printf("breaks '%s' with %s", limit->text, value);
}

char *search_report_reason(const SearchReport *report, const Candidate *candidate) {
    switch (candidate->fate) {
    case FATE_BOUND:
        return bound_reason(report, candidate);
    case FATE_LIMIT:
        return limit_reason(report, candidate);
    case FATE_REFUSED:
    case FATE_BROKEN:
        return g_strdup(candidate->outcome.reason);
    case FATE_ELSEWHERE:
        return g_strdup("in another shard");
    case FATE_UNNEEDED:
        return g_strdup("not needed");
    case FATE_RANKED:
    case N_FATES:
        break;
    }
    return g_strdup("");
}

/* --- candidates.csv */

static void csv_field(GString *out, const char *text) {
    g_string_append_c(out, ',');
    csv_text_cell(out, text);
}

static void csv_number(GString *out, double value) {
    g_string_append_c(out, ',');
    csv_text_number(out, value);
}

static void csv_row(GString *out, const SearchReport *report, char **keys, gsize i) {
    const Candidate *candidate = &report->result->candidates[i];
    const Objectives *objectives = report->setup->objectives;
    g_autofree char *reason = search_report_reason(report, candidate);
    g_autofree char *rank =
        candidate->rank == 0 ? g_strdup("") : g_strdup_printf("%u", candidate->rank);

    g_string_append_printf(out, "%" G_GSIZE_FORMAT, i);
    csv_field(out, rank);
    csv_field(out, candidate->on_front ? "yes" : "no");
    csv_field(out, candidate_fate_name(candidate->fate));
    csv_field(out, reason);
    csv_field(out, report->result->candidates[i].plan);
    for (char **key = keys; *key != NULL; key++) {
        const char *value = search_report_setting(candidate, *key);
        csv_field(out, value == NULL ? "" : value);
    }
    for (guint o = 0; o < objectives->n; o++)
        csv_number(out, candidate->best_figures[objectives->figures[o]]);
    for (guint figure = 0; figure < N_FIGURES; figure++)
        csv_number(out, candidate->outcome.figures[figure]);
    g_string_append_c(out, '\n');
}

char *search_report_csv(const SearchReport *report) {
    const Objectives *objectives = report->setup->objectives;
    g_auto(GStrv) keys = search_report_keys(report->result);
    GString *out = g_string_new("candidate,rank,front,fate,reason,plan");

    for (char **key = keys; *key != NULL; key++)
        csv_field(out, *key);
    for (guint o = 0; o < objectives->n; o++)
        g_string_append_printf(out, ",bound_%s", figure_info(objectives->figures[o])->column);
    for (guint figure = 0; figure < N_FIGURES; figure++)
        csv_field(out, figure_info((Figure)figure)->column);
    g_string_append_c(out, '\n');
    for (gsize i = 0; i < report->result->n; i++)
        csv_row(out, report, keys, i);
    return g_string_free(out, FALSE);
}

/* --- search.json */

static void json_figures(JsonText *json, const double *figures) {
    json_text_open(json, "figures", '{');
    for (guint figure = 0; figure < N_FIGURES; figure++)
        json_text_number(json, figure_info((Figure)figure)->column, figures[figure]);
    json_text_close(json, '}');
}

static void json_candidate(JsonText *json, const SearchReport *report, const char *key, gsize i) {
    const Candidate *candidate = &report->result->candidates[i];

    json_text_open(json, key, '{');
    json_text_count(json, "candidate", i);
    json_text_count(json, "rank", candidate->rank);
    json_text_string(json, "plan", report->result->candidates[i].plan);
    json_text_open(json, "settings", '[');
    for (char **setting = candidate->point->settings; *setting != NULL; setting++)
        json_text_string(json, NULL, *setting);
    json_text_close(json, ']');
    json_figures(json, candidate->outcome.figures);
    json_text_close(json, '}');
}

static void json_counts(JsonText *json, const SearchReport *report) {
    const SearchSpace *space = report->setup->space;
    const SearchResult *result = report->result;

    json_text_open(json, "space", '{');
    json_text_count(json, "enumerated", space->enumerated);
    json_text_open(json, "pruned", '{');
    for (PruneRule rule = 0; rule < N_PRUNE_RULES; rule++)
        json_text_count(json, prune_rule_name(rule), space->pruned[rule]);
    json_text_close(json, '}');
    json_text_count(json, "candidates", result->n);
    json_text_open(json, "fates", '{');
    for (CandidateFate fate = 0; fate < N_FATES; fate++)
        json_text_count(json, candidate_fate_name(fate), result->fates[fate]);
    json_text_close(json, '}');
    json_text_count(json, "simulated", result->simulated);
    json_text_count(json, "ended_early", result->cut);
    json_text_count(json, "twins", result->twins);
    json_text_count(json, "rounds", result->rounds);
    json_text_number(json, "events", result->events);
    json_text_close(json, '}');
}

static void json_rule(JsonText *json, const SearchReport *report) {
    const SearchRule *rule = report->rule;

    if (rule == NULL)
        return;
    json_text_open(json, "analytic_rule", '{');
    json_text_string(json, "readings", rule->readings);
    if (rule->why != NULL)
        json_text_string(json, "failure", rule->why);
    if (rule->plan != NULL)
        json_text_string(json, "plan", rule->plan);
    json_text_number(json, "regret", search_rule_regret(rule, report->setup, report->result));
    json_figures(json, rule->outcome.figures);
    json_text_close(json, '}');
}

char *search_report_json(const SearchReport *report) {
    const Objectives *objectives = report->setup->objectives;
    const SearchResult *result = report->result;
    JsonText json = json_text_new();

    json_text_open(&json, NULL, '{');
    json_text_string(&json, "experiment", report->experiment);
    json_text_string(&json, "method", search_method_names.names[report->setup->method]);
    json_text_open(&json, "objectives", '[');
    for (guint i = 0; i < objectives->n; i++)
        json_text_string(&json, NULL, figure_info(objectives->figures[i])->name);
    json_text_close(&json, ']');
    json_text_open(&json, "limits", '[');
    for (guint i = 0; i < objectives->limits->len; i++)
        json_text_string(&json, NULL, g_array_index(objectives->limits, FigureLimit, i).text);
    json_text_close(&json, ']');
    json_counts(&json, report);
    if (result->best == NO_CANDIDATE)
        json_text_null(&json, "best");
    else
        json_candidate(&json, report, "best", result->best);
    json_text_open(&json, "front", '[');
    for (gsize i = 0; i < result->n_front; i++)
        json_candidate(&json, report, NULL, result->front[i]);
    json_text_close(&json, ']');
    json_rule(&json, report);
    json_text_close(&json, '}');
    return json_text_end(&json);
}
