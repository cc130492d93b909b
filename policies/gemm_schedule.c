#include "policies/gemm_schedule.h"

#include "platforms/kernel_cycles.h"

/* Sums that are not finished travel and wait as FP32 whatever the operands are. */
#define SUM_BYTES 4
/* Of Y2: one being computed, the others on their way out and in. */
#define SPARE_BUFFERS 2

static guint64 divide_up(guint64 a, guint64 b) {
    return (a + b - 1) / b;
}

static guint64 round_up(guint64 a, guint64 multiple) {
    return divide_up(a, multiple) * multiple;
}

/* X in rounds of K2, two of each, as eq. 6; what of it fits into SM bounds K2. Even, as the kernel
 * takes two steps of K at a time. */
static guint64 few_rows_k_step(const GemmPlan *plan, guint64 k2) {
    guint64 bytes = 2 * plan->shape.m * data_type_bytes(plan->shape.type);
    guint64 fitting = (guint64)plan->cluster->sm_bytes / bytes;

    return MAX(MIN(k2, fitting) / 2 * 2, 1);
}

/* A DSP's columns in one round: an even share in whole vectors, as wide as AM takes two W2 and two
 * Y2 of it (eq. 7 without stationary blocks). */
static guint64 few_rows_column_tile(const GemmPlan *plan) {
    guint64 vector = kernel_vector_columns(plan->cluster, plan->shape.type);
    guint64 column_bytes =
        2 * plan->k_step * data_type_bytes(plan->shape.type) + 2 * plan->shape.m * SUM_BYTES;
    guint64 fitting = (guint64)plan->cluster->am_bytes / column_bytes / vector * vector;
    guint64 widest = MAX(fitting, vector);
    guint64 dsps = plan->cluster->dsps;
    guint64 rounds = divide_up(round_up(divide_up(plan->shape.n, dsps), vector), widest);

    return round_up(divide_up(plan->shape.n, rounds * dsps), vector);
}

static void plan_few_rows(GemmPlan *plan, const GemmBlocks *blocks) {
    const GemmShape *shape = &plan->shape;
    double element = data_type_bytes(shape->type);

    plan->row_tile = plan->row_block = shape->m;
    plan->k_block = shape->k;
    plan->k_step = few_rows_k_step(plan, blocks->k2);
    plan->column_tile = few_rows_column_tile(plan);
    plan->column_block = plan->column_tile * plan->cluster->dsps;
    plan->sm_bytes = 2 * element * (double)(shape->m * plan->k_step);
    plan->am_bytes = 2 * element * (double)(plan->k_step * plan->column_tile) +
                     2.0 * SUM_BYTES * (double)(shape->m * plan->column_tile);
    plan->gsm_bytes = 0;
}

static void plan_blocks(GemmPlan *plan, const GemmBlocks *blocks) {
    GemmFootprint footprint = gemm_footprint(blocks, plan->shape.n, plan->shape.type);

    plan->row_tile = blocks->m2;
    plan->row_block = blocks->mg;
    plan->k_block = MIN(blocks->kg, plan->shape.k);
    plan->k_step = blocks->k2;
    plan->column_tile = plan->column_block = blocks->n2;
    plan->sm_bytes = footprint.sm_bytes;
    plan->am_bytes = footprint.am_bytes;
    plan->gsm_bytes = plan->mode.x_on_chip ? 0 : footprint.gsm_bytes;
}

static double off_chip_bytes(const GemmPlan *plan) {
    const GemmShape *shape = &plan->shape;
    double m = (double)shape->m, n = (double)shape->n, k = (double)shape->k;
    double x = plan->mode.x_on_chip ? 0 : m * k;
    double y = plan->mode.y_on_chip ? 0 : m * n;

    return data_type_bytes(shape->type) * (x + k * n + y);
}

static GemmPlan plan_path(const GemmPlan *start, const GemmBlocks *blocks, gboolean few_rows) {
    GemmPlan plan = *start;

    plan.split_columns = few_rows;
    if (few_rows)
        plan_few_rows(&plan, blocks);
    else
        plan_blocks(&plan, blocks);
    plan.ddr_bytes = off_chip_bytes(&plan);
    plan.row_blocks = divide_up(plan.shape.m, plan.row_block);
    plan.column_blocks = divide_up(plan.shape.n, plan.column_block);
    plan.k_blocks = divide_up(plan.shape.k, plan.k_block);
    plan.y_stays = plan.column_blocks <= SPARE_BUFFERS;
    return plan;
}

