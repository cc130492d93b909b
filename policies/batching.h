/* When requests may join a micro-batch. */
#ifndef POLICIES_BATCHING_H
#define POLICIES_BATCHING_H

#include "policies/policy.h"

/* What the rule may look at: one micro-batch between two of its steps. */
typedef struct BatchState {
    guint running; /* its requests that have tokens left */
    guint held;    /* slots taken, finished requests of a synchronous batch included */
    guint slots;
    guint64 ready;           /* requests that could join now */
    gboolean upstream_quiet; /* no further request is on its way to becoming ready */
} BatchState;

/* How many of the ready requests join now.
 * synchronous: none until the batch has run to its end; then a full batch, or what is there when
 * nothing else is on its way. continuous: as many as there are free slots. */
guint batching_admit(BatchingKind kind, const BatchState *state);
/* The slots with which, as with any more, batching_admit gives what it gives without a limit; more
 * than there are where it does not. */
guint64 batching_slots_needed(BatchingKind kind, const BatchState *state);

#endif
