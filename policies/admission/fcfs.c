/* First come, first served: a ring buffer that grows, O(1) a request and no allocation in the
 * steady state. */
#include "policies/admission/order.h"

typedef struct Ring {
    gpointer *requests;
    guint64 capacity; /* a power of two */
    guint64 head;     /* place of the first, in [0, capacity) */
    guint64 length;
} Ring;

static gpointer ring_create(void) {
    Ring *ring = g_new0(Ring, 1);
    ring->capacity = 16;
    ring->requests = g_new(gpointer, ring->capacity);
    return ring;
}

static void ring_destroy(gpointer queue) {
    Ring *ring = queue;
    g_free(ring->requests);
    g_free(ring);
}

static guint64 ring_place(const Ring *ring, guint64 index) {
    return (ring->head + index) & (ring->capacity - 1);
}

static void ring_grow(Ring *ring) {
    gpointer *wider = g_new(gpointer, 2 * ring->capacity);
    for (guint64 i = 0; i < ring->length; i++)
        wider[i] = ring->requests[ring_place(ring, i)];
    g_free(ring->requests);
    ring->requests = wider;
    ring->capacity *= 2;
    ring->head = 0;
}

static void ring_push(gpointer queue, gpointer request, guint32 prompt_tokens) {
    (void)prompt_tokens;
    Ring *ring = queue;
    if (ring->length == ring->capacity)
        ring_grow(ring);
    ring->requests[ring_place(ring, ring->length++)] = request;
}

static gpointer ring_peek(gconstpointer queue) {
    const Ring *ring = queue;
    return ring->requests[ring->head];
}

static gpointer ring_pop(gpointer queue) {
    Ring *ring = queue;
    gpointer request = ring->requests[ring->head];
    ring->head = ring_place(ring, 1);
    ring->length--;
    return request;
}

static guint64 ring_length(gconstpointer queue) {
    return ((const Ring *)queue)->length;
}

const AdmissionOrder admission_fcfs = {.create = ring_create,
                                       .destroy = ring_destroy,
                                       .push = ring_push,
                                       .peek = ring_peek,
                                       .pop = ring_pop,
                                       .length = ring_length};
