/* The fusion pass on lists that no model has: what it promises holds on any of them. */
#include "tests/unit/fusion_fixture.h"

static Op low_of(const char *name, guint64 rows, guint64 columns) {
    return (Op){.kind = OP_ADD,
                .name = name,
                .m = rows,
                .n = columns,
                .data_type = DATA_TYPE_FP16,
                .bytes_out = (double)(2 * rows * columns)};
}

/* Neighbours in the data need not be neighbours in the list. */
static void test_distance_is_that_of_the_data(void) {
    g_autoptr(OpList) list = op_list_new();
    Operand input = {OPERAND_OUTSIDE, REACH_ROWS, 2 * 1024 * 512};
    Op a = op_linear("a", 1024, 512, 512, DATA_TYPE_FP16);
    Op b = op_linear("b", 1024, 512, 512, DATA_TYPE_FP16);
    op_list_add(list, a, &input, 1);
    op_list_add(list, b, &input, 1);
    Operand of_a = {0, REACH_TILE, a.bytes_out}, of_b = {1, REACH_TILE, b.bytes_out};
    op_list_add(list, low_of("after_a", 1024, 512), &of_a, 1);
    op_list_add(list, low_of("after_b", 1024, 512), &of_b, 1);
    g_autoptr(Fusion) fusion = fuse(list, &mt3000);
    g_autofree char *found = regions(list, fusion);
    g_assert_cmpstr(found, ==, "a after_a | b after_b");
}

/* 'first' and 'last' in one unit would wait for 'beside', which waits for what is made in it. */
static void test_no_unit_waits_for_itself(void) {
    g_autoptr(OpList) list = op_list_new();
    Operand input = {OPERAND_OUTSIDE, REACH_ROWS, 2 * 512};
    op_list_add(list, low_of("norm", 1, 512), &input, 1);
    Operand normed = {0, REACH_ROWS, 2 * 512};
    op_list_add(list, op_linear("first", 1, 512, 512, DATA_TYPE_FP16), &normed, 1);
    op_list_add(list, op_linear("beside", 1, 512, 512, DATA_TYPE_FP16), &normed, 1);
    g_array_index(list->ops, ListedOp, 2).kept = TRUE;
    op_list_add(list, op_linear("third", 1, 512, 512, DATA_TYPE_FP16), &normed, 1);
    Operand both[] = {{1, REACH_ROWS, 2 * 512}, {2, REACH_ROWS, 2 * 512}};
    op_list_add(list, op_linear("last", 1, 512, 512, DATA_TYPE_FP16), both, 2);
    FusionInput question = {.list = list, .cluster = &mt3000, .fuse = TRUE};
    g_autoptr(Fusion) fusion = fusion_new(&question);
    g_autofree char *found = regions(list, fusion);
    g_assert_cmpstr(found, ==, "norm first | beside | third | last");
    g_assert_cmpint(fusion_barrier(fusion, &question, 1, 4).kind, ==, BARRIER_ORDER);
    g_assert_cmpint(fusion_barrier(fusion, &question, 2, 4).kind, ==, BARRIER_KEPT);
}

/* A seeded list in which anything may read anything before it. */
static OpList *random_list(GRand *random) {
    static const guint64 widths[] = {64, 128, 512, 4096, 11008};
    OpList *list = op_list_new();
    guint n_ops = (guint)g_rand_int_range(random, 1, 40);
    guint64 rows = (guint64)g_rand_int_range(random, 1, 2000);
    for (guint i = 0; i < n_ops; i++) {
        Operand operands[3];
        guint n_operands = (guint)g_rand_int_range(random, 1, 4);
        for (guint j = 0; j < n_operands; j++) {
            guint producer = (guint)g_rand_int_range(random, -1, (gint)i);
            double bytes =
                producer == OPERAND_OUTSIDE ? 1e6 : op_list_get(list, producer)->op.bytes_out;
            operands[j] = (Operand){producer, (OperandReach)g_rand_int_range(random, 0, 3), bytes};
        }
        guint64 columns = widths[g_rand_int_range(random, 0, G_N_ELEMENTS(widths))];
        guint64 depth = widths[g_rand_int_range(random, 0, G_N_ELEMENTS(widths))];
        gboolean by_heads = g_rand_int_range(random, 0, 3) == 0;
        Op op = g_rand_boolean(random) ? low_of("low", rows, columns)
                                       : op_linear("high", rows, columns, depth, DATA_TYPE_FP16);
        if (op.macs > 0 && g_rand_boolean(random))
            op.weight_bytes = 0; /* a product of activations */
        op.heads = by_heads ? 4 : 0;
        guint index = op_list_add(list, op, operands, n_operands);
        ListedOp *listed = &g_array_index(list->ops, ListedOp, index);
        listed->kept = g_rand_int_range(random, 0, 10) == 0;
        listed->on_network = op.macs == 0 && g_rand_int_range(random, 0, 10) == 0;
    }
    return list;
}

static void assert_each_op_is_in_one_unit(const OpList *list, const Fusion *fusion) {
    g_autofree guint *seen = g_new0(guint, list->ops->len);
    for (guint i = 0; i < fusion->units->len; i++) {
        const FusedUnit *unit = fusion_unit(fusion, i);
        for (guint j = 0; j < unit->n_ops; j++) {
            seen[unit->ops[j]]++;
            g_assert_cmpuint(fusion->unit_of[unit->ops[j]], ==, i);
            g_assert_true(j == 0 || unit->ops[j - 1] < unit->ops[j]);
        }
    }
    for (guint i = 0; i < list->ops->len; i++)
        g_assert_cmpuint(seen[i], ==, 1);
}

