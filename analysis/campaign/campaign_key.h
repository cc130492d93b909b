/* Private to campaign: what a run's result depends on, as a hash. Where files lie does not count,
 * what stands in them does. */
#ifndef ANALYSIS_CAMPAIGN_KEY_H
#define ANALYSIS_CAMPAIGN_KEY_H

#include "analysis/run/experiment.h"

/* A hash over the resolved experiment, the bytes of its trace, and the versions of the program and
 * of its engine. Caller frees; NULL and an error when the trace cannot be read. */
char *campaign_identity(const Experiment *base, GError **error);

typedef struct CampaignKeys CampaignKeys;
/* Borrows all. */
CampaignKeys *campaign_keys_new(const Experiment *base, const char *identity, const char *path,
                                const char *const *overrides);
void campaign_keys_free(CampaignKeys *keys);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CampaignKeys, campaign_keys_free)
/* The key of the run with these overrides, in their order, on top of the campaign's: 32 hexadecimal
 * digits. An override that names a file counts by what stands in it. Caller frees. */
char *campaign_key(CampaignKeys *keys, const char *const *overrides);
/* … of what comes of it under a watch of this name where it is of no use. Caller frees. */
char *campaign_key_watched(const char *key, const char *watch);
/* To which of 'shards' a key falls; each about as often. */
guint campaign_key_shard(const char *key, guint shards);

#endif
