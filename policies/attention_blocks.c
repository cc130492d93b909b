#include "policies/attention_blocks.h"
#include "platforms/kernel_cycles.h"
#include "workloads/input_error.h"

/* What a row block may be; a unit with fewer rows has one block of just those. */
static const guint64 row_choices[] = {ATTENTION_ROWS, 48, 32, 24, 16, 12, 8, 6, 4, 3, 2, 1};

static guint64 divide_up(guint64 a, guint64 b) {
    return (a + b - 1) / b;
}

static guint64 unit_rows(const AttentionProblem *problem) {
    return problem->group * problem->new_tokens;
}

/* Whether query heads are short enough to be spread over the DSPs. The unfused variant launches,
 * and so runs, one at a time. */
static gboolean is_spread(const AttentionProblem *problem, ScorePlace place) {
    return place != SCORES_IN_DDR && problem->new_tokens <= ATTENTION_ROWS;
}

/* Rows that a block would have if everything fitted: where units are spread and there are DSPs to
 * spare, a unit's rows are shared out as well. */
static guint64 wished_rows(const AttentionProblem *problem, ScorePlace place,
                           const ClusterSpec *cluster) {
    guint64 dsps = is_spread(problem, place) ? MAX(cluster->dsps / problem->units, 1) : 1;

    return MIN(divide_up(unit_rows(problem), dsps), ATTENTION_ROWS);
}

static double gsm_share(const ClusterSpec *cluster) {
    return cluster->gsm_bytes / (double)cluster->dsps;
}

/* Two slices of weights for Q·Kᵀ's successor W·V; Q is no longer needed then. */
static double sm_bytes(const AttentionProblem *problem, const AttentionBlocks *blocks) {
    double row = (double)data_type_bytes(problem->type) * (double)blocks->rows;
    return row * (double)MAX(problem->head_dim, 2 * blocks->slice);
}

/* Bytes of AM beside the scores. On chip: two K (then V) blocks, O in FP32, the rows' statistics.
 * By block: two K and two V blocks, weights, O in FP32, O and the statistics on their way in and
 * out. In DDR nothing overlaps: one K (then V) block and O. */
static double am_bytes_beside_scores(const AttentionProblem *problem, ScorePlace place,
                                     const AttentionBlocks *blocks) {
    double type = data_type_bytes(problem->type), dim = (double)problem->head_dim;
    double rows = (double)blocks->rows, columns = (double)blocks->columns;
    double block = columns * dim * type;

    if (place == SCORES_ON_CHIP)
        return 2 * block + rows * (dim * sizeof(float) + ATTENTION_STATISTICS_BYTES);
    if (place == SCORES_IN_DDR)
        return block + rows * (dim * sizeof(float) + ATTENTION_STATISTICS_BYTES);
    return 4 * block + rows * columns * type +
           rows * (dim * (sizeof(float) + 2 * type) + 2 * ATTENTION_STATISTICS_BYTES);
}

/* Bytes of one score column of all K/V blocks: what each of 'columns' takes. */
static double score_column_bytes(const AttentionProblem *problem, ScorePlace place,
                                 const AttentionBlocks *blocks) {
    double score = place == SCORES_IN_DDR ? data_type_bytes(problem->type) : ATTENTION_SCORE_BYTES;
    guint64 kv_blocks = place == SCORES_BY_BLOCK ? 1 : divide_up(problem->context, blocks->columns);

    return score * (double)blocks->rows * (double)kv_blocks;
}

/* Splits the scores between AM and GSM. FALSE when they do not fit. */
static gboolean place_scores(const AttentionProblem *problem, ScorePlace place,
                             const ClusterSpec *cluster, AttentionBlocks *blocks) {
    double beside = am_bytes_beside_scores(problem, place, blocks);
    double column = score_column_bytes(problem, place, blocks);
    double share = place == SCORES_ON_CHIP ? gsm_share(cluster) : 0;

    if (sm_bytes(problem, blocks) > cluster->sm_bytes || beside > cluster->am_bytes)
        return FALSE;
    guint64 in_am = (guint64)MIN((double)blocks->columns, (cluster->am_bytes - beside) / column);
    guint64 in_gsm = (guint64)MIN((double)blocks->columns, share / column);
    if (in_am + in_gsm < blocks->columns)
        return FALSE;
    blocks->gsm_columns = blocks->columns - in_am;
    blocks->sm_bytes = sm_bytes(problem, blocks);
    blocks->am_bytes = beside + column * (double)in_am;
    blocks->gsm_bytes = column * (double)blocks->gsm_columns * (double)cluster->dsps;
    return TRUE;
}

/* Flash fixes the largest K/V block that fits; the others stream blocks of the kernel's width. */
static gboolean place_blocks(const AttentionProblem *problem, ScorePlace place,
                             const ClusterSpec *cluster, AttentionBlocks *blocks) {
    blocks->slice = kernel_columns(cluster, problem->type);
    if (place != SCORES_BY_BLOCK) {
        blocks->columns = blocks->slice;
        return place_scores(problem, place, cluster, blocks);
    }
    double token = (double)problem->head_dim * data_type_bytes(problem->type);
    guint64 most = MIN(problem->context, (guint64)(cluster->am_bytes / token));
    for (guint64 steps = divide_up(most, ATTENTION_KV_STEP); steps > 0; steps--) {
        blocks->columns = steps * ATTENTION_KV_STEP;
        if (place_scores(problem, place, cluster, blocks))
            return TRUE;
    }
    return FALSE;
}

