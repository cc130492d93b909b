/* A pipeline stage: takes the next step, lets its time pass, hands it on. One actor stands for the
 * whole TP group, whose ranks do the same at the same time. */
#include "actors/serving/numerics.h"

#include "platforms/network.h"
#include "platforms/topology.h"
#include <math.h>

/* Bytes of the vector of one all-reduce of the step. */
static double all_reduce_bytes(const Stage *stage, const Step *step) {
    return step_cost_all_reduce_bytes(stage->cost, step->prefill_tokens + step->decodes);
}

/* All all-reduces of a step, one after another, with nobody else on their links. */
double stage_all_reduce_seconds(const Stage *stage, guint32 tokens) {
    guint rounds = step_cost_all_reduces(stage->cost);
    if (rounds == 0)
        return 0;
    return rounds * (stage->ring_fixed_s +
                     step_cost_all_reduce_bytes(stage->cost, tokens) * stage->ring_per_byte_s);
}

double stage_decode_seconds(Stage *stage, const MicroBatch *batch, guint64 ahead) {
    guint members = batch->bases->len;
    const guint32 *bases = (const guint32 *)(const void *)batch->bases->data;
    guint32 further = (guint32)(batch->steps_done + ahead);
    if (step_cost_has_phases(stage->cost)) {
        const Served *only = batch->members->pdata[0];
        guint32 key = step_cost_decode_key(stage->cost, only->public.request.prompt_tokens,
                                           bases[0] + further);
        return step_cost_decode_seconds(stage->cost, &key, 1, 0);
    }
    double seconds = step_cost_decode_seconds(stage->cost, bases, members, further);
    return stage->ring_shared ? seconds : seconds + stage_all_reduce_seconds(stage, members);
}

BatchShape stage_batch_shape(Stage *stage, const Step *step) {
    g_array_set_size(stage->segments, 0);
    for (guint i = 0; i < step->chunks->len; i++) {
        const Chunk *chunk = &g_array_index(step->chunks, Chunk, i);
        Segment segment = {chunk->new_tokens, chunk->past_tokens};
        g_array_append_val(stage->segments, segment);
    }
    const MicroBatch *batch = step->batch;
    for (guint i = 0; i < step->decodes; i++) {
        const Served *served = batch->members->pdata[i];
        Segment segment = {1, (guint32)decode_past_tokens(served)};
        g_array_append_val(stage->segments, segment);
    }
    return (BatchShape){.segments = (const Segment *)stage->segments->data,
                        .n_segments = stage->segments->len,
                        .sampled = step->sampled};
}

/* Compute, plus the all-reduces where their time needs no flows. */
static double step_seconds(Stage *stage, const Step *step) {
    if (step->chunks->len == 0)
        return stage_decode_seconds(stage, step->batch, 1);
    BatchShape shape = stage_batch_shape(stage, step);
    double seconds = step_cost_batch(stage->cost, &shape).seconds;
    return stage->ring_shared
               ? seconds
               : seconds + stage_all_reduce_seconds(stage, step->prefill_tokens + step->decodes);
}

static void wait_until(Stage *stage, double date_s) {
    while (engine_now() < date_s && !stage->replica->simulation->stopping)
        wake_wait_until(stage->wake, date_s);
}

static void ring_flow_done(const Transfer *transfer, double time_s) {
    Stage *stage = transfer->data;
    (void)time_s;
    if (--stage->transfers_pending == 0)
        wake_signal(stage->wake);
}

/* Every rank sends 2(n−1)/n of each vector to the next one, in 2(n−1) rounds of latency: as one
 * flow a rank for all vectors of the step, which is at most as fast as all-reduces are. */
