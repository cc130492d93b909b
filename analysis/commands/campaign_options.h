/* The options of commands that make many runs: workers, a store, shards. */
#ifndef ANALYSIS_COMMANDS_CAMPAIGN_OPTIONS_H
#define ANALYSIS_COMMANDS_CAMPAIGN_OPTIONS_H

#include "analysis/campaign/campaign.h"
#include "analysis/options.h"
#include "analysis/output/output_folder.h"

typedef struct CampaignOptions {
    char **overrides;
    char *store, *workers, *timeout, *shard;
    gboolean quiet;
} CampaignOptions;

/* Where their answer goes beside standard output. */
typedef struct CampaignOutput {
    char *folder, *report; /* NULL: none */
    gboolean force;
} CampaignOutput;

/* Their rows of a table, for a struct 'Type' that has them as a member; without a shard for
 * commands whose runs depend on the outcomes of others. */
#define CAMPAIGN_OPTION_ROW(Type, member, field) G_STRUCT_OFFSET(Type, member.field)
#define CAMPAIGN_OPTIONS(Type, member)                                                             \
    CAMPAIGN_OPTIONS_WHOLE(Type, member), {                                                        \
        "shard", 0, OPTION_TEXT, CAMPAIGN_OPTION_ROW(Type, member, shard), "I/N", "1/1",           \
            "make only the I-th of N parts of the runs, for a store that infergrid merge joins"    \
    }
#define CAMPAIGN_OPTIONS_WHOLE(Type, member)                                                       \
    {"set",                                                                                        \
     's',                                                                                          \
     OPTION_TEXTS,                                                                                 \
     CAMPAIGN_OPTION_ROW(Type, member, overrides),                                                 \
     "KEY=VALUE",                                                                                  \
     "the file's own values",                                                                      \
     "put VALUE in place of one value of the experiment, for all runs; may stand more than once"}, \
        {"store",                                                                                  \
         0,                                                                                        \
         OPTION_TEXT,                                                                              \
         CAMPAIGN_OPTION_ROW(Type, member, store),                                                 \
         "FILE",                                                                                   \
         "none",                                                                                   \
         "keep every result in this file as it comes: the same command goes on from there, "       \
         "however it ended"},                                                                      \
        {"jobs",                                                                                   \
         'j',                                                                                      \
         OPTION_TEXT,                                                                              \
         CAMPAIGN_OPTION_ROW(Type, member, workers),                                               \
         "N",                                                                                      \
         "as many as there are processors",                                                        \
         "simulate so many runs at a time; the results do not depend on it"},                      \
        {"timeout",                                                                                \
         0,                                                                                        \
         OPTION_DURATION,                                                                          \
         CAMPAIGN_OPTION_ROW(Type, member, timeout),                                               \
         "DURATION",                                                                               \
         "none",                                                                                   \
         "end a run that takes longer than this and go on with the others"},                       \
    {                                                                                              \
        "quiet", 'q', OPTION_FLAG, CAMPAIGN_OPTION_ROW(Type, member, quiet), NULL, "off",          \
            "show no progress and no warnings"                                                     \
    }

/* Fills 'setup' but for its path; it borrows from 'options'. 'who' is "infergrid sweep". FALSE and
 * an INPUT_ERROR for numbers that are none. */
gboolean campaign_options_read(const CampaignOptions *options, const char *who,
                               CampaignSetup *setup, GError **error);

/* Whether pictures ('plot'), --force and --report can be, before anything runs: INPUT_ERRORs. */
gboolean campaign_output_is_right(const CampaignOutput *output, gboolean plot, const char *who,
                                  GError **error);
/* Opens the folder of --output; '*folder' stays NULL where none was asked for. Caller frees. */
gboolean campaign_output_open(const CampaignOutput *output, OutputFolder **folder, GError **error);

#endif
