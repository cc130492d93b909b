#include "actors/mesh/phase.h"

typedef enum { EAST, WEST, SOUTH, NORTH, N_SIDES } Side;

/* What crosses a link, as differences to the link before it along its line. Line and place of a
 * link: east and west by row and column, south and north by column and row; the link of place p is
 * between cores p and p + 1. */
typedef struct Load {
    gint64 wavelets, messages;
} Load;

struct MeshPhase {
    guint columns, rows;
    Load *loads[N_SIDES];
    MeshPhaseCounts counts; /* what does not need the loads summed up */
};

static guint line_length(const MeshPhase *phase, Side side) {
    return side == EAST || side == WEST ? phase->columns : phase->rows;
}

MeshPhase *mesh_phase_new(guint columns, guint rows) {
    MeshPhase *phase = g_new0(MeshPhase, 1);

    phase->columns = columns;
    phase->rows = rows;
    for (Side side = 0; side < N_SIDES; side++)
        phase->loads[side] = g_new0(Load, (gsize)columns * rows);
    return phase;
}

void mesh_phase_free(MeshPhase *phase) {
    if (phase == NULL)
        return;
    for (Side side = 0; side < N_SIDES; side++)
        g_free(phase->loads[side]);
    g_free(phase);
}

/* A straight part of a route, from place 'from' to 'to' of a line. */
static void cross(MeshPhase *phase, Load *line, guint from, guint to, guint64 wavelets) {
    guint first = MIN(from, to), last = MAX(from, to);

    if (first == last)
        return;
    line[first].wavelets += (gint64)wavelets;
    line[first].messages++;
    line[last].wavelets -= (gint64)wavelets;
    line[last].messages--;
    phase->counts.wavelet_hops += wavelets * (last - first);
}

void mesh_phase_send(MeshPhase *phase, MeshPlace from, MeshPlace to, guint64 wavelets) {
    g_assert(from.x < phase->columns && to.x < phase->columns);
    g_assert(from.y < phase->rows && to.y < phase->rows);
    guint hops = MAX(from.x, to.x) - MIN(from.x, to.x) + MAX(from.y, to.y) - MIN(from.y, to.y);

    if (hops == 0 || wavelets == 0)
        return;
    Load *row = phase->loads[to.x > from.x ? EAST : WEST] + (gsize)from.y * phase->columns;
    Load *column = phase->loads[to.y > from.y ? SOUTH : NORTH] + (gsize)to.x * phase->rows;
    cross(phase, row, from.x, to.x, wavelets);
    cross(phase, column, from.y, to.y, wavelets);
    MeshPhaseCounts *counts = &phase->counts;
    counts->messages++;
    counts->wavelets += wavelets;
    counts->largest = MAX(counts->largest, wavelets);
    counts->hops = MAX(counts->hops, hops);
}

static void count_line(const Load *line, guint length, MeshPhaseCounts *counts) {
    Load load = {0};

    for (guint i = 0; i < length; i++) {
        load.wavelets += line[i].wavelets;
        load.messages += line[i].messages;
        counts->link_wavelets = MAX(counts->link_wavelets, (guint64)load.wavelets);
        counts->link_messages = MAX(counts->link_messages, (guint64)load.messages);
    }
    g_assert(load.wavelets == 0 && load.messages == 0);
}

MeshPhaseCounts mesh_phase_counts(const MeshPhase *phase) {
    MeshPhaseCounts counts = phase->counts;
    gsize cores = (gsize)phase->columns * phase->rows;

    for (Side side = 0; side < N_SIDES; side++) {
        guint length = line_length(phase, side);
        for (gsize first = 0; first < cores; first += length)
            count_line(phase->loads[side] + first, length, &counts);
    }
    return counts;
}

double mesh_phase_cycles(const MeshPhaseCounts *counts, const MeshSpec *spec, gboolean relayed) {
    double hop = spec->hop_cycles;

    if (relayed)
        hop += spec->relay_cycles + (double)counts->largest;
    return (double)counts->link_wavelets + counts->hops * hop;
}
