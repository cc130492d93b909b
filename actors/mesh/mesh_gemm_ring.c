/* MeshGEMM and Cannon: A's tiles shift along X, B's along Y, C's stay (WaferLLM 5.3). Before the
 * first product row of tiles J shifts its tiles of A by n − place(J) places in the ring and column
 * I its tiles of B by n − place(I), so that core (I, J) then holds the parts of k at place(I) +
 * place(J), of A as of B, and after t more shifts those at place(I) + place(J) − t. */
#include "actors/mesh/mesh_gemm_edges.h"

#include "actors/kernels/kernels.h"
#include "policies/mesh/tiles.h"
#include <stdlib.h>

enum { AXIS_A, AXIS_B, N_AXES };

/* What a core does on one axis: it holds along × across tiles, which move along it. */
typedef struct RingAxis {
    const GemmRing *ring;
    GemmEdges *edges;
    gboolean takes_part;
    guint first; /* part of its first tile along */
    guint along, across;
    const guint *turns;   /* of its tiles across: by how many places they are aligned */
    const guint64 *sizes; /* of its tiles across: heights of A's, widths of B's */
    float **tiles;        /* numbers: [along · across] */
} RingAxis;

typedef struct RingCore {
    RingAxis axes[N_AXES];
} RingCore;

typedef struct RingShared {
    GemmRing *rings[N_AXES];
    guint alignment;      /* steps */
    guint *turns[N_AXES]; /* of the tiles across: of all parts, or on a folded mesh of one line */
    RingCore *cores;
} RingShared;

static const RingShared *shared_of(const GemmCore *core) {
    return core->run->shared;
}

/* Whether the tiles 'across' move in a step. */
static gboolean moves(const GemmCore *core, const RingAxis *axis, guint across, guint step) {
    const RingShared *shared = shared_of(core);

    return step >= shared->alignment || step < axis->turns[across];
}

/* The part of k that is where 'part' lies, at the beginning of a step. */
static guint depth_part(const GemmCore *core, const RingAxis *axis, guint part, guint across,
                        guint step) {
    guint alignment = shared_of(core)->alignment, turn = axis->turns[across];
    guint moved = step < alignment ? MIN(step, turn) : turn + step - alignment;

    return gemm_ring_part(axis->ring, part, moved);
}

/* What crosses an edge in a step, the tiles across in one message. */
static guint64 edge_wavelets(const GemmCore *core, const RingAxis *axis, const GemmEdge *edge,
                             guint step) {
    guint64 elements = 0;

    for (guint across = 0; across < axis->across; across++)
        if (moves(core, axis, across, step))
            elements += axis->sizes[across] *
                        core->run->depths[depth_part(core, axis, edge->from, across, step)];
    return mesh_wavelets(core->run->setup->spec, core->run->gemm->type, elements);
}

static float **tile_at(const RingAxis *axis, guint part, guint across) {
    return &axis->tiles[(part - axis->first) * axis->across + across];
}

/* References to the tiles that cross an edge, NULL for those that stay. */
static float **parcel_new(const GemmCore *core, const RingAxis *axis, guint part, guint step) {
    float **parcel = g_new0(float *, axis->across);

    for (guint across = 0; across < axis->across; across++)
        if (moves(core, axis, across, step))
            parcel[across] = gemm_tile_keep(*tile_at(axis, part, across));
    return parcel;
}

static void post(GemmCore *core, guint step) {
    RingCore *state = core->state;

    for (guint a = 0; a < N_AXES; a++) {
        RingAxis *axis = &state->axes[a];
        for (guint i = 0; i < axis->edges->n_out; i++) {
            GemmEdge *edge = &axis->edges->out[i];
            guint64 wavelets = edge_wavelets(core, axis, edge, step);
            if (wavelets == 0)
                continue;
            gpointer parcel = axis->tiles ? parcel_new(core, axis, edge->from, step) : NULL;
            gemm_send(core, &edge->out, &(GemmMessage){.tag = step, .wavelets = wavelets}, parcel);
        }
    }
}

static void multiply(GemmCore *core, guint i, guint j, guint64 depth) {
    RingCore *state = core->state;
    const float *a = *tile_at(&state->axes[AXIS_A], state->axes[AXIS_A].first + i, j);
    const float *b = *tile_at(&state->axes[AXIS_B], state->axes[AXIS_B].first + j, i);
    GemmSize size = {core->heights[j], core->widths[i], depth, depth, core->widths[i], core->n};
    float *c = core->tiles.c;

    for (guint above = 0; above < j; above++)
        c += core->heights[above] * core->n;
    for (guint left = 0; left < i; left++)
        c += core->widths[left];
    gemm_f32(&size, a, b, c, TRUE);
}

