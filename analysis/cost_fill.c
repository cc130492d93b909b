#include "analysis/cost_fill.h"

#include "analysis/cost_points.h"
#include "analysis/cost_tables.h"
#include "platforms/device.h"

OpModes cost_fill_modes(const Policy *policy) {
    static const OpAttention attentions[] = {[ATTENTION_POLICY_UNFUSED] = OP_ATTENTION_UNFUSED,
                                             [ATTENTION_POLICY_FLASH] = OP_ATTENTION_FLASH,
                                             [ATTENTION_POLICY_MT] = OP_ATTENTION_MT};

    return (OpModes){.reference = policy->operators == OPERATORS_REFERENCE,
                     .apart = policy->fusion == FUSION_OFF,
                     .attention = attentions[policy->attention],
                     .launch_each = policy->launch == LAUNCH_PER_OPERATOR};
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

static void need_graph(GArray *needs, const OpGraph *graph, OpAttention attention, guint64 rows,
                       guint64 contexts) {
    for (guint i = 0; i < graph->ops->len; i++) {
        const Op *op = &g_array_index(graph->ops, Op, i);
        if (op->kind == OP_LINEAR)
            need_add(needs, op_cost_key(op, attention), rows);
        if (op->kind == OP_ATTENTION)
            need_add(needs, op_cost_key(op, attention), contexts);
    }
}

/* Prompts bring any number of rows to a stage; decoding a row for each slot. Logits are asked for
 * the ends of prompts and for decoding requests. */
static void need_stage(GArray *needs, const CostFillInput *input, const DeviceModel *device,
                       const ReplicaPlan *replica, guint index) {
    const Policy *policy = input->policy;
    gboolean decodes = replica->role == ROLE_DECODE;
    guint tp = replica->stages[index].tp;
    guint64 sampled =
        replica->role == ROLE_PREFILL ? policy->prefill.micro_batch : policy->decode.slots;
    OpAttention attention = op_costs_modes(device->costs).attention;
    const Segment segments[] = {{1, 0}, {2, 0}};
    BatchShape batch = {segments, decodes ? 1 : 2, 1};
    g_autoptr(OpGraph) layer = device_layer(device, input->model, &batch, tp);

    need_graph(needs, layer, attention, decodes ? policy->decode.slots : G_MAXUINT64,
               input->plan->max_context);
    if (index + 1 < replica->n_stages)
        return;
    g_autoptr(OpGraph) head = device_head(device, input->model, &batch, tp);
    need_graph(needs, head, attention, sampled, 0);
}

/* The tables in the order in which the plan asks for them: OpCostKey. */
static GArray *list_tables(const CostFillInput *input, const OpCosts *costs, GError **error) {
    DeviceModel device = device_model(input->platform, costs);
    g_autoptr(GArray) needs = g_array_new(FALSE, FALSE, sizeof(Need));
    g_autoptr(GArray) keys = g_array_new(FALSE, FALSE, sizeof(OpCostKey));

    for (guint i = 0; i < input->plan->n_replicas; i++)
        for (guint s = 0; s < input->plan->replicas[i].n_stages; s++)
            need_stage(needs, input, &device, &input->plan->replicas[i], s);
    for (guint i = 0; i < needs->len; i++) {
        const Need *need = &g_array_index(needs, Need, i);
        if (!cost_points_tables(&need->key, need->most, input->platform, keys, error))
            return NULL;
    }
    return g_steal_pointer(&keys);
}

OpCosts *cost_fill(const CostFillInput *input, GError **error) {
    g_autoptr(OpCosts) costs = op_costs_new(cost_fill_modes(input->policy));

    if (op_costs_modes(costs).reference)
        return g_steal_pointer(&costs);
    g_autoptr(GArray) keys = list_tables(input, costs, error);
    if (keys == NULL || !cost_tables_get(keys, input, costs, error))
        return NULL;
    return g_steal_pointer(&costs);
}
