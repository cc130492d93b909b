#include "analysis/campaign/campaign_progress.h"

#include "analysis/output/progress.h"
#include <stdio.h>
#include <unistd.h>

#define LINE_EVERY_US 200000

struct CampaignProgress {
    char *label, *best; /* best: NULL until there is one */
    gsize runs, done;
    gint64 started_us, written_us;
    gboolean visible;
};

CampaignProgress *campaign_progress_new(const char *label, gsize runs, gboolean quiet) {
    if (quiet || !isatty(STDERR_FILENO))
        return NULL;
    CampaignProgress *progress = g_new0(CampaignProgress, 1);
    progress->label = g_strdup(label);
    progress->runs = runs;
    progress->started_us = progress->written_us = g_get_monotonic_time();
    return progress;
}

void campaign_progress_free(CampaignProgress *progress) {
    if (progress == NULL)
        return;
    if (progress->visible)
        fputs("\r\033[K", stderr);
    g_free(progress->label);
    g_free(progress->best);
    g_free(progress);
}

void campaign_progress_add(CampaignProgress *progress, gsize runs) {
    if (progress != NULL)
        progress->runs += runs;
}

void campaign_progress_done(CampaignProgress *progress) {
    if (progress != NULL)
        progress->done++;
}

void campaign_progress_best(CampaignProgress *progress, char *text) {
    if (progress == NULL || text == NULL) {
        g_free(text);
        return;
    }
    g_free(progress->best);
    progress->best = text;
}

void campaign_progress_tick(CampaignProgress *progress) {
    gint64 now_us = g_get_monotonic_time();

    if (progress == NULL || now_us - progress->written_us < LINE_EVERY_US)
        return;
    double elapsed_s = (double)(now_us - progress->started_us) / G_USEC_PER_SEC;
    double rate = (double)progress->done / elapsed_s;
    g_autofree char *eta = rate > 0
                               ? progress_clock((double)(progress->runs - progress->done) / rate)
                               : g_strdup("unknown");
    fprintf(stderr, "\r\033[K%s: %" G_GSIZE_FORMAT "/%" G_GSIZE_FORMAT " runs, %.3g/s, ETA %s%s%s",
            progress->label, progress->done, progress->runs, rate, eta,
            progress->best == NULL ? "" : ", ", progress->best == NULL ? "" : progress->best);
    fflush(stderr);
    progress->visible = TRUE;
    progress->written_us = now_us;
}
