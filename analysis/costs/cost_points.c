#include "analysis/costs/cost_points.h"

#include "actors/cluster/alone.h"
#include "actors/cluster/op_run.h"
#include "analysis/costs/cost_attention.h"
#include "analysis/costs/cost_curve.h"
#include "policies/gemm_schedule.h"

typedef struct Fill {
    const Platform *platform;
    GemmBlocks blocks; /* LINEAR */
    OpCostTable *table;
    GError *error;
} Fill;

static double linear_schedule(const OpCostKey *key, guint64 rows, const GemmBlocks *blocks,
                              const Platform *platform) {
    GemmShape shape = {rows, key->outputs, key->inputs, key->type};
    GemmMode mode = {GEMM_TILED, key->x_on_chip, key->y_on_chip};
    GemmPlan plan = gemm_plan(&shape, blocks, mode, &platform->cluster);

    return gemm_plan_seconds(&plan);
}

static double linear_estimate(gconstpointer data, guint32 rows) {
    const Fill *fill = data;

    return linear_schedule(&fill->table->key, rows, &fill->blocks, fill->platform);
}

/* Few rows: all of them. In blocks, those on the busiest DSP up to a whole tile, then some. */
static GArray *linear_candidates(const Fill *fill) {
    CostRange range = {fill->table->key.from, fill->table->key.to};
    const GemmBlocks *blocks = &fill->blocks;
    guint64 step = MAX(blocks->m2 / 2, 1);
    GArray *x = cost_curve_new(range);

    if (range.from == 1)
        cost_curve_add_run(x, range, 0, range.to);
    for (guint64 block = 0; block <= range.to && range.from > 1; block += blocks->mg) {
        cost_curve_add_run(x, range, block, blocks->m2 + 1);
        for (guint64 rows = 0; rows < blocks->mg; rows += step)
            cost_curve_add(x, range, block + rows);
    }
    cost_curve_sort(x);
    return x;
}

static void fill_linear(Fill *fill, Cluster *cluster) {
    OpCostTable *table = fill->table;
    g_autoptr(GArray) x = linear_candidates(fill);

    cost_curve_thin(x, linear_estimate, fill);
    for (guint i = 0; i < x->len; i++) {
        guint32 rows = g_array_index(x, guint32, i);
        double seconds = op_run_linear(cluster, &table->key, &fill->blocks, rows, &fill->error);
        if (fill->error != NULL)
            return;
        op_cost_table_add(table, rows, 0, seconds);
    }
    table->period = table->key.from > 1 ? (double)fill->blocks.mg : 0;
}

/* At most m1 rows for every DSP may take the few rows' path. Two blocks of rows tell the rest, as
 * every further one between the first and the last takes as long as any other. */
static void linear_tables(const OpCostKey *key, guint64 most, const Platform *platform,
                          GArray *keys) {
    GemmBlocks blocks = op_run_blocks(key, platform);
    guint64 few = platform->cluster.dsps * blocks.m1;
    OpCostKey part = *key;

    part.from = 1;
    part.to = few;
    g_array_append_val(keys, part);
    part.from = few + 1;
    part.to = blocks.mg * (few / blocks.mg + 2); /* a period before the end, the table has begun */
    if (most > few)
        g_array_append_val(keys, part);
}

gboolean cost_points_tables(const OpCostKey *key, guint64 most, const Platform *platform,
                            GArray *keys, GError **error) {
    if (key->family != OP_COST_LINEAR)
        return cost_attention_tables(key, most, platform, keys, error);
    linear_tables(key, most, platform, keys);
    return TRUE;
}

double cost_points_mark(const OpCostKey *key, const Platform *platform) {
    if (key->family != OP_COST_LINEAR) {
        guint64 new_tokens = key->family == OP_COST_DECODE ? 1 : MIN(key->to, 2048);
        AttentionShape shape = op_run_attention_shape(key, new_tokens, key->to - new_tokens);
        return attention_estimate_seconds(&shape, platform, NULL);
    }
    GemmBlocks blocks = op_run_blocks(key, platform);
    return linear_schedule(key, key->to, &blocks, platform);
}

static void fill_table(gpointer data) {
    Fill *fill = data;
    g_autoptr(Cluster) cluster = cluster_new(fill->platform, 0, NULL, NULL);

    if (fill->table->key.family == OP_COST_LINEAR)
        fill_linear(fill, cluster);
    else
        cost_attention_fill(fill->table, cluster, &fill->error);
}

/* A machine of one cluster is all that an operator sees. */
OpCostTable *cost_points_simulate(const OpCostKey *key, const Platform *platform, GError **error) {
    Platform one = *platform;
    g_autoptr(OpCostTable) table = op_cost_table_new(key);
    Fill fill = {.platform = &one, .table = table};

    one.nodes = one.processors_per_node = one.clusters_per_processor = 1;
    if (key->family == OP_COST_LINEAR)
        fill.blocks = op_run_blocks(key, platform);
    alone_run(&one, key->type, fill_table, &fill);
    if (fill.error == NULL)
        return g_steal_pointer(&table);
    if (key->family == OP_COST_LINEAR)
        g_propagate_prefixed_error(error, fill.error,
                                   "a Linear of %" G_GUINT64_FORMAT " x %" G_GUINT64_FORMAT ": ",
                                   key->inputs, key->outputs);
    else
        g_propagate_prefixed_error(error, fill.error,
                                   "requests of up to %" G_GUINT64_FORMAT " tokens: ", key->to);
    return NULL;
}
