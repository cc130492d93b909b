#include "analysis/reproduce/reproduction.h"

#include "analysis/output/double_order.h"
#include <math.h>
#include <string.h>

Reproduction *reproduction_new(const char *name) {
    Reproduction *reproduction = g_new0(Reproduction, 1);

    reproduction->name = name;
    reproduction->cells = g_array_new(FALSE, FALSE, sizeof(ReproducedCell));
    reproduction->claims = g_array_new(FALSE, FALSE, sizeof(ReproducedClaim));
    reproduction->remarks = g_ptr_array_new();
    reproduction->texts = g_string_chunk_new(1024);
    return reproduction;
}

void reproduction_free(Reproduction *reproduction) {
    if (reproduction == NULL)
        return;
    g_array_unref(reproduction->cells);
    g_array_unref(reproduction->claims);
    g_ptr_array_unref(reproduction->remarks);
    g_string_chunk_free(reproduction->texts);
    g_free(reproduction);
}

const char *reproduction_text(Reproduction *reproduction, const char *format, ...) {
    va_list arguments;

    va_start(arguments, format);
    g_autofree char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    return g_string_chunk_insert_const(reproduction->texts, text);
}

void reproduction_add(Reproduction *reproduction, ReproducedCell cell) {
    g_array_append_val(reproduction->cells, cell);
}

const ReproducedCell *reproduction_cell(const Reproduction *reproduction, guint index) {
    return &g_array_index(reproduction->cells, ReproducedCell, index);
}

double reproduced_cell_error(const ReproducedCell *cell) {
    return cell->simulated / cell->published - 1;
}

gboolean reproduced_cell_counts(const ReproducedCell *cell) {
    return (cell->marks & (CELL_CALIBRATED | CELL_CONTRADICTED)) == 0 &&
           !isnan(reproduced_cell_error(cell));
}

/* --- claims */

static gboolean same_place(const ReproducedCell *a, const ReproducedCell *b) {
    return strcmp(a->row, b->row) == 0 && strcmp(a->column, b->column) == 0 &&
           strcmp(a->unit, b->unit) == 0;
}

static void judge_pair(ReproducedClaim *claim, const ReproducedCell *a, const ReproducedCell *b,
                       double margin) {
    gboolean ordered =
        MAX(a->published, b->published) / MIN(a->published, b->published) > 1 + margin;

    if (((a->marks | b->marks) & CELL_CONTRADICTED) != 0 || !same_place(a, b) || !ordered ||
        isnan(a->simulated) || isnan(b->simulated))
        return;
    claim->of++;
    claim->kept += (a->published < b->published) == (a->simulated < b->simulated) &&
                   a->simulated != b->simulated;
}

static void judge_orders(Reproduction *reproduction) {
    ReproducedClaim claim = {"the order of the series in a row and column", NULL, 0, 0};

    if (reproduction->margin > 0)
        claim.text = reproduction_text(reproduction,
                                       "%s, where published figures differ by more than %.0f %%",
                                       claim.text, 100 * reproduction->margin);
    for (guint i = 0; i < reproduction->cells->len; i++)
        for (guint j = 0; j < i; j++)
            judge_pair(&claim, reproduction_cell(reproduction, i),
                       reproduction_cell(reproduction, j), reproduction->margin);
    if (claim.of > 0)
        g_array_append_val(reproduction->claims, claim);
}

static void judge_memory(Reproduction *reproduction) {
    ReproducedClaim claim = {"out of memory where it is published, and nowhere else", NULL, 0, 0};

    for (guint i = 0; i < reproduction->cells->len; i++) {
        const ReproducedCell *cell = reproduction_cell(reproduction, i);
        claim.of += cell->published_oom || cell->simulated_oom;
        claim.kept += cell->published_oom && cell->simulated_oom;
    }
    if (claim.of > 0)
        g_array_append_val(reproduction->claims, claim);
}

void reproduction_judge(Reproduction *reproduction) {
    judge_orders(reproduction);
    judge_memory(reproduction);
}

