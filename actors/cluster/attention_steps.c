#include "actors/cluster/attention_steps.h"
#include "platforms/kernel_cycles.h"

typedef struct Walk {
    const AttentionPlan *plan;
    AttentionProblem problem;
    AttentionVisitor visit;
    gpointer data;
    guint64 units; /* at work in this wave */
    guint64 times; /* that a step stands for; 1 when every block is shown */
} Walk;

/* One row block on each DSP; of one unit. */
typedef struct Round {
    guint64 rows;    /* over all DSPs */
    guint64 fullest; /* on the busiest of them */
    guint64 tokens;  /* of K and V that they see */
} Round;

static gboolean by_block(const Walk *walk) {
    return walk->plan->grain == ATTENTION_GRAIN_BLOCK;
}

static Round round_at(const Walk *walk, guint64 index) {
    const AttentionBlocks *blocks = walk->plan->blocks;
    guint64 size = blocks->rows * blocks->dsps, first = index * size;
    guint64 rows = MIN(size, walk->problem.group * walk->problem.new_tokens - first);

    return (Round){
        .rows = rows,
        .fullest = MIN(rows, blocks->rows),
        .tokens = attention_visible(&walk->problem, walk->plan->shape->causal, first, rows),
    };
}

/* Passes a step 'times' over: one after another, or as one that stands for all. */
static void emit(const Walk *walk, AttentionStep step, guint64 times) {
    guint64 scale = walk->times * (by_block(walk) ? 1 : times);

    if (scale == 0)
        return;
    step.launches *= scale;
    step.cycles *= (double)scale;
    for (guint i = 0; i < step.n_moves; i++)
        step.moves[i].move.bytes *= scale;
    for (guint64 i = 0; i < (by_block(walk) ? times : 1); i++)
        walk->visit(walk->data, &step);
}

static void add_move(AttentionStep *step, AttentionMove move) {
    if (move.move.bytes == 0)
        return;
    g_assert(step->n_moves < ATTENTION_STEP_MOVES);
    step->moves[step->n_moves++] = move;
}

/* --- transfers, of all units at work */

static guint64 row_bytes(const Walk *walk) {
    return walk->units * walk->problem.head_dim * data_type_bytes(walk->problem.type);
}

static AttentionMove q_move(const Walk *walk, guint64 rows) {
    return (AttentionMove){ATTENTION_Q, {MOVE_DDR_TO_SM, rows * row_bytes(walk), "Q"}};
}

static AttentionMove o_move(const Walk *walk, MoveKind kind, guint64 rows) {
    return (AttentionMove){ATTENTION_O, {kind, rows * row_bytes(walk), "O"}};
}

static AttentionMove statistics_move(const Walk *walk, MoveKind kind, guint64 rows) {
    guint64 bytes = walk->units * rows * ATTENTION_STATISTICS_BYTES;

    return (AttentionMove){ATTENTION_STATISTICS, {kind, bytes, "statistics"}};
}

/* To every DSP that works on the unit; where that is one, each DSP fetches its own. */
static AttentionMove kv_move(const Walk *walk, AttentionTensor tensor, guint64 tokens) {
    MoveKind kind = walk->plan->blocks->dsps > 1 ? MOVE_BROADCAST : MOVE_DDR_TO_AM;
    const char *label = tensor == ATTENTION_K ? "K" : "V";

    return (AttentionMove){tensor, {kind, tokens * row_bytes(walk), label}};
}

static AttentionMove score_move(const Walk *walk, MoveKind kind, guint64 scores, guint64 bytes) {
    return (AttentionMove){ATTENTION_SCORES, {kind, walk->units * scores * bytes, "scores"}};
}

