#include "policies/fusion.h"

#include "policies/fusion_layout.h"
#include <string.h>

static const char *const barrier_names[N_BARRIER_KINDS] = {
    [BARRIER_NONE] = "none",   [BARRIER_NETWORK] = "network", [BARRIER_LOW] = "low",
    [BARRIER_HEADS] = "heads", [BARRIER_KEPT] = "kept",       [BARRIER_SHARED] = "shared",
    [BARRIER_ORDER] = "order", [BARRIER_SM] = "sm",           [BARRIER_AM] = "am",
    [BARRIER_GSM] = "gsm",
};

const char *barrier_kind_name(BarrierKind kind) {
    g_assert((guint)kind < N_BARRIER_KINDS);
    return barrier_names[kind];
}

/* A unit in the making. It is called by its first operator. */
typedef struct Group {
    GArray *ops; /* guint, ascending; NULL once joined into another */
    gboolean dense;
} Group;

typedef struct Pass {
    const FusionInput *input;
    guint n_ops;
    GPtrArray *readers; /* by operator: GArray of guint, ascending */
    Group *groups;      /* by first operator */
    guint *group_of;    /* by operator */
} Pass;

static void free_array(gpointer array) {
    g_array_unref(array);
}

static const GArray *readers_of(const Pass *pass, guint op) {
    return g_ptr_array_index(pass->readers, op);
}

static void find_readers(Pass *pass) {
    const OpList *list = pass->input->list;
    pass->readers = g_ptr_array_new_with_free_func(free_array);
    for (guint i = 0; i < pass->n_ops; i++)
        g_ptr_array_add(pass->readers, g_array_new(FALSE, FALSE, sizeof(guint)));
    for (guint i = 0; i < pass->n_ops; i++) {
        const Operand *operands = op_list_operands(list, i);
        for (guint j = 0; j < op_list_get(list, i)->n_operands; j++)
            if (operands[j].producer != OPERAND_OUTSIDE)
                g_array_append_val(g_ptr_array_index(pass->readers, operands[j].producer), i);
    }
}

static void pass_begin(Pass *pass, const FusionInput *input) {
    *pass = (Pass){.input = input, .n_ops = input->list->ops->len};
    find_readers(pass);
    pass->groups = g_new0(Group, pass->n_ops);
    pass->group_of = g_new0(guint, pass->n_ops);
    for (guint i = 0; i < pass->n_ops; i++) {
        pass->groups[i].ops = g_array_new(FALSE, FALSE, sizeof(guint));
        g_array_append_val(pass->groups[i].ops, i);
        pass->groups[i].dense = fusion_is_dense(&op_list_get(input->list, i)->op);
        pass->group_of[i] = i;
    }
}

static void pass_end(Pass *pass) {
    for (guint i = 0; i < pass->n_ops; i++)
        g_clear_pointer(&pass->groups[i].ops, g_array_unref);
    g_ptr_array_unref(pass->readers);
    g_free(pass->groups);
    g_free(pass->group_of);
}

/* Marks every group that reads what the operators of 'group' make, 'except' left out. */
static void visit_readers(const Pass *pass, guint group, guint except, gboolean *visited,
                          GArray *to_visit) {
    const GArray *ops = pass->groups[group].ops;
    for (guint i = 0; i < ops->len; i++) {
        const GArray *readers = readers_of(pass, g_array_index(ops, guint, i));
        for (guint j = 0; j < readers->len; j++) {
            guint next = pass->group_of[g_array_index(readers, guint, j)];
            if (next == except || visited[next])
                continue;
            visited[next] = TRUE;
            g_array_append_val(to_visit, next);
        }
    }
}

/* TRUE when 'to' waits for 'from' by way of a third group: the two in one would wait for
 * themselves. */
static gboolean waits_indirectly(const Pass *pass, guint from, guint to) {
    g_autofree gboolean *visited = g_new0(gboolean, pass->n_ops);
    g_autoptr(GArray) to_visit = g_array_new(FALSE, FALSE, sizeof(guint));
    visited[from] = TRUE;
    visit_readers(pass, from, to, visited, to_visit);
    for (guint i = 0; i < to_visit->len && !visited[to]; i++)
        visit_readers(pass, g_array_index(to_visit, guint, i), G_MAXUINT, visited, to_visit);
    return visited[to];
}

static gint compare_ops(gconstpointer a, gconstpointer b) {
    guint first = *(const guint *)a, second = *(const guint *)b;
    return (first > second) - (first < second);
}

