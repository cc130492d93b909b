/* Phase grain against messages that are simulated one by one. Links and hops are the same to the
 * wavelet; the time of a phase is that of its busiest link and its longest route together, and here
 * is how far that is from what happens. */
#include "actors/mesh/wafer_op.h"

#include "tests/engine/mesh_fixture.h"
#include "workloads/random.h"

/* A phase's time over that of its messages: least and most. */
#define DIRECT_LEAST 0.95
#define DIRECT_MOST 1.28
#define RELAYED_LEAST 0.78
#define RELAYED_MOST 1.26

/* Every core sends to another one, and somebody sends to it. */
typedef struct Permutation {
    guint side;
    guint64 wavelets;
    guint *to, *from;
    MeshPath **paths; /* by sender */
    MeshPhaseCounts counts;
} Permutation;

static Permutation permutation_new(guint side, guint64 wavelets) {
    guint n = side * side;
    Permutation permutation = {
        side, wavelets, g_new(guint, n), g_new(guint, n), g_new(MeshPath *, n), {0}};
    RandomStream stream = random_stream(side, "permutation");
    g_autoptr(MeshPhase) phase = mesh_phase_new(side, side);

    for (guint i = 0; i < n; i++)
        permutation.to[i] = i;
    for (guint i = n - 1; i > 0; i--) {
        guint j = (guint)random_below(&stream, i), to = permutation.to[j];
        permutation.to[j] = permutation.to[i];
        permutation.to[i] = to;
    }
    for (guint i = 0; i < n; i++) {
        guint to = permutation.to[i];
        permutation.from[to] = i;
        mesh_phase_send(phase, (MeshPlace){i % side, i / side}, (MeshPlace){to % side, to / side},
                        wavelets);
    }
    permutation.counts = mesh_phase_counts(phase);
    return permutation;
}

static void permutation_clear(Permutation *permutation) {
    g_free(permutation->to);
    g_free(permutation->from);
    g_free(permutation->paths);
}

/* --- on paths set up in hardware, through mesh.h */

static void exchange(MeshCore *core) {
    const Permutation *permutation = core->data;
    guint self = core->y * permutation->side + core->x;

    mesh_send(permutation->paths[self], permutation->wavelets, core);
    mesh_receive(core, permutation->paths[permutation->from[self]]);
}

static gboolean prepare(Mesh *mesh, gpointer data, GError **error) {
    Permutation *permutation = data;

    for (guint i = 0; i < mesh_n_cores(mesh); i++)
        permutation->paths[i] = mesh_path(mesh, mesh_nth_core(mesh, i),
                                          mesh_nth_core(mesh, permutation->to[i]), FALSE, error);
    for (guint i = 0; i < mesh_n_cores(mesh); i++) {
        mesh_nth_core(mesh, i)->data = data;
        mesh_core_start(mesh_nth_core(mesh, i), exchange);
    }
    return TRUE;
}

/* Flows that meet share a link for as long as they do, and the longest route is seldom the busiest:
 * a phase is up to 28 % longer than they, and never 5 % shorter. */
static void direct_paths(void) {
    MeshSpec spec = mesh_fixture_spec();

    for (guint side = 8; side <= 24; side += 8)
        for (guint64 wavelets = 1; wavelets <= 100; wavelets *= 10) {
            Permutation permutation = permutation_new(side, wavelets);
            MeshSetup setup = {.spec = &spec,
                               .columns = side,
                               .rows = side,
                               .unlimited = TRUE,
                               .algorithm = "permutation"};
            MeshFound *found = mesh_child_run(&setup, prepare, &permutation);
            double phase = mesh_phase_cycles(&permutation.counts, &spec, FALSE);
            double ratio = phase / found->totals.cycles;
            g_assert_cmpstr(found->error, ==, "");
            g_assert_cmpuint(found->link_wavelets, ==, permutation.counts.wavelet_hops);
            g_test_message("%u x %u, %d wavelets: phase %.0f, simulated %.0f, ratio %.2f", side,
                           side, (int)wavelets, phase, found->totals.cycles, ratio);
            g_assert_cmpfloat(ratio, >=, DIRECT_LEAST);
            g_assert_cmpfloat(ratio, <=, DIRECT_MOST);
            mesh_found_free(found);
            permutation_clear(&permutation);
        }
}