GemmPlan gemm_plan(const GemmShape *shape, const GemmBlocks *blocks, GemmMode mode,
                   const ClusterSpec *cluster) {
    GemmPlan start = {
        .shape = *shape, .mode = mode, .cluster = cluster, .m1 = blocks->m1, .n1 = blocks->n1};

    g_assert(shape->m > 0 && shape->n > 0 && shape->k > 0);
    GemmPlan in_blocks = plan_path(&start, blocks, FALSE);
    if (shape->m > cluster->dsps * blocks->m1)
        return in_blocks;
    GemmPlan few_rows = plan_path(&start, blocks, TRUE);
    gboolean better = gemm_blocks_fit(blocks, shape->n, shape->type, cluster) &&
                      gemm_plan_seconds(&in_blocks) < gemm_plan_seconds(&few_rows);
    return better ? in_blocks : few_rows;
}

guint64 gemm_plan_passes(const GemmPlan *plan) {
    return plan->row_blocks * plan->k_blocks * plan->column_blocks;
}

GemmPass gemm_plan_pass(const GemmPlan *plan, guint64 index) {
    guint64 k_block = index / plan->column_blocks % plan->k_blocks;
    GemmPass pass = {
        .row = index / plan->column_blocks / plan->k_blocks * plan->row_block,
        .column = index % plan->column_blocks * plan->column_block,
        .k = k_block * plan->k_block,
        .first = k_block == 0,
        .last = k_block + 1 == plan->k_blocks,
    };

    pass.rows = MIN(plan->row_block, plan->shape.m - pass.row);
    pass.columns = MIN(plan->column_block, plan->shape.n - pass.column);
    pass.depth = MIN(plan->k_block, plan->shape.k - pass.k);
    guint64 sums = pass.rows * pass.columns;
    if (!pass.first && !plan->y_stays)
        pass.in_bytes = sums * SUM_BYTES;
    if (!pass.last)
        pass.out_bytes = plan->y_stays ? 0 : sums * SUM_BYTES;
    else
        pass.out_bytes = plan->mode.y_on_chip ? 0 : sums * data_type_bytes(plan->shape.type);
    return pass;
}

/* Row tiles fill up in order; the few rows' columns are dealt out evenly, in whole vectors. */
GemmPart gemm_plan_part(const GemmPlan *plan, const GemmPass *pass, guint64 dsp) {
    if (!plan->split_columns) {
        guint64 row = MIN(dsp * plan->row_tile, pass->rows);
        return (GemmPart){
            .row = row, .rows = MIN(plan->row_tile, pass->rows - row), .columns = pass->columns};
    }
    guint64 vector = kernel_vector_columns(plan->cluster, plan->shape.type);
    guint64 share = round_up(divide_up(pass->columns, plan->cluster->dsps), vector);
    guint64 column = MIN(dsp * share, pass->columns);

    return (GemmPart){
        .rows = pass->rows, .column = column, .columns = MIN(share, pass->columns - column)};
}

static double step_cycles(const GemmPlan *plan, const GemmPass *pass, guint64 depth) {
    GemmPart busiest = gemm_plan_part(plan, pass, 0);
    KernelTile tile = {.rows = busiest.rows,
                       .columns = busiest.columns,
                       .k = depth,
                       .m1 = plan->m1,
                       .n1 = plan->n1,
                       .type = plan->shape.type};

    return kernel_tile_cycles(&tile, plan->cluster);
}

static void enter_pass(GemmCursor *cursor) {
    const GemmPlan *plan = cursor->plan;
    guint64 passes = gemm_plan_passes(plan);

    cursor->out_bytes = cursor->index > 0 ? cursor->pass.out_bytes : 0;
    cursor->pass = gemm_plan_pass(plan, cursor->index);
    cursor->in_bytes =
        cursor->index + 1 < passes ? gemm_plan_pass(plan, cursor->index + 1).in_bytes : 0;
    cursor->step = 0;
    cursor->steps = divide_up(cursor->pass.depth, plan->k_step);
    cursor->cycles = step_cycles(plan, &cursor->pass, MIN(plan->k_step, cursor->pass.depth));
}

