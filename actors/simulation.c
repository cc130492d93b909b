/* Building a run from a plan, telling observers, and ending it. */
#include "actors/serving/numerics.h"

#include "platforms/network.h"
#include "platforms/topology.h"
#include <math.h>
#include <simgrid/version.h>

/* A longer time in which nothing happens is shown by its first and last sample. */
#define MOST_SAMPLES_BETWEEN_EVENTS 1e6

/* Of the samples at multiples of the interval; INFINITY: there are none. */
static double regular_sample_s(const Simulation *simulation) {
    return simulation->sampled_regularly
               ? (double)simulation->samples_taken * simulation->setup.sample_interval_s
               : INFINITY;
}

static double next_sample_s(const Simulation *simulation) {
    double date_s = regular_sample_s(simulation);
    for (guint i = 0; i < simulation->setup.n_observers; i++) {
        const Observer *observer = simulation->setup.observers[i];
        if (observer->own_dates)
            date_s = MIN(date_s, observer->next_sample_s);
    }
    return date_s;
}

/* Of clusters, in steps. */
static double busy_seconds(const Simulation *simulation) {
    double busy_s = 0;
    for (guint i = 0; i < simulation->n_replicas; i++) {
        const Replica *replica = &simulation->replicas[i];
        for (guint s = 0; s < replica->plan->n_stages; s++)
            busy_s += replica->plan->stages[s].tp * replica->totals->stages[s].busy_s;
    }
    return busy_s;
}

/* The state between two events is the state at any date between them, once fast-forward has been
 * brought up to it. */
static void take_sample(Simulation *simulation, double date_s) {
    gboolean regular = regular_sample_s(simulation) <= date_s;
    for (guint i = 0; i < simulation->n_replicas; i++)
        decode_sync(&simulation->replicas[i], date_s);
    simulation->sample.time_s = date_s;
    simulation->sample.busy_s = busy_seconds(simulation);
    for (guint i = 0; i < simulation->setup.n_observers; i++) {
        Observer *observer = simulation->setup.observers[i];
        if (observer->sample && (observer->own_dates ? observer->next_sample_s <= date_s : regular))
            observer->sample(observer, &simulation->sample);
    }
    simulation->samples_taken += regular ? 1 : 0;
}

static void take_samples(Simulation *simulation, double until_s) {
    double interval_s = simulation->setup.sample_interval_s;
    double date_s;
    while ((date_s = next_sample_s(simulation)) < until_s && !simulation->stopping) {
        if (simulation->setup.interrupted && *simulation->setup.interrupted)
            simulation_stop(simulation, OUTCOME_INTERRUPTED);
        take_sample(simulation, date_s);
        if (simulation->sampled_regularly &&
            (until_s - regular_sample_s(simulation)) / interval_s > MOST_SAMPLES_BETWEEN_EVENTS)
            simulation->samples_taken = (guint64)ceil(until_s / interval_s) - 1;
    }
}

static gboolean wants(const Observer *observer, EventKind kind) {
    return (kind != EVENT_STEP || observer->wants_steps) &&
           (kind != EVENT_TRANSFER || observer->wants_transfers);
}

gboolean simulation_wanted(const Simulation *simulation, EventKind kind) {
    for (guint i = 0; i < simulation->setup.n_observers; i++)
        if (wants(simulation->setup.observers[i], kind))
            return TRUE;
    return FALSE;
}

void simulation_advance(Simulation *simulation, double time_s) {
    if (time_s <= simulation->now_s)
        return;
    take_samples(simulation, time_s);
    simulation->now_s = time_s;
}

void simulation_emit(Simulation *simulation, const Event *event) {
    const SimulationSetup *setup = &simulation->setup;
    for (guint i = 0; i < setup->n_observers; i++)
        if (wants(setup->observers[i], event->kind))
            setup->observers[i]->notify(setup->observers[i], event);
    if (setup->interrupted && *setup->interrupted && !simulation->stopping)
        simulation_stop(simulation, OUTCOME_INTERRUPTED);
}

void simulation_emit_request(Simulation *simulation, EventKind kind, double time_s,
                             const Served *served) {
    Event event = {.kind = kind, .time_s = time_s, .request = &served->public};
    simulation->ledger->end_s = MAX(simulation->ledger->end_s, time_s);
    simulation_emit(simulation, &event);
}

void simulation_stop(Simulation *simulation, SimulationOutcome outcome) {
    if (simulation->stopping)
        return;
    simulation->stopping = TRUE;
    simulation->outcome = outcome;
    wake_signal(simulation->frontend_wake);
    for (guint i = 0; i < simulation->n_replicas; i++)
        for (guint s = 0; s < simulation->replicas[i].plan->n_stages; s++)
            wake_signal(simulation->replicas[i].stages[s].wake);
    couriers_stop(simulation);
}

