/* Many runs of one experiment under different settings: workers, results kept in a store, shards.
 * The outcomes do not depend on the number of workers or on the order in which they end, but for
 * those that the host decides: a run that crashes or takes too long is BROKEN, is not kept, and is
 * tried again by the next campaign. */
#ifndef ANALYSIS_CAMPAIGN_H
#define ANALYSIS_CAMPAIGN_H

#include "analysis/campaign/store.h"
#include "analysis/run/outcome.h"

struct CampaignRun;

typedef struct CampaignSetup {
    const char *path;             /* the experiment, as experiment_load takes it */
    const char *const *overrides; /* of every run; may be NULL */
    const char *store;            /* a file; NULL: results are kept in memory only */
    guint workers;                /* 0: as many as processors */
    double timeout_s;             /* wall time of a run; 0: none */
    guint shard, shards;          /* this process runs those whose key falls to shard 'shard' of
                                     'shards' (0-based; 1 shard: all) */
    gboolean quiet;               /* no progress on a terminal */
    /* Called whenever an outcome is known, in no particular order; what it returns, freed here,
     * ends the progress line from then on ("best: tp=4, 512 tokens/s"); NULL leaves the line as it
     * is. May be NULL. */
    char *(*best)(gpointer data, const struct CampaignRun *run);
    gpointer data;
} CampaignSetup;

/* What may end a run before its end, once it is proven to be of no use. A run that is of use is the
 * same with it and without, and so is its record. */
typedef struct CampaignWatch {
    const char *name; /* what is of no use, in full: with it, what came of a useless run is known */
    RunUseless is_useless; /* asked of runs to their end */
    /* In the run's process. NULL: the run goes to its end. */
    RunWatch *(*make)(gconstpointer data, const Experiment *experiment, const OpCosts *costs);
    gconstpointer data;
} CampaignWatch;

/* One run: overrides "key=value" on top of the campaign's, in an order of its own that belongs to
 * its identity. */
typedef struct CampaignRun {
    char **overrides;           /* owned by whoever made it */
    const CampaignWatch *watch; /* borrowed; may be NULL */
    gboolean aside;             /* CampaignSetup.best is not asked about it */
    Outcome
        outcome;    /* filled; of another shard's and not in the store: BROKEN "in another shard" */
    gboolean known; /* it was in the store */
} CampaignRun;

typedef struct Campaign Campaign;
/* Loads and validates the experiment once, so that children only fork. From then on the first
 * SIGINT or SIGTERM is a wish to stop. Copies what it needs of 'setup' but for 'data'. */
Campaign *campaign_new(const CampaignSetup *setup, GError **error);
void campaign_free(Campaign *campaign);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Campaign, campaign_free)
const Experiment *campaign_base(const Campaign *campaign);

/* Runs what the store does not have; runs of one key only once. 'label' heads the progress line
 * ("round 2 of 5"). FALSE only where the store or the machine fails (a run that crashes or times
 * out is an outcome), and after a wish to stop: then those under way are heard out, and the error
 * (G_FILE_ERROR_INTR) says how far it came. Clear the outcomes whatever it returns. */
gboolean campaign_run(Campaign *campaign, CampaignRun *runs, gsize n, const char *label,
                      GError **error);

/* Rounds of runs, of which the next begins before the last one has ended, so that no worker idles.
 * What is decided depends on neither: of 'ahead' + 1 rounds under way the oldest is taken, once it
 * and all before it have ended, and then one is asked for. */
typedef struct CampaignRounds {
    guint ahead;
    /* The runs of the next round and their number; NULL or 0: none for now. They stay the caller's,
     * until 'take' or the end. */
    CampaignRun *(*next)(gpointer data, gsize *n);
    void (*take)(gpointer data, CampaignRun *runs, gsize n); /* in the order of 'next' */
    gpointer data;
} CampaignRounds;

/* campaign_run of one round after the other until there is none. Those not taken when it fails are
 * the caller's to free, their outcomes too. */
gboolean campaign_run_rounds(Campaign *campaign, const CampaignRounds *rounds, const char *label,
                             GError **error);
/* TRUE for a run that falls to another shard and is not in the store. */
gboolean campaign_run_is_elsewhere(const CampaignRun *run);
/* In this process, the experiment of a run with these overrides (may be NULL) on top of the
 * campaign's, and its operators' times, with all that the campaign knows of both. Caller frees
 * all of them. */
Experiment *campaign_experiment(const Campaign *campaign, const char *const *overrides,
                                GError **error);
/* … written out, so that `infergrid simulate` runs it to the same figures. NULL on error. */
char *campaign_experiment_text(const Campaign *campaign, const char *const *overrides,
                               GError **error);
OpCosts *campaign_costs(Campaign *campaign, const Experiment *experiment, GError **error);

/* Small jobs, shared out to the campaign's workers, many to a process. */
typedef struct CampaignShare {
    gsize n;
    /* In a worker's process, or with one worker in this one: does job 'index', and appends what it
     * found to 'reply'. What it fills of the costs comes back to the campaign. */
    gboolean (*work)(gpointer data, gsize index, GByteArray *reply, GError **error);
    /* In this process: takes it from 'reply' at '*at', which it moves on. FALSE where that is
     * damaged. */
    gboolean (*take)(gpointer data, gsize index, const GByteArray *reply, gsize *at);
    gpointer data;
} CampaignShare;
/* Takes all jobs, in any order. FALSE where one fails, with its error or that of another that does;
 * after a wish to stop some may be missing. */
gboolean campaign_share_out(Campaign *campaign, const CampaignShare *share, GError **error);

#endif
