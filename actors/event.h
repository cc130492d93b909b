/* The only way out of the actors: every change of state is one Event, handed to each Observer in
 * order of simulated time (a step's event comes at its end and tells when it began). */
#ifndef ACTORS_EVENT_H
#define ACTORS_EVENT_H

#include "actors/served_request.h"
#include "policies/plan.h"

typedef enum {
    EVENT_ARRIVED,         /* request */
    EVENT_REJECTED,        /* request; right after its arrival */
    EVENT_PREFILL_STARTED, /* request; it leaves the queue (again after a preemption) */
    EVENT_FIRST_TOKEN,     /* request */
    EVENT_BUFFERED,        /* request; pbd */
    EVENT_PULL_STARTED,    /* request; pbd */
    EVENT_PULLED,          /* request; pbd: its KV is in the decode replica */
    EVENT_DECODE_STARTED,  /* request; its first decode step begins */
    EVENT_PREEMPTED,       /* request; its KV is dropped, it queues again */
    EVENT_COMPLETED,       /* request */
    EVENT_DROPPED,         /* request; the run was interrupted before it ended */
    EVENT_STEP,         /* replica, stage, start_s, batch…: only to observers that want steps */
    EVENT_TRANSFER,     /* purpose, from, to, bytes, start_s: only to those that want transfers */
    EVENT_BACKPRESSURE, /* pool, paused */
    N_EVENT_KINDS
} EventKind;

/* Why bytes cross the network. */
typedef enum {
    PURPOSE_ALL_REDUCE,
    PURPOSE_KV_MIGRATION, /* prefill to buffer */
    PURPOSE_KV_PULL,      /* buffer to decode */
    PURPOSE_PIPELINE,     /* activations and token ids between stages */
    N_PURPOSES
} TransferPurpose;
const char *transfer_purpose_name(TransferPurpose purpose);

typedef struct Event {
    EventKind kind;
    double time_s;                /* when it happened (a step, a transfer: when it ended) */
    double start_s;               /* STEP, TRANSFER */
    const ServedRequest *request; /* NULL where none is concerned */
    /* STEP */
    const ReplicaPlan *replica;
    guint replica_id; /* its place in Plan.replicas */
    guint stage;
    guint micro_batch;
    guint prefill_requests, decode_requests; /* in the step */
    guint32 prefill_tokens;
    double all_reduce_s; /* of the step's time, at its end */
    gboolean transition; /* no step but, before one, weights and KV on their way to the layout that
                            it wants (wafers) */
    const ServedRequest *const *members; /* the step's requests, first prefill then decode */
    /* TRANSFER */
    TransferPurpose purpose;
    guint from, to; /* clusters */
    double bytes;
    /* BACKPRESSURE */
    guint pool;
    gboolean paused;
} Event;

/* The state of the whole system at one date, between events. */
typedef struct SimulationSample {
    double time_s;
    guint64 arrived, completed, rejected;
    guint64 waiting;    /* in queues, before prefill */
    guint64 prefilling; /* prompt under way, or its KV still migrating */
    guint64 buffered;   /* KV rests in the buffer */
    guint64 pulling;
    guint64 running; /* decoding, or ready to join its micro-batch */
    guint64 generated_tokens;
    double busy_s;       /* cluster-seconds of the steps that have ended */
    double buffer_bytes; /* reserved in the buffer pools */
    double kv_bytes;     /* held in decode or colocated replicas */
    guint paused_pools;  /* pools whose admission is stopped by backpressure */
} SimulationSample;

typedef struct Observer Observer;
struct Observer {
    void (*notify)(Observer *observer, const Event *event);
    /* Called once for each multiple of the sampling interval, before later events; may be NULL. */
    void (*sample)(Observer *observer, const SimulationSample *sample);
    gboolean own_dates;   /* samples are taken at 'next_sample_s' instead */
    double next_sample_s; /* with own dates: which 'sample' moves on, never to the same or back */
    gboolean wants_steps; /* every step singly; keeps fast-forward off as long as it stands, and
                             may be cleared under way: then events of steps end */
    gboolean wants_transfers; /* may be cleared under way as well */
};

#endif
