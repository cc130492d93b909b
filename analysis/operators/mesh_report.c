#include "analysis/operators/mesh_report.h"

#include "analysis/operators/operator_report.h"
#include "platforms/mesh_cycles.h"
#include <math.h>
#include <string.h>

static const char *algorithm_of(const MeshRunSpec *spec) {
    static const char *const names[N_MESH_OPERATORS] = {
        [MESH_OPERATOR_TRANSPOSED] = "tree",
        [MESH_OPERATOR_MESHGEMV] = "tree",
        [MESH_OPERATOR_GEMV_PIPELINE] = "fabric",
        [MESH_OPERATOR_GEMV_RING] = "ring",
    };

    return spec->kind == MESH_OPERATOR_ALL_REDUCE ? mesh_reduce_names[spec->algorithm]
                                                  : names[spec->kind];
}

char *mesh_report_algorithm(const MeshRunSpec *spec) {
    const char *name = algorithm_of(spec);

    if (name == NULL)
        return g_strdup("none");
    if (strcmp(name, "tree") == 0)
        return g_strdup_printf("tree, K = %" G_GUINT64_FORMAT, spec->k_tree);
    return g_strdup(name);
}

/* The sums of a product or an all-reduce. */
static void add_sums(Facts *facts, const MeshRunSpec *spec) {
    gboolean tree = g_strcmp0(algorithm_of(spec), "tree") == 0;

    facts_text(facts, "algorithm", "sums by", algorithm_of(spec));
    facts_count(facts, "k_tree", tree ? "  levels of the tree (K)" : NULL, tree ? spec->k_tree : 0);
    facts_text(facts, "broadcast", "  sums end up on",
               spec->no_broadcast ? "the root" : "every core");
}

static void add_gemm_shape(Facts *facts, const MeshRunSpec *spec) {
    facts_note(facts, "C[m×n] = A·B",
               "m %" G_GUINT64_FORMAT ", k %" G_GUINT64_FORMAT ", n %" G_GUINT64_FORMAT ", %s",
               spec->m, spec->k, spec->n, data_type_name(spec->type));
    facts_count(facts, "m", NULL, spec->m);
    facts_count(facts, "k", NULL, spec->k);
    facts_count(facts, "n", NULL, spec->n);
    facts_text(facts, "dtype", NULL, data_type_name(spec->type));
}

static void add_gemv_shape(Facts *facts, const MeshRunSpec *spec) {
    facts_note(facts, "y[n] = x·B[k×n]", "k %" G_GUINT64_FORMAT ", n %" G_GUINT64_FORMAT ", %s",
               spec->k, spec->n, data_type_name(spec->type));
    facts_count(facts, "k", NULL, spec->k);
    facts_count(facts, "n", NULL, spec->n);
    facts_text(facts, "dtype", NULL, data_type_name(spec->type));
    add_sums(facts, spec);
}

static void add_reduce_shape(Facts *facts, const MeshRunSpec *spec) {
    facts_note(facts, "vector of each core", "%" G_GUINT64_FORMAT " elements, %s", spec->elements,
               data_type_name(spec->type));
    facts_count(facts, "elements", NULL, spec->elements);
    facts_text(facts, "dtype", NULL, data_type_name(spec->type));
    add_sums(facts, spec);
}

/* What a folded product may be off by; sums along one axis fold exactly. */
static void add_fold_bound(Facts *facts, const MeshRunResult *result) {
    double bound = result->gemm.fold_bound;
    g_autofree char *told =
        g_strdup_printf("%.0f cycles, %.1f %%", ceil(bound), 100 * bound / result->totals.cycles);

    facts_number(facts, "fold_bound", bound > 0 ? "  off by at most" : NULL, bound, told);
}

static const char *routing_of(const MeshRunSpec *spec, const MeshRunResult *result) {
    gboolean chosen = spec->routing == MESH_ROUTING_AUTO;

    if (!result->relayed)
        return chosen ? "direct (auto)" : "direct";
    return chosen ? "relayed in software (auto: direct paths exceed a core's)"
                  : "relayed in software";
}

static void add_grain(Facts *facts, const MeshRunSpec *spec, const MeshRunResult *result) {
    gboolean gemm = mesh_operator_family((MeshOperator)spec->kind) == MESH_FAMILY_GEMM;
    gboolean broadcasts =
        spec->kind == MESH_OPERATOR_SUMMA || spec->kind == MESH_OPERATOR_ALLGATHER;
    const char *exact = spec->full ? "full" : "folded";

    facts_text(facts, "grain", NULL, gemm ? result->gemm.grain : exact);
    facts_count(facts, "simulated_cores", NULL, result->cores);
    facts_note(facts, "simulated", "%u cores: %s (%s)", result->cores,
               spec->full ? "all of them" : "row 0 and column 0 stand for all",
               gemm ? result->gemm.grain : exact);
    if (!gemm)
        return;
    add_fold_bound(facts, result);
    facts_text(facts, "loop", "  the loop",
               result->gemm.stepped ? "step by step" : "fast-forwarded");
    facts_text(facts, "routing", NULL,
               !broadcasts       ? "none"
               : result->relayed ? "relayed in software"
                                 : "direct");
    if (broadcasts)
        facts_text(facts, NULL, "  broadcasts", routing_of(spec, result));
}

