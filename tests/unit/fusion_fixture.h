/* What the tests of fusion share: a cluster, a pass over it, and ways to look at the units. */
#ifndef TESTS_UNIT_FUSION_FIXTURE_H
#define TESTS_UNIT_FUSION_FIXTURE_H

#include "policies/fusion.h"
#include "policies/fusion_units.h"

#define KIB 1024.0
#define MIB (1024.0 * KIB)

/* A cluster of the MT-3000 (THInfer II.A). */
static const ClusterSpec mt3000 = {.dsps = 24,
                                   .clock_hz = 1.8e9,
                                   .macs_per_cycle_fp32 = 96,
                                   .macs_per_cycle_fp16 = 192,
                                   .sm_bytes = 64 * KIB,
                                   .am_bytes = 768 * KIB,
                                   .gsm_bytes = 6 * MIB,
                                   .ddr_bytes_per_s = 30e9};

static inline Fusion *fuse(const OpList *list, const ClusterSpec *cluster) {
    FusionInput input = {.list = list, .cluster = cluster, .fuse = TRUE};
    return fusion_new(&input);
}

/* The units that serving builds its graphs from. */
static inline ModelUnits *served_units(const Model *model, const ClusterSpec *cluster, guint tp,
                                       gboolean fuse) {
    FusionUnitsInput input = {.model = model,
                              .cluster = cluster,
                              .tp = tp,
                              .fuse = fuse,
                              .attention = ATTENTION_POLICY_MT};
    return fusion_units_new(&input);
}

/* "norm q | k | …": operators by unit. */
static inline char *regions(const OpList *list, const Fusion *fusion) {
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < fusion->units->len; i++) {
        const FusedUnit *unit = fusion_unit(fusion, i);
        g_string_append(text, i > 0 ? " |" : "");
        for (guint j = 0; j < unit->n_ops; j++)
            g_string_append_printf(text, "%s%s", text->len > 0 ? " " : "",
                                   op_list_get(list, unit->ops[j])->op.name);
    }
    return g_string_free(text, FALSE);
}

static inline guint find(const OpList *list, const char *name) {
    for (guint i = 0; i < list->ops->len; i++)
        if (g_str_equal(op_list_get(list, i)->op.name, name))
            return i;
    g_assert_not_reached();
}

static inline void assert_within(const FusedUnit *unit, const ClusterSpec *cluster) {
    g_assert_true(unit->fits);
    g_assert_cmpfloat(unit->on_chip.sm_bytes, <=, cluster->sm_bytes);
    g_assert_cmpfloat(unit->on_chip.am_bytes, <=, cluster->am_bytes);
    g_assert_cmpfloat(unit->on_chip.gsm_bytes, <=, cluster->gsm_bytes);
}

static inline double bytes_saved(const Fusion *fusion) {
    double bytes = 0.0;
    for (guint i = 0; i < fusion->units->len; i++)
        bytes += fusion_unit(fusion, i)->bytes_apart - fusion_unit(fusion, i)->bytes_fused;
    return bytes;
}

#endif
