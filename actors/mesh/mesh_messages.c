/* What core actors do: work, send, receive, wait. A message is a SimGrid communication from one end
 * of its path to the other: its latency is the hops' and its bytes share the links with all
 * others'.
 *
 * Whether a message waits behind another one on the same path, when it has left its core, and when
 * it passes a core on its way is told from the date at which it began, as if nothing else were on
 * these links; only its arrival at the far end, and leaving late, know of contention. */
#include "actors/mesh/mesh_private.h"

#include "platforms/topology_mesh.h"
#include <math.h>
#include <stdlib.h>

/* Dates closer than this are one: sums of cycles that are no whole numbers are rounded. */
static const double SAME_CYCLES = 1e-6;

double mesh_now_cycles(const Mesh *mesh) {
    return engine_now() / mesh->setup.cycle_s;
}

static void sleep_until_cycles(const Mesh *mesh, double date_cycles) {
    engine_sleep_until(date_cycles * mesh->setup.cycle_s);
}

static void tell(const MeshCore *core, MeshActivity activity, double start, double end) {
    const MeshSetup *setup = &core->mesh->setup;
    MeshStretch stretch = {core, activity, start, end};

    if (setup->listener && end > start)
        setup->listener(setup->listener_data, &stretch);
}

void mesh_compute(MeshCore *core, double cycles) {
    const Mesh *mesh = core->mesh;
    double start_cycles = mesh_now_cycles(mesh);

    sleep_until_cycles(mesh, start_cycles + cycles);
    core->compute_cycles += mesh_now_cycles(mesh) - start_cycles;
    tell(core, MESH_COMPUTING, start_cycles, mesh_now_cycles(mesh));
}

void mesh_relay(MeshCore *core) {
    mesh_compute(core, core->mesh->setup.spec->relay_cycles);
    core->stages++;
}

/* Splits the time since 'asked' into waiting until 'sent' and communication from then on. */
static void account(MeshCore *core, double asked, double sent) {
    double now = mesh_now_cycles(core->mesh);
    double under_way = CLAMP(sent, asked, now);

    core->wait_cycles += under_way - asked;
    core->communication_cycles += now - under_way;
    tell(core, MESH_WAITING, asked, under_way);
    tell(core, MESH_COMMUNICATING, under_way, now);
}

/* What arrived last is the cause of the present date; of things that arrived together, the one with
 * most behind it. */
static void take_cause(MeshCore *core, double asked, double arrival, const guint cause[2]) {
    double now = mesh_now_cycles(core->mesh);
    guint stages = cause[0], hops = cause[1];
    gboolean waited = now - asked > SAME_CYCLES;
    gboolean together = fabs(now - arrival) <= SAME_CYCLES;
    gboolean more = stages > core->stages || (stages == core->stages && hops > core->hops);

    if (waited || (together && more)) {
        core->stages = stages;
        core->hops = hops;
    }
}

/* Flows. */

static void flow_add(FlowList *flows, EngineTransfer *transfer, MeshPath *path, double due_cycles) {
    Flow *flow = g_new(Flow, 1);

    *flow = (Flow){.transfer = transfer, .path = path, .due_cycles = due_cycles};
    if (flows->last)
        flows->last->next = flow;
    else
        flows->first = flow;
    flows->last = flow;
    path->last_flow = flow;
}

static void flow_drop_first(FlowList *flows) {
    Flow *flow = flows->first;

    if (flow->path->last_flow == flow)
        flow->path->last_flow = NULL;
    flows->first = flow->next;
    if (!flows->first)
        flows->last = NULL;
    g_free(flow);
}

static void flows_reap(FlowList *flows, double now_cycles) {
    while (flows->first && flows->first->due_cycles <= now_cycles &&
           engine_transfer_ended(flows->first->transfer))
        flow_drop_first(flows);
}

static void flows_wait(FlowList *flows) {
    while (flows->first) {
        engine_transfer_wait(flows->first->transfer);
        flow_drop_first(flows);
    }
}

/* Messages of a path. */

static Message *message_at(const MeshPath *path, guint64 number) {
    return &path->ring[number % path->capacity];
}