static void assert_dependencies_come_first(const OpList *list, const Fusion *fusion) {
    for (guint i = 0; i < list->ops->len; i++) {
        const Operand *operands = op_list_operands(list, i);
        for (guint j = 0; j < op_list_get(list, i)->n_operands; j++)
            if (operands[j].producer != OPERAND_OUTSIDE)
                g_assert_cmpuint(fusion->unit_of[operands[j].producer], <=, fusion->unit_of[i]);
    }
}

static void assert_units_are_fusion_units(const OpList *list, const Fusion *fusion) {
    for (guint i = 0; i < fusion->units->len; i++) {
        const FusedUnit *unit = fusion_unit(fusion, i);
        gboolean dense = FALSE, network = FALSE;
        guint64 heads = op_list_get(list, unit->ops[0])->op.heads;
        for (guint j = 0; j < unit->n_ops; j++) {
            dense |= op_list_get(list, unit->ops[j])->op.macs > 0;
            network |= op_list_get(list, unit->ops[j])->on_network;
            g_assert_cmpuint(op_list_get(list, unit->ops[j])->op.heads, ==, heads);
        }
        g_assert_cmpint(unit->dense, ==, dense);
        if (unit->n_ops == 1)
            continue;
        g_assert_true(dense && !network);
        assert_within(unit, &mt3000);
        g_assert_cmpfloat(unit->bytes_fused, <, unit->bytes_apart);
    }
}

/* Bytes that stay on chip, edge by edge: a read for each edge inside a unit, a write for each
 * result that no edge leads out with and nobody keeps. */
static double bytes_kept_inside(const OpList *list, const Fusion *fusion) {
    g_autofree gboolean *leaves = g_new0(gboolean, list->ops->len);
    g_autofree gboolean *read = g_new0(gboolean, list->ops->len);
    double bytes = 0.0;
    for (guint i = 0; i < list->ops->len; i++) {
        const Operand *operands = op_list_operands(list, i);
        for (guint j = 0; j < op_list_get(list, i)->n_operands; j++) {
            guint producer = operands[j].producer;
            if (producer == OPERAND_OUTSIDE)
                continue;
            read[producer] = TRUE;
            if (fusion->unit_of[producer] == fusion->unit_of[i])
                bytes += operands[j].bytes;
            else
                leaves[producer] = TRUE;
        }
    }
    for (guint i = 0; i < list->ops->len; i++)
        if (read[i] && !leaves[i] && !op_list_get(list, i)->kept)
            bytes += op_list_get(list, i)->op.bytes_out;
    return bytes;
}

static void assert_nothing_more_can_join(const FusionInput *input, const Fusion *fusion) {
    for (guint i = 0; i < input->list->ops->len; i++) {
        const Operand *operands = op_list_operands(input->list, i);
        for (guint j = 0; j < op_list_get(input->list, i)->n_operands; j++) {
            guint producer = operands[j].producer;
            if (producer == OPERAND_OUTSIDE)
                continue;
            gboolean together = fusion->unit_of[producer] == fusion->unit_of[i];
            FusionBarrier barrier = fusion_barrier(fusion, input, producer, i);
            g_assert_cmpint(barrier.kind == BARRIER_NONE, ==, together);
        }
    }
}

static void test_promises_hold_on_any_list(void) {
    g_autoptr(GRand) random = g_rand_new_with_seed(20250601);
    guint joined = 0;
    for (guint round = 0; round < 400; round++) {
        g_autoptr(OpList) list = random_list(random);
        FusionInput input = {.list = list, .cluster = &mt3000, .fuse = TRUE};
        g_autoptr(Fusion) fusion = fusion_new(&input);
        assert_each_op_is_in_one_unit(list, fusion);
        assert_dependencies_come_first(list, fusion);
        assert_units_are_fusion_units(list, fusion);
        assert_nothing_more_can_join(&input, fusion);
        g_assert_cmpfloat_with_epsilon(bytes_saved(fusion), bytes_kept_inside(list, fusion), 1.0);
        joined += list->ops->len - fusion->units->len;
    }
    g_assert_cmpuint(joined, >, 400); /* the lists gave it something to do */
}

static void test_an_empty_list_needs_nothing(void) {
    g_autoptr(OpList) list = op_list_new();
    g_autoptr(Fusion) fusion = fuse(list, &mt3000);
    g_assert_cmpuint(fusion->units->len, ==, 0);
    g_assert_cmpuint(fusion_launches(fusion, TRUE, 3) + fusion_launches(fusion, FALSE, 3), ==, 0);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/fusion_promises/distance_is_that_of_the_data",
                    test_distance_is_that_of_the_data);
    g_test_add_func("/fusion_promises/no_unit_waits_for_itself", test_no_unit_waits_for_itself);
    g_test_add_func("/fusion_promises/promises_hold_on_any_list", test_promises_hold_on_any_list);
    g_test_add_func("/fusion_promises/an_empty_list_needs_nothing",
                    test_an_empty_list_needs_nothing);
    return g_test_run();
}
