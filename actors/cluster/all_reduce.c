#include "actors/cluster/all_reduce.h"

#include "actors/engine.h"
#include "platforms/network.h"
#include "platforms/topology.h"
#include <math.h>
#include <string.h>

typedef struct Ring Ring;

typedef struct Rank {
    Ring *ring;
    guint id;
    guint64 received; /* messages */
    Wake *arrival;
} Rank;

struct Ring {
    const AllReduce *spec;
    AllReduceReport *report;
    guint running;
    Rank *ranks;
};

static void ring_free(Ring *ring) {
    for (guint i = 0; i < ring->spec->ranks; i++)
        wake_free(ring->ranks[i].arrival);
    g_free(ring->ranks);
    g_free(ring);
}

/* First element or byte of a chunk: 'total' cut into as many chunks as there are ranks. */
static guint64 chunk_begin(const AllReduce *spec, guint64 total, guint chunk) {
    return total / spec->ranks * chunk + total % spec->ranks * chunk / spec->ranks;
}

/* Reducing, a rank passes on the chunk that it has just added to; gathering, the one that it has
 * just been given. */
static guint chunk_sent(const Rank *rank, guint round) {
    guint n = rank->ring->spec->ranks;
    gboolean reducing = round < n - 1;
    guint step = reducing ? round : round - (n - 1);

    return (rank->id + (reducing ? 0 : 1) + n - step) % n;
}

static void hand_over(const Rank *from, const Rank *to, guint chunk, gboolean add) {
    const AllReduce *spec = from->ring->spec;
    guint64 elements = spec->bytes / sizeof(float);
    guint64 first = chunk_begin(spec, elements, chunk);
    guint64 end = chunk_begin(spec, elements, chunk + 1);
    const float *source = spec->vectors[from->id];
    float *target = spec->vectors[to->id];

    if (add)
        for (guint64 i = first; i < end; i++)
            target[i] += source[i];
    else
        memcpy(target + first, source + first, (end - first) * sizeof *target);
}

static void tell(const Rank *rank, double start_s, guint64 bytes, gboolean reducing) {
    Ring *ring = rank->ring;

    ring->report->messages++;
    ring->report->bytes += (double)bytes;
    if (ring->spec->listener)
        ring->spec->listener(ring->spec->data,
                             &(RingMessage){.rank = rank->id,
                                            .label = reducing ? "reduce" : "gather",
                                            .start_s = start_s,
                                            .end_s = engine_now(),
                                            .bytes = bytes});
}

static void send_chunk(const Rank *rank, guint round) {
    const AllReduce *spec = rank->ring->spec;
    Rank *next = &rank->ring->ranks[(rank->id + 1) % spec->ranks];
    guint from = spec->clusters[rank->id], to = spec->clusters[next->id];
    guint chunk = chunk_sent(rank, round);
    gboolean reducing = round < spec->ranks - 1;
    guint64 bytes =
        chunk_begin(spec, spec->bytes, chunk + 1) - chunk_begin(spec, spec->bytes, chunk);
    double start_s = engine_now(), begin_s = start_s + network_latency(spec->platform, from, to);

    engine_sleep_until(begin_s);
    engine_transfer_wait(engine_transfer_begin(topology_host(from), topology_host(to), bytes));
    engine_sleep_until(begin_s + network_all_reduce_send_seconds(spec->platform, (double)bytes));
    if (spec->vectors)
        hand_over(rank, next, chunk, reducing);
    tell(rank, start_s, bytes, reducing);
    next->received++;
    wake_signal(next->arrival);
}

static void rank_main(int argc, char **argv) {
    (void)argc, (void)argv;
    Rank *rank = engine_actor_data();
    Ring *ring = rank->ring;
    guint rounds = 2 * (ring->spec->ranks - 1);

    if (rounds > 0)
        engine_sleep_until(ring->spec->platform->network.all_reduce.latency_s);
    for (guint round = 0; round < rounds; round++) {
        send_chunk(rank, round);
        while (rank->received <= round)
            wake_wait_until(rank->arrival, INFINITY);
    }
    ring->report->seconds = MAX(ring->report->seconds, engine_now());
    if (--ring->running == 0)
        ring_free(ring);
}

void all_reduce_start(const AllReduce *all_reduce, AllReduceReport *report) {
    Ring *ring = g_new(Ring, 1);
    guint n = all_reduce->ranks;

    g_assert(n > 0);
    *report = (AllReduceReport){0};
    *ring = (Ring){.spec = all_reduce, .report = report, .running = n, .ranks = g_new(Rank, n)};
    Rank *ranks = ring->ranks; /* the last actor to end frees the ring */
    for (guint i = 0; i < n; i++)
        ranks[i] = (Rank){.ring = ring, .id = i, .arrival = wake_new()};
    for (guint i = 0; i < n; i++)
        engine_actor_start("rank", topology_host(all_reduce->clusters[i]), rank_main, &ranks[i]);
}
