/* The serving system inside a run: its pools, replicas, stages, micro-batches and requests. Private
 * to actors. All actors run one at a time in one thread, so they share these structs and pass work
 * by queue and Wake; what takes simulated time goes through engine.h.
 *
 *   frontend ──routes──> entry replica's queue
 *   entry replica (prefill or colocated): stage 0 forms a Step, stages run it, the last one ends it
 *   prefill ──couriers, layer by layer──> buffer ──couriers, pulled──> decode replica
 */
#ifndef ACTORS_SERVING_SERVING_H
#define ACTORS_SERVING_SERVING_H

#include "actors/cluster/cluster.h"
#include "actors/engine.h"
#include "actors/simulation.h"
#include "platforms/step_cost.h"
#include "policies/admission.h"
#include "policies/backpressure.h"
#include "policies/prefix_cache.h"
#include "policies/routing.h"

typedef struct Simulation Simulation;
typedef struct Pool Pool;
typedef struct Replica Replica;
typedef struct Stage Stage;
typedef struct MicroBatch MicroBatch;
typedef struct Step Step;
typedef struct Courier Courier;
typedef struct Numerics Numerics;
typedef struct Numbers Numbers;

/* A run of layers of one request in one buffer cluster. */
typedef struct BufferPart {
    guint buffer; /* index in the pool's buffers */
    guint first_layer, layers;
} BufferPart;

/* A request and where it is. 'public' comes first: observers get a pointer to it. */
typedef struct Served {
    ServedRequest public;
    Numbers *numbers;         /* with numerics on: tokens and KV */
    Replica *entry;           /* prefill or colocated replica */
    MicroBatch *batch;        /* where it decodes */
    double queued_s;          /* since when it waits */
    guint32 prefill_target;   /* tokens whose KV the prefill must make: prompt, and after a
                                 preemption also what had been generated */
    guint32 scheduled;        /* of them, already put into steps (cached ones included) */
    guint64 kv_tokens;        /* reserved in the decode or colocated replica */
    guint64 joined_at;        /* batch->steps_done when it joined */
    guint32 generated_before; /* tokens it had then */
    guint64 admitted_no;      /* order of admission to decode: the largest is the youngest */
    BufferPart *parts;        /* where its KV goes in the buffer, layer by layer; NULL: nowhere */
    guint n_parts;
    guint64 buffer_bytes;      /* reserved there */
    double prefill_kv_bytes;   /* held in the prefill replica */
    guint migrations;          /* couriers under way to the buffer */
    guint pulls;               /* couriers under way from it */
    gboolean prefilled;        /* its last prompt stage has ended */
    gboolean decoding;         /* a member of its batch */
    gboolean begun;            /* its first chunk has been put into a step */
    gboolean ended;            /* completed or dropped; freed when nothing refers to it */
    guint open_index;          /* in Simulation.open_requests */
    gboolean full_reservation; /* preempted too often: next time it gets all it can need */
} Served;

/* A part of a prompt in a step. */
typedef struct Chunk {
    Served *served;
    guint32 new_tokens, past_tokens;
    gboolean first; /* of this prompt: the cached tokens before it travel with it */
    gboolean last;  /* the prompt ends with it: a token is sampled */
} Chunk;

/* What passes through a replica's stages once: chunks of prompts and one token for each of the
 * 'decodes' members of its micro-batch. */
struct Step {
    MicroBatch *batch; /* NULL in a prefill replica */
    GArray *chunks;    /* Chunk */
    guint decodes;
    guint32 prefill_tokens;
    guint32 sampled;
    guint64 repeats;     /* decode steps passed in one go (fast-forward), normally 1 */
    gboolean counted;    /* … which has put them into the books already */
    GArray *activations; /* float, tokens × hidden, with numerics on; else NULL */
    Stage *next_stage;   /* where it is on its way to */
    guint64 hop_no;      /* keeps steps in order between two stages */
};

struct MicroBatch {
    Replica *replica;
    guint index;
    GPtrArray *members; /* Served *, decoding, in order of joining */
    GArray *bases;      /* guint32, of each member: tokens in its KV less steps_done, modulo 2^32 */
    GPtrArray *joining; /* Served *, their KV is here, in by the next step */
    guint held;         /* slots taken: members, joining, being pulled; in a synchronous batch
                           finished ones too */
    guint quota;        /* synchronous: how many more may still be pulled for this batch */
    guint pulling;
    guint64 steps_done;
    guint64 steps_to_finish; /* until the first member ends */
    gboolean parked;         /* nothing to do; not in the ready queue */
    Step step;
};

/* Steps that a single-stage replica passes without waking up. */
typedef struct FastForward {
    gboolean active;
    guint64 done, total; /* steps */
    double at_s;         /* end of the last one done */
    double from_s;       /* where it began */
} FastForward;

