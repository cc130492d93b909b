/* Fusion: a layer's operators gathered into units that run as one kernel each, so that what passes
 * between them never leaves the chip (THInfer III.C.1). A unit is "[low] high [low]": around
 * operators of high arithmetic density stand the low ones that feed or follow them directly.
 *
 * The rules know no operator by name, only what the list says of each:
 *   density    high: it does multiply-accumulates; low: a few operations an element.
 *   distance   a low operator joins the unit of its nearest producer whose result nothing else
 *              reads; if there is none, that of the first reader of its own result, which then is
 *              spared its read (others still find it in off-chip memory).
 *              Two units with high operators join where nothing else needs what lies between.
 *   heads      what is handed out to DSPs by attention heads joins only its like.
 *   order      no join may make a unit wait for itself by way of another.
 *   capacity   the joined unit's blocks must fit SM, AM and GSM (see fusion_layout.h).
 * An operator that finds no unit stays one of its own. */
#ifndef POLICIES_FUSION_H
#define POLICIES_FUSION_H

#include "policies/gemm_blocks.h"
#include "workloads/op_list.h"

typedef struct FusedUnit {
    guint *ops; /* indices into the list, in execution order; owned by the fusion */
    guint n_ops;
    gboolean dense;        /* has a high-density operator */
    gboolean on_network;   /* one communication; not a kernel */
    guint64 heads;         /* launches of the unit when each head is one; 1 without heads */
    guint64 rows;          /* of the row block that a DSP works on */
    GemmFootprint on_chip; /* bytes of its blocks: SM and AM of a DSP, GSM of the cluster */
    gboolean fits;         /* a single operator may be too large for a machine; a join never is */
    double macs;
    double bytes_apart; /* off-chip, its operators one by one */
    double bytes_fused; /* off-chip, as a unit: what is made and read inside is not read, and not
                           written unless someone else needs it */
} FusedUnit;

typedef struct Fusion {
    GArray *units;  /* FusedUnit, in an order that respects every dependency */
    guint *unit_of; /* by operator */
} Fusion;

typedef struct FusionInput {
    const OpList *list;
    const ClusterSpec *cluster;
    gboolean fuse; /* FALSE: every operator is a unit */
} FusionInput;

Fusion *fusion_new(const FusionInput *input);
void fusion_free(Fusion *fusion);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Fusion, fusion_free)
const FusedUnit *fusion_unit(const Fusion *fusion, guint index);

/* Why a producer and its reader are not in one unit. */
typedef enum {
    BARRIER_NONE,
    BARRIER_NETWORK, /* one of them communicates */
    BARRIER_LOW,     /* neither unit has a high-density operator */
    BARRIER_HEADS,   /* one is handed out by heads, the other is not */
    BARRIER_KEPT,    /* the result is needed after the layer */
    BARRIER_SHARED,  /* others read it too */
    BARRIER_ORDER,   /* the unit would wait for itself */
    BARRIER_SM,      /* the tier is too small: 'asked_bytes' of 'capacity_bytes' */
    BARRIER_AM,
    BARRIER_GSM,
    N_BARRIER_KINDS
} BarrierKind;
const char *barrier_kind_name(BarrierKind kind); /* "kept", "gsm" … */

typedef struct FusionBarrier {
    BarrierKind kind;
    double asked_bytes, capacity_bytes;
} FusionBarrier;

/* What keeps the units of 'producer' and its reader apart; NONE when they are one. */
FusionBarrier fusion_barrier(const Fusion *fusion, const FusionInput *input, guint producer,
                             guint reader);

/* Thread-group launches of 'layers' such lists in a row. One by one: for each unit and each of its
 * heads. Unified: one for the complete graph, and one more after each communication, for which the
 * group must end (THInfer III.C.3; with tensor parallelism the two a layer of eq. 19). */
guint64 fusion_launches(const Fusion *fusion, gboolean unified, guint64 layers);

/* How busy the DSPs are with 'heads' × 'row_blocks' equal tasks, of which a DSP takes one a round.
 * One by one: a head at a time. Unified: all of them are handed out together. */
typedef struct DspLoad {
    guint64 tasks, rounds;
    guint64 busiest_dsps; /* with a task in the fullest round */
    double busy;          /* tasks / (rounds · DSPs) */
} DspLoad;
DspLoad fusion_dsp_load(guint64 heads, guint64 row_blocks, guint64 dsps, gboolean unified);

#endif
