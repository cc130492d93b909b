#include "analysis/operators/operator_report.h"

#include "platforms/network.h"
#include <math.h>
#include <string.h>

const char *const operator_kind_names[] = {"gemm", "attention", "allreduce", NULL};
const char *const operator_variant_names[] = {"unfused", "flash", "mt", NULL};

/* From where to where, in the order of MoveKind. */
static const struct {
    MemoryTier from, to;
} move_ends[N_MOVES] = {
    [MOVE_DDR_TO_GSM] = {TIER_DDR, TIER_GSM}, [MOVE_GSM_TO_SM] = {TIER_GSM, TIER_SM},
    [MOVE_BROADCAST] = {TIER_DDR, TIER_AM},   [MOVE_DDR_TO_SM] = {TIER_DDR, TIER_SM},
    [MOVE_DDR_TO_AM] = {TIER_DDR, TIER_AM},   [MOVE_AM_TO_DDR] = {TIER_AM, TIER_DDR},
    [MOVE_AM_TO_GSM] = {TIER_AM, TIER_GSM},   [MOVE_GSM_TO_AM] = {TIER_GSM, TIER_AM},
};

const char *operator_bound_name(OperatorBound bound) {
    static const char *const names[] = {"compute", "DDR", "GSM", "launch", "network"};

    return names[bound];
}

static gboolean crosses_ddr(MoveKind kind) {
    return move_ends[kind].from == TIER_DDR || move_ends[kind].to == TIER_DDR;
}

/* Bytes of the transfers that end on DDR or start there (TRUE), or of the others. */
static double lane_bytes(const ClusterCounts *counts, gboolean on_ddr) {
    double bytes = 0;

    for (MoveKind kind = 0; kind < N_MOVES; kind++)
        if (crosses_ddr(kind) == on_ddr)
            bytes += counts->bytes[kind];
    return bytes;
}

double operator_ddr_bytes(const ClusterCounts *counts) {
    return lane_bytes(counts, TRUE);
}

OperatorTimes operator_times(const ClusterCounts *counts, const ClusterSpec *cluster) {
    return (OperatorTimes){.compute_s = counts->compute_s,
                           .ddr_s = lane_bytes(counts, TRUE) / cluster->ddr_bytes_per_s,
                           .gsm_s = lane_bytes(counts, FALSE) / cluster->gsm_bytes_per_s,
                           .launch_s = counts->launch_s};
}

/* DDR and GSM transfers follow one another on one lane, which is to be held against the computing:
 * where the lane is the longer, its longer part bounds. */
OperatorBound operator_bound(const OperatorTimes *times) {
    double lane_s = times->ddr_s + times->gsm_s;

    if (times->launch_s > MAX(times->compute_s, lane_s))
        return BOUND_LAUNCH;
    if (times->compute_s >= lane_s)
        return BOUND_COMPUTE;
    return times->ddr_s >= times->gsm_s ? BOUND_DDR : BOUND_GSM;
}

static char *brief_bytes(double bytes) {
    return units_format_brief(bytes, DIMENSION_BYTES);
}

static void add_gemm_shape(Facts *facts, const OperatorSpec *spec) {
    const GemmShape *shape = &spec->gemm;

    facts_note(facts, "shape",
               "M %" G_GUINT64_FORMAT ", K %" G_GUINT64_FORMAT ", N %" G_GUINT64_FORMAT ", %s",
               shape->m, shape->k, shape->n, data_type_name(shape->type));
    facts_count(facts, "m", NULL, shape->m);
    facts_count(facts, "k", NULL, shape->k);
    facts_count(facts, "n", NULL, shape->n);
    facts_text(facts, "dtype", NULL, data_type_name(shape->type));
    facts_text(facts, "y_transfers", "transfers of Y2",
               spec->transfers == GEMM_TILED ? "tiled" : "untiled");
}

