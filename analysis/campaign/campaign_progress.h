/* Private to campaign: its line on a terminal. */
#ifndef ANALYSIS_CAMPAIGN_PROGRESS_H
#define ANALYSIS_CAMPAIGN_PROGRESS_H

#include <glib.h>

typedef struct CampaignProgress CampaignProgress;
/* 'runs' are still to be simulated. NULL when standard error is no terminal or 'quiet'; every
 * function takes that. */
CampaignProgress *campaign_progress_new(const char *label, gsize runs, gboolean quiet);
void campaign_progress_free(CampaignProgress *progress); /* clears the line */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CampaignProgress, campaign_progress_free)
void campaign_progress_add(CampaignProgress *progress,
                           gsize runs); /* that are to be simulated too */
void campaign_progress_done(CampaignProgress *progress);
/* Takes ownership of 'text'; NULL changes nothing. */
void campaign_progress_best(CampaignProgress *progress, char *text);
/* Writes the line if that is due. */
void campaign_progress_tick(CampaignProgress *progress);

#endif
