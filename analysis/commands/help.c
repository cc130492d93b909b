#include "analysis/commands/catalogue.h"

typedef struct HelpOptions {
    char *command;
} HelpOptions;

static int help_run(const void *target) {
    const HelpOptions *options = target;
    g_autofree char *text = options->command == NULL
                                ? catalogue_help()
                                : options_help(catalogue_find(options->command));
    return catalogue_print(text);
}

static const Argument help_arguments[] = {
    {"COMMAND", G_STRUCT_OFFSET(HelpOptions, command), FALSE, catalogue_command_names,
     "the command to explain; all of them are listed without it"},
};

const Command command_help = {
    .name = "help",
    .summary = "explain a command",
    .description = "Prints what a command does, its arguments, its options with their defaults, "
                   "and an example.",
    .arguments = help_arguments,
    .n_arguments = G_N_ELEMENTS(help_arguments),
    .target_size = sizeof(HelpOptions),
    .example = "  infergrid help simulate\n",
    .run = help_run,
};
