#include "analysis/commands/campaign_options.h"
#include "analysis/commands/catalogue.h"
#include "analysis/report/report_search.h"
#include "analysis/search/search_plot.h"
#include "analysis/search/search_report.h"
#include "workloads/input_error.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct SearchOptions {
    char *path;
    CampaignOptions campaign;
    char *method, *objective;
    char **limits;
    CampaignOutput output;
    gboolean plot, json;
} SearchOptions;

typedef struct SearchJob {
    const SearchOptions *options;
    CampaignSetup campaign_setup;
    SearchProgress *progress;
    Campaign *campaign;
    SearchSpace *space;
    Objectives *objectives;
    OutputFolder *folder;
    SearchSetup setup;
    SearchResult *result;
    SearchRule *rule;
} SearchJob;

static void job_clear(SearchJob *job) {
    g_clear_pointer(&job->rule, search_rule_free);
    g_clear_pointer(&job->result, search_result_free);
    g_clear_pointer(&job->folder, output_folder_free);
    g_clear_pointer(&job->objectives, objectives_free);
    g_clear_pointer(&job->space, search_space_free);
    g_clear_pointer(&job->campaign, campaign_free);
    g_clear_pointer(&job->progress, search_progress_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(SearchJob, job_clear)

static gboolean usage_is_right(const SearchOptions *options, GError **error) {
    return campaign_output_is_right(&options->output, options->plot, "infergrid search", error);
}

static gboolean method_read(const char *name, SearchMethod fallback, SearchMethod *method,
                            GError **error) {
    const YamlEnum names = search_method_names;

    *method = fallback;
    for (gsize i = 0; name != NULL && i < names.n_names; i++)
        if (strcmp(names.names[i], name) == 0) {
            *method = (SearchMethod)i;
            return TRUE;
        }
    if (name == NULL)
        return TRUE;
    g_autofree char *hint = near_miss_hint(name, names.names, names.n_names);
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_UNKNOWN,
                "--method: unknown method '%s'%s; expected guided, exhaustive or analytic", name,
                hint);
    return FALSE;
}

/* Everything that can be wrong is found before the first run. */
static gboolean prepare(SearchJob *job, GError **error) {
    const SearchOptions *options = job->options;
    CampaignSetup *setup = &job->campaign_setup;

    if (!campaign_options_read(&options->campaign, "infergrid search", setup, error))
        return FALSE;
    setup->path = options->path;
    setup->best = search_progress_best;
    setup->data = job->progress = search_progress_new();
    g_autoptr(Experiment) base = experiment_load(options->path, setup->overrides, error);
    if (base == NULL ||
        !method_read(options->method, search_spec_method(base->search), &job->setup.method, error))
        return FALSE;
    job->objectives = objectives_new(options->objective, search_spec_objectives(base->search),
                                     (const char *const *)options->limits, &base->slo, error);
    if (job->objectives == NULL)
        return FALSE;
    job->space =
        search_space_new(base->search, base->policy, base->model, base->platform, 0, error);
    if (job->space == NULL)
        return FALSE;
    if (!options->campaign.quiet)
        experiment_print_warnings(base);
    if (!campaign_output_open(&options->output, &job->folder, error))
        return FALSE;
    job->campaign = campaign_new(setup, error);
    return job->campaign != NULL;
}

static gboolean run(SearchJob *job, GError **error) {
    job->setup.campaign = job->campaign;
    job->setup.space = job->space;
    job->setup.objectives = job->objectives;
    job->setup.progress = job->progress;
    job->rule = search_rule_new(&job->setup, error);
    if (job->rule == NULL)
        return FALSE;
    job->setup.beside = search_rule_point(job->rule);
    job->result = search_run(&job->setup, error);
    if (job->result == NULL || !search_rule_simulate(job->rule, &job->setup, error))
        return FALSE;
    search_report_name(&job->setup, job->result);
    return TRUE;
}

/* The experiment of the best plan, to be simulated as it stands. Caller frees; NULL on error. */
static char *best_experiment(const SearchJob *job, GError **error) {
    const Candidate *best = &job->result->candidates[job->result->best];
    g_autofree const char **settings = search_settings(&job->setup, best->point);

    return campaign_experiment_text(job->campaign, settings, error);
}

static gboolean best_write(const SearchJob *job, GError **error) {
    if (job->result->best == NO_CANDIDATE)
        return TRUE;
    g_autofree char *text = best_experiment(job, error);
    return text != NULL && output_folder_write(job->folder, "best.yaml", text, error);
}

static gboolean plots_write(const SearchJob *job, const SearchReport *report, GError **error) {
    static const char *const formats[] = {"svg", "pdf"};

    for (guint i = 0; job->options->plot && i < G_N_ELEMENTS(formats); i++) {
        g_autofree char *pareto = g_strdup_printf("pareto.%s", formats[i]);
        g_autofree char *sensitivity = g_strdup_printf("sensitivity.%s", formats[i]);
        g_autofree char *pareto_path = output_folder_file(job->folder, pareto);
        g_autofree char *sensitivity_path = output_folder_file(job->folder, sensitivity);
        if (!search_plot_pareto(report, pareto_path, error) ||
            !search_plot_sensitivity(report, sensitivity_path, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean files_write(const SearchJob *job, const SearchReport *report, GError **error) {
    g_autofree char *csv = search_report_csv(report);
    g_autofree char *json = search_report_json(report);

    return output_folder_write(job->folder, "candidates.csv", csv, error) &&
           output_folder_write(job->folder, "search.json", json, error) && best_write(job, error) &&
           plots_write(job, report, error) && output_folder_commit(job->folder, error);
}

static gboolean page_write(const SearchJob *job, const SearchReport *report, GError **error) {
    g_autofree char *best = job->result->best == NO_CANDIDATE ? NULL : best_experiment(job, error);

    return (best != NULL || job->result->best == NO_CANDIDATE) &&
           report_search_write(report, best, job->options->output.report, error);
}

/* Broken candidates are told of, one a line; a search that lost any, or found nothing, is not done.
 */
static int verdict(const SearchJob *job) {
    const SearchResult *result = job->result;

    for (gsize i = 0; i < result->n; i++)
        if (result->candidates[i].fate == FATE_BROKEN)
            fprintf(stderr, "infergrid: broken candidate: %s: %s\n", result->candidates[i].plan,
                    result->candidates[i].outcome.reason);
    gboolean lost = result->fates[FATE_BROKEN] > 0;
    gboolean nothing = result->best == NO_CANDIDATE && job->setup.method != SEARCH_ANALYTIC &&
                       result->fates[FATE_ELSEWHERE] == 0;
    return lost || nothing ? EXIT_UNFINISHED : EXIT_DONE;
}

static int report(const SearchJob *job) {
    SearchReport report = {job->options->path, &job->setup, job->result, job->rule};
    g_autoptr(GError) error = NULL;

    if (job->folder != NULL && !files_write(job, &report, &error))
        return catalogue_fail(error);
    if (job->options->output.report != NULL && !page_write(job, &report, &error))
        return catalogue_fail(error);
    g_autofree char *text =
        job->options->json ? search_report_json(&report) : search_report_table(&report);
    int status = catalogue_print(text);
    return MAX(status, verdict(job));
}

static int search_main(const void *target) {
    g_auto(SearchJob) job = {.options = target};
    g_autoptr(GError) error = NULL;

    if (!usage_is_right(target, &error) || !catalogue_check_environment(&error) ||
        !prepare(&job, &error) || !run(&job, &error))
        return catalogue_fail(error);
    return report(&job);
}

static const Argument arguments[] = {
    {"EXPERIMENT", G_STRUCT_OFFSET(SearchOptions, path), TRUE, NULL,
     "an experiment file, or the name of a shipped one"},
};

#define AT(member) G_STRUCT_OFFSET(SearchOptions, member)
static const Option options[] = {
    CAMPAIGN_OPTIONS(SearchOptions, campaign),
    {"method", 'm', OPTION_TEXT, AT(method), "METHOD", "the experiment's, else guided",
     "guided: leave out what no simulation can make better than the best; exhaustive: simulate "
     "all; "
     "analytic: only the paper's rule"},
    {"objective", 0, OPTION_TEXT, AT(objective), "FIGURE[,FIGURE]...",
     "the experiment's, else throughput",
     "what is to be best, such as throughput, goodput_rate, cost, energy_per_token or ttft_p99; "
     "several give a Pareto front"},
    {"limit", 0, OPTION_TEXTS, AT(limits), "LIMIT", "none",
     "rank only plans that keep it, such as 'ttft_p99 <= 2 s' or 'goodput >= 99 %'; may stand more "
     "than once"},
    {"output", 'o', OPTION_DIRECTORY, AT(output.folder), "DIR", "none",
     "write candidates.csv, search.json and best.yaml into DIR, which must not exist"},
    {"force", 'f', OPTION_FLAG, AT(output.force), NULL, "off",
     "replace DIR when it holds such files"},
    {"report", 0, OPTION_TEXT, AT(output.report), "FILE.html", "none",
     "write one page that opens in any browser, without network: every candidate with its settings "
     "and figures, and the front"},
    {"plot", 'p', OPTION_FLAG, AT(plot), NULL, "off",
     "draw the trade-off and the sensitivity of the best plan into DIR, by gnuplot"},
    {"json", 0, OPTION_FLAG, AT(json), NULL, "off", "print JSON instead of the table"},
};

const Command command_search = {
    .name = "search",
    .summary = "find the best plan for a load",
    .description =
        "Considers every plan within the bounds of the experiment's section 'search' (without one: "
        "what the model and the machine allow), simulates those that may be the best, and ranks "
        "them. What breaks a rule of divisibility or memory is left out before anything runs, and "
        "counted. The paper's analytic rule is simulated too, and its regret told. With --store "
        "every result is kept as it comes, so that a search that was ended goes on.",
    .arguments = arguments,
    .n_arguments = G_N_ELEMENTS(arguments),
    .options = options,
    .n_options = G_N_ELEMENTS(options),
    .target_size = sizeof(SearchOptions),
    .example = "  # the split of the demo's machine with the most requests within the limits\n"
               "  infergrid search demo.yaml --objective goodput_rate \\\n"
               "      --store demo.store -o results/search --plot\n"
               "  infergrid simulate results/search/best.yaml\n",
    .run = search_main,
};