static void add_attention_shape(Facts *facts, const OperatorSpec *spec) {
    const AttentionShape *shape = &spec->attention;

    facts_text(facts, "variant", "variant", operator_variant_names[shape->variant]);
    facts_note(facts, "shape",
               "%" G_GUINT64_FORMAT " heads (%" G_GUINT64_FORMAT
               " of K and V) of %" G_GUINT64_FORMAT ", %" G_GUINT64_FORMAT
               " new and %" G_GUINT64_FORMAT " past tokens, batch %" G_GUINT64_FORMAT ", %s%s",
               shape->heads, shape->kv_heads, shape->head_dim, shape->new_tokens,
               shape->past_tokens, shape->batch, data_type_name(shape->type),
               shape->causal ? ", causal" : "");
    facts_count(facts, "heads", NULL, shape->heads);
    facts_count(facts, "kv_heads", NULL, shape->kv_heads);
    facts_count(facts, "head_dim", NULL, shape->head_dim);
    facts_count(facts, "new_tokens", NULL, shape->new_tokens);
    facts_count(facts, "past_tokens", NULL, shape->past_tokens);
    facts_count(facts, "batch", NULL, shape->batch);
    facts_text(facts, "mask", NULL, shape->causal ? "causal" : "none");
    facts_text(facts, "dtype", NULL, data_type_name(shape->type));
    facts_text(facts, "grain", "simulated by",
               spec->grain == ATTENTION_GRAIN_BLOCK ? "block" : "stage");
}

static void add_ring_shape(Facts *facts, const OperatorSpec *spec) {
    facts_count(facts, "ranks", "ranks", spec->ranks);
    facts_quantity(facts, "vector_bytes", "vector", (double)spec->bytes, DIMENSION_BYTES);
}

/* 2^30 multiply-accumulates a second are what eq. 23 of THInfer calls a GFLOPS. */
static void add_rates(Facts *facts, const OperatorSpec *spec, const OperatorResult *result,
                      const Platform *platform) {
    DataType type = spec->kind == OPERATOR_GEMM ? spec->gemm.type : spec->attention.type;
    double macs =
        spec->kind == OPERATOR_GEMM ? result->counts.macs : attention_macs(&spec->attention);
    double rate = macs / result->seconds;
    char digits[G_ASCII_DTOSTR_BUF_SIZE];

    facts_number(facts, "macs", NULL, macs, "");
    facts_quantity(facts, "macs_per_s", "multiply-accumulates", rate, DIMENSION_MACS_PER_S);
    facts_share(facts, "peak_share", "  share of peak", rate / platform_peak_macs(platform, type));
    facts_number(facts, "eq23_gflops", "  GFLOPS by eq. 23", rate / 0x1p30,
                 g_ascii_formatd(digits, sizeof digits, "%.1f", rate / 0x1p30));
}

static void add_times(Facts *facts, const OperatorResult *result, const Platform *platform) {
    OperatorTimes times = operator_times(&result->counts, &platform->cluster);
    const struct {
        const char *key, *share_key, *label;
        double seconds;
    } rows[] = {{"compute_s", "compute_share", "  computing", times.compute_s},
                {"lane_s", "lane_share", "  transfers", times.ddr_s + times.gsm_s},
                {"ddr_s", "ddr_share", "    DDR", times.ddr_s},
                {"gsm_s", "gsm_share", "    GSM", times.gsm_s},
                {"launch_s", "launch_share", "  launching", times.launch_s}};

    facts_text(facts, "bound", "bound by", operator_bound_name(operator_bound(&times)));
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        facts_quantity(facts, rows[i].key, NULL, rows[i].seconds, DIMENSION_SECONDS);
        facts_share(facts, rows[i].share_key, rows[i].label, rows[i].seconds / result->seconds);
    }
    facts_count(facts, "launches", "launches", result->counts.launches);
}

/* "ddr_to_gsm" of "DDR to GSM". Caller frees. */
static char *move_key(MoveKind kind) {
    return g_strdelimit(g_ascii_strdown(move_kind_name(kind), -1), " ", '_');
}

static void add_moves(Facts *facts, const ClusterCounts *counts) {
    guint64 all = 0;

    facts_group(facts, "transfers", "Transfers");
    for (MoveKind kind = 0; kind < N_MOVES; kind++) {
        g_autofree char *key = move_key(kind);
        g_autofree char *count_key = g_strconcat(key, "_transfers", NULL);
        g_autofree char *bytes_key = g_strconcat(key, "_bytes", NULL);
        g_autofree char *bytes = brief_bytes(counts->bytes[kind]);

        all += counts->moves[kind];
        facts_count(facts, count_key, NULL, counts->moves[kind]);
        facts_quantity(facts, bytes_key, NULL, counts->bytes[kind], DIMENSION_BYTES);
        if (counts->moves[kind] > 0)
            facts_note(facts, move_kind_name(kind), "%-10" G_GUINT64_FORMAT "%s",
                       counts->moves[kind], bytes);
    }
    facts_count(facts, "dma_transfers", "DMA, all but broadcasts",
                all - counts->moves[MOVE_BROADCAST]);
    facts_count(facts, "broadcasts", "DMA broadcasts", counts->moves[MOVE_BROADCAST]);
}

