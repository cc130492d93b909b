#include "policies/fusion_units.h"

#include "policies/attention_blocks.h"
#include "policies/fusion.h"

/* --- one list in its units */

typedef struct Placing {
    const OpList *list;
    const Fusion *fusion;
    UnitOp *places; /* by operator */
} Placing;

static const Op *op_at(const Placing *placing, guint op) {
    return &op_list_get(placing->list, op)->op;
}

static gboolean is_inside(const Placing *placing, guint producer, guint reader) {
    return producer != OPERAND_OUTSIDE &&
           placing->fusion->unit_of[producer] == placing->fusion->unit_of[reader];
}

/* Read is what other units made, written what they or later steps need. */
static void place_op(const Placing *placing, guint op) {
    const ListedOp *listed = op_list_get(placing->list, op);
    const Operand *operands = op_list_operands(placing->list, op);
    UnitOp *place = &placing->places[op];
    g_assert(listed->n_operands <= 8 * sizeof place->read);
    for (guint i = 0; i < listed->n_operands; i++) {
        guint producer = operands[i].producer;
        if (!is_inside(placing, producer, op))
            place->read |= 1u << i;
        if (producer != OPERAND_OUTSIDE && !is_inside(placing, producer, op))
            placing->places[producer].written = TRUE;
    }
    place->op = op;
    place->written |= listed->kept || listed->on_network;
}

/* The last of the producers of 'op' in its unit, or OPERAND_OUTSIDE. */
static guint producer_inside(const Placing *placing, guint op) {
    const Operand *operands = op_list_operands(placing->list, op);
    guint last = OPERAND_OUTSIDE;
    for (guint i = 0; i < op_list_get(placing->list, op)->n_operands; i++)
        if (is_inside(placing, operands[i].producer, op) &&
            (last == OPERAND_OUTSIDE || operands[i].producer > last))
            last = operands[i].producer;
    return last;
}

/* The low operator at the head of what feeds Linear 'op' in its unit reads by way of its kernel. */
static void carry_input(const Placing *placing, guint op) {
    UnitOp *linear = &placing->places[op];
    guint first = producer_inside(placing, op);
    if (first == OPERAND_OUTSIDE || linear->read != 0)
        return;
    for (guint next = first; next != OPERAND_OUTSIDE; next = producer_inside(placing, next)) {
        if (op_at(placing, next)->kind == OP_LINEAR)
            return;
        first = next;
    }
    UnitOp *low = &placing->places[first];
    double bytes = op_list_operands(placing->list, op)[0].bytes;
    if (low->read != 1 || op_list_operands(placing->list, first)[0].bytes != bytes)
        return;
    low->read = 0;
    linear->read = 1;
}

/* What low operator 'op' writes, the kernel of the Linear writes whose result it has changed. */
static void carry_output(const Placing *placing, guint op) {
    UnitOp *low = &placing->places[op];
    guint from = producer_inside(placing, op);
    while (from != OPERAND_OUTSIDE && op_at(placing, from)->kind != OP_LINEAR)
        from = producer_inside(placing, from);
    if (!low->written || from == OPERAND_OUTSIDE || placing->places[from].written ||
        op_at(placing, from)->bytes_out != op_at(placing, op)->bytes_out)
        return;
    low->written = FALSE;
    placing->places[from].written = TRUE;
}

static void place_all(const Placing *placing) {
    guint n = placing->list->ops->len;
    for (guint op = 0; op < n; op++)
        place_op(placing, op);
    for (guint op = 0; op < n; op++)
        if (op_at(placing, op)->kind == OP_LINEAR)
            carry_input(placing, op);
    for (guint op = n; op-- > 0;)
        if (op_at(placing, op)->kind != OP_LINEAR && op_at(placing, op)->heads == 0)
            carry_output(placing, op);
}

/* In the order of the units, attention by its first operator. */
static OpUnits *units_of(const OpList *list, const Fusion *fusion, guint64 rows) {
    g_autofree UnitOp *places = g_new0(UnitOp, list->ops->len);
    Placing placing = {list, fusion, places};
    OpUnits *units = op_units_new(rows);
    gboolean attended = FALSE;
    place_all(&placing);
    for (guint i = 0; i < fusion->units->len; i++) {
        const FusedUnit *unit = fusion_unit(fusion, i);
        for (guint j = 0; j < unit->n_ops; j++) {
            UnitOp place = places[unit->ops[j]];
            gboolean attends = op_at(&placing, place.op)->heads > 0;
            if (attends && attended)
                continue;
            attended |= attends;
            place.begins_unit = j == 0;
            g_array_append_val(units->ops, place);
        }
    }
    return units;
}

/* --- over rows */

typedef OpList *(*ListOfRows)(const FusionUnitsInput *input, guint64 rows);

static OpList *layer_of_rows(const FusionUnitsInput *input, guint64 rows) {
    Segment all = {.new_tokens = (guint32)rows};
    BatchShape batch = {.segments = &all, .n_segments = 1};
    return op_list_layer(input->model, &batch, input->tp);
}

static OpList *head_of_rows(const FusionUnitsInput *input, guint64 rows) {
    return op_list_head(input->model, rows, input->tp);
}

