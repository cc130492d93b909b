/* What to say when nothing can happen any more although requests are open: who waits for whom. */
#include "actors/serving/serving.h"

static void report_entry(const Replica *replica, GString *out) {
    guint64 waiting = admission_queue_length(replica->queue);
    guint partial = g_queue_get_length((GQueue *)&replica->partial);
    if (waiting + partial == 0)
        return;
    const char *reason = "is not asked for";
    if (replica->pool->backpressure.paused)
        reason = "waits for the buffer to fall to its low watermark";
    else if (replica->pool->reservation_blocked)
        reason = "waits for room in the buffer";
    else if (replica->plan->role == ROLE_COLOCATED)
        reason = "waits for KV or a slot";
    g_string_append_printf(out,
                           "; pool %u %s %u: %" G_GUINT64_FORMAT " queued, %u begun, the head %s",
                           replica->plan->pool, replica_role_name(replica->plan->role),
                           replica->plan->index, waiting, partial, reason);
}

static void report_decoder(const Replica *replica, GString *out) {
    for (guint i = 0; i < replica->n_batches; i++) {
        const MicroBatch *batch = &replica->batches[i];
        if (batch->held == 0)
            continue;
        g_string_append_printf(out,
                               "; pool %u %s %u batch %u: %u decoding, %u to join, %u being "
                               "pulled, KV %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT " tokens%s",
                               replica->plan->pool, replica_role_name(replica->plan->role),
                               replica->plan->index, i, batch->members->len, batch->joining->len,
                               batch->pulling, replica->kv_used, replica->plan->kv_tokens,
                               batch->parked ? ", parked" : "");
    }
}

char *deadlock_report(const Simulation *simulation) {
    GString *out = g_string_new(NULL);
    g_string_printf(
        out, "nothing can happen any more at %.6f s, with %" G_GUINT64_FORMAT " requests open",
        engine_now(), simulation->open);
    for (guint i = 0; i < simulation->n_replicas; i++) {
        const Replica *replica = &simulation->replicas[i];
        if (replica->queue)
            report_entry(replica, out);
        report_decoder(replica, out);
    }
    for (guint i = 0; i < simulation->n_pools; i++) {
        guint ready = g_queue_get_length(&simulation->pools[i].ready);
        if (ready > 0)
            g_string_append_printf(out, "; pool %u: %u in the buffer wait for a decode replica", i,
                                   ready);
    }
    return g_string_free(out, FALSE);
}
