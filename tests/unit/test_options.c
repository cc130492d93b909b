#include "analysis/options.h"
#include "workloads/input_error.h"
#include <math.h>
#include <string.h>

typedef struct Target {
    char *file;
    char *shape;
    gboolean loud;
    char **extras;
    char *folder;
    char *wait;
    TimeWindow window;
} Target;

static const char *const shapes[] = {"circle", "square", NULL};

static const Argument arguments[] = {
    {"FILE", G_STRUCT_OFFSET(Target, file), TRUE, NULL, "what to draw"},
    {"SHAPE", G_STRUCT_OFFSET(Target, shape), FALSE, shapes, "its outline"},
};

static const Option options[] = {
    {"loud", 'l', OPTION_FLAG, G_STRUCT_OFFSET(Target, loud), NULL, "off", "say it aloud"},
    {"extra", 'e', OPTION_TEXTS, G_STRUCT_OFFSET(Target, extras), "TEXT", "none", "add TEXT"},
    {"folder", 'o', OPTION_DIRECTORY, G_STRUCT_OFFSET(Target, folder), "DIR", "none", "go there"},
    {"wait", 0, OPTION_DURATION, G_STRUCT_OFFSET(Target, wait), "DURATION", "0 s", "sleep first"},
    {"window", 0, OPTION_WINDOW, G_STRUCT_OFFSET(Target, window), "A:B", "all", "look here"},
};

static const Command draw = {
    .name = "draw",
    .summary = "draw a file",
    .description = "Draws.",
    .arguments = arguments,
    .n_arguments = G_N_ELEMENTS(arguments),
    .options = options,
    .n_options = G_N_ELEMENTS(options),
    .target_size = sizeof(Target),
    .example = "  infergrid draw a\n",
};

/* 'line' is split at its blanks, which no word of these tests holds. */
static OptionsOutcome parse(const char *line, Target *target, GError **error) {
    g_auto(GStrv) words = g_strsplit(line, " ", -1);
    *target = (Target){0};
    return options_parse(&draw, words, target, error);
}

static void test_every_kind_is_read(void) {
    Target target;
    g_autoptr(GError) error = NULL;
    OptionsOutcome outcome =
        parse("a.txt -l --extra one -etwo --extra=k=v -o out --wait 3ms square", &target, &error);
    g_assert_no_error(error);
    g_assert_cmpint(outcome, ==, OPTIONS_PARSED);
    g_assert_cmpstr(target.file, ==, "a.txt");
    g_assert_cmpstr(target.shape, ==, "square");
    g_assert_true(target.loud);
    const char *const extras[] = {"one", "two", "k=v", NULL};
    g_assert_true(g_strv_equal((const char *const *)target.extras, extras));
    g_assert_cmpstr(target.folder, ==, "out");
    g_assert_cmpstr(target.wait, ==, "3ms");
    options_clear(&draw, &target);
}

static void test_words_after_two_dashes_are_arguments(void) {
    Target target;
    g_autoptr(GError) error = NULL;
    g_assert_cmpint(parse("-- --loud", &target, &error), ==, OPTIONS_PARSED);
    g_assert_no_error(error);
    g_assert_cmpstr(target.file, ==, "--loud");
    g_assert_false(target.loud);
    options_clear(&draw, &target);
}

static void test_help_wins_over_missing_arguments(void) {
    const char *const lines[] = {"--help", "-h", "--loud --help", "a.txt -h --unknown"};
    for (gsize i = 0; i < G_N_ELEMENTS(lines); i++) {
        Target target;
        g_autoptr(GError) error = NULL;
        g_assert_cmpint(parse(lines[i], &target, &error), ==, OPTIONS_HELP);
        g_assert_no_error(error);
        options_clear(&draw, &target);
    }
}

static void test_windows(void) {
    const struct {
        const char *text;
        double from_s, to_s;
    } cases[] = {{"10:20", 10, 20},  {"1.5:2.5", 1.5, 2.5}, {"10s:2min", 10, 120},
                 {":3ms", 0, 0.003}, {"5:", 5, INFINITY},   {":", 0, INFINITY}};
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        Target target;
        g_autoptr(GError) error = NULL;
        g_autofree char *line = g_strdup_printf("a --window=%s", cases[i].text);
        g_assert_cmpint(parse(line, &target, &error), ==, OPTIONS_PARSED);
        g_assert_no_error(error);
        g_assert_cmpfloat(target.window.from_s, ==, cases[i].from_s);
        g_assert_cmpfloat(target.window.to_s, ==, cases[i].to_s);
        options_clear(&draw, &target);
    }
}