static double kernel(GemmCore *core, guint i, guint j, guint step) {
    const RingAxis *axes = ((RingCore *)core->state)->axes;
    const GemmRun *run = core->run;
    guint part = core->along_x ? depth_part(core, &axes[AXIS_A], axes[AXIS_A].first + i, j, step)
                               : depth_part(core, &axes[AXIS_B], axes[AXIS_B].first + j, i, step);
    guint64 depth = run->depths[part];

    if (core->tiles.c && depth > 0)
        multiply(core, i, j, depth);
    return mesh_gemm_cycles(run->setup->spec, run->gemm->type, core->heights[j], depth,
                            core->widths[i]);
}

static void compute(GemmCore *core, guint step) {
    double cycles = 0;

    for (guint j = 0; j < core->run->tiles_y; j++)
        for (guint i = 0; i < core->run->tiles_x; i++)
            cycles += kernel(core, i, j, step);
    gemm_compute(core, cycles + core->run->setup->spec->step_cycles);
}

/* The parcel of the edge that ends at 'part'; NULL where that tile comes from the same core. */
static float **parcel_to(const RingAxis *axis, float **parcels[], guint part) {
    for (guint i = 0; i < axis->edges->n_in; i++)
        if (axis->edges->in[i]->to == part)
            return parcels[i];
    return NULL;
}

static void shift_tiles(const GemmCore *core, RingAxis *axis, float **parcels[], guint step) {
    guint n = axis->along * axis->across;
    g_autofree float **before = g_memdup2(axis->tiles, n * sizeof *before);

    for (guint part = axis->first; part < axis->first + axis->along; part++) {
        guint from = axis->ring->rule(part, axis->ring->n).receive;
        float **parcel = parcel_to(axis, parcels, part);
        gboolean local = from >= axis->first && from < axis->first + axis->along;
        for (guint across = 0; across < axis->across; across++) {
            float **tile = tile_at(axis, part, across);
            if (!moves(core, axis, across, step))
                gemm_tile_keep(*tile);
            else if (local)
                *tile = gemm_tile_keep(before[(from - axis->first) * axis->across + across]);
            else
                *tile = parcel ? parcel[across] : NULL; /* of no element: never sent */
        }
    }
    for (guint i = 0; i < n; i++)
        gemm_tile_drop(before[i]);
}

static void receive(GemmCore *core, RingAxis *axis, guint step) {
    float **parcels[GEMM_EDGES] = {NULL};

    for (guint i = 0; i < axis->edges->n_in; i++) {
        const GemmEdge *edge = axis->edges->in[i];
        if (edge_wavelets(core, axis, edge, step) > 0)
            parcels[i] = (float **)gemm_receive(core, &edge->out, step);
    }
    if (axis->tiles)
        shift_tiles(core, axis, parcels, step);
    for (guint i = 0; i < GEMM_EDGES; i++)
        g_free(parcels[i]);
}

static void finish(GemmCore *core, guint step) {
    RingCore *state = core->state;

    if (step >= shared_of(core)->alignment)
        compute(core, step);
    for (guint a = 0; a < N_AXES; a++)
        for (guint i = 0; i < state->axes[a].edges->n_out; i++)
            gemm_send_wait(core, &state->axes[a].edges->out[i].out);
    for (guint a = 0; a < N_AXES; a++)
        if (state->axes[a].takes_part)
            receive(core, &state->axes[a], step);
}

/* Copies of a core's tiles: A's are cut along their columns (the parts of k) and their rows. */
static float **cut_a(const GemmCore *core, const RingAxis *axis) {
    float **tiles = g_new(float *, (gsize)axis->along * axis->across);
    const guint64 *depths = core->run->depths + axis->first;
    const float *from = core->tiles.a;

    for (guint j = 0; j < axis->across; from += core->heights[j] * core->k_x, j++) {
        guint64 column = 0;
        for (guint i = 0; i < axis->along; column += depths[i], i++)
            tiles[i * axis->across + j] =
                gemm_tile_copy(from + column, core->k_x, core->heights[j], depths[i]);
    }
    return tiles;
}

static float **cut_b(const GemmCore *core, const RingAxis *axis) {
    float **tiles = g_new(float *, (gsize)axis->along * axis->across);
    const guint64 *depths = core->run->depths + axis->first;
    const float *from = core->tiles.b;

    for (guint j = 0; j < axis->along; from += depths[j] * core->n, j++) {
        guint64 column = 0;
        for (guint i = 0; i < axis->across; column += core->widths[i], i++)
            tiles[j * axis->across + i] =
                gemm_tile_copy(from + column, core->n, depths[j], core->widths[i]);
    }
    return tiles;
}

static void drop_tiles(RingAxis *axis) {
    for (guint i = 0; axis->tiles && i < axis->along * axis->across; i++)
        gemm_tile_drop(axis->tiles[i]);
    g_clear_pointer(&axis->tiles, g_free);
}

