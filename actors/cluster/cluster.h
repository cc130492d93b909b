/* One MT-3000 cluster at work, block by block: hthreads groups, the DMA engine with its one lane of
 * transfers, and the memory tiers with their capacities. Operators are written against this
 * (gemm.c, attention.c, …); all of it is called from the body of an actor and passes simulated
 * time.
 *
 * The lane carries one transfer after another; each is a SimGrid flow on the cluster's DDR link or
 * its GSM link, so whatever else uses them (KV migration, another operator) shares their bandwidth.
 * What the 24 DSPs compute meanwhile lasts as long as the busiest of them: one activity stands for
 * all, and a test holds that against 24 actors. */
#ifndef ACTORS_CLUSTER_CLUSTER_H
#define ACTORS_CLUSTER_CLUSTER_H

#include "platforms/platform.h"

typedef enum { TIER_SM, TIER_AM, TIER_GSM, TIER_DDR, N_TIERS } MemoryTier;
const char *memory_tier_name(MemoryTier tier); /* "SM" … */

typedef enum {
    MOVE_DDR_TO_GSM,
    MOVE_GSM_TO_SM, /* the sum over DSPs, on the GSM link */
    MOVE_BROADCAST, /* DDR to the AM of every DSP: its bytes cross the DDR link once */
    MOVE_DDR_TO_SM,
    MOVE_DDR_TO_AM,
    MOVE_AM_TO_DDR,
    MOVE_AM_TO_GSM,
    MOVE_GSM_TO_AM,
    N_MOVES
} MoveKind;
const char *move_kind_name(MoveKind kind);

/* One transfer on the lane. */
typedef struct Move {
    MoveKind kind;
    guint64 bytes;     /* summed over the DSPs; a broadcast's once */
    const char *label; /* "X2", "W2", "Y2 out", … static text, for timelines */
} Move;

/* What a run did, for reports and tests. Seconds are of the whole run so far. */
typedef struct ClusterCounts {
    guint64 launches;
    guint64 moves[N_MOVES];
    double bytes[N_MOVES];
    double launch_s;  /* creating and launching thread groups */
    double compute_s; /* DSPs busy */
    double lane_s;    /* lane busy */
    double macs;
} ClusterCounts;

/* A stretch of time on one of the two lines of a block-level timeline. */
typedef struct BlockEvent {
    gboolean on_lane; /* otherwise computing (or launching) */
    const char *label;
    double start_s, end_s;
    guint64 bytes; /* on the lane */
} BlockEvent;
typedef void (*BlockListener)(gpointer data, const BlockEvent *event);

typedef struct Cluster Cluster;
/* Cluster 'id' of the platform; topology_build must have run. 'listener' may be NULL. */
Cluster *cluster_new(const Platform *platform, guint id, BlockListener listener, gpointer data);
void cluster_free(Cluster *cluster);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Cluster, cluster_free)
const ClusterCounts *cluster_counts(const Cluster *cluster);
const Platform *cluster_platform(const Cluster *cluster);

/* Books 'bytes' of a tier (of one DSP for SM and AM, of the cluster for GSM and DDR). FALSE and an
 * error naming the tier, what asked, the bytes asked and the bytes there when they do not fit. */
gboolean cluster_reserve(Cluster *cluster, MemoryTier tier, double bytes, const char *what,
                         GError **error);
void cluster_release(Cluster *cluster, MemoryTier tier, double bytes);

/* Creates and launches a thread group (THInfer eq. 10: T_create + T_launch). */
void cluster_launch(Cluster *cluster);
/* Passes the transfers one after another, with nothing computed meanwhile. */
void cluster_move(Cluster *cluster, const Move *moves, guint n_moves);
/* The DSPs compute for 'cycles' (of the busiest one) while the lane passes the transfers; returns
 * when both have ended. 'label' names the computing. */
void cluster_overlap(Cluster *cluster, double cycles, const char *label, const Move *moves,
                     guint n_moves);
void cluster_count_macs(Cluster *cluster, double macs);

#endif