/* Scores of 'tokens' columns that lie in GSM, or the weights that replace them. */
static AttentionMove gsm_move(const Walk *walk, const Round *round, MoveKind kind, guint64 tokens) {
    const AttentionBlocks *blocks = walk->plan->blocks;
    guint64 in_gsm = (tokens * blocks->gsm_columns + blocks->columns - 1) / blocks->columns;
    gboolean weights = kind == MOVE_GSM_TO_SM;
    guint64 bytes = weights ? data_type_bytes(walk->problem.type) : ATTENTION_SCORE_BYTES;

    return score_move(walk, kind, round->rows * in_gsm, bytes);
}

/* --- computing, of the busiest DSP */

static double tile_cycles(const Walk *walk, guint64 rows, guint64 columns, guint64 k) {
    const ClusterSpec *cluster = walk->plan->cluster;
    KernelTile tile = {.rows = rows,
                       .columns = columns,
                       .k = k,
                       .m1 = KERNEL_ROWS,
                       .n1 = kernel_columns(cluster, walk->problem.type),
                       .type = walk->problem.type};

    return kernel_tile_cycles(&tile, cluster);
}

/* Q·Kᵀ: rows × tokens over the head dimension. */
static double qk_cycles(const Walk *walk, const Round *round, guint64 tokens) {
    return tile_cycles(walk, round->fullest, tokens, walk->problem.head_dim);
}

/* W·V: rows × head dimension over the tokens, a slice of weights in SM at a time. */
static double wv_cycles(const Walk *walk, const Round *round, guint64 tokens) {
    guint64 slice = walk->plan->blocks->slice, dim = walk->problem.head_dim;

    guint64 whole = tokens / slice;
    return (double)whole * tile_cycles(walk, round->fullest, dim, slice) +
           tile_cycles(walk, round->fullest, dim, tokens % slice);
}

static double softmax_cycles(const Walk *walk, const Round *round, guint64 tokens) {
    return (double)(round->fullest * tokens) * walk->plan->cluster->softmax_cycles_per_score;
}

/* K or V block by block, and what is computed on each. */
typedef struct Stage {
    const char *label;
    AttentionTensor tensor;
    double (*cycles)(const Walk *walk, const Round *round, guint64 tokens);
    MoveKind gsm; /* of its scores or weights in GSM */
} Stage;
static const Stage qk_stage = {"QK", ATTENTION_K, qk_cycles, MOVE_AM_TO_GSM};
static const Stage wv_stage = {"WV", ATTENTION_V, wv_cycles, MOVE_GSM_TO_SM};

static void move_alone(const Walk *walk, AttentionMove move) {
    AttentionStep step = {0};

    add_move(&step, move);
    if (step.n_moves > 0)
        emit(walk, step, 1);
}

/* --- MT: the next block comes while this one is computed */

static void hidden_block(const Walk *walk, const Round *round, const Stage *stage, guint64 tokens,
                         guint64 next_tokens, guint64 times) {
    AttentionStep step = {.label = stage->label, .cycles = stage->cycles(walk, round, tokens)};

    add_move(&step, kv_move(walk, stage->tensor, next_tokens));
    add_move(&step, gsm_move(walk, round, stage->gsm, tokens));
    emit(walk, step, times);
}

static void hidden_stage(const Walk *walk, const Round *round, const Stage *stage) {
    guint64 columns = walk->plan->blocks->columns;
    guint64 full = round->tokens / columns, rest = round->tokens % columns;

    if (full > 0) {
        hidden_block(walk, round, stage, columns, columns, full - 1);
        hidden_block(walk, round, stage, columns, rest, 1);
    }
    if (rest > 0)
        hidden_block(walk, round, stage, rest, 0, 1);
}

/* Softmax of whole rows, while what lies in GSM passes through AM and the first of V arrives. */
static void softmax_stage(const Walk *walk, const Round *round) {
    guint64 first = MIN(round->tokens, walk->plan->blocks->columns);
    AttentionStep step = {.label = "softmax", .cycles = softmax_cycles(walk, round, round->tokens)};

    add_move(&step, kv_move(walk, ATTENTION_V, first));
    add_move(&step, gsm_move(walk, round, MOVE_GSM_TO_AM, round->tokens));
    AttentionMove weights = gsm_move(walk, round, MOVE_GSM_TO_SM, round->tokens);
    weights.move.kind = MOVE_AM_TO_GSM;
    add_move(&step, weights);
    emit(walk, step, 1);
}

