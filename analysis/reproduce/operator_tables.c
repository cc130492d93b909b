/* THInfer's tables of operators on one MT-3000 cluster, and the figures that follow from them. */
#include "analysis/reproduce/reproduction_tables.h"

#include "analysis/operators/operator_run.h"
#include <math.h>
#include <string.h>

#define INPUTS 4096 /* of every operator of table VIII */
#define ATTENTION_BATCH 4
#define ATTENTION_HEAD_DIM 128
#define ROUND_ROWS 1536 /* 64 rows on each of 24 DSPs */

/* A table of times, a line a variant and row, a column a size. */
typedef struct Times {
    GArray *specs, *cells; /* OperatorSpec and ReproducedCell, in the order of the file */
    OperatorResult *results;
} Times;

static void times_clear(Times *times) {
    for (guint i = 0; times->results != NULL && i < times->specs->len; i++)
        operator_result_clear(&times->results[i]);
    g_free(times->results);
    g_array_unref(times->specs);
    g_array_unref(times->cells);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Times, times_clear)

/* What a cell of a table is. */
typedef OperatorSpec (*CellSpec)(const char *variant, guint64 row, guint64 column);

static guint64 count_of(const char *text) {
    return g_ascii_strtoull(text, NULL, 10);
}

/* One line: a variant, a row, and milliseconds under the sizes. */
static gboolean read_line(TableBuild *build, guint line, CellSpec spec_of, Times *times,
                          GError **error) {
    const ReferenceTable *table = build->reference;
    const char *heads[] = {reference_table_column(table, 0), reference_table_column(table, 1)};
    const char *variant = reference_table_text(table, line, heads[0], error), *size;
    double row;

    if (variant == NULL || !reference_table_number(table, line, heads[1], &row, error))
        return FALSE;
    for (guint i = 2; (size = reference_table_column(table, i)) != NULL; i++) {
        OperatorSpec spec = spec_of(variant, (guint64)row, count_of(size));
        ReproducedCell cell = {.series = reproduction_text(build->reproduction, "%s", variant),
                               .row = reproduction_text(build->reproduction, "%.0f", row),
                               .column = reproduction_text(build->reproduction, "%s", size),
                               .unit = "ms"};
        if (!reference_table_number(table, line, size, &cell.published, error))
            return FALSE;
        if (cell.published == 0)
            return reference_table_error(table, line, error, "expected times above 0");
        g_array_append_val(times->specs, spec);
        g_array_append_val(times->cells, cell);
    }
    return TRUE;
}

/* Reads the reference and runs all of it; milliseconds are in the cells. */
static gboolean simulate(TableBuild *build, CellSpec spec_of, Times *times, GError **error) {
    times->specs = g_array_new(FALSE, TRUE, sizeof(OperatorSpec));
    times->cells = g_array_new(FALSE, TRUE, sizeof(ReproducedCell));
    for (guint i = 0; i < reference_table_rows(build->reference); i++)
        if (!read_line(build, i, spec_of, times, error))
            return FALSE;
    g_autofree OperatorResult *results = g_new0(OperatorResult, times->specs->len);
    if (!operator_run_all((const OperatorSpec *)(gpointer)times->specs->data, times->specs->len,
                          build->platform, results, error))
        return FALSE;
    times->results = g_steal_pointer(&results);
    for (guint i = 0; i < times->cells->len; i++)
        g_array_index(times->cells, ReproducedCell, i).simulated = 1000 * times->results[i].seconds;
    return TRUE;
}

static ReproducedCell *cell_at(const Times *times, guint index) {
    return &g_array_index(times->cells, ReproducedCell, index);
}

static const OperatorSpec *spec_at(const Times *times, guint index) {
    return &g_array_index(times->specs, OperatorSpec, index);
}

/* --- table VIII */

static OperatorSpec linear_spec(const char *precision, guint64 rows, guint64 outputs) {
    DataType type = strcmp(precision, "FP16") == 0 ? DATA_TYPE_FP16 : DATA_TYPE_FP32;

    return (OperatorSpec){.kind = OPERATOR_GEMM,
                          .gemm = {rows, outputs, INPUTS, type},
                          .blocks = gemm_blocks_paper(type),
                          .transfers = GEMM_TILED,
                          .launch = TRUE};
}

/* Cells of table VIII that stand out from their neighbours in a way that neither bytes nor cycles
 * do. */
