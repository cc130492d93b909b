/* The Linear operator block by block in the engine: against the sums without an engine, against
 * formulas, against 24 actors for its 24 DSPs. */
#include "actors/cluster/gemm.h"
#include "actors/engine.h"
#include "platforms/kernel_cycles.h"
#include "platforms/topology.h"
#include "tests/engine/child.h"
#include "tests/engine/run.h"
#include <math.h>
#include <simgrid/barrier.h>

/* Runs one product and hands back its seconds; the counts are its own. */
static double seconds_of(Cluster *cluster, const GemmShape *shape, const GemmBlocks *blocks,
                         const GemmOptions *options) {
    g_autoptr(GError) error = NULL;
    double start_s = engine_now();

    gemm_run(cluster, shape, blocks, options, &error);
    g_assert_no_error(error);
    return engine_now() - start_s;
}

static const GemmShape shapes[] = {
    {1024, 256, 4096, DATA_TYPE_FP32},  {1024, 4096, 4096, DATA_TYPE_FP16},
    {2048, 768, 4096, DATA_TYPE_FP32},  {145, 4096, 4096, DATA_TYPE_FP16},
    {1445, 1000, 5000, DATA_TYPE_FP32}, {722, 513, 11008, DATA_TYPE_FP16},
    {1, 4096, 4096, DATA_TYPE_FP16},    {16, 11008, 4096, DATA_TYPE_FP16},
    {144, 32000, 4096, DATA_TYPE_FP32}, {7, 33, 5, DATA_TYPE_FP32},
    {1, 1, 1, DATA_TYPE_FP16},          {3000, 100, 300, DATA_TYPE_BF16},
};

static double planned_seconds(const GemmShape *shape, const GemmBlocks *blocks, GemmMode mode,
                              const Platform *platform) {
    GemmPlan plan = gemm_plan(shape, blocks, mode, &platform->cluster);

    return gemm_plan_seconds(&plan);
}

static void simulate_all_shapes(const ChildJob *job) {
    g_autoptr(Cluster) cluster = cluster_new(job->platform, 0, NULL, NULL);

    for (gsize i = 0; i < G_N_ELEMENTS(shapes); i++)
        for (guint mode = 0; mode < 8; mode++) {
            GemmBlocks blocks = gemm_blocks_paper(shapes[i].type);
            GemmOptions options = {.transfers = (GemmTransfers)(mode & 1),
                                   .x_on_chip = (mode & 2) != 0,
                                   .y_on_chip = (mode & 4) != 0};
            GemmMode as_planned = {options.transfers, options.x_on_chip, options.y_on_chip};
            double seconds = seconds_of(cluster, &shapes[i], &blocks, &options);
            double planned = planned_seconds(&shapes[i], &blocks, as_planned, job->platform);
            assert_close(seconds, planned, 1e-6);
            if (mode == 0)
                assert_close(gemm_estimate_seconds(&shapes[i], &blocks, job->platform), planned, 0);
        }
}

static void test_the_estimate_is_what_the_simulation_takes(void) {
    child_run(simulate_all_shapes, NULL);
}

static guint64 divide_up(guint64 a, guint64 b) {
    return (a + b - 1) / b;
}