static void mt_round(const Walk *walk, const Round *round) {
    move_alone(walk, q_move(walk, round->rows));
    move_alone(walk, kv_move(walk, ATTENTION_K, MIN(round->tokens, walk->plan->blocks->columns)));
    hidden_stage(walk, round, &qk_stage);
    softmax_stage(walk, round);
    hidden_stage(walk, round, &wv_stage);
    move_alone(walk, o_move(walk, MOVE_AM_TO_DDR, round->rows));
}

typedef void (*RoundBody)(const Walk *walk, const Round *round);

static guint64 rounds_alike(const Walk *walk, guint64 first, const Round *round) {
    guint64 n = 1;

    for (; first + n < walk->plan->blocks->rounds; n++) {
        Round next = round_at(walk, first + n);
        if (next.rows != round->rows || next.tokens != round->tokens)
            break;
    }
    return n;
}

static void for_each_round(Walk *walk, RoundBody body) {
    guint64 times = walk->times;

    for (guint64 first = 0; first < walk->plan->blocks->rounds;) {
        Round round = round_at(walk, first);
        guint64 n = by_block(walk) ? 1 : rounds_alike(walk, first, &round);
        walk->times = times * n;
        body(walk, &round);
        first += n;
    }
    walk->times = times;
}

static void mt_wave(Walk *walk) {
    for_each_round(walk, mt_round);
}

/* --- Flash: every row block passes the K/V block that stays */

/* Rounds on one K/V block; at block grain one of them, otherwise all. */
typedef struct FlashPass {
    guint64 rows;
    double first_cycles, other_cycles; /* of the first round, of the others */
    guint64 next_tokens; /* of the next K/V block, which comes while the first computes */
} FlashPass;

static double flash_cycles(const Walk *walk, const Round *round, guint64 tokens) {
    return qk_cycles(walk, round, tokens) + softmax_cycles(walk, round, tokens) +
           wv_cycles(walk, round, tokens);
}

static void flash_pass(const Walk *walk, const FlashPass *pass) {
    static const char label[] = "QK, softmax, WV";
    AttentionStep in = {0}, out = {0};
    AttentionStep compute = {.label = label, .cycles = pass->first_cycles};

    if (pass->rows == 0)
        return;
    add_move(&in, q_move(walk, pass->rows));
    add_move(&in, o_move(walk, MOVE_DDR_TO_AM, pass->rows));
    add_move(&in, statistics_move(walk, MOVE_DDR_TO_AM, pass->rows));
    emit(walk, in, 1);
    add_move(&compute, kv_move(walk, ATTENTION_K, pass->next_tokens));
    add_move(&compute, kv_move(walk, ATTENTION_V, pass->next_tokens));
    emit(walk, compute, 1);
    if (pass->other_cycles > 0)
        emit(walk, (AttentionStep){.label = label, .cycles = pass->other_cycles}, 1);
    add_move(&out, o_move(walk, MOVE_AM_TO_DDR, pass->rows));
    add_move(&out, statistics_move(walk, MOVE_AM_TO_DDR, pass->rows));
    emit(walk, out, 1);
}

static void flash_block(const Walk *walk, guint64 start) {
    guint64 columns = walk->plan->blocks->columns, context = walk->problem.context;
    guint64 end = MIN(start + columns, context);
    FlashPass all = {.next_tokens = MIN(columns, context - end)};

    for (guint64 i = 0; i < walk->plan->blocks->rounds; i++) {
        Round round = round_at(walk, i);
        if (round.tokens <= start)
            continue;
        double cycles = flash_cycles(walk, &round, MIN(round.tokens, end) - start);
        all.rows += round.rows;
        *(all.first_cycles == 0 ? &all.first_cycles : &all.other_cycles) += cycles;
        if (by_block(walk)) {
            flash_pass(walk, &all);
            all = (FlashPass){0};
        }
    }
    flash_pass(walk, &all);
}

