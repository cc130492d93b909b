#include "analysis/commands/catalogue.h"
#include "analysis/commands/timeline_options.h"
#include "analysis/output/interrupt.h"
#include "analysis/output/output_folder.h"
#include "analysis/output/progress.h"
#include "analysis/report/report_run.h"
#include "analysis/run/experiment_run.h"
#include "analysis/run/numbers.h"
#include "analysis/run/request_log.h"
#include "analysis/run/run_facts.h"
#include "analysis/run/series_log.h"
#include "analysis/run/summary.h"
#include "analysis/run/summary_rows.h"
#include "analysis/run/token_check.h"
#include "analysis/run/token_log.h"
#include "analysis/run/wafer_numbers.h"
#include "analysis/timeline/timeline.h"
#include "workloads/input_error.h"
#include <math.h>
#include <stdio.h>

typedef struct SimulateOptions {
    char *path;
    char **overrides;
    char *output, *report;
    gboolean force;
    gboolean trace, ranks;
    TimelineSettings timeline;
    char *warmup, *cooldown;
    gboolean no_fast_forward;
    gboolean verify;
    gboolean json;
    gboolean quiet;
} SimulateOptions;

/* A run and everything that watches it. */
typedef struct Run {
    const SimulateOptions *options;
    Experiment *experiment;
    OpCosts *costs;
    OutputFolder *folder; /* NULL without --output; then so are the files' writers */
    Metrics *metrics;
    RequestLog *requests;
    SeriesLog *series;
    Timeline *timeline;
    Checkpoint *weights; /* NULL: time only; then so are the next two */
    NumericsSetup numerics;
    WaferNumbers *wafer_numbers; /* on wafers */
    TokenLog *tokens;
    TokenCheck *check;
    Progress *progress;
    ReportRun *report;    /* with --report */
    GPtrArray *observers; /* Observer *, borrowed from those above */
    RequestSource *source;
    Ledger ledger;
    SimulationOutcome outcome;
    RunFacts facts;
} Run;

static void run_free(Run *run) {
    ledger_clear(&run->ledger);
    g_clear_pointer(&run->source, request_source_free);
    g_clear_pointer(&run->observers, g_ptr_array_unref);
    g_clear_pointer(&run->report, report_run_free);
    g_clear_pointer(&run->progress, progress_free);
    g_clear_pointer(&run->check, token_check_free);
    g_clear_pointer(&run->tokens, token_log_free);
    g_clear_pointer(&run->wafer_numbers, wafer_numbers_free);
    g_clear_pointer(&run->weights, checkpoint_free);
    g_clear_pointer(&run->timeline, timeline_free);
    g_clear_pointer(&run->series, series_log_free);
    g_clear_pointer(&run->requests, request_log_free);
    g_clear_pointer(&run->metrics, metrics_free);
    g_clear_pointer(&run->folder, output_folder_free);
    g_clear_pointer(&run->costs, op_costs_free);
    g_clear_pointer(&run->experiment, experiment_free);
    g_free(run);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Run, run_free)

static gboolean usage_is_right(const SimulateOptions *options, GError **error) {
    gboolean drawn = options->trace || options->timeline.files != NULL;
    const struct {
        gboolean given;
        const char *name;
        gboolean allowed;
        const char *needs;
    } rules[] = {
        {options->trace, "trace", options->output != NULL, "output"},
        {options->force, "force", options->output != NULL || drawn, "output' or '--timeline"},
        {options->ranks, "ranks", drawn, "timeline' or '--trace"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rules); i++) {
        if (rules[i].given && !rules[i].allowed) {
            g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                        "infergrid simulate: option '--%s' needs '--%s'", rules[i].name,
                        rules[i].needs);
            return FALSE;
        }
    }
    return (options->report == NULL ||
            report_possible(options->report, "infergrid simulate", error)) &&
           timeline_settings_check(&options->timeline, "infergrid simulate", "trace",
                                   options->trace, options->output, error);
}

/* --warmup and --cooldown are short for --set, and win over it. */
static char **all_overrides(const SimulateOptions *options) {
    g_autoptr(GStrvBuilder) builder = g_strv_builder_new();
    if (options->overrides != NULL) {
        g_strv_builder_addv(builder, (const char **)options->overrides);
    }
    const char *const shorts[][2] = {{"output.warmup", options->warmup},
                                     {"output.cooldown", options->cooldown}};
    for (gsize i = 0; i < G_N_ELEMENTS(shorts); i++) {
        if (shorts[i][1] != NULL) {
            g_autofree char *override = g_strdup_printf("%s=%s", shorts[i][0], shorts[i][1]);
            g_strv_builder_add(builder, override);
        }
    }
    return g_strv_builder_end(builder);
}

