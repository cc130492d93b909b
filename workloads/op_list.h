/* A layer's operators before any fusion, each with what it reads: what a fusion pass works on. */
#ifndef WORKLOADS_OP_LIST_H
#define WORKLOADS_OP_LIST_H

#include "workloads/op_graph.h"

/* How much of an operand must be there before an operator can begin a tile of its result. */
typedef enum {
    REACH_TILE,  /* the same tile: it works element by element */
    REACH_ROWS,  /* the tile's whole rows */
    REACH_WHOLE, /* all of it, since other rows are needed or other cores make parts of the rows */
} OperandReach;

#define OPERAND_OUTSIDE G_MAXUINT
typedef struct Operand {
    guint producer; /* the operator whose result it is, or OPERAND_OUTSIDE: the list's input */
    OperandReach reach;
    double bytes; /* read, when it comes from off-chip memory; of K and V: the whole cache */
} Operand;

typedef struct ListedOp {
    Op op;               /* as if alone: operands and result go through off-chip memory */
    guint first_operand; /* into the list's operands */
    guint n_operands;    /* without weights */
    gboolean kept;       /* the result is needed afterwards too: the layer's output, K and V */
    gboolean on_network; /* not a kernel: its operands and result lie in off-chip memory */
} ListedOp;

/* Operators before any fusion, each with what it reads; producers stand before their readers. */
typedef struct OpList {
    GArray *ops;      /* ListedOp */
    GArray *operands; /* Operand */
} OpList;

/* One layer operator by operator, as in THInfer figure 4: norm, Q, K and V projections with RoPE on
 * the first two; for each request scores, scale, mask, softmax and weights times V; output
 * projection, [all-reduce], residual; norm, gate, SiLU, up, product, down, [all-reduce], residual.
 * The matrices of scores go through memory whole, masked half included. Heads and widths that do
 * not divide by tp are rounded up. */
OpList *op_list_layer(const Model *model, const BatchShape *batch, guint tp);
/* Final norm and LM head on 'rows' rows. */
OpList *op_list_head(const Model *model, guint64 rows, guint tp);
/* An empty list, to be filled by op_list_add. */
OpList *op_list_new(void);
void op_list_free(OpList *list);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OpList, op_list_free)
/* Adds 'op' with its operands, whose bytes become its bytes_in; returns its index. */
guint op_list_add(OpList *list, Op op, const Operand *operands, guint n_operands);
const ListedOp *op_list_get(const OpList *list, guint index);
const Operand *op_list_operands(const OpList *list, guint index); /* n_operands of them */

#endif
