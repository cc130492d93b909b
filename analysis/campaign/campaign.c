#include "analysis/campaign/campaign_private.h"

#include "analysis/campaign/campaign_progress.h"
#include "analysis/campaign/child.h"
#include "analysis/output/interrupt.h"
#include "analysis/run/experiment_run.h"
#include "workloads/input_error.h"
#include <math.h>
#include <string.h>

#define ELSEWHERE "in another shard"
#define UNREADABLE "its record in the store is no outcome"

void campaign_free(Campaign *campaign) {
    if (campaign == NULL)
        return;
    g_clear_pointer(&campaign->memo, cost_memo_free);
    g_clear_pointer(&campaign->lost, g_hash_table_unref);
    g_clear_pointer(&campaign->store, store_close);
    g_clear_pointer(&campaign->keys, campaign_keys_free);
    g_clear_pointer(&campaign->base, experiment_free);
    g_free(campaign->identity);
    g_free((char *)campaign->setup.path);
    g_free((char *)campaign->setup.store);
    g_strfreev((char **)campaign->setup.overrides);
    g_free(campaign);
}

static gboolean campaign_load(Campaign *campaign, GError **error) {
    const CampaignSetup *setup = &campaign->setup;

    campaign->base = experiment_load(setup->path, setup->overrides, error);
    if (campaign->base == NULL)
        return FALSE;
    campaign->identity = campaign_identity(campaign->base, error);
    if (campaign->identity == NULL)
        return FALSE;
    campaign->keys =
        campaign_keys_new(campaign->base, campaign->identity, setup->path, setup->overrides);
    campaign->store = store_open(setup->store, campaign->identity, error);
    return campaign->store != NULL;
}

Campaign *campaign_new(const CampaignSetup *setup, GError **error) {
    g_autoptr(Campaign) campaign = g_new0(Campaign, 1);

    campaign->setup = *setup;
    campaign->setup.path = g_strdup(setup->path);
    campaign->setup.store = g_strdup(setup->store);
    campaign->setup.overrides = (const char *const *)g_strdupv((char **)setup->overrides);
    campaign->lost = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    campaign->memo = cost_memo_new();
    if (!campaign_load(campaign, error))
        return NULL;
    campaign->stop = interrupt_watch();
    return g_steal_pointer(&campaign);
}

const Experiment *campaign_base(const Campaign *campaign) {
    return campaign->base;
}

gboolean campaign_run_is_elsewhere(const CampaignRun *run) {
    return run->outcome.status == OUTCOME_BROKEN && g_str_equal(run->outcome.reason, ELSEWHERE);
}

/* NULL-terminated; caller frees the array only. */
static const char **all_overrides(const CampaignSetup *setup, const char *const *overrides) {
    GPtrArray *all = g_ptr_array_new();

    for (guint i = 0; setup->overrides != NULL && setup->overrides[i] != NULL; i++)
        g_ptr_array_add(all, (gpointer)setup->overrides[i]);
    for (guint i = 0; overrides != NULL && overrides[i] != NULL; i++)
        g_ptr_array_add(all, (gpointer)overrides[i]);
    g_ptr_array_add(all, NULL);
    return (const char **)g_ptr_array_free(all, FALSE);
}

Experiment *campaign_experiment(const Campaign *campaign, const char *const *overrides,
                                GError **error) {
    const CampaignSetup *setup = &campaign->setup;
    g_autofree const char **all = all_overrides(setup, overrides);

    return experiment_load_beside(campaign->base, setup->path, all, error);
}

char *campaign_experiment_text(const Campaign *campaign, const char *const *overrides,
                               GError **error) {
    g_autoptr(Experiment) experiment = campaign_experiment(campaign, overrides, error);

    return experiment == NULL ? NULL : experiment_write(experiment);
}

OpCosts *campaign_costs(Campaign *campaign, const Experiment *experiment, GError **error) {
    return experiment_run_costs(experiment, campaign->setup.quiet, campaign->memo, error);
}

/* --- what is known of a run */

/* Where what came of a run is kept. */
typedef struct RunKey {
    char *whole;                /* of a run to its end, of use; or that is none or broke down */
    char *useless;              /* of another, under its watch; NULL without one */
    const CampaignWatch *watch; /* NULL: none */
} RunKey;