/* Weights are read before anything is simulated or written. */
static gboolean numbers_open(Run *run, GError **error) {
    const Experiment *experiment = run->experiment;
    if (run->options->verify && !experiment->output.numerics) {
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                    "infergrid simulate: option '--verify' needs 'numerics: true' in 'output'");
        return FALSE;
    }
    if (!experiment->output.numerics) {
        return TRUE;
    }
    run->weights = numbers_weights(experiment, error);
    run->numerics = numbers_setup(experiment, run->weights);
    if (run->weights == NULL || experiment->policy->mode != MODE_WAFER) {
        return run->weights != NULL;
    }
    run->wafer_numbers = wafer_numbers_new(experiment, &run->numerics, error);
    if (run->wafer_numbers == NULL) {
        return FALSE;
    }
    run->numerics.known = wafer_numbers_tokens(run->wafer_numbers);
    return TRUE;
}

static gboolean run_prepare(Run *run, GError **error) {
    const SimulateOptions *options = run->options;
    g_auto(GStrv) overrides = all_overrides(options);
    run->experiment = experiment_load(options->path, (const char *const *)overrides, error);
    if (run->experiment == NULL) {
        return FALSE;
    }
    if (!options->quiet) {
        experiment_print_warnings(run->experiment);
    }
    run->source = request_source_open(run->experiment->workload, run->experiment->seed, error);
    if (run->source == NULL || !numbers_open(run, error)) {
        return FALSE;
    }
    run->costs = experiment_run_costs(run->experiment, options->quiet, NULL, error);
    if (run->costs == NULL) {
        return FALSE;
    }
    if (options->output != NULL) {
        run->folder = output_folder_open(options->output, options->force, error);
    }
    return options->output == NULL || run->folder != NULL;
}

static gboolean timeline_open(Run *run, GError **error) {
    const SimulateOptions *given = run->options;
    TimelineOptions options = {.plan = run->experiment->plan,
                               .ranks = given->ranks,
                               .window = timeline_settings_window(&given->timeline)};
    g_autofree char *path = given->trace ? output_folder_file(run->folder, "trace.json") : NULL;
    g_autofree char *plan = summary_plan_line(run->experiment);
    g_autofree char *extent = summary_extent_line(run->experiment);
    const char *const caption[] = {plan, extent, NULL};
    TraceSink *sink = timeline_settings_open(&given->timeline, given->force, path, caption, error);
    if (sink == NULL) {
        return FALSE;
    }
    run->timeline = timeline_new(sink, &options);
    g_ptr_array_add(run->observers, timeline_observer(run->timeline));
    return TRUE;
}

static gboolean tokens_open(Run *run, GError **error) {
    g_autofree char *path = output_folder_file(run->folder, "tokens.csv");
    run->tokens = token_log_new(path, error);
    if (run->tokens == NULL) {
        return FALSE;
    }
    g_ptr_array_add(run->observers, token_log_observer(run->tokens));
    return TRUE;
}

static gboolean files_open(Run *run, GError **error) {
    g_autofree char *requests = output_folder_file(run->folder, "requests.csv");
    g_autofree char *series = output_folder_file(run->folder, "series.csv");
    if ((run->requests = request_log_new(requests, error)) == NULL ||
        (run->series = series_log_new(series, error)) == NULL) {
        return FALSE;
    }
    g_ptr_array_add(run->observers, request_log_observer(run->requests));
    g_ptr_array_add(run->observers, series_log_observer(run->series));
    return run->weights == NULL || tokens_open(run, error);
}

static gboolean observers_open(Run *run, GError **error) {
    const Experiment *experiment = run->experiment;
    run->observers = g_ptr_array_new();
    run->metrics = experiment_run_metrics(experiment);
    g_ptr_array_add(run->observers, metrics_observer(run->metrics));
    if (run->options->verify) {
        run->check = token_check_new(experiment->model, &run->numerics);
        g_ptr_array_add(run->observers, token_check_observer(run->check));
    }
    run->progress = progress_new(experiment->facts.requests, run->options->quiet);
    if (run->progress != NULL) {
        g_ptr_array_add(run->observers, progress_observer(run->progress));
    }
    if (run->options->report != NULL) {
        run->report = report_run_new(experiment, &run->ledger);
        report_run_observe(run->report, run->observers);
    }
    gboolean drawn = run->options->trace || run->options->timeline.files != NULL;
    return (run->folder == NULL || files_open(run, error)) && (!drawn || timeline_open(run, error));
}

