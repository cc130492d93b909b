#include "actors/engine.h"

#include "actors/engine_shim.h"
#include <malloc.h>
#include <math.h>
#include <signal.h>
#include <simgrid/comm.h>
#include <simgrid/engine.h>
#include <simgrid/exec.h>
#include <simgrid/mailbox.h>
#include <simgrid/semaphore.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <xbt/config.h>
#include <xbt/log.h>

/* SimGrid's engine is one static object a process; these belong to it. */
static EngineCounts counts;
static GPtrArray *signalled_wakes; /* Wake *, to be released at the current date */
static guint n_channels;
static int stack_kib;

void engine_init(void) {
    /* How actors switch is fixed by simgrid_init, so it can only be told as an argument. */
    const char *factory = g_getenv("INFERGRID_CONTEXT_FACTORY");
    g_autofree char *option = g_strdup_printf("--cfg=contexts/factory:%s", factory ? factory : "");
    char program[] = "infergrid", quiet[] = "--log=xbt_cfg.thresh:warning";
    char *argv[] = {program, quiet, option, NULL};
    int argc = factory ? 3 : 2;

    struct sigaction interrupt, terminate; /* SimGrid puts its own in their place */
    sigaction(SIGINT, NULL, &interrupt);
    sigaction(SIGTERM, NULL, &terminate);
    simgrid_init(&argc, argv);
    sigaction(SIGINT, &interrupt, NULL);
    sigaction(SIGTERM, &terminate, NULL);
    xbt_log_control_set("root.app:file:/dev/null"); /* we report in our own words */

    sg_cfg_set_string("network/model", "CM02");
    sg_cfg_set_boolean("network/crosstraffic", "no");
    sg_cfg_set_double("network/TCP-gamma", 0);
    sg_cfg_set_double("surf/precision", 1e-12);
    stack_kib = 64;
    sg_cfg_set_int("contexts/stack-size", stack_kib);
    n_channels = 0;
    counts = (EngineCounts){0};
    signalled_wakes = g_ptr_array_new();
}

void engine_run(void (*on_deadlock)(gpointer data), gpointer data) {
    shim_on_deadlock(on_deadlock, data);
    simgrid_run();
    g_clear_pointer(&signalled_wakes, g_ptr_array_unref);
}

double engine_now(void) {
    return simgrid_get_clock();
}

EngineCounts engine_counts(void) {
    return counts;
}

/* Mappings that a process may have: a stack with its guard takes two. */
static guint64 mapping_limit(void) {
    g_autofree char *text = NULL;
    if (!g_file_get_contents("/proc/sys/vm/max_map_count", &text, NULL, NULL))
        return 65530; /* Linux's default */
    return g_ascii_strtoull(text, NULL, 10);
}

/* Makes the heap larger by so many bytes, in pages so large that touching them for the first time
 * costs little: for hundreds of thousands of actors that is most of their making. */
static void stock_heap(gsize bytes) {
    const gsize huge_page = 2 << 20;

    mallopt(M_MMAP_THRESHOLD, G_MAXINT);
    mallopt(M_TRIM_THRESHOLD, G_MAXINT);
    char *stock = malloc(bytes);
    if (!stock)
        return;
    gsize misaligned = (gsize)stock % huge_page;
    madvise(stock + (huge_page - misaligned), bytes - MIN(bytes, huge_page), MADV_HUGEPAGE);
    free(stock);
}

void engine_expect_actors(guint n) {
    const guint64 others = 4096; /* mappings: libraries, heaps, the platform */
    if (2 * (guint64)n + others <= mapping_limit())
        return;
    stack_kib = n > 50000 ? 8 : 16;
    sg_cfg_set_int("contexts/guard-size", 0);
    stock_heap((gsize)n * ((gsize)stack_kib * 1024 + 4096));
}

sg_actor_t engine_actor_start(const char *name, sg_host_t host, void (*body)(int, char **),
                              gpointer data) {
    sg_actor_t actor = sg_actor_init(name, host);
    sg_actor_set_data(actor, data);
    sg_actor_set_stacksize(actor, stack_kib); /* KiB */
    sg_actor_start(actor, body, 0, NULL);
    return actor;
}

void engine_call_soon(void (*fn)(gpointer data), gpointer data) {
    shim_timer_set(simgrid_get_clock(), fn, data);
}

gpointer engine_actor_data(void) {
    return sg_actor_self_get_data();
}

/* The farthest date towards 'date' that the clock reaches without rounding. */
static double exact_hop(double now, double date) {
    return now > 0 && date > 2 * now ? 2 * now : date;
}

void engine_sleep_until(double date_s) {
    double now;
    while ((now = simgrid_get_clock()) < date_s) {
        counts.sleeps++;
        double delay = exact_hop(now, date_s) - now;
        /* SimGrid rounds a shorter sleep up to its precision and would never arrive. */
        sg_actor_sleep_for(MAX(delay, 1e-12));
    }
}

