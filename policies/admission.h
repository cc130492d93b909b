/* The order in which waiting requests are admitted: a priority queue of opaque requests. Ties keep
 * the order of arrival. O(1) for FCFS, O(log n) for the others. */
#ifndef POLICIES_ADMISSION_H
#define POLICIES_ADMISSION_H

#include "policies/policy.h"

typedef struct AdmissionQueue AdmissionQueue;
AdmissionQueue *admission_queue_new(AdmissionKind kind);
void admission_queue_free(AdmissionQueue *queue); /* not the requests */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AdmissionQueue, admission_queue_free)

void admission_queue_push(AdmissionQueue *queue, gpointer request, guint32 prompt_tokens);
/* Ahead of everything else: a preempted request returns to the head. The last one pushed to the
 * front comes out first. */
void admission_queue_push_front(AdmissionQueue *queue, gpointer request);
gpointer admission_queue_peek(const AdmissionQueue *queue); /* NULL when empty */
gpointer admission_queue_pop(AdmissionQueue *queue);
guint64 admission_queue_length(const AdmissionQueue *queue);

#endif
