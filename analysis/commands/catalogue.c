#include "analysis/commands/catalogue.h"
#include "workloads/input_error.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

const Command *const catalogue_commands[] = {
    &command_simulate, &command_check, &command_compare,    &command_sweep,    &command_search,
    &command_plan,     &command_merge, &command_explain,    &command_operator, &command_reproduce,
    &command_roofline, &command_help,  &command_completion, &command_man,      NULL};

const char *const catalogue_command_names[] = {
    "simulate", "check",     "compare",  "sweep", "search",     "plan", "merge", "explain",
    "operator", "reproduce", "roofline", "help",  "completion", "man",  NULL};

const char *const catalogue_version = INFERGRID_VERSION;

const char *const catalogue_purpose =
    "infergrid is a discrete-event simulator of distributed LLM inference on many-core "
    "clusters, wafers and GPUs. Given a model, a machine and a trace of requests it tells how many "
    "of them a load needs, split how, and what the timeline looks like.";

const CatalogueNote catalogue_exit_statuses[] = {
    {"0", "done; every request is accounted for"},
    {"1", "the simulation could not finish (deadlock, interruption, failed write), or one of its "
          "invariants is violated; of compare: a figure is worse than its threshold allows"},
    {"2", "wrong usage or wrong input; nothing has been written"},
    {NULL, NULL},
};

const CatalogueNote catalogue_environment[] = {
    {"INFERGRID_DATA", "a folder with models, platforms, traces and experiments, searched before "
                       "the shipped ones"},
    {"INFERGRID_CACHE",
     "the folder that keeps what simulations of operators have found, instead of "
     "infergrid in $XDG_CACHE_HOME or ~/.cache; empty: none, and simulate takes "
     "a few seconds longer"},
    {"INFERGRID_CONTEXT_FACTORY",
     "how SimGrid switches between actors: raw, boost, ucontext or thread; sanitizers and "
     "debuggers need thread"},
    {NULL, NULL},
};

const Command *catalogue_find(const char *name) {
    for (const Command *const *command = catalogue_commands; *command != NULL; command++) {
        if (strcmp((*command)->name, name) == 0) {
            return *command;
        }
    }
    return NULL;
}

static void help_notes(GString *out, const char *title, const CatalogueNote *notes, gsize column) {
    g_string_append_printf(out, "\n%s:\n", title);
    for (const CatalogueNote *note = notes; note->word != NULL; note++) {
        g_string_append_printf(out, "  %-*s", (int)column - 2, note->word);
        options_wrap(out, note->meaning, column);
    }
}

char *catalogue_help(void) {
    GString *out = g_string_new("Usage: infergrid COMMAND [ARGUMENT]... [OPTION]...\n\n");
    options_wrap(out, catalogue_purpose, 0);
    g_string_append(out, "\nCommands:\n");
    for (const Command *const *command = catalogue_commands; *command != NULL; command++) {
        g_string_append_printf(out, "  %-12s%s\n", (*command)->name, (*command)->summary);
    }
    g_string_append(out, "\nOptions:\n"
                         "  -h, --help  print this help\n"
                         "  --version   print the versions of infergrid and SimGrid\n");
    help_notes(out, "Exit status", catalogue_exit_statuses, 6);
    help_notes(out, "Environment", catalogue_environment, 29);
    g_string_append(out, "\nExample:\n"
                         "  infergrid simulate demo.yaml\n"
                         "  infergrid help simulate\n");
    return g_string_free(out, FALSE);
}

gboolean catalogue_check_environment(GError **error) {
    static const char *const factories[] = {"raw", "boost", "ucontext", "thread", NULL};
    const char *chosen = g_getenv("INFERGRID_CONTEXT_FACTORY");
    if (chosen == NULL || g_strv_contains(factories, chosen)) {
        return TRUE;
    }
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_UNKNOWN,
                "INFERGRID_CONTEXT_FACTORY: expected raw, boost, ucontext or thread, not '%s'",
                chosen);
    return FALSE;
}

gboolean catalogue_check_dense(const char *command, const Model *model, GError **error) {
    if (model->experts == 0)
        return TRUE;
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                "infergrid %s: model '%s' has experts, which clusters do not run", command,
                model->name);
    return FALSE;
}

gboolean catalogue_check_clusters(const char *command, const Platform *platform, const Model *model,
                                  GError **error) {
    if (platform->kind == DEVICE_MT3000)
        return catalogue_check_dense(command, model, error);
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                "infergrid %s: '%s' is no machine of clusters such as 'mt3000'", command,
                platform->name);
    return FALSE;
}

int catalogue_fail(const GError *error) {
    fprintf(stderr, "%s\n", error->message);
    return error->domain == INPUT_ERROR ? EXIT_WRONG_INPUT : EXIT_UNFINISHED;
}

int catalogue_print(const char *text) {
    if (fputs(text, stdout) < 0 || fflush(stdout) != 0) {
        fprintf(stderr, "infergrid: cannot write to standard output: %s\n", g_strerror(errno));
        return EXIT_UNFINISHED;
    }
    return EXIT_DONE;
}
