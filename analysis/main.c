#include "actors/simulation.h"
#include "analysis/commands/catalogue.h"
#include "workloads/input_error.h"
#include <stdio.h>
#include <string.h>

static int print_version(void) {
    g_autofree char *engine = simulation_engine_version();
    g_autofree char *text =
        g_strdup_printf("infergrid %s\nSimGrid %s\n", catalogue_version, engine);
    return catalogue_print(text);
}

static int unknown_word(const char *word) {
    static const char *const options[] = {"--help", "--version", NULL};
    gboolean is_option = word[0] == '-';
    const char *const *known = is_option ? options : catalogue_command_names;
    g_autofree char *hint = near_miss_hint(word, known, g_strv_length((char **)known));
    fprintf(stderr, "infergrid: unknown %s '%s'%s\n", is_option ? "option" : "command", word, hint);
    return EXIT_WRONG_INPUT;
}

static int command_run(const Command *command, char *const *words) {
    g_autofree gpointer target = g_malloc0(command->target_size);
    g_autoptr(GError) error = NULL;
    g_autofree char *help = NULL;
    int status = EXIT_DONE;
    switch (options_parse(command, words, target, &error)) {
    case OPTIONS_PARSED:
        status = command->run(target);
        break;
    case OPTIONS_HELP:
        help = options_help(command);
        status = catalogue_print(help);
        break;
    case OPTIONS_WRONG:
        status = catalogue_fail(error);
        break;
    }
    options_clear(command, target);
    return status;
}

/* An installed binary finds the data installed with it, wherever the whole was moved. */
static void find_own_data(void) {
    g_autofree char *program = g_file_read_link("/proc/self/exe", NULL);
    if (program == NULL) {
        return;
    }
    g_autofree char *folder = g_path_get_dirname(program);
    g_autofree char *data = g_build_filename(folder, INFERGRID_DATA_FROM_BINARY, NULL);
    if (g_file_test(data, G_FILE_TEST_IS_DIR)) {
        g_setenv("INFERGRID_DATA", data, FALSE);
    }
}

int main(int argc, char **argv) {
    find_own_data();
    if (argc < 2) {
        g_autofree char *help = catalogue_help();
        fprintf(stderr, "%s", help);
        return EXIT_WRONG_INPUT;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        return command_run(&command_help, argv + argc);
    }
    if (strcmp(argv[1], "--version") == 0) {
        return print_version();
    }
    const Command *command = catalogue_find(argv[1]);
    return command == NULL ? unknown_word(argv[1]) : command_run(command, argv + 2);
}
