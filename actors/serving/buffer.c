/* The bounded buffer between prefill and decode (THInfer III.D.2): room is reserved before a prompt
 * is begun, its KV arrives layer by layer, rests, and is pulled when a micro-batch has room. */
#include "actors/serving/numerics.h"

#include "platforms/platform.h"
#include "policies/batching.h"

static void buffer_account(Pool *pool, double time_s, double change) {
    Simulation *simulation = pool->simulation;
    TimeIntegral *bytes = &simulation->ledger->buffer_bytes[pool->index];
    time_integral_add(bytes, time_s, change);
    simulation->sample.buffer_bytes += change;
    if (!backpressure_update(&pool->backpressure, bytes->value))
        return;
    gboolean paused = pool->backpressure.paused;
    simulation->sample.paused_pools += paused ? 1 : -1u;
    if (paused)
        pool->paused_since_s = time_s;
    else
        simulation->ledger->paused_s[pool->index] += time_s - pool->paused_since_s;
    Event event = {
        .kind = EVENT_BACKPRESSURE, .time_s = time_s, .pool = pool->index, .paused = paused};
    simulation_emit(simulation, &event);
}

/* Bytes of the request's KV in one layer. */
static guint64 layer_bytes(const Simulation *simulation, guint64 tokens) {
    return tokens * model_kv_bytes_per_token_layer(simulation->setup.model);
}

static guint layers_that_fit(double room_bytes, guint64 bytes_a_layer, guint layers) {
    return (guint)MIN(room_bytes / (double)bytes_a_layer, layers);
}

gboolean buffer_can_hold(const Simulation *simulation, guint64 tokens) {
    guint layers = (guint)simulation->setup.model->layers;
    for (guint i = 0; i < simulation->n_pools; i++) {
        const Pool *pool = &simulation->pools[i];
        guint fit = 0;
        for (guint b = 0; b < pool->n_buffers; b++)
            fit += layers_that_fit(pool->buffers[b]->bytes, layer_bytes(simulation, tokens),
                                   layers - fit);
        if (pool->n_buffers > 0 && fit < layers)
            return FALSE;
    }
    return TRUE;
}

static double room_in(const Pool *pool, guint buffer) {
    return pool->buffers[buffer]->bytes - (double)pool->buffer_used[buffer];
}

static guint emptiest(const Pool *pool) {
    guint best = 0;
    for (guint i = 1; i < pool->n_buffers; i++)
        if (room_in(pool, i) > room_in(pool, best))
            best = i;
    return best;
}

static void give_back_parts(Pool *pool, Served *served, guint64 bytes_a_layer) {
    for (guint i = 0; i < served->n_parts; i++)
        pool->buffer_used[served->parts[i].buffer] -= served->parts[i].layers * bytes_a_layer;
    g_clear_pointer(&served->parts, g_free);
    served->n_parts = 0;
}

/* Fills the emptiest cluster, then the next emptiest, until all layers have a place. */
static gboolean take_parts(Pool *pool, Served *served, guint64 bytes_a_layer) {
    guint layers = (guint)pool->simulation->setup.model->layers, placed = 0;
    while (placed < layers) {
        guint buffer = emptiest(pool);
        guint fit = layers_that_fit(room_in(pool, buffer), bytes_a_layer, layers - placed);
        if (fit == 0) {
            give_back_parts(pool, served, bytes_a_layer);
            return FALSE;
        }
        served->parts = g_renew(BufferPart, served->parts, served->n_parts + 1);
        served->parts[served->n_parts++] = (BufferPart){buffer, placed, fit};
        pool->buffer_used[buffer] += fit * bytes_a_layer;
        placed += fit;
    }
    return TRUE;
}

gboolean buffer_reserve(Pool *pool, Served *served, double time_s) {
    Simulation *simulation = pool->simulation;
    guint64 bytes_a_layer = layer_bytes(simulation, served->prefill_target);
    if (!take_parts(pool, served, bytes_a_layer)) {
        pool->reservation_blocked = TRUE;
        return FALSE;
    }
    served->buffer_bytes = bytes_a_layer * simulation->setup.model->layers;
    simulation->ledger->buffer_allocated += (double)served->buffer_bytes;
    buffer_account(pool, time_s, (double)served->buffer_bytes);
    return TRUE;
}

void buffer_free(Served *served, double time_s) {
    Pool *pool = served->entry->pool;
    double bytes = (double)served->buffer_bytes;
    give_back_parts(pool, served, served->buffer_bytes / pool->simulation->setup.model->layers);
    served->buffer_bytes = 0;
    numerics_left_buffer(served);
    pool->simulation->ledger->buffer_freed += bytes;
    buffer_account(pool, time_s, -bytes);
    pool->reservation_blocked = FALSE;
    for (guint i = 0; i < pool->entries->len; i++)
        entry_wake(pool->entries->pdata[i]);
}