/* Of the core that ended last. */
static void add_times(Facts *facts, const MeshRunResult *result, const Platform *platform) {
    const MeshTotals *totals = &result->totals;
    const struct {
        const char *key, *share_key, *label;
        double cycles;
    } rows[] = {
        {"compute_cycles", "compute_share", "  computing", totals->compute_cycles},
        {"communication_cycles", "communication_share", "  communicating",
         totals->communication_cycles},
        {"wait_cycles", "wait_share", "  waiting for others", totals->wait_cycles},
    };
    char digits[G_ASCII_DTOSTR_BUF_SIZE];

    facts_number(facts, "cycles", "cycles", totals->cycles,
                 g_ascii_formatd(digits, sizeof digits, "%.0f", totals->cycles));
    facts_quantity(facts, "latency_s", "latency", totals->cycles / platform->mesh.clock_hz,
                   DIMENSION_SECONDS);
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        facts_number(facts, rows[i].key, NULL, rows[i].cycles, "");
        facts_share(facts, rows[i].share_key, rows[i].label, rows[i].cycles / totals->cycles);
    }
}

static void add_rates(Facts *facts, const MeshRunSpec *spec, const MeshRunResult *result,
                      const Platform *platform) {
    double seconds = result->totals.cycles / platform->mesh.clock_hz;
    double peak = mesh_peak_macs_per_cycle(&platform->mesh, spec->type) * platform->mesh.clock_hz *
                  spec->grid.columns * spec->grid.rows;

    if (result->macs <= 0)
        return;
    facts_number(facts, "macs", NULL, result->macs, "");
    facts_quantity(facts, "macs_per_s", "multiply-accumulates", result->macs / seconds,
                   DIMENSION_MACS_PER_S);
    facts_share(facts, "peak_share", "  share of peak", result->macs / seconds / peak);
    facts_share(facts, "padding", "  more by uneven tiles", result->padding);
}

static void add_path(Facts *facts, const MeshTotals *totals) {
    facts_group(facts, "critical_path", "Causes of the last core's end");
    facts_count(facts, "hops", "hops", totals->hops);
    facts_count(facts, "stages", "routing stages", totals->stages);
    facts_group(facts, "traffic", "Sent by the cores simulated");
    facts_count(facts, "messages", "messages", totals->messages);
    facts_count(facts, "wavelets", "wavelets", totals->wavelets);
}

static void add_limits(Facts *facts, const MeshTotals *totals, const MeshSpec *mesh) {
    g_autofree char *peak = units_format_brief(totals->peak_bytes, DIMENSION_BYTES);
    g_autofree char *usable = units_format_brief(mesh->usable_bytes, DIMENSION_BYTES);

    facts_group(facts, "limits", "Most on any core");
    facts_count(facts, "paths", NULL, totals->paths);
    facts_count(facts, "routing_paths", NULL, mesh->routing_paths);
    facts_note(facts, "routing paths", "%u of %" G_GUINT64_FORMAT " (core %u, %u)", totals->paths,
               mesh->routing_paths, totals->paths_x, totals->paths_y);
    facts_number(facts, "peak_bytes", NULL, totals->peak_bytes, "");
    facts_number(facts, "usable_bytes", NULL, mesh->usable_bytes, "");
    facts_note(facts, "bytes held", "%s of %s (core %u, %u)", peak, usable, totals->bytes_x,
               totals->bytes_y);
}

Facts *mesh_report(const MeshRunSpec *spec, const MeshRunResult *result, const Platform *platform) {
    static void (*const shapes[])(Facts *, const MeshRunSpec *) = {
        [MESH_FAMILY_GEMM] = add_gemm_shape,
        [MESH_FAMILY_GEMV] = add_gemv_shape,
        [MESH_FAMILY_REDUCE] = add_reduce_shape,
    };
    Facts *facts = facts_new();

    facts_text(facts, "operator", NULL, mesh_operator_names[spec->kind]);
    facts_text(facts, "platform", NULL, platform->name);
    facts_count(facts, "columns", NULL, spec->grid.columns);
    facts_count(facts, "rows", NULL, spec->grid.rows);
    shapes[mesh_operator_family((MeshOperator)spec->kind)](facts, spec);
    add_grain(facts, spec, result);
    add_times(facts, result, platform);
    add_rates(facts, spec, result, platform);
    add_path(facts, &result->totals);
    add_limits(facts, &result->totals, &platform->mesh);
    if (spec->verify)
        operator_report_check(facts, &result->check);
    return facts;
}