/* The moves of the blocks' path by formula, from the shape alone. */
static void assert_block_moves(const ClusterCounts *counts, const GemmShape *shape) {
    GemmBlocks blocks = gemm_blocks_paper(shape->type);
    double element = data_type_bytes(shape->type);
    double m = (double)shape->m, n = (double)shape->n, k = (double)shape->k;
    guint64 rows = divide_up(shape->m, blocks.mg), columns = divide_up(shape->n, blocks.n2);
    guint64 depths = divide_up(shape->k, blocks.kg), steps = 0;
    double returns = columns > 2 ? (double)(depths - 1) : 0;

    for (guint64 k0 = 0; k0 < shape->k; k0 += blocks.kg)
        steps += divide_up(MIN(blocks.kg, shape->k - k0), blocks.k2);
    g_assert_cmpuint(counts->moves[MOVE_BROADCAST], ==, rows * columns * steps);
    g_assert_cmpuint(counts->moves[MOVE_DDR_TO_GSM], ==, rows * steps);
    g_assert_cmpuint(counts->moves[MOVE_GSM_TO_SM], ==, rows * (columns - 1) * steps);
    g_assert_cmpfloat(counts->bytes[MOVE_BROADCAST], ==, (double)rows * k * n * element);
    g_assert_cmpfloat(counts->bytes[MOVE_DDR_TO_GSM], ==, m * k * element);
    g_assert_cmpfloat(counts->bytes[MOVE_GSM_TO_SM], ==,
                      (double)(rows * (columns - 1) * 24 * blocks.m2) * k * element);
    g_assert_cmpfloat(counts->bytes[MOVE_DDR_TO_AM], ==, returns * m * n * 4);
    g_assert_cmpfloat(counts->bytes[MOVE_AM_TO_DDR], ==, returns * m * n * 4 + m * n * element);
    g_assert_cmpfloat(counts->macs, ==, m * n * k);
}

/* X once to everybody for every round of columns, W once, Y once. */
static void assert_few_rows_moves(const ClusterCounts *counts, const GemmShape *shape) {
    double element = data_type_bytes(shape->type);
    double m = (double)shape->m, n = (double)shape->n, k = (double)shape->k;
    double rounds = counts->bytes[MOVE_BROADCAST] / (m * k * element);

    g_assert_cmpfloat(rounds, ==, round(rounds));
    g_assert_cmpfloat(rounds, <=, 4);
    g_assert_cmpfloat(counts->bytes[MOVE_DDR_TO_AM], ==, k * n * element);
    g_assert_cmpfloat(counts->bytes[MOVE_AM_TO_DDR], ==, m * n * element);
    g_assert_cmpfloat(counts->bytes[MOVE_DDR_TO_GSM], ==, 0);
    g_assert_cmpuint(counts->moves[MOVE_GSM_TO_SM], ==, 0);
}

static void count_moves(const ChildJob *job) {
    for (gsize i = 0; i < G_N_ELEMENTS(shapes); i++) {
        g_autoptr(Cluster) cluster = cluster_new(job->platform, 0, NULL, NULL);
        GemmBlocks blocks = gemm_blocks_paper(shapes[i].type);

        GemmPlan plan = gemm_plan(&shapes[i], &blocks, (GemmMode){0}, &job->platform->cluster);
        seconds_of(cluster, &shapes[i], &blocks, NULL);
        if (plan.split_columns)
            assert_few_rows_moves(cluster_counts(cluster), &shapes[i]);
        else
            assert_block_moves(cluster_counts(cluster), &shapes[i]);
    }
}

static void test_moves_and_bytes_follow_their_formulas(void) {
    child_run(count_moves, NULL);
}

static void choose_on_chip(const ChildJob *job) {
    GemmShape shape = {2048, 1024, 4096, DATA_TYPE_FP16};
    GemmBlocks blocks = gemm_blocks_paper(shape.type);
    g_autoptr(Cluster) off = cluster_new(job->platform, 0, NULL, NULL);
    g_autoptr(Cluster) on = cluster_new(job->platform, 0, NULL, NULL);
    double off_s = seconds_of(off, &shape, &blocks, NULL);
    double on_s =
        seconds_of(on, &shape, &blocks, &(GemmOptions){.x_on_chip = TRUE, .y_on_chip = TRUE});

    g_assert_cmpfloat(on_s, <, off_s);
    g_assert_cmpuint(cluster_counts(on)->moves[MOVE_DDR_TO_GSM], ==, 0);
    g_assert_cmpuint(cluster_counts(on)->moves[MOVE_AM_TO_DDR], ==, 0);
    assert_close(cluster_counts(on)->bytes[MOVE_BROADCAST],
                 cluster_counts(off)->bytes[MOVE_BROADCAST], 0);
}

static void test_what_stays_on_chip_is_not_moved(void) {
    child_run(choose_on_chip, NULL);
}