/* A broadcast counts once, however many DSPs hear it. */
static void add_tiers(Facts *facts, const ClusterCounts *counts) {
    facts_group(facts, "tiers", "Bytes into and out of a tier");
    for (MemoryTier tier = 0; tier < N_TIERS; tier++) {
        double in = 0, out = 0;
        g_autofree char *lower = g_ascii_strdown(memory_tier_name(tier), -1);
        g_autofree char *in_key = g_strconcat(lower, "_in_bytes", NULL);
        g_autofree char *out_key = g_strconcat(lower, "_out_bytes", NULL);

        for (MoveKind kind = 0; kind < N_MOVES; kind++) {
            in += move_ends[kind].to == tier ? counts->bytes[kind] : 0;
            out += move_ends[kind].from == tier ? counts->bytes[kind] : 0;
        }
        g_autofree char *in_text = brief_bytes(in), *out_text = brief_bytes(out);
        facts_quantity(facts, in_key, NULL, in, DIMENSION_BYTES);
        facts_quantity(facts, out_key, NULL, out, DIMENSION_BYTES);
        facts_note(facts, memory_tier_name(tier), "%s in, %s out", in_text, out_text);
    }
}

static void add_footprint(Facts *facts, GemmFootprint footprint, const ClusterSpec *cluster) {
    const struct {
        const char *key, *label;
        double bytes, capacity;
    } rows[] = {{"sm_footprint_bytes", "SM of a DSP", footprint.sm_bytes, cluster->sm_bytes},
                {"am_footprint_bytes", "AM of a DSP", footprint.am_bytes, cluster->am_bytes},
                {"gsm_footprint_bytes", "GSM", footprint.gsm_bytes, cluster->gsm_bytes}};

    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *bytes = brief_bytes(rows[i].bytes);
        g_autofree char *capacity = brief_bytes(rows[i].capacity);

        facts_quantity(facts, rows[i].key, NULL, rows[i].bytes, DIMENSION_BYTES);
        facts_note(facts, rows[i].label, "%s of %s", bytes, capacity);
    }
}

static void add_block_values(Facts *facts, const char *prefix, const char *label,
                             const GemmBlocks *blocks) {
    const struct {
        const char *name;
        guint64 value;
    } values[] = {{"m1", blocks->m1}, {"n1", blocks->n1}, {"m2", blocks->m2}, {"k2", blocks->k2},
                  {"n2", blocks->n2}, {"mg", blocks->mg}, {"kg", blocks->kg}};

    for (gsize i = 0; i < G_N_ELEMENTS(values); i++) {
        g_autofree char *key = g_strconcat(prefix, values[i].name, NULL);
        facts_count(facts, key, NULL, values[i].value);
    }
    facts_note(facts, label,
               "M1 %" G_GUINT64_FORMAT ", N1 %" G_GUINT64_FORMAT ", M2 %" G_GUINT64_FORMAT
               ", K2 %" G_GUINT64_FORMAT ", N2 %" G_GUINT64_FORMAT ", Mg %" G_GUINT64_FORMAT
               ", Kg %" G_GUINT64_FORMAT,
               blocks->m1, blocks->n1, blocks->m2, blocks->k2, blocks->n2, blocks->mg, blocks->kg);
}

/* The path that the schedule takes, and what it books: with few rows that is not the blocks'. */
static void add_gemm_blocks(Facts *facts, const OperatorSpec *spec, const Platform *platform) {
    GemmMode mode = {.transfers = spec->transfers};
    GemmPlan plan = gemm_plan(&spec->gemm, &spec->blocks, mode, &platform->cluster);
    GemmFootprint footprint = {plan.sm_bytes, plan.am_bytes, plan.gsm_bytes};
    GemmSearch search = gemm_blocks_search(&spec->gemm, platform);

    facts_group(facts, "blocks", "Blocks");
    facts_text(facts, "path", "path",
               plan.split_columns ? "few rows: columns split over DSPs" : "rows split over DSPs");
    add_block_values(facts, "", "blocks", &spec->blocks);
    add_footprint(facts, footprint, &platform->cluster);
    add_block_values(facts, "best_", "best found", &search.best);
    facts_note(facts, "", "of %u tried, %u of which fit", search.tried, search.fitting);
    facts_share(facts, "paper_distance", "paper's are slower by",
                search.paper_s / search.best_s - 1);
}