static void all_reduce_flows(Stage *stage, const Step *step) {
    const StagePlan *plan = stage->plan;
    guint tp = plan->tp;
    double vectors = step_cost_all_reduces(stage->cost) * all_reduce_bytes(stage, step);
    guint64 bytes = (guint64)(vectors * 2 * (tp - 1) / tp);
    const Platform *platform = stage->replica->simulation->setup.platform;
    double begin_s = engine_now() + step_cost_all_reduces(stage->cost) * stage->ring_fixed_s;
    stage->transfers_pending = tp;
    for (guint rank = 0; rank < tp; rank++) {
        Transfer transfer = {.purpose = PURPOSE_ALL_REDUCE,
                             .from = plan->clusters[rank],
                             .to = plan->clusters[(rank + 1) % tp],
                             .bytes = {bytes},
                             .not_before_s = {begin_s},
                             .n_parts = 1,
                             .done = ring_flow_done,
                             .data = stage};
        /* The courier pays the latency of its hop, which is a part of the ring's. */
        transfer.not_before_s[0] -= network_latency(platform, transfer.from, transfer.to);
        courier_send(stage->replica->simulation, &transfer);
    }
    while (stage->transfers_pending > 0)
        wake_wait_until(stage->wake, INFINITY);
    wait_until(stage, begin_s + network_all_reduce_send_seconds(platform, (double)bytes));
}

void stage_count_all_reduces(const Stage *stage, guint32 tokens, guint64 steps) {
    guint vectors = step_cost_all_reduces(stage->cost);
    if (vectors == 0)
        return;
    Ledger *ledger = stage->replica->simulation->ledger;
    guint tp = stage->plan->tp;
    double vector = step_cost_all_reduce_bytes(stage->cost, tokens);
    double bytes = (double)steps * vectors * vector * 2 * (tp - 1);
    ledger->bytes_sent[PURPOSE_ALL_REDUCE] += bytes;
    ledger->bytes_received[PURPOSE_ALL_REDUCE] += bytes;
    ledger->transfers[PURPOSE_ALL_REDUCE] += steps * vectors;
}

static void run_at_step_grain(Stage *stage, Step *step) {
    double start_s = stage->now_s, end_s = start_s + step_seconds(stage, step);
    if (stage->replica->plan->role == ROLE_PREFILL) {
        double layers_end_s = end_s - step_cost_head_seconds(stage->cost, step->sampled);
        for (guint i = 0; i < step->chunks->len; i++)
            buffer_migrate_stage(stage, &g_array_index(step->chunks, Chunk, i), start_s,
                                 layers_end_s);
    }
    wait_until(stage, end_s);
    if (engine_now() < end_s) { /* the run was stopped: no step that counts */
        stage->now_s = engine_now();
        step->repeats = 0;
        return;
    }
    stage->now_s = end_s;
    if (stage->ring_shared && step_cost_all_reduces(stage->cost) > 0) {
        all_reduce_flows(stage, step);
        stage->now_s = engine_now();
        stage->totals->all_reduce_s += stage->now_s - end_s;
        return;
    }
    stage_count_all_reduces(stage, step->prefill_tokens + step->decodes, 1);
    stage->totals->all_reduce_s +=
        stage_all_reduce_seconds(stage, step->prefill_tokens + step->decodes);
}

static gboolean may_fast_forward(const Stage *stage, const Step *step) {
    const Simulation *simulation = stage->replica->simulation;
    return simulation->setup.fast_forward && !simulation_wanted(simulation, EVENT_STEP) &&
           !simulation->numerics && stage->replica->plan->n_stages == 1 &&
           stage->replica->n_batches == 1 && step->chunks->len == 0 && !stage->ring_shared &&
           simulation->setup.policy->grain == GRAIN_STEP &&
           simulation->setup.policy->kv_reservation != KV_RESERVE_ON_DEMAND &&
           step->batch->steps_to_finish > 1;
}

/* Passes steps until the first member ends or somebody can join: then the step under way is still
 * done. Dates are the same sums as when stepping. */
static void fast_forward(Stage *stage, Step *step) {
    Replica *replica = stage->replica;
    FastForward *forward = &replica->fast_forward;
    double end_s = decode_fast_forward_end(replica, stage->now_s);
    if (wake_wait_until(stage->wake, end_s) && !replica->simulation->stopping) {
        double now_s = engine_now();
        simulation_advance(replica->simulation, now_s);
        decode_sync(replica, now_s);
        gboolean between = forward->done > 0 && forward->at_s == now_s;
        forward->total = forward->done + (between ? 0 : 1);
        end_s = forward->at_s;
        if (!between)
            end_s += stage_decode_seconds(stage, step->batch, 1);
        wait_until(stage, end_s);
    }
    if (replica->simulation->stopping)
        end_s = engine_now();
    simulation_advance(replica->simulation, end_s);
    decode_sync(replica, end_s);
    forward->active = FALSE;
    step->repeats = forward->done;
    step->counted = TRUE;
    stage->now_s = forward->at_s;
}

