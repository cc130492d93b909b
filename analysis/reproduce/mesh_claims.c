/* What WaferLLM says of its figures 9 and 10, whose plotted values are not published, against
 * simulated products over 360 × 360 to 720 × 720 cores. */
#include "analysis/operators/mesh_run.h"
#include "analysis/output/double_order.h"
#include "analysis/reproduce/reproduction_tables.h"
#include "workloads/input_error.h"
#include <math.h>
#include <string.h>

static const guint gemm_kinds[] = {MESH_OPERATOR_MESHGEMM, MESH_OPERATOR_SUMMA,
                                   MESH_OPERATOR_CANNON};
static const guint gemv_kinds[] = {MESH_OPERATOR_MESHGEMV, MESH_OPERATOR_GEMV_PIPELINE};
static const guint gemm_grids[] = {360, 480, 600, 720};
static const guint gemv_grids[] = {120, 180, 240, 360, 480, 600, 720};
static const guint64 gemm_sizes[] = {2048, 4096, 8192};
static const guint64 gemv_sizes[] = {2048, 4096, 8192, 16384};

/* All kinds × sizes × grids of a figure; the first kind is the paper's own. */
typedef struct Figure {
    const guint *kinds, *grids;
    const guint64 *sizes;
    guint n_kinds, n_grids, n_sizes;
    MeshRunResult *results; /* [kind][size][grid] */
} Figure;

static guint figure_n(const Figure *figure) {
    return figure->n_kinds * figure->n_sizes * figure->n_grids;
}

static void figure_clear(Figure *figure) {
    for (guint i = 0; figure->results != NULL && i < figure_n(figure); i++)
        mesh_run_result_clear(&figure->results[i]);
    g_free(figure->results);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Figure, figure_clear)

static gboolean simulate(Figure *figure, const Platform *platform, GError **error) {
    guint n = figure_n(figure), i = 0;
    g_autofree MeshRunSpec *specs = g_new0(MeshRunSpec, n);
    g_autofree MeshRunResult *results = g_new0(MeshRunResult, n);

    for (guint kind = 0; kind < figure->n_kinds; kind++)
        for (guint size = 0; size < figure->n_sizes; size++)
            for (guint grid = 0; grid < figure->n_grids; grid++, i++) {
                guint64 m = figure->sizes[size];
                specs[i] = (MeshRunSpec){.kind = figure->kinds[kind],
                                         .grid = {figure->grids[grid], figure->grids[grid]},
                                         .m = m,
                                         .k = m,
                                         .n = m,
                                         .k_tree = 2,
                                         .no_broadcast = TRUE,
                                         .type = DATA_TYPE_FP16};
            }
    for (i = 0; i < n; i++)
        if (!mesh_run_check(&specs[i], platform, error))
            return FALSE;
    if (!mesh_run_all(specs, n, platform, results, error))
        return FALSE;
    figure->results = g_steal_pointer(&results);
    return TRUE;
}

static const MeshTotals *totals(const Figure *figure, guint kind, guint size, guint grid) {
    return &figure->results[(kind * figure->n_sizes + size) * figure->n_grids + grid].totals;
}

static double cycles(const Figure *figure, guint kind, guint size, guint grid) {
    return totals(figure, kind, size, grid)->cycles;
}

/* What is not computing: messages, and waiting for them. */
static double communication(const Figure *figure, guint kind, guint size, guint grid) {
    const MeshTotals *of = totals(figure, kind, size, grid);

    return of->communication_cycles + of->wait_cycles;
}

/* --- quantities: the simulated figures, and the one that decides */

typedef struct Found {
    double least, most;
    double decides; /* NaN: all of them must lie within the claim's bounds */
} Found;
static const Found nothing = {INFINITY, -INFINITY, NAN};

static void widen(Found *found, double value) {
    found->least = MIN(found->least, value);
    found->most = MAX(found->most, value);
}

/* The share of computing on the largest grid, of all sizes of some kinds. */
static Found efficiency(const Figure *figure, guint from, guint to) {
    Found found = nothing;
    guint grid = figure->n_grids - 1;

    for (guint kind = from; kind < to; kind++)
        for (guint size = 0; size < figure->n_sizes; size++)
            widen(&found,
                  1 - communication(figure, kind, size, grid) / cycles(figure, kind, size, grid));
    return found;
}

/* From the smallest grid to the largest, of some kinds at one size. */
static Found growth(const Figure *figure,
                    double (*of)(const Figure *figure, guint kind, guint size, guint grid),
                    guint size, guint from, guint to) {
    Found found = nothing;

    for (guint kind = from; kind < to; kind++)
        widen(&found, of(figure, kind, size, figure->n_grids - 1) / of(figure, kind, size, 0));
    return found;
}

/* Of the other kinds over the paper's own, on the largest grid, over sizes; their median decides.
 */
static Found over_own(const Figure *figure,
                      double (*of)(const Figure *figure, guint kind, guint size, guint grid),
                      guint from_size) {
    g_autoptr(GArray) gains = g_array_new(FALSE, FALSE, sizeof(double));
    guint grid = figure->n_grids - 1;

    for (guint kind = 1; kind < figure->n_kinds; kind++)
        for (guint size = from_size; size < figure->n_sizes; size++) {
            double gain = of(figure, kind, size, grid) / of(figure, 0, size, grid);
            g_array_append_val(gains, gain);
        }
    g_array_sort(gains, double_order);
    guint n = gains->len;
    return (Found){
        g_array_index(gains, double, 0), g_array_index(gains, double, n - 1),
        (g_array_index(gains, double, (n - 1) / 2) + g_array_index(gains, double, n / 2)) / 2};
}

