/* Decode and colocated replicas: micro-batches, their KV, joining, finishing, preemption. */
#include "actors/serving/serving.h"

#include "policies/batching.h"
#include <math.h>

static const Policy *policy_of(const Replica *replica) {
    return replica->simulation->setup.policy;
}

static guint64 tokens_to_reserve(const Replica *replica, const Served *served) {
    const Request *request = &served->public.request;
    guint64 whole = (guint64)request->prompt_tokens + request->output_tokens;
    switch (policy_of(replica)->kv_reservation) {
    case KV_RESERVE_MAX_CONTEXT:
        return replica->simulation->setup.plan->max_context;
    case KV_RESERVE_ON_DEMAND:
        return served->full_reservation ? whole : served->prefill_target;
    case KV_RESERVE_OUTPUT:
        break;
    }
    return whole;
}

static void kv_change(Replica *replica, double time_s, gint64 tokens) {
    double bytes = (double)tokens * (double)replica->simulation->kv_bytes_per_token;
    replica->kv_used += (guint64)tokens;
    time_integral_add(&replica->totals->kv_bytes, time_s, bytes);
    replica->simulation->sample.kv_bytes += bytes;
    if (tokens > 0)
        replica->simulation->ledger->kv_allocated += bytes;
    else
        replica->simulation->ledger->kv_freed -= bytes;
}

gboolean decode_can_reserve(const Replica *replica, const Served *served) {
    return replica->kv_used + tokens_to_reserve(replica, served) <= replica->plan->kv_tokens;
}

void decode_reserve(Replica *replica, Served *served, double time_s) {
    served->kv_tokens = tokens_to_reserve(replica, served);
    served->admitted_no = replica->simulation->admitted++;
    kv_change(replica, time_s, (gint64)served->kv_tokens);
}

void decode_free(Served *served, double time_s) {
    kv_change(served->batch->replica, time_s, -(gint64)served->kv_tokens);
    served->kv_tokens = 0;
}

static guint64 tokens_left(const MicroBatch *batch, const Served *served) {
    return served->public.request.output_tokens - served->generated_before -
           (batch->steps_done - served->joined_at);
}

/* Members do not count their tokens step by step. */
void decode_settle(Served *served) {
    if (served->decoding)
        served->public.generated =
            served->generated_before + (guint32)(served->batch->steps_done - served->joined_at);
}

guint64 decode_past_tokens(const Served *served) {
    return served->public.request.prompt_tokens + served->generated_before +
           (served->batch->steps_done - served->joined_at) - 1;
}

/* What stays the same of a member's tokens in KV, the latest one generated having none yet. */
static guint32 member_base(const Served *served) {
    return served->public.request.prompt_tokens + served->generated_before - 1 -
           (guint32)served->joined_at;
}

/* After any change of members. */
static void members_changed(MicroBatch *batch) {
    guint64 least = G_MAXUINT64;
    g_array_set_size(batch->bases, batch->members->len);
    guint32 *bases = (guint32 *)(void *)batch->bases->data;
    for (guint i = 0; i < batch->members->len; i++) {
        const Served *served = batch->members->pdata[i];
        least = MIN(least, tokens_left(batch, served));
        bases[i] = member_base(served);
    }
    batch->steps_to_finish = least;
}

void decode_unpark(MicroBatch *batch) {
    if (!batch->parked)
        return;
    batch->parked = FALSE;
    g_queue_push_tail(&batch->replica->ready, batch);
    Stage *first = &batch->replica->stages[0];
    if (first->idle)
        wake_signal(first->wake);
}

void decode_join(Served *served) {
    MicroBatch *batch = served->batch;
    Replica *replica = batch->replica;
    g_ptr_array_add(batch->joining, served);
    if (policy_of(replica)->decode.batching == BATCHING_SYNCHRONOUS && batch->pulling > 0)
        return;
    decode_unpark(batch);
    if (replica->fast_forward.active)
        wake_signal(replica->stages[0].wake);
}

static void let_join(MicroBatch *batch, double time_s) {
    if (batch->joining->len == 0)
        return;
    for (guint i = 0; i < batch->joining->len; i++) {
        Served *served = batch->joining->pdata[i];
        served->decoding = TRUE;
        served->joined_at = batch->steps_done;
        served->generated_before = served->public.generated;
        g_ptr_array_add(batch->members, served);
        if (served->public.decode_start_s < 0) {
            served->public.decode_start_s = time_s;
            simulation_emit_request(batch->replica->simulation, EVENT_DECODE_STARTED, time_s,
                                    served);
        }
    }
    g_ptr_array_set_size(batch->joining, 0);
    members_changed(batch);
}