/* An event about the stage and the requests of a step, from 'start_s' to now. */
static void report(Stage *stage, const Step *step, double start_s, const Event *what) {
    Simulation *simulation = stage->replica->simulation;
    if (!simulation_wanted(simulation, EVENT_STEP))
        return;
    guint n_chunks = step->chunks->len;
    g_autofree const ServedRequest **members =
        g_new(const ServedRequest *, n_chunks + step->decodes + 1);
    for (guint i = 0; i < n_chunks; i++)
        members[i] = &g_array_index(step->chunks, Chunk, i).served->public;
    for (guint i = 0; i < step->decodes; i++)
        members[n_chunks + i] = &((Served *)step->batch->members->pdata[i])->public;
    Event event = {.kind = EVENT_STEP,
                   .time_s = stage->now_s,
                   .start_s = start_s,
                   .replica = stage->replica->plan,
                   .replica_id = stage->replica->id,
                   .stage = stage->index,
                   .micro_batch = step->batch ? step->batch->index : 0,
                   .prefill_requests = n_chunks,
                   .decode_requests = step->decodes,
                   .prefill_tokens = step->prefill_tokens,
                   .all_reduce_s = what->all_reduce_s,
                   .transition = what->transition,
                   .members = members};
    simulation_emit(simulation, &event);
}

static void account_step(Stage *stage, const Step *step, double start_s) {
    const Simulation *simulation = stage->replica->simulation;
    ReplicaTotals *totals = stage->replica->totals;
    if (simulation->stopping) /* what would have come after the stop is not of this run */
        stage->now_s = MIN(stage->now_s, MAX(start_s, simulation->now_s));
    if (!step->counted)
        stage->totals->busy_s += stage->now_s - start_s;
    stage->totals->steps += step->repeats;
    simulation->ledger->steps += step->repeats;
    if (totals->first_busy_s < 0)
        totals->first_busy_s = start_s;
    totals->last_busy_s = MAX(totals->last_busy_s, stage->now_s);
}

/* A wafer that turns from prompts to decoding, or back, first moves weights to where the next
 * phase wants them, and a prompt's KV with them (WaferLLM 4.4). FALSE: the run was stopped. */
static gboolean change_phase(Stage *stage, const Step *step) {
    Simulation *simulation = stage->replica->simulation;
    gboolean decoding = step->decodes > 0;
    if (!step_cost_has_phases(stage->cost) || decoding == stage->decoding)
        return TRUE;
    guint64 tokens = decoding ? decode_past_tokens(step->batch->members->pdata[0]) : 0;
    double start_s = stage->now_s;
    double end_s = start_s + step_cost_transition_seconds(stage->cost, (guint32)tokens);
    wait_until(stage, end_s);
    if (engine_now() < end_s) {
        stage->now_s = engine_now();
        return FALSE;
    }
    stage->now_s = end_s;
    stage->decoding = decoding;
    stage->totals->busy_s += end_s - start_s;
    stage->totals->transition_s += end_s - start_s;
    simulation_advance(simulation, end_s);
    report(stage, step, start_s, &(Event){.transition = TRUE});
    return TRUE;
}

static void pass_step(Stage *stage, Step *step) {
    if (stage->replica->simulation->setup.policy->grain == GRAIN_OPERATOR) {
        operator_grain_run(stage, step);
        stage->now_s = engine_now();
    } else if (may_fast_forward(stage, step)) {
        fast_forward(stage, step);
    } else {
        run_at_step_grain(stage, step);
    }
}

