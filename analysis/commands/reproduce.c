#include "analysis/commands/catalogue.h"
#include "analysis/output/json_text.h"
#include "analysis/output/number_text.h"
#include "analysis/output/output_folder.h"
#include "analysis/reproduce/reproduction.h"
#include "analysis/reproduce/wafer_reproduction_text.h"
#include "workloads/experiment_file.h"
#include "workloads/input_error.h"
#include <string.h>

typedef struct ReproduceOptions {
    char *table;
    char *platform;
    char *output;
    gboolean force, json;
} ReproduceOptions;

/* What a table is called and what its rows and columns count. */
static const struct {
    const char *title, *row, *column;
    const char *row_key, *column_key;
    const char *ordering;
} layouts[N_PUBLISHED_TABLES] = {
    [TABLE_LINEAR] = {"THInfer table VIII: Linear with 4096 inputs on one cluster, ms", "S",
                      "outputs", "s", "outputs", "FP16 before FP32"},
    [TABLE_ATTENTION] = {"THInfer table IX: attention on one cluster, FP16, batch 4, head "
                         "dimension 128, ms",
                         "heads", "S", "heads", "s", "MT before Flash before unfused"},
};

static const PublishedCell *cell_at(const Reproduction *reproduction, guint index) {
    return &g_array_index(reproduction->cells, PublishedCell, index);
}

/* Two characters: 'c' calibrated, 'u' unexplained, blanks. */
static const char *mark(const PublishedCell *cell) {
    static const char *const marks[2][2] = {{"  ", "u "}, {"c ", "cu"}};

    return marks[cell->calibrated ? 1 : 0][cell->unexplained != NULL ? 1 : 0];
}

static void append_fixed(GString *out, const char *format, double value) {
    char digits[G_ASCII_DTOSTR_BUF_SIZE];

    g_string_append_printf(out, "%8s", g_ascii_formatd(digits, sizeof digits, format, value));
}

typedef enum { LINE_PUBLISHED, LINE_SIMULATED, LINE_ERROR, N_LINES } LineKind;

static void append_line(GString *out, const Reproduction *reproduction, guint first,
                        LineKind kind) {
    static const char *const names[N_LINES] = {"published", "simulated", "error %"};
    const PublishedCell *head = cell_at(reproduction, first);
    g_autofree char *row = g_strdup_printf("%s %s %" G_GUINT64_FORMAT, head->name,
                                           layouts[reproduction->table].row, head->row);

    g_string_append_printf(out, "%-18s%-10s", kind == LINE_PUBLISHED ? row : "", names[kind]);
    for (guint i = first; i < first + reproduction->n_columns; i++) {
        const PublishedCell *cell = cell_at(reproduction, i);
        if (kind == LINE_ERROR) {
            append_fixed(out, "%+.1f", 100 * reproduction_error(cell));
            g_string_append(out, mark(cell));
        } else {
            double seconds = kind == LINE_PUBLISHED ? cell->published_s : cell->simulated_s;
            append_fixed(out, "%.2f", 1000 * seconds);
            g_string_append(out, "  ");
        }
    }
    while (out->str[out->len - 1] == ' ')
        g_string_truncate(out, out->len - 1);
    g_string_append_c(out, '\n');
}

static void append_grid(GString *out, const Reproduction *reproduction) {
    g_string_append_printf(out, "%s\n\n%-28s", layouts[reproduction->table].title,
                           layouts[reproduction->table].column);
    for (guint i = 0; i < reproduction->n_columns; i++)
        g_string_append_printf(out, "%8" G_GUINT64_FORMAT "%s", cell_at(reproduction, i)->column,
                               i + 1 < reproduction->n_columns ? "  " : "\n");
    for (guint first = 0; first < reproduction->cells->len; first += reproduction->n_columns)
        for (LineKind kind = 0; kind < N_LINES; kind++)
            append_line(out, reproduction, first, kind);
}