static GArray *joined_ops(const Pass *pass, guint a, guint b) {
    const GArray *first = pass->groups[a].ops, *second = pass->groups[b].ops;
    GArray *ops = g_array_sized_new(FALSE, FALSE, sizeof(guint), first->len + second->len);
    g_array_append_vals(ops, first->data, first->len);
    g_array_append_vals(ops, second->data, second->len);
    g_array_sort(ops, compare_ops);
    return ops;
}

static gboolean on_network(const Pass *pass, guint group) {
    return op_list_get(pass->input->list, group)->on_network;
}

/* All operators of a group have the same heads, or none. */
static guint64 heads_of(const Pass *pass, guint group) {
    return op_list_get(pass->input->list, group)->op.heads;
}

/* Whether the result of 'producer' may pass inside a unit with 'reader'. A low operator that goes
 * before its reader may be read by others as well. */
static BarrierKind closes_loop(const Pass *pass, guint producer, guint reader) {
    guint from = pass->group_of[producer], to = pass->group_of[reader];
    const GArray *readers = readers_of(pass, producer);
    if (!pass->groups[from].dense)
        return g_array_index(readers, guint, 0) == reader ? BARRIER_NONE : BARRIER_SHARED;
    if (op_list_get(pass->input->list, producer)->kept)
        return BARRIER_KEPT;
    for (guint i = 0; i < readers->len; i++) {
        guint other = pass->group_of[g_array_index(readers, guint, i)];
        if (other != from && other != to)
            return BARRIER_SHARED;
    }
    return BARRIER_NONE;
}

static FusionBarrier capacity_barrier(const FusionLayout *layout, const ClusterSpec *cluster) {
    const GemmFootprint *asked = &layout->on_chip;
    switch (layout->lacking) {
    case BARRIER_SM:
        return (FusionBarrier){BARRIER_SM, asked->sm_bytes, cluster->sm_bytes};
    case BARRIER_AM:
        return (FusionBarrier){BARRIER_AM, asked->am_bytes, cluster->am_bytes};
    case BARRIER_GSM:
        return (FusionBarrier){BARRIER_GSM, asked->gsm_bytes, cluster->gsm_bytes};
    default:
        return (FusionBarrier){.kind = BARRIER_NONE};
    }
}

static FusionBarrier barrier_between(const Pass *pass, guint producer, guint reader) {
    guint from = pass->group_of[producer], to = pass->group_of[reader];
    if (from == to)
        return (FusionBarrier){.kind = BARRIER_NONE};
    if (on_network(pass, from) || on_network(pass, to))
        return (FusionBarrier){.kind = BARRIER_NETWORK};
    if (!pass->groups[from].dense && !pass->groups[to].dense)
        return (FusionBarrier){.kind = BARRIER_LOW};
    if (heads_of(pass, from) != heads_of(pass, to))
        return (FusionBarrier){.kind = BARRIER_HEADS};
    BarrierKind open = closes_loop(pass, producer, reader);
    if (open != BARRIER_NONE)
        return (FusionBarrier){.kind = open};
    if (waits_indirectly(pass, from, to) || waits_indirectly(pass, to, from))
        return (FusionBarrier){.kind = BARRIER_ORDER};
    g_autoptr(GArray) ops = joined_ops(pass, from, to);
    FusionLayout layout = fusion_layout(pass->input, ops);
    return capacity_barrier(&layout, pass->input->cluster);
}

/* Joins the units of a producer and its reader if nothing is in the way. */
static gboolean try_join(Pass *pass, guint producer, guint reader) {
    guint from = pass->group_of[producer], to = pass->group_of[reader];
    if (from == to || barrier_between(pass, producer, reader).kind != BARRIER_NONE)
        return FALSE;
    guint kept = MIN(from, to), gone = MAX(from, to);
    GArray *ops = joined_ops(pass, from, to);
    g_array_unref(pass->groups[kept].ops);
    g_clear_pointer(&pass->groups[gone].ops, g_array_unref);
    pass->groups[kept].ops = ops;
    pass->groups[kept].dense |= pass->groups[gone].dense;
    for (guint i = 0; i < ops->len; i++)
        pass->group_of[g_array_index(ops, guint, i)] = kept;
    return TRUE;
}

static gboolean is_dense(const Pass *pass, guint op) {
    return pass->groups[pass->group_of[op]].dense;
}