GemmCursor gemm_cursor(const GemmPlan *plan) {
    return (GemmCursor){.plan = plan};
}

/* Of X and W, before the step can compute. From GSM, buffers move as whole tiles to all DSPs,
 * however few of their rows exist: a partial block costs as much as a full one (table VIII: 2, 3, 6
 * and 12 blocks for its four S). DDR is read only where there is something. */
static void find_inputs(const GemmPlan *plan, const GemmPass *pass, GemmStep *step) {
    guint64 element = data_type_bytes(plan->shape.type);

    step->w_bytes = step->depth * pass->columns * element;
    if (plan->mode.x_on_chip || (!plan->split_columns && pass->column > 0)) {
        guint64 rows = plan->split_columns ? pass->rows : plan->row_tile;
        step->x_move = GEMM_X_COPY;
        step->x_bytes = plan->cluster->dsps * rows * step->depth * element;
        return;
    }
    step->x_move = plan->split_columns ? GEMM_X_BROADCAST : GEMM_X_FETCH;
    step->x_bytes = pass->rows * step->depth * element;
}

/* Part 'step' of 'bytes' cut into equal tiles of whole bytes, or all with the last step. */
static guint64 share_of(const GemmCursor *cursor, guint64 bytes) {
    guint64 step = cursor->step, steps = cursor->steps;

    g_assert(step < steps);
    if (cursor->plan->mode.transfers == GEMM_UNTILED)
        return step + 1 == steps ? bytes : 0;
    return bytes * (step + 1) / steps - bytes * step / steps;
}

gboolean gemm_cursor_next(GemmCursor *cursor, GemmStep *step) {
    const GemmPlan *plan = cursor->plan;

    if (cursor->step == cursor->steps) {
        if (cursor->steps > 0)
            cursor->index++;
        if (cursor->index == gemm_plan_passes(plan))
            return FALSE;
        enter_pass(cursor);
    }
    const GemmPass *pass = &cursor->pass;
    guint64 offset = cursor->step * plan->k_step;

    *step = (GemmStep){.pass = cursor->index,
                       .k = pass->k + offset,
                       .depth = MIN(plan->k_step, pass->depth - offset),
                       .y_out_bytes = share_of(cursor, cursor->out_bytes),
                       .y_in_bytes = share_of(cursor, cursor->in_bytes),
                       .ends_pass = cursor->step + 1 == cursor->steps};
    step->cycles =
        step->depth == plan->k_step ? cursor->cycles : step_cycles(plan, pass, step->depth);
    find_inputs(plan, pass, step);
    cursor->step++;
    return TRUE;
}

static double input_seconds(const GemmPlan *plan, const GemmStep *step) {
    double x_rate = step->x_move == GEMM_X_COPY ? plan->cluster->gsm_bytes_per_s
                                                : plan->cluster->ddr_bytes_per_s;

    return (double)step->x_bytes / x_rate + (double)step->w_bytes / plan->cluster->ddr_bytes_per_s;
}

double gemm_plan_seconds(const GemmPlan *plan) {
    GemmCursor cursor = gemm_cursor(plan);
    GemmStep step = {0}, next = {0};
    gboolean more = gemm_cursor_next(&cursor, &step);
    double ddr_bytes_per_s = plan->cluster->ddr_bytes_per_s;
    double seconds = input_seconds(plan, &step);

    while (more) {
        double lane_s = (double)(step.y_out_bytes + step.y_in_bytes) / ddr_bytes_per_s;
        more = gemm_cursor_next(&cursor, &next);
        if (more)
            lane_s += input_seconds(plan, &next);
        seconds += MAX(lane_s, step.cycles / plan->cluster->clock_hz);
        step = next;
    }
    GemmPass last = gemm_plan_pass(plan, gemm_plan_passes(plan) - 1);
    return seconds + (double)last.out_bytes / ddr_bytes_per_s;
}
