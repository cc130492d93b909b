#include "analysis/capacity/capacity_plot.h"
#include "analysis/commands/campaign_options.h"
#include "analysis/commands/catalogue.h"
#include "analysis/commands/plan_options.h"
#include "analysis/report/report_capacity.h"
#include "workloads/input_error.h"
#include <stdio.h>
#include <string.h>

typedef struct PlanJob {
    const PlanOptions *options;
    CampaignSetup campaign_setup;
    SearchProgress *progress;
    Campaign *campaign;
    Objectives *targets;
    GArray *loads;
    OutputFolder *folder;
    CapacitySetup setup;
    Capacity *capacity;
} PlanJob;

static void job_clear(PlanJob *job) {
    g_clear_pointer(&job->capacity, capacity_free);
    g_clear_pointer(&job->folder, output_folder_free);
    g_clear_pointer(&job->loads, g_array_unref);
    g_clear_pointer(&job->targets, objectives_free);
    g_clear_pointer(&job->campaign, campaign_free);
    g_clear_pointer(&job->progress, search_progress_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(PlanJob, job_clear)

static gboolean conflict(GError **error, const char *message) {
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT, "infergrid plan: %s", message);
    return FALSE;
}

static gboolean usage_is_right(const PlanOptions *options, GError **error) {
    const struct {
        gboolean wrong;
        const char *message;
    } rules[] = {
        {options->search && !options->max_rate, "option '--search' needs '--max-rate'"},
        {options->max_rate && options->sizes != NULL,
         "option '--max-rate' is about the experiment's own machine: '--sizes' has no place"},
        {options->max_rate && options->loads != NULL,
         "option '--max-rate' finds its loads itself: '--load-scale' has no place"},
        {options->targets == NULL,
         "option '--target' must be given, such as --target 'goodput >= 99 %'"},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(rules); i++)
        if (rules[i].wrong)
            return conflict(error, rules[i].message);
    return campaign_output_is_right(&options->output, options->plot, "infergrid plan", error);
}

/* A rate is needed where loads are the question. */
static gboolean has_rate(const PlanJob *job, const Experiment *base, GError **error) {
    return !job->options->max_rate || capacity_offered_rate(base) > 0 ||
           conflict(error,
                    "option '--max-rate' needs requests that come at a rate: this workload's "
                    "come all at once, or as others are answered");
}

/* Everything that can be wrong is found before the first run. */
static gboolean prepare(PlanJob *job, GError **error) {
    const PlanOptions *options = job->options;
    CampaignSetup *setup = &job->campaign_setup;

    if (!campaign_options_read(&options->campaign, "infergrid plan", setup, error))
        return FALSE;
    setup->path = options->path;
    setup->best = search_progress_best;
    setup->data = job->progress = search_progress_new();
    g_autoptr(Experiment) base = experiment_load(options->path, setup->overrides, error);
    if (base == NULL || !has_rate(job, base, error))
        return FALSE;
    job->targets = plan_options_targets(options, &base->slo, error);
    job->loads = plan_options_loads(options, error);
    if (job->targets == NULL || job->loads == NULL ||
        !plan_options_read(options, base, &job->setup, error))
        return FALSE;
    if (!options->campaign.quiet)
        experiment_print_warnings(base);
    if (!campaign_output_open(&options->output, &job->folder, error))
        return FALSE;
    job->campaign = campaign_new(setup, error);
    return job->campaign != NULL;
}

static gboolean run(PlanJob *job, GError **error) {
    job->setup.campaign = job->campaign;
    job->setup.targets = job->targets;
    job->setup.loads = job->loads;
    job->setup.progress = job->progress;
    job->capacity = job->options->max_rate ? capacity_highest_load(&job->setup, error)
                                           : capacity_smallest(&job->setup, error);
    return job->capacity != NULL;
}

/* The experiment of the chosen plan, to be simulated as it stands. Caller frees; NULL on error. */
static char *best_experiment(const PlanJob *job, GError **error) {
    const CapacityPoint *chosen = job->capacity->chosen;

    return campaign_experiment_text(job->campaign, (const char *const *)chosen->settings, error);
}

static gboolean best_write(const PlanJob *job, GError **error) {
    if (job->capacity->chosen == NULL)
        return TRUE;
    g_autofree char *text = best_experiment(job, error);
    return text != NULL && output_folder_write(job->folder, "best.yaml", text, error);
}

static gboolean page_write(const PlanJob *job, const CapacityReport *report, GError **error) {
    gboolean any = job->capacity->chosen != NULL;
    g_autofree char *best = any ? best_experiment(job, error) : NULL;

    return (best != NULL || !any) &&
           report_capacity_write(report, best, job->options->output.report, error);
}

typedef gboolean (*Draw)(const CapacityReport *report, const char *path, GError **error);

static gboolean draw(const PlanJob *job, const CapacityReport *report, const char *name,
                     Draw picture, GError **error) {
    static const char *const formats[] = {"svg", "pdf"};

    for (guint i = 0; i < G_N_ELEMENTS(formats); i++) {
        g_autofree char *file = g_strdup_printf("%s.%s", name, formats[i]);
        g_autofree char *path = output_folder_file(job->folder, file);
        if (!picture(report, path, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean plots_write(const PlanJob *job, const CapacityReport *report, GError **error) {
    const Capacity *capacity = job->capacity;

    return !job->options->plot || ((capacity->sizes->len == 0 ||
                                    draw(job, report, "capacity", capacity_plot_sizes, error)) &&
                                   (capacity->loads->len == 0 ||
                                    draw(job, report, "headroom", capacity_plot_loads, error)));
}

static gboolean tables_write(const PlanJob *job, const CapacityReport *report, GError **error) {
    g_autofree char *json = capacity_report_json(report);
    g_autofree char *sizes = capacity_report_sizes_csv(report);
    g_autofree char *loads = capacity_report_loads_csv(report);
    const Capacity *capacity = job->capacity;

    return output_folder_write(job->folder, "plan.json", json, error) &&
           (capacity->sizes->len == 0 ||
            output_folder_write(job->folder, "sizes.csv", sizes, error)) &&
           (capacity->loads->len == 0 ||
            output_folder_write(job->folder, "headroom.csv", loads, error));
}

/* Nothing that meets the targets is an answer, but no plan. */
static int report(const PlanJob *job) {
    CapacityReport report = {job->options->path, &job->setup, job->capacity};
    g_autoptr(GError) error = NULL;

    if (job->folder != NULL &&
        (!tables_write(job, &report, &error) || !best_write(job, &error) ||
         !plots_write(job, &report, &error) || !output_folder_commit(job->folder, &error)))
        return catalogue_fail(error);
    if (job->options->output.report != NULL && !page_write(job, &report, &error))
        return catalogue_fail(error);
    g_autofree char *text =
        job->options->json ? capacity_report_json(&report) : capacity_report_text(&report);
    int status = catalogue_print(text);
    return MAX(status, job->capacity->chosen == NULL ? EXIT_UNFINISHED : EXIT_DONE);
}

static int plan_main(const void *target) {
    g_auto(PlanJob) job = {.options = target};
    g_autoptr(GError) error = NULL;

    if (!usage_is_right(target, &error) || !catalogue_check_environment(&error) ||
        !prepare(&job, &error) || !run(&job, &error))
        return catalogue_fail(error);
    return report(&job);
}

static const Argument arguments[] = {
    {"EXPERIMENT", G_STRUCT_OFFSET(PlanOptions, path), TRUE, NULL,
     "an experiment file, or the name of a shipped one"},
};

#define AT(member) G_STRUCT_OFFSET(PlanOptions, member)
static const Option options[] = {
    {"target", 't', OPTION_TEXTS, AT(targets), "TARGET", "none, it must be given",
     "what must hold, such as 'goodput >= 99 %' or 'ttft_p99 <= 2 s'; may stand more than once"},
    {"units", 'u', OPTION_TEXT, AT(units), "UNITS", "processors; wafers; gpus",
     "what the machine is counted in: processors or clusters; wafers; gpus or nodes of them"},
    {"sizes", 0, OPTION_TEXT, AT(sizes), "FROM:TO[:STEP]", "1:64",
     "the sizes that are looked at, in those units"},
    {"load-scale", 0, OPTION_TEXT, AT(loads), "A:B or LIST", "0.5,1,1.5,2,3,4",
     "loads of the chosen plan's headroom, as factors of the workload's own: from A to B in seven "
     "equal ratios, or a list"},
    {"max-rate", 0, OPTION_FLAG, AT(max_rate), NULL, "off",
     "find the highest request rate of the experiment's own machine and plan instead"},
    {"search", 0, OPTION_FLAG, AT(search), NULL, "off",
     "with --max-rate: under each load the best plan for that machine, not the experiment's"},
    {"method", 'm', OPTION_TEXT, AT(method), "METHOD", "the experiment's, else guided",
     "guided: leave out plans that a bound proves to miss a target; exhaustive: simulate them"},
    {"seeds", 0, OPTION_TEXT, AT(seeds), "N", "4; none of a trace",
     "a size holds when its plan meets the targets under so many other seeds too"},
    {"knee", 0, OPTION_TEXT, AT(knee), "SHARE", "1 %",
     "the knee is the size behind which goodput gains less than this"},
    CAMPAIGN_OPTIONS_WHOLE(PlanOptions, campaign),
    {"output", 'o', OPTION_DIRECTORY, AT(output.folder), "DIR", "none",
     "write plan.json, sizes.csv, headroom.csv and best.yaml into DIR, which must not exist"},
    {"force", 'f', OPTION_FLAG, AT(output.force), NULL, "off",
     "replace DIR when it holds such files"},
    {"report", 0, OPTION_TEXT, AT(output.report), "FILE.html", "none",
     "write one page that opens in any browser, without network: the capacity curve, the headroom "
     "and what holds it back"},
    {"plot", 'p', OPTION_FLAG, AT(plot), NULL, "off",
     "draw the capacity over the sizes and the headroom into DIR, by gnuplot"},
    {"json", 0, OPTION_FLAG, AT(json), NULL, "off", "print JSON instead of text"},
};

const Command command_plan = {
    .name = "plan",
    .summary = "find the smallest machine that holds a load",
    .description =
        "Looks for the smallest machine on which some plan of the experiment's section 'search' "
        "meets all targets; goodput is the share of requests within the limits of its section "
        "'slo'. Sizes are doubled and then halved, which the sizes around the answer check. Then "
        "it tells what each size reaches, how much more load the plan bears and what holds it "
        "back: of the resources given twice, the one that brings the first broken target nearest "
        "to being met. When no size will do it says which target is missed and why, and the exit "
        "status is 1.",
    .arguments = arguments,
    .n_arguments = G_N_ELEMENTS(arguments),
    .options = options,
    .n_options = G_N_ELEMENTS(options),
    .target_size = sizeof(PlanOptions),
    .example = "  # how many processors the trace needs\n"
               "  infergrid plan planning.yaml --target 'goodput >= 99 %' -o results/plan --plot\n"
               "  infergrid simulate results/plan/best.yaml\n"
               "  # and what rate the experiment's own machine and plan sustain\n"
               "  infergrid plan planning.yaml --target 'goodput >= 99 %' --max-rate\n",
    .run = plan_main,
};
