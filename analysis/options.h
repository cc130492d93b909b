/* Command lines by table. A command describes its arguments and options once, with their types,
 * defaults and help; parsing, --help, the manual page and the shells' completions all come from
 * that table, so they cannot disagree. */
#ifndef ANALYSIS_OPTIONS_H
#define ANALYSIS_OPTIONS_H

#include <glib.h>

typedef enum {
    OPTION_FLAG,      /* gboolean: --name */
    OPTION_TEXT,      /* char *: --name VALUE */
    OPTION_TEXTS,     /* char **: like TEXT, and may stand more than once */
    OPTION_DIRECTORY, /* char *: like TEXT; shells complete it with folders */
    OPTION_DURATION,  /* char *: a duration with its unit, at least 0; kept as text */
    OPTION_WINDOW,    /* TimeWindow: A:B, each with a unit or in seconds; either may be left out */
} OptionKind;

typedef struct TimeWindow {
    double from_s, to_s; /* 0 and INFINITY where left out */
} TimeWindow;

/* One option. All texts are static. */
typedef struct Option {
    const char *name; /* without the dashes */
    char letter;      /* of the short form; 0: none */
    OptionKind kind;
    gsize offset;           /* of its value in the command's struct */
    const char *value_name; /* what the help calls the value; NULL for a flag */
    const char *fallback;   /* what holds without it, in words */
    const char *help;       /* one sentence, lower case, no full stop */
} Option;

/* One positional argument, a char * at 'offset'. */
typedef struct Argument {
    const char *name;
    gsize offset;
    gboolean required;
    const char *const *choices; /* NULL-terminated; NULL: a file */
    const char *help;
} Argument;

typedef struct Command Command;
struct Command {
    const char *name;
    const char *summary;     /* a few words */
    const char *description; /* a paragraph */
    const Argument *arguments;
    gsize n_arguments;
    gboolean lists;        /* an argument may be several of its choices, with commas between them */
    gboolean many;         /* the last argument may stand more than once: it is a char ** */
    const Option *options; /* --help is understood everywhere and stands in no table */
    gsize n_options;
    gsize target_size;              /* of the struct that parsing fills */
    const char *example;            /* a worked example: commands, and what they do as '#' lines */
    int (*run)(const void *target); /* the exit status */
};

typedef enum { OPTIONS_PARSED, OPTIONS_HELP, OPTIONS_WRONG } OptionsOutcome;

/* Reads the words after the command's name into 'target' (zeroed, target_size bytes). An unknown
 * option (with its near miss), a missing or ill-formed value, too many or too few arguments are
 * errors that begin with "infergrid <command>: ". Release 'target' with options_clear whatever the
 * outcome. */
OptionsOutcome options_parse(const Command *command, char *const *words, gpointer target,
                             GError **error);
void options_clear(const Command *command, gpointer target);

/* The text of `infergrid <command> --help`. Caller frees. */
char *options_help(const Command *command);
/* "infergrid simulate EXPERIMENT [OPTION]…" in plain ASCII. Caller frees. */
char *options_usage(const Command *command);

/* Appends 'text' broken into lines of at most 80 columns, each indented by 'indent'; the first
 * line is taken to begin at column 'indent' already. */
void options_wrap(GString *out, const char *text, gsize indent);

#endif
