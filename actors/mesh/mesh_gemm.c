#include "actors/mesh/mesh_gemm_run.h"

#include "actors/engine.h"
#include "actors/mesh/mesh_reduce.h"
#include "policies/mesh/tiles.h"

const char *const mesh_gemm_names[] = {"meshgemm",       "cannon",      "summa",
                                       "allgather-gemm", "dist-gemm-t", NULL};

/* Dates of its own are the engine's where cycles are its seconds, sums are exact, and messages of a
 * run never meet on a link, as those of a K-tree's levels do. */
static gboolean is_stepped(const MeshSetup *setup, const MeshGemm *gemm) {
    double hop_cycles = setup->spec->hop_cycles;
    gboolean meets = gemm->kind == MESH_GEMM_TRANSPOSED && gemm->k_tree > 1;

    return gemm->every_step || gemm->a || setup->cycle_s != 1 || meets ||
           hop_cycles != gemm_round_cycles(hop_cycles);
}

/* Cycles of the kernels of a core with a tile of C of rows × columns cut into 'tiles' heights. */
static double kernel_cycles(const MeshSetup *setup, const MeshGemm *gemm) {
    guint side = tiles_a_side(setup->columns, setup->rows);
    guint64 n = tile_largest(gemm->n, setup->columns), k = gemm->k;
    double most = 0;

    if (gemm->kind == MESH_GEMM_TRANSPOSED) {
        n = gemm->n;
        k = tile_largest(gemm->k, setup->columns);
    }
    if (gemm->kind == MESH_GEMM_SUMMA || gemm->kind == MESH_GEMM_ALLGATHER)
        return mesh_gemm_cycles(setup->spec, gemm->type, tile_largest(gemm->m, setup->rows), k, n);
    for (guint y = 0; y < setup->rows; y++) {
        double cycles = 0;
        for (guint part = y * (side / setup->rows); part < (y + 1) * (side / setup->rows); part++)
            cycles +=
                mesh_gemm_cycles(setup->spec, gemm->type, tile_size(gemm->m, side, part), k, n);
        most = MAX(most, cycles);
    }
    return most;
}

/* What a message of the loop takes, of the largest tiles (or the smallest). */
static double tile_cycles(const MeshSetup *setup, const MeshGemm *gemm, gboolean largest) {
    guint side = tiles_a_side(setup->columns, setup->rows);
    guint64 m = largest ? tile_largest(gemm->m, setup->rows) : gemm->m / setup->rows;
    guint64 n = largest ? tile_largest(gemm->n, setup->columns) : gemm->n / setup->columns;
    guint64 k = largest ? tile_largest(gemm->k, side) : gemm->k / side;
    guint64 elements = k * (largest ? MAX(m, n) : MIN(m, n));

    if (gemm->kind == MESH_GEMM_TRANSPOSED) /* of B, or a sum */
        elements = largest ? MAX(n * k, m * n) : MIN(n * k, m * n);
    return (double)mesh_wavelets(setup->spec, gemm->type, elements);
}

/* A relayed tile's way from one core to the next. */
static double relay_cycles(const MeshSetup *setup, const MeshGemm *gemm) {
    return setup->spec->hop_cycles + setup->spec->relay_cycles + tile_cycles(setup, gemm, TRUE);
}

/* What the axes have to do with each other and a folded mesh does not see, with tiles of one size.
 */
static double crossing_cycles(const MeshSetup *setup, const MeshGemm *gemm) {
    double ways = setup->columns + setup->rows, hop = setup->spec->hop_cycles;

    switch (gemm->kind) {
    case MESH_GEMM_INTERLEAVED:
        return 2 * hop;
    case MESH_GEMM_SUMMA: /* a tile of A waits for those of B at the cores that both pass */
        return gemm->relayed ? ways * relay_cycles(setup, gemm) : 2 * ways * hop;
    case MESH_GEMM_ALLGATHER: /* the way to the other end; relayed, one axis goes after the other */
        return gemm->relayed ? 0 : ways * hop;
    case MESH_GEMM_TRANSPOSED:
        return 4 * hop;
    default: /* Cannon's way back */
        return ways * hop;
    }
}

double mesh_gemm_fold_bound(const MeshSetup *setup, const MeshGemm *gemm) {
    guint side = tiles_a_side(setup->columns, setup->rows);
    double ways = setup->columns + setup->rows, largest = tile_cycles(setup, gemm, TRUE);
    gboolean square = setup->columns == setup->rows; /* else lines of several tiles differ, too */
    double spread = largest - (square ? tile_cycles(setup, gemm, FALSE) : 0);
    double bound = crossing_cycles(setup, gemm);

    if (square && gemm->m % side == 0 && gemm->n % side == 0 && gemm->k % side == 0)
        return bound;
    bound += side * spread + 2 * ways * setup->spec->hop_cycles + largest;
    if (gemm->kind == MESH_GEMM_ALLGATHER && gemm->relayed)
        bound += side * (spread + relay_cycles(setup, gemm));
    /* The folded row's largest part of k, one more than others, is where a sum begins. */
    if (gemm->kind == MESH_GEMM_TRANSPOSED)
        bound += mesh_gemm_cycles(setup->spec, gemm->type, tile_largest(gemm->m, setup->rows), 1,
                                  gemm->n);
    return bound;
}

