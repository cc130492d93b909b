#include "analysis/options.h"
#include "workloads/input_error.h"
#include "workloads/units.h"
#include <math.h>
#include <string.h>

#define HELP_COLUMN 28
#define HELP_WIDTH 80

/* The words being read and how far. */
typedef struct Reader {
    const Command *command;
    char *const *words; /* the next one; NULL-terminated */
    char *target;
    gsize n_arguments; /* positional ones taken so far */
} Reader;

static OptionsOutcome wrong(const Reader *reader, InputErrorCode code, GError **error,
                            const char *message) {
    g_set_error(error, INPUT_ERROR, code, "infergrid %s: %s", reader->command->name, message);
    return OPTIONS_WRONG;
}

static gboolean duration_parse(const char *text, double *seconds, const char **expected) {
    *expected = units_parse(text, DIMENSION_SECONDS, seconds);
    if (*expected == NULL && *seconds < 0) {
        *expected = "a duration of at least 0";
    }
    return *expected == NULL;
}

/* One side of a window: empty, plain seconds, or a duration with its unit. */
static gboolean window_side_parse(const char *text, double fallback, double *seconds) {
    const char *expected = NULL;
    *seconds = fallback;
    if (*text == '\0') {
        return TRUE;
    }
    if (units_parse(text, DIMENSION_NONE, seconds) == NULL && strchr(text, '%') == NULL) {
        return *seconds >= 0;
    }
    return duration_parse(text, seconds, &expected);
}

static gboolean window_parse(const char *text, TimeWindow *window) {
    g_auto(GStrv) sides = g_strsplit(text, ":", -1);
    return g_strv_length(sides) == 2 && window_side_parse(sides[0], 0, &window->from_s) &&
           window_side_parse(sides[1], INFINITY, &window->to_s) && window->from_s < window->to_s;
}

static void texts_append(char ***texts, const char *text) {
    guint n = *texts == NULL ? 0 : g_strv_length(*texts);
    *texts = g_renew(char *, *texts, n + 2);
    (*texts)[n] = g_strdup(text);
    (*texts)[n + 1] = NULL;
}

/* NULL when 'value' is right for 'option', otherwise what was expected. */
static const char *value_store(const Option *option, const char *value, char *target) {
    const char *expected = NULL;
    double seconds = 0;
    switch (option->kind) {
    case OPTION_TEXTS:
        texts_append((char ***)(void *)(target + option->offset), value);
        return NULL;
    case OPTION_WINDOW:
        return window_parse(value, (TimeWindow *)(void *)(target + option->offset))
                   ? NULL
                   : "a window such as '10 s:2 min' that begins before it ends";
    case OPTION_DURATION:
        if (!duration_parse(value, &seconds, &expected)) {
            return expected;
        }
        break;
    case OPTION_FLAG:
    case OPTION_TEXT:
    case OPTION_DIRECTORY:
        break;
    }
    if (*value == '\0') {
        return "a value that is not empty";
    }
    *(char **)(void *)(target + option->offset) = g_strdup(value);
    return NULL;
}

/* The long names, "help" included, for near misses. */
static const Option *option_find(const Reader *reader, const char *name, gsize length) {
    for (gsize i = 0; i < reader->command->n_options; i++) {
        const Option *option = &reader->command->options[i];
        if (strlen(option->name) == length && strncmp(option->name, name, length) == 0) {
            return option;
        }
    }
    return NULL;
}

static const Option *option_find_letter(const Reader *reader, char letter) {
    for (gsize i = 0; i < reader->command->n_options; i++) {
        if (reader->command->options[i].letter == letter) {
            return &reader->command->options[i];
        }
    }
    return NULL;
}

static OptionsOutcome unknown_option(const Reader *reader, const char *name, GError **error) {
    const Command *command = reader->command;
    g_autofree const char **names = g_new(const char *, command->n_options + 1);
    for (gsize i = 0; i < command->n_options; i++) {
        names[i] = command->options[i].name;
    }
    names[command->n_options] = "help";
    const char *near = near_miss(name, names, command->n_options + 1);
    g_autofree char *hint =
        near == NULL ? g_strdup("") : g_strdup_printf(" (did you mean '--%s'?)", near);
    g_autofree char *message = g_strdup_printf("unknown option '--%s'%s", name, hint);
    return wrong(reader, INPUT_ERROR_UNKNOWN, error, message);
}

