/* dist-GEMM-T: C = A · Bᵀ (WaferLLM 5.4). B's tiles shift along Y by the interleaved ring; in each
 * step every core multiplies its A with the rows of B that it holds, which makes a part of k of
 * some columns of C, and the cores of a row add theirs up.
 *
 * Sums go from both ends of a row to its middle, or along a K-tree: a core that has multiplied adds
 * what its children have sent it, one routing stage, and sends that on. The root tells both ends of
 * the row in a multicast, of which every core takes the columns of C that are its own when it has
 * next multiplied. A sum is so on its way while cores that have passed it on multiply for the next:
 * the way to the root is paid once. */
#include "actors/mesh/mesh_gemm_edges.h"

#include "actors/kernels/kernels.h"
#include "policies/mesh/reduce_tree.h"
#include "policies/mesh/tiles.h"

enum { UP, DOWN, N_WAYS }; /* from the root to the ends of the row */

typedef struct SumCore {
    GemmEdges *edges;
    guint n_children;
    const GemmOut **children; /* their ways to here */
    GemmOut parent;
    GemmOut ends[N_WAYS]; /* the root's */
    float **b;            /* numbers: of each of its tiles along Y */
    float *part;          /* numbers: of the sum of this step */
    guint taken;          /* finished sums, of all */
} SumCore;

typedef struct Sums {
    GemmRing *ring; /* of B, along Y */
    ReduceTree *tree;
    SumCore *cores;
} Sums;

static const Sums *sums_of(const GemmCore *core) {
    return core->run->shared;
}

static gboolean is_root(const GemmCore *core) {
    return core->core->x == sums_of(core)->tree->root;
}

/* The part of n whose rows of B, and so columns of C, are at tile j of the core in a step. */
static guint part_in(const GemmCore *core, guint j, guint step) {
    const SumCore *state = core->state;

    return gemm_ring_part(sums_of(core)->ring, state->edges->first + j, step);
}

/* Tile j of the core's rows makes heights[j] × widths[its part of n] of a sum, one after another.
 */
static guint64 elements_in(const GemmCore *core, guint step) {
    guint64 elements = 0;

    for (guint j = 0; j < core->run->tiles_y; j++)
        elements += core->heights[j] * core->run->widths[part_in(core, j, step)];
    return elements;
}

static guint64 sum_wavelets(const GemmCore *core, guint step) {
    return mesh_wavelets(core->run->setup->spec, core->run->gemm->type, elements_in(core, step));
}

static guint64 edge_wavelets(const GemmCore *core, const GemmEdge *edge, guint step) {
    guint part = gemm_ring_part(sums_of(core)->ring, edge->from, step);

    return mesh_wavelets(core->run->setup->spec, core->run->gemm->type,
                         core->run->widths[part] * core->k_x);
}

static void send_b(GemmCore *core, guint step) {
    SumCore *state = core->state;

    for (guint i = 0; i < state->edges->n_out; i++) {
        GemmEdge *edge = &state->edges->out[i];
        guint64 wavelets = edge_wavelets(core, edge, step);
        gpointer tile =
            state->b ? gemm_tile_keep(state->b[edge->from - state->edges->first]) : NULL;
        if (wavelets > 0)
            gemm_send(core, &edge->out, &(GemmMessage){.tag = step, .wavelets = wavelets}, tile);
        else
            gemm_tile_drop(tile);
    }
}

static void receive_b(GemmCore *core, guint step) {
    SumCore *state = core->state;
    const GemmRing *ring = sums_of(core)->ring;
    guint first = state->edges->first, tiles = core->run->tiles_y;
    float *arrived[GEMM_EDGES] = {NULL};

    for (guint i = 0; i < state->edges->n_in; i++)
        if (edge_wavelets(core, state->edges->in[i], step) > 0)
            arrived[i] = (float *)gemm_receive(core, &state->edges->in[i]->out, step);
    if (!state->b)
        return;
    g_autofree float **before = g_memdup2(state->b, tiles * sizeof *before);
    for (guint j = 0; j < tiles; j++) {
        guint from = ring->rule(first + j, ring->n).receive;
        state->b[j] =
            from >= first && from < first + tiles ? gemm_tile_keep(before[from - first]) : NULL;
    }
    for (guint i = 0; i < state->edges->n_in; i++)
        state->b[state->edges->in[i]->to - first] = arrived[i];
    for (guint j = 0; j < tiles; j++)
        gemm_tile_drop(before[j]);
}

