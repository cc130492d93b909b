#include "analysis/operators/plmr.h"

#include "analysis/operators/mesh_run.h"
#include "analysis/output/facts.h"
#include "workloads/input_error.h"
#include <math.h>

#define TILE_SIDE 8 /* elements; the same for all N */
#define ELEMENTS 16 /* of a vector that is summed */
/* How many times as far the second count is: a K-tree's stages are few, and need more room to show
 * how they grow. */
#define PRODUCT_FAR 2
#define SUM_FAR 4
#define LEAST_SIDE 4
#define MOST_SIDE 64 /* the ring of SUM_FAR times as many takes seconds */
/* Exponents from here on are no longer taken for a constant, or for a square root. */
#define GROWS 0.25
#define GROWS_LINEARLY 0.75

typedef enum { COUNT_PATHS, COUNT_HOPS, COUNT_STAGES, COUNT_BYTES, N_COUNTS } CountKind;

static const struct {
    const char *key, *title;
} counts[N_COUNTS] = {
    [COUNT_PATHS] = {"paths", "paths a core"},
    [COUNT_HOPS] = {"hops", "hops"},
    [COUNT_STAGES] = {"stages", "stages"},
    [COUNT_BYTES] = {"tiles", "bytes / tiles"},
};

/* What is compared. */
static const struct {
    const char *name;
    MeshOperator kind;
    MeshRouting routing;
    MeshReduceKind algorithm;
    guint k;
} rows[] = {
    {"allgather, direct", MESH_OPERATOR_ALLGATHER, MESH_ROUTING_DIRECT, 0, 0},
    {"allgather, relayed", MESH_OPERATOR_ALLGATHER, MESH_ROUTING_RELAY, 0, 0},
    {"SUMMA, direct", MESH_OPERATOR_SUMMA, MESH_ROUTING_DIRECT, 0, 0},
    {"SUMMA, relayed", MESH_OPERATOR_SUMMA, MESH_ROUTING_RELAY, 0, 0},
    {"Cannon", MESH_OPERATOR_CANNON, 0, 0, 0},
    {"MeshGEMM", MESH_OPERATOR_MESHGEMM, 0, 0, 0},
    {"pipeline", MESH_OPERATOR_ALL_REDUCE, 0, MESH_REDUCE_PIPELINE, 0},
    {"ring", MESH_OPERATOR_ALL_REDUCE, 0, MESH_REDUCE_RING, 0},
    {"K-tree, K = 2", MESH_OPERATOR_ALL_REDUCE, 0, MESH_REDUCE_TREE, 2},
};
#define N_ROWS G_N_ELEMENTS(rows)

typedef struct PlmrRow {
    double at[N_COUNTS][2]; /* near: on N; far: on PRODUCT_FAR or SUM_FAR times N */
    gboolean keeps_l, keeps_m, keeps_r;
} PlmrRow;

struct PlmrTable {
    const Platform *platform; /* borrowed */
    guint n;
    guint side; /* of the largest square grid of the platform */
    PlmrRow rows[N_ROWS];
};

static gboolean is_product(gsize row) {
    return rows[row].kind != MESH_OPERATOR_ALL_REDUCE;
}

static guint far_of(gsize row) {
    return is_product(row) ? PRODUCT_FAR : SUM_FAR;
}

static MeshRunSpec spec_of(gsize row, guint n) {
    return (MeshRunSpec){.kind = rows[row].kind,
                         .grid = {n, n},
                         .m = (guint64)n * TILE_SIDE,
                         .k = (guint64)n * TILE_SIDE,
                         .n = (guint64)n * TILE_SIDE,
                         .elements = ELEMENTS,
                         .algorithm = rows[row].algorithm,
                         .k_tree = rows[row].k,
                         .routing = rows[row].routing,
                         .type = DATA_TYPE_FP16,
                         .every_step = TRUE,
                         .aligned = TRUE,
                         .unlimited = TRUE};
}

static double exponent(const double at[2], guint times) {
    return at[0] > 0 && at[1] > 0 ? log(at[1] / at[0]) / log(times) : at[1] > 0 ? INFINITY : 0;
}

