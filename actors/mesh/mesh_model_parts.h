/* Private to mesh_model: what its cores share and what each of them holds. */
#ifndef ACTORS_MESH_MESH_MODEL_PARTS_H
#define ACTORS_MESH_MESH_MODEL_PARTS_H

#include "actors/mesh/mesh_gemm.h"
#include "actors/mesh/mesh_model.h"
#include "actors/mesh/mesh_reduce.h"

/* How the model's widths are divided; the same for every core. */
typedef struct ModelWidths {
    guint side;
    gsize hidden, ffn, vocab;
    gsize head_dim, heads, kv_heads; /* heads: of a column of cores */
    gsize q, kv;                     /* columns of Q, and of K and V, of a column of cores */
} ModelWidths;

/* The loops and sums for prompts of one length. */
typedef struct PromptPlan {
    guint tokens;
    MeshMultiplier *q, *kv, *out, *up, *down;
    MeshReducer *norm; /* along X, a sum of squares a token */
} PromptPlan;

/* Sums of decoding, by what they are for; along Y unless said. */
typedef enum {
    SUM_NORM,
    SUM_QKV,
    SUM_MAXIMA, /* every row's maximum in a place of its own */
    SUM_WEIGHTS,
    SUM_ATTENDED,
    SUM_HIDDEN, /* along X */
    SUM_GATE_UP,
    SUM_LOGITS,
    N_SUMS
} DecodeSum;

typedef struct ModelRun {
    MeshModelSetup *setup;
    Mesh *mesh;
    ModelWidths widths;
    GArray *prompts; /* PromptPlan, by length */
    MeshReducer *sums[N_SUMS];
    /* Paths by the core (in order of rows) or the row or column that they begin in. */
    MeshPath **kv_ring;                  /* to the next core of the ring along Y */
    MeshPath **kv_up;                    /* to the core above */
    MeshPath **to_diagonal;              /* from the last row to core (x, x) */
    MeshPath **row_left, **row_right;    /* from core (y, y) to its whole row */
    MeshPath **logits_home;              /* from row 0 to core (0, 0) */
    MeshPath *token_along, **token_down; /* from core (0, 0) along row 0, then down the columns */
    float *logits;                       /* core (0, 0)'s */
    guint32 token;                       /* that it has sampled */
} ModelRun;

/* Tiles of a layer's weights on a core, FP32. Of B[k×n] the k tile of its row and the n tile of its
 * column; 'out' and 'down' twice: as prompts need them, and as decoding does, with the k tile of
 * the column and the n tile of the row. */
typedef struct LayerTiles {
    float *q, *k, *v, *out, *gate, *up, *down;
    float *out_turned, *down_turned;
    float *q_bias, *k_bias, *v_bias;   /* of the column, or NULL */
    float *input_norm_x, *post_norm_x; /* gains of the column's part of the hidden vector … */
    float *input_norm_y, *post_norm_y; /* … and of the row's */
    GArray *keys, *values;             /* guint16: tokens × kv */
} LayerTiles;

typedef struct ModelCore {
    ModelRun *run;
    MeshCore *core;
    LayerTiles *layers;
    float *head; /* hidden tile of the row × vocabulary tile of the column */
    float *final_norm;
    guint64 *kv_rows; /* tokens of KV that each row of cores holds */
    float *sent;      /* its part of a vector that others still read */
} ModelCore;

/* A stretch of a length over the mesh's side. */
typedef struct Stretch {
    gsize begin, size;
} Stretch;
Stretch model_stretch(const ModelRun *run, gsize length, guint place);

/* Weights of a core out of the checkpoint. */
void model_tiles_load(ModelCore *state);
void model_tiles_clear(ModelCore *state);

/* sum of squares → RMSNorm's factor. */
float model_norm_factor(const Model *model, float squares);
/* 1/√head_dim, by which scores are scaled. */
float model_score_scale(const ModelRun *run);
/* Passes the time of 'rows' vector operations of 'n' elements in FP32. */
void model_pass_vectors(const ModelCore *state, gsize rows, gsize n);

/* The prompt through all layers; leaves its KV in place and the last token's hidden vector in 'x':
 * the part of the core's row. */
void model_prompt(ModelCore *state, const MeshModelRequest *request, const PromptPlan *plan,
                  float *x);
/* One token at 'position', its embedding in 'x': through all layers, in place. */
void model_decode(ModelCore *state, guint position, float *x);
/* The next token, which every core gets to know. */
guint32 model_sample(ModelCore *state, const MeshModelRequest *request, guint position,
                     const float *x);

#endif
