#include "analysis/output/progress.h"

#include <stdio.h>
#include <unistd.h>

#define EVENTS_PER_LOOK 256 /* events between two looks at the clock */
#define LINE_EVERY_US 100000

struct Progress {
    Observer observer;
    guint64 requests;
    guint64 done;
    guint events;
    double time_s;
    gint64 started_us, written_us;
    gboolean visible; /* a line stands on the terminal */
};

char *progress_clock(double seconds) {
    guint64 whole = (guint64)seconds;
    guint minutes = (guint)(whole / 60 % 60), rest = (guint)(whole % 60);
    if (whole >= 3600)
        return g_strdup_printf("%" G_GUINT64_FORMAT ":%02u:%02u", whole / 3600, minutes, rest);
    return g_strdup_printf("%u:%02u", minutes, rest);
}

static void write_line(Progress *progress, gint64 now_us) {
    double elapsed_s = (double)(now_us - progress->started_us) * 1e-6;
    double rate = elapsed_s > 0 ? (double)progress->done / elapsed_s : 0;
    guint64 left = progress->requests > progress->done ? progress->requests - progress->done : 0;
    g_autofree char *eta = rate > 0 ? progress_clock((double)left / rate) : g_strdup("unknown");
    fprintf(stderr,
            "\r\033[Ksimulated %.6g s, %" G_GUINT64_FORMAT "/%" G_GUINT64_FORMAT
            " requests, %.0f/s, ETA %s",
            progress->time_s, progress->done, progress->requests, rate, eta);
    fflush(stderr);
    progress->visible = TRUE;
    progress->written_us = now_us;
}

static void notify(Observer *observer, const Event *event) {
    Progress *progress = (Progress *)observer;
    gboolean ended = event->kind == EVENT_COMPLETED || event->kind == EVENT_REJECTED ||
                     event->kind == EVENT_DROPPED;
    progress->done += ended ? 1 : 0;
    progress->time_s = event->time_s;
    if (++progress->events % EVENTS_PER_LOOK != 0)
        return;
    gint64 now_us = g_get_monotonic_time();
    if (now_us - progress->written_us >= LINE_EVERY_US)
        write_line(progress, now_us);
}

Progress *progress_new(guint64 requests, gboolean quiet) {
    if (quiet || !isatty(STDERR_FILENO))
        return NULL;
    Progress *progress = g_new0(Progress, 1);
    progress->observer.notify = notify;
    progress->requests = requests;
    progress->started_us = progress->written_us = g_get_monotonic_time();
    return progress;
}

Observer *progress_observer(Progress *progress) {
    return &progress->observer;
}

void progress_free(Progress *progress) {
    if (progress == NULL)
        return;
    if (progress->visible)
        fputs("\r\033[K", stderr);
    g_free(progress);
}
