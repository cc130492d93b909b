/* A request on its way through the simulated system: what it asked, where it is, and the date of
 * everything that happened to it. */
#ifndef ACTORS_SERVED_REQUEST_H
#define ACTORS_SERVED_REQUEST_H

#include "workloads/request_source.h"

typedef enum {
    REJECT_NONE,
    REJECT_CONTEXT,         /* prompt + output exceed the context it may reach */
    REJECT_KV_CAPACITY,     /* more KV than a replica holds at all */
    REJECT_BUFFER_CAPACITY, /* more KV than a buffer cluster holds at all */
    N_REJECT_REASONS
} RejectReason;
const char *reject_reason_name(RejectReason reason);

/* Dates in seconds of simulated time; -1 where it has not happened (or never does). */
typedef struct ServedRequest {
    Request request;
    RejectReason rejected;
    guint pool;            /* -1 (G_MAXUINT) until routed */
    guint prefill_replica; /* index among the pool's replicas of that role */
    guint decode_replica;
    guint32 cached_tokens; /* of the prompt, found in the prefix cache at the first prefill */
    guint32 prefilled;     /* prompt tokens (and recomputed ones) whose KV exists */
    guint32 generated;     /* output tokens produced */
    guint32 preemptions;
    double prefill_start_s; /* first admitted: left the queue */
    double first_token_s;   /* end of the prompt's last stage */
    double buffered_s;      /* all of its KV has reached the buffer */
    double pull_start_s;    /* a decode replica began to pull it */
    double decode_start_s;  /* first decode step began */
    double completed_s;     /* last token */
    const guint32 *tokens;  /* the generated ones, with numerics on; else NULL */
    gpointer actor_state;   /* private to actors */
} ServedRequest;

#endif
