#include "analysis/campaign/sweep_plot.h"
#include "analysis/commands/campaign_options.h"
#include "analysis/commands/catalogue.h"
#include "analysis/report/report_sweep.h"
#include "workloads/input_error.h"
#include <stdio.h>

typedef struct SweepOptions {
    char *path;
    CampaignOptions campaign;
    char **vary;
    CampaignOutput output;
    char *plot;
    gboolean json;
} SweepOptions;

typedef struct Sweep {
    const SweepOptions *options;
    CampaignSetup setup;
    GPtrArray *keys; /* VaryKey */
    SweepPlot plot;  /* with --plot */
    OutputFolder *folder;
    Campaign *campaign;
    CampaignRun *runs;
    gboolean *shown;
    gsize n;
} Sweep;

static void sweep_clear(Sweep *sweep) {
    for (gsize i = 0; sweep->runs != NULL && i < sweep->n; i++) {
        g_strfreev(sweep->runs[i].overrides);
        outcome_clear(&sweep->runs[i].outcome);
    }
    g_free(sweep->runs);
    g_free(sweep->shown);
    g_clear_pointer(&sweep->campaign, campaign_free);
    g_clear_pointer(&sweep->folder, output_folder_free);
    g_clear_pointer(&sweep->keys, g_ptr_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Sweep, sweep_clear)

static gboolean usage_is_right(const SweepOptions *options, GError **error) {
    return campaign_output_is_right(&options->output, options->plot != NULL, "infergrid sweep",
                                    error);
}

/* Everything that can be wrong is found before the first run. */
static gboolean prepare(Sweep *sweep, GError **error) {
    const SweepOptions *options = sweep->options;

    sweep->setup.path = options->path;
    sweep->keys = vary_parse((const char *const *)options->vary, error);
    if (sweep->keys == NULL ||
        !campaign_options_read(&options->campaign, "infergrid sweep", &sweep->setup, error) ||
        (options->plot != NULL &&
         !sweep_plot_parse(options->plot, sweep->keys, &sweep->plot, error)))
        return FALSE;
    g_autoptr(Experiment) base = experiment_load(options->path, sweep->setup.overrides, error);
    if (base == NULL || !vary_check(sweep->keys, &sweep->setup, base, error))
        return FALSE;
    if (!options->campaign.quiet)
        experiment_print_warnings(base);
    if (!campaign_output_open(&options->output, &sweep->folder, error))
        return FALSE;
    sweep->campaign = campaign_new(&sweep->setup, error);
    return sweep->campaign != NULL;
}

static gboolean run_all(Sweep *sweep, GError **error) {
    sweep->n = vary_runs(sweep->keys);
    sweep->runs = g_new0(CampaignRun, sweep->n);
    sweep->shown = g_new0(gboolean, sweep->n);
    for (gsize i = 0; i < sweep->n; i++)
        sweep->runs[i].overrides = vary_overrides(sweep->keys, i);
    if (!campaign_run(sweep->campaign, sweep->runs, sweep->n, "sweep", error))
        return FALSE;
    for (gsize i = 0; i < sweep->n; i++)
        sweep->shown[i] = !campaign_run_is_elsewhere(&sweep->runs[i]);
    return TRUE;
}

static gboolean plots_write(const Sweep *sweep, const SweepResult *result, GError **error) {
    static const char *const names[] = {"plot.svg", "plot.pdf"};

    for (gsize i = 0; sweep->options->plot != NULL && i < G_N_ELEMENTS(names); i++) {
        g_autofree char *path = output_folder_file(sweep->folder, names[i]);
        if (!sweep_plot_draw(&sweep->plot, result, path, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean files_write(const Sweep *sweep, const SweepResult *result, GError **error) {
    g_autofree char *csv = sweep_report_csv(result);
    g_autofree char *json = sweep_report_json(result);

    return output_folder_write(sweep->folder, "sweep.csv", csv, error) &&
           output_folder_write(sweep->folder, "sweep.json", json, error) &&
           plots_write(sweep, result, error) && output_folder_commit(sweep->folder, error);
}

/* Broken runs are told of, one a line; a sweep with any is not done. */
static int verdict(const Sweep *sweep) {
    int status = EXIT_DONE;

    for (gsize i = 0; i < sweep->n; i++) {
        const CampaignRun *run = &sweep->runs[i];
        if (!sweep->shown[i] || run->outcome.status != OUTCOME_BROKEN)
            continue;
        g_autofree char *settings = g_strjoinv(" ", run->overrides);
        fprintf(stderr, "infergrid: broken run: %s: %s\n", settings, run->outcome.reason);
        status = EXIT_UNFINISHED;
    }
    return status;
}

static int report(const Sweep *sweep) {
    SweepResult result = {sweep->options->path, sweep->keys, sweep->runs, sweep->shown};
    g_autoptr(GError) error = NULL;

    if (sweep->folder != NULL && !files_write(sweep, &result, &error))
        return catalogue_fail(error);
    if (sweep->options->output.report != NULL &&
        !report_sweep_write(&result, sweep->options->output.report, &error))
        return catalogue_fail(error);
    g_autofree char *text = sweep->options->json    ? sweep_report_json(&result)
                            : sweep->folder == NULL ? sweep_report_csv(&result)
                                                    : g_strdup("");
    int status = catalogue_print(text);
    int broken = verdict(sweep);
    return MAX(status, broken);
}

static int sweep_run(const void *target) {
    g_auto(Sweep) sweep = {.options = target};
    g_autoptr(GError) error = NULL;

    if (!usage_is_right(target, &error) || !catalogue_check_environment(&error) ||
        !prepare(&sweep, &error) || !run_all(&sweep, &error))
        return catalogue_fail(error);
    return report(&sweep);
}

#define OPTION_OFFSET(member) G_STRUCT_OFFSET(SweepOptions, member)

static const Argument sweep_arguments[] = {
    {"EXPERIMENT", OPTION_OFFSET(path), TRUE, NULL,
     "the experiment, a YAML file, or the name of a shipped one"},
};

static const Option sweep_options[] = {
    {"vary", 'v', OPTION_TEXTS, OPTION_OFFSET(vary), "KEY=VALUES", "none, it must be given",
     "a key of the experiment and the values that it takes, A,B,C or FROM:TO:STEP; may stand more "
     "than once, and then every combination is run"},
    CAMPAIGN_OPTIONS(SweepOptions, campaign),
    {"output", 'o', OPTION_DIRECTORY, OPTION_OFFSET(output.folder), "DIR", "print CSV",
     "write sweep.csv and sweep.json into a new folder instead, and plot.svg and plot.pdf with "
     "--plot"},
    {"force", 'f', OPTION_FLAG, OPTION_OFFSET(output.force), NULL, "off",
     "replace the folder of --output if it is there"},
    {"report", 0, OPTION_TEXT, OPTION_OFFSET(output.report), "FILE.html", "none",
     "write one page that opens in any browser, without network: every run with its settings and "
     "figures"},
    {"plot", 'p', OPTION_TEXT, OPTION_OFFSET(plot), "X,Y[,SERIES]", "no picture",
     "draw the figure Y over the varied key X, a line for each value of the key SERIES; where more "
     "keys vary, the best of their values; needs gnuplot"},
    {"json", 0, OPTION_FLAG, OPTION_OFFSET(json), NULL, "off", "print JSON instead of CSV"},
};

const Command command_sweep = {
    .name = "sweep",
    .summary = "run an experiment under all combinations of settings",
    .description =
        "Simulates the experiment once for each combination of the values given, many at a time, "
        "and prints one line of CSV for each: the settings, whether it was ok, refused (it does "
        "not fit, and why) or broken, and its figures. The output does not depend on the number of "
        "workers, nor on how often it was interrupted and taken up again from its store.",
    .arguments = sweep_arguments,
    .n_arguments = G_N_ELEMENTS(sweep_arguments),
    .options = sweep_options,
    .n_options = G_N_ELEMENTS(sweep_options),
    .target_size = sizeof(SweepOptions),
    .example = "  # throughput by the split of decoding, drawn\n"
               "  infergrid sweep closed_batch.yaml --vary policy.decode.tp=1,2,4 \\\n"
               "      --vary policy.decode.slots=8:32:8 -o results/split \\\n"
               "      --plot decode.slots,throughput,decode.tp\n",
    .run = sweep_run,
};
