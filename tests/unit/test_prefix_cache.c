#include "policies/prefix_cache.h"
#include "workloads/random.h"

#define MATCH(cache, ...)                                                                          \
    prefix_cache_match((cache), (const guint64[]){__VA_ARGS__},                                    \
                       sizeof((const guint64[]){__VA_ARGS__}) / sizeof(guint64))
#define INSERT(cache, ...)                                                                         \
    prefix_cache_insert((cache), (const guint64[]){__VA_ARGS__},                                   \
                        sizeof((const guint64[]){__VA_ARGS__}) / sizeof(guint64))

static void capacity_is_whole_blocks(void) {
    static const struct {
        double capacity, block;
        guint64 blocks;
    } rows[] = {{100, 10, 10}, {109.9, 10, 10}, {9.9, 10, 0}, {0, 10, 0}, {10, 10, 1}};
    guint64 blocks[20];
    for (guint i = 0; i < G_N_ELEMENTS(blocks); i++)
        blocks[i] = i;
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(PrefixCache) cache = prefix_cache_new(rows[i].capacity, rows[i].block);
        g_assert_cmpuint(prefix_cache_blocks(cache), ==, 0);
        prefix_cache_insert(cache, blocks, G_N_ELEMENTS(blocks));
        g_assert_cmpuint(prefix_cache_blocks(cache), ==, rows[i].blocks);
        g_assert_cmpuint(prefix_cache_match(cache, blocks, G_N_ELEMENTS(blocks)), ==,
                         rows[i].blocks);
    }
}

static void only_leading_blocks_match(void) {
    g_autoptr(PrefixCache) cache = prefix_cache_new(100, 10);
    g_assert_cmpuint(MATCH(cache, 1, 2, 3), ==, 0);
    INSERT(cache, 1, 2, 3);
    g_assert_cmpuint(MATCH(cache, 1, 2, 3), ==, 3);
    g_assert_cmpuint(MATCH(cache, 1, 2, 9, 3), ==, 2);
    g_assert_cmpuint(MATCH(cache, 9, 1, 2, 3), ==, 0);
    g_assert_cmpuint(prefix_cache_match(cache, NULL, 0), ==, 0);
    g_assert_cmpuint(prefix_cache_blocks(cache), ==, 3);
}

static void least_recently_used_goes_first(void) {
    g_autoptr(PrefixCache) cache = prefix_cache_new(40, 10);
    INSERT(cache, 1, 2);
    INSERT(cache, 3, 4);
    g_assert_cmpuint(MATCH(cache, 1, 2), ==, 2); /* 4 is now the oldest */
    INSERT(cache, 5);
    g_assert_cmpuint(MATCH(cache, 3, 4), ==, 1);
    g_assert_cmpuint(MATCH(cache, 1, 2), ==, 2);
    g_assert_cmpuint(MATCH(cache, 5), ==, 1);
}

static void of_one_prompt_the_last_block_goes_first(void) {
    g_autoptr(PrefixCache) cache = prefix_cache_new(30, 10);
    INSERT(cache, 1, 2, 3);
    INSERT(cache, 9);
    g_assert_cmpuint(MATCH(cache, 1, 2, 3), ==, 2);
}

static void a_prompt_over_the_capacity_keeps_its_beginning(void) {
    g_autoptr(PrefixCache) cache = prefix_cache_new(30, 10);
    INSERT(cache, 7, 8);
    INSERT(cache, 1, 2, 3, 4, 5);
    g_assert_cmpuint(prefix_cache_blocks(cache), ==, 3);
    g_assert_cmpuint(MATCH(cache, 1, 2, 3, 4, 5), ==, 3);
    g_assert_cmpuint(MATCH(cache, 7), ==, 0);
}

/* The same as a list in order of use, newest first. */
typedef struct NaiveCache {
    guint64 capacity;
    GArray *blocks;
} NaiveCache;

static gboolean naive_find(const NaiveCache *cache, guint64 block, guint *index) {
    for (*index = 0; *index < cache->blocks->len; ++*index) {
        if (g_array_index(cache->blocks, guint64, *index) == block)
            return TRUE;
    }
    return FALSE;
}

static void naive_use(NaiveCache *cache, const guint64 *blocks, guint32 n) {
    for (guint32 i = n; i > 0; i--) {
        guint index;
        if (naive_find(cache, blocks[i - 1], &index))
            g_array_remove_index(cache->blocks, index);
        g_array_prepend_val(cache->blocks, blocks[i - 1]);
    }
    if (cache->blocks->len > cache->capacity)
        g_array_set_size(cache->blocks, (guint)cache->capacity);
}

static guint32 naive_match(NaiveCache *cache, const guint64 *blocks, guint32 n) {
    guint32 matched = 0;
    guint index;
    while (matched < n && naive_find(cache, blocks[matched], &index))
        matched++;
    naive_use(cache, blocks, matched);
    return matched;
}

/* A prompt of up to 12 blocks: one of 40 conversations, cut anywhere; ids far apart, or in a row.
 */
static guint32 random_prompt(RandomStream *stream, guint64 *blocks) {
    guint64 conversation = random_below(stream, 40);
    guint32 n = (guint32)random_below(stream, 13);
    for (guint32 i = 0; i < n; i++)
        blocks[i] = conversation % 2 == 0 ? conversation * 20 + i
                                          : (conversation << 40) + ((guint64)i << 33);
    return n;
}

static void agrees_with_a_list_in_order_of_use(gconstpointer data) {
    guint64 capacity = (guint64)GPOINTER_TO_UINT(data);
    g_autoptr(PrefixCache) cache = prefix_cache_new((double)capacity * 16, 16);
    g_autoptr(GArray) list = g_array_new(FALSE, FALSE, sizeof(guint64));
    NaiveCache naive = {capacity, list};
    RandomStream stream = random_stream(capacity, "prefix cache");
    for (guint i = 0; i < 4000; i++) {
        guint64 blocks[12];
        guint32 n = random_prompt(&stream, blocks);
        if (random_below(&stream, 2) == 0) {
            g_assert_cmpuint(prefix_cache_match(cache, blocks, n), ==,
                             naive_match(&naive, blocks, n));
        } else {
            prefix_cache_insert(cache, blocks, n);
            naive_use(&naive, blocks, n);
        }
        g_assert_cmpuint(prefix_cache_blocks(cache), ==, list->len);
    }
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/prefix_cache/capacity_is_whole_blocks", capacity_is_whole_blocks);
    g_test_add_func("/prefix_cache/only_leading_blocks_match", only_leading_blocks_match);
    g_test_add_func("/prefix_cache/least_recently_used_goes_first", least_recently_used_goes_first);
    g_test_add_func("/prefix_cache/of_one_prompt_the_last_block_goes_first",
                    of_one_prompt_the_last_block_goes_first);
    g_test_add_func("/prefix_cache/a_prompt_over_the_capacity_keeps_its_beginning",
                    a_prompt_over_the_capacity_keeps_its_beginning);
    static const guint capacities[] = {0, 1, 2, 7, 63, 64, 65, 200, 1000};
    for (guint i = 0; i < G_N_ELEMENTS(capacities); i++) {
        g_autofree char *path =
            g_strdup_printf("/prefix_cache/agrees_with_a_list_in_order_of_use/%u", capacities[i]);
        g_test_add_data_func(path, GUINT_TO_POINTER(capacities[i]),
                             agrees_with_a_list_in_order_of_use);
    }
    return g_test_run();
}