static void run_simulate(Run *run, GError **error) {
    const Experiment *experiment = run->experiment;
    SimulationSetup setup = experiment_run_setup(experiment, run->costs, run->source);
    setup.observers = (Observer *const *)run->observers->pdata;
    setup.n_observers = run->observers->len;
    setup.numerics = run->weights == NULL ? NULL : &run->numerics;
    setup.fast_forward = !run->options->no_fast_forward;
    gboolean sampled = run->series != NULL || run->timeline != NULL;
    setup.sample_interval_s = sampled ? experiment->output.series_interval_s : 0;
    setup.interrupted = interrupt_watch();
    run_facts_simulation(&run->facts);
    run->outcome = simulation_run(&setup, &run->ledger, error);
    run_facts_finish(&run->facts);
    metrics_finish(run->metrics, run->ledger.end_s);
    g_clear_pointer(&run->progress, progress_free);
}

/* TRUE when the files deserve to be kept: a deadlock or a violated invariant keeps none. */
static gboolean run_is_sound(const Run *run, const GError *error) {
    g_autofree char *fault = experiment_run_fault(&run->ledger, run->outcome, error);
    if (fault != NULL) {
        fprintf(stderr, "infergrid: %s\n", fault);
    }
    return fault == NULL;
}

static gboolean files_finish(Run *run, const SummaryInput *summary, GError **error) {
    g_autofree char *resolved = experiment_write(run->experiment);
    g_autofree char *answers = summary_json(summary);
    g_autofree char *facts = run_facts_json(&run->facts, &run->ledger);
    return request_log_finish(run->requests, error) && series_log_finish(run->series, error) &&
           (run->tokens == NULL || token_log_finish(run->tokens, error)) &&
           output_folder_write(run->folder, "summary.json", answers, error) &&
           output_folder_write(run->folder, "experiment.yaml", resolved, error) &&
           output_folder_write(run->folder, "run.json", facts, error) &&
           output_folder_commit(run->folder, error);
}

/* Tokens that differ keep their files, so that one can look at them. */
static int tokens_verdict(const Run *run) {
    if (run->check == NULL || token_check_passed(run->check)) {
        return EXIT_DONE;
    }
    const TokenCheckResult *result = token_check_result(run->check);
    fprintf(stderr,
            "infergrid: request %" G_GUINT64_FORMAT " differs from the single process at its token "
            "%" G_GUINT64_FORMAT "\n",
            result->different_id, result->different_token);
    return EXIT_UNFINISHED;
}

/* What was asked of a timeline is held against the run first: wrong input prints no summary. */
static gboolean timeline_close(Run *run, GError **error) {
    double end_s = run->ledger.end_s;
    return run->timeline == NULL ||
           (timeline_settings_cover(&run->options->timeline, end_s, error) &&
            timeline_finish(run->timeline, end_s, error));
}

/* Summary, verdict, files: in this order, so that a violated invariant comes with its figures and
 * leaves no folder. */
static int run_report(Run *run, const GError *failure) {
    SummaryInput summary = {.experiment = run->experiment,
                            .ledger = &run->ledger,
                            .metrics = run->metrics,
                            .outcome = run->outcome,
                            .numbers = run->check == NULL ? NULL : token_check_result(run->check),
                            .on_cores = run->wafer_numbers};
    g_autofree char *text = run->options->json ? summary_json(&summary) : summary_table(&summary);
    g_autoptr(GError) error = NULL;
    gboolean sound = run_is_sound(run, failure);
    if (sound && !timeline_close(run, &error)) {
        return catalogue_fail(error);
    }
    int status = catalogue_print(text);
    if (!sound) {
        return EXIT_UNFINISHED;
    }
    if (!run->options->quiet) {
        g_autofree char *line = run_facts_line(&run->facts, &run->ledger);
        fprintf(stderr, "%s\n", line);
    }
    if (run->folder != NULL && !files_finish(run, &summary, &error)) {
        fprintf(stderr, "infergrid: %s\n", error->message);
        return EXIT_UNFINISHED;
    }
    if (run->report != NULL &&
        !report_run_write(run->report, &summary, run->options->report, &error)) {
        fprintf(stderr, "infergrid: %s\n", error->message);
        return EXIT_UNFINISHED;
    }
    int verdict = tokens_verdict(run);
    return run->outcome == OUTCOME_FINISHED ? MAX(status, verdict) : EXIT_UNFINISHED;
}

