/* Private to campaign: what its parts share. */
#ifndef ANALYSIS_CAMPAIGN_PRIVATE_H
#define ANALYSIS_CAMPAIGN_PRIVATE_H

#include "analysis/campaign/campaign.h"
#include "analysis/campaign/campaign_key.h"
#include "analysis/costs/cost_memo.h"
#include <signal.h>

struct Campaign {
    CampaignSetup setup; /* its path, overrides and store are owned */
    Experiment *base;
    char *identity;
    CampaignKeys *keys;
    Store *store;
    GHashTable *lost; /* key → why, both owned: the host's outcomes, kept in memory only */
    CostMemo *memo;
    gboolean memo_filled; /* with what the base's plan needs */
    const volatile sig_atomic_t *stop;
};

#endif
