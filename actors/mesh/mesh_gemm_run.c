#include "actors/mesh/mesh_gemm_run.h"

#include "policies/mesh/tiles.h"
#include "workloads/input_error.h"

/* Tiles of products that one run may go through: a minute of work or so. */
#define MOST_TILES 4e9

typedef struct KindRules {
    const GemmRules *rules;
    guint shortest_ring; /* that its rule knows */
} KindRules;

static const KindRules kinds[N_MESH_GEMM_KINDS] = {
    [MESH_GEMM_INTERLEAVED] = {&gemm_ring_rules, 3},
    [MESH_GEMM_CANNON] = {&gemm_ring_rules, 2},
    [MESH_GEMM_SUMMA] = {&gemm_panel_rules, 1},
    [MESH_GEMM_ALLGATHER] = {&gemm_panel_rules, 1},
    [MESH_GEMM_TRANSPOSED] = {&gemm_transposed_rules, 3},
};

guint gemm_alignment_steps(const MeshGemm *gemm, guint side) {
    gboolean aligns = gemm->kind == MESH_GEMM_INTERLEAVED || gemm->kind == MESH_GEMM_CANNON;

    return aligns && !gemm->aligned ? side - 1 : 0;
}

guint gemm_drain_steps(const MeshGemm *gemm, guint side) {
    if (gemm->kind == MESH_GEMM_INTERLEAVED || gemm->kind == MESH_GEMM_CANNON)
        return 0;
    return gemm->kind == MESH_GEMM_ALLGATHER && gemm->relayed ? side + 1 : 1;
}

gboolean gemm_hold(GemmCore *core, guint64 elements, guint64 sums, GError **error) {
    guint64 operands = elements * data_type_bytes(core->run->gemm->type);

    core->held_bytes += (double)(operands + sums * sizeof(float));
    return mesh_hold(core->core, core->held_bytes, error);
}

static gboolean refuse(GError **error, InputErrorCode code, char *message) {
    g_set_error_literal(error, INPUT_ERROR, code, message);
    g_free(message);
    return FALSE;
}

static gboolean check_operands(const MeshSetup *setup, const MeshGemm *gemm, GError **error) {
    const char *name = mesh_gemm_names[gemm->kind];

    if (gemm->m == 0 || gemm->k == 0 || gemm->n == 0)
        return refuse(error, INPUT_ERROR_VALUE,
                      g_strdup_printf("'%s' needs m, k and n of at least 1", name));
    if (gemm->a && gemm->type == DATA_TYPE_BF16)
        return refuse(error, INPUT_ERROR_VALUE,
                      g_strdup_printf("'%s' multiplies numbers in 'fp16' and 'fp32', not in "
                                      "'bf16', which has times only",
                                      name));
    if (gemm->a && setup->folded)
        return refuse(error, INPUT_ERROR_CONFLICT,
                      g_strdup_printf("'%s' multiplies numbers on the full mesh only, not on a "
                                      "folded one",
                                      name));
    return TRUE;
}

static gboolean check_grid(const MeshSetup *setup, const MeshGemm *gemm, GError **error) {
    const char *name = mesh_gemm_names[gemm->kind];
    guint side = tiles_a_side(setup->columns, setup->rows),
          shortest = kinds[gemm->kind].shortest_ring;
    double cores =
        setup->folded ? (double)setup->columns + setup->rows : (double)setup->columns * setup->rows;
    double tiles = (double)side / setup->columns * side / setup->rows;

    if (side < shortest)
        return refuse(error, INPUT_ERROR_VALUE,
                      g_strdup_printf("'%s' needs at least %u tiles a side; a grid of %u × %u "
                                      "has %u",
                                      name, shortest, setup->columns, setup->rows, side));
    if (side * cores * tiles > MOST_TILES)
        return refuse(error, INPUT_ERROR_VALUE,
                      g_strdup_printf("'%s' on a grid of %u × %u would take %u steps, the least "
                                      "common multiple; choose sides with a large common divisor",
                                      name, setup->columns, setup->rows, side));
    return TRUE;
}

static guint64 *sizes_new(guint64 length, guint side) {
    guint64 *sizes = g_new(guint64, side);

    for (guint part = 0; part < side; part++)
        sizes[part] = tile_size(length, side, part);
    return sizes;
}

/* Of the lines of 'tiles' tiles that of the most work: where tiles are multiplied one by one along
 * their heights, the one with most vector operations; then the longest. */