/* The batch is empty: all slots are free for new requests. */
static void batch_ended(MicroBatch *batch) {
    if (policy_of(batch->replica)->decode.batching == BATCHING_SYNCHRONOUS)
        batch->held = batch->pulling + batch->joining->len;
}

static void leave_batch(MicroBatch *batch, Served *served, double time_s) {
    if (policy_of(batch->replica)->decode.batching == BATCHING_CONTINUOUS)
        batch->held--;
    batch->replica->simulation->sample.running--;
    served->decoding = FALSE;
    decode_free(served, time_s);
}

static void finish_members(MicroBatch *batch, double time_s) {
    Replica *replica = batch->replica;
    guint kept = 0, n = batch->members->len;
    gpointer *members = batch->members->pdata;
    for (guint i = 0; i < n; i++) {
        Served *served = members[i];
        if (tokens_left(batch, served) > 0) {
            members[kept++] = served;
            continue;
        }
        decode_settle(served);
        leave_batch(batch, served, time_s);
        request_completed(replica->simulation, served, time_s);
        request_release(served);
    }
    g_ptr_array_set_size(batch->members, (gint)kept);
    members_changed(batch);
    if (kept == 0)
        batch_ended(batch);
}

/* Room has come free: for the buffer's requests or, where prompts are computed here, the queue's.
 */
static void offer_room(Replica *replica, double time_s) {
    if (replica->plan->role == ROLE_DECODE)
        buffer_dispatch(replica->pool, time_s);
    else
        entry_wake(replica);
}

#define PREEMPTIONS_BEFORE_FULL_RESERVATION 3

static void preempt(MicroBatch *batch, guint index, double time_s) {
    Served *served = g_ptr_array_steal_index(batch->members, index);
    Simulation *simulation = batch->replica->simulation;
    decode_settle(served);
    leave_batch(batch, served, time_s);
    served->public.preemptions++;
    served->full_reservation = served->public.preemptions >= PREEMPTIONS_BEFORE_FULL_RESERVATION;
    served->prefill_target = served->public.request.prompt_tokens + served->public.generated;
    served->scheduled = 0;
    simulation->ledger->preemptions++;
    simulation_emit_request(simulation, EVENT_PREEMPTED, time_s, served);
    entry_requeue_front(served->entry, served, time_s);
}

static guint youngest_growing(const MicroBatch *batch) {
    guint youngest = G_MAXUINT;
    guint64 latest = 0;
    for (guint i = 0; i < batch->members->len; i++) {
        const Served *served = batch->members->pdata[i];
        if (!served->full_reservation && served->admitted_no >= latest) {
            latest = served->admitted_no;
            youngest = i;
        }
    }
    return youngest;
}

/* Gives every growing member room for the token it is about to make, the youngest of the
 * micro-batch out first (those of other micro-batches are in the pipeline). A request
 * preempted three times is next admitted with all it can need and never preempted again, so the
 * system always moves on. */
static void grow_kv(MicroBatch *batch, double time_s) {
    Replica *replica = batch->replica;
    if (policy_of(replica)->kv_reservation != KV_RESERVE_ON_DEMAND)
        return;
    guint growing = 0;
    for (guint i = 0; i < batch->members->len; i++)
        growing += !((Served *)batch->members->pdata[i])->full_reservation;
    guint before = batch->members->len;
    while (growing > 0 && replica->kv_used + growing > replica->plan->kv_tokens) {
        preempt(batch, youngest_growing(batch), time_s);
        growing--;
    }
    if (batch->members->len < before) {
        members_changed(batch);
        offer_room(replica, time_s);
    }
    if (batch->members->len == 0)
        batch_ended(batch);
    for (guint i = 0; i < batch->members->len; i++) {
        Served *served = batch->members->pdata[i];
        served->kv_tokens += !served->full_reservation;
    }
    if (growing > 0)
        kv_change(replica, time_s, growing);
}

static void add_prompts(MicroBatch *batch, Step *step, double time_s) {
    Replica *replica = batch->replica;
    const DecodeSpec *spec = &policy_of(replica)->decode;
    gboolean synchronous = spec->batching == BATCHING_SYNCHRONOUS;
    if (batch->quota == 0) {
        BatchState state = {.running = batch->members->len + batch->joining->len,
                            .held = batch->held,
                            .slots = (guint)spec->slots,
                            .ready = admission_queue_length(replica->queue),
                            .upstream_quiet = TRUE};
        batch->quota = batching_admit(spec->batching, &state);
        Ledger *ledger = replica->simulation->ledger;
        ledger->slots_needed =
            MAX(ledger->slots_needed, batching_slots_needed(spec->batching, &state));
    }
    guint64 running = spec->chunk_tokens ? batch->members->len : 0;
    ChunkLimits limits = {.tokens =
                              spec->chunk_tokens ? spec->chunk_tokens : spec->max_batch_tokens,
                          .admit = batch->quota,
                          .chunked = spec->chunk_tokens > 0};
    limits.tokens = limits.tokens > running ? limits.tokens - running : 0;
    guint admitted = entry_add_chunks(replica, step, &limits, time_s);
    /* What could not be admitted now may be in a later batch; a synchronous one goes on filling
     * while prompts are added to it. */
    batch->quota = synchronous && admitted > 0 ? batch->quota - admitted : 0;
}

