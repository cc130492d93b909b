#include "analysis/commands/campaign_options.h"
#include "analysis/commands/catalogue.h"
#include "analysis/output/gnuplot.h"
#include "analysis/output/output_folder.h"
#include "analysis/reproduce/reproduction_plot.h"
#include "analysis/reproduce/reproduction_tables.h"
#include "analysis/reproduce/reproduction_text.h"
#include "analysis/reproduce/sensitivity.h"
#include "workloads/input_error.h"
#include <string.h>

typedef struct ReproduceOptions {
    char *tables, *platform, *output, *workers;
    gboolean sensitivity, force, json, csv, plot, quiet;
} ReproduceOptions;

/* Whether the list names the table. */
static gboolean is_asked(const char *list, const char *name) {
    g_auto(GStrv) words = g_strsplit(list, ",", -1);

    return g_strv_contains((const char *const *)words, name) ||
           g_strv_contains((const char *const *)words, "all");
}

/* --platform is for tables that operators of one machine make up. */
static gboolean platform_fits(const ReproduceOptions *options, GError **error) {
    for (guint i = 0; options->platform != NULL && i < N_TABLE_KINDS; i++) {
        if (table_kinds[i].platform != NULL || !is_asked(options->tables, table_kinds[i].name))
            continue;
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                    "infergrid reproduce: option '--platform' does not go with table '%s', whose "
                    "experiments name their machines",
                    table_kinds[i].name);
        return FALSE;
    }
    return TRUE;
}

static gboolean usage_is_right(const ReproduceOptions *options, GError **error) {
    const struct {
        gboolean given;
        const char *name;
    } need_output[] = {{options->force, "force"}, {options->plot, "plot"}};

    for (gsize i = 0; i < G_N_ELEMENTS(need_output); i++) {
        if (!need_output[i].given || options->output != NULL)
            continue;
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                    "infergrid reproduce: option '--%s' needs '--output'", need_output[i].name);
        return FALSE;
    }
    return (!options->plot ||
            gnuplot_possible("plot.svg", "--plot", "infergrid reproduce", error)) &&
           platform_fits(options, error);
}

static int print_names(void) {
    GString *out = g_string_new("THInfer and WaferLLM: name some, with commas between them, or "
                                "'all'\n");

    for (guint i = 0; i < N_TABLE_KINDS; i++)
        g_string_append_printf(out, "  %-16s%s: %s\n", table_kinds[i].name, table_kinds[i].paper,
                               table_kinds[i].title);
    g_autofree char *text = g_string_free(out, FALSE);
    return catalogue_print(text);
}

