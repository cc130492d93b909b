/* Entry replicas, where prompts are computed: their queue, admission, chunks, the prefix cache.
 * Prefill replicas do nothing else; colocated ones share this with decode.c. */
#include "actors/serving/numerics.h"

static void count_waiting(Replica *replica, double time_s, gint change) {
    Simulation *simulation = replica->simulation;
    replica->pool->waiting += (guint64)change;
    simulation->sample.waiting += (guint64)change;
    time_integral_add(&simulation->ledger->waiting, time_s, change);
}

void entry_enqueue(Replica *replica, Served *served, double time_s) {
    served->queued_s = time_s;
    count_waiting(replica, time_s, +1);
    admission_queue_push(replica->queue, served, served->public.request.prompt_tokens);
    entry_wake(replica);
}

void entry_requeue_front(Replica *replica, Served *served, double time_s) {
    served->queued_s = time_s;
    count_waiting(replica, time_s, +1);
    admission_queue_push_front(replica->queue, served);
    entry_wake(replica);
}

/* KV that a prefill replica holds for a prompt: of one layer a stage when layers leave as they are
 * computed (THInfer eq. 13), of all of them when later chunks or requests need them. */
static double prefill_kv_bytes(const Replica *replica, const Served *served) {
    const Policy *policy = replica->simulation->setup.policy;
    gboolean whole =
        policy->prefill.chunk_tokens > 0 || policy->prefill.prefix_cache != PREFIX_CACHE_OFF;
    double share =
        whole ? 1.0
              : (double)replica->plan->n_stages / (double)replica->simulation->setup.model->layers;
    return served->prefill_target * (double)replica->simulation->kv_bytes_per_token * share;
}

/* One prompt always fits, by the plan's bill; more of them as long as there is room. */
static gboolean prefill_kv_fits(const Replica *replica, const Served *served) {
    double held = replica->totals->kv_bytes.value;
    return held <= 0 || held + prefill_kv_bytes(replica, served) <= replica->prefill_kv_room;
}

static void hold_prefill_kv(Replica *replica, Served *served, double time_s) {
    served->prefill_kv_bytes = prefill_kv_bytes(replica, served);
    replica->simulation->ledger->kv_allocated += served->prefill_kv_bytes;
    time_integral_add(&replica->totals->kv_bytes, time_s, served->prefill_kv_bytes);
}

static MicroBatch *open_batch(const Replica *replica) {
    guint slots = (guint)replica->simulation->setup.policy->decode.slots;
    Ledger *ledger = replica->simulation->ledger;
    for (guint i = 0; i < replica->n_batches; i++) {
        ledger->slots_needed = MAX(ledger->slots_needed, replica->batches[i].held + 1);
        if (replica->batches[i].held < slots)
            return &replica->batches[i];
    }
    return NULL;
}

gboolean entry_blocked(const Replica *replica) {
    const Served *head = admission_queue_peek(replica->queue);
    if (!head)
        return TRUE;
    if (replica->plan->role == ROLE_PREFILL)
        return replica->pool->backpressure.paused || replica->pool->reservation_blocked ||
               !prefill_kv_fits(replica, head);
    return !open_batch(replica) || !decode_can_reserve(replica, head);
}

gboolean entry_quiet(const Pool *pool) {
    return pool->upstream == 0 &&
           (pool->waiting == 0 || pool->backpressure.paused || pool->reservation_blocked);
}

void entry_wake(Replica *replica) {
    if (replica->simulation->stopping || entry_blocked(replica))
        return;
    Stage *first = &replica->stages[0];
    if (replica->plan->role == ROLE_PREFILL) {
        if (first->idle)
            wake_signal(first->wake);
        return;
    }
    if (replica->fast_forward.active) {
        if (replica->simulation->setup.policy->decode.batching == BATCHING_CONTINUOUS)
            wake_signal(first->wake);
        return;
    }
    for (guint i = 0; i < replica->n_batches; i++)
        if (replica->batches[i].parked) {
            decode_unpark(&replica->batches[i]);
            return;
        }
}

/* Tokens of the prompt whose KV the replica still has from earlier requests. At least one token is
 * always computed: its logits are the first output. */
static void look_up_prefix(Replica *replica, Served *served) {
    const Request *request = &served->public.request;
    if (!replica->prefix_cache || request->n_blocks == 0)
        return;
    Ledger *ledger = replica->simulation->ledger;
    guint32 hits =
        prefix_cache_match(replica->prefix_cache, request->prefix_blocks, request->n_blocks);
    guint32 cached = MIN(hits * PREFIX_BLOCK_TOKENS, request->prompt_tokens - 1);
    ledger->prefix_blocks += request->n_blocks;
    ledger->prefix_hits += hits;
    ledger->cached_prompt_tokens += cached;
    served->scheduled = cached;
    if (served->public.preemptions == 0)
        served->public.cached_tokens = cached;
}

void entry_free_kv(Served *served, double time_s) {
    Replica *replica = served->entry;
    replica->simulation->ledger->kv_freed += served->prefill_kv_bytes;
    time_integral_add(&replica->totals->kv_bytes, time_s, -served->prefill_kv_bytes);
    served->prefill_kv_bytes = 0;
}

