/* Couriers carry transfers that nobody stands still for: KV on its way to and from the buffer,
 * activations between stages. Each is an actor that waits for the next errand; there are as many
 * as were ever under way at once. */
#include "actors/serving/serving.h"

#include "platforms/network.h"
#include "platforms/topology.h"
#include <math.h>

struct Courier {
    Simulation *simulation;
    Wake *wake;
    Transfer errand;
    gboolean busy;
};

static void courier_report(Courier *courier, double start_s, guint64 bytes, double end_s) {
    Simulation *simulation = courier->simulation;
    const Transfer *errand = &courier->errand;
    simulation->ledger->bytes_received[errand->purpose] += (double)bytes;
    if (!simulation_wanted(simulation, EVENT_TRANSFER))
        return;
    Event event = {.kind = EVENT_TRANSFER,
                   .time_s = end_s,
                   .start_s = start_s,
                   .purpose = errand->purpose,
                   .from = errand->from,
                   .to = errand->to,
                   .bytes = (double)bytes};
    simulation_emit(simulation, &event);
}

static void courier_carry(Courier *courier) {
    Simulation *simulation = courier->simulation;
    const Transfer *errand = &courier->errand;
    double latency_s = network_latency(simulation->setup.platform, errand->from, errand->to);
    for (guint part = 0; part < errand->n_parts; part++) {
        double start_s = MAX(engine_now(), errand->not_before_s[part]);
        guint64 bytes = errand->bytes[part];
        while (engine_now() < start_s + latency_s)
            wake_wait_until(courier->wake, start_s + latency_s);
        if (bytes > 0)
            engine_transfer_wait(engine_transfer_begin(topology_host(errand->from),
                                                       topology_host(errand->to), bytes));
        courier_report(courier, start_s, bytes, engine_now());
    }
}

static void courier_main(int argc, char **argv) {
    (void)argc, (void)argv;
    Courier *courier = engine_actor_data();
    Simulation *simulation = courier->simulation;
    while (courier->busy || !simulation->stopping) { /* an errand is always finished */
        if (!courier->busy) {
            wake_wait_until(courier->wake, INFINITY);
            continue;
        }
        courier_carry(courier);
        simulation_advance(simulation, engine_now());
        Transfer errand = courier->errand; /* 'done' may send this courier out again */
        courier->busy = FALSE;
        g_ptr_array_add(simulation->idle_couriers, courier);
        errand.done(&errand, engine_now());
    }
}

static void courier_free(gpointer data) {
    Courier *courier = data;
    wake_free(courier->wake);
    g_free(courier);
}

static void courier_start(gpointer data) {
    engine_actor_start("courier", topology_host(0), courier_main, data);
}

static Courier *courier_new(Simulation *simulation) {
    Courier *courier = g_new0(Courier, 1);
    courier->simulation = simulation;
    courier->wake = wake_new();
    g_ptr_array_add(simulation->couriers, courier);
    engine_call_soon(courier_start, courier);
    return courier;
}

void couriers_init(Simulation *simulation) {
    simulation->couriers = g_ptr_array_new_with_free_func(courier_free);
    simulation->idle_couriers = g_ptr_array_new();
}

void couriers_stop(Simulation *simulation) {
    for (guint i = 0; i < simulation->couriers->len; i++)
        wake_signal(((Courier *)simulation->couriers->pdata[i])->wake);
}

void courier_send(Simulation *simulation, const Transfer *transfer) {
    GPtrArray *idle = simulation->idle_couriers;
    Courier *courier =
        idle->len > 0 ? g_ptr_array_steal_index_fast(idle, idle->len - 1) : courier_new(simulation);
    courier->errand = *transfer;
    courier->busy = TRUE;
    simulation->ledger->transfers[transfer->purpose]++;
    for (guint part = 0; part < transfer->n_parts; part++)
        simulation->ledger->bytes_sent[transfer->purpose] += (double)transfer->bytes[part];
    wake_signal(courier->wake);
}