char *plmr_growth(double near, double far, guint times) {
    const double at[2] = {near, far};
    double power = exponent(at, times);
    char digits[G_ASCII_DTOSTR_BUF_SIZE];

    if (near <= 0 && far <= 0)
        return g_strdup("none");
    if (power < GROWS)
        return g_strdup("O(1)");
    if (power < GROWS_LINEARLY)
        return g_strdup("O(sqrt N)");
    if (power < 1 + GROWS)
        return g_strdup("O(N)");
    return g_strdup_printf("O(N^%s)", g_ascii_formatd(digits, sizeof digits, "%.1f", power));
}

/* Hops: of a product those of the longest message of a step (figure 6's critical path), of a sum
 * all on the path of causes (figure 8's). Stages: a step's, or all. */
static void take_counts(PlmrRow *row, gsize index, guint which, const MeshRunResult *result) {
    const MeshTotals *totals = &result->totals;
    double tile_bytes = TILE_SIDE * TILE_SIDE * data_type_bytes(DATA_TYPE_FP16);
    double vector_bytes = ELEMENTS * data_type_bytes(DATA_TYPE_FP16);
    gboolean product = is_product(index);

    row->at[COUNT_PATHS][which] = totals->paths;
    row->at[COUNT_HOPS][which] = product ? totals->farthest_hops : totals->hops;
    row->at[COUNT_STAGES][which] = totals->stages;
    row->at[COUNT_BYTES][which] = totals->peak_bytes / (product ? 3 * tile_bytes : vector_bytes);
}

/* L: neither stages nor, in every step of a product, hops grow in proportion to N. M: bytes do not
 * grow beside the tiles. R: the paths on the largest square grid, as they grow, suffice. */
static void judge(PlmrRow *row, gsize index, const PlmrTable *table) {
    guint far = far_of(index);
    double beyond = (double)table->side / ((double)far * table->n);
    double growth = exponent(row->at[COUNT_PATHS], far);
    double paths = row->at[COUNT_PATHS][1] * (growth < GROWS ? 1 : pow(beyond, growth));

    row->keeps_l = exponent(row->at[COUNT_STAGES], far) < GROWS_LINEARLY &&
                   (!is_product(index) || exponent(row->at[COUNT_HOPS], far) < GROWS_LINEARLY);
    row->keeps_m = exponent(row->at[COUNT_BYTES], far) < GROWS;
    row->keeps_r = paths <= (double)table->platform->mesh.routing_paths;
}

static gboolean fits(const Platform *platform, guint n, guint side, GError **error) {
    if (platform->kind != DEVICE_WAFER) {
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                    "--platform: expected a wafer such as 'wse2', not '%s'", platform->name);
        return FALSE;
    }
    guint most = MIN(MOST_SIDE, side / SUM_FAR);
    if (n >= LEAST_SIDE && n <= most)
        return TRUE;
    if (most < LEAST_SIDE) {
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                    "--platform: '%s' has %u cores a side, too few to see growth: at least %d are "
                    "needed",
                    platform->name, side, LEAST_SIDE * SUM_FAR);
        return FALSE;
    }
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_VALUE, "--grid: must be from %d to %u, not %u",
                LEAST_SIDE, most, n);
    return FALSE;
}

PlmrTable *plmr_table_new(const Platform *platform, guint n, GError **error) {
    guint side = (guint)MIN(platform->mesh.columns, platform->mesh.rows);
    MeshRunSpec specs[2 * N_ROWS];
    MeshRunResult results[2 * N_ROWS];

    if (!fits(platform, n, side, error))
        return NULL;
    for (gsize i = 0; i < N_ROWS; i++)
        for (guint which = 0; which < 2; which++)
            specs[2 * i + which] = spec_of(i, which == 0 ? n : n * far_of(i));
    if (!mesh_run_all(specs, 2 * N_ROWS, platform, results, error))
        return NULL;
    PlmrTable *table = g_new0(PlmrTable, 1);
    *table = (PlmrTable){.platform = platform, .n = n, .side = side};
    for (gsize i = 0; i < N_ROWS; i++) {
        for (guint which = 0; which < 2; which++) {
            take_counts(&table->rows[i], i, which, &results[2 * i + which]);
            mesh_run_result_clear(&results[2 * i + which]);
        }
        judge(&table->rows[i], i, table);
    }
    return table;
}

void plmr_table_free(PlmrTable *table) {
    g_free(table);
}