/* The nearest producer before 'nearer_than' that stands in a dense unit, or OPERAND_OUTSIDE. */
static guint nearest_producer(const Pass *pass, guint op, guint nearer_than) {
    const OpList *list = pass->input->list;
    const Operand *operands = op_list_operands(list, op);
    guint nearest = OPERAND_OUTSIDE;
    for (guint i = 0; i < op_list_get(list, op)->n_operands; i++) {
        guint producer = operands[i].producer;
        if (producer == OPERAND_OUTSIDE || producer >= nearer_than || !is_dense(pass, producer))
            continue;
        if (nearest == OPERAND_OUTSIDE || producer > nearest)
            nearest = producer;
    }
    return nearest;
}

/* "high [low]": low operators behind the high one whose result they alone read. */
static gboolean attach_after(Pass *pass) {
    gboolean joined = FALSE;
    for (guint op = 0; op < pass->n_ops; op++) {
        guint producer = op;
        while (!is_dense(pass, op) &&
               (producer = nearest_producer(pass, op, producer)) != OPERAND_OUTSIDE)
            joined |= try_join(pass, producer, op);
    }
    return joined;
}

/* "[low] high": from the last to the first, so that chains grow backwards. */
static gboolean attach_before(Pass *pass) {
    gboolean joined = FALSE;
    for (guint op = pass->n_ops; op-- > 0;) {
        const GArray *readers = readers_of(pass, op);
        if (is_dense(pass, op) || readers->len == 0)
            continue;
        guint first = g_array_index(readers, guint, 0);
        if (is_dense(pass, first))
            joined |= try_join(pass, op, first);
    }
    return joined;
}

/* Units with high operators, along what passes between them. */
static gboolean join_dense(Pass *pass) {
    gboolean joined = FALSE;
    for (guint op = 0; op < pass->n_ops; op++) {
        const GArray *readers = readers_of(pass, op);
        for (guint i = 0; i < readers->len; i++) {
            guint reader = g_array_index(readers, guint, i);
            if (is_dense(pass, op) && is_dense(pass, reader))
                joined |= try_join(pass, op, reader);
        }
    }
    return joined;
}

static void form_groups(Pass *pass) {
    gboolean joined = pass->input->fuse;
    while (joined) {
        joined = attach_after(pass);
        joined |= attach_before(pass);
        joined |= join_dense(pass);
    }
}

/* Off-chip bytes of one operator as a member of 'group'. */
static double bytes_in_group(const Pass *pass, guint op, guint group) {
    const ListedOp *listed = op_list_get(pass->input->list, op);
    const Operand *operands = op_list_operands(pass->input->list, op);
    double bytes = listed->op.weight_bytes;
    for (guint i = 0; i < listed->n_operands; i++) {
        guint producer = operands[i].producer;
        if (producer == OPERAND_OUTSIDE || pass->group_of[producer] != group)
            bytes += operands[i].bytes;
    }
    const GArray *readers = readers_of(pass, op);
    gboolean written = listed->kept || readers->len == 0;
    for (guint i = 0; i < readers->len; i++)
        written |= pass->group_of[g_array_index(readers, guint, i)] != group;
    return bytes + (written ? listed->op.bytes_out : 0.0);
}

static FusedUnit unit_of_group(const Pass *pass, guint group) {
    const GArray *ops = pass->groups[group].ops;
    FusionLayout layout = fusion_layout(pass->input, ops);
    FusedUnit unit = {.ops = g_memdup2(ops->data, ops->len * sizeof(guint)),
                      .n_ops = ops->len,
                      .dense = pass->groups[group].dense,
                      .on_network = on_network(pass, group),
                      .heads = MAX(heads_of(pass, group), 1),
                      .rows = layout.rows,
                      .on_chip = layout.on_chip,
                      .fits = layout.lacking == BARRIER_NONE};
    for (guint i = 0; i < ops->len && !unit.on_network; i++) {
        guint index = g_array_index(ops, guint, i);
        const Op *op = &op_list_get(pass->input->list, index)->op;
        unit.macs += op->macs;
        unit.bytes_apart += op->weight_bytes + op->bytes_in + op->bytes_out;
        unit.bytes_fused += bytes_in_group(pass, index, group);
    }
    return unit;
}

static gboolean waits_for_undone(const Pass *pass, guint group, const gboolean *done) {
    const GArray *ops = pass->groups[group].ops;
    for (guint i = 0; i < ops->len; i++) {
        guint op = g_array_index(ops, guint, i);
        const Operand *operands = op_list_operands(pass->input->list, op);
        for (guint j = 0; j < op_list_get(pass->input->list, op)->n_operands; j++) {
            guint producer = operands[j].producer;
            if (producer != OPERAND_OUTSIDE && pass->group_of[producer] != group &&
                !done[pass->group_of[producer]])
                return TRUE;
        }
    }
    return FALSE;
}

