#include "analysis/reproduce/reproduction_text.h"

#include "analysis/output/number_text.h"
#include <math.h>
#include <string.h>

#define MOST_DECIMALS 5
#define BOTH_PAPERS "all"

static const struct {
    CellMark mark;
    char letter;
    const char *meaning;
} marks[] = {
    {CELL_CALIBRATED, 'c', "calibrated on it: no prediction"},
    {CELL_UNEXPLAINED, 'u', "unexplained"},
    {CELL_CONTRADICTED, 'x', "contradicted by other published figures, left out"},
    {CELL_CHOSEN, 'p', "plan chosen with the published figures in sight: less than a prediction"}};

/* --- numbers */

/* Digits behind the point of a published figure, as it was printed; of one that was computed from
 * others, 0. */
static guint decimals_of(double published) {
    char text[NUMBER_TEXT_MAX];

    *number_text_shortest(text, published) = '\0';
    const char *point = strchr(text, '.');
    guint decimals = point == NULL || strchr(text, 'e') != NULL ? 0 : (guint)strlen(point + 1);
    return decimals > MOST_DECIMALS ? 0 : decimals;
}

/* As many decimals as were published, or more until there are three digits. */
static void append_figure(GString *out, int width, double value, guint decimals) {
    char format[8], digits[G_ASCII_DTOSTR_BUF_SIZE];

    while (decimals < MOST_DECIMALS && fabs(value) * pow(10, decimals) < 100 && value != 0)
        decimals++;
    g_snprintf(format, sizeof format, "%%.%uf", MIN(decimals, MOST_DECIMALS));
    g_string_append_printf(out, "%*s", width,
                           g_ascii_formatd(digits, sizeof digits, format, value));
}

static void append_outcome(GString *out, double value, gboolean oom, double published) {
    if (oom || isnan(value))
        g_string_append_printf(out, "%11s", oom ? "OOM" : "-");
    else
        append_figure(out, 11, value, isnan(published) ? 0 : decimals_of(published));
}

static void append_percent(GString *out, int width, const char *format, double share) {
    char digits[G_ASCII_DTOSTR_BUF_SIZE];

    g_string_append_printf(
        out, "%*s", width,
        isnan(share) ? "-" : g_ascii_formatd(digits, sizeof digits, format, 100 * share));
}

/* --- a line a cell */

/* Characters, not bytes. */
static void append_label(GString *out, const char *label, int width) {
    int length = (int)g_utf8_strlen(label, -1);

    g_string_append_printf(out, "%s%*s", label, MAX(width - length, 0), "");
}

typedef struct Widths {
    int series, row, column, unit;
} Widths;

static void widen(int *width, const char *label) {
    *width = MAX(*width, (int)g_utf8_strlen(label, -1) + 2);
}

static Widths widths_of(const Reproduction *reproduction) {
    Widths widths = {11, 5, 5, 6};

    for (guint i = 0; i < reproduction->cells->len; i++) {
        const ReproducedCell *cell = reproduction_cell(reproduction, i);
        widen(&widths.series, cell->series);
        widen(&widths.row, cell->row);
        widen(&widths.column, cell->column);
        widen(&widths.unit, cell->unit);
    }
    return widths;
}

static void append_cell(GString *out, const ReproducedCell *cell, Widths widths) {
    append_label(out, cell->series, widths.series);
    append_label(out, cell->row, widths.row);
    append_label(out, cell->column, widths.column);
    append_label(out, cell->unit, widths.unit);
    append_outcome(out, cell->published, cell->published_oom, cell->published);
    append_outcome(out, cell->simulated, cell->simulated_oom, cell->published);
    append_percent(out, 9, "%+.1f", reproduced_cell_error(cell));
    for (gsize i = 0; i < G_N_ELEMENTS(marks); i++)
        if ((cell->marks & marks[i].mark) != 0)
            g_string_append_printf(out, " %c", marks[i].letter);
    g_string_append_c(out, '\n');
}

static void append_cells(GString *out, const Reproduction *reproduction) {
    Widths widths = widths_of(reproduction);

    if (reproduction->cells->len == 0)
        return;
    g_string_append_c(out, '\n');
    append_label(out, "", widths.series + widths.row + widths.column + widths.unit);
    g_string_append_printf(out, "%11s%11s%9s\n", "published", "simulated", "error %");
    for (guint i = 0; i < reproduction->cells->len; i++)
        append_cell(out, reproduction_cell(reproduction, i), widths);
}

/* --- what marks, notes and details say */

/* What is said of a cell, once for neighbours of which the same is said. */
static void append_saying(GString *out, GPtrArray *told, const ReproducedCell *cell,
                          const char *saying) {
    if (saying == NULL || g_ptr_array_find_with_equal_func(told, saying, g_str_equal, NULL))
        return;
    g_ptr_array_add(told, (gpointer)saying);
    g_string_append(out, cell->series);
    g_string_append_printf(out, ", %s", cell->row);
    if (*cell->column != '\0')
        g_string_append_printf(out, ", %s", cell->column);
    g_string_append_printf(out, ": %s\n", saying);
}

static void append_marks(GString *out, const Reproduction *reproduction) {
    for (gsize i = 0; i < G_N_ELEMENTS(marks); i++) {
        g_autoptr(GPtrArray) told = g_ptr_array_new();
        gboolean present = FALSE;

        for (guint j = 0; j < reproduction->cells->len; j++) {
            const ReproducedCell *cell = reproduction_cell(reproduction, j);
            if ((cell->marks & marks[i].mark) == 0)
                continue;
            if (!present)
                g_string_append_printf(out, "%c  %s\n", marks[i].letter, marks[i].meaning);
            present = TRUE;
            if (marks[i].mark != CELL_CALIBRATED)
                append_saying(out, told, cell, cell->note);
        }
    }
}