static gboolean same_figure(const ReproducedCell *a, const ReproducedCell *b) {
    return a->simulated_oom == b->simulated_oom &&
           (a->simulated == b->simulated || (isnan(a->simulated) && isnan(b->simulated)));
}

gboolean reproduction_is_same(const Reproduction *a, const Reproduction *b) {
    gboolean same = a->cells->len == b->cells->len && a->claims->len == b->claims->len;

    for (guint i = 0; same && i < a->cells->len; i++)
        same = same_figure(reproduction_cell(a, i), reproduction_cell(b, i));
    for (guint i = 0; same && i < a->claims->len; i++) {
        const ReproducedClaim *claim = &g_array_index(a->claims, ReproducedClaim, i);
        const ReproducedClaim *other = &g_array_index(b->claims, ReproducedClaim, i);
        same = claim->kept == other->kept && claim->of == other->of &&
               g_strcmp0(claim->found, other->found) == 0;
    }
    return same;
}

void reproduction_count_claims(const Reproduction *reproduction, guint *of, guint *kept) {
    *of = *kept = 0;
    for (guint i = 0; i < reproduction->claims->len; i++) {
        const ReproducedClaim *claim = &g_array_index(reproduction->claims, ReproducedClaim, i);
        *of += claim->of;
        *kept += claim->kept;
    }
}

/* --- errors */

/* Adds the magnitudes of those predicted cells that belong to the summary. */
static void collect(const ErrorSummary *summary, const Reproduction *reproduction,
                    GArray *magnitudes) {
    for (guint i = 0; i < reproduction->cells->len; i++) {
        const ReproducedCell *cell = reproduction_cell(reproduction, i);
        double magnitude = fabs(reproduced_cell_error(cell));
        if (reproduced_cell_counts(cell) &&
            (summary->series == NULL || (strcmp(summary->series, cell->series) == 0 &&
                                         strcmp(summary->unit, cell->unit) == 0)))
            g_array_append_val(magnitudes, magnitude);
    }
}

static void summarise(ErrorSummary *summary, GArray *magnitudes) {
    guint n = summary->cells = magnitudes->len;

    summary->median = summary->worst = NAN;
    if (n == 0)
        return;
    g_array_sort(magnitudes, double_order);
    summary->worst = g_array_index(magnitudes, double, n - 1);
    summary->median = (g_array_index(magnitudes, double, (n - 1) / 2) +
                       g_array_index(magnitudes, double, n / 2)) /
                      2;
}

static gboolean has_series(const GArray *all, const ReproducedCell *cell) {
    for (guint i = 0; i < all->len; i++) {
        const ErrorSummary *summary = &g_array_index(all, ErrorSummary, i);
        if (strcmp(summary->series, cell->series) == 0 && strcmp(summary->unit, cell->unit) == 0)
            return TRUE;
    }
    return FALSE;
}

GArray *reproduction_errors(const Reproduction *reproduction) {
    GArray *all = g_array_new(FALSE, FALSE, sizeof(ErrorSummary));

    for (guint i = 0; i < reproduction->cells->len; i++) {
        const ReproducedCell *cell = reproduction_cell(reproduction, i);
        g_autoptr(GArray) magnitudes = g_array_new(FALSE, FALSE, sizeof(double));
        ErrorSummary summary = {.series = cell->series, .unit = cell->unit};
        if (!reproduced_cell_counts(cell) || has_series(all, cell))
            continue;
        collect(&summary, reproduction, magnitudes);
        summarise(&summary, magnitudes);
        g_array_append_val(all, summary);
    }
    return all;
}

ErrorSummary reproduction_error_of(const Reproduction *const *reproductions, guint n) {
    g_autoptr(GArray) magnitudes = g_array_new(FALSE, FALSE, sizeof(double));
    ErrorSummary summary = {0};

    for (guint i = 0; i < n; i++)
        collect(&summary, reproductions[i], magnitudes);
    summarise(&summary, magnitudes);
    return summary;
}
