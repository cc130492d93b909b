/* Rings on a line of cores and the division of lengths over it. */
#include "policies/mesh/interleave.h"
#include "policies/mesh/tiles.h"

#define LONGEST 1000

static guint distance(guint a, guint b) {
    return a > b ? a - b : b - a;
}

/* Walks the ring once: every core is met, and who sends to a core is whom it receives from. */
static void assert_one_ring(RingRule rule, guint n, guint farthest) {
    g_autofree gboolean *met = g_new0(gboolean, n);
    guint core = 0;
    for (guint place = 0; place < n; place++) {
        g_assert_false(met[core]);
        met[core] = TRUE;
        guint next = rule(core, n).send;
        g_assert_cmpuint(next, <, n);
        g_assert_cmpuint(rule(next, n).receive, ==, core);
        g_assert_cmpuint(distance(core, next), <=, farthest);
        core = next;
    }
    g_assert_cmpuint(core, ==, 0);
}

static void test_interleave_is_one_ring_of_two_hops(void) {
    for (guint n = 3; n <= LONGEST; n++)
        assert_one_ring(interleave_neighbours, n, 2);
}

static void test_cyclic_is_one_ring_that_goes_all_the_way_back(void) {
    for (guint n = 2; n <= LONGEST; n++)
        assert_one_ring(cyclic_neighbours, n, n - 1);
}

/* Figure 7 of WaferLLM: 0 → 2 → 4 → 3 → 1 → 0. */
static void test_five_cores_are_interleaved_as_published(void) {
    static const guint sends[] = {2, 0, 4, 1, 3}, places[] = {0, 4, 1, 3, 2};
    guint positions[5];
    ring_positions(interleave_neighbours, 5, positions);
    for (guint core = 0; core < 5; core++) {
        g_assert_cmpuint(interleave_neighbours(core, 5).send, ==, sends[core]);
        g_assert_cmpuint(positions[core], ==, places[core]);
    }
}

static void test_positions_follow_the_sends(void) {
    static const RingRule rules[] = {interleave_neighbours, cyclic_neighbours};
    guint positions[LONGEST];
    for (gsize r = 0; r < G_N_ELEMENTS(rules); r++) {
        for (guint n = 3; n <= LONGEST; n += 7) {
            ring_positions(rules[r], n, positions);
            g_assert_cmpuint(positions[0], ==, 0);
            for (guint core = 0; core < n; core++)
                g_assert_cmpuint(positions[rules[r](core, n).send], ==, (positions[core] + 1) % n);
        }
    }
}

static const guint64 lengths[] = {0, 1, 7, 64, 127, 4096, 13824, 29568, 152064};
static const guint line_lengths[] = {1, 2, 3, 8, 13, 375, 720, 994};

static void test_tiles_cover_the_length_in_balance(void) {
    for (gsize l = 0; l < G_N_ELEMENTS(lengths); l++) {
        for (gsize i = 0; i < G_N_ELEMENTS(line_lengths); i++) {
            guint64 length = lengths[l], sum = 0, least = G_MAXUINT64, most = 0;
            guint n = line_lengths[i];
            for (guint part = 0; part < n; part++) {
                g_assert_cmpuint(tile_begin(length, n, part), ==, sum);
                guint64 size = tile_size(length, n, part);
                sum += size;
                least = MIN(least, size);
                most = MAX(most, size);
            }
            g_assert_cmpuint(sum, ==, length);
            g_assert_cmpuint(most - least, <=, 1);
            g_assert_cmpuint(most, ==, tile_largest(length, n));
        }
    }
}

/* Any run of parts is as long as any other of so many to within one. */
static void test_larger_tiles_are_spread(void) {
    static const guint n = 48;
    for (guint64 length = 0; length <= 3 * n; length++) {
        for (guint run = 1; run < n; run++) {
            guint64 least = G_MAXUINT64, most = 0;
            for (guint part = 0; part + run <= n; part++) {
                guint64 size = tile_begin(length, n, part + run) - tile_begin(length, n, part);
                least = MIN(least, size);
                most = MAX(most, size);
            }
            g_assert_cmpuint(most - least, <=, 1);
        }
    }
}

/* The first number that both sides divide, found by trying. */
static void test_tiles_a_side_are_the_least_common_multiple(void) {
    g_assert_cmpuint(tiles_a_side(750, 994), ==, 372750);
    for (guint columns = 1; columns <= 40; columns++) {
        for (guint rows = 1; rows <= 40; rows++) {
            guint tried = MAX(columns, rows);
            while (tried % columns != 0 || tried % rows != 0)
                tried++;
            g_assert_cmpuint(tiles_a_side(columns, rows), ==, tried);
        }
    }
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mesh_lines/interleave_is_one_ring_of_two_hops",
                    test_interleave_is_one_ring_of_two_hops);
    g_test_add_func("/mesh_lines/cyclic_is_one_ring_that_goes_all_the_way_back",
                    test_cyclic_is_one_ring_that_goes_all_the_way_back);
    g_test_add_func("/mesh_lines/five_cores_are_interleaved_as_published",
                    test_five_cores_are_interleaved_as_published);
    g_test_add_func("/mesh_lines/positions_follow_the_sends", test_positions_follow_the_sends);
    g_test_add_func("/mesh_lines/tiles_cover_the_length_in_balance",
                    test_tiles_cover_the_length_in_balance);
    g_test_add_func("/mesh_lines/larger_tiles_are_spread", test_larger_tiles_are_spread);
    g_test_add_func("/mesh_lines/tiles_a_side_are_the_least_common_multiple",
                    test_tiles_a_side_are_the_least_common_multiple);
    return g_test_run();
}