static RunKey run_key(Campaign *campaign, const CampaignRun *run) {
    char *whole = campaign_key(campaign->keys, (const char *const *)run->overrides);

    return (RunKey){.whole = whole,
                    .useless =
                        run->watch == NULL ? NULL : campaign_key_watched(whole, run->watch->name),
                    .watch = run->watch};
}

static void run_key_clear(RunKey *key) {
    g_free(key->whole);
    g_free(key->useless);
}

/* The outcome itself, and not only that it is of no use. */
static const char *key_for(const RunKey *key, const Outcome *outcome) {
    gboolean useless = outcome->status == OUTCOME_CUT ||
                       (key->watch != NULL && outcome->status == OUTCOME_OK &&
                        key->watch->is_useless(key->watch->data, outcome->figures));

    return useless ? key->useless : key->whole;
}

/* FALSE where the store has nothing under the key. */
static gboolean outcome_stored(const Campaign *campaign, const char *key, Outcome *outcome) {
    const char *text = store_get(campaign->store, key);

    if (text == NULL)
        return FALSE;
    if (!outcome_parse(text, outcome)) {
        outcome_init(outcome);
        outcome_fail(outcome, OUTCOME_BROKEN, UNREADABLE);
    }
    return TRUE;
}

/* FALSE where nothing is known of it yet. A whole run that is of no use under this watch is known
 * as such only: so it does not matter what else the store has. */
static gboolean outcome_known(const Campaign *campaign, const RunKey *key, Outcome *outcome) {
    const char *why = g_hash_table_lookup(campaign->lost, key->whole);

    if (key->useless != NULL && outcome_stored(campaign, key->useless, outcome))
        return TRUE;
    if (outcome_stored(campaign, key->whole, outcome)) {
        if (key_for(key, outcome) == key->whole)
            return TRUE;
        outcome_clear(outcome);
    }
    outcome_init(outcome);
    if (why != NULL)
        outcome_fail(outcome, OUTCOME_BROKEN, why);
    return why != NULL;
}

/* --- rounds under way */

typedef struct Round {
    CampaignRun *runs; /* the caller's */
    RunKey *keys;      /* of each run */
    gsize n, left;     /* left: to be simulated and not done yet */
} Round;

/* A run that is to be simulated. */
typedef struct Task {
    Round *round;
    gsize run; /* of the round */
} Task;

typedef struct Batch {
    Campaign *campaign;
    const CampaignRounds *rounds;
    GQueue open;      /* Round, oldest first, owned */
    GArray *tasks;    /* Task, each of another key */
    GHashTable *seen; /* keys of tasks, owned */
    ChildJobs jobs;   /* a job a task */
    gsize n, done;    /* runs of all rounds; tasks that have ended */
    CampaignProgress *progress;
} Batch;

static void round_free(gpointer data) {
    Round *round = data;

    for (gsize i = 0; i < round->n; i++)
        run_key_clear(&round->keys[i]);
    g_free(round->keys);
    g_free(round);
}