/* Rounds and waves of row blocks of 'rows'. */
static void share_out(const AttentionProblem *problem, ScorePlace place, const ClusterSpec *cluster,
                      AttentionBlocks *blocks) {
    guint64 row_blocks = divide_up(unit_rows(problem), blocks->rows);

    blocks->dsps = MIN(row_blocks, cluster->dsps);
    blocks->rounds = divide_up(row_blocks, cluster->dsps);
    blocks->together =
        is_spread(problem, place) ? MIN(problem->units, cluster->dsps / blocks->dsps) : 1;
    blocks->waves = divide_up(problem->units, blocks->together);
}

/* The tier that a single row overflows, with what it would have to hold and what it has. */
static void refuse(const AttentionProblem *problem, ScorePlace place, const ClusterSpec *cluster,
                   const AttentionBlocks *one_row, GError **error) {
    double sm = sm_bytes(problem, one_row);
    if (sm > cluster->sm_bytes) {
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                    "attention does not fit SM: one row of head dimension %" G_GUINT64_FORMAT
                    " needs %.0f bytes of %.0f",
                    problem->head_dim, sm, cluster->sm_bytes);
        return;
    }
    double share = place == SCORES_ON_CHIP ? gsm_share(cluster) : 0;
    double bytes = am_bytes_beside_scores(problem, place, one_row) +
                   score_column_bytes(problem, place, one_row) * (double)one_row->columns;
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                "attention does not fit %s: one row over %" G_GUINT64_FORMAT
                " tokens needs %.0f bytes of %.0f",
                share > 0 ? "AM and the GSM share of a DSP" : "AM", problem->context, bytes,
                cluster->am_bytes + share);
}

gboolean attention_blocks(const AttentionProblem *problem, ScorePlace place,
                          const ClusterSpec *cluster, AttentionBlocks *blocks, GError **error) {
    AttentionBlocks choice = {0};
    guint64 most = wished_rows(problem, place, cluster);

    g_assert(problem->units > 0 && most > 0 && problem->context > 0 && problem->head_dim > 0);
    for (guint i = 0; i < G_N_ELEMENTS(row_choices); i++) {
        choice = (AttentionBlocks){.rows = MIN(row_choices[i], most)};
        share_out(problem, place, cluster, &choice);
        if (place_blocks(problem, place, cluster, &choice)) {
            *blocks = choice;
            return TRUE;
        }
    }
    refuse(problem, place, cluster, &choice, error);
    return FALSE;
}

/* " (64 need …)" when fewer rows were taken than would do; otherwise "". */
static char *reason_text(const AttentionProblem *problem, ScorePlace place,
                         const ClusterSpec *cluster, const AttentionBlocks *blocks) {
    AttentionBlocks wished = *blocks;
    wished.rows = wished_rows(problem, place, cluster);
    if (wished.rows == blocks->rows)
        return g_strdup("");

    double sm = sm_bytes(problem, &wished);
    if (sm > cluster->sm_bytes)
        return g_strdup_printf(" (%" G_GUINT64_FORMAT " need %.0f bytes of SM, which has %.0f)",
                               wished.rows, sm, cluster->sm_bytes);
    gboolean on_chip = place == SCORES_ON_CHIP;
    double room = cluster->am_bytes - am_bytes_beside_scores(problem, place, &wished);
    double scores = score_column_bytes(problem, place, &wished) * (double)wished.columns;
    return g_strdup_printf(" (the scores of %" G_GUINT64_FORMAT " need %.0f bytes, AM%s %.0f)",
                           wished.rows, scores,
                           on_chip ? " and the DSP's share of GSM have" : " has",
                           MAX(room, 0) + (on_chip ? gsm_share(cluster) : 0));
}

char *attention_blocks_text(const AttentionProblem *problem, ScorePlace place,
                            const ClusterSpec *cluster, const AttentionBlocks *blocks) {
    g_autofree char *reason = reason_text(problem, place, cluster, blocks);
    g_autofree char *gsm =
        blocks->gsm_columns == 0
            ? g_strdup("")
            : g_strdup_printf("; %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT " scores in GSM",
                              blocks->gsm_columns, blocks->columns);

    return g_strdup_printf("%" G_GUINT64_FORMAT " row%s%s on each of %" G_GUINT64_FORMAT
                           " DSP%s in %" G_GUINT64_FORMAT " round%s; %" G_GUINT64_FORMAT
                           " head%s at a time; K and V by %" G_GUINT64_FORMAT " tokens%s",
                           blocks->rows, blocks->rows == 1 ? "" : "s", reason, blocks->dsps,
                           blocks->dsps == 1 ? "" : "s", blocks->rounds,
                           blocks->rounds == 1 ? "" : "s", blocks->together,
                           blocks->together == 1 ? "" : "s", blocks->columns, gsm);
}

guint64 attention_visible(const AttentionProblem *problem, gboolean causal, guint64 first,
                          guint64 rows) {
    if (!causal)
        return problem->context;
    guint64 last_token = (first + rows - 1) / problem->group;
    return problem->context - problem->new_tokens + last_token + 1;
}
