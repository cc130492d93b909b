#include "analysis/commands/catalogue.h"
#include "analysis/compare/compare_plot.h"
#include "analysis/compare/compare_table.h"
#include "analysis/output/gnuplot.h"
#include "analysis/report/report_compare.h"
#include "analysis/report/report_page.h"
#include "workloads/input_error.h"
#include "workloads/traces/trace_values.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct CompareOptions {
    char *first;
    char **others;
    char *plot, *report;
    char *threshold;
    gboolean json, csv;
} CompareOptions;

/* "5" or "5 %". */
static gboolean threshold_read(const char *text, double *percent, GError **error) {
    g_autofree char *number = g_strdup(text == NULL ? "" : text);

    *percent = NAN;
    if (text == NULL)
        return TRUE;
    if (g_str_has_suffix(number, "%"))
        number[strlen(number) - 1] = '\0';
    g_strchomp(number);
    if (trace_value_decimal(number, strlen(number), percent))
        return TRUE;
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_VALUE,
                "--threshold: expected percent of at least 0 such as '5 %%', not '%s'", text);
    return FALSE;
}

static gboolean usage_is_right(const CompareOptions *options, double *threshold, GError **error) {
    if (options->others == NULL)
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_MISSING,
                    "infergrid compare: missing OTHER (see 'infergrid compare --help')");
    else if (options->json && options->csv)
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                    "infergrid compare: options '--json' and '--csv' exclude each other");
    else
        return threshold_read(options->threshold, threshold, error) &&
               (options->plot == NULL ||
                gnuplot_possible(options->plot, "--plot", "infergrid compare", error)) &&
               (options->report == NULL ||
                report_possible(options->report, "infergrid compare", error));
    return FALSE;
}

static void folder_free(gpointer folder) {
    result_folder_free(folder);
}

static GPtrArray *folders_load(const CompareOptions *options, GError **error) {
    g_autoptr(GPtrArray) folders = g_ptr_array_new_with_free_func(folder_free);
    guint n = 1 + g_strv_length(options->others);

    for (guint i = 0; i < n; i++) {
        const char *path = i == 0 ? options->first : options->others[i - 1];
        ResultFolder *folder = result_folder_load(path, error);
        if (folder == NULL)
            return NULL;
        g_ptr_array_add(folders, folder);
    }
    return g_steal_pointer(&folders);
}

/* The threshold's verdict is for scripts: on standard error too, where the output goes to a file.
 */
static int verdict(const Comparison *comparison) {
    guint exceeding = comparison_exceeding(comparison);

    if (exceeding == 0)
        return EXIT_DONE;
    fprintf(stderr, "infergrid: %u %s worse than in '%s' by more than the threshold\n", exceeding,
            exceeding == 1 ? "figure is" : "figures are", comparison->folders[0]->path);
    return EXIT_UNFINISHED;
}

static int compare_run(const void *target) {
    const CompareOptions *options = target;
    g_autoptr(GError) error = NULL;
    double threshold;

    if (!usage_is_right(options, &threshold, &error))
        return catalogue_fail(error);
    g_autoptr(GPtrArray) folders = folders_load(options, &error);
    if (folders == NULL)
        return catalogue_fail(error);
    g_autoptr(Comparison) comparison =
        comparison_new((ResultFolder *const *)folders->pdata, folders->len, threshold);
    if (options->plot != NULL && !compare_plot_draw(comparison, options->plot, &error))
        return catalogue_fail(error);
    if (options->report != NULL && !report_compare_write(comparison, options->report, &error))
        return catalogue_fail(error);
    g_autofree char *text = options->json  ? compare_json(comparison)
                            : options->csv ? compare_csv(comparison)
                                           : compare_table(comparison);
    int status = catalogue_print(text);
    int exceeding = verdict(comparison);
    return MAX(status, exceeding);
}

#define OPTION_OFFSET(member) G_STRUCT_OFFSET(CompareOptions, member)

static const Argument compare_arguments[] = {
    {"FIRST", OPTION_OFFSET(first), TRUE, NULL,
     "the folder of results that the others are compared with"},
    {"OTHER", OPTION_OFFSET(others), TRUE, NULL, "another one"},
};

static const Option compare_options[] = {
    {"threshold", 't', OPTION_TEXT, OPTION_OFFSET(threshold), "PERCENT", "none",
     "end with status 1 when a figure of an OTHER is worse than that of FIRST by more than this; "
     "from 0, anything worse is"},
    {"plot", 'p', OPTION_TEXT, OPTION_OFFSET(plot), "FILE", "no picture",
     "draw the distributions of TTFT, TPOT and E2E into FILE.svg or FILE.pdf; needs gnuplot"},
    {"report", 0, OPTION_TEXT, OPTION_OFFSET(report), "FILE.html", "none",
     "write one page that opens in any browser, without network: settings, figures, "
     "distributions and requests one by one"},
    {"json", 'j', OPTION_FLAG, OPTION_OFFSET(json), NULL, "off", "print JSON instead of a table"},
    {"csv", 0, OPTION_FLAG, OPTION_OFFSET(csv), NULL, "off",
     "print CSV instead of a table: a row for each figure of each OTHER"},
};

const Command command_compare = {
    .name = "compare",
    .summary = "put results of simulate side by side",
    .description =
        "Reads folders that 'infergrid simulate -o' wrote and prints which settings differ, every "
        "figure with its difference from the first folder's and whether that is better or worse, "
        "and, where the requests are the same, how many of them became faster or slower. The "
        "sources of a platform's numbers, single pools and the grids tried are not compared.",
    .arguments = compare_arguments,
    .n_arguments = G_N_ELEMENTS(compare_arguments),
    .many = TRUE,
    .options = compare_options,
    .n_options = G_N_ELEMENTS(compare_options),
    .target_size = sizeof(CompareOptions),
    .example = "  # what smaller batches do to the demo, as tables and as a picture\n"
               "  infergrid simulate demo.yaml -o results/slots-24\n"
               "  infergrid simulate demo.yaml --set policy.decode.slots=8 -o results/slots-8\n"
               "  infergrid compare results/slots-24 results/slots-8 --plot results/slots.svg\n"
               "  # the same, and every request with itself, as one page\n"
               "  infergrid compare results/slots-24 results/slots-8 --report results/slots.html\n",
    .run = compare_run,
};