static const struct {
    DataType type;
    guint64 rows, from_outputs, to_outputs;
    const char *reason;
} unexplained_linear[] = {
    {DATA_TYPE_FP16, 2048, 256, 256, "faster than its bytes can pass the DDR"},
    {DATA_TYPE_FP16, 1024, 1024, 1024, "far above the line through its neighbours"},
    {DATA_TYPE_FP32, 1024, 512, 1024, "slower than transfers and computing together account for"},
};

static void mark_linear(ReproducedCell *cell, const GemmShape *shape) {
    cell->marks = shape->m == 1024 ? CELL_CALIBRATED : 0;
    for (gsize i = 0; i < G_N_ELEMENTS(unexplained_linear); i++)
        if (unexplained_linear[i].type == shape->type && unexplained_linear[i].rows == shape->m &&
            unexplained_linear[i].from_outputs <= shape->n &&
            shape->n <= unexplained_linear[i].to_outputs) {
            cell->marks |= CELL_UNEXPLAINED;
            cell->note = unexplained_linear[i].reason;
        }
}

static void label_linear(Reproduction *reproduction, ReproducedCell *cell) {
    cell->row = reproduction_text(reproduction, "S %s", cell->row);
    cell->column = reproduction_text(reproduction, "%s outputs", cell->column);
}

gboolean build_linear(TableBuild *build, GError **error) {
    g_auto(Times) times = {0};

    if (!simulate(build, linear_spec, &times, error))
        return FALSE;
    for (guint i = 0; i < times.cells->len; i++) {
        mark_linear(cell_at(&times, i), &spec_at(&times, i)->gemm);
        label_linear(build->reproduction, cell_at(&times, i));
        reproduction_add(build->reproduction, *cell_at(&times, i));
    }
    return TRUE;
}

/* --- figure 11 */

/* Per cent of the printed peak: multiply-accumulates per 1e9 and second over 4050 or 8100. */
static double utilisation(const GemmShape *shape, double milliseconds) {
    double peak_gmacs = shape->type == DATA_TYPE_FP16 ? 8100 : 4050;

    return 100 * ((double)shape->m * (double)shape->n * (double)shape->k) / (milliseconds * 1e6) /
           peak_gmacs;
}

gboolean build_utilisation(TableBuild *build, GError **error) {
    g_auto(Times) times = {0};

    if (!simulate(build, linear_spec, &times, error))
        return FALSE;
    for (guint i = 0; i < times.cells->len; i++) {
        ReproducedCell *cell = cell_at(&times, i);
        const GemmShape *shape = &spec_at(&times, i)->gemm;
        mark_linear(cell, shape);
        label_linear(build->reproduction, cell);
        cell->unit = "% of peak";
        cell->published = utilisation(shape, cell->published);
        cell->simulated = utilisation(shape, cell->simulated);
        reproduction_add(build->reproduction, *cell);
    }
    build->reproduction->margin = INFINITY; /* the order of two precisions' shares is no claim */
    build->reproduction->margin = INFINITY; /* the order of two precisions' shares is no claim */
    g_ptr_array_add(
        build->reproduction->remarks,
        (gpointer) "published: from the times of table VIII by eq. 23 with 1e9 in place "
                   "of 1024 cubed, which is how the paper's own 5686.34 GFLOPS and "
                   "70.20 % follow");
    return TRUE;
}

/* --- table IX */

static AttentionVariant variant_of(const char *name) {
    return strcmp(name, "mt") == 0      ? ATTENTION_MT
           : strcmp(name, "flash") == 0 ? ATTENTION_FLASH
                                        : ATTENTION_UNFUSED;
}

static OperatorSpec attention_spec(const char *variant, guint64 heads, guint64 tokens) {
    AttentionShape shape = {.heads = heads,
                            .kv_heads = heads,
                            .head_dim = ATTENTION_HEAD_DIM,
                            .new_tokens = tokens,
                            .batch = ATTENTION_BATCH,
                            .type = DATA_TYPE_FP16,
                            .variant = variant_of(variant)};

    return (OperatorSpec){.kind = OPERATOR_ATTENTION, .attention = shape, .launch = TRUE};
}

static void mark_attention(ReproducedCell *cell, const AttentionShape *shape) {
    guint64 tokens = shape->new_tokens;

    if (shape->variant == ATTENTION_MT && (tokens == 512 || tokens == ROUND_ROWS))
        cell->marks |= CELL_CALIBRATED;
    if (tokens % ROUND_ROWS != 1024)
        return;
    cell->marks |= CELL_UNEXPLAINED;
    cell->note = "S mod 1536 = 1024 is slow in all three variants alike";
}