/* Each unexplained cell's reason, once for neighbours that share it. */
static void append_reasons(GString *out, const Reproduction *reproduction) {
    g_autoptr(GPtrArray) told = g_ptr_array_new();

    g_string_append(out, "\nc  the platform's numbers were calibrated on these: no prediction\n");
    for (guint i = 0; i < reproduction->cells->len; i++) {
        const PublishedCell *cell = cell_at(reproduction, i);
        if (cell->unexplained == NULL || g_ptr_array_find(told, cell->unexplained, NULL))
            continue;
        g_ptr_array_add(told, (gpointer)cell->unexplained);
        if (reproduction->table == TABLE_LINEAR)
            g_string_append_printf(out,
                                   "u  unexplained, from %s S %" G_GUINT64_FORMAT
                                   " outputs %" G_GUINT64_FORMAT " on: %s\n",
                                   cell->name, cell->row, cell->column, cell->unexplained);
        else
            g_string_append_printf(out, "u  unexplained: %s\n", cell->unexplained);
    }
}

static void append_summary(GString *out, const Reproduction *reproduction) {
    ErrorSummary errors = reproduction_errors(reproduction);
    OrderingSummary orderings = reproduction_orderings(reproduction);
    const struct {
        const char *label;
        double share;
    } rows[] = {{"median error", errors.median},
                {"mean error", errors.mean},
                {"worst error", errors.worst}};

    g_string_append_printf(out, "\npredicted cells     %u of %u\n", errors.cells,
                           reproduction->cells->len);
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        char digits[G_ASCII_DTOSTR_BUF_SIZE];
        g_string_append_printf(out, "  %-18s%s %%\n", rows[i].label,
                               g_ascii_formatd(digits, sizeof digits, "%.1f", 100 * rows[i].share));
    }
    g_string_append_printf(out, "  %-18s%u\n", "above 20 %", errors.above_20_percent);
    g_string_append_printf(out, "orderings kept      %u of %u (%s)\n", orderings.kept,
                           orderings.pairs, layouts[reproduction->table].ordering);
}

static char *table_text(const Reproduction *reproduction) {
    GString *out = g_string_new(NULL);

    append_grid(out, reproduction);
    append_reasons(out, reproduction);
    append_summary(out, reproduction);
    return g_string_free(out, FALSE);
}

static void json_cell(JsonText *json, const PublishedCell *cell, PublishedTable table) {
    json_text_open(json, NULL, '{');
    json_text_string(json, "name", cell->name);
    json_text_count(json, layouts[table].row_key, cell->row);
    json_text_count(json, layouts[table].column_key, cell->column);
    json_text_number(json, "published_s", cell->published_s);
    json_text_number(json, "simulated_s", cell->simulated_s);
    json_text_number(json, "error", reproduction_error(cell));
    json_text_bool(json, "calibrated", cell->calibrated);
    if (cell->unexplained != NULL)
        json_text_string(json, "unexplained", cell->unexplained);
    else
        json_text_null(json, "unexplained");
    json_text_close(json, '}');
}

static char *json_of(const Reproduction *reproduction, const Platform *platform) {
    JsonText json = json_text_new();
    ErrorSummary errors = reproduction_errors(reproduction);
    OrderingSummary orderings = reproduction_orderings(reproduction);

    json_text_open(&json, NULL, '{');
    json_text_string(&json, "table", published_table_names[reproduction->table]);
    json_text_string(&json, "platform", platform->name);
    json_text_open(&json, "predicted", '{');
    json_text_count(&json, "cells", errors.cells);
    json_text_number(&json, "median_error", errors.median);
    json_text_number(&json, "mean_error", errors.mean);
    json_text_number(&json, "worst_error", errors.worst);
    json_text_count(&json, "above_20_percent", errors.above_20_percent);
    json_text_close(&json, '}');
    json_text_open(&json, "orderings", '{');
    json_text_count(&json, "pairs", orderings.pairs);
    json_text_count(&json, "kept", orderings.kept);
    json_text_close(&json, '}');
    json_text_open(&json, "cells", '[');
    for (guint i = 0; i < reproduction->cells->len; i++)
        json_cell(&json, cell_at(reproduction, i), reproduction->table);
    json_text_close(&json, ']');
    json_text_close(&json, '}');
    return json_text_end(&json);
}