static void ask_for_too_much(const ChildJob *job) {
    static const struct {
        guint64 m2, k2, n2, mg, kg;
        const char *message;
    } cases[] = {
        {36, 256, 256, 720, 2048,
         "SM of cluster 0: 'X2' needs 73728 bytes but 65536 of 65536 are free"},
        {30, 256, 512, 720, 2048,
         "AM of cluster 0: 'W2 and Y2' needs 1249280 bytes but 786432 of 786432 are free"},
        {30, 256, 256, 720, 4096,
         "GSM of cluster 0: 'Xg' needs 11796480 bytes but 6291456 of 6291456 are free"},
        {30, 256, 256, 721, 2048, "block 'mg' is 721, but tiles of m2 rows for every DSP make 720"},
        {30, 0, 256, 720, 2048, "block 'k2' is 0, but must be at least 1"},
    };
    g_autoptr(Cluster) cluster = cluster_new(job->platform, 0, NULL, NULL);
    GemmShape shape = {1024, 4096, 4096, DATA_TYPE_FP32};

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        GemmBlocks blocks = {6,           128,         cases[i].m2, cases[i].k2,
                             cases[i].n2, cases[i].mg, cases[i].kg};
        g_assert_false(gemm_run(cluster, &shape, &blocks, NULL, &error));
        g_assert_cmpstr(error->message, ==, cases[i].message);
        g_assert_cmpfloat(engine_now(), ==, 0);
    }
    GemmBlocks paper = gemm_blocks_paper(shape.type);
    g_autoptr(GError) error = NULL;
    GemmShape huge = {1000000, 4096, 4096, DATA_TYPE_FP32};
    g_assert_false(gemm_run(cluster, &huge, &paper, NULL, &error));
    g_assert_cmpstr(error->message, ==,
                    "DDR of cluster 0: 'X, W and Y' needs 32835108864 bytes but 20000000000 of "
                    "20000000000 are free");
    g_clear_error(&error);
    GemmShape empty = {0, 4096, 4096, DATA_TYPE_FP32};
    g_assert_false(gemm_run(cluster, &empty, &paper, NULL, &error));
    g_assert_cmpstr(error->message, ==, "a product of 0 x 4096 x 4096 has nothing to compute");

    /* What failed has given back what it had booked. */
    seconds_of(cluster, &shape, &paper, NULL);
    for (MemoryTier tier = 0; tier < N_TIERS; tier++)
        g_assert_true(cluster_reserve(cluster, tier, 65536, "all of SM", NULL));
    g_assert_false(cluster_reserve(cluster, TIER_SM, 1, "more", NULL));
}

static void test_what_does_not_fit_names_tier_and_bytes(void) {
    child_run(ask_for_too_much, NULL);
}

/* One of 24 DSPs of its own: all wait for each other before every step; each computes its part for
 * as long as it takes while the transfers of the lane follow one another. A broadcast and what DDR
 * delivers for all are begun by the first DSP; X2 and Y2 are begun by each for itself. */
typedef struct Team {
    const GemmPlan *plan;
    sg_bar_t barrier;
    double ended_s;
} Team;

typedef struct Member {
    Team *team;
    guint64 dsp;
} Member;

static void transfer(sg_host_t from, sg_host_t to, guint64 bytes) {
    if (bytes > 0)
        engine_transfer_wait(engine_transfer_begin(from, to, bytes));
}

static void member_inputs(const Member *member, const GemmStep *step) {
    guint64 dsps = member->team->plan->cluster->dsps;
    gboolean first = member->dsp == 0;

    if (step->x_move == GEMM_X_COPY)
        transfer(topology_gsm_host(), topology_host(0), step->x_bytes / dsps);
    else
        transfer(topology_host(0), topology_host(0), first ? step->x_bytes : 0);
    sg_barrier_wait(member->team->barrier);
    transfer(topology_host(0), topology_host(0), first ? step->w_bytes : 0);
    sg_barrier_wait(member->team->barrier);
}