struct Stage {
    Replica *replica;
    guint index;
    const StagePlan *plan;
    StepCost *cost;   /* borrowed from the simulation */
    Cluster *cluster; /* of the first rank, at operator grain; otherwise NULL */
    Wake *wake;
    GQueue inbox;          /* Step *, from the stage before (not used by stage 0), by hop_no */
    guint64 hops_expected; /* hop_no of the next one to run */
    guint64 hops_sent;     /* to the next stage */
    gboolean idle;         /* waits for work */
    GArray *segments;      /* Segment: scratch for step_cost_batch */
    double now_s;          /* the stage's own clock: dates are summed here, step by step */
    gboolean decoding;     /* on a wafer: weights lie as decode steps want them, not prompts */
    double ring_fixed_s, ring_per_byte_s; /* of one all-reduce, with nobody else about */
    gboolean ring_shared;                 /* its links carry other traffic: run it as flows */
    guint transfers_pending;              /* flows of its own all-reduce */
    StageTotals *totals;
};

struct Replica {
    Simulation *simulation;
    Pool *pool;
    const ReplicaPlan *plan;
    guint id;         /* in Plan.replicas */
    guint load_index; /* in Simulation.loads, for entry replicas */
    Stage *stages;
    guint steps_in_flight;
    /* entry replicas */
    AdmissionQueue *queue;
    GQueue partial;         /* Served *: prompts begun in chunks, not all scheduled */
    double prefill_kv_room; /* bytes for the KV of prompts, over all stages (prefill) */
    PrefixCache *prefix_cache;
    GPtrArray *idle_steps; /* prefill: Step * to use again */
    /* decode and colocated */
    MicroBatch *batches;
    guint n_batches;
    GQueue ready;    /* MicroBatch *, waiting for stage 0 */
    guint64 kv_used; /* tokens reserved */
    FastForward fast_forward;
    ReplicaTotals *totals;
};

struct Pool {
    Simulation *simulation;
    guint index;
    GPtrArray *entries;  /* Replica *, prefill or colocated */
    GPtrArray *decoders; /* Replica *, decode */
    const BufferPlan **buffers;
    guint64 *buffer_used; /* bytes reserved, a buffer */
    guint n_buffers;
    Backpressure backpressure;
    double paused_since_s;
    GQueue ready;                 /* Served *: all of its KV is in the buffer */
    guint64 waiting;              /* in the entry queues */
    guint64 upstream;             /* prefilling or migrating */
    gboolean reservation_blocked; /* the head of a queue found no room in the buffer */
};

struct Simulation {
    SimulationSetup setup;
    DeviceModel device;
    GPtrArray *costs; /* StepCost *, one for each shape of stage */
    Ledger *ledger;
    Pool *pools;
    guint n_pools;
    Replica *replicas;
    guint n_replicas;
    GPtrArray *entries; /* Replica * that take new requests, over all pools */
    ReplicaLoad *loads; /* of them */
    Router router;
    Numerics *numerics; /* NULL: time only */
    guint64 kv_bytes_per_token;
    guint64 max_kv_tokens; /* the most one request can hold anywhere it may decode */
    /* frontend */
    Wake *frontend_wake;
    GPtrArray *returning; /* closed loop: Request *, a heap by arrival */
    gboolean source_ended;
    guint64 open;             /* arrived, not ended */
    guint64 admitted;         /* counter for Served.admitted_no */
    GPtrArray *open_requests; /* Served *, each at its open_index */
    /* transfers */
    GPtrArray *couriers; /* Courier *, all */
    GPtrArray *idle_couriers;
    /* observers */
    gboolean sampled_regularly; /* some observer wants samples at multiples of the interval */
    guint64 samples_taken;      /* of those */
    SimulationSample sample;    /* kept current */
    gboolean stopping;
    SimulationOutcome outcome;
    GError *error;
    double now_s; /* date of the latest event */
};

/* observers (simulation.c) */
/* Time has come to 'time_s': takes the samples due before it. To be called before anything that a
 * sample shows is changed at that date. */
void simulation_advance(Simulation *simulation, double time_s);
void simulation_emit(Simulation *simulation, const Event *event);
/* Whether any observer wants such events (EVENT_STEP, EVENT_TRANSFER) now. */
gboolean simulation_wanted(const Simulation *simulation, EventKind kind);
void simulation_emit_request(Simulation *simulation, EventKind kind, double time_s,
                             const Served *served);
void simulation_stop(Simulation *simulation, SimulationOutcome outcome);

/* frontend.c */
void frontend_main(int argc, char **argv);
void request_completed(Simulation *simulation, Served *served, double time_s);
void request_drop_all(Simulation *simulation, double time_s);
void request_release(Served *served); /* frees it once nothing refers to it any more */

