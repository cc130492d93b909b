#include "analysis/commands/catalogue.h"
#include <string.h>

typedef struct CompletionOptions {
    char *shell;
} CompletionOptions;

/* 'text' with a backslash before each of 'special', and ' as shells want it between ''. */
static char *quoted(const char *text, const char *special) {
    GString *out = g_string_new(NULL);
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '\'') {
            g_string_append(out, "'\\''");
        } else if (strchr(special, *c) != NULL) {
            g_string_append_printf(out, "\\%c", *c);
        } else {
            g_string_append_c(out, *c);
        }
    }
    return g_string_free(out, FALSE);
}

/* The choices of a command's first argument, blank-separated; NULL where it takes a file or none.
 */
static char *argument_choices(const Command *command) {
    if (command->n_arguments == 0 || command->arguments[0].choices == NULL) {
        return NULL;
    }
    return g_strjoinv(" ", (char **)command->arguments[0].choices);
}

static void bash_values(GString *out, const Command *command) {
    for (gsize i = 0; i < command->n_options; i++) {
        const Option *option = &command->options[i];
        if (option->kind == OPTION_FLAG) {
            continue;
        }
        g_string_append_printf(out, "    '%s --%s'", command->name, option->name);
        if (option->letter != 0) {
            g_string_append_printf(out, " | '%s -%c'", command->name, option->letter);
        }
        g_string_append(out, option->kind == OPTION_DIRECTORY
                                 ? ")\n        compopt -o filenames\n"
                                   "        mapfile -t COMPREPLY < <(compgen -d -- \"$current\")\n"
                                   "        return\n        ;;\n"
                                 : ")\n        return\n        ;;\n");
    }
}

static void bash_command(GString *out, const Command *command) {
    g_autofree char *choices = argument_choices(command);
    g_string_append_printf(out, "    %s)\n        options='", command->name);
    for (gsize i = 0; i < command->n_options; i++) {
        g_string_append_printf(out, "--%s ", command->options[i].name);
    }
    g_string_append_printf(out, "--help'\n        choices='%s'\n", choices == NULL ? "" : choices);
    gboolean file = command->n_arguments > 0 && choices == NULL;
    g_string_append_printf(out, "        files=%d\n        ;;\n", file);
}

static void write_bash(GString *out) {
    g_autofree char *names = g_strjoinv(" ", (char **)catalogue_command_names);
    g_string_append_printf(out,
                           "# bash completion for infergrid\n"
                           "_infergrid()\n{\n"
                           "    local current=${COMP_WORDS[COMP_CWORD]} options choices files\n"
                           "    COMPREPLY=()\n"
                           "    if ((COMP_CWORD == 1)); then\n"
                           "        mapfile -t COMPREPLY < "
                           "<(compgen -W '%s --help --version' -- \"$current\")\n"
                           "        return\n"
                           "    fi\n"
                           "    case \"${COMP_WORDS[1]} ${COMP_WORDS[COMP_CWORD - 1]}\" in\n",
                           names);
    for (const Command *const *command = catalogue_commands; *command != NULL; command++) {
        bash_values(out, *command);
    }
    g_string_append(out, "    esac\n    case ${COMP_WORDS[1]} in\n");
    for (const Command *const *command = catalogue_commands; *command != NULL; command++) {
        bash_command(out, *command);
    }
    g_string_append(out,
                    "    *)\n        return\n        ;;\n    esac\n"
                    "    if [[ $current == -* ]]; then\n"
                    "        mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$current\")\n"
                    "    elif ((files)); then\n"
                    "        compopt -o filenames\n"
                    "        mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
                    "    else\n"
                    "        mapfile -t COMPREPLY < <(compgen -W \"$choices\" -- \"$current\")\n"
                    "    fi\n}\n"
                    "complete -F _infergrid infergrid\n");
}

static void zsh_option(GString *out, const Option *option) {
    g_autofree char *help = quoted(option->help, "[]:\\");
    gboolean flag = option->kind == OPTION_FLAG;
    gboolean repeats = option->kind == OPTION_TEXTS;
    g_string_append(out, " \\\n            ");
    if (option->letter != 0 && !repeats) {
        g_string_append_printf(out, "'(-%c --%s)'", option->letter, option->name);
    } else if (repeats) {
        g_string_append(out, "'*'");
    }
    if (option->letter != 0) {
        g_string_append_printf(out, "{-%c%s,--%s%s}", option->letter, flag ? "" : "+", option->name,
                               flag ? "" : "=");
    } else {
        g_string_append_printf(out, "--%s%s", option->name, flag ? "" : "=");
    }
    g_string_append_printf(out, "'[%s]", help);
    if (!flag) {
        g_autofree char *value = quoted(option->value_name, ":\\");
        g_string_append_printf(out, ":%s:%s", value,
                               option->kind == OPTION_DIRECTORY ? "_files -/" : "");
    }
    g_string_append_c(out, '\'');
}