/* Takes the queue's head if it can be admitted now. */
static Served *admit_head(Replica *replica, Step *step, double time_s) {
    Simulation *simulation = replica->simulation;
    Pool *pool = replica->pool;
    Served *served = admission_queue_peek(replica->queue);
    if (!served || entry_blocked(replica))
        return NULL;
    if (replica->plan->role == ROLE_PREFILL && !buffer_reserve(pool, served, time_s)) {
        buffer_dispatch(pool, time_s); /* nothing more is on its way: a short batch may start */
        return NULL;
    }
    admission_queue_pop(replica->queue);
    count_waiting(replica, time_s, -1);
    simulation->ledger->waited_s += time_s - served->queued_s;
    pool->upstream++;
    simulation->sample.prefilling++;
    if (replica->plan->role == ROLE_PREFILL) {
        hold_prefill_kv(replica, served, time_s);
    } else {
        g_assert(step->batch);
        served->batch = step->batch;
        step->batch->held++;
        served->public.decode_replica = replica->plan->index;
        decode_reserve(replica, served, time_s);
    }
    served->scheduled = 0;
    served->prefilled = served->begun = FALSE;
    look_up_prefix(replica, served);
    numerics_begin(simulation->numerics, served);
    if (served->public.prefill_start_s < 0)
        served->public.prefill_start_s = time_s;
    simulation_emit_request(simulation, EVENT_PREFILL_STARTED, time_s, served);
    return served;
}

/* Puts the next tokens of a prompt into the step; TRUE when some are left for a later one. */
static gboolean add_chunk(Step *step, Served *served, guint64 budget) {
    guint32 left = served->prefill_target - served->scheduled;
    Chunk chunk = {.served = served,
                   .new_tokens = (guint32)MIN(left, budget),
                   .past_tokens = served->scheduled,
                   .first = !served->begun};
    served->begun = TRUE;
    served->scheduled += chunk.new_tokens;
    chunk.last = served->scheduled == served->prefill_target;
    g_array_append_val(step->chunks, chunk);
    step->prefill_tokens += chunk.new_tokens;
    step->sampled += chunk.last;
    return !chunk.last;
}

guint entry_add_chunks(Replica *replica, Step *step, const ChunkLimits *limits, double time_s) {
    guint64 used = 0;
    guint admitted = 0;
    Served *served;
    while (used < limits->tokens && (served = g_queue_pop_head(&replica->partial))) {
        if (add_chunk(step, served, limits->tokens - used))
            g_queue_push_head(&replica->partial, served);
        used = step->prefill_tokens;
    }
    while (used < limits->tokens && admitted < limits->admit) {
        const Served *head = admission_queue_peek(replica->queue);
        if (!head || (!limits->chunked && used > 0 && used + head->prefill_target > limits->tokens))
            break;
        if (!(served = admit_head(replica, step, time_s)))
            break;
        admitted++;
        if (add_chunk(step, served, limits->chunked ? limits->tokens - used : G_MAXUINT64))
            g_queue_push_tail(&replica->partial, served);
        used = step->prefill_tokens;
    }
    return admitted;
}

gboolean entry_chunk_done(Replica *replica, const Chunk *chunk, double time_s) {
    Simulation *simulation = replica->simulation;
    Served *served = chunk->served;
    replica->totals->prefill_tokens += chunk->new_tokens;
    served->public.prefilled = chunk->past_tokens + chunk->new_tokens;
    if (!chunk->last)
        return FALSE;
    const Request *request = &served->public.request;
    if (replica->prefix_cache && request->n_blocks > 0)
        prefix_cache_insert(replica->prefix_cache, request->prefix_blocks, request->n_blocks);
    served->public.generated++;
    simulation->ledger->output_tokens_done++;
    simulation->sample.generated_tokens++;
    if (served->public.first_token_s < 0) {
        served->public.first_token_s = time_s;
        simulation_emit_request(simulation, EVENT_FIRST_TOKEN, time_s, served);
    }
    return TRUE;
}

void step_clear(Step *step) {
    g_array_set_size(step->chunks, 0);
    step->decodes = 0;
    step->prefill_tokens = 0;
    step->sampled = 0;
    step->repeats = 1;
    step->counted = FALSE;
}

/* Prompts in flight at most: one a stage, and one on its way between two. */
static gboolean stages_full(const Replica *replica) {
    return replica->steps_in_flight > replica->plan->n_stages;
}

Step *prefill_form_step(Replica *replica, double time_s) {
    const PrefillSpec *spec = &replica->simulation->setup.policy->prefill;
    if (stages_full(replica))
        return NULL;
    if (g_queue_is_empty(&replica->partial) && entry_blocked(replica))
        return NULL;
    GPtrArray *idle = replica->idle_steps;
    Step *step;
    if (idle->len > 0) {
        step = g_ptr_array_steal_index_fast(idle, idle->len - 1);
    } else {
        step = g_new0(Step, 1);
        step->chunks = g_array_new(FALSE, FALSE, sizeof(Chunk));
    }
    step_clear(step);
    ChunkLimits limits = {.tokens = spec->chunk_tokens ? spec->chunk_tokens : G_MAXUINT64,
                          .admit = spec->micro_batch,
                          .chunked = spec->chunk_tokens > 0};
    entry_add_chunks(replica, step, &limits, time_s);
    if (step->chunks->len == 0) {
        g_ptr_array_add(idle, step);
        return NULL;
    }
    replica->steps_in_flight++;
    return step;
}

void prefill_step_done(Replica *replica, Step *step, double time_s) {
    replica->steps_in_flight--;
    for (guint i = 0; i < step->chunks->len; i++) {
        const Chunk *chunk = &g_array_index(step->chunks, Chunk, i);
        if (entry_chunk_done(replica, chunk, time_s)) {
            Served *served = chunk->served;
            if (served->public.generated == served->public.request.output_tokens)
                request_completed(replica->simulation, served, time_s);
            buffer_prefill_ended(served, time_s);
        }
    }
    g_ptr_array_add(replica->idle_steps, step);
    Stage *first = &replica->stages[0];
    if (first->idle)
        wake_signal(first->wake);
}