static void rest_in_buffer(Served *served, double time_s) {
    Replica *replica = served->entry;
    Pool *pool = replica->pool;
    Simulation *simulation = replica->simulation;
    entry_free_kv(served, time_s);
    numerics_left_prefill(served);
    entry_wake(replica);
    pool->upstream--;
    simulation->sample.prefilling--;
    if (served->ended) { /* its only token came with the prompt */
        buffer_free(served, time_s);
        request_release(served);
    } else {
        served->public.buffered_s = time_s;
        simulation->sample.buffered++;
        simulation_emit_request(simulation, EVENT_BUFFERED, time_s, served);
        g_queue_push_tail(&pool->ready, served);
    }
    buffer_dispatch(pool, time_s);
}

static void migration_done(const Transfer *transfer, double time_s) {
    Served *served = transfer->data;
    numerics_migrated(served->entry->simulation->numerics, served, transfer->first_layer,
                      transfer->end_layer);
    served->migrations--;
    if (served->prefilled && served->migrations == 0)
        rest_in_buffer(served, time_s);
}

void buffer_prefill_ended(Served *served, double time_s) {
    served->prefilled = TRUE;
    if (served->migrations == 0)
        rest_in_buffer(served, time_s);
}

static void migrate(const Stage *stage, const Chunk *chunk, Transfer *transfer, guint buffer) {
    Served *served = chunk->served;
    transfer->purpose = PURPOSE_KV_MIGRATION;
    transfer->stage = stage->plan;
    transfer->from = stage->plan->clusters[0];
    transfer->to = stage->replica->pool->buffers[buffer]->cluster;
    transfer->done = migration_done;
    transfer->data = served;
    served->migrations++;
    courier_send(stage->replica->simulation, transfer);
}

/* KV bytes of a chunk in one layer; the first one brings the cached tokens before it along. */
static guint64 chunk_layer_bytes(const Stage *stage, const Chunk *chunk) {
    guint64 tokens = (guint64)chunk->new_tokens + (chunk->first ? chunk->past_tokens : 0);
    return layer_bytes(stage->replica->simulation, tokens);
}

/* The layers that a stage and a part of the buffer have in common. */
typedef struct LayerRange {
    guint first, end;
} LayerRange;

static LayerRange common_layers(const StagePlan *stage, const BufferPart *part) {
    return (LayerRange){MAX(stage->first_layer, part->first_layer),
                        MIN(stage->first_layer + stage->layers, part->first_layer + part->layers)};
}

/* Layer i of n has its KV at start + i·(end−start)/n, and layers are sent one after another, so the
 * last one leaves at max over i of (its date + what then remains to send): the first layer's date
 * or the last's decides. Two parts give exactly that: all but the last layer from the first date
 * on, the last one not before its own. */
void buffer_migrate_stage(Stage *stage, const Chunk *chunk, double start_s, double end_s) {
    const Served *served = chunk->served;
    guint64 bytes = chunk_layer_bytes(stage, chunk);
    double layer_s = (end_s - start_s) / stage->plan->layers;
    for (guint i = 0; i < served->n_parts; i++) {
        LayerRange range = common_layers(stage->plan, &served->parts[i]);
        if (range.first >= range.end)
            continue;
        guint layers = range.end - range.first;
        Transfer transfer = {.first_layer = range.first, .end_layer = range.end};
        if (layers > 1) {
            transfer.not_before_s[0] =
                start_s + layer_s * (range.first + 1 - stage->plan->first_layer);
            transfer.bytes[0] = bytes * (layers - 1);
            transfer.n_parts = 1;
        }
        transfer.not_before_s[transfer.n_parts] =
            end_s - layer_s * (stage->plan->first_layer + stage->plan->layers - range.end);
        transfer.bytes[transfer.n_parts++] = bytes;
        migrate(stage, chunk, &transfer, served->parts[i].buffer);
    }
}

void buffer_migrate_layer(Stage *stage, const Chunk *chunk, guint layer) {
    const Served *served = chunk->served;
    guint part = 0, first = stage->plan->first_layer + layer;
    while (first >= served->parts[part].first_layer + served->parts[part].layers)
        part++;
    Transfer transfer = {.bytes = {chunk_layer_bytes(stage, chunk)},
                         .n_parts = 1,
                         .first_layer = first,
                         .end_layer = first + 1};
    migrate(stage, chunk, &transfer, served->parts[part].buffer);
}

static void pull_done(const Transfer *transfer, double time_s) {
    Served *served = transfer->data;
    numerics_pulled(served->entry->simulation->numerics, served, transfer->stage,
                    transfer->first_layer, transfer->end_layer);
    if (--served->pulls > 0)
        return;
    Simulation *simulation = served->entry->simulation;
    simulation->sample.pulling--;
    simulation->sample.running++;
    simulation_emit_request(simulation, EVENT_PULLED, time_s, served);
    served->batch->pulling--;
    decode_join(served);
    buffer_free(served, time_s);
    buffer_dispatch(served->entry->pool, time_s);
}

