#include "actors/mesh/phase.h"

typedef enum { EAST, WEST, SOUTH, NORTH, N_SIDES } Side;

/* What crosses the link from core (x, y) to (x + 1, y), or to (x, y + 1), in one of its directions;
 * as the difference to the link before it along the line. In order of rows. */
typedef struct Load {
    gint64 wavelets, messages;
} Load;

struct MeshPhase {
    guint columns, rows;
    Load *loads[N_SIDES];
    MeshPhaseCounts counts; /* what does not need the loads summed up */
};

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

/* A straight part of a route enters its line at 'first' and leaves it at 'last'. */
static void cross(Load *first, Load *last, guint64 wavelets) {
    first->wavelets += (gint64)wavelets;
    first->messages++;
    last->wavelets -= (gint64)wavelets;
    last->messages--;
}

void mesh_phase_send(MeshPhase *phase, MeshPlace from, MeshPlace to, guint64 wavelets) {
    g_assert(from.x < phase->columns && to.x < phase->columns);
    g_assert(from.y < phase->rows && to.y < phase->rows);
    MeshPlace low = {MIN(from.x, to.x), MIN(from.y, to.y)};
    MeshPlace high = {MAX(from.x, to.x), MAX(from.y, to.y)};
    guint hops = high.x - low.x + high.y - low.y;
    MeshPhaseCounts *counts = &phase->counts;

    if (hops == 0 || wavelets == 0)
        return;
    Load *row = phase->loads[to.x > from.x ? EAST : WEST] + (gsize)from.y * phase->columns;
    Load *column = phase->loads[to.y > from.y ? SOUTH : NORTH] + to.x;
    if (low.x < high.x)
        cross(row + low.x, row + high.x, wavelets);
    if (low.y < high.y)
        cross(column + (gsize)low.y * phase->columns, column + (gsize)high.y * phase->columns,
              wavelets);
    counts->messages++;
    counts->wavelets += wavelets;
    counts->wavelet_hops += wavelets * hops;
    counts->largest = MAX(counts->largest, wavelets);
    counts->hops = MAX(counts->hops, hops);
}

/* Sums a side's differences up: 'running' has a load for each line. */
static void count_side(const MeshPhase *phase, Side side, MeshPhaseCounts *counts) {
    gboolean along_x = side == EAST || side == WEST;
    g_autofree Load *running = g_new0(Load, along_x ? phase->rows : phase->columns);
    const Load *load = phase->loads[side];

    for (guint y = 0; y < phase->rows; y++)
        for (guint x = 0; x < phase->columns; x++, load++) {
            Load *line = &running[along_x ? y : x];
            line->wavelets += load->wavelets;
            line->messages += load->messages;
            counts->link_wavelets = MAX(counts->link_wavelets, (guint64)line->wavelets);
            counts->link_messages = MAX(counts->link_messages, (guint64)line->messages);
        }
}

MeshPhaseCounts mesh_phase_counts(const MeshPhase *phase) {
    MeshPhaseCounts counts = phase->counts;

    for (Side side = 0; side < N_SIDES; side++)
        count_side(phase, side, &counts);
    return counts;
}

double mesh_phase_cycles(const MeshPhaseCounts *counts, const MeshSpec *spec, gboolean relayed) {
    double hop = spec->hop_cycles;

    if (relayed)
        hop += spec->relay_cycles + (double)counts->largest;
    return (double)counts->link_wavelets + counts->hops * hop;
}
