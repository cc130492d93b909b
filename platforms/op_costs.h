/* What operators take on a cluster, as tables of simulated times. A table belongs to one operator
 * (its weights' shape, or attention's heads) and holds points over what varies from step to step:
 * rows of a Linear, new tokens and context of attention. Between points a time is linear; where the
 * operator's blocks make it step, points stand on both sides. Who fills the tables simulates; here
 * they are only looked up. */
#ifndef PLATFORMS_OP_COSTS_H
#define PLATFORMS_OP_COSTS_H

#include "platforms/platform.h"
#include "platforms/wafer_times.h"
#include "workloads/op_graph.h"

/* How kernels are made; all zero is the optimised way. */
typedef enum { OP_ATTENTION_MT, OP_ATTENTION_FLASH, OP_ATTENTION_UNFUSED } OpAttention;
typedef struct OpModes {
    gboolean reference; /* unblocked FP32 kernels, bound by the platform's reference_bandwidth */
    OpAttention attention;
    gboolean launch_each; /* a launch for each kernel, in attention for each head (THInfer eq. 11),
                             instead of one for each half of a layer */
    gboolean kv_concat;   /* the cache is made anew in every step, by appending to a copy */
    double layer_overhead_s; /* software of the framework, in each layer of a step */
} OpModes;

typedef enum {
    OP_COST_LINEAR,
    OP_COST_DECODE,  /* attention of one new token */
    OP_COST_PREFILL, /* … of any number */
    N_OP_COST_FAMILIES
} OpCostFamily;

/* The operator of a table, on one rank, and the part of it that the table covers. */
typedef struct OpCostKey {
    OpCostFamily family;
    DataType type;
    guint64 outputs, inputs;           /* LINEAR */
    gboolean x_on_chip, y_on_chip;     /* LINEAR: its input or result does not pass through DDR */
    guint64 heads, kv_heads, head_dim; /* attention */
    OpAttention attention;
    guint64 from, to; /* covered: rows of a LINEAR, contexts of attention, both ends included */
} OpCostKey;

/* The key of a LINEAR, or of an ATTENTION (DECODE or PREFILL, as its new tokens say; part by part,
 * it is unfused whatever 'attention' says); it covers nothing yet. */
OpCostKey op_cost_key(const Op *op, OpAttention attention);

typedef struct OpCostPoint {
    /* LINEAR: rows; attention: new tokens, 0 for a whole prompt with no past. Where rounds add up
     * and there is more than one: only what those beyond the first take behind it. */
    guint32 rows;
    guint32 context; /* attention: tokens after the new ones; LINEAR: 0 */
    guint64 picoseconds;
} OpCostPoint;

/* Attention of many rounds of row blocks: what one more round takes, in an operator over 'context'
 * tokens, is fixed_s + per_token_s · (tokens that its last row sees). */
typedef struct OpCostRound {
    guint32 context;
    double fixed_s, per_token_s;
} OpCostRound;

typedef struct OpCostTable {
    OpCostKey key;
    /* LINEAR: rows of a full block, by which the time goes on beyond 'to' as between to − period
     * and to; 0: nothing beyond. PREFILL: new tokens of a full round. */
    double period;
    guint lined_rounds; /* PREFILL: so many rounds have points, at least two */
    /* PREFILL: what a round takes depends on the tokens that it sees alone, not on the operator's
     * context, so that rounds can be added up. */
    gboolean additive;
    GArray *points; /* OpCostPoint, by rows, then by context */
    GArray *rounds; /* OpCostRound, by context; empty where more rounds cannot be, or add up */
} OpCostTable;

OpCostTable *op_cost_table_new(const OpCostKey *key);
OpCostTable *op_cost_table_copy(const OpCostTable *table);
void op_cost_table_free(OpCostTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OpCostTable, op_cost_table_free)
/* In the order of the points. 'seconds' is rounded to 1 ps. */
void op_cost_table_add(OpCostTable *table, guint32 rows, guint32 context, double seconds);

typedef struct OpCosts OpCosts;
OpCosts *op_costs_new(OpModes modes);
void op_costs_free(OpCosts *costs);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OpCosts, op_costs_free)
OpModes op_costs_modes(const OpCosts *costs);
/* Takes ownership of the units of a model on so many ranks. */
void op_costs_add_units(OpCosts *costs, ModelUnits *units);
/* Asking for what was not added is a programming error. */
const ModelUnits *op_costs_units(const OpCosts *costs, const Model *model, guint tp);
/* Takes ownership of the table. Of one operator, tables come in ascending order and without gaps.
 */
void op_costs_add(OpCosts *costs, OpCostTable *table);
guint op_costs_tables(const OpCosts *costs);
const OpCostTable *op_costs_table(const OpCosts *costs, guint index);
/* A wafer is known by its phases instead. Takes ownership of the times. */
void op_costs_take_wafer(OpCosts *costs, WaferTimes *times);
const WaferTimes *op_costs_wafer(const OpCosts *costs); /* NULL where there are none */
/* TRUE when both are of the same operator, whatever parts of it they cover. */
gboolean op_cost_same_operator(const OpCostKey *a, const OpCostKey *b);

/* Seconds of a LINEAR or ATTENTION, without launch. Asking for what no table covers is a
 * programming error. */
double op_costs_seconds(const OpCosts *costs, const Op *op);

/* Tables as text (op_cost_text.c), for files and between processes. It begins with what the times
 * depend on, so that a file is only believed if all of it is the same, and ends with a checksum. */
char *op_cost_identity(const OpCostKey *key, const Platform *platform); /* caller frees */
char *op_cost_table_text(const OpCostTable *table, const char *identity);
/* NULL and an error when the text is not a whole table of that identity. */
OpCostTable *op_cost_table_parse(const char *text, const OpCostKey *key, const char *identity,
                                 GError **error);
/* The name of a table's file: a hash of its identity. Caller frees. */
char *op_cost_file_name(const char *identity);

#endif
