/* The frontend: requests arrive, are rejected or routed to a replica, and end. */
#include "actors/serving/numerics.h"

#include <math.h>

static gint by_arrival(const Request *a, const Request *b) {
    if (a->arrival_s != b->arrival_s)
        return a->arrival_s < b->arrival_s ? -1 : 1;
    return a->id < b->id ? -1 : 1;
}

/* A small binary heap of requests that users of a closed loop will send. */
static void returning_push(GPtrArray *heap, const Request *request) {
    g_ptr_array_add(heap, g_memdup2(request, sizeof *request));
    for (guint i = heap->len - 1; i > 0;) {
        guint parent = (i - 1) / 2;
        if (by_arrival(heap->pdata[i], heap->pdata[parent]) >= 0)
            break;
        gpointer swap = heap->pdata[i];
        heap->pdata[i] = heap->pdata[parent];
        heap->pdata[parent] = swap;
        i = parent;
    }
}

static Request returning_pop(GPtrArray *heap) {
    g_autofree Request *top = heap->pdata[0];
    heap->pdata[0] = heap->pdata[heap->len - 1];
    g_ptr_array_set_size(heap, (gint)heap->len - 1);
    for (guint i = 0;;) {
        guint least = i;
        for (guint child = 2 * i + 1; child <= 2 * i + 2 && child < heap->len; child++)
            if (by_arrival(heap->pdata[child], heap->pdata[least]) < 0)
                least = child;
        if (least == i)
            break;
        gpointer swap = heap->pdata[i];
        heap->pdata[i] = heap->pdata[least];
        heap->pdata[least] = swap;
        i = least;
    }
    return *top;
}

static void finish_if_all_ended(Simulation *simulation) {
    const Ledger *ledger = simulation->ledger;
    if (simulation->source_ended && ledger->arrived == ledger->issued && simulation->open == 0)
        simulation_stop(simulation, OUTCOME_FINISHED);
}

/* In a closed loop the end of a request makes its user send another. */
static void tell_source(Simulation *simulation, double time_s) {
    Request next;
    if (request_source_completed(simulation->setup.source, time_s, &next)) {
        simulation->ledger->issued++;
        returning_push(simulation->returning, &next);
        wake_signal(simulation->frontend_wake);
    }
}

static RejectReason reject_reason(const Simulation *simulation, const Request *request) {
    guint64 total = (guint64)request->prompt_tokens + request->output_tokens;
    if (total > simulation->setup.plan->max_context)
        return REJECT_CONTEXT;
    if (total > simulation->max_kv_tokens ||
        !plan_holds(simulation->setup.plan, request->prompt_tokens, request->output_tokens))
        return REJECT_KV_CAPACITY;
    /* After a preemption all of it but the last token may have to pass the buffer again. */
    gboolean again = simulation->setup.policy->kv_reservation == KV_RESERVE_ON_DEMAND;
    guint64 buffered = again ? total : request->prompt_tokens;
    if (!buffer_can_hold(simulation, buffered))
        return REJECT_BUFFER_CAPACITY;
    return REJECT_NONE;
}

static Served *served_new(Simulation *simulation, const Request *request) {
    Served *served = g_new0(Served, 1);
    served->public = (ServedRequest){.request = *request,
                                     .pool = G_MAXUINT,
                                     .prefill_replica = G_MAXUINT,
                                     .decode_replica = G_MAXUINT,
                                     .prefill_start_s = -1,
                                     .first_token_s = -1,
                                     .buffered_s = -1,
                                     .pull_start_s = -1,
                                     .decode_start_s = -1,
                                     .completed_s = -1};
    served->prefill_target = request->prompt_tokens;
    served->open_index = simulation->open_requests->len;
    g_ptr_array_add(simulation->open_requests, served);
    simulation->open++;
    return served;
}

static void request_close(Simulation *simulation, Served *served) {
    GPtrArray *open = simulation->open_requests;
    Served *last = open->pdata[open->len - 1];
    last->open_index = served->open_index;
    open->pdata[served->open_index] = last;
    g_ptr_array_set_size(open, (gint)open->len - 1);
    simulation->open--;
    served->ended = TRUE;
}

void request_release(Served *served) {
    if (!served->ended || served->migrations > 0 || served->pulls > 0)
        return;
    numerics_end(served);
    request_clear(&served->public.request);
    g_free(served);
}

static void reject(Simulation *simulation, Served *served, RejectReason reason, double time_s) {
    served->public.rejected = reason;
    simulation->ledger->rejected[reason]++;
    simulation->sample.rejected++;
    request_close(simulation, served);
    simulation_emit_request(simulation, EVENT_REJECTED, time_s, served);
    tell_source(simulation, time_s);
    request_release(served);
}