static void run(Stage *stage, Step *step) {
    double all_reduce_before = stage->totals->all_reduce_s, first_s = stage->now_s;
    numerics_run_step(stage->replica->simulation->numerics, stage, step);
    if (!change_phase(stage, step)) {
        step->repeats = 0;
        account_step(stage, step, first_s);
        return;
    }
    double start_s = stage->now_s;
    pass_step(stage, step);
    engine_yield(); /* what else is due now may join the next step */
    account_step(stage, step, start_s);
    report(stage, step, start_s,
           &(Event){.all_reduce_s = stage->totals->all_reduce_s - all_reduce_before});
}

static gint by_hop(gconstpointer a, gconstpointer b, gpointer unused) {
    (void)unused;
    const Step *first = a, *second = b;
    return first->hop_no < second->hop_no ? -1 : 1;
}

static void hop_done(const Transfer *transfer, double time_s) {
    (void)time_s;
    Step *step = transfer->data;
    Stage *next = step->next_stage;
    g_queue_insert_sorted(&next->inbox, step, by_hop, NULL);
    if (next->idle)
        wake_signal(next->wake);
}

/* Activations go from the first rank to the first rank of the next stage. */
static void send_on(Stage *stage, Step *step) {
    Simulation *simulation = stage->replica->simulation;
    const Model *model = simulation->setup.model;
    Stage *next = stage + 1;
    guint64 tokens = (guint64)step->prefill_tokens + step->decodes;
    step->hop_no = stage->hops_sent++;
    step->next_stage = next;
    Transfer transfer = {.purpose = PURPOSE_PIPELINE,
                         .from = stage->plan->clusters[0],
                         .to = next->plan->clusters[0],
                         .bytes = {tokens * model->hidden * data_type_bytes(model->data_type)},
                         .n_parts = 1,
                         .done = hop_done,
                         .data = step};
    courier_send(simulation, &transfer);
}

static void batch_back_at_first_stage(const Transfer *transfer, double time_s) {
    (void)time_s;
    MicroBatch *batch = transfer->data;
    batch->parked = TRUE;
    decode_unpark(batch);
}

/* The sampled token ids go back to the first stage, 4 bytes each, and the micro-batch with them. */
static void return_batch(Stage *last, MicroBatch *batch, guint sampled) {
    if (last->index == 0) {
        g_queue_push_tail(&last->replica->ready, batch);
        return;
    }
    Transfer transfer = {.purpose = PURPOSE_PIPELINE,
                         .from = last->plan->clusters[0],
                         .to = last->replica->stages[0].plan->clusters[0],
                         .bytes = {4 * (guint64)sampled},
                         .n_parts = 1,
                         .done = batch_back_at_first_stage,
                         .data = batch};
    courier_send(last->replica->simulation, &transfer);
}

static void hand_over(Stage *stage, Step *step) {
    Replica *replica = stage->replica;
    simulation_advance(replica->simulation, stage->now_s);
    if (stage->index + 1 < replica->plan->n_stages) {
        send_on(stage, step);
        return;
    }
    MicroBatch *batch = step->batch;
    guint sampled = step->sampled;
    if (!batch) {
        prefill_step_done(replica, step, stage->now_s);
        return;
    }
    decode_step_done(replica, step, stage->now_s);
    return_batch(stage, batch, sampled);
}

static Step *take(Stage *stage) {
    Replica *replica = stage->replica;
    if (stage->index == 0)
        return replica->plan->role == ROLE_PREFILL ? prefill_form_step(replica, stage->now_s)
                                                   : decode_form_step(replica, stage->now_s);
    Step *step = g_queue_peek_head(&stage->inbox);
    if (!step || step->hop_no != stage->hops_expected)
        return NULL;
    stage->hops_expected++;
    return g_queue_pop_head(&stage->inbox);
}

void stage_main(int argc, char **argv) {
    (void)argc, (void)argv;
    Stage *stage = engine_actor_data();
    Simulation *simulation = stage->replica->simulation;
    while (!simulation->stopping) {
        Step *step = take(stage);
        if (!step) {
            stage->idle = TRUE;
            wake_wait_until(stage->wake, INFINITY);
            stage->idle = FALSE;
            stage->now_s = engine_now();
            continue;
        }
        run(stage, step);
        if (!simulation->stopping)
            hand_over(stage, step);
    }
}
