#include "actors/mesh/mesh_private.h"

#include "platforms/topology_mesh.h"
#include "workloads/input_error.h"
#include "workloads/units.h"

enum { ALONG_X, ALONG_Y };

Core *mesh_core_at(const Mesh *mesh, guint x, guint y) {
    guint columns = mesh->setup.columns, rows = mesh->setup.rows;

    if (x >= columns || y >= rows)
        return NULL;
    if (!mesh->setup.folded)
        return &mesh->cores[(gsize)y * columns + x];
    if (y == 0)
        return &mesh->cores[x];
    return x == 0 ? &mesh->cores[columns + y - 1] : NULL;
}

static void place_core(Mesh *mesh, guint x, guint y) {
    mesh_core_at(mesh, x, y)->core = (MeshCore){.mesh = mesh, .x = x, .y = y};
}

Mesh *mesh_new(const MeshSetup *setup) {
    const MeshSpec *spec = setup->spec;
    guint columns = setup->columns, rows = setup->rows;
    Mesh *mesh = g_new0(Mesh, 1);

    g_assert(columns > 0 && rows > 0 && setup->cycle_s > 0);
    mesh->setup = *setup;
    mesh->n_cores = setup->folded ? columns + rows - 1 : columns * rows;
    mesh->cores = g_new0(Core, mesh->n_cores);
    for (guint y = 0; y < rows; y++)
        for (guint x = 0; x < (setup->folded && y > 0 ? 1 : columns); x++)
            place_core(mesh, x, y);
    topology_mesh_build(&(TopologyMesh){.columns = columns,
                                        .rows = rows,
                                        .folded = setup->folded,
                                        .bytes_per_s = (double)spec->wavelet_bytes / setup->cycle_s,
                                        .hop_s = spec->hop_cycles * setup->cycle_s});
    return mesh;
}

static void path_free(MeshPath *path) {
    g_free(path->ring);
    g_free(path);
}

void mesh_free(Mesh *mesh) {
    if (!mesh)
        return;
    for (guint i = 0; i < mesh->n_cores; i++) {
        MeshPath *next;
        for (MeshPath *path = mesh->cores[i].out; path; path = next) {
            next = path->next_out;
            path_free(path);
        }
        wake_free(mesh->cores[i].wake);
    }
    g_free(mesh->link_wavelets);
    g_free(mesh->cores);
    g_free(mesh);
}

const MeshSetup *mesh_setup(const Mesh *mesh) {
    return &mesh->setup;
}

MeshCore *mesh_core(Mesh *mesh, guint x, guint y) {
    return (MeshCore *)mesh_core_at(mesh, x, y);
}

guint mesh_n_cores(const Mesh *mesh) {
    return mesh->n_cores;
}

MeshCore *mesh_nth_core(Mesh *mesh, guint index) {
    g_assert(index < mesh->n_cores);
    return &mesh->cores[index].core;
}

guint mesh_core_index(const MeshCore *core) {
    return (guint)((const Core *)core - core->mesh->cores);
}

/* Where a route goes on, along X first. */
static void step_towards(guint *x, guint *y, const MeshCore *to) {
    if (*x != to->x)
        *x += *x < to->x ? 1 : -1;
    else
        *y += *y < to->y ? 1 : -1;
}

/* Paths of the core that stands for (x, y): of a folded mesh's row and column those of both. */
static guint paths_at(const Mesh *mesh, const Core *core, guint *x, guint *y) {
    const guint *most = mesh->most_paths, *at = mesh->most_paths_at;

    *x = core->core.x;
    *y = core->core.y;
    if (!mesh->setup.folded)
        return core->core.paths;
    if (*y == 0 && *x > 0) {
        *y = at[ALONG_Y];
        return core->paths_along[ALONG_X] + most[ALONG_Y];
    }
    if (*x == 0 && *y > 0) {
        *x = at[ALONG_X];
        return core->paths_along[ALONG_Y] + most[ALONG_X];
    }
    *x = at[ALONG_X];
    *y = at[ALONG_Y];
    return most[ALONG_X] + most[ALONG_Y];
}

