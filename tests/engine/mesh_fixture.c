#include "tests/engine/mesh_fixture.h"

#include "tests/engine/child.h"
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

MeshSpec mesh_fixture_spec(void) {
    return (MeshSpec){.columns = 750,
                      .rows = 994,
                      .clock_hz = 1.1e9,
                      .sram_bytes = 48e3,
                      .usable_bytes = 45e3,
                      .wavelet_bytes = 4,
                      .hop_cycles = 1,
                      .relay_cycles = 16.1,
                      .ramp_cycles = 2,
                      .issue_cycles = 6,
                      .fp16 = {4, 1},
                      .fp32 = {2, 1},
                      .routing_paths = 24};
}

static guint64 sum_of_links(const Mesh *mesh, const MeshFound *found) {
    guint64 sum = 0;

    for (guint i = 0; i < found->n_cores; i++)
        for (guint side = 0; side < 4; side++)
            sum += mesh_link_wavelets(mesh, found->cores[i].x, found->cores[i].y, side);
    return sum;
}

static void child_main(const MeshSetup *setup, MeshPrepare prepare, gpointer data,
                       MeshFound *found) {
    g_autoptr(GError) error = NULL;
    g_autoptr(Mesh) mesh = mesh_alone_run(setup, prepare, data, &error);

    if (!mesh) {
        g_strlcpy(found->error, error->message, sizeof found->error);
        return;
    }
    found->totals = mesh_totals(mesh);
    found->n_cores = mesh_n_cores(mesh);
    for (guint i = 0; i < found->n_cores; i++)
        found->cores[i] = *mesh_nth_core(mesh, i);
    found->link_wavelets = sum_of_links(mesh, found);
}

MeshFound *mesh_child_run(const MeshSetup *setup, MeshPrepare prepare, gpointer data) {
    gsize n = setup->folded ? setup->columns + setup->rows : setup->columns * setup->rows;
    gsize size = sizeof(MeshFound) + MIN(n, 1u << 20) * sizeof(MeshCore);
    MeshFound *found = child_shared(size);

    found->size = size;
    pid_t pid = fork();

    if (pid == 0) {
        child_main(setup, prepare, data, found);
        exit(EXIT_SUCCESS);
    }
    int status = 1;
    waitpid(pid, &status, 0);
    g_assert_cmpint(status, ==, 0);
    return found;
}

void mesh_found_free(MeshFound *found) {
    munmap(found, found->size);
}

const MeshCore *mesh_found_core(const MeshFound *found, const MeshSetup *setup, guint x, guint y) {
    guint index = !setup->folded ? y * setup->columns + x : y == 0 ? x : setup->columns + y - 1;

    g_assert_cmpuint(index, <, found->n_cores);
    return &found->cores[index];
}

void mesh_assert_accounted(const MeshFound *found) {
    for (guint i = 0; i < found->n_cores; i++) {
        const MeshCore *core = &found->cores[i];
        double sum = core->compute_cycles + core->communication_cycles + core->wait_cycles;
        g_assert_cmpfloat_with_epsilon(sum, core->end_cycles, 1e-6);
    }
}
