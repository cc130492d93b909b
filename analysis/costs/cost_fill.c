#include "analysis/costs/cost_fill.h"

#include "analysis/costs/cost_points.h"
#include "analysis/costs/cost_tables.h"
#include "platforms/device.h"

OpModes cost_fill_modes(const Policy *policy) {
    static const OpAttention attentions[] = {[ATTENTION_POLICY_UNFUSED] = OP_ATTENTION_UNFUSED,
                                             [ATTENTION_POLICY_FLASH] = OP_ATTENTION_FLASH,
                                             [ATTENTION_POLICY_MT] = OP_ATTENTION_MT};

    return (OpModes){.reference = policy->operators == OPERATORS_REFERENCE,
                     .attention = attentions[policy->attention],
                     .launch_each = policy->launch == LAUNCH_PER_OPERATOR,
                     .kv_concat = policy->kv_cache == KV_CACHE_CONCAT,
                     .layer_overhead_s = policy->layer_overhead_s};
}

/* An operator and how many rows or tokens of context it may see. */
typedef struct Need {
    OpCostKey key;
    guint64 most;
} Need;

static void need_add(GArray *needs, OpCostKey key, guint64 most) {
    for (guint i = 0; i < needs->len; i++) {
        Need *known = &g_array_index(needs, Need, i);
        if (op_cost_same_operator(&known->key, &key)) {
            known->most = MAX(known->most, most);
            return;
        }
    }
    Need need = {key, most};
    g_array_append_val(needs, need);
}

/* Rows and contexts that a stage's steps may have. */
typedef struct StageNeed {
    GArray *needs; /* Need */
    OpAttention attention;
    guint64 rows, contexts;
} StageNeed;

static void need_linears(const StageNeed *stage, const OpGraph *graph, guint64 rows) {
    for (guint i = 0; i < graph->ops->len; i++) {
        const Op *op = &g_array_index(graph->ops, Op, i);
        if (op->kind == OP_LINEAR)
            need_add(stage->needs, op_cost_key(op, stage->attention), rows);
    }
}

/* The same product may be part of other units with more rows, and then move other bytes. */
static void need_layer(const StageNeed *stage, const ModelUnits *units) {
    guint64 from = 1;
    for (guint i = 0; i < units->layer->len && from <= stage->rows; i++) {
        const OpUnits *range = g_ptr_array_index(units->layer, i);
        g_autoptr(OpGraph) layer = op_graph_layer_shared(units, from);
        need_linears(stage, layer, MIN(range->rows_to, stage->rows));
        from = range->rows_to + 1;
    }
}

static void need_head(const StageNeed *stage, const ModelUnits *units, guint64 sampled) {
    guint64 from = 1;
    for (guint i = 0; i < units->head->len && from <= sampled; i++) {
        const OpUnits *range = g_ptr_array_index(units->head, i);
        BatchShape batch = {.sampled = (guint32)from};
        g_autoptr(OpGraph) head = op_graph_head(units, &batch);
        need_linears(stage, head, MIN(range->rows_to, sampled));
        from = range->rows_to + 1;
    }
}

/* As one operator up to where that fits, and beyond part by part. */
static void need_attention(const StageNeed *stage, const ModelUnits *units, guint32 new_tokens) {
    guint64 fused = MIN(units->most_fused_contexts, stage->contexts);
    Op whole = op_attention(units->model, (Segment){new_tokens, 0}, units->tp);
    Op apart = op_attention_apart(units->model, (Segment){new_tokens, 0}, units->tp);
    if (fused > 0)
        need_add(stage->needs, op_cost_key(&whole, stage->attention), fused);
    if (stage->contexts > fused)
        need_add(stage->needs, op_cost_key(&apart, stage->attention), stage->contexts);
}

/* Prompts bring any number of rows to a stage; decoding a row for each slot. Logits are asked for
 * the ends of prompts and for decoding requests. */
