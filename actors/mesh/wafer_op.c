#include "actors/mesh/wafer_op.h"

#include "actors/mesh/mesh_alone.h"
#include "actors/mesh/mesh_gemm.h"
#include "actors/mesh/mesh_reduce.h"
#include "policies/mesh/tiles.h"
#include "workloads/random.h"
#include <math.h>

#define EXCHANGE_SEED 1

/* An operator under way in its own engine. */
typedef struct Run {
    const WaferOp *op;
    DataType type;
    const MeshSpec *spec;
    MeshReduce reduce;
    MeshGemm gemm;
    double phase_cycles; /* of each of 'phases' */
    guint phases;
} Run;

gboolean wafer_op_needs_engine(const WaferOp *op) {
    return op->kind != WAFER_LOCAL_GEMV && op->kind != WAFER_LOCAL_GEMM &&
           op->kind != WAFER_SOFTWARE;
}

/* The kernels of a compute-shift loop: K · Nt vector operations along the token tile (WaferLLM
 * 5.3), the tiles of k adding up to all of it over the steps. Where the grid is not square a core
 * has several tiles of a step. */
static double local_gemm_cycles(const Run *run) {
    const WaferOp *op = run->op;
    guint parts = op->steps / op->rows; /* tiles of m on a core */
    guint64 m = tile_largest(op->m, op->rows), larger = m % parts;
    double vectors =
        (double)(parts - larger) * mesh_vector_cycles(run->spec, run->type, m / parts) +
        (double)larger * mesh_vector_cycles(run->spec, run->type, m / parts + 1);

    return (double)op->k * (double)tile_largest(op->n, op->columns) * vectors +
           op->steps * run->spec->step_cycles;
}

static double local_cycles(const Run *run) {
    const WaferOp *op = run->op;

    if (op->kind == WAFER_SOFTWARE)
        return run->spec->layer_cycles;
    if (op->kind == WAFER_LOCAL_GEMM)
        return local_gemm_cycles(run);
    return mesh_gemv_cycles(run->spec, run->type, op->k, op->n);
}

MeshPhaseCounts wafer_op_exchange(guint columns, guint rows, guint64 wavelets) {
    g_autoptr(MeshPhase) phase = mesh_phase_new(columns, rows);
    RandomStream stream = random_stream(EXCHANGE_SEED, "tile exchange");
    guint n = columns * rows;
    g_autofree guint *partners = g_new(guint, n);

    for (guint i = 0; i < n; i++)
        partners[i] = i;
    for (guint i = n - 1; i > 0; i--) { /* Sattolo's: one cycle, so nobody is its own partner */
        guint j = (guint)random_below(&stream, i), partner = partners[j];
        partners[j] = partners[i];
        partners[i] = partner;
    }
    for (guint i = 0; i < n; i++)
        mesh_phase_send(phase, (MeshPlace){i % columns, i / columns},
                        (MeshPlace){partners[i] % columns, partners[i] / columns}, wavelets);
    return mesh_phase_counts(phase);
}

double wafer_op_read_cycles(guint columns, const MeshSpec *spec) {
    g_autoptr(MeshPhase) row = mesh_phase_new(columns, 1);
    guint64 slowest = 0;

    for (guint reader = 0; reader < columns; reader++) {
        guint64 hops = 0;
        for (guint owner = 0; owner < columns; owner++) {
            mesh_phase_send(row, (MeshPlace){reader, 0}, (MeshPlace){owner, 0}, 1);
            mesh_phase_send(row, (MeshPlace){owner, 0}, (MeshPlace){reader, 0}, 1);
            hops += 2 * (guint64)(MAX(reader, owner) - MIN(reader, owner));
        }
        slowest = MAX(slowest, hops);
    }
    double waits = (double)slowest * spec->hop_cycles;
    double link = (double)mesh_phase_counts(row).link_wavelets;
    return MAX(waits, link) / columns;
}

double wafer_op_wavelets(const MeshSpec *spec, double bytes) {
    return ceil(bytes / (double)spec->wavelet_bytes);
}

double wafer_op_crossing_cycles(guint columns, guint64 wavelets, const MeshSpec *spec) {
    MeshPhaseCounts turned = {.link_wavelets = columns * wavelets, .hops = columns};
    MeshPhaseCounts straight = {.link_wavelets = wavelets, .hops = 1};

    return mesh_phase_cycles(&turned, spec, FALSE) - mesh_phase_cycles(&straight, spec, FALSE);
}

double wafer_op_turn_cycles(const WaferOp *op, DataType type, const MeshSpec *spec) {
    if (op->kind == WAFER_ALL_TO_ALL)
        return wafer_op_crossing_cycles(op->columns, mesh_wavelets(spec, type, op->link_elements),
                                        spec);
    if (op->kind != WAFER_ALL_REDUCE || !op->along_y)
        return 0;
    guint crossings = MAX(op->k_tree, 1) + 1;
    return crossings *
           wafer_op_crossing_cycles(op->columns, mesh_wavelets(spec, type, op->n), spec);
}