static void label_attention(Reproduction *reproduction, ReproducedCell *cell) {
    cell->row = reproduction_text(reproduction, "%s heads", cell->row);
    cell->column = reproduction_text(reproduction, "S %s", cell->column);
}

gboolean build_attention(TableBuild *build, GError **error) {
    g_auto(Times) times = {0};

    if (!simulate(build, attention_spec, &times, error))
        return FALSE;
    for (guint i = 0; i < times.cells->len; i++) {
        mark_attention(cell_at(&times, i), &spec_at(&times, i)->attention);
        label_attention(build->reproduction, cell_at(&times, i));
        reproduction_add(build->reproduction, *cell_at(&times, i));
    }
    return TRUE;
}

/* --- figure 12 */

/* How many times faster MT attention is than the variant of cell 'index', from the cells of one
 * shape. */
static ReproducedCell speedup_cell(TableBuild *build, const Times *times, guint index, guint mt) {
    const ReproducedCell *slow = cell_at(times, index), *fast = cell_at(times, mt);
    ReproducedCell cell = *slow;

    cell.series = reproduction_text(build->reproduction, "MT over %s", slow->series);
    cell.unit = "times";
    cell.published = slow->published / fast->published;
    cell.simulated = slow->simulated / fast->simulated;
    mark_attention(&cell, &spec_at(times, mt)->attention);
    label_attention(build->reproduction, &cell);
    return cell;
}

/* Whether a word of the claims (0: any) is the number. */
static gboolean claim_is_of(const ReferenceTable *claims, guint line, const char *column,
                            guint64 number, GError **error) {
    double wanted = 0;

    return reference_table_number(claims, line, column, &wanted, error) &&
           (wanted == 0 || (guint64)wanted == number);
}

/* How many of the speed-ups that a printed claim is about lie within its bounds. */
static gboolean add_claim(TableBuild *build, const ReferenceTable *claims, guint line,
                          GError **error) {
    const char *over = reference_table_text(claims, line, "over", error);
    const char *text = reference_table_text(claims, line, "claim", error);
    ReproducedClaim claim = {.text = text};
    double low, high, least = G_MAXDOUBLE, most = 0;

    if (over == NULL || text == NULL || !reference_table_number(claims, line, "low", &low, error) ||
        !reference_table_number(claims, line, "high", &high, error))
        return FALSE;
    for (guint i = 0, n = build->reproduction->cells->len; i < n; i++) {
        const ReproducedCell *cell = reproduction_cell(build->reproduction, i);
        GError *failure = NULL;
        gboolean about = g_str_has_suffix(cell->series, over) &&
                         claim_is_of(claims, line, "heads", count_of(cell->row), &failure) &&
                         claim_is_of(claims, line, "s", count_of(cell->column + 2), &failure);
        if (failure != NULL) {
            g_propagate_error(error, failure);
            return FALSE;
        }
        claim.of += about ? 1 : 0;
        claim.kept += about && low <= cell->simulated && cell->simulated <= high ? 1 : 0;
        least = about ? MIN(least, cell->simulated) : least;
        most = about ? MAX(most, cell->simulated) : most;
    }
    claim.text = reproduction_text(build->reproduction, "%s", text);
    claim.found = claim.of == 1
                      ? reproduction_text(build->reproduction, "%.2f", most)
                      : reproduction_text(build->reproduction, "%.2f to %.2f", least, most);
    g_array_append_val(build->reproduction->claims, claim);
    return TRUE;
}

gboolean build_speedups(TableBuild *build, GError **error) {
    g_autoptr(ReferenceTable) claims = reference_table_load("figure12_claims.csv", error);
    g_auto(Times) times = {0};

    if (claims == NULL || !simulate(build, attention_spec, &times, error))
        return FALSE;
    for (guint i = 0; i < times.cells->len; i++)
        for (guint j = 0; j < times.cells->len; j++) {
            const AttentionShape *slow = &spec_at(&times, i)->attention;
            const AttentionShape *fast = &spec_at(&times, j)->attention;
            if (slow->variant != ATTENTION_MT && fast->variant == ATTENTION_MT &&
                slow->heads == fast->heads && slow->new_tokens == fast->new_tokens)
                reproduction_add(build->reproduction, speedup_cell(build, &times, i, j));
        }
    for (guint i = 0; i < reference_table_rows(claims); i++)
        if (!add_claim(build, claims, i, error))
            return FALSE;
    return TRUE;
}