static OpUnits *units_at(const FusionUnitsInput *input, ListOfRows list_of, guint64 rows) {
    g_autoptr(OpList) list = list_of(input, rows);
    FusionInput question = {.list = list, .cluster = input->cluster, .fuse = input->fuse};
    g_autoptr(Fusion) fusion = fusion_new(&question);
    return units_of(list, fusion, rows);
}

/* Widens 'units' to the last rows before 'beyond', which differ from them, that do not. */
static void widen(const FusionUnitsInput *input, ListOfRows list_of, OpUnits *units,
                  guint64 beyond) {
    while (beyond - units->rows_to > 1) {
        guint64 middle = units->rows_to + (beyond - units->rows_to) / 2;
        g_autoptr(OpUnits) between = units_at(input, list_of, middle);
        if (op_units_same(between, units))
            units->rows_to = middle;
        else
            beyond = middle;
    }
}

/* Blocks grow with the rows up to Mg and then no more. Units that the rows at both ends of an
 * octave have are taken for those of all rows between. */
static void find_ranges(const FusionUnitsInput *input, ListOfRows list_of, GPtrArray *ranges) {
    guint64 most = gemm_blocks_paper(input->model->data_type).mg;
    OpUnits *units = units_at(input, list_of, 1);
    for (guint64 rows = 2; units->rows_to < most; rows = MIN(2 * rows, most)) {
        g_autoptr(OpUnits) end = units_at(input, list_of, rows);
        while (!op_units_same(units, end)) {
            widen(input, list_of, units, rows);
            g_ptr_array_add(ranges, units);
            units = units_at(input, list_of, units->rows_to + 1);
        }
        units->rows_to = rows;
    }
    units->rows_to = G_MAXUINT64;
    g_ptr_array_add(ranges, units);
}

/* --- attention */
#define CONTEXT_STEP 256        /* K and V come by blocks of that many tokens */
#define CONTEXT_STEPS (1 << 14) /* as far as is looked: four million tokens */

static guint64 share_of(guint64 whole, guint parts) {
    return (whole + parts - 1) / parts;
}

/* Whether the pass makes one unit of attention's operators, and of nothing else. */
static gboolean is_one_unit(const FusionUnitsInput *input, Segment segment) {
    BatchShape batch = {.segments = &segment, .n_segments = 1};
    g_autoptr(OpList) list = op_list_layer(input->model, &batch, input->tp);
    FusionInput question = {.list = list, .cluster = input->cluster, .fuse = TRUE};
    g_autoptr(Fusion) fusion = fusion_new(&question);
    guint first = G_MAXUINT, parts = 0;
    for (guint op = 0; op < list->ops->len; op++) {
        if (op_list_get(list, op)->op.heads == 0)
            continue;
        first = parts == 0 ? op : first;
        parts++;
    }
    const FusedUnit *unit = fusion_unit(fusion, fusion->unit_of[first]);
    return unit->n_ops == parts && unit->fits;
}

static gboolean kernel_has_room(const FusionUnitsInput *input, Segment segment) {
    guint64 kv_heads = share_of(input->model->kv_heads, input->tp);
    AttentionProblem problem = {.units = kv_heads,
                                .group = share_of(input->model->heads, input->tp) / kv_heads,
                                .new_tokens = segment.new_tokens,
                                .context = (guint64)segment.past_tokens + segment.new_tokens,
                                .head_dim = input->model->head_dim,
                                .type = input->model->data_type};
    AttentionBlocks blocks;
    return attention_blocks(&problem, SCORES_ON_CHIP, input->cluster, &blocks, NULL);
}

static gboolean fuses_over(const FusionUnitsInput *input, guint64 steps) {
    guint32 context = (guint32)(steps * CONTEXT_STEP);
    Segment token = {1, context - 1}, prompt = {context, 0};
    return is_one_unit(input, token) && is_one_unit(input, prompt) &&
           kernel_has_room(input, token) && kernel_has_room(input, prompt);
}

/* A longer context takes more room. */
static guint64 most_fused_contexts(const FusionUnitsInput *input) {
    guint64 fitting = 0, beyond = 1;
    if (input->attention == ATTENTION_POLICY_UNFUSED)
        return 0;
    if (input->attention == ATTENTION_POLICY_FLASH)
        return G_MAXUINT64;
    while (beyond <= CONTEXT_STEPS && fuses_over(input, beyond)) {
        fitting = beyond;
        beyond *= 2;
    }
    if (beyond > CONTEXT_STEPS)
        return G_MAXUINT64;
    while (beyond - fitting > 1) {
        guint64 middle = fitting + (beyond - fitting) / 2;
        if (fuses_over(input, middle))
            fitting = middle;
        else
            beyond = middle;
    }
    return fitting * CONTEXT_STEP;
}

ModelUnits *fusion_units_new(const FusionUnitsInput *input) {
    ModelUnits *units = model_units_new(input->model, input->tp);
    find_ranges(input, layer_of_rows, units->layer);
    find_ranges(input, head_of_rows, units->head);
    units->most_fused_contexts = most_fused_contexts(input);
    return units;
}
