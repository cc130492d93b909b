#include "actors/cluster/attention.h"
#include "actors/cluster/attention_steps.h"
#include "actors/engine.h"
#include "workloads/input_error.h"
#include <math.h>

#define MAX_DIMENSION (G_GUINT64_CONSTANT(1) << 24)

gboolean attention_shape_check(const AttentionShape *shape, GError **error) {
    const struct {
        const char *name;
        guint64 value, least;
    } dimensions[] = {
        {"heads", shape->heads, 1},
        {"kv_heads", shape->kv_heads, 1},
        {"head_dim", shape->head_dim, 1},
        {"new_tokens", shape->new_tokens, 1},
        {"past_tokens", shape->past_tokens, 0},
        {"batch", shape->batch, 1},
    };

    for (guint i = 0; i < G_N_ELEMENTS(dimensions); i++) {
        if (dimensions[i].value >= dimensions[i].least && dimensions[i].value <= MAX_DIMENSION)
            continue;
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_VALUE,
                    "'%s' must lie between %" G_GUINT64_FORMAT " and %" G_GUINT64_FORMAT
                    ", not %" G_GUINT64_FORMAT,
                    dimensions[i].name, dimensions[i].least, MAX_DIMENSION, dimensions[i].value);
        return FALSE;
    }
    if (shape->heads % shape->kv_heads == 0)
        return TRUE;
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                "%" G_GUINT64_FORMAT " heads cannot share %" G_GUINT64_FORMAT " KV heads evenly",
                shape->heads, shape->kv_heads);
    return FALSE;
}

/* The unfused variant launches per query head, so there the query heads of a group share nothing.
 */
AttentionProblem attention_problem(const AttentionShape *shape) {
    gboolean shared = shape->variant != ATTENTION_UNFUSED;

    return (AttentionProblem){
        .units = shape->batch * (shared ? shape->kv_heads : shape->heads),
        .group = shared ? shape->heads / shape->kv_heads : 1,
        .new_tokens = shape->new_tokens,
        .context = shape->past_tokens + shape->new_tokens,
        .head_dim = shape->head_dim,
        .type = shape->type,
    };
}

ScorePlace attention_score_place(AttentionVariant variant) {
    static const ScorePlace places[] = {
        [ATTENTION_UNFUSED] = SCORES_IN_DDR,
        [ATTENTION_FLASH] = SCORES_BY_BLOCK,
        [ATTENTION_MT] = SCORES_ON_CHIP,
    };

    return places[variant];
}

double attention_macs(const AttentionShape *shape) {
    double rows = (double)shape->new_tokens, past = (double)shape->past_tokens;
    double seen = shape->causal ? past + (rows + 1) / 2 : past + rows;
    double heads = (double)shape->batch * (double)shape->heads;

    return 2 * heads * (double)shape->head_dim * rows * seen;
}

static double tensor_bytes(const AttentionShape *shape, AttentionTensor tensor) {
    double element = (double)shape->head_dim * data_type_bytes(shape->type);
    double context = (double)(shape->past_tokens + shape->new_tokens);

    if (tensor == ATTENTION_K || tensor == ATTENTION_V)
        return element * (double)shape->batch * (double)shape->kv_heads * context;
    return element * (double)shape->batch * (double)shape->heads * (double)shape->new_tokens;
}

/* In DDR while the operator runs: its tensors; unfused, the scores of one head; Flash, the
 * statistics of all rows. */
static double ddr_bytes(const AttentionShape *shape) {
    double context = (double)(shape->past_tokens + shape->new_tokens);
    double bytes = 0;

    for (AttentionTensor tensor = ATTENTION_Q; tensor <= ATTENTION_O; tensor++)
        bytes += tensor_bytes(shape, tensor);
    if (shape->variant == ATTENTION_UNFUSED)
        bytes += (double)shape->new_tokens * context * data_type_bytes(shape->type);
    if (shape->variant == ATTENTION_FLASH)
        bytes += ATTENTION_STATISTICS_BYTES * (double)shape->batch * (double)shape->heads *
                 (double)shape->new_tokens;
    return bytes;
}

static gboolean choose(const AttentionShape *shape, const Platform *platform,
                       AttentionBlocks *blocks, GError **error) {
    const ClusterSpec *cluster = &platform->cluster;

    if (!attention_shape_check(shape, error))
        return FALSE;
    if (ddr_bytes(shape) > cluster->ddr_usable_bytes) {
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                    "attention does not fit DDR: its tensors need %.0f bytes of %.0f",
                    ddr_bytes(shape), cluster->ddr_usable_bytes);
        return FALSE;
    }
    AttentionProblem problem = attention_problem(shape);
    return attention_blocks(&problem, attention_score_place(shape->variant), cluster, blocks,
                            error);
}

