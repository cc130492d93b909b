/* The shortest prompt first: a binary heap, O(log n) a request. Long prompts can starve while
 * shorter ones keep coming. */
#include "policies/admission/order.h"

typedef struct Entry {
    guint32 prompt_tokens;
    guint64 ticket; /* order of pushing, breaks ties */
    gpointer request;
} Entry;

typedef struct Heap {
    GArray *entries; /* Entry; the parent of i is (i − 1) / 2 */
    guint64 next_ticket;
} Heap;

static gpointer heap_create(void) {
    Heap *heap = g_new0(Heap, 1);
    heap->entries = g_array_new(FALSE, FALSE, sizeof(Entry));
    return heap;
}

static void heap_destroy(gpointer queue) {
    Heap *heap = queue;
    g_array_unref(heap->entries);
    g_free(heap);
}

static gboolean entry_before(const Entry *a, const Entry *b) {
    if (a->prompt_tokens != b->prompt_tokens)
        return a->prompt_tokens < b->prompt_tokens;
    return a->ticket < b->ticket;
}

static void heap_push(gpointer queue, gpointer request, guint32 prompt_tokens) {
    Heap *heap = queue;
    Entry entry = {prompt_tokens, heap->next_ticket++, request};
    g_array_append_val(heap->entries, entry);
    Entry *entries = (Entry *)(void *)heap->entries->data;
    guint place = heap->entries->len - 1;
    while (place > 0 && entry_before(&entry, &entries[(place - 1) / 2])) {
        entries[place] = entries[(place - 1) / 2];
        place = (place - 1) / 2;
    }
    entries[place] = entry;
}

static gpointer heap_peek(gconstpointer queue) {
    const Heap *heap = queue;
    return g_array_index(heap->entries, Entry, 0).request;
}

/* Lets 'entry' sink from the top of the first 'n' entries, whose top is free. */
static void sink(Entry *entries, guint n, Entry entry) {
    guint place = 0;
    for (guint child = 1; child < n; child = 2 * place + 1) {
        if (child + 1 < n && entry_before(&entries[child + 1], &entries[child]))
            child++;
        if (!entry_before(&entries[child], &entry))
            break;
        entries[place] = entries[child];
        place = child;
    }
    entries[place] = entry;
}

static gpointer heap_pop(gpointer queue) {
    Heap *heap = queue;
    Entry *entries = (Entry *)(void *)heap->entries->data;
    gpointer request = entries[0].request;
    guint n = heap->entries->len - 1;
    sink(entries, n, entries[n]);
    g_array_set_size(heap->entries, n);
    return request;
}

static guint64 heap_length(gconstpointer queue) {
    return ((const Heap *)queue)->entries->len;
}

const AdmissionOrder admission_shortest_prompt = {.create = heap_create,
                                                  .destroy = heap_destroy,
                                                  .push = heap_push,
                                                  .peek = heap_peek,
                                                  .pop = heap_pop,
                                                  .length = heap_length};