/* out[m × n] = rows of A times rows of B. */
static void multiply_tile(const float *a, const float *b, const GemmSize *size, float *out) {
    for (gsize i = 0; i < size->m; i++)
        for (gsize j = 0; j < size->n; j++) {
            float sum = 0;
            for (gsize k = 0; k < size->k; k++)
                sum += a[i * size->k + k] * b[j * size->k + k];
            out[i * size->n + j] = sum;
        }
}

static void multiply(GemmCore *core, guint step) {
    SumCore *state = core->state;
    const float *a = core->tiles.a;
    float *out = gemm_tile_new(elements_in(core, step), 1);

    gemm_tile_drop(state->part);
    state->part = out;
    for (guint j = 0; j < core->run->tiles_y; j++) {
        GemmSize size = {
            .m = core->heights[j], .n = core->run->widths[part_in(core, j, step)], .k = core->k_x};
        multiply_tile(a, state->b[j], &size, out);
        a += size.m * size.k;
        out += size.m * size.n;
    }
}

static void compute(GemmCore *core, guint step) {
    const GemmRun *run = core->run;
    const MeshSpec *spec = run->setup->spec;
    double cycles = 0;

    if (core->tiles.c)
        multiply(core, step);
    for (guint j = 0; j < run->tiles_y; j++)
        cycles += mesh_gemm_cycles(spec, run->gemm->type, core->heights[j], core->k_x,
                                   run->widths[part_in(core, j, step)]);
    gemm_compute(core, cycles + spec->step_cycles);
}

/* Adds the children's parts of a sum to the core's own. */
static void gather(GemmCore *core, guint sum) {
    const SumCore *state = core->state;
    guint64 n = elements_in(core, sum);

    for (guint i = 0; i < state->n_children; i++) {
        float *part = (float *)gemm_receive(core, state->children[i], sum);
        for (guint64 element = 0; part && element < n; element++)
            state->part[element] += part[element];
        gemm_tile_drop(part);
    }
    if (state->n_children > 0)
        gemm_relay(core);
}

/* Of the finished sum the columns that are the core's own. */
static void add_to_c(GemmCore *core, guint sum, const float *values) {
    guint own = core->core->x * core->run->tiles_x;
    float *c = core->tiles.c;

    for (guint j = 0; j < core->run->tiles_y; c += core->heights[j] * core->n, j++) {
        guint part = part_in(core, j, sum);
        guint64 n = core->run->widths[part], column = 0;
        if (part >= own && part < own + core->run->tiles_x) {
            for (guint before = own; before < part; before++)
                column += core->run->widths[before];
            for (guint64 i = 0; i < core->heights[j] * n; i++)
                c[i / n * core->n + column + i % n] += values[i];
        }
        values += core->heights[j] * n;
    }
}

static void send_sum(GemmCore *core, GemmOut *out, guint sum) {
    float *values = ((SumCore *)core->state)->part;

    if (!out->path)
        return;
    for (guint i = 0; i < out->receivers; i++)
        gemm_tile_keep(values);
    gemm_send(core, out, &(GemmMessage){.tag = sum, .wavelets = sum_wavelets(core, sum)}, values);
}

/* A core's part in a sum; the root hands it out. */
static void pass_sum(GemmCore *core, guint sum) {
    SumCore *state = core->state;

    gather(core, sum);
    gemm_tile_round(state->part, elements_in(core, sum), core->run->gemm->type);
    send_sum(core, &state->parent, sum);
    if (!is_root(core))
        return;
    for (guint way = 0; way < N_WAYS; way++)
        send_sum(core, &state->ends[way], sum);
    if (core->tiles.c)
        add_to_c(core, sum, state->part);
}