static guint slowest_line(const GemmRun *run, const guint64 *sizes, guint tiles) {
    gboolean single = run->rules != &gemm_panel_rules && sizes == run->heights;
    double most = -1;
    guint slowest = 0;

    for (guint first = 0; first < run->side; first += tiles) {
        double work = 0;
        for (guint i = first; i < MIN(first + tiles, run->side); i++)
            work += (double)sizes[i] / 1e9 +
                    (single ? mesh_vector_cycles(run->setup->spec, run->gemm->type, sizes[i])
                            : (double)sizes[i]);
        if (work > most) {
            most = work;
            slowest = first;
        }
    }
    return slowest;
}

static guint64 sum_of(const guint64 *sizes, guint n) {
    guint64 sum = 0;

    for (guint i = 0; i < n; i++)
        sum += sizes[i];
    return sum;
}

static void core_init(GemmRun *run, GemmCore *core, MeshCore *mesh_core) {
    const MeshSetup *setup = run->setup;
    guint x = mesh_core->x, y = mesh_core->y;

    *core = (GemmCore){.run = run, .core = mesh_core};
    core->along_x = !setup->folded || y == 0;
    core->along_y = !setup->folded || x == 0;
    gboolean all_rows = setup->folded && core->along_x;
    gboolean all_columns = setup->folded && core->along_y;
    core->heights = run->heights +
                    (all_rows ? slowest_line(run, run->heights, run->tiles_y) : y * run->tiles_y);
    core->widths = run->widths +
                   (all_columns ? slowest_line(run, run->widths, run->tiles_x) : x * run->tiles_x);
    core->m = sum_of(core->heights, run->tiles_y);
    core->n = sum_of(core->widths, run->tiles_x);
    core->k_x = all_columns ? tile_largest(run->gemm->k, setup->columns)
                            : tile_size(run->gemm->k, setup->columns, x);
    core->k_y = all_rows ? tile_largest(run->gemm->k, setup->rows)
                         : tile_size(run->gemm->k, setup->rows, y);
}

GemmRun *gemm_run_new(Mesh *mesh, const MeshGemm *gemm, GError **error) {
    const MeshSetup *setup = mesh_setup(mesh);

    if (!check_operands(setup, gemm, error) || !check_grid(setup, gemm, error))
        return NULL;
    GemmRun *run = g_new0(GemmRun, 1);
    run->mesh = mesh;
    run->setup = setup;
    run->gemm = gemm;
    run->rules = kinds[gemm->kind].rules;
    run->side = tiles_a_side(setup->columns, setup->rows);
    run->tiles_x = run->side / setup->columns;
    run->tiles_y = run->side / setup->rows;
    run->heights = sizes_new(gemm->m, run->side);
    run->depths = sizes_new(gemm->k, run->side);
    run->widths = sizes_new(gemm->n, run->side);
    run->n_cores = run->running = mesh_n_cores(mesh);
    run->cores = g_new(GemmCore, run->n_cores);
    for (guint i = 0; i < run->n_cores; i++)
        core_init(run, &run->cores[i], mesh_nth_core(mesh, i));
    run->steps =
        gemm_alignment_steps(gemm, run->side) + run->side + gemm_drain_steps(gemm, run->side);
    if (run->rules->prepare(run, error))
        return run;
    gemm_run_free(run);
    return NULL;
}

void gemm_run_free(GemmRun *run) {
    if (!run)
        return;
    run->rules->clear(run);
    for (guint i = 0; i < run->n_cores; i++)
        mesh_release(run->cores[i].core, run->cores[i].held_bytes);
    g_free(run->heights);
    g_free(run->widths);
    g_free(run->depths);
    g_free(run->cores);
    g_free(run);
}

GemmCore *gemm_run_core(const GemmRun *run, guint x, guint y) {
    guint columns = run->setup->columns;

    if (!run->setup->folded)
        return &run->cores[y * columns + x];
    g_assert(x == 0 || y == 0);
    return &run->cores[y == 0 ? x : columns + y - 1];
}

void gemm_run_steps(GemmCore *core) {
    const GemmRun *run = core->run;

    run->rules->take(core);
    for (guint step = 0; step < run->steps; step++) {
        run->rules->post(core, step);
        run->rules->finish(core, step);
    }
}

void gemm_run_forward(GemmRun *run) {
    g_autofree guint *order = g_new(guint, run->n_cores);

    run->forwarding = TRUE;
    for (guint i = 0; i < run->n_cores; i++)
        order[i] = i;
    for (guint step = 0; step < run->steps; step++) {
        if (run->rules->order)
            run->rules->order(run, step, order);
        for (guint i = 0; i < run->n_cores; i++)
            run->rules->post(&run->cores[order[i]], step);
        for (guint i = 0; i < run->n_cores; i++)
            run->rules->finish(&run->cores[order[i]], step);
    }
    run->rules->settle(run);
    run->forwarding = FALSE;
}
