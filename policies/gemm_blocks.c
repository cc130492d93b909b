#include "policies/gemm_blocks.h"

#include "platforms/kernel_cycles.h"
#include "policies/gemm_schedule.h"
#include "workloads/input_error.h"
#include <math.h>

#define SUM_BYTES 4  /* Y2 accumulates in FP32 */
#define MOST_ROWS 60 /* of a tile, in the search */

GemmBlocks gemm_blocks_paper(DataType type) {
    gboolean wide = type == DATA_TYPE_FP32;

    return (GemmBlocks){.m1 = 6,
                        .n1 = wide ? 128 : 256,
                        .m2 = 30,
                        .k2 = 256,
                        .n2 = 256,
                        .mg = 720,
                        .kg = wide ? 2048 : 4096};
}

GemmFootprint gemm_footprint(const GemmBlocks *blocks, guint64 n, DataType type) {
    double element = data_type_bytes(type);
    double m2 = (double)blocks->m2, k2 = (double)blocks->k2, n2 = (double)blocks->n2;

    return (GemmFootprint){
        .sm_bytes = 2 * element * m2 * k2,
        .am_bytes = 2 * element * k2 * n2 + 3 * SUM_BYTES * m2 * n2 + element * (double)n,
        .gsm_bytes = element * (double)blocks->kg * (double)blocks->mg,
    };
}

static gboolean refuse(GError **error, const char *name, guint64 value, const char *most_of,
                       guint64 most) {
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                "block '%s' is %" G_GUINT64_FORMAT ", but %s %" G_GUINT64_FORMAT, name, value,
                most_of, most);
    return FALSE;
}

gboolean gemm_blocks_check(const GemmBlocks *blocks, DataType type, const ClusterSpec *cluster,
                           GError **error) {
    const struct {
        const char *name;
        guint64 value;
    } all[] = {{"m1", blocks->m1}, {"n1", blocks->n1}, {"m2", blocks->m2}, {"k2", blocks->k2},
               {"n2", blocks->n2}, {"mg", blocks->mg}, {"kg", blocks->kg}};
    guint64 most_columns = kernel_columns(cluster, type);

    for (gsize i = 0; i < G_N_ELEMENTS(all); i++)
        if (all[i].value == 0)
            return refuse(error, all[i].name, 0, "must be at least", 1);
    if (blocks->m1 > KERNEL_ROWS)
        return refuse(error, "m1", blocks->m1, "the kernel has registers for", KERNEL_ROWS);
    if (blocks->n1 > most_columns)
        return refuse(error, "n1", blocks->n1, "the kernel has registers for", most_columns);
    if (blocks->mg > cluster->dsps * blocks->m2)
        return refuse(error, "mg", blocks->mg, "tiles of m2 rows for every DSP make",
                      cluster->dsps * blocks->m2);
    return TRUE;
}

gboolean gemm_blocks_fit(const GemmBlocks *blocks, guint64 n, DataType type,
                         const ClusterSpec *cluster) {
    GemmFootprint footprint = gemm_footprint(blocks, n, type);

    return gemm_blocks_check(blocks, type, cluster, NULL) &&
           footprint.sm_bytes <= cluster->sm_bytes && footprint.am_bytes <= cluster->am_bytes &&
           footprint.gsm_bytes <= cluster->gsm_bytes;
}

double gemm_estimate_seconds(const GemmShape *shape, const GemmBlocks *blocks,
                             const Platform *platform) {
    GemmPlan plan = gemm_plan(shape, blocks, (GemmMode){0}, &platform->cluster);

    return gemm_plan_seconds(&plan);
}

/* Xg as deep as GSM takes it, in whole steps of K2, or all of K. 0 if not even one step fits. */
static guint64 deepest_kg(const GemmBlocks *blocks, const GemmShape *shape,
                          const ClusterSpec *cluster) {
    double column_bytes = (double)(blocks->mg * data_type_bytes(shape->type));
    guint64 fitting = (guint64)(cluster->gsm_bytes / column_bytes);

    return shape->k <= fitting ? shape->k : fitting / blocks->k2 * blocks->k2;
}

static void consider(GemmSearch *search, const GemmBlocks *blocks, const GemmShape *shape,
                     const Platform *platform) {
    search->tried++;
    if (!gemm_blocks_fit(blocks, shape->n, shape->type, &platform->cluster))
        return;
    search->fitting++;
    double seconds = gemm_estimate_seconds(shape, blocks, platform);
    if (seconds < search->best_s) {
        search->best = *blocks;
        search->best_s = seconds;
    }
}

GemmSearch gemm_blocks_search(const GemmShape *shape, const Platform *platform) {
    static const guint64 k2s[] = {64, 128, 256, 512, 1024};
    static const guint64 n2s[] = {128, 256, 384, 512, 768, 1024};
    const ClusterSpec *cluster = &platform->cluster;
    GemmBlocks paper = gemm_blocks_paper(shape->type);
    GemmSearch search = {.best = paper, .best_s = INFINITY};

    consider(&search, &paper, shape, platform);
    search.paper_s = search.best_s;
    for (guint64 m2 = KERNEL_ROWS; m2 <= MOST_ROWS; m2 += KERNEL_ROWS)
        for (gsize i = 0; i < G_N_ELEMENTS(k2s); i++)
            for (gsize j = 0; j < G_N_ELEMENTS(n2s); j++) {
                GemmBlocks blocks = {.m1 = KERNEL_ROWS,
                                     .n1 = kernel_columns(cluster, shape->type),
                                     .m2 = m2,
                                     .k2 = k2s[i],
                                     .n2 = n2s[j],
                                     .mg = cluster->dsps * m2};
                blocks.kg = deepest_kg(&blocks, shape, cluster);
                consider(&search, &blocks, shape, platform);
            }
    return search;
}