static int simulate_run(const void *target) {
    g_autoptr(Run) run = g_new0(Run, 1);
    run->options = target;
    run->facts = run_facts_begin();
    g_autoptr(GError) error = NULL;
    if (!usage_is_right(target, &error) || !catalogue_check_environment(&error) ||
        !run_prepare(run, &error) || !observers_open(run, &error)) {
        return catalogue_fail(error);
    }
    run_simulate(run, &error);
    if (run->outcome == OUTCOME_SOURCE_FAILED) {
        return catalogue_fail(error);
    }
    return run_report(run, error);
}

#define OPTION_OFFSET(member) G_STRUCT_OFFSET(SimulateOptions, member)

static const Argument simulate_arguments[] = {
    {"EXPERIMENT", OPTION_OFFSET(path), TRUE, NULL,
     "the experiment, a YAML file, or the name of a shipped one"},
};

static const Option simulate_options[] = {
    {"set", 's', OPTION_TEXTS, OPTION_OFFSET(overrides), "KEY=VALUE", "the file's own values",
     "put VALUE in place of one value of the experiment, such as policy.decode.tp=4; may stand "
     "more than once"},
    {"output", 'o', OPTION_DIRECTORY, OPTION_OFFSET(output), "DIR", "print the summary only",
     "write summary.json, requests.csv, series.csv, experiment.yaml (resolved) and run.json into "
     "a new folder, and tokens.csv where numerics are on"},
    {"force", 'f', OPTION_FLAG, OPTION_OFFSET(force), NULL, "off",
     "replace the folder of --output, or timelines' files, if they are there"},
    {"report", 0, OPTION_TEXT, OPTION_OFFSET(report), "FILE.html", "none",
     "write one page that opens in any browser, without network: latencies, load, machine, "
     "timeline and experiment"},
    {"trace", 't', OPTION_FLAG, OPTION_OFFSET(trace), NULL, "off",
     "write trace.json too, a timeline that opens in Perfetto; steps are then simulated one by "
     "one, which takes longer"},
    TIMELINE_OPTIONS(SimulateOptions, timeline),
    {"ranks", 0, OPTION_FLAG, OPTION_OFFSET(ranks), NULL, "off",
     "timelines: a lane for each cluster instead of each tensor-parallel group"},
    {"warmup", 0, OPTION_DURATION, OPTION_OFFSET(warmup), "DURATION", "output.warmup",
     "leave out of the steady-state window the requests that arrive this early, such as '30 s'"},
    {"cooldown", 0, OPTION_DURATION, OPTION_OFFSET(cooldown), "DURATION", "output.cooldown",
     "leave out of the steady-state window the requests that arrive in this last part"},
    {"no-fast-forward", 0, OPTION_FLAG, OPTION_OFFSET(no_fast_forward), NULL, "off",
     "wake an actor at every step, even where nothing can change; gives the same bytes, slower"},
    {"verify", 0, OPTION_FLAG, OPTION_OFFSET(verify), NULL, "off",
     "with 'numerics: true' in section 'output': compute every completed request once more in a "
     "single process and compare the tokens; status 1 when any differs"},
    {"json", 'j', OPTION_FLAG, OPTION_OFFSET(json), NULL, "off",
     "print the summary as JSON instead of a table"},
    {"quiet", 'q', OPTION_FLAG, OPTION_OFFSET(quiet), NULL, "off",
     "show no progress, no warnings and no line about the wall time"},
};

const Command command_simulate = {
    .name = "simulate",
    .summary = "run an experiment and print its summary",
    .description =
        "Simulates the serving of the experiment's requests by its model on its platform under "
        "its policy, checks the books, and prints a summary. The same experiment and the same "
        "seed give the same bytes in every file but run.json, which tells about the host.",
    .arguments = simulate_arguments,
    .n_arguments = G_N_ELEMENTS(simulate_arguments),
    .options = simulate_options,
    .n_options = G_N_ELEMENTS(simulate_options),
    .target_size = sizeof(SimulateOptions),
    .example = "  # the demo with smaller batches, its results and timeline in a folder\n"
               "  infergrid simulate demo.yaml --set policy.decode.slots=8 -o results/slots-8 "
               "--trace\n"
               "  # half a minute of what its decode replicas and its network do\n"
               "  infergrid simulate demo.yaml --timeline demo.json.gz --window '60 s:90 s' \\\n"
               "      --lanes 'decode*' --lanes 'network*'\n",
    .run = simulate_run,
};