static void on_deadlock(gpointer data) {
    Simulation *simulation = data;
    simulation->stopping = TRUE;
    simulation->outcome = OUTCOME_DEADLOCK;
    g_autofree char *report = deadlock_report(simulation);
    g_clear_error(&simulation->error);
    simulation->error = g_error_new_literal(g_quark_from_static_string("infergrid-simulation"),
                                            OUTCOME_DEADLOCK, report);
}

static gboolean same_shape(const StageShape *a, const StageShape *b) {
    return a->layers == b->layers && a->tp == b->tp && a->first == b->first && a->last == b->last &&
           a->stream_s == b->stream_s && a->stream_overlaps == b->stream_overlaps;
}

/* Stages that hold the same part of the model share what is known of its costs. */
static StepCost *cost_of(Simulation *simulation, StageShape shape) {
    for (guint i = 0; i < simulation->costs->len; i++) {
        StepCost *known = simulation->costs->pdata[i];
        StageShape other = step_cost_shape(known);
        if (same_shape(&other, &shape))
            return known;
    }
    StepCost *cost = step_cost_new(&simulation->device, simulation->setup.model, shape);
    g_ptr_array_add(simulation->costs, cost);
    return cost;
}

static void free_cost(gpointer cost) {
    step_cost_free(cost);
}

static void stage_init(Stage *stage, Replica *replica, guint index) {
    Simulation *simulation = replica->simulation;
    const StagePlan *plan = &replica->plan->stages[index];
    stage->replica = replica;
    stage->index = index;
    stage->plan = plan;
    stage->wake = wake_new();
    g_queue_init(&stage->inbox);
    stage->segments = g_array_new(FALSE, FALSE, sizeof(Segment));
    stage->totals = &replica->totals->stages[index];
    stage->cost = cost_of(simulation, (StageShape){.layers = plan->layers,
                                                   .tp = plan->tp,
                                                   .first = index == 0,
                                                   .last = index + 1 == replica->plan->n_stages,
                                                   .stream_s = weight_stream_seconds(&plan->stream),
                                                   .stream_overlaps = plan->stream.overlaps});
    if (simulation->setup.policy->grain == GRAIN_OPERATOR)
        stage->cluster = cluster_new(simulation->setup.platform, plan->clusters[0], NULL, NULL);
    network_ring_all_reduce_line(simulation->setup.platform, plan->clusters, plan->tp,
                                 &stage->ring_fixed_s, &stage->ring_per_byte_s);
}

static void batch_init(MicroBatch *batch, Replica *replica, guint index) {
    batch->replica = replica;
    batch->index = index;
    batch->members = g_ptr_array_new();
    batch->bases = g_array_new(FALSE, FALSE, sizeof(guint32));
    batch->joining = g_ptr_array_new();
    batch->parked = TRUE;
    batch->step.batch = batch;
    batch->step.chunks = g_array_new(FALSE, FALSE, sizeof(Chunk));
}

static void step_release(Step *step) {
    g_array_unref(step->chunks);
    g_clear_pointer(&step->activations, g_array_unref);
}

static void step_free(gpointer data) {
    Step *step = data;
    step_release(step);
    g_free(step);
}

/* What weights, overhead and prefix cache leave on the clusters of a replica. */
static double room_for_kv(const ReplicaPlan *plan) {
    double room = 0;
    for (guint i = 0; i < plan->n_stages; i++) {
        const MemoryBill *bill = &plan->stages[i].bill;
        room += plan->stages[i].tp *
                (bill->usable - bill->weights - bill->overhead - bill->prefix_cache);
    }
    return room;
}

static void entry_init(Replica *replica) {
    Simulation *simulation = replica->simulation;
    const Policy *policy = simulation->setup.policy;
    gboolean prefill = replica->plan->role == ROLE_PREFILL;
    replica->queue = admission_queue_new(policy->admission);
    replica->prefill_kv_room = room_for_kv(replica->plan);
    g_queue_init(&replica->partial);
    replica->idle_steps = g_ptr_array_new_with_free_func(step_free);
    replica->load_index = simulation->entries->len;
    g_ptr_array_add(simulation->entries, replica);
    g_ptr_array_add(replica->pool->entries, replica);
    PrefixCacheKind kind = prefill ? policy->prefill.prefix_cache : policy->decode.prefix_cache;
    double bytes = prefill ? policy->prefill.prefix_cache_bytes : policy->decode.prefix_cache_bytes;
    if (kind == PREFIX_CACHE_LRU)
        replica->prefix_cache =
            prefix_cache_new(bytes, (double)(PREFIX_BLOCK_TOKENS * simulation->kv_bytes_per_token));
}

