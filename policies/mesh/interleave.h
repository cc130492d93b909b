/* The order of a line's cores in a logical ring, so that a shift by one place in the ring is a
 * short way on the line. */
#ifndef POLICIES_MESH_INTERLEAVE_H
#define POLICIES_MESH_INTERLEAVE_H

#include <glib.h>

/* The neighbours of core 'index' of 'n' in the ring, as physical indices. */
typedef struct RingNeighbours {
    guint send, receive;
} RingNeighbours;

/* INTERLEAVE (WaferLLM algorithm 1): nobody is further away than two hops. n ≥ 3. */
RingNeighbours interleave_neighbours(guint index, guint n);
/* Cannon's ring: the next core, and from the last one all the way back to the first. n ≥ 2. */
RingNeighbours cyclic_neighbours(guint index, guint n);

/* positions[i] is the place of physical core i in the ring that 'neighbours' makes, core 0 being at
 * place 0 and sends going to the next higher place. 'positions' has room for n. */
typedef RingNeighbours (*RingRule)(guint index, guint n);
void ring_positions(RingRule rule, guint n, guint *positions);

#endif