/* --- in the engine */

typedef struct Run {
    Cluster *cluster;
    double bytes[N_ATTENTION_TENSORS];
} Run;

static void pass_step(gpointer data, const AttentionStep *step) {
    Run *run = data;
    Move moves[ATTENTION_STEP_MOVES];

    for (guint64 i = 0; i < step->launches; i++)
        cluster_launch(run->cluster);
    for (guint i = 0; i < step->n_moves; i++) {
        moves[i] = step->moves[i].move;
        run->bytes[step->moves[i].tensor] += (double)moves[i].bytes;
    }
    cluster_overlap(run->cluster, step->cycles, step->label, moves, step->n_moves);
}

static gboolean reserve(Cluster *cluster, const double bytes[N_TIERS], GError **error) {
    for (MemoryTier tier = 0; tier < N_TIERS; tier++) {
        if (cluster_reserve(cluster, tier, bytes[tier], "attention", error))
            continue;
        while (tier-- > 0)
            cluster_release(cluster, tier, bytes[tier]);
        return FALSE;
    }
    return TRUE;
}

static AttentionReport report_of(const AttentionShape *shape, const AttentionBlocks *blocks,
                                 const Run *run, double seconds) {
    AttentionReport report = {.blocks = *blocks, .seconds = seconds};

    for (AttentionTensor tensor = 0; tensor < N_ATTENTION_TENSORS; tensor++)
        report.bytes[tensor] = run->bytes[tensor];
    for (AttentionTensor tensor = ATTENTION_Q; tensor <= ATTENTION_O; tensor++)
        report.passes[tensor] = run->bytes[tensor] / tensor_bytes(shape, tensor);
    return report;
}

gboolean attention_run(Cluster *cluster, const AttentionShape *shape,
                       const AttentionOptions *options, GError **error) {
    static const AttentionOptions defaults = {0};
    const Platform *platform = cluster_platform(cluster);
    AttentionBlocks blocks;

    options = options == NULL ? &defaults : options;
    if (!choose(shape, platform, &blocks, error))
        return FALSE;
    if (options->numbers != NULL && shape->type != DATA_TYPE_FP16) {
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                    "attention's numbers are computed in fp16, not %s",
                    data_type_name(shape->type));
        return FALSE;
    }
    const double bytes[N_TIERS] = {
        [TIER_SM] = blocks.sm_bytes,
        [TIER_AM] = blocks.am_bytes,
        [TIER_GSM] = blocks.gsm_bytes,
        [TIER_DDR] = ddr_bytes(shape),
    };
    if (!reserve(cluster, bytes, error))
        return FALSE;

    Run run = {.cluster = cluster};
    AttentionPlan plan = {shape, &blocks, &platform->cluster, options->grain};
    double start_s = engine_now();
    attention_steps(&plan, pass_step, &run);
    cluster_count_macs(cluster, attention_macs(shape));
    if (options->numbers != NULL)
        attention_compute(shape, &blocks, options->numbers);
    if (options->report != NULL)
        *options->report = report_of(shape, &blocks, &run, engine_now() - start_s);
    for (MemoryTier tier = 0; tier < N_TIERS; tier++)
        cluster_release(cluster, tier, bytes[tier]);
    return TRUE;
}

/* --- without */

typedef struct Estimate {
    const Platform *platform;
    double seconds;
} Estimate;

static double move_seconds(const ClusterSpec *cluster, const Move *move) {
    gboolean on_gsm = move->kind == MOVE_GSM_TO_SM || move->kind == MOVE_AM_TO_GSM ||
                      move->kind == MOVE_GSM_TO_AM;

    return (double)move->bytes / (on_gsm ? cluster->gsm_bytes_per_s : cluster->ddr_bytes_per_s);
}

static void add_step(gpointer data, const AttentionStep *step) {
    Estimate *estimate = data;
    const ClusterSpec *cluster = &estimate->platform->cluster;
    const HthreadsSpec *hthreads = &estimate->platform->hthreads;
    double lane_s = 0;

    for (guint i = 0; i < step->n_moves; i++)
        lane_s += move_seconds(cluster, &step->moves[i].move);
    estimate->seconds +=
        (double)step->launches * (hthreads->create_group_s + hthreads->launch_group_s) +
        MAX(lane_s, step->cycles / cluster->clock_hz);
}

double attention_estimate_seconds(const AttentionShape *shape, const Platform *platform,
                                  GError **error) {
    AttentionBlocks blocks;

    if (!choose(shape, platform, &blocks, error))
        return NAN;
    Estimate estimate = {.platform = platform};
    AttentionPlan plan = {shape, &blocks, &platform->cluster, ATTENTION_GRAIN_WAVE};
    attention_steps(&plan, add_step, &estimate);
    return estimate.seconds;
}