/* Of the units that wait for nothing, always the one that begins first in the list. */
static void order_units(const Pass *pass, Fusion *fusion) {
    g_autofree gboolean *done = g_new0(gboolean, pass->n_ops);
    guint first_open = 0;
    while (first_open < pass->n_ops) {
        guint group = first_open;
        while (pass->groups[group].ops == NULL || done[group] ||
               waits_for_undone(pass, group, done)) {
            group++;
            g_assert(group < pass->n_ops); /* joins make no circles */
        }
        FusedUnit unit = unit_of_group(pass, group);
        for (guint i = 0; i < unit.n_ops; i++)
            fusion->unit_of[unit.ops[i]] = fusion->units->len;
        g_array_append_val(fusion->units, unit);
        done[group] = TRUE;
        while (first_open < pass->n_ops &&
               (pass->groups[first_open].ops == NULL || done[first_open]))
            first_open++;
    }
}

static void clear_unit(gpointer unit) {
    g_free(((FusedUnit *)unit)->ops);
}

Fusion *fusion_new(const FusionInput *input) {
    Fusion *fusion = g_new0(Fusion, 1);
    fusion->units = g_array_new(FALSE, FALSE, sizeof(FusedUnit));
    g_array_set_clear_func(fusion->units, clear_unit);
    fusion->unit_of = g_new0(guint, input->list->ops->len);
    Pass pass;
    pass_begin(&pass, input);
    form_groups(&pass);
    order_units(&pass, fusion);
    pass_end(&pass);
    return fusion;
}

void fusion_free(Fusion *fusion) {
    if (!fusion)
        return;
    g_array_unref(fusion->units);
    g_free(fusion->unit_of);
    g_free(fusion);
}

const FusedUnit *fusion_unit(const Fusion *fusion, guint index) {
    g_assert(index < fusion->units->len);
    return &g_array_index(fusion->units, FusedUnit, index);
}

/* Sets the groups of 'pass' to the finished units. */
static void restore_groups(Pass *pass, const Fusion *fusion) {
    for (guint i = 0; i < fusion->units->len; i++) {
        const FusedUnit *unit = fusion_unit(fusion, i);
        Group *group = &pass->groups[unit->ops[0]];
        group->dense = unit->dense;
        for (guint j = 0; j < unit->n_ops; j++) {
            pass->group_of[unit->ops[j]] = unit->ops[0];
            if (j > 0) {
                g_array_append_val(group->ops, unit->ops[j]);
                g_clear_pointer(&pass->groups[unit->ops[j]].ops, g_array_unref);
            }
        }
    }
}

FusionBarrier fusion_barrier(const Fusion *fusion, const FusionInput *input, guint producer,
                             guint reader) {
    Pass pass;
    pass_begin(&pass, input);
    restore_groups(&pass, fusion);
    FusionBarrier barrier = barrier_between(&pass, producer, reader);
    pass_end(&pass);
    return barrier;
}

/* Runs of kernels that no communication interrupts, the last of them open at the end. */
static guint64 unified_launches(const Fusion *fusion, guint64 layers) {
    guint64 communications = 0;
    gboolean any_kernel = FALSE;
    for (guint i = 0; i < fusion->units->len; i++) {
        communications += fusion_unit(fusion, i)->on_network ? 1 : 0;
        any_kernel |= !fusion_unit(fusion, i)->on_network;
    }
    return any_kernel && layers > 0 ? 1 + layers * communications : 0;
}

guint64 fusion_launches(const Fusion *fusion, gboolean unified, guint64 layers) {
    if (unified)
        return unified_launches(fusion, layers);
    guint64 launches = 0;
    for (guint i = 0; i < fusion->units->len; i++) {
        const FusedUnit *unit = fusion_unit(fusion, i);
        launches += unit->on_network ? 0 : unit->heads;
    }
    return launches * layers;
}

static guint64 rounds_of(guint64 tasks, guint64 dsps) {
    return (tasks + dsps - 1) / dsps;
}

DspLoad fusion_dsp_load(guint64 heads, guint64 row_blocks, guint64 dsps, gboolean unified) {
    g_assert(heads > 0 && row_blocks > 0 && dsps > 0);
    guint64 together = unified ? heads * row_blocks : row_blocks;
    DspLoad load = {.tasks = heads * row_blocks, .busiest_dsps = MIN(together, dsps)};
    load.rounds = rounds_of(together, dsps) * (unified ? 1 : heads);
    load.busy = (double)load.tasks / ((double)load.rounds * (double)dsps);
    return load;
}
