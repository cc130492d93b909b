#include "analysis/reproduce/serving_table.h"

#include "analysis/campaign/campaign.h"
#include "analysis/reproduce/serving_spec.h"
#include "analysis/search/search_rule.h"
#include <math.h>
#include <string.h>

/* Lines of one experiment, which one campaign simulates. */
typedef struct Serving {
    Reproduction *reproduction;
    const char *experiment; /* its name; borrowed */
    Campaign *campaign;
    GPtrArray *open; /* ServingLine *: not known yet; borrowed */
} Serving;

static void serving_clear(Serving *serving) {
    g_clear_pointer(&serving->campaign, campaign_free);
    g_clear_pointer(&serving->open, g_ptr_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Serving, serving_clear)

/* Whether a refusal is about memory: then it is a result, as "out of memory" is a published one. */
static gboolean is_memory(const char *reason) {
    static const char *const words[] = {"does not fit", "do not fit", "out of memory"};

    for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
        if (strstr(reason, words[i]) != NULL)
            return TRUE;
    return FALSE;
}

static gboolean line_error(const ServingLine *line, GError **error, const char *reason) {
    return yaml_error(line->node, INPUT_ERROR_CONFLICT, error, "'%s, %s, %s': %s",
                      line->cell.series, line->cell.row, line->cell.column, reason);
}

/* The last setting of a key to be halved, and its value; NULL where there is none. */
static char **setting_of(const ServingLine *line, const char *key, guint64 *value) {
    gsize length = strlen(key);

    for (guint i = line->set->len; i > 0; i--) {
        char **setting = (char **)&g_ptr_array_index(line->set, i - 1);
        if (g_str_has_prefix(*setting, key) && (*setting)[length] == '=')
            return g_ascii_string_to_unsigned(*setting + length + 1, 10, 1, G_MAXUINT32, value,
                                              NULL)
                       ? setting
                       : NULL;
    }
    return NULL;
}

/* Halves all that is to be halved; FALSE, and nothing of them changed, where one is at 1, or with
 * an error. */
static gboolean halve(ServingLine *line, GError **error) {
    guint n = line->halve == NULL ? 0 : line->halve->values->len;
    gboolean more = n > 0;

    for (guint pass = 0; pass < 2 && more; pass++)
        for (guint i = 0; i < n; i++) {
            const YamlNode *node = g_ptr_array_index(line->halve->values, i);
            guint64 value = 0;
            char **setting = setting_of(line, node->text, &value);
            if (setting == NULL)
                return yaml_error(node, INPUT_ERROR_MISSING, error,
                                  "no setting of '%s %s' gives '%s' a number to halve",
                                  line->cell.series, line->cell.row, node->text);
            more = more && value > 1;
            if (pass == 0)
                continue;
            g_free(*setting);
            *setting = g_strdup_printf("%s=%" G_GUINT64_FORMAT, node->text, value / 2);
        }
    return more;
}

/* What becomes of a line that memory does not suffice for: half as large, or at its end. */
static gboolean shrink(Serving *serving, ServingLine *line, const char *reason, gboolean *done,
                       GError **error) {
    GError *failure = NULL;

    *done = !halve(line, &failure);
    if (failure != NULL) {
        g_propagate_error(error, failure);
        return FALSE;
    }
    if (!*done)
        return TRUE;
    line->cell.simulated_oom = TRUE;
    line->cell.detail = reproduction_text(serving->reproduction, "%s", reason);
    return TRUE;
}

/* --- what was simulated */

static double measure(const ServingLine *line, const Outcome *outcome,
                      const Experiment *experiment) {
    double requests = (double)experiment->facts.requests;

    switch (line->measure) {
    case MEASURE_DECODE_RATE:
        return 1 / outcome->figures[FIGURE_TPOT_MEAN];
    case MEASURE_PROMPT_RATE:
        return (double)experiment->facts.prompt_tokens / requests /
               outcome->figures[FIGURE_TTFT_MEAN];
    case MEASURE_OUTPUT_RATE:
        return (double)experiment->facts.output_tokens / requests /
               outcome->figures[FIGURE_E2E_MEAN];
    default:
        return outcome->figures[FIGURE_THROUGHPUT];
    }
}

/* The plan, where the rule chose it, and what was halved. */
static const char *detail(Serving *serving, const ServingLine *line, const Experiment *experiment) {
    g_autoptr(GString) text = g_string_new(NULL);

    if (line->rule) {
        g_autofree char *plan = search_plan_text(experiment->policy);
        g_string_append_printf(text, "by the analytic rule %s", plan);
    }
    for (guint i = 0; line->halve != NULL && i < line->halve->values->len; i++) {
        const YamlNode *node = g_ptr_array_index(line->halve->values, i);
        guint64 value = 0;
        setting_of(line, node->text, &value);
        g_string_append_printf(text, "%s%s %" G_GUINT64_FORMAT, text->len == 0 ? "" : ", ",
                               node->text, value);
    }
    return text->len == 0 ? NULL : reproduction_text(serving->reproduction, "%s", text->str);
}

static gboolean take(Serving *serving, ServingLine *line, const CampaignRun *run, gboolean *done,
                     GError **error) {
    const Outcome *outcome = &run->outcome;

    *done = TRUE;
    if (outcome->status == OUTCOME_REFUSED && is_memory(outcome->reason))
        return shrink(serving, line, outcome->reason, done, error);
    if (outcome->status != OUTCOME_OK)
        return line_error(line, error, outcome->reason);
    g_autoptr(Experiment) experiment =
        campaign_experiment(serving->campaign, (const char *const *)run->overrides, error);
    if (experiment == NULL)
        return FALSE;
    line->cell.simulated = measure(line, outcome, experiment);
    line->cell.detail = detail(serving, line, experiment);
    return TRUE;
}

/* --- rounds */

/* The settings of a run, the rule's plan among them; NULL where it has none ('why') or the error is
 * set. Caller frees. */
static char **settings_of(Serving *serving, const ServingLine *line, char **why, GError **error) {
    g_autoptr(GPtrArray) all = g_ptr_array_new_with_free_func(g_free);
    g_auto(GStrv) rule = NULL;

    for (guint i = 0; i < line->set->len; i++)
        g_ptr_array_add(all, g_strdup(g_ptr_array_index(line->set, i)));
    g_ptr_array_add(all, NULL);
    if (line->rule) {
        g_autoptr(Experiment) experiment =
            experiment_load_unplanned(serving->experiment, (const char *const *)all->pdata, error);
        rule = experiment == NULL ? NULL : search_rule_settings(experiment, why);
        if (rule == NULL)
            return NULL;
        g_ptr_array_remove_index(all, all->len - 1);
        for (char **setting = rule; *setting != NULL; setting++)
            g_ptr_array_add(all, g_strdup(*setting));
        g_ptr_array_add(all, NULL);
    }
    return (char **)g_ptr_array_free(g_steal_pointer(&all), FALSE);
}

static void runs_free(CampaignRun *runs, gsize n) {
    for (gsize i = 0; i < n; i++) {
        g_strfreev(runs[i].overrides);
        outcome_clear(&runs[i].outcome);
    }
    g_free(runs);
}

/* Fills the runs of the open lines. A line that the rule has no plan for has an outcome already and
 * no overrides. */
static gboolean prepare(Serving *serving, CampaignRun *runs, GError **error) {
    for (guint i = 0; i < serving->open->len; i++) {
        const ServingLine *line = g_ptr_array_index(serving->open, i);
        g_autofree char *why = NULL;
        GError *failure = NULL;
        outcome_init(&runs[i].outcome);
        runs[i].overrides = settings_of(serving, line, &why, &failure);
        if (failure != NULL) {
            line_error(line, error, failure->message);
            g_error_free(failure);
            return FALSE;
        }
        if (runs[i].overrides == NULL)
            outcome_fail(&runs[i].outcome, OUTCOME_REFUSED, why);
    }
    return TRUE;
}

/* Simulates the open lines; those whose batch is halved stay open. */
static gboolean run_round(Serving *serving, CampaignRun *runs, GError **error) {
    guint n = serving->open->len;
    g_autofree CampaignRun *real = g_new0(CampaignRun, n + 1);
    g_autoptr(GPtrArray) open = g_ptr_array_new();
    guint n_real = 0;

    if (!prepare(serving, runs, error))
        return FALSE;
    for (guint i = 0; i < n; i++)
        if (runs[i].overrides != NULL)
            real[n_real++] = runs[i];
    gboolean done =
        campaign_run(serving->campaign, real, n_real, serving->reproduction->name, error);
    for (guint i = 0, j = 0; i < n; i++)
        if (runs[i].overrides != NULL)
            runs[i] = real[j++];
    for (guint i = 0; done && i < n; i++) {
        ServingLine *line = g_ptr_array_index(serving->open, i);
        gboolean known = FALSE;
        done = take(serving, line, &runs[i], &known, error);
        if (!known)
            g_ptr_array_add(open, line);
    }
    g_ptr_array_unref(serving->open);
    serving->open = g_steal_pointer(&open);
    return done;
}

static gboolean run_all(Serving *serving, GError **error) {
    gboolean done = TRUE;

    while (done && serving->open->len > 0) {
        guint n = serving->open->len;
        CampaignRun *runs = g_new0(CampaignRun, n);
        done = run_round(serving, runs, error);
        runs_free(runs, n);
    }
    return done;
}

/* All lines of the first experiment that is not simulated yet. FALSE where there is none. */
static gboolean next_experiment(const ServingSpec *spec, GHashTable *done, Serving *serving) {
    serving->open = g_ptr_array_new();
    for (guint i = 0; i < spec->lines->len; i++) {
        ServingLine *line = &g_array_index(spec->lines, ServingLine, i);
        if (serving->experiment == NULL && g_hash_table_add(done, (gpointer)line->experiment))
            serving->experiment = line->experiment;
        if (g_strcmp0(line->experiment, serving->experiment) == 0)
            g_ptr_array_add(serving->open, line);
    }
    return serving->experiment != NULL;
}

/* --- one number of a machine changed */

/* The cell of the same labels. */
static const ReproducedCell *known_cell(const Reproduction *known, const ReproducedCell *cell) {
    for (guint i = 0; i < known->cells->len; i++) {
        const ReproducedCell *other = reproduction_cell(known, i);
        if (g_str_equal(other->series, cell->series) && g_str_equal(other->row, cell->row) &&
            g_str_equal(other->column, cell->column) && g_str_equal(other->unit, cell->unit))
            return other;
    }
    return NULL;
}

/* Lines on that machine are simulated with the change; what is known of the others stays, and they
 * are closed. */
static void change_lines(Serving *serving, const MachineChange *change) {
    const char *machine = campaign_base(serving->campaign)->platform->name;
    gboolean changes = g_str_equal(machine, change->machine);

    for (guint i = 0; i < serving->open->len; i++) {
        ServingLine *line = g_ptr_array_index(serving->open, i);
        if (changes) {
            g_ptr_array_add(line->set, g_strdup(change->setting));
            continue;
        }
        const ReproducedCell *known = known_cell(change->known, &line->cell);
        g_assert(known != NULL);
        line->cell.simulated = known->simulated;
        line->cell.simulated_oom = known->simulated_oom;
    }
    if (!changes)
        g_ptr_array_set_size(serving->open, 0);
}

static gboolean run_experiment(Serving *serving, const ReproduceSetup *setup, GError **error) {
    CampaignSetup campaign = {
        .path = serving->experiment, .workers = setup->workers, .shards = 1, .quiet = setup->quiet};
    const ServingLine *line = g_ptr_array_index(serving->open, 0);
    g_autoptr(GError) failure = NULL;

    serving->campaign = campaign_new(&campaign, &failure);
    if (serving->campaign == NULL)
        return yaml_error(yaml_get(line->node, "experiment"), INPUT_ERROR_VALUE, error, "%s",
                          failure->message);
    if (setup->change != NULL)
        change_lines(serving, setup->change);
    return run_all(serving, error);
}

gboolean serving_table_build(const char *name, TableBuild *build, GError **error) {
    g_autoptr(ServingSpec) spec =
        serving_spec_load(name, build->reference, build->reproduction, error);
    g_autoptr(GHashTable) done = g_hash_table_new(g_str_hash, g_str_equal);
    gboolean more = spec != NULL;

    while (more) {
        g_auto(Serving) serving = {.reproduction = build->reproduction};
        more = next_experiment(spec, done, &serving);
        if (more && !run_experiment(&serving, build->setup, error))
            return FALSE;
    }
    for (guint i = 0; spec != NULL && i < spec->lines->len; i++)
        reproduction_add(build->reproduction, g_array_index(spec->lines, ServingLine, i).cell);
    return spec != NULL;
}

/* --- machines */

static gboolean has_machine(const GPtrArray *machines, const char *name) {
    for (guint i = 0; i < machines->len; i++)
        if (g_str_equal(((const Platform *)g_ptr_array_index(machines, i))->name, name))
            return TRUE;
    return FALSE;
}

gboolean serving_table_machines(const char *name, const ReferenceTable *reference,
                                GPtrArray *machines, GError **error) {
    g_autoptr(Reproduction) labels = reproduction_new(name);
    g_autoptr(ServingSpec) spec = serving_spec_load(name, reference, labels, error);
    g_autoptr(GHashTable) done = g_hash_table_new(g_str_hash, g_str_equal);

    for (guint i = 0; spec != NULL && i < spec->lines->len; i++) {
        const char *experiment = g_array_index(spec->lines, ServingLine, i).experiment;
        if (!g_hash_table_add(done, (gpointer)experiment))
            continue;
        g_autoptr(Experiment) loaded = experiment_load_unplanned(experiment, NULL, error);
        if (loaded == NULL)
            return FALSE;
        if (!has_machine(machines, loaded->platform->name))
            g_ptr_array_add(machines, g_steal_pointer(&loaded->platform));
    }
    return spec != NULL;
}