/* Tiles of A, then tiles of B: every core relays, store and forward. */
static void set_exchange(Run *run) {
    const WaferOp *op = run->op;
    guint64 a_wavelets = (guint64)wafer_op_wavelets(run->spec, op->a_bytes);
    guint64 b_wavelets = (guint64)wafer_op_wavelets(run->spec, op->b_bytes);
    MeshPhaseCounts a = wafer_op_exchange(op->columns, op->rows, a_wavelets);
    MeshPhaseCounts b = wafer_op_exchange(op->columns, op->rows, b_wavelets);

    run->phase_cycles =
        mesh_phase_cycles(&a, run->spec, TRUE) + mesh_phase_cycles(&b, run->spec, TRUE);
    run->phases = op->steps;
}

/* Multicasts along columns: the busiest link, and from end to end. */
static void set_all_to_all(Run *run) {
    const WaferOp *op = run->op;
    MeshPhaseCounts counts = {.link_wavelets =
                                  mesh_wavelets(run->spec, run->type, op->link_elements),
                              .hops = op->rows - 1};

    run->phase_cycles = mesh_phase_cycles(&counts, run->spec, FALSE);
    run->phases = 1;
}

static void set_loads(Run *run) {
    run->phase_cycles = (double)run->op->loads * wafer_op_read_cycles(run->op->columns, run->spec);
    run->phases = 1;
}

static void pass_phases(MeshCore *core) {
    const Run *run = core->data;

    for (guint i = 0; i < run->phases; i++)
        mesh_compute(core, run->phase_cycles);
}

static gboolean prepare_phases(Mesh *mesh, gpointer data, GError **error) {
    MeshCore *core = mesh_core(mesh, 0, 0);

    (void)error;
    core->data = data;
    mesh_core_start(core, pass_phases);
    return TRUE;
}

static gboolean prepare_reduce(Mesh *mesh, gpointer data, GError **error) {
    return mesh_reduce_start(mesh, &((Run *)data)->reduce, error);
}

static gboolean prepare_gemm(Mesh *mesh, gpointer data, GError **error) {
    return mesh_gemm_start(mesh, &((Run *)data)->gemm, error);
}

typedef gboolean (*Prepare)(Mesh *mesh, gpointer data, GError **error);

static double alone(Run *run, MeshSetup setup, Prepare prepare, GError **error) {
    setup.spec = run->spec;
    setup.unlimited = TRUE; /* whether a plan fits the cores is asked before */
    setup.algorithm = run->op->name;
    g_autoptr(Mesh) mesh = mesh_alone_run(&setup, prepare, run, error);

    return mesh == NULL ? -1 : mesh_totals(mesh).cycles;
}

/* All lines at once and alike: one of them. */
static double reduce_cycles(Run *run, GError **error) {
    const WaferOp *op = run->op;
    guint length = op->along_y ? op->rows : op->columns;

    run->reduce = (MeshReduce){.kind = op->k_tree > 0 ? MESH_REDUCE_TREE : MESH_REDUCE_PIPELINE,
                               .k = op->k_tree,
                               .elements = op->n,
                               .type = run->type};
    return alone(run, (MeshSetup){.columns = length, .rows = 1}, prepare_reduce, error);
}

/* The sums of a transposed loop go to the middle from both ends whatever the plan's K: a step's
 * overlap with the next one's kernels, so a deeper tree saves little, and its levels would meet on
 * links, which takes a simulation of every message. */
static double gemm_cycles(Run *run, GError **error) {
    const WaferOp *op = run->op;
    MeshGemmKind kind = op->transposed ? MESH_GEMM_TRANSPOSED : MESH_GEMM_INTERLEAVED;
    MeshSetup setup = {.columns = op->columns, .rows = op->rows, .folded = TRUE};

    run->gemm = (MeshGemm){.kind = kind,
                           .m = op->m,
                           .k = op->k,
                           .n = op->n,
                           .type = run->type,
                           .aligned = TRUE};       /* sums by chains: only these fast-forward */
    return alone(run, setup, prepare_gemm, error); /* step_cycles are among its steps */
}

static double phases_cycles(Run *run, GError **error) {
    static void (*const sets[N_WAFER_OP_KINDS])(Run * run) = {
        [WAFER_TILE_EXCHANGE] = set_exchange,
        [WAFER_REMOTE_LOADS] = set_loads,
        [WAFER_ALL_TO_ALL] = set_all_to_all,
    };

    sets[run->op->kind](run);
    return alone(run, (MeshSetup){.columns = 1, .rows = 1}, prepare_phases, error);
}

double wafer_op_run(const WaferOp *op, DataType type, const MeshSpec *spec, GError **error) {
    /* BF16 goes through the same vector unit at the same pace (VectorSpec). */
    Run run = {.op = op, .type = type == DATA_TYPE_BF16 ? DATA_TYPE_FP16 : type, .spec = spec};

    if (!wafer_op_needs_engine(op))
        return local_cycles(&run);
    if (op->kind == WAFER_ALL_REDUCE)
        return reduce_cycles(&run, error);
    if (op->kind == WAFER_GEMM_LOOP)
        return gemm_cycles(&run, error);
    return phases_cycles(&run, error);
}