/* --- table III */

/* What a formula of the table is, in whole blocks and rounds: a started one counts whole. FALSE
 * where there is no such formula. */
static gboolean formula_value(const char *formula, guint64 tokens, const AttentionBlocks *blocks,
                              double *value) {
    guint64 kv_blocks = (tokens + blocks->columns - 1) / blocks->columns;
    guint64 round_rows = blocks->rows * 24; /* Mr · 24 */
    guint64 rounds = (tokens + round_rows - 1) / round_rows;
    const struct {
        const char *formula;
        guint64 value;
    } known[] = {{"1", 1}, {"S/Mc", kv_blocks}, {"2*S/Mc", 2 * kv_blocks}, {"S/(Mr*24)", rounds}};

    for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
        if (strcmp(known[i].formula, formula) == 0) {
            *value = (double)known[i].value;
            return TRUE;
        }
    return FALSE;
}

#define N_IO_LENGTHS 8
#define N_IO_VARIANTS 2
static const char *const io_variants[N_IO_VARIANTS] = {"flash", "mt"};
static const struct {
    const char *transfer;
    AttentionTensor tensor;
} io_transfers[] = {{"Q DMA", ATTENTION_Q},
                    {"O DMA", ATTENTION_O},
                    {"K broadcast", ATTENTION_K},
                    {"V broadcast", ATTENTION_V}};

static guint64 io_length(guint index) {
    return 512 * ((guint64)index + 1); /* as in table IX */
}

/* Passes over the tensor of all heads, counted in the simulated schedule, against the formula. */
static gboolean add_counts(TableBuild *build, guint line, guint variant,
                           const OperatorResult *results, GError **error) {
    const char *transfer = reference_table_text(build->reference, line, "transfer", error);
    const char *formula = transfer == NULL ? NULL
                                           : reference_table_text(build->reference, line,
                                                                  io_variants[variant], error);
    g_autoptr(GString) found = g_string_new(NULL);
    ReproducedClaim claim = {.of = N_IO_LENGTHS};
    guint row = 0;

    if (formula == NULL)
        return FALSE;
    while (row < G_N_ELEMENTS(io_transfers) && strcmp(io_transfers[row].transfer, transfer) != 0)
        row++;
    if (row == G_N_ELEMENTS(io_transfers))
        return reference_table_error(build->reference, line, error, "there is no such transfer");
    for (guint i = 0; i < N_IO_LENGTHS; i++) {
        const AttentionReport *report = &results[i].attention;
        double passes = report->passes[io_transfers[row].tensor], expected;
        if (!formula_value(formula, io_length(i), &report->blocks, &expected))
            return reference_table_error(build->reference, line, error,
                                         "expected 1, S/Mc, 2*S/Mc or S/(Mr*24)");
        claim.kept += passes == expected;
        g_string_append_printf(found, "%s%.0f", i == 0 ? "" : " ", passes);
    }
    claim.text = reproduction_text(build->reproduction, "%s, %s: %s", io_variants[variant],
                                   transfer, formula);
    claim.found = reproduction_text(build->reproduction, "%s", found->str);
    g_array_append_val(build->reproduction->claims, claim);
    return TRUE;
}

gboolean build_io_counts(TableBuild *build, GError **error) {
    OperatorSpec specs[N_IO_VARIANTS * N_IO_LENGTHS];
    OperatorResult results[N_IO_VARIANTS * N_IO_LENGTHS];
    gboolean added = TRUE;

    for (guint i = 0; i < G_N_ELEMENTS(specs); i++)
        specs[i] = attention_spec(io_variants[i / N_IO_LENGTHS], 32, io_length(i % N_IO_LENGTHS));
    if (!operator_run_all(specs, G_N_ELEMENTS(specs), build->platform, results, error))
        return FALSE;
    for (guint line = 0; line < reference_table_rows(build->reference); line++)
        for (guint variant = 0; variant < N_IO_VARIANTS; variant++)
            added = added && add_counts(build, line, variant,
                                        results + (gsize)variant * N_IO_LENGTHS, error);
    for (guint i = 0; i < G_N_ELEMENTS(results); i++)
        operator_result_clear(&results[i]);
    g_ptr_array_add(build->reproduction->remarks,
                    (gpointer) "complete passes over the tensor of a head at S = 512, 1024 … 4096; "
                               "a started block or round counts whole");
    return added;
}