static void count_along(Mesh *mesh, Core *core, guint axis) {
    guint paths = ++core->paths_along[axis];

    if (paths > mesh->most_paths[axis]) {
        mesh->most_paths[axis] = paths;
        mesh->most_paths_at[axis] = axis == ALONG_X ? core->core.x : core->core.y;
    }
}

static gboolean count_path(const MeshPath *path, Core *core, GError **error) {
    Mesh *mesh = path->mesh;
    const MeshCore *from = &path->from->core, *to = &path->to->core;
    guint64 limit = mesh->setup.spec->routing_paths;
    guint x, y;

    core->core.paths++;
    if (from->x != to->x && core->core.y == from->y)
        count_along(mesh, core, ALONG_X);
    if (from->y != to->y && core->core.x == to->x)
        count_along(mesh, core, ALONG_Y);
    if (mesh->setup.unlimited || paths_at(mesh, core, &x, &y) <= limit)
        return TRUE;
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                "core (%u, %u): algorithm '%s' needs at least %u routing paths, more than the "
                "%" G_GUINT64_FORMAT " of a core",
                x, y, mesh->setup.algorithm, paths_at(mesh, core, &x, &y), limit);
    return FALSE;
}

static gboolean count_along_path(const MeshPath *path, GError **error) {
    const MeshCore *from = &path->from->core, *to = &path->to->core;
    guint x = from->x, y = from->y;

    for (guint hop = 0; hop <= path->hops; hop++) {
        Core *core = mesh_core_at(path->mesh, x, y);
        g_assert(core); /* a folded mesh has the routes of its row and its column only */
        if (!count_path(path, core, error))
            return FALSE;
        if (hop < path->hops)
            step_towards(&x, &y, to);
    }
    return TRUE;
}

static guint distance(guint a, guint b) {
    return a > b ? a - b : b - a;
}

MeshPath *mesh_path(Mesh *mesh, MeshCore *from, MeshCore *to, gboolean multicast, GError **error) {
    Core *source = (Core *)from, *target = (Core *)to;
    guint dx = distance(from->x, to->x), dy = distance(from->y, to->y);

    g_assert(dx + dy > 0 && !(multicast && dx > 0 && dy > 0) && !source->started);
    for (MeshPath *path = source->out; path; path = path->next_out)
        if (path->to == target && path->multicast == multicast)
            return path;

    guint readers = multicast ? dx + dy : 1;
    MeshPath *path = g_malloc0(sizeof *path + readers * sizeof path->n_read[0]);
    path->mesh = mesh;
    path->from = source;
    path->to = target;
    path->multicast = multicast;
    path->hops = dx + dy;
    path->next_out = source->out;
    source->out = path;
    path->next_in = target->in;
    target->in = path;
    return count_along_path(path, error) ? path : NULL;
}

gboolean mesh_hold(MeshCore *core, double bytes, GError **error) {
    const MeshSetup *setup = &core->mesh->setup;

    core->bytes += bytes;
    core->peak_bytes = MAX(core->peak_bytes, core->bytes);
    if (setup->unlimited || core->bytes <= setup->spec->usable_bytes)
        return TRUE;
    g_autofree char *needed = units_format_brief(core->bytes, DIMENSION_BYTES);
    g_autofree char *limit = units_format_brief(setup->spec->usable_bytes, DIMENSION_BYTES);
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                "core (%u, %u): algorithm '%s' needs %s, more than the %s of a core", core->x,
                core->y, setup->algorithm, needed, limit);
    return FALSE;
}

void mesh_release(MeshCore *core, double bytes) {
    core->bytes -= bytes;
}

void mesh_core_start(MeshCore *core, void (*body)(MeshCore *core)) {
    Core *starting = (Core *)core;

    g_assert(!starting->started);
    starting->started = TRUE;
    starting->body = body;
    sg_actor_t actor =
        engine_actor_start("core", topology_mesh_host(core->x, core->y), mesh_core_main, starting);
    for (MeshPath *path = starting->in; path; path = path->next_in)
        path->channel = engine_channel_new(actor);
}