static char *csv_of(const Reproduction *reproduction) {
    PublishedTable table = reproduction->table;
    GString *out = g_string_new(NULL);

    g_string_append_printf(out, "name,%s,%s,published_s,simulated_s,error,calibrated,unexplained\n",
                           layouts[table].row_key, layouts[table].column_key);
    for (guint i = 0; i < reproduction->cells->len; i++) {
        const PublishedCell *cell = cell_at(reproduction, i);
        const double numbers[] = {cell->published_s, cell->simulated_s, reproduction_error(cell)};

        g_string_append_printf(out, "%s,%" G_GUINT64_FORMAT ",%" G_GUINT64_FORMAT, cell->name,
                               cell->row, cell->column);
        for (gsize j = 0; j < G_N_ELEMENTS(numbers); j++) {
            char text[NUMBER_TEXT_MAX];
            g_string_append_c(out, ',');
            g_string_append_len(out, text, number_text_shortest(text, numbers[j]) - text);
        }
        g_string_append_printf(out, ",%s,%s\n", cell->calibrated ? "yes" : "no",
                               cell->unexplained == NULL ? "" : cell->unexplained);
    }
    return g_string_free(out, FALSE);
}

/* A reproduction in all its forms. */
typedef struct ReproductionTexts {
    char *table, *csv, *json;
} ReproductionTexts;

static void texts_clear(ReproductionTexts *texts) {
    g_free(texts->table);
    g_free(texts->csv);
    g_free(texts->json);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(ReproductionTexts, texts_clear)

static gboolean operator_texts(PublishedTable table, const Platform *platform,
                               ReproductionTexts *texts, GError **error) {
    g_autoptr(Reproduction) reproduction = reproduction_new(table, platform, error);

    if (reproduction == NULL)
        return FALSE;
    texts->table = table_text(reproduction);
    texts->csv = csv_of(reproduction);
    texts->json = json_of(reproduction, platform);
    return TRUE;
}

static gboolean wafer_texts(WaferTable table, const Platform *platform, ReproductionTexts *texts,
                            GError **error) {
    g_autoptr(WaferReproduction) reproduction = wafer_reproduction_new(table, platform, error);

    if (reproduction == NULL)
        return FALSE;
    texts->table = wafer_reproduction_table(reproduction);
    texts->csv = wafer_reproduction_csv(reproduction);
    texts->json = wafer_reproduction_json(reproduction, platform);
    return TRUE;
}

static gboolean files_write(const ReproduceOptions *options, const ReproductionTexts *texts,
                            GError **error) {
    g_autoptr(OutputFolder) folder = output_folder_open(options->output, options->force, error);

    return folder != NULL && output_folder_write(folder, "result.csv", texts->csv, error) &&
           output_folder_write(folder, "result.json", texts->json, error) &&
           output_folder_commit(folder, error);
}

static guint index_of(const char *const *names, const char *name) {
    guint index = 0;

    while (names[index] != NULL && strcmp(names[index], name) != 0)
        index++;
    return index;
}

/* The named platform, or the one that the table was measured on. */
static Platform *load_platform(const ReproduceOptions *options, DeviceKind kind, GError **error) {
    static const char *const shipped[] = {[DEVICE_MT3000] = "mt3000", [DEVICE_WAFER] = "wse2"};
    const char *name = options->platform == NULL ? shipped[kind] : options->platform;
    g_autoptr(YamlNode) section = section_load(SECTION_PLATFORM, name, "--platform", error);
    g_autoptr(Platform) platform = section == NULL ? NULL : platform_read(section, error);

    if (platform == NULL || platform->kind == kind)
        return g_steal_pointer(&platform);
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                "infergrid reproduce: table '%s' is of a machine like '%s', and '%s' is of another "
                "kind",
                options->table, shipped[kind], name);
    return NULL;
}

