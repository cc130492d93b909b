/* Tables of operator costs with plain made-up times, for tests that need a device but no engine. */
#ifndef TESTS_UNIT_SYNTHETIC_COSTS_H
#define TESTS_UNIT_SYNTHETIC_COSTS_H

#include "platforms/device.h"
#include "policies/fusion_units.h"

#define SYNTHETIC_CONTEXTS 262144
#define SYNTHETIC_ROWS 1024 /* of a Linear's table, by which its time goes on beyond */

/* What the tables say (to 1 ps), with r rows or new tokens and c tokens of context:
 * Linear 1 us + r·outputs·inputs/10^12 s, attention 2 us + r·c·heads/10^11 s. */
static inline double synthetic_linear_s(const OpCostKey *key, double rows) {
    return 1e-6 + rows * (double)(key->outputs * key->inputs) * 1e-12;
}

static inline double synthetic_attention_s(const OpCostKey *key, double rows, double context) {
    return 2e-6 + rows * context * (double)key->heads * 1e-11;
}

static inline void synthetic_add(OpCosts *costs, OpCostKey key) {
    for (guint i = 0; i < op_costs_tables(costs); i++)
        if (op_cost_same_operator(&op_costs_table(costs, i)->key, &key))
            return;
    static const guint32 lines[] = {1, 2, SYNTHETIC_CONTEXTS};
    gboolean linear = key.family == OP_COST_LINEAR, prefill = key.family == OP_COST_PREFILL;
    key.from = 1;
    key.to = linear ? 2 * SYNTHETIC_ROWS : SYNTHETIC_CONTEXTS;
    OpCostTable *table = op_cost_table_new(&key);
    table->period = linear ? SYNTHETIC_ROWS : 2 * SYNTHETIC_CONTEXTS;
    table->lined_rounds = 2;
    for (guint32 rows = 1; linear && rows <= key.to; rows += (guint32)key.to - 1)
        op_cost_table_add(table, rows, 0, synthetic_linear_s(&key, rows));
    for (guint32 all = 1; prefill && all <= key.to; all *= 2) /* not straight, so at some points */
        op_cost_table_add(table, 0, all, synthetic_attention_s(&key, all, all));
    for (guint i = 0; !linear && i < (prefill ? G_N_ELEMENTS(lines) : 1); i++)
        for (guint end = 0; end < 2; end++) {
            guint32 context = end == 1 ? (guint32)key.to : lines[i];
            op_cost_table_add(table, lines[i], context,
                              synthetic_attention_s(&key, lines[i], context));
            if (context == key.to && end == 0)
                break;
        }
    op_costs_add(costs, table);
}

/* How a model is served, for whose operators tables are made up. */
typedef struct SyntheticModel {
    const Model *model;
    const ClusterSpec *cluster;
    guint tp;
    gboolean fuse;
} SyntheticModel;

static inline void synthetic_add_graph(OpCosts *costs, const OpGraph *graph) {
    for (guint i = 0; i < graph->ops->len; i++) {
        const Op *op = &g_array_index(graph->ops, Op, i);
        if (op->kind == OP_LINEAR || op->kind == OP_ATTENTION)
            synthetic_add(costs, op_cost_key(op, op_costs_modes(costs).attention));
    }
}

/* The model's units, and a table for every operator that they may have. */
static inline void synthetic_add_model(OpCosts *costs, const SyntheticModel *served) {
    static const AttentionPolicy attentions[] = {[OP_ATTENTION_UNFUSED] = ATTENTION_POLICY_UNFUSED,
                                                 [OP_ATTENTION_FLASH] = ATTENTION_POLICY_FLASH,
                                                 [OP_ATTENTION_MT] = ATTENTION_POLICY_MT};
    FusionUnitsInput input = {.model = served->model,
                              .cluster = served->cluster,
                              .tp = served->tp,
                              .fuse = served->fuse,
                              .attention = attentions[op_costs_modes(costs).attention]};
    ModelUnits *units = fusion_units_new(&input);
    const Segment ends[] = {{1, 0}, {2, 0}, {1, SYNTHETIC_CONTEXTS}, {2, SYNTHETIC_CONTEXTS}};
    BatchShape batch = {ends, G_N_ELEMENTS(ends), 0};
    g_autoptr(OpGraph) attending = op_graph_layer(units, &batch);

    op_costs_add_units(costs, units);
    synthetic_add_graph(costs, attending);
    for (guint i = 0; i < units->layer->len; i++) {
        const OpUnits *range = g_ptr_array_index(units->layer, i);
        g_autoptr(OpGraph) layer = op_graph_layer_shared(units, MIN(range->rows_to, 4096));
        synthetic_add_graph(costs, layer);
    }
    for (guint i = 0; i < units->head->len; i++) {
        const OpUnits *range = g_ptr_array_index(units->head, i);
        batch.sampled = (guint32)MIN(range->rows_to, 4096);
        g_autoptr(OpGraph) head = op_graph_head(units, &batch);
        synthetic_add_graph(costs, head);
    }
}

#endif