/* Its share of Y2 of all DSPs: as even as bytes allow. */
static void member_y(const Member *member, guint64 bytes) {
    guint64 dsps = member->team->plan->cluster->dsps, dsp = member->dsp;

    transfer(topology_host(0), topology_host(0), bytes * (dsp + 1) / dsps - bytes * dsp / dsps);
    sg_barrier_wait(member->team->barrier);
}

static double member_cycles(const Member *member, const GemmStep *step) {
    const GemmPlan *plan = member->team->plan;
    GemmPass pass = gemm_plan_pass(plan, step->pass);
    GemmPart part = gemm_plan_part(plan, &pass, member->dsp);
    KernelTile tile = {part.rows, part.columns, step->depth, plan->m1, plan->n1, plan->shape.type};

    return kernel_tile_cycles(&tile, plan->cluster);
}

static void member_main(int argc, char **argv) {
    g_autofree Member *member = engine_actor_data();
    Team *team = member->team;
    GemmCursor cursor = gemm_cursor(team->plan);
    GemmStep step, next;
    gboolean more = gemm_cursor_next(&cursor, &step);

    (void)argc, (void)argv;
    member_inputs(member, &step);
    while (more) {
        double computed_s =
            engine_now() + member_cycles(member, &step) / team->plan->cluster->clock_hz;
        more = gemm_cursor_next(&cursor, &next);
        if (more)
            member_inputs(member, &next);
        member_y(member, step.y_out_bytes);
        member_y(member, step.y_in_bytes);
        engine_sleep_until(computed_s);
        sg_barrier_wait(team->barrier);
        step = next;
    }
    member_y(member, gemm_plan_pass(team->plan, gemm_plan_passes(team->plan) - 1).out_bytes);
    team->ended_s = engine_now();
}

static const GemmShape team_shapes[] = {
    {1024, 1100, 5000, DATA_TYPE_FP32},
    {800, 600, 4096, DATA_TYPE_FP16},
    {16, 5000, 4096, DATA_TYPE_FP16},
};
static const guint n_team_shapes = G_N_ELEMENTS(team_shapes);

static void compute_by_hand(const ChildJob *job) {
    double *found = job->data;
    g_autoptr(Cluster) cluster = cluster_new(job->platform, 0, NULL, NULL);

    for (guint i = 0; i < n_team_shapes; i++) {
        GemmBlocks blocks = gemm_blocks_paper(team_shapes[i].type);
        GemmPlan plan = gemm_plan(&team_shapes[i], &blocks, (GemmMode){0}, &job->platform->cluster);
        Team team = {.plan = &plan, .barrier = sg_barrier_init(24)};
        double folded_s = seconds_of(cluster, &team_shapes[i], &blocks, NULL);
        double start_s = engine_now();
        for (guint64 dsp = 0; dsp < 24; dsp++) {
            Member *member = g_new(Member, 1);
            *member = (Member){&team, dsp};
            engine_actor_start("dsp", topology_host(0), member_main, member);
        }
        engine_sleep_until(start_s + 2 * folded_s);
        found[2 * i] = folded_s;
        found[2 * i + 1] = team.ended_s - start_s;
        sg_barrier_destroy(team.barrier);
    }
}

static void test_folded_dsps_take_as_long_as_24_actors(void) {
    double *found = child_shared(2 * n_team_shapes * sizeof *found);

    child_run(compute_by_hand, found);
    for (guint i = 0; i < n_team_shapes; i++) {
        g_test_message("folded %.9f s, 24 actors %.9f s", found[2 * i], found[2 * i + 1]);
        assert_close(found[2 * i], found[2 * i + 1], 1e-6);
    }
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/gemm/estimate", test_the_estimate_is_what_the_simulation_takes);
    g_test_add_func("/gemm/moves", test_moves_and_bytes_follow_their_formulas);
    g_test_add_func("/gemm/on_chip", test_what_stays_on_chip_is_not_moved);
    g_test_add_func("/gemm/capacities", test_what_does_not_fit_names_tier_and_bytes);
    g_test_add_func("/gemm/folding", test_folded_dsps_take_as_long_as_24_actors);
    return g_test_run();
}