/* 'value' is NULL when it did not stand in the same word: then it is the next word. */
static OptionsOutcome option_take(Reader *reader, const Option *option, const char *value,
                                  GError **error) {
    g_autofree char *message = NULL;
    if (option->kind == OPTION_FLAG) {
        if (value != NULL) {
            message = g_strdup_printf("option '--%s' takes no value", option->name);
            return wrong(reader, INPUT_ERROR_VALUE, error, message);
        }
        *(gboolean *)(void *)(reader->target + option->offset) = TRUE;
        return OPTIONS_PARSED;
    }
    if (value == NULL && *reader->words == NULL) {
        message =
            g_strdup_printf("option '--%s' needs a value %s", option->name, option->value_name);
        return wrong(reader, INPUT_ERROR_MISSING, error, message);
    }
    if (value == NULL) {
        value = *reader->words++;
    }
    gboolean single = option->kind != OPTION_TEXTS && option->kind != OPTION_WINDOW;
    if (single && *(char **)(void *)(reader->target + option->offset) != NULL) {
        message = g_strdup_printf("option '--%s' stands twice", option->name);
        return wrong(reader, INPUT_ERROR_DUPLICATE, error, message);
    }
    const char *expected = value_store(option, value, reader->target);
    if (expected != NULL) {
        message = g_strdup_printf("--%s: expected %s, not '%s'", option->name, expected, value);
        return wrong(reader, INPUT_ERROR_VALUE, error, message);
    }
    return OPTIONS_PARSED;
}

static OptionsOutcome long_option_take(Reader *reader, const char *word, GError **error) {
    const char *name = word + 2;
    const char *equals = strchr(name, '=');
    gsize length = equals == NULL ? strlen(name) : (gsize)(equals - name);
    if (strcmp(name, "help") == 0) {
        return OPTIONS_HELP;
    }
    const Option *option = option_find(reader, name, length);
    if (option == NULL) {
        g_autofree char *alone = g_strndup(name, length);
        return unknown_option(reader, alone, error);
    }
    return option_take(reader, option, equals == NULL ? NULL : equals + 1, error);
}

/* "-q", "-oDIR" or "-o" before its value. */
static OptionsOutcome short_option_take(Reader *reader, const char *word, GError **error) {
    if (strcmp(word, "-h") == 0) {
        return OPTIONS_HELP;
    }
    const Option *option = option_find_letter(reader, word[1]);
    gboolean trailing = word[2] != '\0';
    if (option == NULL || (option->kind == OPTION_FLAG && trailing)) {
        g_autofree char *message = g_strdup_printf("unknown option '%s'", word);
        return wrong(reader, INPUT_ERROR_UNKNOWN, error, message);
    }
    return option_take(reader, option, trailing ? word + 2 : NULL, error);
}

/* With the near miss, or with all choices when none is near. */
static OptionsOutcome unknown_choice(const Reader *reader, const Argument *argument,
                                     const char *word, GError **error) {
    char **choices = (char **)argument->choices;
    g_autofree char *kind = g_ascii_strdown(argument->name, -1);
    g_autofree char *near = near_miss_hint(word, argument->choices, g_strv_length(choices));
    g_autofree char *all = g_strjoinv(", ", choices);
    g_autofree char *hint =
        *near != '\0' ? g_strdup(near) : g_strdup_printf(" (expected one of: %s)", all);
    g_autofree char *message = g_strdup_printf("unknown %s '%s'%s", kind, word, hint);
    return wrong(reader, INPUT_ERROR_UNKNOWN, error, message);
}

/* The first of the word's choices that there is not; NULL: all are there. Caller frees. */
static char *unknown_part(const Argument *argument, gboolean lists, const char *word) {
    g_auto(GStrv) parts = g_strsplit(word, ",", -1);
    if (argument->choices == NULL || g_strv_contains(argument->choices, word)) {
        return NULL;
    }
    for (char **part = parts; lists && *part != NULL; part++) {
        if (!g_strv_contains(argument->choices, *part)) {
            return g_strdup(*part);
        }
    }
    return lists && *word != '\0' ? NULL : g_strdup(word);
}

/* TRUE for the one that may stand more than once. */
static gboolean takes_many(const Command *command, gsize argument) {
    return command->many && argument + 1 == command->n_arguments;
}

static OptionsOutcome argument_take(Reader *reader, const char *word, GError **error) {
    g_autofree char *message = NULL;
    gsize last = reader->command->n_arguments;
    if (reader->n_arguments == last && last > 0 && takes_many(reader->command, last - 1)) {
        reader->n_arguments--;
    }
    if (reader->n_arguments == reader->command->n_arguments) {
        message = g_strdup_printf("unexpected argument '%s'", word);
        return wrong(reader, INPUT_ERROR_UNKNOWN, error, message);
    }
    const Argument *argument = &reader->command->arguments[reader->n_arguments++];
    g_autofree char *unknown = unknown_part(argument, reader->command->lists, word);
    if (unknown != NULL) {
        return unknown_choice(reader, argument, unknown, error);
    }
    gpointer place = reader->target + argument->offset;
    if (takes_many(reader->command, reader->n_arguments - 1)) {
        texts_append(place, word);
    } else {
        *(char **)place = g_strdup(word);
    }
    return OPTIONS_PARSED;
}

static OptionsOutcome missing_argument(const Reader *reader, GError **error) {
    const Argument *argument = &reader->command->arguments[reader->n_arguments];
    g_autofree char *message = g_strdup_printf("missing %s (see 'infergrid %s --help')",
                                               argument->name, reader->command->name);
    return wrong(reader, INPUT_ERROR_MISSING, error, message);
}