static gboolean usage_is_right(const ReproduceOptions *options, GError **error) {
    if (!options->force || options->output != NULL)
        return TRUE;
    g_set_error_literal(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                        "infergrid reproduce: option '--force' needs '--output'");
    return FALSE;
}

static int reproduce_run(const void *target) {
    const ReproduceOptions *options = target;
    g_auto(ReproductionTexts) texts = {0};
    g_autoptr(GError) error = NULL;
    guint table = index_of(published_table_names, options->table);
    gboolean wafer = table == N_PUBLISHED_TABLES;

    if (!catalogue_check_environment(&error) || !usage_is_right(options, &error))
        return catalogue_fail(error);
    g_autoptr(Platform) platform =
        load_platform(options, wafer ? DEVICE_WAFER : DEVICE_MT3000, &error);
    if (platform == NULL)
        return catalogue_fail(error);
    if (wafer ? !wafer_texts(index_of(wafer_table_names, options->table), platform, &texts, &error)
              : !operator_texts(table, platform, &texts, &error))
        return catalogue_fail(error);
    if (options->output != NULL && !files_write(options, &texts, &error))
        return catalogue_fail(error);
    return catalogue_print(options->json ? texts.json : texts.table);
}

#define OPTION_OFFSET(member) G_STRUCT_OFFSET(ReproduceOptions, member)

static const char *const table_names[] = {
    "table8",       "table9",       "wafer-table2", "wafer-table3", "wafer-table4",
    "wafer-table5", "wafer-table6", "wafer-table7", "wafer-table8", NULL};
G_STATIC_ASSERT(G_N_ELEMENTS(table_names) == N_PUBLISHED_TABLES + N_WAFER_TABLES + 1);

static const Argument reproduce_arguments[] = {
    {.name = "TABLE",
     .offset = OPTION_OFFSET(table),
     .required = TRUE,
     .choices = table_names,
     .help = "table8 (Linear) or table9 (attention) of THInfer; of WaferLLM, wafer-table2 (end to "
             "end), 3 (prefill), 4 (decode), 5 (longest output), 6 (GEMV), 7 and 8 (energy)"},
};

static const Option reproduce_options[] = {
    {"platform", 'p', OPTION_TEXT, OPTION_OFFSET(platform), "PLATFORM",
     "mt3000, or wse2 for WaferLLM's", "the machine, a YAML file or the name of a shipped one"},
    {"output", 'o', OPTION_DIRECTORY, OPTION_OFFSET(output), "DIR", "print only",
     "write result.csv and result.json, a row a cell, into a new folder"},
    {"force", 'f', OPTION_FLAG, OPTION_OFFSET(force), NULL, "off",
     "replace the folder of --output if it is there"},
    {"json", 'j', OPTION_FLAG, OPTION_OFFSET(json), NULL, "off", "print JSON instead of the table"},
};

const Command command_reproduce = {
    .name = "reproduce",
    .summary = "simulate a published table and compare",
    .description =
        "Simulates every cell of a published table and prints it beside the published figure with "
        "the relative error. Cells that the platform's numbers were calibrated on are marked and "
        "left out of the summary; cells that no model of this kind explains are marked and stay in "
        "it. Rows of machines that are not simulated are shown and say so.",
    .arguments = reproduce_arguments,
    .n_arguments = G_N_ELEMENTS(reproduce_arguments),
    .options = reproduce_options,
    .n_options = G_N_ELEMENTS(reproduce_options),
    .target_size = sizeof(ReproduceOptions),
    .example = "  # how far are simulated Linear operators from the measured ones?\n"
               "  infergrid reproduce table8 -o results/table8\n",
    .run = reproduce_run,
};