static void make_room(MeshPath *path) {
    guint64 n = path->sent - path->kept;
    if (n < path->capacity)
        return;
    guint capacity = MAX(1, 2 * path->capacity);
    Message *ring = g_new(Message, capacity);
    for (guint64 number = path->kept; number < path->sent; number++)
        ring[number % capacity] = *message_at(path, number);
    g_free(path->ring);
    path->ring = ring;
    path->capacity = capacity;
}

/* Hops from the path's begin to a core that receives on it. */
static guint place_on(const MeshPath *path, const MeshCore *core) {
    const MeshCore *from = &path->from->core;
    guint place = (guint)(abs((int)core->x - (int)from->x) + abs((int)core->y - (int)from->y));

    g_assert(path->multicast ? place >= 1 && place <= path->hops : core == &path->to->core);
    return place;
}

static guint32 *n_read(MeshPath *path, guint place) {
    return &path->n_read[path->multicast ? place - 1 : 0];
}

static double arrival_cycles(const Message *message, const MeshPath *path, guint place,
                             double wavelets) {
    return message->start_cycles + place * path->mesh->setup.spec->hop_cycles +
           MIN(wavelets, (double)message->wavelets);
}

/* A core that waits for the message which has just been started goes on when that has arrived. */
static void arm_blocked(MeshPath *path, const Message *message) {
    const MeshCore *from = &path->from->core, *to = &path->to->core;
    guint x = from->x, y = from->y;

    for (guint place = 1; place <= path->hops && path->n_blocked > 0; place++) {
        if (x != to->x)
            x += x < to->x ? 1 : -1;
        else
            y += y < to->y ? 1 : -1;
        Core *core = mesh_core_at(path->mesh, x, y);
        if (core->awaited != path)
            continue;
        double date = arrival_cycles(message, path, place, core->awaited_wavelets);
        core->awaited = NULL;
        path->n_blocked--;
        wake_signal_at(core->wake, date * path->mesh->setup.cycle_s);
    }
}

/* Lets the next message begin, as a flow in 'flows' of the calling actor. */
static void start_next(MeshPath *path, FlowList *flows) {
    Mesh *mesh = path->mesh;
    const MeshSpec *spec = mesh->setup.spec;
    Message *message = message_at(path, path->started);
    double now = mesh_now_cycles(mesh);
    guint64 wavelets = message->wavelets;

    message->start_cycles = now;
    path->free_cycles = now + (double)wavelets;
    path->wavelets += wavelets;
    mesh->links_stale = TRUE;
    /* Here other actors may run; to them the message has not been started yet. */
    EngineTransfer *transfer = engine_channel_send(path->channel, wavelets * spec->wavelet_bytes);
    flow_add(flows, transfer, path, path->free_cycles + path->hops * spec->hop_cycles);
    message = message_at(path, path->started++);
    arm_blocked(path, message);
}

/* From when on the path's last message has left its core: that date, later than now, or now. When
 * something was in its way, at least a cycle for what remains. */
static double left_cycles(const MeshPath *path) {
    const MeshSpec *spec = path->mesh->setup.spec;
    double now = mesh_now_cycles(path->mesh);

    if (now < path->free_cycles || !path->last_flow)
        return MAX(now, path->free_cycles);
    double remaining =
        engine_transfer_remaining_bytes(path->last_flow->transfer) / (double)spec->wavelet_bytes;
    double behind = remaining - path->hops * spec->hop_cycles;
    return behind > SAME_CYCLES ? now + MAX(behind, 1) : now;
}

/* Starts messages that were sent while an earlier one had not left. */
static void courier_main(int argc, char **argv) {
    (void)argc, (void)argv;
    MeshPath *path = engine_actor_data();
    FlowList flows = {0};
    double date;

    while (path->started < path->sent) {
        while ((date = left_cycles(path)) > mesh_now_cycles(path->mesh))
            sleep_until_cycles(path->mesh, date);
        start_next(path, &flows);
        flows_reap(&flows, mesh_now_cycles(path->mesh));
    }
    path->courier = FALSE;
    flows_wait(&flows);
}

