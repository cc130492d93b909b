/* Every function either asks the mesh or does to a core's own date and counts what the mesh does
 * (mesh_messages.c), the same additions in the same order, given that messages on one link never
 * meet. */
#include "actors/mesh/mesh_gemm_run.h"

#include "actors/mesh/mesh_private.h"
#include <math.h>

/* Dates closer than this are one to the mesh. */
static const double SAME_CYCLES = 1e-6;

static guint distance(const MeshCore *a, const MeshCore *b) {
    return (guint)(ABS((gint)a->x - (gint)b->x) + ABS((gint)a->y - (gint)b->y));
}

gboolean gemm_out_open(GemmOut *out, const GemmWay *way, GError **error) {
    guint hops = distance(way->from->core, way->to->core);

    *out = (GemmOut){.from = way->from->core,
                     .receivers = way->multicast ? hops : 1,
                     .window = way->window,
                     .recent = g_new0(GemmMessage, way->window)};
    out->path =
        mesh_path(way->from->run->mesh, way->from->core, way->to->core, way->multicast, error);
    return out->path != NULL;
}

void gemm_out_clear(GemmOut *out) {
    g_free(out->recent);
    *out = (GemmOut){0};
}

double gemm_round_cycles(double cycles) {
    return ldexp(round(ldexp(cycles, 10)), -10);
}

void gemm_compute(GemmCore *core, double cycles) {
    double rounded = gemm_round_cycles(cycles);

    if (!core->run->forwarding) {
        mesh_compute(core->core, rounded);
        return;
    }
    core->date += rounded;
    core->core->compute_cycles += rounded;
}

/* mesh_relay, on rounded time. */
void gemm_relay(GemmCore *core) {
    gemm_compute(core, core->run->setup->spec->relay_cycles);
    core->core->stages++;
}

void gemm_send(GemmCore *core, GemmOut *out, const GemmMessage *message, gconstpointer payload) {
    if (!core->run->forwarding) {
        mesh_send(out->path, message->wavelets, payload);
        return;
    }
    GemmMessage *sent = &out->recent[message->tag % out->window];
    g_assert(out->left <= core->date); /* it would have to wait behind another */
    *sent = *message;
    sent->sent = core->date;
    sent->hops = core->core->hops;
    sent->stages = core->core->stages;
    out->left = core->date + (double)message->wavelets;
    out->messages++;
    out->wavelets += message->wavelets;
    core->core->sent_wavelets += message->wavelets;
}

void gemm_send_wait(GemmCore *core, GemmOut *out) {
    if (!out->path)
        return;
    if (!core->run->forwarding) {
        mesh_send_wait(out->path);
        return;
    }
    double asked = core->date;
    core->date = MAX(asked, out->left);
    core->core->communication_cycles += core->date - asked;
}

/* The message, which arrives at that date, is the cause of what follows if it was waited for; of
 * things that happen at one date the cause is what has most behind it. */
static void take_cause(GemmCore *core, const GemmMessage *message, guint hops, gboolean waited) {
    MeshCore *counts = core->core;
    guint all_hops = message->hops + hops;
    gboolean more = message->stages > counts->stages ||
                    (message->stages == counts->stages && all_hops > counts->hops);

    if (waited || more) {
        counts->stages = message->stages;
        counts->hops = all_hops;
    }
}

static double arrival_cycles(const GemmCore *core, const GemmOut *out, const GemmMessage *message) {
    return message->sent + distance(out->from, core->core) * core->run->setup->spec->hop_cycles +
           (double)message->wavelets;
}

gboolean gemm_arrived(const GemmCore *core, const GemmOut *out, guint tag) {
    const GemmMessage *message = &out->recent[tag % out->window];

    if (!core->run->forwarding)
        return mesh_arrived(core->core, out->path);
    return message->tag == tag && message->wavelets > 0 &&
           arrival_cycles(core, out, message) <= core->date + SAME_CYCLES;
}

static void receive_forwarded(GemmCore *core, const GemmOut *out, guint tag) {
    const GemmMessage *message = &out->recent[tag % out->window];
    guint hops = distance(out->from, core->core);
    double asked = core->date;
    double arrival = arrival_cycles(core, out, message);

    g_assert(message->tag == tag && message->wavelets > 0);
    core->date = MAX(asked, arrival);
    double under_way = CLAMP(message->sent, asked, core->date);
    core->core->wait_cycles += under_way - asked;
    core->core->communication_cycles += core->date - under_way;
    gboolean waited = core->date - asked > SAME_CYCLES;
    if (waited || fabs(core->date - arrival) <= SAME_CYCLES)
        take_cause(core, message, hops, waited);
}

gconstpointer gemm_receive(GemmCore *core, const GemmOut *out, guint tag) {
    if (!core->run->forwarding)
        return mesh_receive(core->core, out->path);
    receive_forwarded(core, out, tag);
    return NULL;
}

void gemm_out_settle(GemmOut *out) {
    if (!out->path)
        return;
    out->path->wavelets += out->wavelets;
    out->path->from->messages += out->messages;
    out->path->mesh->links_stale = TRUE;
    out->messages = out->wavelets = 0;
}
