/* The operators of a step: what one pipeline stage computes for one batch, as shapes, before any
 * machine is known. Devices turn them into seconds; actors run them. */
#ifndef WORKLOADS_OP_GRAPH_H
#define WORKLOADS_OP_GRAPH_H

#include "workloads/op_units.h"

typedef enum {
    OP_EMBEDDING, /* table look-up */
    OP_NORM,      /* RMSNorm */
    OP_LINEAR,    /* Y[m×n] = X[m×k] · W[k×n], shared weights: batched over requests */
    OP_ROPE,
    OP_ATTENTION,  /* one request: softmax(Q·Kᵀ)·V over its own KV cache */
    OP_ACTIVATION, /* SiLU · up */
    OP_ADD,        /* residual */
    OP_ALL_REDUCE, /* over the TP group: 'bytes_out' is the vector each rank holds */
    OP_MATMUL,     /* of activations, for each head: A[m×k] · B[k×n]; a part of attention */
    OP_SCALE,
    OP_MASK, /* adds the causal mask, which follows from the positions */
    OP_SOFTMAX,
    OP_SILU,
    OP_MUL,
    N_OP_KINDS
} OpKind;
const char *op_kind_name(OpKind kind);

typedef struct Op {
    OpKind kind;
    const char *name;        /* "q", "gate", … static text */
    guint64 m, n, k;         /* LINEAR: rows (tokens), outputs, inputs on this rank;
                                ATTENTION: m = new tokens, n = context after them, k = head_dim;
                                MATMUL: of one head; all others: the result is m×n, of each head
                                where there are heads */
    guint64 heads, kv_heads; /* ATTENTION and its parts: on this rank */
    gboolean apart;          /* ATTENTION: part by part, scores go through off-chip memory */
    DataType data_type;
    double macs;         /* multiply-accumulates on this rank; causal masks are honoured */
    double weight_bytes; /* read once a step whatever the batch */
    double bytes_in;     /* activations and KV read from off-chip memory */
    double bytes_out;    /* activations and KV written (ALL_REDUCE: size of the vector) */
} Op;

/* Operators executed as one kernel: intermediate tensors stay on chip. */
typedef struct FusionUnit {
    Op *ops; /* borrowed from the graph */
    gsize n_ops;
    guint64 launches; /* where every kernel is launched by itself; attention's for each head */
    guint64 unified_launches; /* where kernels share launches: 1 for the first of them */
} FusionUnit;

/* One request's part of a step. */
typedef struct Segment {
    guint32 new_tokens;  /* 1 in decode, the chunk in prefill */
    guint32 past_tokens; /* already in the KV cache */
} Segment;

typedef struct BatchShape {
    const Segment *segments;
    gsize n_segments;
    guint32 sampled; /* requests that need logits from this step: the rows of the LM head */
} BatchShape;

typedef struct OpGraph {
    GArray *ops;   /* Op, in execution order */
    GArray *units; /* FusionUnit over them, in order */
} OpGraph;

/* One layer for 'batch' on one rank: the operators of op_list_layer, but attention as one operator
 * a request, in the units found for that many rows. What stays on chip is neither read nor written;
 * off-chip bytes of a unit are those of its kernel. Kernels share two launches a layer, one for the
 * attention half and one for the feed-forward half (THInfer eq. 19). */
OpGraph *op_graph_layer(const ModelUnits *units, const BatchShape *batch);
/* The same layer for 'tokens' rows without its attention operators: what requests share. */
OpGraph *op_graph_layer_shared(const ModelUnits *units, guint64 tokens);
/* What only the first stage does (embedding: one unit), and only the last (final norm and LM head
 * on the sampled rows: one launch). No graph has operators or units for no rows. */
OpGraph *op_graph_embedding(const Model *model, const BatchShape *batch);
OpGraph *op_graph_head(const ModelUnits *units, const BatchShape *batch);
void op_graph_free(OpGraph *graph);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OpGraph, op_graph_free)

/* Single operators, for cost models that need no whole graph. A segment has at least one new token.
 * Linear: no bias. */
Op op_attention(const Model *model, Segment segment, guint tp);
/* Part by part: scores, scale, mask, softmax and sums, of which each reads the matrix of scores
 * that the one before wrote. */
Op op_attention_apart(const Model *model, Segment segment, guint tp);
/* The attention of one request in a graph: a unit of the one operator that '*op' becomes. */
FusionUnit op_graph_attention(const ModelUnits *units, Segment segment, Op *op);
Op op_linear(const char *name, guint64 m, guint64 n, guint64 k, DataType type);

#endif