MeshGemmInfo mesh_gemm_info(const MeshSetup *setup, const MeshGemm *gemm) {
    guint side = tiles_a_side(setup->columns, setup->rows);
    double macs = (double)gemm->m * (double)gemm->k * (double)gemm->n;

    return (MeshGemmInfo){
        .grain = setup->folded ? "folded, approximate" : "full",
        .fold_bound = setup->folded ? mesh_gemm_fold_bound(setup, gemm) : 0,
        .tiles_a_side = side,
        .alignment_steps = gemm_alignment_steps(gemm, side),
        .drain_steps = gemm_drain_steps(gemm, side),
        .stepped = is_stepped(setup, gemm),
        .peak_cycles = macs / ((double)setup->columns * setup->rows) /
                       mesh_peak_macs_per_cycle(setup->spec, gemm->type),
        .kernel_cycles = kernel_cycles(setup, gemm),
    };
}

double mesh_gemm_padding(const MeshGemm *gemm, guint columns, guint rows) {
    guint side = tiles_a_side(columns, rows);
    double m = (double)tile_largest(gemm->m, rows) * rows;
    double n = (double)tile_largest(gemm->n, columns) * columns;
    double k = (double)tile_largest(gemm->k, side) * side;

    return m / (double)gemm->m * (n / (double)gemm->n) * (k / (double)gemm->k) - 1;
}

guint mesh_gemm_roundings(const MeshGemm *gemm, guint columns) {
    MeshReduce sums = {.kind = MESH_REDUCE_TREE, .k = MAX(gemm->k_tree, 1), .type = gemm->type};

    if (gemm->kind == MESH_GEMM_TRANSPOSED)
        return mesh_reduce_roundings(&sums, columns);
    return gemm->type == DATA_TYPE_FP32 ? 0 : 1;
}

static void return_from(GemmCore *core) {
    if (--core->run->running == 0)
        gemm_run_free(core->run);
}

static void stepped_body(MeshCore *mesh_core) {
    GemmCore *core = mesh_core->data;
    gboolean numbers = core->run->gemm->a != NULL;

    if (numbers)
        gemm_tiles_load(core);
    gemm_run_steps(core);
    if (numbers)
        gemm_tiles_store(core);
    gemm_tiles_clear(core);
    return_from(core);
}

static void forwarded_body(MeshCore *mesh_core) {
    GemmCore *core = mesh_core->data;

    engine_sleep_until(core->date);
    return_from(core);
}

static void start_stepped(Mesh *mesh, GemmRun *run) {
    for (guint i = 0; i < run->n_cores; i++) {
        MeshCore *core = mesh_nth_core(mesh, i);
        core->data = &run->cores[i];
        mesh_core_start(core, stepped_body);
    }
}

/* All dates are known: only the core that ends last has still to let the time pass. */
static void start_forwarded(Mesh *mesh, GemmRun *run) {
    guint last = 0;

    gemm_run_forward(run);
    for (guint i = 0; i < run->n_cores; i++) {
        mesh_nth_core(mesh, i)->end_cycles = run->cores[i].date;
        if (run->cores[i].date > run->cores[last].date)
            last = i;
    }
    run->running = 1;
    mesh_nth_core(mesh, last)->data = &run->cores[last];
    mesh_core_start(mesh_nth_core(mesh, last), forwarded_body);
}

gboolean mesh_gemm_start(Mesh *mesh, const MeshGemm *gemm, GError **error) {
    GemmRun *run = gemm_run_new(mesh, gemm, error);

    if (!run)
        return FALSE;
    if (is_stepped(run->setup, gemm) || engine_now() > 0)
        start_stepped(mesh, run);
    else
        start_forwarded(mesh, run);
    return TRUE;
}

struct MeshMultiplier {
    MeshGemm gemm;
    GemmRun *run;
};

MeshMultiplier *mesh_multiplier_new(Mesh *mesh, const MeshGemm *gemm, GError **error) {
    MeshMultiplier *multiplier = g_new0(MeshMultiplier, 1);

    g_assert(mesh_setup(mesh)->columns == mesh_setup(mesh)->rows);
    multiplier->gemm = *gemm;
    multiplier->gemm.a = multiplier->gemm.b = multiplier->gemm.c = NULL;
    multiplier->run = gemm_run_new(mesh, &multiplier->gemm, error);
    if (!multiplier->run)
        g_clear_pointer(&multiplier, g_free);
    return multiplier;
}

void mesh_multiplier_free(MeshMultiplier *multiplier) {
    if (!multiplier)
        return;
    gemm_run_free(multiplier->run);
    g_free(multiplier);
}

void mesh_multiplier_run(MeshMultiplier *multiplier, MeshCore *core, const float *a, const float *b,
                         float *c) {
    GemmCore *own = gemm_run_core(multiplier->run, core->x, core->y);

    own->tiles = (GemmTiles){a, b, c};
    gemm_run_steps(own);
    own->tiles = (GemmTiles){0};
}
