#include "actors/cluster/cluster.h"

#include "actors/engine.h"
#include "platforms/topology.h"
#include "workloads/input_error.h"

struct Cluster {
    const Platform *platform;
    guint id;
    sg_host_t host; /* its DSPs; a flow to itself crosses the DDR link */
    sg_host_t gsm;  /* a flow between it and 'host' crosses this cluster's GSM link */
    double capacity[N_TIERS];
    double reserved[N_TIERS];
    ClusterCounts counts;
    BlockListener listener;
    gpointer listener_data;
};

const char *memory_tier_name(MemoryTier tier) {
    static const char *const names[N_TIERS] = {"SM", "AM", "GSM", "DDR"};

    g_assert(tier < N_TIERS);
    return names[tier];
}

/* A transfer that DDR takes part in is bound by DDR, whose link it crosses; the others cross the
 * link of GSM. */
static const struct {
    const char *name;
    gboolean from_gsm, to_gsm;
} move_kinds[N_MOVES] = {
    [MOVE_DDR_TO_GSM] = {"DDR to GSM", FALSE, FALSE},
    [MOVE_GSM_TO_SM] = {"GSM to SM", TRUE, FALSE},
    [MOVE_BROADCAST] = {"broadcast", FALSE, FALSE},
    [MOVE_DDR_TO_SM] = {"DDR to SM", FALSE, FALSE},
    [MOVE_DDR_TO_AM] = {"DDR to AM", FALSE, FALSE},
    [MOVE_AM_TO_DDR] = {"AM to DDR", FALSE, FALSE},
    [MOVE_AM_TO_GSM] = {"AM to GSM", FALSE, TRUE},
    [MOVE_GSM_TO_AM] = {"GSM to AM", TRUE, FALSE},
};

const char *move_kind_name(MoveKind kind) {
    g_assert(kind < N_MOVES);
    return move_kinds[kind].name;
}

Cluster *cluster_new(const Platform *platform, guint id, BlockListener listener, gpointer data) {
    const ClusterSpec *spec = &platform->cluster;
    Cluster *cluster = g_new(Cluster, 1);

    *cluster = (Cluster){
        .platform = platform,
        .id = id,
        .host = topology_host(id),
        .gsm = topology_gsm_host(),
        .capacity = {[TIER_SM] = spec->sm_bytes,
                     [TIER_AM] = spec->am_bytes,
                     [TIER_GSM] = spec->gsm_bytes,
                     [TIER_DDR] = spec->ddr_usable_bytes},
        .listener = listener,
        .listener_data = data,
    };
    return cluster;
}

void cluster_free(Cluster *cluster) {
    g_free(cluster);
}

const ClusterCounts *cluster_counts(const Cluster *cluster) {
    return &cluster->counts;
}

const Platform *cluster_platform(const Cluster *cluster) {
    return cluster->platform;
}

gboolean cluster_reserve(Cluster *cluster, MemoryTier tier, double bytes, const char *what,
                         GError **error) {
    g_assert(tier < N_TIERS && bytes >= 0);
    double free_bytes = cluster->capacity[tier] - cluster->reserved[tier];

    if (bytes <= free_bytes) {
        cluster->reserved[tier] += bytes;
        return TRUE;
    }
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                "%s of cluster %u: '%s' needs %.0f bytes but %.0f of %.0f are free",
                memory_tier_name(tier), cluster->id, what, bytes, MAX(free_bytes, 0),
                cluster->capacity[tier]);
    return FALSE;
}

void cluster_release(Cluster *cluster, MemoryTier tier, double bytes) {
    g_assert(tier < N_TIERS && bytes >= 0 && bytes <= cluster->reserved[tier]);
    cluster->reserved[tier] -= bytes;
}

static void report(const Cluster *cluster, const BlockEvent *event) {
    if (cluster->listener)
        cluster->listener(cluster->listener_data, event);
}

/* T_create + T_launch (THInfer eq. 10). */
void cluster_launch(Cluster *cluster) {
    const HthreadsSpec *hthreads = &cluster->platform->hthreads;
    double start_s = engine_now();

    engine_sleep_until(start_s + hthreads->create_group_s + hthreads->launch_group_s);
    cluster->counts.launches++;
    cluster->counts.launch_s += engine_now() - start_s;
    report(cluster, &(BlockEvent){.label = "launch", .start_s = start_s, .end_s = engine_now()});
}

static void pass(Cluster *cluster, const Move *move) {
    sg_host_t from = move_kinds[move->kind].from_gsm ? cluster->gsm : cluster->host;
    sg_host_t to = move_kinds[move->kind].to_gsm ? cluster->gsm : cluster->host;
    double start_s = engine_now();

    engine_transfer_wait(engine_transfer_begin(from, to, move->bytes));
    cluster->counts.moves[move->kind]++;
    cluster->counts.bytes[move->kind] += (double)move->bytes;
    cluster->counts.lane_s += engine_now() - start_s;
    report(cluster, &(BlockEvent){.on_lane = TRUE,
                                  .label = move->label,
                                  .start_s = start_s,
                                  .end_s = engine_now(),
                                  .bytes = move->bytes});
}

void cluster_move(Cluster *cluster, const Move *moves, guint n_moves) {
    for (guint i = 0; i < n_moves; i++)
        if (moves[i].bytes > 0)
            pass(cluster, &moves[i]);
}

/* SimGrid does not say when an activity ended, only when it was waited for, so the computing's end
 * is known from its start: nothing else computes on a cluster while an operator holds it. */
void cluster_overlap(Cluster *cluster, double cycles, const char *label, const Move *moves,
                     guint n_moves) {
    g_assert(cycles >= 0);
    if (cycles == 0) {
        cluster_move(cluster, moves, n_moves);
        return;
    }
    double start_s = engine_now();
    double seconds = cycles / cluster->platform->cluster.clock_hz;
    EngineExec *computing =
        engine_exec_begin(cluster->host, seconds * sg_host_get_speed(cluster->host));

    cluster_move(cluster, moves, n_moves);
    engine_exec_wait(computing);
    cluster->counts.compute_s += seconds;
    report(cluster, &(BlockEvent){.label = label, .start_s = start_s, .end_s = start_s + seconds});
}

void cluster_count_macs(Cluster *cluster, double macs) {
    cluster->counts.macs += macs;
}