static void batch_clear(Batch *batch) {
    g_queue_clear_full(&batch->open, round_free);
    g_array_unref(batch->tasks);
    g_hash_table_unref(batch->seen);
    g_clear_pointer(&batch->progress, campaign_progress_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Batch, batch_clear)

static const CampaignRun *run_of(const Batch *batch, gsize task) {
    const Task *found = &g_array_index(batch->tasks, Task, task);

    return &found->round->runs[found->run];
}

static const RunKey *key_of(const Batch *batch, gsize task) {
    const Task *found = &g_array_index(batch->tasks, Task, task);

    return &found->round->keys[found->run];
}

static void show(Batch *batch, const CampaignRun *run) {
    const CampaignSetup *setup = &batch->campaign->setup;

    if (setup->best != NULL && !run->aside)
        campaign_progress_best(batch->progress, setup->best(setup->data, run));
}

static gboolean is_ours(const Campaign *campaign, const char *key) {
    guint shards = MAX(campaign->setup.shards, 1);

    return campaign_key_shard(key, shards) == campaign->setup.shard;
}

/* Runs of one key under different watches are different runs. */
static gboolean is_new(const Batch *batch, const RunKey *key) {
    return g_hash_table_add(batch->seen,
                            g_strdup(key->useless == NULL ? key->whole : key->useless));
}

/* What is known, what is another's, and what is to be simulated. */
static void sort_out(Batch *batch, Round *round) {
    Campaign *campaign = batch->campaign;

    for (gsize i = 0; i < round->n; i++) {
        CampaignRun *run = &round->runs[i];
        RunKey *key = &round->keys[i];
        Task task = {round, i};
        *key = run_key(campaign, run);
        run->known = outcome_known(campaign, key, &run->outcome);
        if (run->known) {
            show(batch, run);
        } else if (!is_ours(campaign, key->whole)) {
            outcome_fail(&run->outcome, OUTCOME_BROKEN, ELSEWHERE);
        } else if (is_new(batch, key)) {
            g_array_append_val(batch->tasks, task);
            round->left++;
        }
    }
    batch->n += round->n;
    batch->jobs.n = batch->tasks->len;
    campaign_progress_add(batch->progress, round->left);
}

/* FALSE where there is none. */
static gboolean open_next(Batch *batch) {
    gsize n = 0;
    CampaignRun *runs = batch->rounds->next(batch->rounds->data, &n);

    if (runs == NULL || n == 0)
        return FALSE;
    Round *round = g_new0(Round, 1);
    *round = (Round){.runs = runs, .n = n, .keys = g_new0(RunKey, n)};
    g_queue_push_tail(&batch->open, round);
    sort_out(batch, round);
    return TRUE;
}

/* Runs of a key that another run had too, of this round or of one before it. */
static void fill_twins(Batch *batch, Round *round) {
    for (gsize i = 0; i < round->n; i++) {
        CampaignRun *run = &round->runs[i];
        if (!run->known && run->outcome.status == OUTCOME_OK &&
            isnan(run->outcome.figures[FIGURE_EVENTS]))
            outcome_known(batch->campaign, &round->keys[i], &run->outcome);
    }
}

/* Rounds are taken in their order, and each brings the next one, so that it does not matter which
 * of those behind it have ended. */
static void close_ended(Batch *batch) {
    Round *round;

    while ((round = g_queue_peek_head(&batch->open)) != NULL && round->left == 0) {
        fill_twins(batch, round);
        g_queue_pop_head(&batch->open);
        batch->rounds->take(batch->rounds->data, round->runs, round->n);
        round_free(round);
        open_next(batch);
    }
}

/* What the base's plan needs, by all processors and with a line of progress, before children look
 * for theirs. Whether that fits is theirs to say. */
static void fill_memo(Campaign *campaign) {
    if (campaign->memo_filled)
        return;
    campaign->memo_filled = TRUE;
    op_costs_free(
        experiment_run_costs(campaign->base, campaign->setup.quiet, campaign->memo, NULL));
}

/* --- in a child */

static void reply_with(GByteArray *reply, const Outcome *outcome) {
    g_autofree char *text = outcome_write(outcome);

    g_byte_array_append(reply, (const guint8 *)text, (guint)strlen(text) + 1);
}

/* 'message' with the file at its head by its name alone: where it lies is no part of a result.
 * Caller frees. */
static char *without_folder(const char *message) {
    const char *colon = strchr(message, ':');
    const char *slash =
        colon == NULL ? NULL : g_strrstr_len(message, (gssize)(colon - message), "/");

    return g_strdup(slash == NULL ? message : slash + 1);
}

/* An error in what was asked is an answer; one of the host is none. */
static gboolean refuse(GByteArray *reply, GError *failure, GError **error) {
    Outcome outcome;

    if (failure->domain != INPUT_ERROR) {
        g_propagate_error(error, failure);
        return FALSE;
    }
    g_autofree char *reason = without_folder(failure->message);
    outcome_init(&outcome);
    outcome_fail(&outcome, OUTCOME_REFUSED, reason);
    g_error_free(failure);
    reply_with(reply, &outcome);
    outcome_clear(&outcome);
    return TRUE;
}

/* An outcome, and the tables of costs that were not known yet. */
static gboolean work(gpointer data, gsize index, GByteArray *reply, GError **error) {
    Batch *batch = data;
    Campaign *campaign = batch->campaign;
    const CampaignSetup *setup = &campaign->setup;
    const CampaignRun *run = run_of(batch, index);
    const CampaignWatch *watch = run->watch;
    g_autofree const char **overrides = all_overrides(setup, (const char *const *)run->overrides);
    GError *failure = NULL;
    Outcome outcome;

    store_detach(campaign->store);
    cost_memo_inherit(campaign->memo);
    g_autoptr(Experiment) experiment =
        experiment_load_beside(campaign->base, setup->path, overrides, &failure);
    g_autoptr(OpCosts) costs =
        experiment == NULL ? NULL
                           : experiment_run_costs(experiment, TRUE, campaign->memo, &failure);
    if (costs == NULL)
        return refuse(reply, failure, error);
    outcome_of_experiment(experiment, costs,
                          watch == NULL ? NULL : watch->make(watch->data, experiment, costs),
                          &outcome);
    reply_with(reply, &outcome);
    outcome_clear(&outcome);
    cost_memo_reply(campaign->memo, reply);
    return TRUE;
}

/* --- back in the caller's process */

static void tick(gpointer data) {
    Batch *batch = data;

    campaign_progress_tick(batch->progress);
}

static void note_done(Batch *batch, gsize index) {
    Task task = g_array_index(batch->tasks, Task, index);
    CampaignRun *run = &task.round->runs[task.run];

    outcome_clear(&run->outcome);
    outcome_known(batch->campaign, &task.round->keys[task.run], &run->outcome);
    batch->done++;
    campaign_progress_done(batch->progress);
    show(batch, run);
    task.round->left--;
    close_ended(batch);
}

static gboolean lose(gpointer data, gsize index, const char *why, GError **error) {
    Batch *batch = data;

    (void)error;
    g_hash_table_insert(batch->campaign->lost, g_strdup(key_of(batch, index)->whole),
                        g_strdup(why));
    note_done(batch, index);
    return TRUE;
}

static gboolean take(gpointer data, gsize index, const GByteArray *reply, GError **error) {
    Batch *batch = data;
    Campaign *campaign = batch->campaign;
    const char *text = (const char *)reply->data;
    gsize length = reply->len > 0 ? strnlen(text, reply->len) : 0;
    Outcome outcome;

    if (length == reply->len || !cost_memo_take(campaign->memo, reply, length + 1) ||
        !outcome_parse(text, &outcome))
        return lose(data, index, "a process that simulates gave a damaged answer", error);
    const char *key = key_for(key_of(batch, index), &outcome);
    outcome_clear(&outcome);
    if (!store_put(campaign->store, key, text, error))
        return FALSE;
    note_done(batch, index);
    return TRUE;
}

static gboolean interrupted(const Batch *batch, GError **error) {
    const char *store = batch->campaign->setup.store;
    g_autofree char *kept =
        store == NULL ? g_strdup("; nothing keeps them (see option '--store')")
                      : g_strdup_printf("; '%s' keeps them, and the same command goes on", store);

    if (batch->done == batch->tasks->len)
        return FALSE;
    g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INTR,
                "infergrid: interrupted after %" G_GSIZE_FORMAT " of %" G_GSIZE_FORMAT " runs%s",
                batch->n - batch->tasks->len + batch->done, batch->n, kept);
    return TRUE;
}