static void decoder_init(Replica *replica) {
    Simulation *simulation = replica->simulation;
    replica->n_batches =
        (guint)policy_micro_batches(&simulation->setup.policy->decode, replica->plan->n_stages);
    replica->batches = g_new0(MicroBatch, replica->n_batches);
    for (guint i = 0; i < replica->n_batches; i++)
        batch_init(&replica->batches[i], replica, i);
    g_queue_init(&replica->ready);
    simulation->max_kv_tokens = MAX(simulation->max_kv_tokens, replica->plan->kv_tokens);
    if (replica->plan->role == ROLE_DECODE)
        g_ptr_array_add(replica->pool->decoders, replica);
}

static void replica_init(Simulation *simulation, guint id) {
    Replica *replica = &simulation->replicas[id];
    replica->simulation = simulation;
    replica->plan = &simulation->setup.plan->replicas[id];
    replica->pool = &simulation->pools[replica->plan->pool];
    replica->id = id;
    replica->totals = &simulation->ledger->replicas[id];
    replica->totals->n_stages = replica->plan->n_stages;
    replica->totals->stages = g_new0(StageTotals, replica->plan->n_stages);
    replica->totals->first_busy_s = replica->totals->last_busy_s = -1;
    replica->stages = g_new0(Stage, replica->plan->n_stages);
    for (guint i = 0; i < replica->plan->n_stages; i++)
        stage_init(&replica->stages[i], replica, i);
    if (replica->plan->role != ROLE_DECODE)
        entry_init(replica);
    if (replica->plan->role != ROLE_PREFILL)
        decoder_init(replica);
}

static void pool_init(Simulation *simulation, guint index) {
    const Plan *plan = simulation->setup.plan;
    Pool *pool = &simulation->pools[index];
    double capacity = 0;
    pool->simulation = simulation;
    pool->index = index;
    pool->entries = g_ptr_array_new();
    pool->decoders = g_ptr_array_new();
    pool->buffers = g_new0(const BufferPlan *, plan->n_buffers + 1);
    g_queue_init(&pool->ready);
    for (guint i = 0; i < plan->n_buffers; i++) {
        if (plan->buffers[i].pool != index)
            continue;
        pool->buffers[pool->n_buffers++] = &plan->buffers[i];
        capacity += plan->buffers[i].bytes;
    }
    pool->buffer_used = g_new0(guint64, pool->n_buffers + 1);
    pool->backpressure = backpressure_new(&simulation->setup.policy->buffer, capacity);
}

static guint count_pools(const Plan *plan) {
    guint pools = 0;
    for (guint i = 0; i < plan->n_replicas; i++)
        pools = MAX(pools, plan->replicas[i].pool + 1);
    return pools;
}

static void want_what_observers_want(Simulation *simulation) {
    for (guint i = 0; i < simulation->setup.n_observers; i++) {
        const Observer *observer = simulation->setup.observers[i];
        simulation->sampled_regularly |= observer->sample != NULL && !observer->own_dates &&
                                         simulation->setup.sample_interval_s > 0;
    }
}

static void simulation_init(Simulation *simulation) {
    const SimulationSetup *setup = &simulation->setup;
    Ledger *ledger = simulation->ledger;
    want_what_observers_want(simulation);
    simulation->device = device_model(setup->platform, setup->costs);
    simulation->kv_bytes_per_token = model_kv_bytes_per_token(setup->model);
    simulation->n_pools = ledger->n_pools = count_pools(setup->plan);
    simulation->n_replicas = ledger->n_replicas = setup->plan->n_replicas;
    ledger->replicas = g_new0(ReplicaTotals, ledger->n_replicas);
    ledger->buffer_bytes = g_new0(TimeIntegral, ledger->n_pools);
    ledger->paused_s = g_new0(double, ledger->n_pools);
    simulation->pools = g_new0(Pool, simulation->n_pools);
    simulation->replicas = g_new0(Replica, simulation->n_replicas);
    simulation->costs = g_ptr_array_new_with_free_func(free_cost);
    simulation->entries = g_ptr_array_new();
    simulation->open_requests = g_ptr_array_new();
    simulation->returning = g_ptr_array_new();
    simulation->router = router_new(setup->policy->routing);
    simulation->frontend_wake = wake_new();
    couriers_init(simulation);
    for (guint i = 0; i < simulation->n_pools; i++)
        pool_init(simulation, i);
    for (guint i = 0; i < simulation->n_replicas; i++)
        replica_init(simulation, i);
    simulation->loads = g_new0(ReplicaLoad, simulation->entries->len);
    contention_mark_rings(simulation);
    simulation->numerics = numerics_new(simulation, setup->numerics);
}

