#include "actors/cluster/gemm.h"

#include "actors/cluster/gemm_numbers.h"
#include "workloads/input_error.h"

#define MAX_MOVES 4 /* in one step: X, W, Y out, Y in */

typedef struct Moves {
    Move moves[MAX_MOVES];
    guint n;
} Moves;

static void add_move(Moves *moves, MoveKind kind, guint64 bytes, const char *label) {
    g_assert(moves->n < MAX_MOVES);
    moves->moves[moves->n++] = (Move){.kind = kind, .bytes = bytes, .label = label};
}

static void add_inputs(Moves *moves, const GemmPlan *plan, const GemmStep *step) {
    static const struct {
        MoveKind kind;
        const char *label;
    } x_moves[] = {[GEMM_X_FETCH] = {MOVE_DDR_TO_GSM, "Xg"},
                   [GEMM_X_COPY] = {MOVE_GSM_TO_SM, "X2"},
                   [GEMM_X_BROADCAST] = {MOVE_BROADCAST, "X2"}};

    add_move(moves, x_moves[step->x_move].kind, step->x_bytes, x_moves[step->x_move].label);
    add_move(moves, plan->split_columns ? MOVE_DDR_TO_AM : MOVE_BROADCAST, step->w_bytes, "W2");
}

/* 'next' is NULL after the last step. */
static Moves moves_beside(const GemmPlan *plan, const GemmStep *step, const GemmStep *next) {
    Moves moves = {.n = 0};

    if (next != NULL)
        add_inputs(&moves, plan, next);
    add_move(&moves, MOVE_AM_TO_DDR, step->y_out_bytes, "Y2 out");
    add_move(&moves, MOVE_DDR_TO_AM, step->y_in_bytes, "Y2 in");
    return moves;
}

/* In comes before out, though both have taken the whole pass: neither may need the other's buffer.
 */
static void pass_y(GemmNumbers *numbers, const GemmPlan *plan, const GemmStep *step) {
    if (step->pass + 1 < gemm_plan_passes(plan))
        gemm_numbers_fetch(numbers, step->pass + 1);
    if (step->pass > 0)
        gemm_numbers_store(numbers, step->pass - 1);
}

static void take_step(Cluster *cluster, const GemmPlan *plan, const GemmStep *step,
                      const GemmStep *next) {
    Moves moves = moves_beside(plan, step, next);

    cluster_overlap(cluster, step->cycles, "GEMM", moves.moves, moves.n);
}

static void run_plan(Cluster *cluster, const GemmPlan *plan, GemmNumbers *numbers) {
    guint64 last = gemm_plan_passes(plan) - 1;
    GemmCursor cursor = gemm_cursor(plan);
    GemmStep step = {0}, next = {0};
    gboolean more = gemm_cursor_next(&cursor, &step);
    Moves moves = {.n = 0};

    add_inputs(&moves, plan, &step);
    cluster_move(cluster, moves.moves, moves.n);
    if (numbers)
        gemm_numbers_load(numbers, &step);
    while (more) {
        more = gemm_cursor_next(&cursor, &next);
        take_step(cluster, plan, &step, more ? &next : NULL);
        if (numbers && more)
            gemm_numbers_load(numbers, &next);
        if (numbers)
            gemm_numbers_compute(numbers, &step);
        if (numbers && step.ends_pass)
            pass_y(numbers, plan, &step);
        step = next;
    }
    Move out = {MOVE_AM_TO_DDR, gemm_plan_pass(plan, last).out_bytes, "Y2 out"};
    cluster_move(cluster, &out, 1);
    if (numbers)
        gemm_numbers_store(numbers, last);
}

static gboolean check_shape(const GemmShape *shape, const GemmOptions *options, GError **error) {
    gboolean numbers = options->x || options->w || options->y;

    if (shape->m == 0 || shape->n == 0 || shape->k == 0) {
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_VALUE,
                    "a product of %" G_GUINT64_FORMAT " x %" G_GUINT64_FORMAT
                    " x %" G_GUINT64_FORMAT " has nothing to compute",
                    shape->m, shape->n, shape->k);
        return FALSE;
    }
    g_assert(!numbers || (options->x && options->w && options->y));
    if (!numbers || shape->type == DATA_TYPE_FP16 || shape->type == DATA_TYPE_FP32)
        return TRUE;
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                "numbers are computed in 'fp16' and 'fp32', not in '%s'",
                data_type_name(shape->type));
    return FALSE;
}

typedef struct Booking {
    MemoryTier tier;
    double bytes;
    const char *what;
} Booking;

static void release_first(Cluster *cluster, const Booking *bookings, guint n) {
    for (guint i = 0; i < n; i++)
        cluster_release(cluster, bookings[i].tier, bookings[i].bytes);
}

static gboolean reserve_all(Cluster *cluster, const Booking *bookings, guint n, GError **error) {
    for (guint i = 0; i < n; i++)
        if (!cluster_reserve(cluster, bookings[i].tier, bookings[i].bytes, bookings[i].what,
                             error)) {
            release_first(cluster, bookings, i);
            return FALSE;
        }
    return TRUE;
}

gboolean gemm_run(Cluster *cluster, const GemmShape *shape, const GemmBlocks *blocks,
                  const GemmOptions *options, GError **error) {
    static const GemmOptions plain = {0};
    const ClusterSpec *spec = &cluster_platform(cluster)->cluster;

    if (options == NULL)
        options = &plain;
    if (!check_shape(shape, options, error) || !gemm_blocks_check(blocks, shape->type, spec, error))
        return FALSE;
    GemmMode mode = {options->transfers, options->x_on_chip, options->y_on_chip};
    GemmPlan plan = gemm_plan(shape, blocks, mode, spec);
    const Booking bookings[] = {{TIER_SM, plan.sm_bytes, "X2"},
                                {TIER_AM, plan.am_bytes, "W2 and Y2"},
                                {TIER_GSM, plan.gsm_bytes, "Xg"},
                                {TIER_DDR, plan.ddr_bytes, "X, W and Y"}};

    if (!reserve_all(cluster, bookings, G_N_ELEMENTS(bookings), error))
        return FALSE;
    g_autoptr(GemmNumbers) numbers =
        options->x ? gemm_numbers_new(&plan, options->x, options->w, options->y) : NULL;
    run_plan(cluster, &plan, numbers);
    cluster_count_macs(cluster, (double)shape->m * (double)shape->n * (double)shape->k);
    release_first(cluster, bookings, G_N_ELEMENTS(bookings));
    return TRUE;
}