/* Draws 'all' as plot.svg and plot.pdf. */
static gboolean plots_write(OutputFolder *folder, const GPtrArray *all,
                            gboolean (*draw)(const GPtrArray *all, const char *path,
                                             GError **error),
                            GError **error) {
    static const char *const names[] = {"plot.svg", "plot.pdf"};

    for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *path = output_folder_file(folder, names[i]);
        if (!draw(all, path, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean files_write(const ReproduceOptions *options, OutputFolder *folder,
                            const GPtrArray *all, GError **error) {
    g_autofree char *csv = reproduction_csv(all), *claims = reproduction_claims_csv(all);
    g_autofree char *json = reproduction_json(all);

    return output_folder_write(folder, "result.csv", csv, error) &&
           output_folder_write(folder, "claims.csv", claims, error) &&
           output_folder_write(folder, "result.json", json, error) &&
           (!options->plot || plots_write(folder, all, reproduction_plot, error)) &&
           output_folder_commit(folder, error);
}

static gboolean sensitivities_write(const ReproduceOptions *options, OutputFolder *folder,
                                    const GPtrArray *all, GError **error) {
    g_autofree char *csv = sensitivity_csv(all), *json = sensitivity_json(all);

    return output_folder_write(folder, "sensitivity.csv", csv, error) &&
           output_folder_write(folder, "sensitivity.json", json, error) &&
           (!options->plot || plots_write(folder, all, sensitivity_plot, error)) &&
           output_folder_commit(folder, error);
}

/* Tables one below the other, and where there are several what they come to together. */
static char *text_of(const GPtrArray *all) {
    GString *out = g_string_new(NULL);

    for (guint i = 0; i < all->len; i++) {
        g_autofree char *text = reproduction_table(g_ptr_array_index(all, i));
        g_string_append_printf(out, "%s%s", i == 0 ? "" : "\n", text);
    }
    if (all->len > 1) {
        g_autofree char *overall = reproduction_overall(all);
        g_string_append_printf(out, "\n%s", overall);
    }
    return g_string_free(out, FALSE);
}

static char *sensitivities_text(const GPtrArray *all) {
    GString *out = g_string_new(NULL);

    for (guint i = 0; i < all->len; i++) {
        g_autofree char *text = sensitivity_text(g_ptr_array_index(all, i));
        g_string_append_printf(out, "%s%s", i == 0 ? "" : "\n", text);
    }
    return g_string_free(out, FALSE);
}

/* Reproduction *, or SensitivityTable * where it is asked for. NULL on error. */
static GPtrArray *reproduce_all(const ReproduceOptions *options, const ReproduceSetup *setup,
                                GError **error) {
    g_autoptr(GPtrArray) all =
        g_ptr_array_new_with_free_func(options->sensitivity ? (GDestroyNotify)sensitivity_free
                                                            : (GDestroyNotify)reproduction_free);

    for (guint i = 0; i < N_TABLE_KINDS; i++) {
        if (!is_asked(options->tables, table_kinds[i].name))
            continue;
        gpointer table = options->sensitivity
                             ? (gpointer)sensitivity_new(&table_kinds[i], setup, error)
                             : (gpointer)reproduction_make(&table_kinds[i], setup, error);
        if (table == NULL)
            return NULL;
        g_ptr_array_add(all, table);
    }
    return g_steal_pointer(&all);
}

static int print_all(const ReproduceOptions *options, const GPtrArray *all) {
    gboolean sensitivity = options->sensitivity;
    g_autofree char *text =
        options->json  ? (sensitivity ? sensitivity_json(all) : reproduction_json(all))
        : options->csv ? (sensitivity ? sensitivity_csv(all) : reproduction_csv(all))
                       : (sensitivity ? sensitivities_text(all) : text_of(all));

    return catalogue_print(text);
}

static int reproduce_run(const void *target) {
    const ReproduceOptions *options = target;
    CampaignOptions campaign = {.workers = options->workers};
    CampaignSetup workers = {0};
    g_autoptr(GError) error = NULL;
    g_autoptr(OutputFolder) folder = NULL;

    if (options->tables == NULL)
        return print_names();
    if (!catalogue_check_environment(&error) || !usage_is_right(options, &error) ||
        !campaign_options_read(&campaign, "infergrid reproduce", &workers, &error))
        return catalogue_fail(error);
    if (options->output != NULL) {
        folder = output_folder_open(options->output, options->force, &error);
        if (folder == NULL)
            return catalogue_fail(error);
    }
    ReproduceSetup setup = {
        .platform = options->platform, .workers = workers.workers, .quiet = options->quiet};
    g_autoptr(GPtrArray) all = reproduce_all(options, &setup, &error);
    if (all == NULL)
        return catalogue_fail(error);
    if (folder != NULL &&
        !(options->sensitivity ? sensitivities_write : files_write)(options, folder, all, &error))
        return catalogue_fail(error);
    return print_all(options, all);
}

#define OPTION_OFFSET(member) G_STRUCT_OFFSET(ReproduceOptions, member)

static const Argument reproduce_arguments[] = {
    {.name = "TABLE",
     .offset = OPTION_OFFSET(tables),
     .choices = table_kind_names,
     .help = "tables and figures, with commas between them, or all; of THInfer table3, 5, 7, 8, 9, "
             "figure11 and 12, of WaferLLM wafer-table2 to 8, wafer-figure9 and 10. Without any, "
             "print what each is"},
};

static const Option reproduce_options[] = {
    {"platform", 'p', OPTION_TEXT, OPTION_OFFSET(platform), "PLATFORM",
     "mt3000, or wse2 for WaferLLM's",
     "the machine of operators and wafers, a YAML file or the name of a shipped one"},
    {"jobs", 'j', OPTION_TEXT, OPTION_OFFSET(workers), "N", "as many as there are processors",
     "simulate so many experiments at a time; the results do not depend on it"},
    {"sensitivity", 's', OPTION_FLAG, OPTION_OFFSET(sensitivity), NULL, "off",
     "print instead how far errors and claims move when a number of the machines that nobody "
     "published goes to either end of its plausible range, one at a time; twice as many "
     "simulations of a table as there are such numbers"},
    {"output", 'o', OPTION_DIRECTORY, OPTION_OFFSET(output), "DIR", "print only",
     "write result.csv and result.json, a row a cell, and claims.csv into a new folder; with "
     "--sensitivity sensitivity.csv and sensitivity.json"},
    {"plot", 0, OPTION_FLAG, OPTION_OFFSET(plot), NULL, "no picture",
     "draw simulated over published, or the sensitivities, into that folder as plot.svg and "
     "plot.pdf; needs gnuplot"},
    {"force", 'f', OPTION_FLAG, OPTION_OFFSET(force), NULL, "off",
     "replace the folder of --output if it is there"},
    {"json", 0, OPTION_FLAG, OPTION_OFFSET(json), NULL, "off", "print JSON instead of tables"},
    {"csv", 0, OPTION_FLAG, OPTION_OFFSET(csv), NULL, "off", "print CSV instead of tables"},
    {"quiet", 'q', OPTION_FLAG, OPTION_OFFSET(quiet), NULL, "off", "show no progress"},
};

const Command command_reproduce = {
    .name = "reproduce",
    .summary = "simulate published tables and compare",
    .description =
        "Simulates every cell of a published table and prints it beside the published figure with "
        "the relative error, then the median and the worst error of predicted cells and the claims "
        "that the simulations keep. Cells that something was calibrated on are marked and no "
        "predictions; cells that no model of this kind explains are marked and count; cells that "
        "other published figures deny are marked, with the reason, and left out. Running out of "
        "memory is an outcome like others.",
    .arguments = reproduce_arguments,
    .n_arguments = G_N_ELEMENTS(reproduce_arguments),
    .lists = TRUE,
    .options = reproduce_options,
    .n_options = G_N_ELEMENTS(reproduce_options),
    .target_size = sizeof(ReproduceOptions),
    .example = "  # how far are simulated Linear operators from the measured ones?\n"
               "  infergrid reproduce table8 -o results/table8\n"
               "  # what hangs on the numbers that THInfer does not tell?\n"
               "  infergrid reproduce table7 --sensitivity\n"
               "  # everything, with a picture\n"
               "  infergrid reproduce all --plot -o results/all\n",
    .run = reproduce_run,
};