static void start_actors(Simulation *simulation) {
    engine_actor_start("frontend", topology_host(0), frontend_main, simulation);
    for (guint i = 0; i < simulation->n_replicas; i++) {
        Replica *replica = &simulation->replicas[i];
        for (guint s = 0; s < replica->plan->n_stages; s++) {
            Stage *stage = &replica->stages[s];
            g_autofree char *name =
                g_strdup_printf("%s-%u-%u-stage-%u", replica_role_name(replica->plan->role),
                                replica->plan->pool, replica->plan->index, s);
            engine_actor_start(name, topology_host(stage->plan->clusters[0]), stage_main, stage);
        }
    }
}

static void replica_clear(Replica *replica) {
    for (guint i = 0; i < replica->plan->n_stages; i++) {
        Stage *stage = &replica->stages[i];
        wake_free(stage->wake);
        g_queue_clear(&stage->inbox);
        g_array_unref(stage->segments);
        cluster_free(stage->cluster);
    }
    g_free(replica->stages);
    for (guint i = 0; i < replica->n_batches; i++) {
        g_ptr_array_unref(replica->batches[i].members);
        g_array_unref(replica->batches[i].bases);
        g_ptr_array_unref(replica->batches[i].joining);
        step_release(&replica->batches[i].step);
    }
    g_free(replica->batches);
    g_queue_clear(&replica->ready);
    g_queue_clear(&replica->partial);
    g_clear_pointer(&replica->queue, admission_queue_free);
    g_clear_pointer(&replica->prefix_cache, prefix_cache_free);
    g_clear_pointer(&replica->idle_steps, g_ptr_array_unref);
}

static void simulation_clear(Simulation *simulation) {
    numerics_free(simulation->numerics);
    for (guint i = 0; i < simulation->n_replicas; i++)
        replica_clear(&simulation->replicas[i]);
    for (guint i = 0; i < simulation->n_pools; i++) {
        Pool *pool = &simulation->pools[i];
        g_ptr_array_unref(pool->entries);
        g_ptr_array_unref(pool->decoders);
        g_free(pool->buffers);
        g_free(pool->buffer_used);
        g_queue_clear(&pool->ready);
    }
    g_free(simulation->replicas);
    g_free(simulation->pools);
    g_free(simulation->loads);
    g_ptr_array_unref(simulation->costs);
    g_ptr_array_unref(simulation->entries);
    g_ptr_array_unref(simulation->open_requests);
    g_ptr_array_set_free_func(simulation->returning, g_free);
    g_ptr_array_unref(simulation->returning);
    g_ptr_array_unref(simulation->idle_couriers);
    g_ptr_array_unref(simulation->couriers);
    wake_free(simulation->frontend_wake);
}

static void close_books(Simulation *simulation) {
    Ledger *ledger = simulation->ledger;
    double end_s = ledger->end_s;
    for (guint i = 0; i < simulation->n_pools; i++)
        if (simulation->pools[i].backpressure.paused)
            ledger->paused_s[i] += end_s - simulation->pools[i].paused_since_s;
    EngineCounts counts = engine_counts();
    ledger->execs = counts.execs;
    ledger->sleeps = counts.sleeps;
    ledger->comms = counts.comms;
    ledger->timers = counts.timers;
    ledger->wakes = counts.wakes;
}

SimulationOutcome simulation_run(const SimulationSetup *setup, Ledger *ledger, GError **error) {
    Simulation simulation = {.setup = *setup, .ledger = ledger, .outcome = OUTCOME_DEADLOCK};
    *ledger = (Ledger){0};
    engine_init();
    topology_build(setup->platform, setup->model->data_type);
    simulation_init(&simulation);
    start_actors(&simulation);
    engine_run(on_deadlock, &simulation);
    request_drop_all(&simulation, simulation.now_s);
    close_books(&simulation);
    simulation_clear(&simulation);
    if (simulation.error)
        g_propagate_error(error, simulation.error);
    return simulation.outcome;
}

char *simulation_engine_version(void) {
    int major, minor, patch;
    sg_version_get(&major, &minor, &patch);
    return patch > 0 ? g_strdup_printf("%d.%d.%d", major, minor, patch)
                     : g_strdup_printf("%d.%d", major, minor);
}