static void flash_wave(Walk *walk) {
    guint64 columns = walk->plan->blocks->columns, context = walk->problem.context;
    AttentionStep first = {0};

    add_move(&first, kv_move(walk, ATTENTION_K, MIN(columns, context)));
    add_move(&first, kv_move(walk, ATTENTION_V, MIN(columns, context)));
    emit(walk, first, 1);
    for (guint64 start = 0; start < context; start += columns)
        flash_block(walk, start);
}

/* --- unfused: nothing overlaps */

static void exposed_block(const Walk *walk, const Round *round, const Stage *stage,
                          guint64 tokens) {
    move_alone(walk, kv_move(walk, stage->tensor, tokens));
    emit(walk, (AttentionStep){.label = stage->label, .cycles = stage->cycles(walk, round, tokens)},
         1);
    if (stage->tensor == ATTENTION_K)
        move_alone(walk, score_move(walk, MOVE_AM_TO_DDR, round->rows * tokens,
                                    data_type_bytes(walk->problem.type)));
}

static void exposed_stage(const Walk *walk, const Round *round, const Stage *stage) {
    guint64 columns = walk->plan->blocks->columns;
    guint64 full = round->tokens / columns, rest = round->tokens % columns;
    Walk folded = *walk;

    folded.times *= by_block(walk) ? 1 : full;
    for (guint64 i = 0; i < (by_block(walk) ? full : MIN(full, 1)); i++)
        exposed_block(&folded, round, stage, columns);
    if (rest > 0)
        exposed_block(walk, round, stage, rest);
}

static void unfused_scores(const Walk *walk, const Round *round) {
    move_alone(walk, q_move(walk, round->rows));
    exposed_stage(walk, round, &qk_stage);
}

static void unfused_output(const Walk *walk, const Round *round) {
    move_alone(walk, score_move(walk, MOVE_DDR_TO_AM, round->rows * round->tokens,
                                data_type_bytes(walk->problem.type)));
    emit(walk,
         (AttentionStep){.label = "softmax", .cycles = softmax_cycles(walk, round, round->tokens)},
         1);
    exposed_stage(walk, round, &wv_stage);
    move_alone(walk, o_move(walk, MOVE_AM_TO_DDR, round->rows));
}

static void unfused_wave(Walk *walk) {
    emit(walk, (AttentionStep){.launches = 1}, 1);
    for_each_round(walk, unfused_scores);
    for_each_round(walk, unfused_output);
}

/* --- */

/* 'waves' waves of 'units' units. */
static void run_waves(Walk *walk, guint64 units, guint64 waves) {
    static void (*const variants[])(Walk * walk) = {
        [ATTENTION_UNFUSED] = unfused_wave,
        [ATTENTION_FLASH] = flash_wave,
        [ATTENTION_MT] = mt_wave,
    };
    gboolean fold = walk->plan->grain == ATTENTION_GRAIN_WAVE;

    walk->units = units;
    walk->times = fold ? waves : 1;
    for (guint64 i = 0; i < (fold ? MIN(waves, 1) : waves); i++)
        variants[walk->plan->shape->variant](walk);
}

void attention_steps(const AttentionPlan *plan, AttentionVisitor visit, gpointer data) {
    Walk walk = {
        .plan = plan, .problem = attention_problem(plan->shape), .visit = visit, .data = data};
    guint64 together = plan->blocks->together, units = walk.problem.units;

    run_waves(&walk, together, units / together);
    if (units % together > 0)
        run_waves(&walk, units % together, 1);
}
