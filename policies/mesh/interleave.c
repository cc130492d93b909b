#include "policies/mesh/interleave.h"

/* WaferLLM algorithm 1: the even cores hand up the line, the odd ones back down, and the ends close
 * the ring. */
RingNeighbours interleave_neighbours(guint index, guint n) {
    g_assert(n >= 3 && index < n);
    guint below = index >= 2 ? index - 2 : 0;
    guint above = MIN(index + 2, n - 1);
    gboolean is_even = index % 2 == 0;
    RingNeighbours neighbours = {.send = is_even ? above : below,
                                 .receive = is_even ? below : above};
    if (index == 0)
        neighbours.receive = 1;
    if (index == n - 1 && n % 2 == 0)
        neighbours.receive = n - 2;
    if (index == n - 1 && n % 2 == 1)
        neighbours.send = n - 2;
    return neighbours;
}

RingNeighbours cyclic_neighbours(guint index, guint n) {
    g_assert(n >= 2 && index < n);
    return (RingNeighbours){.send = (index + 1) % n, .receive = (index + n - 1) % n};
}

void ring_positions(RingRule rule, guint n, guint *positions) {
    guint core = 0;
    for (guint place = 0; place < n; place++) {
        positions[core] = place;
        core = rule(core, n).send;
    }
    g_assert(core == 0);
}