static gboolean is_summed(const GemmCore *core, guint sum) {
    return core->along_x && sum_wavelets(core, sum) > 0;
}

static void post(GemmCore *core, guint step) {
    if (step < core->run->side)
        send_b(core, step);
}

static const GemmOut *teller_of(const GemmCore *core) {
    const Sums *sums = sums_of(core);
    guint root = sums->tree->root;

    return &sums->cores[gemm_run_core(core->run, root, core->core->y) - core->run->cores]
                .ends[core->core->x > root ? UP : DOWN];
}

static void take_sum(GemmCore *core, guint sum) {
    float *values = (float *)gemm_receive(core, teller_of(core), sum);

    if (core->tiles.c)
        add_to_c(core, sum, values);
    gemm_tile_drop(values);
}

/* The finished sums before 'end' that have come, or all. */
static void take_sums(GemmCore *core, guint end, gboolean wait) {
    SumCore *state = core->state;

    if (is_root(core) || !core->along_x)
        return;
    for (; state->taken < end; state->taken++) {
        if (!is_summed(core, state->taken))
            continue;
        if (!wait && !gemm_arrived(core, teller_of(core), state->taken))
            return;
        take_sum(core, state->taken);
    }
}

static void finish(GemmCore *core, guint step) {
    SumCore *state = core->state;

    if (step == core->run->side) {
        take_sums(core, step, TRUE);
        return;
    }
    compute(core, step);
    if (is_summed(core, step))
        pass_sum(core, step);
    take_sums(core, step, FALSE);
    for (guint i = 0; i < state->edges->n_out; i++)
        gemm_send_wait(core, &state->edges->out[i].out);
    gemm_send_wait(core, &state->parent);
    for (guint way = 0; way < N_WAYS; way++)
        gemm_send_wait(core, &state->ends[way]);
    receive_b(core, step);
}

static void drop_all(float ***tiles, guint n) {
    for (guint i = 0; *tiles && i < n; i++)
        gemm_tile_drop((*tiles)[i]);
    g_clear_pointer(tiles, g_free);
}

static void take(GemmCore *core) {
    SumCore *state = core->state;
    const GemmRun *run = core->run;
    const float *from = core->tiles.b;

    drop_all(&state->b, run->tiles_y);
    g_clear_pointer(&state->part, gemm_tile_drop);
    state->taken = 0;
    if (!core->tiles.c)
        return;
    state->b = g_new0(float *, run->tiles_y);
    for (guint j = 0; j < run->tiles_y; j++) {
        guint64 rows = run->widths[state->edges->first + j];
        state->b[j] = gemm_tile_copy(from, core->k_x, rows, core->k_x);
        from += rows * core->k_x;
    }
}

static guint stages_to_root(const ReduceTree *tree, guint at) {
    guint stages = 0;

    for (; at != tree->root; at = tree->parent[at])
        stages++;
    return stages;
}

static gboolean open_ends(GemmCore *core, SumCore *state, GError **error) {
    guint root = core->core->x, last = core->run->setup->columns - 1, y = core->core->y;

    GemmWay up = {core, gemm_run_core(core->run, last, y), TRUE, core->run->side};
    GemmWay down = {core, gemm_run_core(core->run, 0, y), TRUE, core->run->side};

    return (root == last || gemm_out_open(&state->ends[UP], &up, error)) &&
           (root == 0 || gemm_out_open(&state->ends[DOWN], &down, error));
}