/* The fullest core of a folded mesh is where its fullest column crosses its fullest row. */
static void total_folded_paths(const Mesh *mesh, MeshTotals *totals) {
    guint most[2] = {0, 0}, at[2] = {0, 0};

    for (guint i = 0; i < mesh->n_cores; i++) {
        const Core *core = &mesh->cores[i];
        for (guint axis = ALONG_X; axis <= ALONG_Y; axis++)
            if (core->paths_along[axis] > most[axis]) {
                most[axis] = core->paths_along[axis];
                at[axis] = axis == ALONG_X ? core->core.x : core->core.y;
            }
    }
    totals->paths = most[ALONG_X] + most[ALONG_Y];
    totals->paths_x = at[ALONG_X];
    totals->paths_y = at[ALONG_Y];
}

static void total_paths(const Mesh *mesh, MeshTotals *totals) {
    for (guint i = 0; i < mesh->n_cores; i++) {
        const MeshCore *core = &mesh->cores[i].core;
        if (core->paths > totals->paths) {
            totals->paths = core->paths;
            totals->paths_x = core->x;
            totals->paths_y = core->y;
        }
    }
}

static guint farthest_hops(const Core *core) {
    guint hops = 0;

    for (const MeshPath *path = core->out; path; path = path->next_out)
        hops = path->wavelets > 0 ? MAX(hops, path->hops) : hops;
    return hops;
}

MeshTotals mesh_totals(const Mesh *mesh) {
    MeshTotals totals = {0};
    const MeshCore *last = &mesh->cores[0].core;

    for (guint i = 0; i < mesh->n_cores; i++) {
        const MeshCore *core = &mesh->cores[i].core;
        totals.messages += mesh->cores[i].messages;
        totals.farthest_hops = MAX(totals.farthest_hops, farthest_hops(&mesh->cores[i]));
        totals.wavelets += core->sent_wavelets;
        if (core->end_cycles > last->end_cycles)
            last = core;
        if (core->peak_bytes > totals.peak_bytes) {
            totals.peak_bytes = core->peak_bytes;
            totals.bytes_x = core->x;
            totals.bytes_y = core->y;
        }
    }
    totals.cycles = last->end_cycles;
    totals.compute_cycles = last->compute_cycles;
    totals.communication_cycles = last->communication_cycles;
    totals.wait_cycles = last->wait_cycles;
    totals.hops = last->hops;
    totals.stages = last->stages;
    (mesh->setup.folded ? total_folded_paths : total_paths)(mesh, &totals);
    return totals;
}

/* The side on which a route leaves a core. */
static guint side_towards(const MeshCore *core, guint x, guint y) {
    if (x != core->x)
        return x > core->x ? 0 : 1;
    return y > core->y ? 2 : 3;
}

static void add_to_links(Mesh *mesh, const MeshPath *path) {
    const MeshCore *at = &path->from->core;

    for (guint hop = 0; hop < path->hops; hop++) {
        guint x = at->x, y = at->y;
        step_towards(&x, &y, &path->to->core);
        mesh->link_wavelets[mesh_core_index(at)][side_towards(at, x, y)] += path->wavelets;
        at = &mesh_core_at(mesh, x, y)->core;
    }
}

static void fill_links(Mesh *mesh) {
    g_free(mesh->link_wavelets);
    mesh->link_wavelets = g_malloc0_n(mesh->n_cores, sizeof *mesh->link_wavelets);
    for (guint i = 0; i < mesh->n_cores; i++)
        for (const MeshPath *path = mesh->cores[i].out; path; path = path->next_out)
            add_to_links(mesh, path);
    mesh->links_stale = FALSE;
}

guint64 mesh_link_wavelets(const Mesh *mesh, guint x, guint y, guint side) {
    const Core *core = mesh_core_at(mesh, x, y);

    g_assert(core && side < 4);
    if (mesh->links_stale || !mesh->link_wavelets)
        fill_links((Mesh *)mesh); /* what is kept between calls is no change to be seen */
    return mesh->link_wavelets[mesh_core_index(&core->core)][side];
}
