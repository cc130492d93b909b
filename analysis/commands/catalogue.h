/* Everything that `infergrid` can do, as data: its commands, exit statuses and environment. Help,
 * the manual page and the completions are written from it. */
#ifndef ANALYSIS_COMMANDS_CATALOGUE_H
#define ANALYSIS_COMMANDS_CATALOGUE_H

#include "analysis/options.h"
#include "platforms/platform.h"

#define EXIT_DONE 0
#define EXIT_UNFINISHED 1 /* the simulation could not finish, or an invariant is violated */
#define EXIT_WRONG_INPUT 2

/* NULL-terminated, in the order of the help. */
extern const Command *const catalogue_commands[];
/* Their names, NULL-terminated. */
extern const char *const catalogue_command_names[];

/* Pairs of a word and its meaning, ended by a NULL word. */
typedef struct CatalogueNote {
    const char *word;
    const char *meaning;
} CatalogueNote;
extern const CatalogueNote catalogue_exit_statuses[];
extern const CatalogueNote catalogue_environment[];
extern const char *const catalogue_purpose; /* what infergrid is, a paragraph */
extern const char *const catalogue_version; /* "0.1.0" */

const Command *catalogue_find(const char *name); /* NULL when there is none */

/* The text of `infergrid --help`. Caller frees. */
char *catalogue_help(void);

/* FALSE and an error when SimGrid would abort on INFERGRID_CONTEXT_FACTORY. */
gboolean catalogue_check_environment(GError **error);
/* Whether clusters of the MT-3000's kind run the model, for a command about their operators: FALSE
 * and an error on a wafer, or with experts. */
gboolean catalogue_check_clusters(const char *command, const Platform *platform, const Model *model,
                                  GError **error);
/* Whether clusters and GPUs run the model: FALSE and an error with experts. */
gboolean catalogue_check_dense(const char *command, const Model *model, GError **error);
/* Prints "message\n" of 'error' on standard error; returns the exit status that goes with it. */
int catalogue_fail(const GError *error);
/* Prints 'text' on standard output and flushes it; a failed write is reported. Exit status. */
int catalogue_print(const char *text);

/* The commands, one file each. */
extern const Command command_simulate;
extern const Command command_sweep;
extern const Command command_search;
extern const Command command_plan;
extern const Command command_merge;
extern const Command command_compare;
extern const Command command_check;
extern const Command command_explain;
extern const Command command_operator;
extern const Command command_reproduce;
extern const Command command_roofline;
extern const Command command_help;
extern const Command command_completion;
extern const Command command_man;

#endif