/* entry.c: admission to prefill, on prefill and colocated replicas */
void entry_enqueue(Replica *replica, Served *served, double time_s);
void entry_requeue_front(Replica *replica, Served *served, double time_s);
void entry_wake(Replica *replica);
gboolean entry_blocked(const Replica *replica); /* its queue's head cannot be admitted now */
/* Fills 'step' with prompt chunks: those begun first, then the queue's head while it can be
 * admitted. Returns how many requests were admitted. */
typedef struct ChunkLimits {
    guint64 tokens;   /* of the step; the first prompt may exceed them when it cannot be chunked */
    guint64 admit;    /* new requests at most */
    gboolean chunked; /* prompts may be cut to the tokens */
} ChunkLimits;
guint entry_add_chunks(Replica *replica, Step *step, const ChunkLimits *limits, double time_s);
/* A chunk has passed all stages; 'TRUE' when its prompt is done and its first (or, after a
 * preemption, next) token exists. The request may have completed with it. */
gboolean entry_chunk_done(Replica *replica, const Chunk *chunk, double time_s);
void step_clear(Step *step);
Step *prefill_form_step(Replica *replica, double time_s);
void prefill_step_done(Replica *replica, Step *step, double time_s);

void entry_free_kv(Served *served, double time_s); /* what a prefill replica held for it */
gboolean entry_quiet(const Pool *pool); /* nothing more will reach the buffer by itself */

/* decode.c: micro-batches of decode and colocated replicas */
Step *decode_form_step(Replica *replica, double time_s);
void decode_step_done(Replica *replica, Step *step, double time_s);
void decode_join(Served *served); /* its KV is here */
void decode_unpark(MicroBatch *batch);
gboolean decode_can_reserve(const Replica *replica, const Served *served);
void decode_reserve(Replica *replica, Served *served, double time_s);
void decode_free(Served *served, double time_s);
/* Brings the token count of a member up to date. */
void decode_settle(Served *served);
/* Tokens in a member's KV before its next step. */
guint64 decode_past_tokens(const Served *served);
/* Fast-forward, for single-stage replicas: begins at 'start_s' with the only micro-batch, and
 * returns the date when its first member ends. */
double decode_fast_forward_end(Replica *replica, double start_s);
/* Advances what fast-forward has passed by 'time_s'. */
void decode_sync(Replica *replica, double time_s);

/* buffer.c: KV from prefill to decode */
/* Room for its KV, in as few clusters as hold it, the emptiest first. FALSE: not now. */
gboolean buffer_reserve(Pool *pool, Served *served, double time_s);
/* Whether the KV of so many tokens fits into the empty buffer of any pool. */
gboolean buffer_can_hold(const Simulation *simulation, guint64 tokens);
void buffer_free(Served *served, double time_s);
/* The KV of a chunk leaves a stage layer by layer while it computes from 'start_s' to 'end_s'. */
void buffer_migrate_stage(Stage *stage, const Chunk *chunk, double start_s, double end_s);
/* … of one of its layers (counted within the stage), which has just been computed. */
void buffer_migrate_layer(Stage *stage, const Chunk *chunk, guint layer);
void buffer_prefill_ended(Served *served, double time_s);
void buffer_dispatch(Pool *pool, double time_s);

/* stage.c */
void stage_main(int argc, char **argv);
/* All all-reduces of a step, one after another, with nobody else on their links. */
double stage_all_reduce_seconds(const Stage *stage, guint32 tokens);
/* Adds those of 'steps' steps of so many tokens to the books: where they run as no flows. */
void stage_count_all_reduces(const Stage *stage, guint32 tokens, guint64 steps);
/* Decode step number 'ahead' from now (from 1) of a batch whose members stay the same. */
double stage_decode_seconds(Stage *stage, const MicroBatch *batch, guint64 ahead);
/* The step as the operator graph wants it; valid until the next call. */
BatchShape stage_batch_shape(Stage *stage, const Step *step);

/* operator_grain.c: the same step, operator by operator; returns when it has ended */
void operator_grain_run(Stage *stage, const Step *step);

/* courier.c: transfers that nobody stands still for */
typedef struct Transfer {
    TransferPurpose purpose;
    guint from, to;   /* clusters */
    guint64 bytes[2]; /* in up to two parts, one after the other */
    double not_before_s[2];
    guint n_parts;
    void (*done)(const struct Transfer *transfer, double time_s);
    gpointer data;
    const StagePlan *stage; /* KV: the stage it comes from or goes to, and the layers */
    guint first_layer, end_layer;
} Transfer;
void courier_send(Simulation *simulation, const Transfer *transfer);
void couriers_init(Simulation *simulation);
void couriers_stop(Simulation *simulation); /* wakes them all to see that it is over */

/* deadlock.c */
char *deadlock_report(const Simulation *simulation); /* who waits for whom; caller frees */

/* contention.c: which all-reduces share a link with other traffic */
void contention_mark_rings(Simulation *simulation);

#endif
