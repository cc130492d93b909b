/* A cache of prefix blocks, least recently used out first, bounded in bytes. */
#ifndef POLICIES_PREFIX_CACHE_H
#define POLICIES_PREFIX_CACHE_H

#include <glib.h>

typedef struct PrefixCache PrefixCache;
/* Room for floor(capacity_bytes / block_bytes) blocks. */
PrefixCache *prefix_cache_new(double capacity_bytes, double block_bytes);
void prefix_cache_free(PrefixCache *cache);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PrefixCache, prefix_cache_free)

/* How many leading blocks are cached; they become the most recently used. */
guint32 prefix_cache_match(PrefixCache *cache, const guint64 *blocks, guint32 n_blocks);
/* Puts all blocks in (first ones last to go), evicting others. */
void prefix_cache_insert(PrefixCache *cache, const guint64 *blocks, guint32 n_blocks);
guint64 prefix_cache_blocks(const PrefixCache *cache);

#endif