void mesh_send(MeshPath *path, guint64 wavelets, gconstpointer payload) {
    Core *core = path->from;
    Mesh *mesh = path->mesh;
    double now = mesh_now_cycles(mesh);

    g_assert(path->channel); /* the receiver must have been started */
    make_room(path);
    *message_at(path, path->sent++) =
        (Message){.sent_cycles = now,
                  .wavelets = MAX(wavelets, 1), /* nothing is told by nothing */
                  .payload = payload,
                  .hops = core->core.hops + path->hops,
                  .stages = core->core.stages,
                  .unread = path->multicast ? path->hops : 1};
    core->core.sent_wavelets += MAX(wavelets, 1);
    core->messages++;
    if (path->courier)
        return;
    if (left_cycles(path) <= now) {
        flows_reap(&core->flows, now);
        start_next(path, &core->flows);
        return;
    }
    path->courier = TRUE;
    engine_actor_start("courier", topology_mesh_host(core->core.x, core->core.y), courier_main,
                       path);
}

void mesh_send_wait(MeshPath *path) {
    MeshCore *core = &path->from->core;
    const Mesh *mesh = path->mesh;
    double asked = mesh_now_cycles(mesh), date;

    for (;;) {
        date = left_cycles(path);
        if (date > mesh_now_cycles(mesh))
            sleep_until_cycles(mesh, date);
        else if (path->started < path->sent)
            engine_yield(); /* the courier is about to start the next */
        else
            break;
    }
    account(core, asked, asked);
}

/* Blocks until so many wavelets of message 'number', or all, are here. */
static void await(Core *core, MeshPath *path, guint64 number, double wavelets) {
    if (number < path->started) {
        guint place = place_on(path, &core->core);
        sleep_until_cycles(path->mesh,
                           arrival_cycles(message_at(path, number), path, place, wavelets));
        return;
    }
    if (!core->wake)
        core->wake = wake_new();
    core->awaited = path;
    core->awaited_wavelets = wavelets;
    path->n_blocked++;
    wake_wait_until(core->wake, INFINITY);
}

/* Tells what waiting for a message since 'asked' was, and what it changes. */
static void received(Core *core, const MeshPath *path, guint64 number,
                     const double asked_until[2]) {
    const Message *message = message_at(path, number);
    guint place = place_on(path, &core->core);
    /* Hops beyond this core are of no matter to it. */
    const guint cause[2] = {message->stages, message->hops - (path->hops - place)};
    double arrival = arrival_cycles(message, path, place, asked_until[1]);

    account(&core->core, asked_until[0], message->sent_cycles);
    take_cause(&core->core, asked_until[0], arrival, cause);
}

static void forget_read(MeshPath *path) {
    while (path->kept < path->started && message_at(path, path->kept)->unread == 0)
        path->kept++;
}

gconstpointer mesh_receive(MeshCore *core, MeshPath *path) {
    Core *self = (Core *)core;
    guint place = place_on(path, core);
    guint64 number = (*n_read(path, place))++;
    double asked = mesh_now_cycles(path->mesh);

    if (self == path->to)
        engine_channel_receive(path->channel);
    else
        await(self, path, number, INFINITY);
    received(self, path, number, (double[]){asked, INFINITY});

    Message *message = message_at(path, number);
    gconstpointer payload = message->payload;
    message->unread--;
    forget_read(path);
    return payload;
}

gboolean mesh_arrived(MeshCore *core, MeshPath *path) {
    guint place = place_on(path, core);
    guint64 number = *n_read(path, place);

    return number < path->started &&
           arrival_cycles(message_at(path, number), path, place, INFINITY) <=
               mesh_now_cycles(path->mesh) + SAME_CYCLES;
}

void mesh_receive_head(MeshCore *core, MeshPath *path) {
    Core *self = (Core *)core;
    guint64 number = *n_read(path, place_on(path, core));
    double asked = mesh_now_cycles(path->mesh);

    await(self, path, number, 1);
    received(self, path, number, (double[]){asked, 1});
}

void mesh_core_main(int argc, char **argv) {
    (void)argc, (void)argv;
    Core *self = engine_actor_data();

    self->body(&self->core);
    self->core.end_cycles = mesh_now_cycles(self->core.mesh);
    flows_wait(&self->flows);
}