static void route(Simulation *simulation, Served *served, double time_s) {
    const Request *request = &served->public.request;
    guint chosen = router_choose(&simulation->router, simulation->loads, simulation->entries->len);
    Replica *replica = simulation->entries->pdata[chosen];
    served->entry = replica;
    served->public.pool = replica->pool->index;
    served->public.prefill_replica = replica->plan->index;
    simulation->loads[chosen].requests++;
    simulation->loads[chosen].outstanding_tokens +=
        (guint64)request->prompt_tokens + request->output_tokens;
    simulation->ledger->prompt_tokens_in += request->prompt_tokens;
    simulation->ledger->output_tokens_asked += request->output_tokens;
    entry_enqueue(replica, served, time_s);
}

static void arrive(Simulation *simulation, const Request *request) {
    double time_s = request->arrival_s;
    simulation_advance(simulation, time_s);
    Served *served = served_new(simulation, request);
    simulation->ledger->arrived++;
    simulation->sample.arrived++;
    simulation_emit_request(simulation, EVENT_ARRIVED, time_s, served);
    RejectReason reason = reject_reason(simulation, request);
    if (reason != REJECT_NONE)
        reject(simulation, served, reason, time_s);
    else
        route(simulation, served, time_s);
}

/* The last token that is generated never gets K and V. */
static void count_wafer_kv(Simulation *simulation, const ServedRequest *served) {
    const WaferUse *use = &simulation->setup.plan->wafer;
    if (use->spec.decode_grid == 0)
        return;
    WaferKv kv = wafer_use_kv(&use->spec, served->request.prompt_tokens, served->generated - 1);
    simulation->ledger->kv_moves += kv.moves;
    simulation->ledger->kv_skew = MAX(simulation->ledger->kv_skew, kv.skew);
}

void request_completed(Simulation *simulation, Served *served, double time_s) {
    served->public.completed_s = time_s;
    simulation->ledger->completed++;
    count_wafer_kv(simulation, &served->public);
    simulation->sample.completed++;
    simulation->loads[served->entry->load_index].requests--;
    simulation->loads[served->entry->load_index].outstanding_tokens -=
        (guint64)served->public.request.prompt_tokens + served->public.request.output_tokens;
    request_close(simulation, served);
    simulation_emit_request(simulation, EVENT_COMPLETED, time_s, served);
    tell_source(simulation, time_s);
    finish_if_all_ended(simulation);
}

void request_drop_all(Simulation *simulation, double time_s) {
    while (simulation->open_requests->len > 0) {
        Served *served = simulation->open_requests->pdata[simulation->open_requests->len - 1];
        Ledger *ledger = simulation->ledger;
        ledger->dropped++;
        decode_settle(served);
        if (served->entry)
            ledger->output_tokens_dropped +=
                served->public.request.output_tokens - served->public.generated;
        request_close(simulation, served);
        simulation_emit_request(simulation, EVENT_DROPPED, time_s, served);
        if (served->prefill_kv_bytes > 0)
            entry_free_kv(served, time_s);
        if (served->kv_tokens > 0)
            decode_free(served, time_s);
        if (served->buffer_bytes > 0)
            buffer_free(served, time_s);
        served->migrations = served->pulls = 0; /* the couriers are gone */
        request_release(served);
    }
}

/* The next request to arrive, from the source or from a user who returns. FALSE when neither has
 * one now. */
static gboolean next_arrival(Simulation *simulation, Request *ahead, gboolean *has_ahead,
                             Request *next) {
    GPtrArray *returning = simulation->returning;
    if (!*has_ahead && !simulation->source_ended) {
        *has_ahead = request_source_next(simulation->setup.source, ahead, &simulation->error);
        simulation->source_ended = !*has_ahead;
        simulation->ledger->issued += *has_ahead ? 1 : 0;
        if (simulation->error)
            simulation_stop(simulation, OUTCOME_SOURCE_FAILED);
    }
    if (returning->len > 0 && (!*has_ahead || by_arrival(returning->pdata[0], ahead) < 0)) {
        *next = returning_pop(returning);
        return TRUE;
    }
    if (!*has_ahead)
        return FALSE;
    *next = *ahead;
    *has_ahead = FALSE;
    return TRUE;
}

void frontend_main(int argc, char **argv) {
    (void)argc, (void)argv;
    Simulation *simulation = engine_actor_data();
    Request ahead, next;
    gboolean has_ahead = FALSE;
    while (!simulation->stopping) {
        if (!next_arrival(simulation, &ahead, &has_ahead, &next)) {
            finish_if_all_ended(simulation);
            if (!simulation->stopping)
                wake_wait_until(simulation->frontend_wake, INFINITY);
            continue;
        }
        /* A user of a closed loop may return before the one waited for. */
        while (engine_now() < next.arrival_s && !simulation->stopping) {
            if (wake_wait_until(simulation->frontend_wake, next.arrival_s) &&
                simulation->returning->len > 0 &&
                by_arrival(simulation->returning->pdata[0], &next) < 0) {
                Request later = next;
                next = returning_pop(simulation->returning);
                returning_push(simulation->returning, &later);
            }
        }
        if (simulation->stopping)
            request_clear(&next);
        else
            arrive(simulation, &next);
    }
    if (has_ahead)
        request_clear(&ahead);
}
