#include "tests/engine/mesh_folding.h"

#include "actors/mesh/mesh_reduce.h"
#include "tests/engine/mesh_fixture.h"

typedef struct Medley {
    gboolean along_y;
    guint running;
    MeshReducer *reducers[N_MESH_REDUCE_KINDS];
} Medley;

static void medley_main(MeshCore *core) {
    Medley *medley = core->data;

    for (guint kind = 0; kind < N_MESH_REDUCE_KINDS; kind++)
        if (medley->reducers[kind])
            mesh_reducer_run(medley->reducers[kind], core, NULL);
    if (--medley->running == 0)
        for (guint kind = 0; kind < N_MESH_REDUCE_KINDS; kind++)
            mesh_reducer_free(medley->reducers[kind]);
}

static gboolean prepare_medley(Mesh *mesh, gpointer data, GError **error) {
    Medley *medley = data;
    const MeshSetup *setup = mesh_setup(mesh);
    guint n = medley->along_y ? setup->rows : setup->columns;

    for (guint kind = 0; kind < N_MESH_REDUCE_KINDS; kind++) {
        MeshReduce reduce = {.kind = kind,
                             .k = 2,
                             .along_y = medley->along_y,
                             .elements = 5 + 8 * kind,
                             .type = DATA_TYPE_FP16};
        if (kind == MESH_REDUCE_RING && n > 64)
            continue;
        medley->reducers[kind] = mesh_reducer_new(mesh, &reduce, error);
        g_assert_nonnull(medley->reducers[kind]);
    }
    for (guint i = 0; i < mesh_n_cores(mesh); i++) {
        MeshCore *core = mesh_nth_core(mesh, i);
        if (setup->folded && (medley->along_y ? core->x : core->y) > 0)
            continue;
        core->data = medley;
        medley->running++;
        mesh_core_start(core, medley_main);
    }
    return TRUE;
}

static MeshFound *run_medley(const MeshSetup *setup, gboolean along_y) {
    Medley medley = {.along_y = along_y};
    MeshFound *found = mesh_child_run(setup, prepare_medley, &medley);

    g_assert_cmpstr(found->error, ==, "");
    mesh_assert_accounted(found);
    return found;
}

static void assert_same_core(const MeshCore *one, const MeshCore *other) {
    g_assert_cmpfloat(one->end_cycles, ==, other->end_cycles);
    g_assert_cmpfloat(one->compute_cycles, ==, other->compute_cycles);
    g_assert_cmpfloat(one->communication_cycles, ==, other->communication_cycles);
    g_assert_cmpfloat(one->wait_cycles, ==, other->wait_cycles);
    g_assert_cmpuint(one->hops, ==, other->hops);
    g_assert_cmpuint(one->stages, ==, other->stages);
    g_assert_cmpuint(one->paths, ==, other->paths);
    g_assert_cmpfloat(one->peak_bytes, ==, other->peak_bytes);
    g_assert_cmpfloat(one->bytes, ==, 0);
    g_assert_cmpuint(one->sent_wavelets, ==, other->sent_wavelets);
}

static void assert_same_totals(const MeshFound *folded, const MeshFound *full, guint lines) {
    const MeshTotals *one = &folded->totals, *all = &full->totals;

    g_assert_cmpfloat(one->cycles, ==, all->cycles);
    g_assert_cmpfloat(one->compute_cycles, ==, all->compute_cycles);
    g_assert_cmpfloat(one->communication_cycles, ==, all->communication_cycles);
    g_assert_cmpfloat(one->wait_cycles, ==, all->wait_cycles);
    g_assert_cmpuint(one->hops, ==, all->hops);
    g_assert_cmpuint(one->stages, ==, all->stages);
    g_assert_cmpuint(one->paths, ==, all->paths);
    g_assert_cmpuint(one->paths_x, ==, all->paths_x);
    g_assert_cmpuint(one->paths_y, ==, all->paths_y);
    g_assert_cmpfloat(one->peak_bytes, ==, all->peak_bytes);
    g_assert_cmpuint(lines * one->messages, ==, all->messages);
    g_assert_cmpuint(lines * one->wavelets, ==, all->wavelets);
    g_assert_cmpuint(lines * folded->link_wavelets, ==, full->link_wavelets);
}

void mesh_assert_folds(guint columns, guint rows, gboolean along_y) {
    MeshSpec spec = mesh_fixture_spec();
    MeshSetup full_setup = {
        .spec = &spec, .columns = columns, .rows = rows, .unlimited = TRUE, .algorithm = "medley"};
    MeshSetup folded_setup = full_setup;

    folded_setup.folded = TRUE;
    MeshFound *folded = run_medley(&folded_setup, along_y);
    MeshFound *full = run_medley(&full_setup, along_y);
    for (guint y = 0; y < rows; y++)
        for (guint x = 0; x < columns; x++)
            assert_same_core(
                mesh_found_core(folded, &folded_setup, along_y ? 0 : x, along_y ? y : 0),
                mesh_found_core(full, &full_setup, x, y));
    assert_same_totals(folded, full, along_y ? columns : rows);
    mesh_found_free(folded);
    mesh_found_free(full);
}