static Found gemm_efficiency(const Figure *figure) {
    return efficiency(figure, 0, 1);
}

static Found baseline_efficiency(const Figure *figure) {
    return efficiency(figure, 1, figure->n_kinds);
}

static Found cycles_saved(const Figure *figure) {
    Found speedup = over_own(figure, cycles, figure->n_sizes - 1);

    return (Found){1 - 1 / speedup.least, 1 - 1 / speedup.most, 1 - 1 / speedup.decides};
}

static Found baseline_growth(const Figure *figure) {
    return growth(figure, cycles, 0, 1, figure->n_kinds);
}

static Found gemm_growth(const Figure *figure) {
    return growth(figure, cycles, 0, 0, 1);
}

static Found communication_growth(const Figure *figure) {
    return growth(figure, communication, figure->n_sizes - 1, 0, figure->n_kinds);
}

static Found speedup(const Figure *figure) {
    return over_own(figure, cycles, 0);
}

static Found less_communication(const Figure *figure) {
    return over_own(figure, communication, 0);
}

static Found communication_share(const Figure *figure) {
    Found found = baseline_efficiency(figure);

    return (Found){1 - found.most, 1 - found.least, 1 - found.least};
}

/* 1 where the fastest grid is neither the smallest nor the largest, at 8K and 16K; else 0. */
static Found baseline_dips(const Figure *figure) {
    gboolean dips = TRUE;

    for (guint size = figure->n_sizes - 2; size < figure->n_sizes; size++) {
        guint best = 0;
        for (guint grid = 1; grid < figure->n_grids; grid++)
            if (cycles(figure, 1, size, grid) < cycles(figure, 1, size, best))
                best = grid;
        dips = dips && best > 0 && best + 1 < figure->n_grids;
    }
    return (Found){dips, dips, dips};
}

static const struct {
    const char *name;
    Found (*find)(const Figure *figure);
} quantities[] = {
    {"gemm_efficiency", gemm_efficiency},
    {"baseline_efficiency", baseline_efficiency},
    {"cycles_saved", cycles_saved},
    {"baseline_growth", baseline_growth},
    {"gemm_growth", gemm_growth},
    {"communication_growth", communication_growth},
    {"gemm_speedup", speedup},
    {"gemm_communication", less_communication},
    {"gemv_speedup", speedup},
    {"gemv_communication", less_communication},
    {"communication_share", communication_share},
    {"baseline_dips", baseline_dips},
};

/* --- claims */

static const char *found_text(Reproduction *reproduction, const Found *found) {
    if (found->least == found->most)
        return reproduction_text(reproduction, "%.3g", found->most);
    if (isnan(found->decides))
        return reproduction_text(reproduction, "%.3g to %.3g", found->least, found->most);
    return reproduction_text(reproduction, "%.3g (%.3g to %.3g)", found->decides, found->least,
                             found->most);
}

static gboolean add_claim(TableBuild *build, const Figure *figure, guint line, GError **error) {
    const ReferenceTable *claims = build->reference;
    const char *name = reference_table_text(claims, line, "quantity", error);
    const char *text = name == NULL ? NULL : reference_table_text(claims, line, "claim", error);
    double low, high;
    guint i = 0;

    if (text == NULL || !reference_table_number(claims, line, "low", &low, error) ||
        !reference_table_number(claims, line, "high", &high, error))
        return FALSE;
    while (i < G_N_ELEMENTS(quantities) && strcmp(quantities[i].name, name) != 0)
        i++;
    if (i == G_N_ELEMENTS(quantities))
        return reference_table_error(claims, line, error, "there is no such quantity");
    Found found = quantities[i].find(figure);
    gboolean kept = isnan(found.decides) ? low <= found.least && found.most <= high
                                         : low <= found.decides && found.decides <= high;
    ReproducedClaim claim = {.text = reproduction_text(build->reproduction, "%s", text),
                             .found = found_text(build->reproduction, &found),
                             .of = 1,
                             .kept = kept ? 1 : 0};
    g_array_append_val(build->reproduction->claims, claim);
    return TRUE;
}

static gboolean add_claims(TableBuild *build, Figure *figure, GError **error) {
    if (!simulate(figure, build->platform, error))
        return FALSE;
    for (guint i = 0; i < reference_table_rows(build->reference); i++)
        if (!add_claim(build, figure, i, error))
            return FALSE;
    g_ptr_array_add(build->reproduction->remarks,
                    (gpointer) "plotted values are not published: claims of the text, decided by "
                               "simulation; of a gain its median on the largest grid decides");
    return TRUE;
}

gboolean build_mesh_gemm_claims(TableBuild *build, GError **error) {
    g_auto(Figure) figure = {.kinds = gemm_kinds,
                             .grids = gemm_grids,
                             .sizes = gemm_sizes,
                             .n_kinds = G_N_ELEMENTS(gemm_kinds),
                             .n_grids = G_N_ELEMENTS(gemm_grids),
                             .n_sizes = G_N_ELEMENTS(gemm_sizes)};

    return add_claims(build, &figure, error);
}

gboolean build_mesh_gemv_claims(TableBuild *build, GError **error) {
    g_auto(Figure) figure = {.kinds = gemv_kinds,
                             .grids = gemv_grids,
                             .sizes = gemv_sizes,
                             .n_kinds = G_N_ELEMENTS(gemv_kinds),
                             .n_grids = G_N_ELEMENTS(gemv_grids),
                             .n_sizes = G_N_ELEMENTS(gemv_sizes)};

    return add_claims(build, &figure, error);
}
