#include "policies/admission.h"

#include "policies/admission/order.h"

struct AdmissionQueue {
    const AdmissionOrder *order;
    gpointer waiting; /* the order's own container */
    GPtrArray *front; /* a stack: what came back, ahead of every order */
};

#define ADMISSION_ROW(kind, name, order) [kind] = &(order),
static const AdmissionOrder *const orders[] = {ADMISSION_RULES(ADMISSION_ROW)};

AdmissionQueue *admission_queue_new(AdmissionKind kind) {
    AdmissionQueue *queue = g_new0(AdmissionQueue, 1);
    queue->order = orders[kind];
    queue->waiting = queue->order->create();
    queue->front = g_ptr_array_new();
    return queue;
}

void admission_queue_free(AdmissionQueue *queue) {
    if (queue == NULL)
        return;
    queue->order->destroy(queue->waiting);
    g_ptr_array_unref(queue->front);
    g_free(queue);
}

void admission_queue_push(AdmissionQueue *queue, gpointer request, guint32 prompt_tokens) {
    queue->order->push(queue->waiting, request, prompt_tokens);
}

void admission_queue_push_front(AdmissionQueue *queue, gpointer request) {
    g_ptr_array_add(queue->front, request);
}

gpointer admission_queue_peek(const AdmissionQueue *queue) {
    if (queue->front->len > 0)
        return g_ptr_array_index(queue->front, queue->front->len - 1);
    return queue->order->length(queue->waiting) > 0 ? queue->order->peek(queue->waiting) : NULL;
}

gpointer admission_queue_pop(AdmissionQueue *queue) {
    if (queue->front->len > 0)
        return g_ptr_array_steal_index(queue->front, queue->front->len - 1);
    return queue->order->length(queue->waiting) > 0 ? queue->order->pop(queue->waiting) : NULL;
}

guint64 admission_queue_length(const AdmissionQueue *queue) {
    return queue->front->len + queue->order->length(queue->waiting);
}
