#include "analysis/timeline/gantt_track.h"

#include <string.h>

GanttTrack *gantt_track_new(void) {
    GanttTrack *track = g_new0(GanttTrack, 1);

    track->slices = g_array_new(FALSE, FALSE, sizeof(GanttSlice));
    return track;
}

void gantt_track_free(GanttTrack *track) {
    if (track == NULL)
        return;
    for (guint kind = 0; kind < GANTT_KINDS_MAX; kind++)
        g_free(track->busy[kind]);
    g_free(track->marks);
    g_array_unref(track->slices);
    g_free(track);
}

guint gantt_grid_doublings(const GanttGrid *grid, gint64 end_ns) {
    guint doublings = 0;

    while ((end_ns - grid->from_ns - 1) / grid->bin_ns >> doublings >= GANTT_BINS)
        doublings++;
    return doublings;
}

/* Adds 'sign' times [start, end) to the bins of a kind. */
static void spread(GanttTrack *track, const GanttGrid *grid, guint kind, const GanttSlice *slice,
                   int sign) {
    gint64 from_ns = slice->start_ns - grid->from_ns, to_ns = slice->end_ns - grid->from_ns;

    if (track->busy[kind] == NULL)
        track->busy[kind] = g_new0(gint64, GANTT_BINS);
    for (gint64 bin = from_ns / grid->bin_ns; from_ns < to_ns; bin++) {
        gint64 end_ns = MIN((bin + 1) * grid->bin_ns, to_ns);
        track->busy[kind][bin] += sign * (end_ns - from_ns);
        from_ns = end_ns;
    }
}

static void add(GanttTrack *track, const GanttGrid *grid, const GanttSlice *slice) {
    spread(track, grid, slice->kind, slice, 1);
    if (slice->parent != GANTT_NO_PARENT)
        spread(track, grid, slice->parent, slice, -1);
}

void gantt_track_flatten(GanttTrack *track, const GanttGrid *grid, gint64 width_ns) {
    guint kept = 0;

    for (guint i = 0; i < track->slices->len; i++) {
        GanttSlice slice = g_array_index(track->slices, GanttSlice, i);
        if (slice.end_ns - slice.start_ns < width_ns)
            add(track, grid, &slice);
        else
            g_array_index(track->slices, GanttSlice, kept++) = slice;
    }
    g_array_set_size(track->slices, kept);
}

void gantt_track_coarsen(GanttTrack *track, const GanttGrid *grid, guint doublings) {
    if (doublings == 0)
        return;
    guint factor_bits = MIN(doublings, 12); /* all bins fall into one from there on */
    for (guint kind = 0; kind < GANTT_KINDS_MAX; kind++) {
        gint64 *busy = track->busy[kind];
        for (guint bin = 1; busy != NULL && bin < GANTT_BINS; bin++) {
            gint64 moved = busy[bin];
            busy[bin] = 0;
            busy[bin >> factor_bits] += moved;
        }
    }
    for (guint bin = 1; track->marks != NULL && bin < GANTT_BINS; bin++) {
        guint sum = track->marks[bin >> factor_bits] + track->marks[bin];
        track->marks[bin] = 0;
        track->marks[bin >> factor_bits] = (guint16)MIN(sum, G_MAXUINT16);
    }
    GanttGrid coarse = *grid;
    coarse.bin_ns <<= doublings;
    gantt_track_flatten(track, &coarse, GANTT_KEEP_BINS * coarse.bin_ns);
}

void gantt_track_put(GanttTrack *track, const GanttGrid *grid, const GanttSlice *slice) {
    if (slice->end_ns - slice->start_ns < GANTT_KEEP_BINS * grid->bin_ns) {
        gantt_track_bin(track, grid, slice);
        return;
    }
    track->n_slices++;
    g_array_append_val(track->slices, *slice);
}

void gantt_track_bin(GanttTrack *track, const GanttGrid *grid, const GanttSlice *slice) {
    track->n_slices++;
    add(track, grid, slice);
}

void gantt_track_mark(GanttTrack *track, const GanttGrid *grid, gint64 moment_ns) {
    guint bin = (guint)MIN((moment_ns - grid->from_ns) / grid->bin_ns, GANTT_BINS - 1);

    if (track->marks == NULL)
        track->marks = g_new0(guint16, GANTT_BINS);
    track->marks[bin] = (guint16)MIN(track->marks[bin] + 1, G_MAXUINT16);
    track->n_marks++;
}

void gantt_track_merge(GanttTrack *track, const GanttGrid *grid, GanttTrack *other) {
    gantt_track_flatten(other, grid, G_MAXINT64);
    for (guint kind = 0; kind < GANTT_KINDS_MAX; kind++) {
        if (other->busy[kind] == NULL)
            continue;
        if (track->busy[kind] == NULL)
            track->busy[kind] = g_new0(gint64, GANTT_BINS);
        for (guint bin = 0; bin < GANTT_BINS; bin++)
            track->busy[kind][bin] += other->busy[kind][bin];
    }
    for (guint bin = 0; other->marks != NULL && bin < GANTT_BINS; bin++) {
        if (track->marks == NULL)
            track->marks = g_new0(guint16, GANTT_BINS);
        guint sum = track->marks[bin] + other->marks[bin];
        track->marks[bin] = (guint16)MIN(sum, G_MAXUINT16);
    }
    track->n_slices += other->n_slices;
    track->n_marks += other->n_marks;
}

gint64 gantt_track_binned(const GanttTrack *track, guint kind) {
    gint64 busy_ns = 0;

    for (guint bin = 0; track->busy[kind] != NULL && bin < GANTT_BINS; bin++)
        busy_ns += track->busy[kind][bin];
    return busy_ns;
}

gint64 gantt_track_busy(const GanttTrack *track, guint kind) {
    gint64 busy_ns = gantt_track_binned(track, kind);

    for (guint i = 0; i < track->slices->len; i++) {
        const GanttSlice *slice = &g_array_index(track->slices, GanttSlice, i);
        gint64 width_ns = slice->end_ns - slice->start_ns;
        busy_ns += slice->kind == kind ? width_ns : 0;
        busy_ns -= slice->parent == kind ? width_ns : 0;
    }
    return busy_ns;
}
