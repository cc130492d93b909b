/* K-tree sums over the rows of a mesh, with the broadcast of each: wall and processor seconds and
 * memory of building the mesh and running it.
 *
 *   bench_mesh COLUMNS ROWS folded|full */
#include "actors/mesh/mesh_alone.h"
#include "actors/mesh/mesh_reduce.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static gboolean prepare(Mesh *mesh, gpointer data, GError **error) {
    return mesh_reduce_start(mesh, data, error);
}

static double seconds(struct timeval time) {
    return (double)time.tv_sec + 1e-6 * (double)time.tv_usec;
}

static void report(const char *what, double value, const char *unit) {
    g_autofree char *name = g_strdup_printf("mesh: K-tree sum, %s", what);

    printf("%-58s %12.3f %s\n", name, value, unit);
}

int main(int argc, char **argv) {
    if (argc != 4)
        return EXIT_FAILURE;
    MeshSpec spec = {.usable_bytes = 45e3,
                     .wavelet_bytes = 4,
                     .hop_cycles = 1,
                     .relay_cycles = 16.1,
                     .ramp_cycles = 2,
                     .routing_paths = 24};
    MeshSetup setup = {.spec = &spec,
                       .columns = (guint)atoi(argv[1]),
                       .rows = (guint)atoi(argv[2]),
                       .folded = g_str_equal(argv[3], "folded"),
                       .algorithm = "tree"};
    MeshReduce reduce = {.kind = MESH_REDUCE_TREE, .k = 2, .elements = 12, .type = DATA_TYPE_FP16};
    g_autoptr(GError) error = NULL;
    gint64 start = g_get_monotonic_time();
    Mesh *mesh = mesh_alone_run(&setup, prepare, &reduce, &error);
    double wall_s = 1e-6 * (double)(g_get_monotonic_time() - start);
    struct rusage usage;

    if (!mesh) {
        fprintf(stderr, "bench_mesh: %s\n", error->message);
        return 2;
    }
    getrusage(RUSAGE_SELF, &usage);
    g_autofree char *grid = g_strdup_printf("%sx%s %s", argv[1], argv[2], argv[3]);
    printf("# %s\n", grid);
    report("wall", wall_s, "s");
    report("processor", seconds(usage.ru_utime) + seconds(usage.ru_stime), "s");
    report("peak memory", 1.024e-3 * (double)usage.ru_maxrss, "MB");
    report("cycles", mesh_totals(mesh).cycles, "");
    fflush(stdout);
    _exit(EXIT_SUCCESS); /* the end of the process is quicker at freeing a million actors */
}