static void append_cell(GString *out, const double at[2], guint times) {
    char first[G_ASCII_DTOSTR_BUF_SIZE], second[G_ASCII_DTOSTR_BUF_SIZE];
    g_autofree char *growth = plmr_growth(at[0], at[1], times);

    g_ascii_formatd(first, sizeof first, "%.3g", at[0]);
    g_ascii_formatd(second, sizeof second, "%.3g", at[1]);
    g_autofree char *both = g_strdup_printf("%s, %s", first, second);
    g_string_append_printf(out, "  %-10s %-9s", both, growth);
}

static void append_rows(GString *out, const PlmrTable *table, gboolean products) {
    for (gsize i = 0; i < N_ROWS; i++) {
        const PlmrRow *row = &table->rows[i];
        if (is_product(i) != products)
            continue;
        g_string_append_printf(out, "  %-18s", rows[i].name);
        for (CountKind kind = 0; kind < N_COUNTS; kind++)
            append_cell(out, row->at[kind], far_of(i));
        g_string_append_printf(out, "  %c%c%c\n", row->keeps_l ? 'L' : '-',
                               row->keeps_m ? 'M' : '-', row->keeps_r ? 'R' : '-');
    }
}

static void append_head(GString *out, const PlmrTable *table, gboolean products) {
    g_autofree char *title =
        g_strdup_printf("%s, N = %u, %u", products ? "product" : "sum", table->n,
                        table->n * (products ? PRODUCT_FAR : SUM_FAR));

    g_string_append_printf(out, "\n  %-18s", title);
    for (CountKind kind = 0; kind < N_COUNTS; kind++)
        g_string_append_printf(out, "  %-20s",
                               kind == COUNT_BYTES && !products ? "bytes / vector"
                                                                : counts[kind].title);
    g_string_append(out, "  keeps\n");
}

char *plmr_table_text(const PlmrTable *table) {
    GString *out = g_string_new(NULL);

    g_string_append_printf(out,
                           "PLMR on %s: counts on two grids, and how they grow with their side N\n",
                           table->platform->name);
    append_head(out, table, TRUE);
    append_rows(out, table, TRUE);
    append_head(out, table, FALSE);
    append_rows(out, table, FALSE);
    g_string_append_printf(
        out,
        "\n  hops    products: of the longest message in a step; sums: on the critical path\n"
        "  stages  routing stages in software on the critical path of the whole operator\n"
        "  L       stages and a step's hops grow less than in proportion to N\n"
        "  M       bytes beside the tiles' own, or the vector's, do not grow\n"
        "  R       on %u × %u cores, as they grow, at most the %" G_GUINT64_FORMAT
        " paths that a core can tell apart\n",
        table->side, table->side, table->platform->mesh.routing_paths);
    return g_string_free(out, FALSE);
}

static char *row_json(const PlmrTable *table, gsize i) {
    const PlmrRow *row = &table->rows[i];
    g_autoptr(Facts) facts = facts_new();

    facts_text(facts, "algorithm", NULL, rows[i].name);
    facts_text(facts, "family", NULL, is_product(i) ? "product" : "sum");
    facts_count(facts, "n", NULL, table->n);
    facts_count(facts, "n_far", NULL, (guint64)table->n * far_of(i));
    for (CountKind kind = 0; kind < N_COUNTS; kind++) {
        g_autofree char *far_key = g_strconcat(counts[kind].key, "_far", NULL);
        g_autofree char *growth_key = g_strconcat(counts[kind].key, "_growth", NULL);
        g_autofree char *growth = plmr_growth(row->at[kind][0], row->at[kind][1], far_of(i));
        facts_number(facts, counts[kind].key, NULL, row->at[kind][0], "");
        facts_number(facts, far_key, NULL, row->at[kind][1], "");
        facts_text(facts, growth_key, NULL, growth);
    }
    facts_text(facts, "keeps_l", NULL, row->keeps_l ? "yes" : "no");
    facts_text(facts, "keeps_m", NULL, row->keeps_m ? "yes" : "no");
    facts_text(facts, "keeps_r", NULL, row->keeps_r ? "yes" : "no");
    return facts_json(facts);
}

char *plmr_table_json(const PlmrTable *table) {
    GString *out = g_string_new("[\n");

    for (gsize i = 0; i < N_ROWS; i++) {
        g_autofree char *row = row_json(table, i);
        g_string_append_printf(out, "%s%s", i == 0 ? "" : ",\n", g_strchomp(row));
    }
    g_string_append(out, "\n]\n");
    return g_string_free(out, FALSE);
}
