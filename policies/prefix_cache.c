#include "policies/prefix_cache.h"

#include <math.h>

/* Blocks sit in slots, addressed by index so that their array may move when it grows. Two things
 * run through the slots: the chains of a hash table, and a ring in order of use, closed by slot 0,
 * which holds no block: its 'older' is the newest block, its 'newer' the oldest. */
typedef struct Slot {
    guint64 block;
    guint32 newer, older;
    guint32 chain; /* the next one in its bucket; 0 ends it */
} Slot;

struct PrefixCache {
    guint64 capacity;  /* blocks */
    guint32 blocks;    /* cached, in slots 1 … blocks */
    guint32 allocated; /* slots, a power of two; as many buckets */
    Slot *slots;
    guint32 *buckets; /* first slot of each chain, 0: none */
};

/* Fibonacci hashing (Knuth, TAOCP vol. 3, 6.4): block ids are often consecutive. */
static guint32 *bucket_of(const PrefixCache *cache, guint64 block) {
    guint64 hash = (block * G_GUINT64_CONSTANT(0x9E3779B97F4A7C15)) >> 32;
    return &cache->buckets[hash & (cache->allocated - 1)];
}

static guint32 find(const PrefixCache *cache, guint64 block) {
    guint32 slot = *bucket_of(cache, block);
    while (slot != 0 && cache->slots[slot].block != block)
        slot = cache->slots[slot].chain;
    return slot;
}

static void chain_in(PrefixCache *cache, guint32 slot) {
    guint32 *bucket = bucket_of(cache, cache->slots[slot].block);
    cache->slots[slot].chain = *bucket;
    *bucket = slot;
}

static void chain_out(PrefixCache *cache, guint32 slot) {
    guint32 *link = bucket_of(cache, cache->slots[slot].block);
    while (*link != slot)
        link = &cache->slots[*link].chain;
    *link = cache->slots[slot].chain;
}

static void ring_out(PrefixCache *cache, guint32 slot) {
    const Slot *out = &cache->slots[slot];
    cache->slots[out->newer].older = out->older;
    cache->slots[out->older].newer = out->newer;
}

static void ring_in_as_newest(PrefixCache *cache, guint32 slot) {
    guint32 newest = cache->slots[0].older;
    cache->slots[slot].newer = 0;
    cache->slots[slot].older = newest;
    cache->slots[newest].newer = slot;
    cache->slots[0].older = slot;
}

static void allocate(PrefixCache *cache, guint32 slots) {
    cache->slots = g_renew(Slot, cache->slots, slots);
    g_free(cache->buckets);
    cache->buckets = g_new0(guint32, slots);
    cache->allocated = slots;
    for (guint32 slot = 1; slot <= cache->blocks; slot++)
        chain_in(cache, slot);
}

PrefixCache *prefix_cache_new(double capacity_bytes, double block_bytes) {
    g_assert(capacity_bytes >= 0 && block_bytes > 0);
    PrefixCache *cache = g_new0(PrefixCache, 1);
    cache->capacity = (guint64)MIN(floor(capacity_bytes / block_bytes), (double)(1U << 30));
    allocate(cache, 64);
    cache->slots[0] = (Slot){0};
    return cache;
}

void prefix_cache_free(PrefixCache *cache) {
    if (cache == NULL)
        return;
    g_free(cache->slots);
    g_free(cache->buckets);
    g_free(cache);
}

/* A slot for one more block: a fresh one, or that of the block which was not used for longest. */
static guint32 claim_slot(PrefixCache *cache) {
    if (cache->blocks < cache->capacity) {
        if (cache->blocks + 1 == cache->allocated)
            allocate(cache, 2 * cache->allocated);
        return ++cache->blocks;
    }
    guint32 oldest = cache->slots[0].newer;
    chain_out(cache, oldest);
    ring_out(cache, oldest);
    return oldest;
}

guint32 prefix_cache_match(PrefixCache *cache, const guint64 *blocks, guint32 n_blocks) {
    guint32 cached = 0;
    while (cached < n_blocks && find(cache, blocks[cached]) != 0)
        cached++;
    prefix_cache_insert(cache, blocks, cached);
    return cached;
}

void prefix_cache_insert(PrefixCache *cache, const guint64 *blocks, guint32 n_blocks) {
    /* Backwards, so that of one prompt the last block goes first: without its predecessors it is
     * of no use. What exceeds the capacity would be gone again at the end. */
    for (guint64 i = MIN(n_blocks, cache->capacity); i > 0; i--) {
        guint32 slot = find(cache, blocks[i - 1]);
        if (slot != 0) {
            ring_out(cache, slot);
        } else {
            slot = claim_slot(cache);
            cache->slots[slot].block = blocks[i - 1];
            chain_in(cache, slot);
        }
        ring_in_as_newest(cache, slot);
    }
}

guint64 prefix_cache_blocks(const PrefixCache *cache) {
    return cache->blocks;
}
