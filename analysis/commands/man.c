#include "analysis/commands/catalogue.h"

/* The command takes nothing; a struct needs a member. */
typedef struct ManOptions {
    char nothing;
} ManOptions;

/* Text for troff: a hyphen that can be copied, no escapes and no requests by accident. */
static void append_escaped(GString *out, const char *text) {
    gboolean line_begins = TRUE;
    for (const char *c = text; *c != '\0'; c++) {
        if (line_begins && (*c == '.' || *c == '\'')) {
            g_string_append(out, "\\&");
        }
        if (*c == '-') {
            g_string_append(out, "\\-");
        } else if (*c == '\\') {
            g_string_append(out, "\\e");
        } else {
            g_string_append_c(out, *c);
        }
        line_begins = *c == '\n';
    }
}

static void man_paragraph(GString *out, const char *text) {
    g_string_append(out, ".PP\n");
    append_escaped(out, text);
    g_string_append_c(out, '\n');
}

static void man_entry(GString *out, const char *term, const char *text) {
    g_string_append(out, ".TP\n.B ");
    append_escaped(out, term);
    g_string_append_c(out, '\n');
    append_escaped(out, text);
    g_string_append_c(out, '\n');
}

static void man_option(GString *out, const Option *option) {
    g_autoptr(GString) term = g_string_new(NULL);
    if (option->letter != 0) {
        g_string_append_printf(term, "-%c, ", option->letter);
    }
    g_string_append_printf(term, "--%s", option->name);
    if (option->value_name != NULL) {
        g_string_append_printf(term, " %s", option->value_name);
    }
    g_autofree char *text = g_strdup_printf("%s (default: %s)", option->help, option->fallback);
    man_entry(out, term->str, text);
}

static void man_command(GString *out, const Command *command) {
    g_autofree char *usage = options_usage(command);
    g_string_append(out, ".SS ");
    append_escaped(out, usage);
    g_string_append_c(out, '\n');
    man_paragraph(out, command->description);
    for (gsize i = 0; i < command->n_arguments; i++) {
        man_entry(out, command->arguments[i].name, command->arguments[i].help);
    }
    for (gsize i = 0; i < command->n_options; i++) {
        man_option(out, &command->options[i]);
    }
    g_string_append(out, ".PP\nExample:\n.PP\n.EX\n");
    append_escaped(out, command->example);
    g_string_append(out, ".EE\n");
}

static void man_notes(GString *out, const char *title, const CatalogueNote *notes) {
    g_string_append_printf(out, ".SH %s\n", title);
    for (const CatalogueNote *note = notes; note->word != NULL; note++) {
        man_entry(out, note->word, note->meaning);
    }
}

static int man_run(const void *target) {
    (void)target;
    g_autoptr(GString) out = g_string_new(NULL);
    g_string_append_printf(out,
                           ".TH INFERGRID 1 \"\" \"infergrid %s\" \"User Commands\"\n"
                           ".SH NAME\n"
                           "infergrid \\- simulate distributed LLM inference\n"
                           ".SH SYNOPSIS\n"
                           ".B infergrid\n"
                           ".I COMMAND\n"
                           "[ARGUMENT]... [OPTION]...\n"
                           ".br\n"
                           ".B infergrid \\-\\-help\n"
                           "|\n"
                           ".B \\-\\-version\n"
                           ".SH DESCRIPTION\n",
                           catalogue_version);
    man_paragraph(out, catalogue_purpose);
    g_string_append(out, ".SH COMMANDS\n");
    for (const Command *const *command = catalogue_commands; *command != NULL; command++) {
        man_command(out, *command);
    }
    man_notes(out, "EXIT STATUS", catalogue_exit_statuses);
    man_notes(out, "ENVIRONMENT", catalogue_environment);
    return catalogue_print(out->str);
}

const Command command_man = {
    .name = "man",
    .summary = "print the manual page",
    .description = "Prints the manual page in troff. An installed infergrid has put it in its "
                   "place already.",
    .target_size = sizeof(ManOptions),
    .example = "  infergrid man | man -l -\n",
    .run = man_run,
};
