/* The books of a run: tokens, KV bytes and network bytes, each counted where it happens and twice
 * where it can be, so that analysis/run/invariants.c can hold one count against the other. */
#ifndef ACTORS_LEDGER_H
#define ACTORS_LEDGER_H

#include "actors/event.h"

/* A quantity that changes at dates: its integral, mean and peak over the run. */
typedef struct TimeIntegral {
    double value, peak, integral, since_s;
} TimeIntegral;
void time_integral_set(TimeIntegral *quantity, double now_s, double value);
void time_integral_add(TimeIntegral *quantity, double now_s, double change);
/* The integral up to 'now_s'. */
double time_integral_until(const TimeIntegral *quantity, double now_s);

typedef struct StageTotals {
    double busy_s;       /* a step was running */
    double all_reduce_s; /* of it, in all-reduces */
    double transition_s; /* of it, moving weights and KV between a wafer's layouts */
    guint64 steps;
} StageTotals;

typedef struct ReplicaTotals {
    guint n_stages;
    StageTotals *stages;
    double first_busy_s,
        last_busy_s; /* span from its first step's start to its last's end; −1 none */
    TimeIntegral kv_bytes;
    guint64 prefill_tokens; /* computed here, recomputation included */
    guint64 decode_tokens;  /* generated here */
} ReplicaTotals;

typedef struct Ledger {
    double end_s;   /* the date of the last event: the makespan */
    guint64 issued; /* requests that the source gave; some may not have arrived yet */
    guint64 arrived, completed, dropped, rejected[N_REJECT_REASONS];
    guint64 preemptions;
    /* With so many slots a micro-batch, or with any more, every decision would have been the same.
     */
    guint64 slots_needed;
    /* tokens */
    guint64 prompt_tokens_in;           /* of requests not rejected */
    guint64 output_tokens_asked;        /* … */
    guint64 output_tokens_done;         /* generated and delivered */
    guint64 output_tokens_dropped;      /* asked but never generated: dropped requests */
    guint64 cached_prompt_tokens;       /* found in prefix caches */
    guint64 prefix_blocks, prefix_hits; /* blocks looked up, found */
    /* KV, bytes, over all replicas and buffers */
    double kv_allocated, kv_freed;
    double buffer_allocated, buffer_freed;
    /* wafers, of requests that ended: tokens' K and V that passed up a row, the most that a row
     * held over the mean (1: none was uneven) */
    guint64 kv_moves;
    double kv_skew;
    /* network */
    double bytes_sent[N_PURPOSES], bytes_received[N_PURPOSES];
    guint64 transfers[N_PURPOSES];
    /* queue (Little's law): ∫ waiting dt, and the waits summed request by request */
    TimeIntegral waiting;
    double waited_s; /* by requests that left the queue, preempted ones again */
    /* pools */
    guint n_replicas;
    ReplicaTotals *replicas; /* as in Plan.replicas */
    guint n_pools;
    TimeIntegral *buffer_bytes; /* a pool; reserved */
    double *paused_s;           /* a pool: time under backpressure */
    /* engine */
    guint64 steps;                               /* stage steps, passed singly or in fast-forward */
    guint64 execs, sleeps, comms, timers, wakes; /* activities given to SimGrid */
} Ledger;

#endif