static gboolean form(MicroBatch *batch, double time_s) {
    Replica *replica = batch->replica;
    Step *step = &batch->step;
    step_clear(step);
    if (replica->plan->role == ROLE_COLOCATED)
        add_prompts(batch, step, time_s);
    gboolean mixed = policy_of(replica)->decode.chunk_tokens > 0;
    if (step->chunks->len > 0 && !mixed)
        return TRUE; /* a prompt step: decoding waits */
    let_join(batch, time_s);
    grow_kv(batch, time_s);
    step->decodes = batch->members->len;
    step->sampled += step->decodes;
    return step->chunks->len > 0 || step->decodes > 0;
}

Step *decode_form_step(Replica *replica, double time_s) {
    MicroBatch *batch;
    while ((batch = g_queue_pop_head(&replica->ready))) {
        if (!form(batch, time_s)) {
            batch->parked = TRUE;
            continue;
        }
        replica->steps_in_flight++;
        if (replica->plan->role == ROLE_COLOCATED)
            entry_wake(replica); /* another micro-batch may take the next in the queue */
        return &batch->step;
    }
    return NULL;
}

static void chunks_done(Replica *replica, const Step *step, double time_s) {
    Simulation *simulation = replica->simulation;
    for (guint i = 0; i < step->chunks->len; i++) {
        const Chunk *chunk = &g_array_index(step->chunks, Chunk, i);
        if (!entry_chunk_done(replica, chunk, time_s))
            continue;
        Served *served = chunk->served;
        MicroBatch *batch = served->batch;
        replica->pool->upstream--;
        simulation->sample.prefilling--;
        if (served->public.generated < served->public.request.output_tokens) {
            simulation->sample.running++;
            decode_join(served);
            continue;
        }
        if (policy_of(replica)->decode.batching == BATCHING_CONTINUOUS)
            batch->held--;
        decode_free(served, time_s);
        request_completed(simulation, served, time_s);
        request_release(served);
    }
    if (step->batch->members->len == 0)
        batch_ended(step->batch);
}

/* Adds 'steps' decode steps of the batch to the books. */
static void count_steps(MicroBatch *batch, guint64 steps) {
    Replica *replica = batch->replica;
    guint64 tokens = steps * batch->members->len;
    batch->steps_done += steps;
    batch->steps_to_finish -= steps;
    replica->totals->decode_tokens += tokens;
    replica->simulation->ledger->output_tokens_done += tokens;
    replica->simulation->sample.generated_tokens += tokens;
}

void decode_step_done(Replica *replica, Step *step, double time_s) {
    MicroBatch *batch = step->batch;
    replica->steps_in_flight--;
    guint64 kv_before = replica->kv_used;
    if (step->decodes > 0) {
        if (!step->counted)
            count_steps(batch, 1);
        if (batch->steps_to_finish == 0)
            finish_members(batch, time_s);
    }
    chunks_done(replica, step, time_s);
    if (replica->kv_used < kv_before || batch->members->len == 0)
        offer_room(replica, time_s);
}

void decode_sync(Replica *replica, double time_s) {
    FastForward *forward = &replica->fast_forward;
    if (!forward->active)
        return;
    MicroBatch *batch = &replica->batches[0];
    Stage *stage = &replica->stages[0];
    guint64 passed = 0;
    double all_reduce_s = stage_all_reduce_seconds(stage, batch->members->len);
    while (forward->done < forward->total) {
        double next_s = forward->at_s + stage_decode_seconds(stage, batch, passed + 1);
        if (next_s > time_s)
            break;
        stage->totals->busy_s += next_s - forward->at_s;
        stage->totals->all_reduce_s += all_reduce_s;
        forward->at_s = next_s;
        forward->done++;
        passed++;
    }
    stage_count_all_reduces(stage, batch->members->len, passed);
    count_steps(batch, passed);
}

double decode_fast_forward_end(Replica *replica, double start_s) {
    MicroBatch *batch = &replica->batches[0];
    Stage *stage = &replica->stages[0];
    double end_s = start_s;
    for (guint64 i = 1; i <= batch->steps_to_finish; i++)
        end_s += stage_decode_seconds(stage, batch, i);
    replica->fast_forward = (FastForward){
        .active = TRUE, .total = batch->steps_to_finish, .at_s = start_s, .from_s = start_s};
    return end_s;
}
