/* Traffic at phase grain against routes walked hop by hop; where regions are; what the turn from
 * prefill to decode moves. */
#include "actors/mesh/wafer_move.h"

#include "policies/mesh/tiles.h"
#include "policies/mesh/wafer_regions.h"
#include "tests/unit/wafer_fixture.h"
#include "workloads/random.h"

#define COLUMNS 5
#define ROWS 7

typedef struct Walked {
    guint64 wavelets[COLUMNS][ROWS][4], messages[COLUMNS][ROWS][4];
    guint64 hops;
} Walked;

static void step(Walked *walked, MeshPlace *at, guint side, guint64 wavelets) {
    static const int dx[] = {1, -1, 0, 0}, dy[] = {0, 0, 1, -1};

    walked->wavelets[at->x][at->y][side] += wavelets;
    walked->messages[at->x][at->y][side]++;
    at->x = (guint)((int)at->x + dx[side]);
    at->y = (guint)((int)at->y + dy[side]);
    walked->hops += wavelets;
}

static guint walk(Walked *walked, MeshPlace from, MeshPlace to, guint64 wavelets) {
    guint hops = 0;

    for (; from.x != to.x; hops++)
        step(walked, &from, to.x > from.x ? 0 : 1, wavelets);
    for (; from.y != to.y; hops++)
        step(walked, &from, to.y > from.y ? 2 : 3, wavelets);
    return hops;
}

static void counts_are_those_of_walked_routes(void) {
    RandomStream stream = random_stream(7, "routes");
    Walked walked = {0};
    g_autoptr(MeshPhase) phase = mesh_phase_new(COLUMNS, ROWS);
    guint longest = 0, messages = 0;

    for (guint i = 0; i < 500; i++) {
        MeshPlace from = {(guint)random_below(&stream, COLUMNS),
                          (guint)random_below(&stream, ROWS)};
        MeshPlace to = {(guint)random_below(&stream, COLUMNS), (guint)random_below(&stream, ROWS)};
        guint64 wavelets = random_below(&stream, 9);
        mesh_phase_send(phase, from, to, wavelets);
        guint hops = wavelets == 0 ? 0 : walk(&walked, from, to, wavelets);
        longest = MAX(longest, hops);
        messages += hops > 0;
    }
    guint64 link_wavelets = 0, link_messages = 0;
    for (guint i = 0; i < COLUMNS * ROWS * 4; i++) {
        link_wavelets = MAX(link_wavelets, (&walked.wavelets[0][0][0])[i]);
        link_messages = MAX(link_messages, (&walked.messages[0][0][0])[i]);
    }
    MeshPhaseCounts counts = mesh_phase_counts(phase);
    g_assert_cmpuint(counts.messages, ==, messages);
    g_assert_cmpuint(counts.wavelet_hops, ==, walked.hops);
    g_assert_cmpuint(counts.link_wavelets, ==, link_wavelets);
    g_assert_cmpuint(counts.link_messages, ==, link_messages);
    g_assert_cmpuint(counts.hops, ==, longest);
    g_assert_cmpuint(counts.largest, ==, 8);
}

static void a_phase_is_busiest_link_and_longest_route(void) {
    MeshSpec spec = {.hop_cycles = 2, .relay_cycles = 16};
    MeshPhaseCounts counts = {.link_wavelets = 50, .hops = 10, .largest = 7};

    g_assert_cmpfloat(mesh_phase_cycles(&counts, &spec, FALSE), ==, 50 + 10 * 2);
    g_assert_cmpfloat(mesh_phase_cycles(&counts, &spec, TRUE), ==, 50 + 10 * (2 + 16 + 7));
}

/* Five regions of 375 × 375 on 750 × 994: no core is taken twice, none is outside, and a region's
 * rows follow those of the one before. */
static void regions_do_not_overlap(void) {
    static const struct {
        guint side, room;
    } cases[] = {{375, 5}, {360, 5}, {420, 2}, {750, 1}, {240, 12}};

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        WaferRegions regions = {750, 994, cases[i].side, cases[i].room};
        g_autofree guint8 *taken = g_new0(guint8, 750 * 994);
        guint side = cases[i].side;
        g_assert_cmpuint(wafer_regions_room(&regions), ==, cases[i].room);
        for (guint core = 0; core < cases[i].room * side * side; core++) {
            guint within = core % (side * side);
            WaferCore at = wafer_regions_core(&regions, core / (side * side),
                                              (WaferCore){within % side, within / side});
            g_assert_cmpuint(at.x, <, 750);
            g_assert_cmpuint(at.y, <, 994);
            g_assert_cmpuint(taken[at.y * 750 + at.x]++, ==, 0);
        }
    }
}

/* Where whole rectangles suffice none turns; else rows that follow each other are neighbours but at
 * a turn, where they are a region's side apart. */
static void regions_turn_only_where_they_must(void) {
    static const struct {
        guint side, regions;
        gint turning; /* the region, −1: none */
    } cases[] = {{360, 3, -1}, {360, 4, -1}, {360, 5, 2}, {375, 5, 2}, {420, 2, -1}, {240, 12, -1}};

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        WaferRegions regions = {750, 994, cases[i].side, cases[i].regions};
        for (guint region = 0; region < cases[i].regions; region++) {
            guint apart = 0;
            for (guint y = 1; y < regions.side; y++) {
                WaferCore a = wafer_regions_core(&regions, region, (WaferCore){7, y - 1});
                WaferCore b = wafer_regions_core(&regions, region, (WaferCore){7, y});
                guint hops = MAX(a.x, b.x) - MIN(a.x, b.x) + MAX(a.y, b.y) - MIN(a.y, b.y);
                g_assert_true(hops == 1 || hops == regions.side);
                apart += hops > 1;
            }
            g_assert_cmpuint(apart, ==, (gint)region == cases[i].turning ? 1 : 0);
            g_assert_cmpint(wafer_regions_turns(&regions, region), ==, apart > 0);
        }
    }
}

