#include "actors/mesh/mesh_alone.h"

#include "actors/engine.h"
#include "workloads/input_error.h"
#include "workloads/units.h"
#include <math.h>
#include <string.h>
#include <sys/resource.h>

/* Memory that a core takes with its host, links, actor, stack, and a handful of paths, rounded up:
 * measured on meshes of 128 x 128 to 320 x 320. */
static const double CORE_BYTES = 16e3;

/* What the system could give a process; INFINITY where it does not tell. */
static double free_memory_bytes(void) {
    g_autofree char *text = NULL;
    double bytes = INFINITY;
    struct rlimit limit;

    if (g_file_get_contents("/proc/meminfo", &text, NULL, NULL)) {
        const char *line = strstr(text, "MemAvailable:");
        if (line)
            bytes = 1024 * g_ascii_strtod(line + strlen("MemAvailable:"), NULL);
    }
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        bytes = MIN(bytes, (double)limit.rlim_cur);
    return bytes;
}

static double n_cores_of(const MeshSetup *setup) {
    double columns = setup->columns, rows = setup->rows;
    return setup->folded ? columns + rows - 1 : columns * rows;
}

static gboolean check_memory(const MeshSetup *setup, GError **error) {
    double needed = CORE_BYTES * n_cores_of(setup), available = free_memory_bytes();
    if (needed <= available)
        return TRUE;
    g_autofree char *needed_text = units_format_brief(needed, DIMENSION_BYTES);
    g_autofree char *available_text = units_format_brief(available, DIMENSION_BYTES);
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                "a mesh of %u x %u cores takes about %s of memory to simulate in full, more than "
                "the %s that are free here",
                setup->columns, setup->rows, needed_text, available_text);
    return FALSE;
}

static void fail_on_deadlock(gpointer data) {
    (void)data;
    g_error("a core waits for a message that never comes");
}

Mesh *mesh_alone_run(const MeshSetup *setup,
                     gboolean (*prepare)(Mesh *mesh, gpointer data, GError **error), gpointer data,
                     GError **error) {
    MeshSetup in_cycles = *setup;

    in_cycles.cycle_s = 1;
    if (!check_memory(setup, error))
        return NULL;
    engine_init();
    engine_expect_actors((guint)n_cores_of(setup));
    g_autoptr(Mesh) mesh = mesh_new(&in_cycles);
    if (!prepare(mesh, data, error))
        return NULL;
    engine_run(fail_on_deadlock, NULL);
    return g_steal_pointer(&mesh);
}
