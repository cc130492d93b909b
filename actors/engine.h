/* The one door to SimGrid's engine: set-up, actors, the clock, waiting, and transfers. What the C
 * API lacks (timers, host-to-host communications, the deadlock hook) is in engine_shim.cpp. */
#ifndef ACTORS_ENGINE_H
#define ACTORS_ENGINE_H

#include <glib.h>
#include <simgrid/actor.h>
#include <simgrid/host.h>

G_BEGIN_DECLS

/* What was asked of SimGrid, for the ledger and the benchmarks. */
typedef struct EngineCounts {
    guint64 execs, sleeps, comms, timers, wakes;
} EngineCounts;

/* Starts the engine with the settings that make it exact: CM02 network without cross-traffic or
 * TCP windows, picosecond precision, small stacks. INFERGRID_CONTEXT_FACTORY (raw, boost,
 * ucontext, thread) overrides how actors switch; sanitizers need 'thread'. Once a process. */
void engine_init(void);
/* Runs until no actor is left. 'on_deadlock' is called (once, with 'data') if they wait for each
 * other for ever; they are then killed and the run ends. */
void engine_run(void (*on_deadlock)(gpointer data), gpointer data);
double engine_now(void);
EngineCounts engine_counts(void);

/* Makes room for so many actors; before the first of them. Without this call, or for few, each has
 * a guarded stack of 64 KiB. More than the system's mappings allow to guard have stacks of 16 KiB
 * without guards; beyond 50,000, of 8 KiB: enough for calls of SimGrid (3.2 KB), but not for
 * printing. */
void engine_expect_actors(guint n);
/* Starts an actor whose body gets 'data' through engine_actor_data. The actor is borrowed. */
sg_actor_t engine_actor_start(const char *name, sg_host_t host, void (*body)(int, char **),
                              gpointer data);
gpointer engine_actor_data(void);
/* Calls fn(data) at the current date, once every actor that can run now has run. Starting an actor
 * is a point at which others may run first; where that must not be, start it from here. */
void engine_call_soon(void (*fn)(gpointer data), gpointer data);

/* Sleeps until the clock is exactly 'date_s' (no-op when that is past), in hops that at most double
 * the clock: only then is now + (date − now) == date in floating point. */
void engine_sleep_until(double date_s);
/* Lets everything else that is due at this date run first. */
void engine_yield(void);

/* A wait that a date or a signal can end. One actor waits; anyone may signal; a signal sent while
 * nobody waits ends the next wait at once. Signalling never lets another actor run first. */
typedef struct Wake Wake;
Wake *wake_new(void);
void wake_free(Wake *wake);
void wake_signal(Wake *wake);
/* Until a signal (TRUE) or 'date_s' (FALSE; INFINITY waits for a signal alone). */
gboolean wake_wait_until(Wake *wake, double date_s);
/* Ends at 'date_s' the wait of an actor that waits for a signal alone. */
void wake_signal_at(Wake *wake, double date_s);

/* Moves bytes from host to host and waits for the end; latency is not paid here. Several may be
 * begun before the first is waited for. */
typedef struct EngineTransfer EngineTransfer;
EngineTransfer *engine_transfer_begin(sg_host_t from, sg_host_t to, guint64 bytes);
void engine_transfer_wait(EngineTransfer *transfer); /* consumes it */
/* Whether it has ended; TRUE consumes it. */
gboolean engine_transfer_ended(EngineTransfer *transfer);
double engine_transfer_remaining_bytes(const EngineTransfer *transfer);

/* Transfers to one actor, in order, under way as soon as they are begun whether or not it asks, and
 * with the latency of their route. Unlike those between hosts, many thousands may be under way at
 * once. An actor that begins them must see each of them end (engine_transfer_wait or _ended) before
 * it ends itself: SimGrid cancels what is left. Engine's own until the process ends. */
typedef struct EngineChannel EngineChannel;
EngineChannel *engine_channel_new(sg_actor_t receiver);
EngineTransfer *engine_channel_send(EngineChannel *channel, guint64 bytes); /* at least 1 */
/* Waits, as the receiver, until the next one has ended. */
void engine_channel_receive(EngineChannel *channel);

/* Computes 'work' (in units of the host's speed) on a host. */
typedef struct EngineExec EngineExec;
EngineExec *engine_exec_begin(sg_host_t host, double work);
void engine_exec_wait(EngineExec *exec); /* consumes it */

G_END_DECLS

#endif
