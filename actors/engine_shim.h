/* What SimGrid offers in C++ only, as C functions. No exception passes. Private to actors. */
#ifndef ACTORS_ENGINE_SHIM_H
#define ACTORS_ENGINE_SHIM_H

#include <simgrid/actor.h>
#include <simgrid/comm.h>
#include <simgrid/host.h>
#include <simgrid/mailbox.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ShimTimer ShimTimer;
/* Calls fn(data) from the engine's own context at 'date'; the timer frees itself when it fires. */
ShimTimer *shim_timer_set(double date, void (*fn)(void *), void *data);
void shim_timer_cancel(ShimTimer *timer);

/* A communication between two hosts that no actor takes part in; end it with sg_comm_wait. */
sg_comm_t shim_send_begin(sg_host_t from, sg_host_t to, uint64_t bytes);

double shim_comm_remaining(sg_comm_t comm); /* bytes */

/* From now on what is sent there is under way at once, for 'receiver', who need not have asked. */
void shim_mailbox_set_receiver(sg_mailbox_t mailbox, sg_actor_t receiver);

void shim_on_deadlock(void (*fn)(void *), void *data);

#ifdef __cplusplus
}
#endif

#endif