/* One flow to each processor of the stage's TP group, which shares that processor's NIC. */
static void pull_layers(Served *served, const StagePlan *stage, guint from, LayerRange range) {
    Simulation *simulation = served->entry->simulation;
    const Platform *platform = simulation->setup.platform;
    guint64 bytes = (range.end - range.first) * layer_bytes(simulation, served->prefill_target);
    for (guint first = 0, next; first < stage->tp; first = next) {
        guint processor = platform_processor_of(platform, stage->clusters[first]);
        for (next = first + 1; next < stage->tp; next++)
            if (platform_processor_of(platform, stage->clusters[next]) != processor)
                break;
        Transfer transfer = {.purpose = PURPOSE_KV_PULL,
                             .from = from,
                             .to = stage->clusters[first],
                             .bytes = {bytes * next / stage->tp - bytes * first / stage->tp},
                             .n_parts = 1,
                             .done = pull_done,
                             .data = served,
                             .stage = stage,
                             .first_layer = range.first,
                             .end_layer = range.end};
        served->pulls++;
        courier_send(simulation, &transfer);
    }
}

static void pull_stage(Served *served, const StagePlan *stage) {
    for (guint i = 0; i < served->n_parts; i++) {
        LayerRange range = common_layers(stage, &served->parts[i]);
        if (range.first < range.end)
            pull_layers(served, stage,
                        served->entry->pool->buffers[served->parts[i].buffer]->cluster, range);
    }
}

static void pull_start(Served *served, MicroBatch *batch, double time_s) {
    Replica *replica = batch->replica;
    Simulation *simulation = replica->simulation;
    simulation->sample.buffered--;
    simulation->sample.pulling++;
    served->batch = batch;
    served->public.decode_replica = replica->plan->index;
    served->public.pull_start_s = time_s;
    batch->held++;
    batch->pulling++;
    if (batch->quota > 0)
        batch->quota--;
    decode_reserve(replica, served, time_s);
    simulation_emit_request(simulation, EVENT_PULL_STARTED, time_s, served);
    for (guint i = 0; i < replica->plan->n_stages; i++)
        pull_stage(served, &replica->plan->stages[i]);
}

static gboolean batch_is_open(MicroBatch *batch, const Pool *pool) {
    const DecodeSpec *spec = &pool->simulation->setup.policy->decode;
    if (batch->quota > 0)
        return TRUE;
    BatchState state = {.running = batch->members->len + batch->joining->len + batch->pulling,
                        .held = batch->held,
                        .slots = (guint)spec->slots,
                        .ready = g_queue_get_length((GQueue *)&pool->ready),
                        .upstream_quiet = entry_quiet(pool)};
    guint admitted = batching_admit(spec->batching, &state);
    guint64 needed = batching_slots_needed(spec->batching, &state);
    if (spec->batching == BATCHING_SYNCHRONOUS)
        batch->quota = admitted;
    else
        needed = MIN(needed, state.held + 1); /* whether it is open is all that counts */
    pool->simulation->ledger->slots_needed = MAX(pool->simulation->ledger->slots_needed, needed);
    return admitted > 0;
}

/* The open micro-batch with the fewest slots taken, on a replica with room for the KV. */
static MicroBatch *choose_batch(Pool *pool, const Served *served) {
    MicroBatch *best = NULL;
    for (guint i = 0; i < pool->decoders->len; i++) {
        Replica *replica = pool->decoders->pdata[i];
        if (!decode_can_reserve(replica, served))
            continue;
        for (guint j = 0; j < replica->n_batches; j++) {
            MicroBatch *batch = &replica->batches[j];
            if (!batch_is_open(batch, pool))
                continue;
            if (batch->quota > 0)
                return batch; /* fill one synchronous batch before the next */
            if (!best || batch->held < best->held)
                best = batch;
        }
    }
    return best;
}

/* A synchronous batch that was to take more than its replica can hold starts with what it has. */
static void close_quotas(Pool *pool) {
    for (guint i = 0; i < pool->decoders->len; i++) {
        Replica *replica = pool->decoders->pdata[i];
        for (guint j = 0; j < replica->n_batches; j++)
            replica->batches[j].quota = 0;
    }
}

void buffer_dispatch(Pool *pool, double time_s) {
    if (pool->simulation->stopping)
        return;
    Served *served;
    while ((served = g_queue_peek_head(&pool->ready))) {
        MicroBatch *batch = choose_batch(pool, served);
        if (!batch)
            break;
        g_queue_pop_head(&pool->ready);
        pull_start(served, batch, time_s);
    }
    close_quotas(pool);
}