static void test_wrong_lines_say_what_is_wrong(void) {
#define WINDOW "a window such as '10 s:2 min' that begins before it ends"
    const struct {
        const char *line, *message;
        InputErrorCode code;
    } cases[] = {
        {"a --loudd", "unknown option '--loudd' (did you mean '--loud'?)", INPUT_ERROR_UNKNOWN},
        {"a --hepl", "unknown option '--hepl' (did you mean '--help'?)", INPUT_ERROR_UNKNOWN},
        {"a --colour=red", "unknown option '--colour'", INPUT_ERROR_UNKNOWN},
        {"a -x", "unknown option '-x'", INPUT_ERROR_UNKNOWN},
        {"a -lx", "unknown option '-lx'", INPUT_ERROR_UNKNOWN},
        {"a --loud=yes", "option '--loud' takes no value", INPUT_ERROR_VALUE},
        {"a --folder", "option '--folder' needs a value DIR", INPUT_ERROR_MISSING},
        {"a --folder=", "--folder: expected a value that is not empty, not ''", INPUT_ERROR_VALUE},
        {"a -o x -o y", "option '--folder' stands twice", INPUT_ERROR_DUPLICATE},
        {"a --wait=-1s", "--wait: expected a duration of at least 0, not '-1s'", INPUT_ERROR_VALUE},
        {"a --window=7", "--window: expected " WINDOW ", not '7'", INPUT_ERROR_VALUE},
        {"a --window=9:5", "--window: expected " WINDOW ", not '9:5'", INPUT_ERROR_VALUE},
        {"a --window=-1:5", "--window: expected " WINDOW ", not '-1:5'", INPUT_ERROR_VALUE},
        {"a --window=1%:5", "--window: expected " WINDOW ", not '1%:5'", INPUT_ERROR_VALUE},
        {"a --window=1:2:3", "--window: expected " WINDOW ", not '1:2:3'", INPUT_ERROR_VALUE},
        {"--loud", "missing FILE (see 'infergrid draw --help')", INPUT_ERROR_MISSING},
        {"a circel", "unknown shape 'circel' (did you mean 'circle'?)", INPUT_ERROR_UNKNOWN},
        {"a blob", "unknown shape 'blob' (expected one of: circle, square)", INPUT_ERROR_UNKNOWN},
        {"a circle b", "unexpected argument 'b'", INPUT_ERROR_UNKNOWN},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        Target target;
        g_autoptr(GError) error = NULL;
        g_autofree char *message = g_strdup_printf("infergrid draw: %s", cases[i].message);
        g_assert_cmpint(parse(cases[i].line, &target, &error), ==, OPTIONS_WRONG);
        g_assert_error(error, INPUT_ERROR, (int)cases[i].code);
        g_assert_cmpstr(error->message, ==, message);
        options_clear(&draw, &target);
    }
}

static void test_a_duration_needs_its_unit(void) {
    Target target;
    g_autoptr(GError) error = NULL;
    g_assert_cmpint(parse("a --wait=3", &target, &error), ==, OPTIONS_WRONG);
    g_assert_true(g_str_has_prefix(error->message, "infergrid draw: --wait: expected a duration"));
    g_assert_true(g_str_has_suffix(error->message, ", not '3'"));
    options_clear(&draw, &target);
}

static void test_help_names_every_option_default_and_argument(void) {
    g_autofree char *help = options_help(&draw);
    g_assert_nonnull(strstr(help, "Usage: infergrid draw FILE [SHAPE] [OPTION]..."));
    for (gsize i = 0; i < G_N_ELEMENTS(options); i++) {
        g_autofree char *name = g_strdup_printf("--%s", options[i].name);
        g_autofree char *fallback = g_strdup_printf("(default: %s)", options[i].fallback);
        g_assert_nonnull(strstr(help, name));
        g_assert_nonnull(strstr(help, fallback));
    }
    g_assert_true(g_str_has_suffix(help, "Example:\n  infergrid draw a\n"));
}

static void test_wrapped_text_keeps_words_and_width(void) {
    const char *text = "a text that is much longer than what is left of a line of eighty columns "
                       "when it begins at the fiftieth of them";
    GString *wrapped = g_string_new(NULL);
    options_wrap(wrapped, text, 50);
    g_auto(GStrv) lines = g_strsplit(wrapped->str, "\n", -1);
    g_autoptr(GString) joined = g_string_new(NULL);
    for (char **line = lines; *line != NULL; line++) {
        gsize indent = line == lines ? 50 : 0;
        g_assert_cmpuint(strlen(*line) + indent, <=, 80);
        g_string_append_printf(joined, "%s%s", joined->len > 0 ? " " : "", g_strstrip(*line));
    }
    g_assert_cmpstr(g_strstrip(joined->str), ==, text);
    g_string_free(wrapped, TRUE);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/options/every_kind_is_read", test_every_kind_is_read);
    g_test_add_func("/options/words_after_two_dashes_are_arguments",
                    test_words_after_two_dashes_are_arguments);
    g_test_add_func("/options/help_wins_over_missing_arguments",
                    test_help_wins_over_missing_arguments);
    g_test_add_func("/options/windows", test_windows);
    g_test_add_func("/options/wrong_lines_say_what_is_wrong", test_wrong_lines_say_what_is_wrong);
    g_test_add_func("/options/a_duration_needs_its_unit", test_a_duration_needs_its_unit);
    g_test_add_func("/options/help_names_every_option_default_and_argument",
                    test_help_names_every_option_default_and_argument);
    g_test_add_func("/options/wrapped_text_keeps_words_and_width",
                    test_wrapped_text_keeps_words_and_width);
    return g_test_run();
}
