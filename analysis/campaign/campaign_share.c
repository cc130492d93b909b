/* Small jobs of a campaign, shared out to its workers. */
#include "analysis/campaign/campaign_private.h"
#include "analysis/campaign/child.h"

typedef struct Sharing {
    Campaign *campaign;
    const CampaignShare *share;
    guint workers;
} Sharing;

/* Jobs w, w + workers, w + 2 · workers …: their replies, and the costs behind them. */
static gboolean share_work(gpointer data, gsize worker, GByteArray *reply, GError **error) {
    const Sharing *sharing = data;
    const CampaignShare *share = sharing->share;

    sharing->campaign->setup.quiet = TRUE; /* the line of progress is the parent's */
    store_detach(sharing->campaign->store);
    cost_memo_inherit(sharing->campaign->memo);
    for (gsize i = worker; i < share->n; i += sharing->workers)
        if (!share->work(share->data, i, reply, error))
            return FALSE;
    cost_memo_reply(sharing->campaign->memo, reply);
    return TRUE;
}

static gboolean share_take(gpointer data, gsize worker, const GByteArray *reply, GError **error) {
    const Sharing *sharing = data;
    const CampaignShare *share = sharing->share;
    gboolean sound = TRUE;
    gsize at = 0;

    for (gsize i = worker; i < share->n && sound; i += sharing->workers)
        sound = share->take(share->data, i, reply, &at);
    if (sound && cost_memo_take(sharing->campaign->memo, reply, at))
        return TRUE;
    g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED, "a worker gave a damaged answer");
    return FALSE;
}

static gboolean share_alone(const CampaignShare *share, GError **error) {
    g_autoptr(GByteArray) reply = g_byte_array_new();

    for (gsize i = 0; i < share->n; i++) {
        gsize at = 0;
        g_byte_array_set_size(reply, 0);
        if (!share->work(share->data, i, reply, error))
            return FALSE;
        gboolean sound = share->take(share->data, i, reply, &at);
        g_assert(sound);
    }
    return TRUE;
}

gboolean campaign_share_out(Campaign *campaign, const CampaignShare *share, GError **error) {
    guint workers = campaign->setup.workers;
    Sharing sharing = {campaign, share, workers > 0 ? workers : g_get_num_processors()};

    if (sharing.workers == 1)
        return share_alone(share, error);
    ChildJobs jobs = {.n = MIN(sharing.workers, share->n),
                      .data = &sharing,
                      .work = share_work,
                      .take = share_take,
                      .at_once = sharing.workers,
                      .stop = campaign->stop};
    return child_run_all(&jobs, error);
}
