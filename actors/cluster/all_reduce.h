/* A ring all-reduce between clusters, message by message: 2(n − 1) rounds in each of which every
 * rank sends a chunk to the next and waits for the one before (Patarasu & Yuan 2009). Adding the
 * chunks takes no time of its own. */
#ifndef ACTORS_CLUSTER_ALL_REDUCE_H
#define ACTORS_CLUSTER_ALL_REDUCE_H

#include "platforms/platform.h"

/* A message under way; 'rank' sends it. */
typedef struct RingMessage {
    guint rank;
    const char *label; /* "reduce", "gather" */
    double start_s, end_s;
    guint64 bytes;
} RingMessage;
typedef void (*RingListener)(gpointer data, const RingMessage *message);

/* All pointers are borrowed until the ring has ended. */
typedef struct AllReduce {
    const Platform *platform;
    const guint *clusters; /* in ring order */
    guint ranks;           /* at least 1 */
    guint64 bytes;         /* of each rank's vector */
    float *const *vectors; /* bytes / 4 elements each, summed in place; NULL: time only */
    RingListener listener; /* may be NULL */
    gpointer data;
} AllReduce;

typedef struct AllReduceReport {
    double seconds; /* until the last rank has all of the sum */
    guint64 messages;
    double bytes; /* sent, by all ranks */
} AllReduceReport;

/* Starts one actor a rank; 'report' is filled while the engine runs. */
void all_reduce_start(const AllReduce *all_reduce, AllReduceReport *report);

#endif