OptionsOutcome options_parse(const Command *command, char *const *words, gpointer target,
                             GError **error) {
    Reader reader = {.command = command, .words = words, .target = target};
    gboolean options_ended = FALSE;
    OptionsOutcome outcome = OPTIONS_PARSED;
    while (*reader.words != NULL && outcome == OPTIONS_PARSED) {
        const char *word = *reader.words++;
        if (options_ended || word[0] != '-' || word[1] == '\0') {
            outcome = argument_take(&reader, word, error);
        } else if (strcmp(word, "--") == 0) {
            options_ended = TRUE;
        } else if (word[1] == '-') {
            outcome = long_option_take(&reader, word, error);
        } else {
            outcome = short_option_take(&reader, word, error);
        }
    }
    if (outcome == OPTIONS_PARSED && reader.n_arguments < command->n_arguments &&
        command->arguments[reader.n_arguments].required) {
        return missing_argument(&reader, error);
    }
    return outcome;
}

void options_clear(const Command *command, gpointer target) {
    for (gsize i = 0; i < command->n_options; i++) {
        const Option *option = &command->options[i];
        gpointer place = (char *)target + option->offset;
        if (option->kind == OPTION_TEXTS) {
            g_clear_pointer((char ***)place, g_strfreev);
        } else if (option->kind != OPTION_FLAG && option->kind != OPTION_WINDOW) {
            g_clear_pointer((char **)place, g_free);
        }
    }
    for (gsize i = 0; i < command->n_arguments; i++) {
        gpointer place = (char *)target + command->arguments[i].offset;
        if (takes_many(command, i)) {
            g_clear_pointer((char ***)place, g_strfreev);
        } else {
            g_clear_pointer((char **)place, g_free);
        }
    }
}

void options_wrap(GString *out, const char *text, gsize indent) {
    g_auto(GStrv) words = g_strsplit(text, " ", -1);
    gsize column = indent;
    for (char **word = words; *word != NULL; word++) {
        gsize length = strlen(*word);
        if (column > indent && column + 1 + length > HELP_WIDTH) {
            g_string_append_printf(out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (column > indent) {
            g_string_append_c(out, ' ');
            column++;
        }
        g_string_append(out, *word);
        column += length;
    }
    g_string_append_c(out, '\n');
}

/* "  left      help…", the help beginning on a line of its own where 'left' is too wide. */
static void help_row(GString *out, const char *left, const char *help) {
    if (strlen(left) + 2 > HELP_COLUMN) {
        g_string_append_printf(out, "%s\n%*s", left, HELP_COLUMN, "");
    } else {
        g_string_append_printf(out, "%-*s", HELP_COLUMN, left);
    }
    options_wrap(out, help, HELP_COLUMN);
}

static void help_option(GString *out, const Option *option) {
    g_autoptr(GString) left = g_string_new("  ");
    if (option->letter != 0) {
        g_string_append_printf(left, "-%c, ", option->letter);
    } else {
        g_string_append(left, "    ");
    }
    g_string_append_printf(left, "--%s", option->name);
    if (option->value_name != NULL) {
        g_string_append_printf(left, " %s", option->value_name);
    }
    g_autofree char *help = g_strdup_printf("%s (default: %s)", option->help, option->fallback);
    help_row(out, left->str, help);
}

char *options_usage(const Command *command) {
    GString *out = g_string_new(NULL);
    g_string_append_printf(out, "infergrid %s", command->name);
    for (gsize i = 0; i < command->n_arguments; i++) {
        const Argument *argument = &command->arguments[i];
        g_string_append_printf(out, argument->required ? " %s" : " [%s]", argument->name);
        g_string_append(out, takes_many(command, i) ? "..." : "");
    }
    if (command->n_options > 0) {
        g_string_append(out, " [OPTION]...");
    }
    return g_string_free(out, FALSE);
}

static void help_arguments(GString *out, const Command *command) {
    for (gsize i = 0; i < command->n_arguments; i++) {
        const Argument *argument = &command->arguments[i];
        g_autofree char *left = g_strdup_printf("  %s", argument->name);
        help_row(out, left, argument->help);
    }
    if (command->n_arguments > 0) {
        g_string_append_c(out, '\n');
    }
}

char *options_help(const Command *command) {
    GString *out = g_string_new(NULL);
    g_autofree char *usage = options_usage(command);
    g_string_append_printf(out, "infergrid %s: %s\n\nUsage: %s\n\n", command->name,
                           command->summary, usage);
    options_wrap(out, command->description, 0);
    g_string_append_c(out, '\n');
    help_arguments(out, command);
    g_string_append(out, "Options:\n");
    for (gsize i = 0; i < command->n_options; i++) {
        help_option(out, &command->options[i]);
    }
    help_row(out, "  -h, --help", "print this help");
    g_string_append_printf(out, "\nExample:\n%s", command->example);
    return g_string_free(out, FALSE);
}