static gboolean open_sums(GemmCore *core, GError **error) {
    const Sums *sums = sums_of(core);
    const ReduceTree *tree = sums->tree;
    SumCore *state = core->state;
    guint x = core->core->x, y = core->core->y;

    state->children = g_new0(const GemmOut *, tree->n);
    if (!core->along_x)
        return TRUE;
    for (guint child = 0; child < tree->n; child++)
        if (tree->parent[child] == x && child != x)
            state->children[state->n_children++] =
                &sums->cores[gemm_run_core(core->run, child, y) - core->run->cores].parent;
    if (x == tree->root)
        return open_ends(core, state, error);
    GemmWay way = {core, gemm_run_core(core->run, tree->parent[x], y), FALSE, 2};
    return gemm_out_open(&state->parent, &way, error);
}

/* A, B and room for the next B; a finished sum that waits to be taken and the one that is arriving;
 * the core's own part of a sum and its children's, and C in FP32. */
static gboolean hold(GemmCore *core, GError **error) {
    const SumCore *state = core->state;
    const GemmRun *run = core->run;
    guint64 rows = tile_largest(run->gemm->n, run->side);
    guint room = run->setup->rows == 1 ? 0 : MIN(run->tiles_y, GEMM_EDGES);
    guint64 parts = core->m * rows * (1 + state->n_children);
    guint64 finished = is_root(core) ? 0 : 2 * core->m * rows;

    return gemm_hold(core, core->k_x * (core->m + rows * (run->tiles_y + room)) + finished,
                     parts + core->m * core->n, error);
}

static gboolean prepare(GemmRun *run, GError **error) {
    Sums *sums = run->shared = g_new0(Sums, 1);

    sums->cores = g_new0(SumCore, run->n_cores);
    sums->tree = reduce_tree_k(run->setup->columns, MAX(run->gemm->k_tree, 1));
    sums->ring = gemm_ring_new(run, interleave_neighbours, TRUE, error);
    if (!sums->ring)
        return FALSE;
    for (guint i = 0; i < run->n_cores; i++) {
        GemmCore *core = &run->cores[i];
        core->state = &sums->cores[i];
        sums->cores[i].edges = gemm_ring_edges(sums->ring, core);
        if (!open_sums(core, error) || !hold(core, error))
            return FALSE;
    }
    return TRUE;
}

/* A sum is passed on in the step in which it came: the cores farthest from the root first. */
static void order(const GemmRun *run, guint step, guint *cores) {
    const ReduceTree *tree = ((const Sums *)run->shared)->tree;
    guint n = 0;

    if (step > 0)
        return;
    g_autofree guint *to_root = g_new(guint, tree->n);
    for (guint x = 0; x < tree->n; x++)
        to_root[x] = stages_to_root(tree, x);
    for (guint stages = tree->stages + 1; stages-- > 0;)
        for (guint i = 0; i < run->n_cores; i++)
            if (to_root[run->cores[i].core->x] == stages)
                cores[n++] = i;
}

static void settle(GemmRun *run) {
    const Sums *sums = run->shared;

    gemm_ring_settle(sums->ring);
    for (guint i = 0; i < run->n_cores; i++) {
        gemm_out_settle(&sums->cores[i].parent);
        for (guint way = 0; way < N_WAYS; way++)
            gemm_out_settle(&sums->cores[i].ends[way]);
    }
}

static void clear(GemmRun *run) {
    Sums *sums = run->shared;

    if (!sums)
        return;
    for (guint i = 0; i < run->n_cores; i++) {
        drop_all(&sums->cores[i].b, run->tiles_y);
        gemm_tile_drop(sums->cores[i].part);
        gemm_out_clear(&sums->cores[i].parent);
        gemm_out_clear(&sums->cores[i].ends[UP]);
        gemm_out_clear(&sums->cores[i].ends[DOWN]);
        g_free(sums->cores[i].children);
    }
    gemm_ring_free(sums->ring);
    reduce_tree_free(sums->tree);
    g_free(sums->cores);
    g_free(sums);
}

const GemmRules gemm_transposed_rules = {.prepare = prepare,
                                         .take = take,
                                         .post = post,
                                         .finish = finish,
                                         .order = order,
                                         .settle = settle,
                                         .clear = clear};
