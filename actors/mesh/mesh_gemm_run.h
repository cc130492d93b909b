/* What the kinds of GEMM over a mesh share; only for mesh_gemm*.c. Each kind is a program of steps
 * that every core goes through; the same program runs on the engine or, core by core and step by
 * step, on dates of its own (fast-forward), with the same additions in the same order. */
#ifndef ACTORS_MESH_MESH_GEMM_RUN_H
#define ACTORS_MESH_MESH_GEMM_RUN_H

#include "actors/mesh/mesh_gemm.h"

typedef struct GemmRun GemmRun;
typedef struct GemmCore GemmCore;

/* The tiles of one core, row-major without gaps; b[n×k] of TRANSPOSED likewise. */
typedef struct GemmTiles {
    const float *a, *b;
    float *c;
} GemmTiles;

/* In every step first all cores 'post', then all 'finish' (on the engine each core for itself): a
 * post may receive what was sent in steps before, a finish also what was posted in its own. */
typedef struct GemmRules {
    gboolean (*prepare)(GemmRun *run, GError **error); /* sets 'steps' and the cores' states */
    void (*take)(GemmCore *core);                      /* before the steps: core->tiles, if any */
    void (*post)(GemmCore *core, guint step);
    void (*finish)(GemmCore *core, guint step);
    /* In which order the cores go through a step while fast-forwarding; NULL: any will do. */
    void (*order)(const GemmRun *run, guint step, guint *cores);
    void (*settle)(GemmRun *run); /* gemm_out_settle of every path */
    void (*clear)(GemmRun *run);  /* also after a 'prepare' that failed */
} GemmRules;
extern const GemmRules gemm_ring_rules, gemm_panel_rules, gemm_transposed_rules;

/* One core's part in a run. */
struct GemmCore {
    GemmRun *run;
    MeshCore *core;
    double date;               /* fast-forward: how far it has come, in cycles */
    gboolean along_x, along_y; /* takes part in what moves along X (Y); on a folded mesh only the
                                  corner does in both */
    guint64 m, n;              /* rows and columns of its tile of C */
    const guint64 *heights;    /* of its tiles_y tiles, m in all */
    const guint64 *widths;     /* of its tiles_x tiles, n in all */
    guint64 k_x, k_y;          /* of its tile of A and of B */
    GemmTiles tiles;           /* numbers; or all NULL */
    double held_bytes;
    gpointer state; /* the kind's */
};

struct GemmRun {
    Mesh *mesh;
    const MeshSetup *setup;
    const MeshGemm *gemm;
    const GemmRules *rules;
    guint side;                         /* tiles_a_side */
    guint tiles_x, tiles_y;             /* of a core along X, along Y */
    guint64 *heights, *widths, *depths; /* of the tiles of m, n and k, by their part */
    guint steps;
    guint n_cores;
    GemmCore *cores; /* in the order of mesh_nth_core */
    gpointer shared; /* the kind's */
    gboolean forwarding;
    guint running; /* cores that have not returned */
};

/* mesh_gemm_run.c */
guint gemm_alignment_steps(const MeshGemm *gemm, guint side);
guint gemm_drain_steps(const MeshGemm *gemm, guint side);
/* Room for so many elements of the operands and so many sums in FP32, until the run is freed. */
gboolean gemm_hold(GemmCore *core, guint64 elements, guint64 sums, GError **error);
GemmRun *gemm_run_new(Mesh *mesh, const MeshGemm *gemm, GError **error);
void gemm_run_free(GemmRun *run);
GemmCore *gemm_run_core(const GemmRun *run, guint x, guint y);
/* All steps of all cores on dates of their own, and what they count. */
void gemm_run_forward(GemmRun *run);
/* All steps of one core through the engine. */
void gemm_run_steps(GemmCore *core);

/* mesh_gemm_clock.c: what a core does, on the engine or on its own date. All times are multiples of
 * 2^-10 cycles: their sums are then exact in any order, the engine's as well as a core's own. */
double gemm_round_cycles(double cycles);
typedef struct GemmMessage {
    guint tag;
    double sent;
    guint64 wavelets;
    guint hops, stages; /* that had led to it */
} GemmMessage;

/* A path to be opened. */
typedef struct GemmWay {
    GemmCore *from, *to;
    gboolean multicast;
    guint window; /* messages that may be under way on it at once, for fast-forwarding */
} GemmWay;

/* A path that a core sends on. */
typedef struct GemmOut {
    MeshPath *path; /* NULL: leads nowhere */
    MeshCore *from;
    guint receivers;
    guint window;
    GemmMessage *recent;        /* by tag */
    double left;                /* when the last one had left */
    guint64 messages, wavelets; /* sent while fast-forwarding */
} GemmOut;

gboolean gemm_out_open(GemmOut *out, const GemmWay *way, GError **error);
void gemm_out_clear(GemmOut *out);
void gemm_compute(GemmCore *core, double cycles);
void gemm_relay(GemmCore *core);
void gemm_send(GemmCore *core, GemmOut *out, const GemmMessage *message, gconstpointer payload);
void gemm_send_wait(GemmCore *core, GemmOut *out);
/* Of 'out', which ends or passes at 'core', the message with the tag. */
gconstpointer gemm_receive(GemmCore *core, const GemmOut *out, guint tag);
/* Whether it is here already: of messages that the core has not received, the next. */
gboolean gemm_arrived(const GemmCore *core, const GemmOut *out, guint tag);
/* What was sent while fast-forwarding is counted on the mesh. */
void gemm_out_settle(GemmOut *out);

/* mesh_gemm_tiles.c: numbers. Tiles are never changed once they exist, so messages hand on
 * references: g_rc_box of floats, row-major without gaps. */
float *gemm_tile_new(guint64 rows, guint64 columns);
/* Part of a matrix with rows of 'stride'. */
float *gemm_tile_copy(const float *from, guint64 stride, guint64 rows, guint64 columns);
/* To what a message of the type can say. */
void gemm_tile_round(float *tile, guint64 n, DataType type);
float *gemm_tile_keep(float *tile); /* NULL stays NULL */
void gemm_tile_drop(float *tile);
/* The tiles of a core out of, and its tile of C into, the whole matrices of 'gemm'. */
void gemm_tiles_load(GemmCore *core);
void gemm_tiles_store(GemmCore *core);
void gemm_tiles_clear(GemmCore *core);

#endif