static void zsh_command(GString *out, const Command *command) {
    g_autofree char *choices = argument_choices(command);
    g_string_append_printf(out, "    %s)\n        _arguments -s", command->name);
    for (gsize i = 0; i < command->n_options; i++) {
        zsh_option(out, &command->options[i]);
    }
    g_string_append(out, " \\\n            '(-h --help)'{-h,--help}'[print this help]'");
    if (choices != NULL) {
        g_string_append_printf(out, " \\\n            ':%s:(%s)'", command->arguments[0].name,
                               choices);
    } else if (command->n_arguments > 0) {
        g_string_append_printf(out, " \\\n            ':%s:_files -g \"*.yaml\"'",
                               command->arguments[0].name);
    }
    g_string_append(out, "\n        ;;\n");
}

static void write_zsh(GString *out) {
    g_string_append(out, "#compdef infergrid\n"
                         "_infergrid() {\n"
                         "    local -a commands=(\n");
    for (const Command *const *command = catalogue_commands; *command != NULL; command++) {
        g_autofree char *summary = quoted((*command)->summary, ":\\");
        g_string_append_printf(out, "        '%s:%s'\n", (*command)->name, summary);
    }
    g_string_append(out, "        '--help:print the commands'\n"
                         "        '--version:print the versions of infergrid and SimGrid'\n"
                         "    )\n"
                         "    if ((CURRENT == 2)); then\n"
                         "        _describe command commands\n"
                         "        return\n"
                         "    fi\n"
                         "    shift words\n"
                         "    ((CURRENT--))\n"
                         "    case $words[1] in\n");
    for (const Command *const *command = catalogue_commands; *command != NULL; command++) {
        zsh_command(out, *command);
    }
    g_string_append(out, "    esac\n}\n"
                         "if [[ $funcstack[1] == _infergrid ]]; then\n"
                         "    _infergrid \"$@\"\n"
                         "else\n"
                         "    compdef _infergrid infergrid\n"
                         "fi\n");
}

static void fish_option(GString *out, const Command *command, const Option *option) {
    g_autofree char *help = quoted(option->help, "\\");
    g_string_append_printf(out, "complete -c infergrid -n '__fish_seen_subcommand_from %s' -l %s",
                           command->name, option->name);
    if (option->letter != 0) {
        g_string_append_printf(out, " -s %c", option->letter);
    }
    if (option->kind != OPTION_FLAG) {
        g_string_append(out, option->kind == OPTION_DIRECTORY
                                 ? " -x -a '(__fish_complete_directories)'"
                                 : " -x");
    }
    g_string_append_printf(out, " -d '%s'\n", help);
}

static void fish_command(GString *out, const Command *command) {
    g_autofree char *summary = quoted(command->summary, "\\");
    g_autofree char *choices = argument_choices(command);
    g_string_append_printf(out, "complete -c infergrid -n __fish_use_subcommand -a %s -d '%s'\n",
                           command->name, summary);
    if (choices != NULL) {
        g_string_append_printf(
            out, "complete -c infergrid -n '__fish_seen_subcommand_from %s' -a '%s'\n",
            command->name, choices);
    } else if (command->n_arguments > 0) {
        g_string_append_printf(
            out, "complete -c infergrid -n '__fish_seen_subcommand_from %s' -F\n", command->name);
    }
    for (gsize i = 0; i < command->n_options; i++) {
        fish_option(out, command, &command->options[i]);
    }
}

static void write_fish(GString *out) {
    g_string_append(out, "# fish completion for infergrid\n"
                         "complete -c infergrid -f\n"
                         "complete -c infergrid -s h -l help -d 'print this help'\n"
                         "complete -c infergrid -n __fish_use_subcommand -l version -d "
                         "'print the versions of infergrid and SimGrid'\n");
    for (const Command *const *command = catalogue_commands; *command != NULL; command++) {
        fish_command(out, *command);
    }
}

static const struct {
    const char *shell;
    void (*write)(GString *out);
} writers[] = {{"bash", write_bash}, {"zsh", write_zsh}, {"fish", write_fish}};

static const char *const shells[] = {"bash", "zsh", "fish", NULL};

static int completion_run(const void *target) {
    const CompletionOptions *options = target;
    g_autoptr(GString) out = g_string_new(NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(writers); i++) {
        if (strcmp(writers[i].shell, options->shell) == 0) {
            writers[i].write(out);
        }
    }
    return catalogue_print(out->str);
}

static const Argument completion_arguments[] = {
    {"SHELL", G_STRUCT_OFFSET(CompletionOptions, shell), TRUE, shells, "bash, zsh or fish"},
};

const Command command_completion = {
    .name = "completion",
    .summary = "print a shell's completion script",
    .description = "Prints the script that lets a shell complete infergrid's commands and options. "
                   "An installed infergrid has put the scripts in their places already.",
    .arguments = completion_arguments,
    .n_arguments = G_N_ELEMENTS(completion_arguments),
    .target_size = sizeof(CompletionOptions),
    .example = "  source <(infergrid completion bash)\n",
    .run = completion_run,
};