static void take(GemmCore *core) {
    RingCore *state = core->state;
    RingAxis *a = &state->axes[AXIS_A], *b = &state->axes[AXIS_B];

    drop_tiles(a);
    drop_tiles(b);
    if (!core->tiles.c)
        return;
    a->tiles = cut_a(core, a);
    b->tiles = cut_b(core, b);
}

/* Tiles that may arrive at once while as many are multiplied: one for each edge that ends here. */
static guint incoming(guint along, guint line) {
    return line == 1 ? 0 : MIN(along, GEMM_EDGES);
}

/* Tiles, room for the next, sums in FP32. */
static gboolean hold(GemmCore *core, GError **error) {
    const GemmRun *run = core->run;
    guint64 depth = tile_largest(run->gemm->k, run->side);
    guint a = run->tiles_x + incoming(run->tiles_x, run->setup->columns);
    guint b = run->tiles_y + incoming(run->tiles_y, run->setup->rows);
    guint64 elements = depth * (core->m * a + core->n * b);

    return gemm_hold(core, elements, core->m * core->n, error);
}

static gint longer_first(gconstpointer a, gconstpointer b) {
    const guint *left = a, *right = b;

    return *left > *right ? -1 : *left < *right;
}

/* Of every part. On a folded mesh, where one line of 'across' tiles stands for all: the longest of
 * any line, the second longest of any, and so on, since all lines wait for each other. */
static guint *turns_new(const GemmRing *ring, guint across, gboolean folded) {
    guint *turns = g_new(guint, ring->n);

    for (guint part = 0; part < ring->n; part++)
        turns[part] = (ring->n - ring->places[part]) % ring->n;
    for (guint first = 0; folded && first < ring->n; first += across) {
        qsort(turns + first, across, sizeof *turns, longer_first);
        for (guint rank = 0; rank < across; rank++)
            turns[rank] = MAX(turns[rank], turns[first + rank]);
    }
    return turns;
}

static void set_axes(GemmCore *core, RingCore *state) {
    const GemmRun *run = core->run;
    const RingShared *shared = run->shared;
    gboolean folded = run->setup->folded;

    for (guint a = 0; a < N_AXES; a++) {
        RingAxis *axis = &state->axes[a];
        gboolean is_a = a == AXIS_A;
        axis->ring = shared->rings[a];
        axis->edges = gemm_ring_edges(axis->ring, core);
        axis->takes_part = is_a ? core->along_x : core->along_y;
        axis->first = axis->edges->first;
        axis->along = is_a ? run->tiles_x : run->tiles_y;
        axis->across = is_a ? run->tiles_y : run->tiles_x;
        axis->sizes = is_a ? core->heights : core->widths;
        guint own = (is_a ? core->core->y : core->core->x) * axis->across;
        axis->turns = shared->turns[a] + (folded ? 0 : own);
    }
    core->state = state;
}

static void clear(GemmRun *run) {
    RingShared *shared = run->shared;

    if (!shared)
        return;
    for (guint i = 0; i < run->n_cores; i++)
        for (guint a = 0; a < N_AXES; a++)
            drop_tiles(&shared->cores[i].axes[a]);
    for (guint a = 0; a < N_AXES; a++) {
        gemm_ring_free(shared->rings[a]);
        g_free(shared->turns[a]);
    }
    g_free(shared->cores);
    g_free(shared);
}

static gboolean prepare(GemmRun *run, GError **error) {
    RingShared *shared = run->shared = g_new0(RingShared, 1);
    RingRule rule = run->gemm->kind == MESH_GEMM_CANNON ? cyclic_neighbours : interleave_neighbours;

    shared->cores = g_new0(RingCore, run->n_cores);
    shared->alignment = gemm_alignment_steps(run->gemm, run->side);
    for (guint a = 0; a < N_AXES; a++) {
        shared->rings[a] = gemm_ring_new(run, rule, a == AXIS_B, error);
        if (!shared->rings[a])
            return FALSE;
        shared->turns[a] = turns_new(shared->rings[a], a == AXIS_A ? run->tiles_y : run->tiles_x,
                                     run->setup->folded);
    }
    for (guint i = 0; i < run->n_cores; i++) {
        set_axes(&run->cores[i], &shared->cores[i]);
        if (!hold(&run->cores[i], error))
            return FALSE;
    }
    return TRUE;
}

static void settle(GemmRun *run) {
    const RingShared *shared = run->shared;

    for (guint a = 0; a < N_AXES; a++)
        gemm_ring_settle(shared->rings[a]);
}

const GemmRules gemm_ring_rules = {.prepare = prepare,
                                   .take = take,
                                   .post = post,
                                   .finish = finish,
                                   .settle = settle,
                                   .clear = clear};
