/* A wafer's operators against closed forms, and its phases as sums of them. */
#include "analysis/costs/wafer_cost.h"

#include "actors/mesh/wafer_op.h"
#include "analysis/campaign/child.h"
#include "platforms/mesh_cycles.h"
#include "policies/mesh/reduce_tree.h"
#include "policies/mesh/tiles.h"
#include "tests/unit/wafer_fixture.h"
#include <math.h>

static Platform *wse2(void) {
    g_autofree char *path =
        g_test_build_filename(G_TEST_DIST, "..", "platforms", "wse2.yaml", NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(YamlNode) section = yaml_load_file(path, &error);

    g_assert_no_error(error);
    yaml_remove(section, "version");
    Platform *platform = platform_read(section, &error);
    g_assert_no_error(error);
    return platform;
}

/* --- operators, each in a child */

typedef struct OpRun {
    const WaferOp *op;
    const MeshSpec *spec;
    double cycles;
} OpRun;

static gboolean run_op(gpointer data, gsize index, GByteArray *reply, GError **error) {
    const OpRun *run = data;
    double cycles = wafer_op_run(run->op, DATA_TYPE_BF16, run->spec, error);

    (void)index;
    g_byte_array_append(reply, (const guint8 *)&cycles, sizeof cycles);
    return cycles >= 0;
}

static gboolean take_op(gpointer data, gsize index, const GByteArray *reply, GError **error) {
    gsize at = 0;

    (void)index, (void)error;
    return child_reply_read(reply, &at, &((OpRun *)data)->cycles, sizeof(double));
}

static double op_cycles(const WaferOp *op, const MeshSpec *spec) {
    OpRun run = {.op = op, .spec = spec};
    ChildJobs jobs = {.n = 1, .data = &run, .work = run_op, .take = take_op};
    g_autoptr(GError) error = NULL;

    child_run_all(&jobs, &error);
    g_assert_no_error(error);
    return run.cycles;
}

/* Dependent stages · (beta + wavelets) + hops, then the multicast from the root; to within a relay
 * and the ramps at the ends of either part. */
static void sums_by_tree_are_stages_and_hops(void) {
    g_autoptr(Platform) platform = wse2();
    const MeshSpec *spec = &platform->mesh;

    for (guint line = 36; line <= 720; line += 171)
        for (guint64 n = 1; n <= 81; n += 20) {
            WaferOp op = {.kind = WAFER_ALL_REDUCE,
                          .name = "sum",
                          .columns = line,
                          .rows = 3,
                          .k_tree = 2,
                          .n = n};
            g_autoptr(ReduceTree) tree = reduce_tree_k(line, 2);
            double wavelets = (double)mesh_wavelets(spec, DATA_TYPE_FP16, n);
            guint far = MAX(tree->root, line - 1 - tree->root);
            double closed =
                tree->stages * (spec->relay_cycles + wavelets) + tree->hops + wavelets + far;
            double slack = 2 * spec->relay_cycles + 4 * spec->ramp_cycles;
            g_assert_cmpfloat(fabs(op_cycles(&op, spec) - closed), <=, slack);
            op.along_y = TRUE;
            op.rows = line;
            op.columns = 3;
            g_assert_cmpfloat(fabs(op_cycles(&op, spec) - closed), <=, slack);
        }
}

/* T10's: every core relays each wavelet as it comes. */
static void sums_by_chain_stream(void) {
    g_autoptr(Platform) platform = wse2();
    const MeshSpec *spec = &platform->mesh;

    for (guint line = 60; line <= 660; line += 200)
        for (guint64 n = 1; n <= 41; n += 20) {
            WaferOp op = {
                .kind = WAFER_ALL_REDUCE, .name = "sum", .columns = line, .rows = 1, .n = n};
            double wavelets = (double)mesh_wavelets(spec, DATA_TYPE_FP16, n);
            double closed =
                (line - 1) * (spec->relay_cycles + 1 + spec->hop_cycles) + 2 * wavelets + line - 1;
            g_assert_cmpfloat(fabs(op_cycles(&op, spec) / closed - 1), <=, 0.02);
        }
}

/* The loop is its kernels and its steps' software wherever its shifts are short enough to be
 * hidden; on the whole of a core that is what LOCAL_GEMM has without any shift. */
static void loops_hide_their_shifts(void) {
    g_autoptr(Platform) platform = wse2();

    for (guint transposed = 0; transposed <= 1; transposed++) {
        WaferOp loop = {.kind = WAFER_GEMM_LOOP,
                        .name = "loop",
                        .columns = 96,
                        .rows = 96,
                        .transposed = transposed > 0,
                        .m = 1024,
                        .k = 1024,
                        .n = 1536,
                        .steps = 96};
        WaferOp local = loop;
        local.kind = WAFER_LOCAL_GEMM;
        double kernels = op_cycles(&local, &platform->mesh);
        double cycles = op_cycles(&loop, &platform->mesh);
        g_assert_cmpfloat(kernels, ==, 1024 * 16 * (6 + 2 * 2) + 96 * platform->mesh.step_cycles);
        g_assert_cmpfloat(cycles, >=, 0.98 * kernels);
        g_assert_cmpfloat(cycles, <=, 1.15 * kernels);
    }
}

/* A core that has several tiles of a step: 6 × 4 cores are 12 × 12 tiles, two by three on each. */
static void kernels_of_a_grid_that_is_not_square(void) {
    g_autoptr(Platform) platform = wse2();
    WaferOp op = {.kind = WAFER_LOCAL_GEMM,
                  .name = "local",
                  .columns = 6,
                  .rows = 4,
                  .m = 100, /* 25 rows: tiles of 8, 8 and 9 */
                  .k = 7,
                  .n = 60,
                  .steps = 12};

    g_assert_cmpfloat(op_cycles(&op, &platform->mesh), ==,
                      7 * 10 * (8 + 8 + 10) + 12 * platform->mesh.step_cycles);
}

/* Of a row of P the core at an end waits (P − 1) / 2 hops there and as many back. */
static void loads_wait_for_a_round_trip(void) {
    g_autoptr(Platform) platform = wse2();
    WaferOp op = {
        .kind = WAFER_REMOTE_LOADS, .name = "loads", .columns = 101, .rows = 7, .loads = 1000};

    g_assert_cmpfloat(fabs(op_cycles(&op, &platform->mesh) - 1000 * 100), <, 1e-6);
}

/* Nearly from corner to corner and with every core relaying, for A and for B. */
static void exchanges_cross_the_grid(void) {
    g_autoptr(Platform) platform = wse2();
    WaferOp op = {.kind = WAFER_TILE_EXCHANGE,
                  .name = "tiles",
                  .columns = 60,
                  .rows = 60,
                  .steps = 60,
                  .a_bytes = 80,
                  .b_bytes = 400};
    double a = 118 * (1 + 16.1 + 20), b = 118 * (1 + 16.1 + 100);
    double cycles = op_cycles(&op, &platform->mesh) / 60;

    g_assert_cmpfloat(cycles, >, 0.9 * (a + b));
    g_assert_cmpfloat(cycles, <, 1.4 * (a + b));
}

/* --- phases */

static double ask_decode(WaferCosts *costs, const WaferPoint *point) {
    g_autoptr(GError) error = NULL;
    double cycles = wafer_decode_cycles(costs, point, &error);

    g_assert_no_error(error);
    return cycles;
}

static double sum_of_ops(GArray *ops, const MeshSpec *spec) {
    double sum = 0;

    for (guint i = 0; i < ops->len; i++)
        sum += op_cycles(&g_array_index(ops, WaferOp, i), spec);
    g_array_unref(ops);
    return sum;
}

static void a_phase_is_the_sum_of_its_operators(void) {
    g_autoptr(Platform) platform = wse2();
    g_autoptr(Model) model = shipped_model("llama-3-8b");
    g_autoptr(WaferCosts) costs = wafer_costs_new(platform);
    g_autoptr(GError) error = NULL;

    for (WaferSystem system = 0; system < N_WAFER_SYSTEMS; system++) {
        WaferPoint point = {.model = model, .system = system, .grid = 60, .tokens = 500};
        WaferPlan plan = {model, 60, 60, system, 2};
        double layers = (double)model->layers;
        double decode = layers * sum_of_ops(wafer_layer_decode(&plan, 500), &platform->mesh);
        double prefill = layers * sum_of_ops(wafer_layer_prefill(&plan, 500), &platform->mesh);
        double head = sum_of_ops(wafer_head(&plan), &platform->mesh);
        g_assert_cmpfloat(fabs(ask_decode(costs, &point) / decode - 1), <, 1e-12);
        g_assert_cmpfloat(fabs(wafer_prefill_cycles(costs, &point, &error) / prefill - 1), <,
                          1e-12);
        point.with_head = TRUE;
        g_assert_cmpfloat(fabs(ask_decode(costs, &point) / (decode + head) - 1), <, 1e-12);
    }
}

/* In whatever order and company, to the last bit; and nothing twice. */
static void points_do_not_depend_on_each_other(void) {
    g_autoptr(Platform) platform = wse2();
    g_autoptr(Model) model = shipped_model("llama-3-8b");
    g_autoptr(WaferCosts) together = wafer_costs_new(platform);
    g_autoptr(GError) error = NULL;
    WaferPoint points[] = {{.model = model, .grid = 60, .tokens = 100},
                           {.model = model, .grid = 90, .tokens = 100, .k_tree = 3},
                           {.model = model, .grid = 60, .tokens = 700}};

    for (gsize i = G_N_ELEMENTS(points); i > 0; i--)
        wafer_costs_want_decode(together, &points[i - 1]);
    g_assert_true(wafer_costs_fill(together, &error));
    guint simulations = wafer_costs_simulations(together);
    for (gsize i = 0; i < G_N_ELEMENTS(points); i++) {
        g_autoptr(WaferCosts) alone = wafer_costs_new(platform);
        g_assert_cmpfloat(ask_decode(alone, &points[i]), ==, ask_decode(together, &points[i]));
    }
    g_assert_cmpuint(wafer_costs_simulations(together), ==, simulations);
}

/* Layers in R places cost what they cost in one, and the ways between. */
static void regions_add_their_hand_overs(void) {
    g_autoptr(Platform) platform = wse2();
    g_autoptr(Model) model = shipped_model("llama-3-8b");
    g_autoptr(WaferCosts) costs = wafer_costs_new(platform);
    WaferPoint point = {.model = model, .grid = 90, .tokens = 100};
    double one = ask_decode(costs, &point);

    point.regions = 3;
    double wavelets = (double)mesh_wavelets(&platform->mesh, DATA_TYPE_FP16,
                                            tile_largest(model->hidden, point.grid));
    g_assert_cmpfloat(fabs(ask_decode(costs, &point) - one - 2 * (90 + wavelets)), <, 1e-6);
    g_assert_cmpfloat(wafer_region_bubbles(1), ==, 0);
    g_assert_cmpfloat(fabs(wafer_region_bubbles(3) - 2.0 / 3), <, 1e-15);
}

/* A crossing as messages counted link by link, against those to a neighbour. */
static void a_turn_shares_its_links(void) {
    g_autoptr(Platform) platform = wse2();
    const MeshSpec *spec = &platform->mesh;

    for (guint side = 3; side <= 90; side += 29)
        for (guint64 wavelets = 1; wavelets < 50; wavelets += 24) {
            g_autoptr(MeshPhase) turned = mesh_phase_new(2 * side, 2);
            g_autoptr(MeshPhase) flat = mesh_phase_new(side, 2);
            for (guint x = 0; x < side; x++) {
                mesh_phase_send(turned, (MeshPlace){x, 1}, (MeshPlace){side + x, 1}, wavelets);
                mesh_phase_send(flat, (MeshPlace){x, 0}, (MeshPlace){x, 1}, wavelets);
            }
            MeshPhaseCounts counts[2] = {mesh_phase_counts(turned), mesh_phase_counts(flat)};
            g_assert_cmpfloat(wafer_op_crossing_cycles(side, wavelets, spec), ==,
                              mesh_phase_cycles(&counts[0], spec, FALSE) -
                                  mesh_phase_cycles(&counts[1], spec, FALSE));
        }
}

/* Two regions of 8 × 8 on 16 × 12 cores are whole; of three, the second turns. */
static void regions_that_turn_cost_more(void) {
    g_autoptr(Platform) platform = wse2();
    g_autoptr(Model) model = shipped_model("tiny-llama");
    platform->mesh.columns = 16;
    platform->mesh.rows = 12;
    g_autoptr(WaferCosts) costs = wafer_costs_new(platform);
    WaferPoint point = {.model = model, .grid = 8, .tokens = 30, .regions = 2};
    g_assert_cmpfloat(wafer_turn_cycles(&platform->mesh, &point), ==, 0);
    point.regions = 3;
    double flat = ask_decode(costs, &point), turn = wafer_turn_cycles(&platform->mesh, &point);
    /* hidden 64, ffn 176, 8 heads and 4 shared ones of 8: elements of the sums along Y */
    static const guint64 sums[] = {1, 8 + 2 * 4, 1, 1, 8, 1, 2 * 22};
    double layer = 0;
    for (gsize i = 0; i < G_N_ELEMENTS(sums); i++) {
        double wavelets = (double)mesh_wavelets(&platform->mesh, model->data_type, sums[i]);
        layer += 3 * (7 * wavelets + 7 * platform->mesh.hop_cycles);
    }
    g_assert_cmpfloat(fabs(turn - layer * 1), <, 1e-9); /* one of its four layers */
    point.turns = TRUE;
    g_assert_cmpfloat(fabs(ask_decode(costs, &point) - flat - turn), <, 1e-6);
}

static void what_cannot_be_is_refused(void) {
    g_autoptr(Platform) platform = wse2();
    g_autoptr(Model) model = shipped_model("llama-3-8b");
    g_autoptr(WaferCosts) costs = wafer_costs_new(platform);
    static const struct {
        guint grid, regions;
        guint64 tokens;
        const char *message;
    } cases[] = {
        {751, 1, 10, "a grid of 751 × 751 cores is not within the wafer's 750 × 994"},
        {360, 6, 10, "6 regions of 360 × 360 cores do not fit the wafer's 750 × 994, which hold 5"},
        {60, 1, 0, "a wafer works on one token at least, not on none"},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        WaferPoint point = {.model = model,
                            .grid = cases[i].grid,
                            .regions = cases[i].regions,
                            .tokens = cases[i].tokens};
        g_autoptr(GError) error = NULL;
        wafer_costs_want_decode(costs, &point);
        g_assert_cmpfloat(wafer_decode_cycles(costs, &point, &error), <, 0);
        g_assert_cmpstr(error->message, ==, cases[i].message);
    }
    g_assert_cmpuint(wafer_costs_simulations(costs), ==, 0);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/wafer_op/tree", sums_by_tree_are_stages_and_hops);
    g_test_add_func("/wafer_op/chain", sums_by_chain_stream);
    g_test_add_func("/wafer_op/loop", loops_hide_their_shifts);
    g_test_add_func("/wafer_op/not_square", kernels_of_a_grid_that_is_not_square);
    g_test_add_func("/wafer_op/loads", loads_wait_for_a_round_trip);
    g_test_add_func("/wafer_op/exchange", exchanges_cross_the_grid);
    g_test_add_func("/wafer_cost/sum", a_phase_is_the_sum_of_its_operators);
    g_test_add_func("/wafer_cost/order", points_do_not_depend_on_each_other);
    g_test_add_func("/wafer_cost/regions", regions_add_their_hand_overs);
    g_test_add_func("/wafer_op/crossing", a_turn_shares_its_links);
    g_test_add_func("/wafer_cost/turns", regions_that_turn_cost_more);
    g_test_add_func("/wafer_cost/refused", what_cannot_be_is_refused);
    return g_test_run();
}
