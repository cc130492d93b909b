#include "analysis/reproduce/reproduction.h"

#include "workloads/experiment_file.h"
#include "workloads/input_error.h"
#include <math.h>
#include <string.h>

#define INPUTS 4096 /* of every operator of table VIII */
#define ATTENTION_BATCH 4
#define ATTENTION_HEAD_DIM 128
#define ROUND_ROWS 1536 /* 64 rows on each of 24 DSPs */

const char *const published_table_names[] = {"table8", "table9", NULL};
static const char *const files[N_PUBLISHED_TABLES] = {"table8_linear.csv", "table9_attention.csv"};

static void linear_cell(PublishedCell *cell) {
    DataType type = strcmp(cell->name, "FP16") == 0 ? DATA_TYPE_FP16 : DATA_TYPE_FP32;

    cell->spec = (OperatorSpec){.kind = OPERATOR_GEMM,
                                .gemm = {cell->row, cell->column, INPUTS, type},
                                .blocks = gemm_blocks_paper(type),
                                .transfers = GEMM_TILED,
                                .launch = TRUE};
    cell->calibrated = cell->row == 1024;
}

static AttentionVariant variant_of(const char *name) {
    return strcmp(name, "mt") == 0      ? ATTENTION_MT
           : strcmp(name, "flash") == 0 ? ATTENTION_FLASH
                                        : ATTENTION_UNFUSED;
}

static void attention_cell(PublishedCell *cell) {
    AttentionShape shape = {.heads = cell->row,
                            .kv_heads = cell->row,
                            .head_dim = ATTENTION_HEAD_DIM,
                            .new_tokens = cell->column,
                            .batch = ATTENTION_BATCH,
                            .type = DATA_TYPE_FP16,
                            .variant = variant_of(cell->name)};

    cell->spec = (OperatorSpec){.kind = OPERATOR_ATTENTION, .attention = shape, .launch = TRUE};
    cell->calibrated =
        shape.variant == ATTENTION_MT && (cell->column == 512 || cell->column == 1536);
    if (cell->column % ROUND_ROWS == 1024)
        cell->unexplained = "S mod 1536 = 1024 is slow in all three variants alike";
}

/* Cells of table VIII that stand out from their neighbours in a way that neither bytes nor cycles
 * do. */
static const struct {
    const char *name;
    guint64 row, from_column, to_column;
    const char *reason;
} unexplained_linear[] = {
    {"FP16", 2048, 256, 256, "faster than its bytes can pass the DDR"},
    {"FP16", 1024, 1024, 1024, "far above the line through its neighbours"},
    {"FP32", 1024, 512, 1024, "slower than transfers and computing together account for"},
};

static void mark_linear(PublishedCell *cell) {
    for (gsize i = 0; i < G_N_ELEMENTS(unexplained_linear); i++)
        if (strcmp(unexplained_linear[i].name, cell->name) == 0 &&
            unexplained_linear[i].row == cell->row &&
            unexplained_linear[i].from_column <= cell->column &&
            cell->column <= unexplained_linear[i].to_column)
            cell->unexplained = unexplained_linear[i].reason;
}

static void complete_cell(const Reproduction *reproduction, PublishedCell *cell) {
    if (reproduction->table == TABLE_ATTENTION) {
        attention_cell(cell);
        return;
    }
    linear_cell(cell);
    mark_linear(cell);
}

/* One line of the file under reading. */
typedef struct Line {
    const char *path;
    guint number; /* from 1 */
    GStrv words;
} Line;

static gboolean line_error(const Line *line, GError **error, const char *what) {
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_SYNTAX, "%s:%u:1: %s", line->path, line->number,
                what);
    return FALSE;
}

static gboolean word_number(const char *word, double *value) {
    char *end;

    *value = g_ascii_strtod(word, &end);
    return end != word && *end == '\0' && isfinite(*value) && *value > 0;
}

static gboolean read_row(Reproduction *reproduction, GStrv header, const Line *line,
                         GError **error) {
    guint n = g_strv_length(header);
    double row, column, milliseconds;

    if (g_strv_length(line->words) != n || !word_number(line->words[1], &row))
        return line_error(line, error, "expected a name, a number and a figure for every column");
    char *name = g_strdup(line->words[0]);
    g_ptr_array_add(reproduction->names, name);
    for (guint i = 2; i < n; i++) {
        if (!word_number(header[i], &column) || !word_number(line->words[i], &milliseconds))
            return line_error(line, error, "expected numbers above 0");
        PublishedCell cell = {.name = name,
                              .row = (guint64)row,
                              .column = (guint64)column,
                              .published_s = milliseconds / 1000};
        complete_cell(reproduction, &cell);
        g_array_append_val(reproduction->cells, cell);
    }
    return TRUE;
}

