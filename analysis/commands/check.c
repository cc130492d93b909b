#include "analysis/commands/catalogue.h"
#include "analysis/run/experiment.h"

typedef struct CheckOptions {
    char *path;
    char **overrides;
} CheckOptions;

static int check_run(const void *target) {
    const CheckOptions *options = target;
    g_autoptr(GError) error = NULL;
    g_autoptr(Experiment) experiment =
        experiment_load(options->path, (const char *const *)options->overrides, &error);
    if (experiment == NULL) {
        return catalogue_fail(error);
    }
    experiment_print_warnings(experiment);
    g_autofree char *text = experiment_write(experiment);
    return catalogue_print(text);
}

static const Argument check_arguments[] = {
    {"EXPERIMENT", G_STRUCT_OFFSET(CheckOptions, path), TRUE, NULL,
     "the experiment, a YAML file, or the name of a shipped one"},
};

static const Option check_options[] = {
    {"set", 's', OPTION_TEXTS, G_STRUCT_OFFSET(CheckOptions, overrides), "KEY=VALUE",
     "the file's own values",
     "put VALUE in place of one value of the experiment, such as policy.decode.tp=4; may stand "
     "more than once"},
};

const Command command_check = {
    .name = "check",
    .summary = "validate an experiment and print it resolved",
    .description =
        "Reads an experiment and everything that it names (model, platform, the whole trace), "
        "checks all of it, and prints the resolved experiment: every default filled in, units "
        "normalised, the memory bill and the KV capacity as comments. What it prints is a valid "
        "experiment that gives the same results.",
    .arguments = check_arguments,
    .n_arguments = G_N_ELEMENTS(check_arguments),
    .options = check_options,
    .n_options = G_N_ELEMENTS(check_options),
    .target_size = sizeof(CheckOptions),
    .example = "  # does it still fit with 64 slots, and how many tokens of KV are left?\n"
               "  infergrid check demo.yaml --set policy.decode.slots=64\n",
    .run = check_run,
};