static void append_notes(GString *out, const Reproduction *reproduction) {
    g_autoptr(GPtrArray) told = g_ptr_array_new();

    for (guint i = 0; i < reproduction->cells->len; i++) {
        const ReproducedCell *cell = reproduction_cell(reproduction, i);
        if ((cell->marks & ~(guint)CELL_CALIBRATED) == 0)
            append_saying(out, told, cell, cell->note);
        append_saying(out, told, cell, cell->detail);
    }
    for (guint i = 0; i < reproduction->remarks->len; i++)
        g_string_append_printf(out, "%s\n",
                               (const char *)g_ptr_array_index(reproduction->remarks, i));
}

/* --- summaries */

static void append_summary(GString *out, const ErrorSummary *summary) {
    g_autofree char *name = summary->series == NULL
                                ? g_strdup(BOTH_PAPERS)
                                : g_strdup_printf("%s, %s", summary->series, summary->unit);

    append_label(out, name, 36);
    g_string_append_printf(out, "%9u", summary->cells);
    append_percent(out, 10, "%.1f", summary->median);
    append_percent(out, 10, "%.1f", summary->worst);
    g_string_append_c(out, '\n');
}

static void append_errors(GString *out, const Reproduction *reproduction) {
    g_autoptr(GArray) all = reproduction_errors(reproduction);
    ErrorSummary whole = reproduction_error_of(&reproduction, 1);

    if (all->len == 0)
        return;
    g_string_append_printf(out, "\n%-36s%9s%10s%10s\n", "predicted", "cells", "median %",
                           "worst %");
    for (guint i = 0; i < all->len; i++)
        append_summary(out, &g_array_index(all, ErrorSummary, i));
    if (all->len > 1)
        append_summary(out, &whole);
}

static void append_claims(GString *out, const Reproduction *reproduction) {
    if (reproduction->claims->len > 0)
        g_string_append(out, "\nclaims kept\n");
    for (guint i = 0; i < reproduction->claims->len; i++) {
        const ReproducedClaim *claim = &g_array_index(reproduction->claims, ReproducedClaim, i);
        if (claim->of == 1)
            g_string_append_printf(out, "  %-8s", claim->kept == 1 ? "yes" : "no");
        else
            g_string_append_printf(out, "  %u of %-4u", claim->kept, claim->of);
        g_string_append_printf(out, "  %s%s%s\n", claim->text, claim->found == NULL ? "" : ": ",
                               claim->found == NULL ? "" : claim->found);
    }
}

char *reproduction_table(const Reproduction *reproduction) {
    GString *out = g_string_new(NULL), *notes = g_string_new(NULL);

    g_string_append_printf(out, "%s: %s\n", reproduction->name, reproduction->title);
    append_cells(out, reproduction);
    append_marks(notes, reproduction);
    append_notes(notes, reproduction);
    if (notes->len > 0)
        g_string_append_printf(out, "\n%s", notes->str);
    g_string_free(notes, TRUE);
    append_errors(out, reproduction);
    append_claims(out, reproduction);
    return g_string_free(out, FALSE);
}

/* --- all tables */

static void append_total(GString *out, const char *name, const GPtrArray *tables) {
    ErrorSummary summary =
        reproduction_error_of((const Reproduction *const *)tables->pdata, tables->len);
    guint cells = 0, of = 0, kept = 0;

    for (guint i = 0; i < tables->len; i++) {
        const Reproduction *table = g_ptr_array_index(tables, i);
        guint table_of, table_kept;
        cells += table->cells->len;
        reproduction_count_claims(table, &table_of, &table_kept);
        of += table_of;
        kept += table_kept;
    }
    g_autofree char *claims = of == 0 ? g_strdup("-") : g_strdup_printf("%u of %u", kept, of);
    append_label(out, name, 16);
    g_string_append_printf(out, "%6u%11u", cells, summary.cells);
    append_percent(out, 10, "%.1f", summary.median);
    append_percent(out, 9, "%.1f", summary.worst);
    g_string_append_printf(out, "%14s\n", claims);
}

/* Those of a paper (NULL: of all) that follow from no other. */
static GPtrArray *own_tables(const GPtrArray *all, const char *paper) {
    GPtrArray *some = g_ptr_array_new();

    for (guint i = 0; i < all->len; i++) {
        Reproduction *table = g_ptr_array_index(all, i);
        if (!table->derived && (paper == NULL || strcmp(table->paper, paper) == 0))
            g_ptr_array_add(some, table);
    }
    return some;
}

char *reproduction_overall(const GPtrArray *all) {
    static const char *const papers[] = {"THInfer", "WaferLLM", NULL};
    GString *out = g_string_new(NULL);
    gboolean derived = FALSE;

    g_string_append_printf(out, "%-16s%6s%11s%10s%9s%14s\n", "table", "cells", "predicted",
                           "median %", "worst %", "claims kept");
    for (guint i = 0; i < all->len; i++) {
        Reproduction *table = g_ptr_array_index(all, i);
        g_autoptr(GPtrArray) one = g_ptr_array_new();
        g_autofree char *name = g_strconcat(table->name, table->derived ? " *" : "", NULL);
        g_ptr_array_add(one, table);
        append_total(out, name, one);
        derived |= table->derived;
    }
    for (guint i = 0; i < G_N_ELEMENTS(papers); i++) {
        g_autoptr(GPtrArray) some = own_tables(all, papers[i]);
        append_total(out, papers[i] == NULL ? BOTH_PAPERS : papers[i], some);
    }
    if (derived)
        g_string_append(out, "* follows from another table, with which it counts\n");
    return g_string_free(out, FALSE);
}