static void need_stage(GArray *needs, const CostFillInput *input, const OpCosts *costs,
                       const ReplicaPlan *replica, guint index) {
    const Policy *policy = input->policy;
    gboolean decodes = replica->role == ROLE_DECODE;
    const ModelUnits *units = op_costs_units(costs, input->model, replica->stages[index].tp);
    StageNeed stage = {.needs = needs,
                       .attention = op_costs_modes(costs).attention,
                       .rows = decodes ? policy->decode.slots : G_MAXUINT64,
                       .contexts = input->plan->max_context};

    need_layer(&stage, units);
    need_attention(&stage, units, 1);
    if (!decodes)
        need_attention(&stage, units, 2);
    if (index + 1 == replica->n_stages)
        need_head(&stage, units,
                  replica->role == ROLE_PREFILL ? policy->prefill.micro_batch
                                                : policy->decode.slots);
}

/* What a stage needs follows from its replica's role, its ranks and whether it is the last: the
 * replicas of a plan are mostly alike. */
static gboolean is_new_stage(GArray *seen, const ReplicaPlan *replica, guint index) {
    guint64 kind = ((guint64)replica->stages[index].tp << 8) + (guint64)replica->role * 2 +
                   (index + 1 == replica->n_stages);

    for (guint i = 0; i < seen->len; i++)
        if (g_array_index(seen, guint64, i) == kind)
            return FALSE;
    g_array_append_val(seen, kind);
    return TRUE;
}

/* The tables in the order in which the plan asks for them: OpCostKey. */
static GArray *list_tables(const CostFillInput *input, const OpCosts *costs, GError **error) {
    g_autoptr(GArray) needs = g_array_new(FALSE, FALSE, sizeof(Need));
    g_autoptr(GArray) keys = g_array_new(FALSE, FALSE, sizeof(OpCostKey));
    g_autoptr(GArray) seen = g_array_new(FALSE, FALSE, sizeof(guint64));

    for (guint i = 0; i < input->plan->n_replicas; i++) {
        const ReplicaPlan *replica = &input->plan->replicas[i];
        for (guint s = 0; s < replica->n_stages; s++)
            if (is_new_stage(seen, replica, s))
                need_stage(needs, input, costs, replica, s);
    }
    for (guint i = 0; i < needs->len; i++) {
        const Need *need = &g_array_index(needs, Need, i);
        if (!cost_points_tables(&need->key, need->most, input->platform, keys, error))
            return NULL;
    }
    return g_steal_pointer(&keys);
}

/* Once for each number of ranks that a stage has. */
static void add_units(const CostFillInput *input, OpCosts *costs) {
    g_autoptr(GArray) known = g_array_new(FALSE, FALSE, sizeof(guint));

    for (guint i = 0; i < input->plan->n_replicas; i++)
        for (guint s = 0; s < input->plan->replicas[i].n_stages; s++) {
            guint tp = input->plan->replicas[i].stages[s].tp, j = 0;
            while (j < known->len && g_array_index(known, guint, j) != tp)
                j++;
            if (j < known->len)
                continue;
            g_array_append_val(known, tp);
            FusionUnitsInput question = {.model = input->model,
                                         .cluster = &input->platform->cluster,
                                         .tp = tp,
                                         .fuse = input->policy->fusion == FUSION_ON,
                                         .attention = input->policy->attention};
            op_costs_add_units(costs, cost_memo_units(input->memo, &question));
        }
}

OpCosts *cost_fill(const CostFillInput *input, GError **error) {
    g_autoptr(OpCosts) costs = op_costs_new(cost_fill_modes(input->policy));

    if (input->platform->kind == DEVICE_WAFER)
        return g_steal_pointer(&costs); /* it has phases, and those are not filled here */
    add_units(input, costs);
    if (op_costs_modes(costs).reference || input->platform->kind == DEVICE_GPU)
        return g_steal_pointer(&costs);
    g_autoptr(GArray) keys = list_tables(input, costs, error);
    if (keys == NULL || !cost_tables_get(keys, input, costs, error))
        return NULL;
    return g_steal_pointer(&costs);
}