static void add_attention_blocks(Facts *facts, const OperatorSpec *spec,
                                 const OperatorResult *result, const Platform *platform) {
    static const char *const tensors[] = {"q", "k", "v", "o"};
    const AttentionBlocks *blocks = &result->attention.blocks;
    AttentionProblem problem = attention_problem(&spec->attention);
    g_autofree char *text = attention_blocks_text(
        &problem, attention_score_place(spec->attention.variant), &platform->cluster, blocks);

    facts_group(facts, "blocks", "Blocks");
    facts_text(facts, "blocks_text", "blocks", text);
    facts_count(facts, "rows", NULL, blocks->rows);
    facts_count(facts, "columns", NULL, blocks->columns);
    facts_count(facts, "rounds", NULL, blocks->rounds);
    add_footprint(facts, (GemmFootprint){blocks->sm_bytes, blocks->am_bytes, blocks->gsm_bytes},
                  &platform->cluster);
    facts_group(facts, "passes", "Passes over a tensor (table III)");
    for (guint i = 0; i < G_N_ELEMENTS(tensors); i++) {
        char digits[G_ASCII_DTOSTR_BUF_SIZE];
        g_autofree char *key = g_strconcat(tensors[i], "_passes", NULL);
        g_autofree char *label = g_ascii_strup(tensors[i], -1);
        double passes = result->attention.passes[i];

        facts_number(facts, key, label, passes,
                     g_ascii_formatd(digits, sizeof digits, "%.4g", passes));
    }
}

static void add_ring(Facts *facts, const OperatorSpec *spec, const OperatorResult *result,
                     const Platform *platform) {
    guint n = (guint)spec->ranks;
    g_autofree guint *clusters = g_new(guint, n);
    for (guint i = 0; i < n; i++)
        clusters[i] = i;
    double formula_s = network_ring_all_reduce_seconds(platform, clusters, n, (double)spec->bytes);

    facts_text(facts, "bound", "bound by", operator_bound_name(BOUND_NETWORK));
    facts_quantity(facts, "formula_s", "by formula, no waiting", formula_s, DIMENSION_SECONDS);
    facts_count(facts, "messages", "messages", result->ring.messages);
    facts_quantity(facts, "sent_bytes", "bytes sent", result->ring.bytes, DIMENSION_BYTES);
    facts_quantity(facts, "bytes_per_s", "vector bytes a second",
                   (double)spec->bytes / result->seconds, DIMENSION_BYTES_PER_S);
}

void operator_report_check(Facts *facts, const OperatorCheck *check) {
    gboolean right = check->worst <= 1;
    char error[G_ASCII_DTOSTR_BUF_SIZE], bound[G_ASCII_DTOSTR_BUF_SIZE];

    g_ascii_formatd(error, sizeof error, "%.3g", check->worst_error);
    g_ascii_formatd(bound, sizeof bound, "%.3g", check->worst_bound);
    facts_group(facts, "numbers", "Numbers");
    facts_text(facts, "verified", "against double precision", right ? "right" : "WRONG");
    facts_count(facts, "checked", NULL, check->checked);
    facts_count(facts, "elements", NULL, check->elements);
    facts_note(facts, "elements compared", "%" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT,
               check->checked, check->elements);
    facts_number(facts, "worst_error", "worst error", check->worst_error, error);
    facts_number(facts, "worst_bound", "  its bound", check->worst_bound, bound);
}

Facts *operator_report(const OperatorSpec *spec, const OperatorResult *result,
                       const Platform *platform) {
    static void (*const shapes[N_OPERATOR_KINDS])(Facts *, const OperatorSpec *) = {
        [OPERATOR_GEMM] = add_gemm_shape,
        [OPERATOR_ATTENTION] = add_attention_shape,
        [OPERATOR_ALL_REDUCE] = add_ring_shape,
    };
    Facts *facts = facts_new();
    gboolean ring = spec->kind == OPERATOR_ALL_REDUCE;

    facts_text(facts, "operator", NULL, operator_kind_names[spec->kind]);
    facts_text(facts, "platform", NULL, platform->name);
    shapes[spec->kind](facts, spec);
    facts_quantity(facts, "latency_s", "latency", result->seconds, DIMENSION_SECONDS);
    if (ring) {
        add_ring(facts, spec, result, platform);
    } else {
        add_rates(facts, spec, result, platform);
        add_times(facts, result, platform);
        add_moves(facts, &result->counts);
        add_tiers(facts, &result->counts);
    }
    if (spec->kind == OPERATOR_GEMM)
        add_gemm_blocks(facts, spec, platform);
    if (spec->kind == OPERATOR_ATTENTION)
        add_attention_blocks(facts, spec, result, platform);
    if (spec->verify)
        operator_report_check(facts, &result->check);
    return facts;
}