gboolean campaign_run_rounds(Campaign *campaign, const CampaignRounds *rounds, const char *label,
                             GError **error) {
    g_auto(Batch) batch = {.campaign = campaign,
                           .rounds = rounds,
                           .tasks = g_array_new(FALSE, FALSE, sizeof(Task)),
                           .seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
                           .progress = campaign_progress_new(label, 0, campaign->setup.quiet),
                           .jobs = {.data = &batch,
                                    .work = work,
                                    .take = take,
                                    .at_once = campaign->setup.workers,
                                    .timeout_s = campaign->setup.timeout_s,
                                    .lose = lose,
                                    .tick = tick,
                                    .stop = campaign->stop}};

    for (guint i = 0; i <= rounds->ahead && open_next(&batch); i++)
        ;
    close_ended(&batch);
    if (batch.jobs.n > 0 && *campaign->stop == 0)
        fill_memo(campaign);
    return child_run_all(&batch.jobs, error) && !interrupted(&batch, error);
}

/* --- a single round */

typedef struct Single {
    CampaignRun *runs;
    gsize n;
} Single;

static CampaignRun *next_single(gpointer data, gsize *n) {
    Single *single = data;

    *n = single->n;
    return g_steal_pointer(&single->runs);
}

static void take_single(gpointer data, CampaignRun *runs, gsize n) {
    (void)data;
    (void)runs;
    (void)n;
}

gboolean campaign_run(Campaign *campaign, CampaignRun *runs, gsize n, const char *label,
                      GError **error) {
    Single single = {runs, n};
    CampaignRounds rounds = {.next = next_single, .take = take_single, .data = &single};

    for (gsize i = 0; i < n; i++)
        outcome_init(&runs[i].outcome);
    return campaign_run_rounds(campaign, &rounds, label, error);
}