/* --- relayed by every core */

/* A message about to leave a core (or to end there). */
typedef struct Arrival {
    double date;
    guint message, at, hops;
} Arrival;

static gint by_date(gconstpointer a, gconstpointer b, gpointer unused) {
    const Arrival *x = a, *y = b;

    (void)unused;
    if (x->date != y->date)
        return x->date < y->date ? -1 : 1;
    return (x->message > y->message) - (x->message < y->message);
}

static guint next_core(guint side, guint at, guint to, guint *link) {
    guint x = at % side, y = at / side, to_x = to % side, to_y = to / side;

    *link = x < to_x ? 0 : x > to_x ? 1 : y < to_y ? 2 : 3;
    return x < to_x ? at + 1 : x > to_x ? at - 1 : y < to_y ? at + side : at - side;
}

/* Store and forward, in order of dates: each core's software relays one message at a time, each
 * link carries one at a time, and the last core's software takes it in as well. */
static double relayed_cycles(const Permutation *permutation, const MeshSpec *spec) {
    guint n = permutation->side * permutation->side;
    g_autofree double *cores = g_new0(double, n), *links = g_new0(double, (gsize)n * 4);
    g_autoptr(GSequence) queue = g_sequence_new(g_free);
    double end = 0;

    for (guint i = 0; i < n; i++) {
        Arrival start = {0, i, i, 0};
        g_sequence_insert_sorted(queue, g_memdup2(&start, sizeof start), by_date, NULL);
    }
    while (!g_sequence_is_empty(queue)) {
        Arrival now = *(Arrival *)g_sequence_get(g_sequence_get_begin_iter(queue));
        guint link, to = permutation->to[now.message];
        g_sequence_remove(g_sequence_get_begin_iter(queue));
        if (now.hops > 0)
            now.date = cores[now.at] = MAX(now.date, cores[now.at]) + spec->relay_cycles;
        end = MAX(end, now.date);
        if (now.at == to)
            continue;
        guint next = next_core(permutation->side, now.at, to, &link);
        double *free_at = &links[now.at * 4 + link];
        *free_at = MAX(now.date, *free_at) + (double)permutation->wavelets;
        Arrival then = {*free_at + spec->hop_cycles, now.message, next, now.hops + 1};
        g_sequence_insert_sorted(queue, g_memdup2(&then, sizeof then), by_date, NULL);
    }
    return end;
}

/* Small messages wait for the software of cores that are busy with others, which a phase does not
 * count; of large ones the longest route does not meet the busiest link, which it does count. */
static void relayed_paths(void) {
    MeshSpec spec = mesh_fixture_spec();

    for (guint side = 8; side <= 24; side += 8)
        for (guint64 wavelets = 1; wavelets <= 100; wavelets *= 10) {
            Permutation permutation = permutation_new(side, wavelets);
            double phase = mesh_phase_cycles(&permutation.counts, &spec, TRUE);
            double simulated = relayed_cycles(&permutation, &spec), ratio = phase / simulated;
            g_test_message("%u x %u, %d wavelets: phase %.0f, simulated %.0f, ratio %.2f", side,
                           side, (int)wavelets, phase, simulated, ratio);
            g_assert_cmpfloat(ratio, >=, RELAYED_LEAST);
            g_assert_cmpfloat(ratio, <=, RELAYED_MOST);
            permutation_clear(&permutation);
        }
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mesh_phase/direct", direct_paths);
    g_test_add_func("/mesh_phase/relayed", relayed_paths);
    return g_test_run();
}
