#include "analysis/commands/campaign_options.h"

#include "analysis/output/gnuplot.h"
#include "analysis/report/report_page.h"
#include "workloads/input_error.h"
#include "workloads/units.h"
#include <string.h>

#define WORKERS_MAX 1024
#define SHARDS_MAX 100000

/* A whole number from 1 to 'most' and nothing else. */
static gboolean count_parse(const char *text, guint64 most, guint *value) {
    guint64 number;

    if (!g_ascii_string_to_unsigned(text, 10, 1, most, &number, NULL))
        return FALSE;
    *value = (guint)number;
    return TRUE;
}

static gboolean shard_parse(const char *text, CampaignSetup *setup) {
    g_auto(GStrv) parts = g_strsplit(text, "/", -1);
    guint part = 0;

    if (g_strv_length(parts) != 2 || !count_parse(parts[1], SHARDS_MAX, &setup->shards) ||
        !count_parse(parts[0], setup->shards, &part))
        return FALSE;
    setup->shard = part - 1;
    return TRUE;
}

static gboolean expected(const char *option, const char *what, const char *text, GError **error) {
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_VALUE, "--%s: expected %s, not '%s'", option, what,
                text);
    return FALSE;
}

gboolean campaign_options_read(const CampaignOptions *options, const char *who,
                               CampaignSetup *setup, GError **error) {
    setup->overrides = (const char *const *)options->overrides;
    setup->store = options->store;
    setup->quiet = options->quiet;
    setup->shards = 1;
    if (options->workers != NULL && !count_parse(options->workers, WORKERS_MAX, &setup->workers))
        return expected("jobs", "a whole number from 1 to 1024", options->workers, error);
    if (options->timeout != NULL) {
        units_parse(options->timeout, DIMENSION_SECONDS, &setup->timeout_s);
        if (!(setup->timeout_s > 0))
            return expected("timeout", "a duration above 0", options->timeout, error);
    }
    if (options->shard == NULL)
        return TRUE;
    if (!shard_parse(options->shard, setup))
        return expected("shard", "I/N, such as 1/3 for the first of three parts", options->shard,
                        error);
    if (options->store != NULL)
        return TRUE;
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT, "%s: option '--shard' needs '--store'",
                who);
    return FALSE;
}

gboolean campaign_output_is_right(const CampaignOutput *output, gboolean plot, const char *who,
                                  GError **error) {
    const char *alone = plot ? "plot" : output->force ? "force" : NULL;

    if (alone != NULL && output->folder == NULL) {
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT, "%s: option '--%s' needs '--output'",
                    who, alone);
        return FALSE;
    }
    return (!plot || gnuplot_possible("plot.svg", "--plot", who, error)) &&
           (output->report == NULL || report_possible(output->report, who, error));
}

gboolean campaign_output_open(const CampaignOutput *output, OutputFolder **folder, GError **error) {
    if (output->folder != NULL)
        *folder = output_folder_open(output->folder, output->force, error);
    return output->folder == NULL || *folder != NULL;
}