void engine_yield(void) {
    sg_actor_yield();
}

struct Wake {
    sg_sem_t semaphore;
    ShimTimer *timer;
    gboolean waiting;
    gboolean signalled;
};

Wake *wake_new(void) {
    Wake *wake = g_new0(Wake, 1);
    wake->semaphore = sg_sem_init(0);
    return wake;
}

void wake_free(Wake *wake) {
    if (!wake)
        return;
    sg_sem_destroy(wake->semaphore);
    g_free(wake);
}

/* Lets the waiting actor go on; it sees in 'signalled' why. In the engine's own context. */
static void wake_release(Wake *wake) {
    counts.wakes++;
    sg_sem_release(wake->semaphore);
}

static void release_signalled(void *data) {
    GPtrArray *wakes = data;
    for (guint i = 0; i < wakes->len; i++)
        wake_release(wakes->pdata[i]);
    g_ptr_array_set_size(wakes, 0);
}

/* Releasing a semaphore is a simcall, at which other actors may run before the caller goes on. A
 * signal must not be such a point: its sender is in the middle of changing shared state. So it is
 * left to a timer that is due at once. */
void wake_signal(Wake *wake) {
    wake->signalled = TRUE;
    if (!wake->waiting || !signalled_wakes) /* nobody is left to wake */
        return;
    if (wake->timer) {
        shim_timer_cancel(wake->timer);
        wake->timer = NULL;
    }
    wake->waiting = FALSE;
    if (signalled_wakes->len == 0)
        shim_timer_set(simgrid_get_clock(), release_signalled, signalled_wakes);
    g_ptr_array_add(signalled_wakes, wake);
}

static void wake_on_timer(void *data) {
    Wake *wake = data;
    wake->timer = NULL;
    wake->waiting = FALSE;
    wake_release(wake);
}

gboolean wake_wait_until(Wake *wake, double date_s) {
    while (!wake->signalled) {
        double now = simgrid_get_clock();
        if (now >= date_s)
            return FALSE;
        if (isfinite(date_s)) {
            counts.timers++;
            wake->timer = shim_timer_set(exact_hop(now, date_s), wake_on_timer, wake);
        }
        wake->waiting = TRUE;
        sg_sem_acquire(wake->semaphore);
    }
    wake->signalled = FALSE;
    return TRUE;
}

/* The waiting actor looks at 'signalled' only once it has been released. */
void wake_signal_at(Wake *wake, double date_s) {
    g_assert(wake->waiting && !wake->timer);
    counts.timers++;
    wake->signalled = TRUE;
    wake->timer = shim_timer_set(date_s, wake_on_timer, wake);
}

EngineTransfer *engine_transfer_begin(sg_host_t from, sg_host_t to, guint64 bytes) {
    counts.comms++;
    return (EngineTransfer *)shim_send_begin(from, to, bytes);
}

void engine_transfer_wait(EngineTransfer *transfer) {
    sg_comm_wait((sg_comm_t)transfer);
}

double engine_transfer_remaining_bytes(const EngineTransfer *transfer) {
    return shim_comm_remaining((sg_comm_t)transfer);
}

/* SimGrid's own test leaves what has ended in its actor's list of activities, which every later end
 * walks through; a wait takes it out. */
gboolean engine_transfer_ended(EngineTransfer *transfer) {
    if (engine_transfer_remaining_bytes(transfer) > 0)
        return FALSE;
    engine_transfer_wait(transfer);
    return TRUE;
}

EngineChannel *engine_channel_new(sg_actor_t receiver) {
    char name[16]; /* short enough for std::string to hold it without memory of its own */
    g_snprintf(name, sizeof name, "%u", n_channels++);
    sg_mailbox_t mailbox = sg_mailbox_by_name(name);
    shim_mailbox_set_receiver(mailbox, receiver);
    return (EngineChannel *)mailbox;
}

EngineTransfer *engine_channel_send(EngineChannel *channel, guint64 bytes) {
    g_assert(bytes > 0); /* SimGrid would take it for ended before its latency has passed */
    counts.comms++;
    return (EngineTransfer *)sg_mailbox_put_async((sg_mailbox_t)channel, channel, (long)bytes);
}

void engine_channel_receive(EngineChannel *channel) {
    sg_mailbox_get((sg_mailbox_t)channel);
}

EngineExec *engine_exec_begin(sg_host_t host, double work) {
    counts.execs++;
    sg_exec_t exec = sg_actor_exec_init(work);
    sg_exec_set_host(exec, host);
    sg_exec_start(exec);
    return (EngineExec *)exec;
}

void engine_exec_wait(EngineExec *exec) {
    sg_exec_wait((sg_exec_t)exec);
}