static void too_many_regions_are_refused(void) {
    WaferRegions regions = {750, 994, 360, 6};
    g_autoptr(GError) error = NULL;

    g_assert_false(wafer_regions_check(&regions, &error));
    g_assert_cmpstr(error->message, ==,
                    "6 regions of 360 × 360 cores do not fit the wafer's 750 × 994, which hold 5");
    regions.regions = 5;
    g_assert_true(wafer_regions_check(&regions, NULL));
}

/* On one grid for both phases what lies alike stays, and W_O and the down projection turn about the
 * diagonal: of d × d over P × P every tile off the diagonal moves |x − y| columns and rows. */
static void turned_weights_cross_the_diagonal(void) {
    MeshSpec spec = {.columns = 8, .rows = 8, .wavelet_bytes = 4, .hop_cycles = 1};
    Model model = {.hidden = 16, .layers = 3, .heads = 2, .kv_heads = 1, .head_dim = 8, .ffn = 32};
    WaferMove move = {&model, &spec, 8, 8, 1, 4, 0};
    MeshPhaseCounts counts = wafer_move_transition(&move);
    guint64 o_wavelets = 2 * 2 * 3 * 2 / 4, down_wavelets = 4 * 2 * 3 * 2 / 4;
    guint64 distances = 0; /* over all pairs of 8 */

    for (guint x = 0; x < 8; x++)
        for (guint y = 0; y < 8; y++)
            distances += 2 * (x > y ? x - y : y - x);
    g_assert_cmpuint(counts.messages, ==, 2 * 56);
    g_assert_cmpuint(counts.wavelets, ==, 56 * (o_wavelets + down_wavelets));
    g_assert_cmpuint(counts.wavelet_hops, ==, distances * (o_wavelets + down_wavelets));
    g_assert_cmpuint(counts.hops, ==, 14);
}

/* Everything but what stays on its core arrives, whatever the two grids: bytes are kept to within
 * the rounding of each message to a wavelet. */
static void all_bytes_move(void) {
    g_autoptr(Model) model = shipped_model("llama-3-8b");
    MeshSpec spec = {.columns = 750, .rows = 994, .wavelet_bytes = 4, .hop_cycles = 1};
    WaferMove move = {model, &spec, 100, 60, 3, 128, 0};
    guint64 norms = 2 * model->hidden;
    double bytes = (double)(model_layer_parameters(model) - norms) * 2 * (double)model->layers +
                   128.0 * (double)model_kv_bytes_per_token(model);

    for (move.outside = 0; move.outside <= 12; move.outside += 6) {
        MeshPhaseCounts counts = wafer_move_transition(&move);
        g_assert_cmpfloat(4.0 * (double)counts.wavelets, >, 0.99 * bytes);
        g_assert_cmpfloat(4.0 * (double)counts.wavelets, <, 1.01 * bytes);
    }
}

/* A layer all of which comes from the rows below: an eighth of it over each column's link there,
 * where rows and columns divide it evenly. */
static void a_layer_moves_in_from_below(void) {
    MeshSpec spec = {.columns = 8, .rows = 16, .wavelet_bytes = 4, .hop_cycles = 1};
    Model model = {.hidden = 16, .layers = 3, .heads = 2, .kv_heads = 1, .head_dim = 8, .ffn = 32};
    WaferMove move = {
        .model = &model, .spec = &spec, .prefill_grid = 8, .decode_grid = 8, .regions = 1};
    MeshPhaseCounts counts = wafer_move_layer_in(&move);
    guint64 elements = 2 * 16 * 16 + 2 * 16 * 8 + 3 * 16 * 32;

    /* V and K have an element a column: a wavelet for each of two */
    g_assert_cmpuint(counts.wavelets, ==, elements / 2);
    g_assert_cmpuint(counts.link_wavelets, ==, elements / 2 / 8);
    g_assert_cmpuint(counts.hops, ==, 8);
}

/* Between regions one below the other a column's part goes down a region's side. */
static void activations_go_down_a_region(void) {
    MeshSpec spec = {.columns = 60, .rows = 200, .wavelet_bytes = 4, .hop_cycles = 1};
    Model model = {.hidden = 600};
    WaferMove move = {.model = &model, .spec = &spec, .decode_grid = 60, .regions = 3};
    MeshPhaseCounts counts = wafer_move_activations(&move, 1, 600);

    g_assert_cmpuint(counts.hops, ==, 60);
    g_assert_cmpuint(counts.link_wavelets, ==, 5); /* ten FP16 elements a column */
    g_assert_cmpuint(counts.messages, ==, 60);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mesh_phase/walked", counts_are_those_of_walked_routes);
    g_test_add_func("/mesh_phase/cycles", a_phase_is_busiest_link_and_longest_route);
    g_test_add_func("/wafer_regions/overlap", regions_do_not_overlap);
    g_test_add_func("/wafer_regions/turn", regions_turn_only_where_they_must);
    g_test_add_func("/wafer_regions/refused", too_many_regions_are_refused);
    g_test_add_func("/wafer_move/diagonal", turned_weights_cross_the_diagonal);
    g_test_add_func("/wafer_move/bytes", all_bytes_move);
    g_test_add_func("/wafer_move/layer_in", a_layer_moves_in_from_below);
    g_test_add_func("/wafer_move/activations", activations_go_down_a_region);
    return g_test_run();
}