static gboolean read_text(Reproduction *reproduction, const char *path, const char *text,
                          GError **error) {
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    g_auto(GStrv) header = NULL;

    for (guint i = 0; lines[i] != NULL; i++) {
        const char *content = g_strstrip(lines[i]);
        if (*content == '\0' || *content == '#')
            continue;
        g_auto(GStrv) words = g_strsplit(content, ",", -1);
        Line line = {path, i + 1, words};
        if (header == NULL && g_strv_length(words) < 3)
            return line_error(&line, error, "expected a header of two names and the columns");
        if (header == NULL)
            header = g_steal_pointer(&words);
        else if (!read_row(reproduction, header, &line, error))
            return FALSE;
    }
    reproduction->n_columns = header == NULL ? 0 : g_strv_length(header) - 2;
    Line whole = {path, 1, NULL};
    return reproduction->cells->len > 0 || line_error(&whole, error, "the file has no figures");
}

static gboolean read_file(Reproduction *reproduction, GError **error) {
    const char *name = files[reproduction->table];
    g_autofree char *path = data_file_find(name, NULL, "reference"), *text = NULL;

    if (path == NULL) {
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_MISSING,
                    "infergrid reproduce: no file '%s' among the reference data", name);
        return FALSE;
    }
    return g_file_get_contents(path, &text, NULL, error) &&
           read_text(reproduction, path, text, error);
}

static gboolean simulate(Reproduction *reproduction, const Platform *platform, GError **error) {
    GArray *cells = reproduction->cells;
    g_autofree OperatorSpec *specs = g_new(OperatorSpec, cells->len);
    g_autofree OperatorResult *results = g_new(OperatorResult, cells->len);

    for (guint i = 0; i < cells->len; i++)
        specs[i] = g_array_index(cells, PublishedCell, i).spec;
    if (!operator_run_all(specs, cells->len, platform, results, error))
        return FALSE;
    for (guint i = 0; i < cells->len; i++) {
        g_array_index(cells, PublishedCell, i).simulated_s = results[i].seconds;
        operator_result_clear(&results[i]);
    }
    return TRUE;
}

Reproduction *reproduction_new(PublishedTable table, const Platform *platform, GError **error) {
    g_autoptr(Reproduction) reproduction = g_new0(Reproduction, 1);

    reproduction->table = table;
    reproduction->names = g_ptr_array_new_with_free_func(g_free);
    reproduction->cells = g_array_new(FALSE, FALSE, sizeof(PublishedCell));
    if (!read_file(reproduction, error) || !simulate(reproduction, platform, error))
        return NULL;
    return g_steal_pointer(&reproduction);
}

void reproduction_free(Reproduction *reproduction) {
    if (reproduction == NULL)
        return;
    g_ptr_array_unref(reproduction->names);
    g_array_unref(reproduction->cells);
    g_free(reproduction);
}

double reproduction_error(const PublishedCell *cell) {
    return cell->simulated_s / cell->published_s - 1;
}

static gint compare_doubles(gconstpointer a, gconstpointer b) {
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

ErrorSummary reproduction_errors(const Reproduction *reproduction) {
    g_autoptr(GArray) errors = g_array_new(FALSE, FALSE, sizeof(double));
    ErrorSummary summary = {0};

    for (guint i = 0; i < reproduction->cells->len; i++) {
        const PublishedCell *cell = &g_array_index(reproduction->cells, PublishedCell, i);
        double error = fabs(reproduction_error(cell));
        if (cell->calibrated)
            continue;
        g_array_append_val(errors, error);
        summary.mean += error;
        summary.above_20_percent += error > 0.2;
    }
    guint n = summary.cells = errors->len;
    if (n == 0)
        return summary;
    g_array_sort(errors, compare_doubles);
    summary.mean /= n;
    summary.worst = g_array_index(errors, double, n - 1);
    summary.median =
        (g_array_index(errors, double, (n - 1) / 2) + g_array_index(errors, double, n / 2)) / 2;
    return summary;
}

/* The cell of the same shape under another name; NULL when there is none. */
static const PublishedCell *sibling(const Reproduction *reproduction, const PublishedCell *cell,
                                    const char *name) {
    for (guint i = 0; i < reproduction->cells->len; i++) {
        const PublishedCell *other = &g_array_index(reproduction->cells, PublishedCell, i);
        if (other->row == cell->row && other->column == cell->column &&
            strcmp(other->name, name) == 0)
            return other;
    }
    return NULL;
}

OrderingSummary reproduction_orderings(const Reproduction *reproduction) {
    static const struct {
        const char *faster, *slower;
    } pairs[] = {{"FP16", "FP32"}, {"mt", "flash"}, {"flash", "unfused"}};
    OrderingSummary summary = {0};

    for (guint i = 0; i < reproduction->cells->len; i++)
        for (gsize j = 0; j < G_N_ELEMENTS(pairs); j++) {
            const PublishedCell *cell = &g_array_index(reproduction->cells, PublishedCell, i);
            const PublishedCell *other = strcmp(cell->name, pairs[j].faster) == 0
                                             ? sibling(reproduction, cell, pairs[j].slower)
                                             : NULL;
            summary.pairs += other != NULL;
            summary.kept += other != NULL && cell->simulated_s < other->simulated_s;
        }
    return summary;
}
