/* What the command line of `infergrid operator` holds, for clusters and for meshes. */
#ifndef ANALYSIS_COMMANDS_OPERATOR_OPTIONS_H
#define ANALYSIS_COMMANDS_OPERATOR_OPTIONS_H

#include "analysis/commands/timeline_options.h"
#include "analysis/options.h"
#include "analysis/output/facts.h"
#include "analysis/output/output_folder.h"
#include "platforms/platform.h"

typedef struct OperatorOptions {
    char *kind; /* on a mesh a list */
    char *platform;
    char *m, *k, *n;
    char *heads, *kv_heads, *head_dim, *new_tokens, *past_tokens, *batch;
    char *ranks, *bytes;
    char *grid, *elements, *algorithm, *k_tree, *routing;
    char *dtype, *blocks, *variant, *seed;
    gboolean untiled, causal;
    gboolean full, folded, no_broadcast, every_step;
    gboolean verify;
    char *output, *plot;
    TimelineSettings timeline;
    gboolean force, json;
} OperatorOptions;

#define OPTION_OFFSET(member) G_STRUCT_OFFSET(OperatorOptions, member)

#define N_OPERATOR_OPTIONS 37
extern const Option operator_options[N_OPERATOR_OPTIONS];

/* An option that belongs to some kinds of operators only. */
typedef struct KindOption {
    const char *shown;
    gsize option;
    gboolean flag;
    guint kinds; /* a bit each */
} KindOption;
/* FALSE and an error when one is given that says nothing about any of 'kinds'. */
gboolean operator_option_fits(const OperatorOptions *options, const KindOption *option, guint kinds,
                              GError **error);

/* FALSE and an error when options about files do not go together. */
gboolean operator_files_are_right(const OperatorOptions *options, GError **error);
/* FALSE and an error when a timeline is asked for, by --timeline, of several runs. */
gboolean operator_timeline_fits(const OperatorOptions *options, guint runs, GError **error);
/* Whether the events of a run, the only one, are wanted. */
gboolean operator_wants_events(const OperatorOptions *options);

/* The texts of all runs. */
typedef struct OperatorAnswer {
    char *table; /* of one operator; NULL of several */
    char *json, *csv;
    gboolean right; /* all numbers that were checked are */
} OperatorAnswer;
/* From the Facts of each run; 'title' is the first line of a single one's table. */
OperatorAnswer operator_answer_new(const GPtrArray *facts, const char *title);
void operator_answer_clear(OperatorAnswer *answer);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(OperatorAnswer, operator_answer_clear)
/* The folder of --output with result.json and result.csv in it; NULL without the option, which is
 * no error. */
gboolean operator_folder_open(const OperatorOptions *options, const OperatorAnswer *answer,
                              OutputFolder **folder, GError **error);
/* The sink of all timelines wanted of a single run that ended at 'end_s', one of them in 'folder'
 * where it is not NULL. An INPUT_ERROR when the window begins later. */
TraceSink *operator_timeline_open(const OperatorOptions *options, const OperatorAnswer *answer,
                                  const OutputFolder *folder, double end_s, GError **error);
/* Prints what the options ask for; the exit status. */
int operator_answer_print(const OperatorAnswer *answer, const OperatorOptions *options);

/* The whole of the command on a wafer. */
int operator_mesh_command(const OperatorOptions *options, const Platform *platform);

#endif
