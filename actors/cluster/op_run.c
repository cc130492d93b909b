#include "actors/cluster/op_run.h"

#include "actors/cluster/gemm.h"
#include "actors/engine.h"
#include <math.h>

/* Rows by which blocks that are not the paper's are chosen: two of its row blocks. */
#define ROWS_TO_CHOOSE_BY 1440

GemmBlocks op_run_blocks(const OpCostKey *key, const Platform *platform) {
    GemmShape shape = {ROWS_TO_CHOOSE_BY, key->outputs, key->inputs, key->type};
    GemmBlocks paper = gemm_blocks_paper(key->type);

    if (gemm_blocks_fit(&paper, key->outputs, key->type, &platform->cluster))
        return paper;
    return gemm_blocks_search(&shape, platform).best;
}

AttentionShape op_run_attention_shape(const OpCostKey *key, guint64 new_tokens,
                                      guint64 past_tokens) {
    static const AttentionVariant variants[] = {[OP_ATTENTION_MT] = ATTENTION_MT,
                                                [OP_ATTENTION_FLASH] = ATTENTION_FLASH,
                                                [OP_ATTENTION_UNFUSED] = ATTENTION_UNFUSED};

    return (AttentionShape){.heads = key->heads,
                            .kv_heads = key->kv_heads,
                            .head_dim = key->head_dim,
                            .new_tokens = new_tokens,
                            .past_tokens = past_tokens,
                            .batch = 1,
                            .type = key->type,
                            .variant = variants[key->attention],
                            .causal = TRUE};
}

double op_run_linear(Cluster *cluster, const OpCostKey *key, const GemmBlocks *blocks, guint64 rows,
                     GError **error) {
    GemmShape shape = {rows, key->outputs, key->inputs, key->type};
    GemmOptions options = {.x_on_chip = key->x_on_chip, .y_on_chip = key->y_on_chip};
    double start_s = engine_now();

    return gemm_run(cluster, &shape, blocks, &options, error) ? engine_now() - start_s : NAN;
}

double op_run_attention(Cluster *cluster, const OpCostKey *key, guint64 new_tokens,
                        guint64 past_tokens, GError **error) {
    AttentionShape shape = op_run_attention_shape(key, new_tokens, past_tokens);
    AttentionOptions options = {.grain = ATTENTION_GRAIN_WAVE};
    double start_s = engine_now();

    return attention_run(cluster, &shape, &options, error) ? engine_now() - start_s : NAN;
}

static gboolean run_dense(Cluster *cluster, const DeviceModel *device, const Op *op,
                          GError **error) {
    OpCostKey key = op_cost_key(op, op_costs_modes(device->costs).attention);

    if (op->kind == OP_ATTENTION)
        return !isnan(op_run_attention(cluster, &key, op->m, op->n - op->m, error));
    GemmBlocks blocks = op_run_blocks(&key, device->platform);
    return !isnan(op_run_linear(cluster, &key, &blocks, op->m, error));
}

static guint64 whole_bytes(double bytes) {
    return (guint64)(bytes + 0.5);
}

/* Computing beside all off-chip bytes. */
static void run_low_density(Cluster *cluster, const DeviceModel *device, const Op *op) {
    double seconds = device_low_density_seconds(device->platform, op);
    Move moves[] = {{MOVE_DDR_TO_AM, whole_bytes(op->weight_bytes + op->bytes_in), op->name},
                    {MOVE_AM_TO_DDR, whole_bytes(op->bytes_out), op->name}};

    cluster_overlap(cluster, seconds * device->platform->cluster.clock_hz, op->name, moves,
                    G_N_ELEMENTS(moves));
}

/* Unblocked kernels stall on memory: they compute for as long as their accesses take. */
static void run_reference(Cluster *cluster, const DeviceModel *device, const Op *op) {
    const ClusterSpec *spec = &device->platform->cluster;
    double bytes = device_fp32_bytes(op);
    double busy_s =
        MAX(bytes / spec->reference_bytes_per_s, device->class->op_cost(device, op).compute_s);
    Move all = {MOVE_DDR_TO_AM, whole_bytes(bytes), op->name};

    cluster_overlap(cluster, busy_s * spec->clock_hz, op->name, &all, 1);
}

gboolean op_run(Cluster *cluster, const DeviceModel *device, const Op *op, GError **error) {
    if (op->kind == OP_ALL_REDUCE)
        return TRUE;
    if (op_costs_modes(device->costs).reference)
        run_reference(cluster, device, op);
    else if (op->kind == OP_LINEAR || op->kind == OP_ATTENTION)
        return run_dense(cluster, device, op, error);
    else
        run_low_density(cluster, device, op);
    return TRUE;
}
