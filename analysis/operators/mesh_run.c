#include "analysis/operators/mesh_run.h"

#include "actors/mesh/mesh_alone.h"
#include "analysis/campaign/child.h"
#include "analysis/operators/mesh_numbers.h"
#include "policies/mesh/tiles.h"
#include "workloads/input_error.h"
#include <math.h>
#include <string.h>
#include <unistd.h>

#define VERIFY_SIDE_MAX 64
/* Of this machine, for a core that is an actor: its stack, its host and its four links. Some
 * 10,000 were measured on 64 × 64 and 96 × 96 cores, 13,300 on a whole wafer. */
#define FULL_CORE_BYTES 14000.0
const char *const mesh_operator_names[] = {
    "meshgemm", "cannon",        "summa",     "allgather-gemm", "dist-gemm-t",
    "meshgemv", "gemv-pipeline", "gemv-ring", "allreduce",      NULL};
const char *const mesh_routing_names[] = {"auto", "direct", "relay", NULL};

static const struct {
    MeshFamily family;
    guint least_side;      /* of the grid */
    MeshReduceKind reduce; /* GEMV */
} operators[N_MESH_OPERATORS] = {
    [MESH_OPERATOR_MESHGEMM] = {MESH_FAMILY_GEMM, 3, 0},
    [MESH_OPERATOR_CANNON] = {MESH_FAMILY_GEMM, 3, 0},
    [MESH_OPERATOR_SUMMA] = {MESH_FAMILY_GEMM, 3, 0},
    [MESH_OPERATOR_ALLGATHER] = {MESH_FAMILY_GEMM, 3, 0},
    [MESH_OPERATOR_TRANSPOSED] = {MESH_FAMILY_GEMM, 3, 0},
    [MESH_OPERATOR_MESHGEMV] = {MESH_FAMILY_GEMV, 2, MESH_REDUCE_TREE},
    [MESH_OPERATOR_GEMV_PIPELINE] = {MESH_FAMILY_GEMV, 2, MESH_REDUCE_FABRIC},
    [MESH_OPERATOR_GEMV_RING] = {MESH_FAMILY_GEMV, 3, MESH_REDUCE_RING},
    [MESH_OPERATOR_ALL_REDUCE] = {MESH_FAMILY_REDUCE, 2, 0},
};

MeshFamily mesh_operator_family(MeshOperator kind) {
    return operators[kind].family;
}

MeshReduceKind mesh_operator_reduce(const MeshRunSpec *spec) {
    return spec->kind == MESH_OPERATOR_ALL_REDUCE ? (MeshReduceKind)spec->algorithm
                                                  : operators[spec->kind].reduce;
}

/* --- before a run */

static gboolean refuse(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);
static gboolean refuse(GError **error, const char *format, ...) {
    va_list arguments;

    va_start(arguments, format);
    g_autofree char *message = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_set_error_literal(error, INPUT_ERROR, INPUT_ERROR_CONFLICT, message);
    return FALSE;
}

static gboolean grid_check(const MeshRunSpec *spec, const Platform *platform, GError **error) {
    const MeshSpec *mesh = &platform->mesh;
    MeshGrid grid = spec->grid;
    gboolean ring = spec->kind == MESH_OPERATOR_ALL_REDUCE && spec->algorithm == MESH_REDUCE_RING;
    guint least = ring ? 3 : operators[spec->kind].least_side;

    if (grid.columns > mesh->columns || grid.rows > mesh->rows)
        return refuse(error,
                      "--grid: %u × %u cores are more than the %" G_GUINT64_FORMAT
                      " × %" G_GUINT64_FORMAT " of '%s'",
                      grid.columns, grid.rows, mesh->columns, mesh->rows, platform->name);
    if (MIN(grid.columns, grid.rows) >= least)
        return TRUE;
    return refuse(error, "--grid: %s needs at least %u × %u cores, not %u × %u",
                  ring ? "the ring of allreduce" : mesh_operator_names[spec->kind], least, least,
                  grid.columns, grid.rows);
}

/* The length of the lines that K-trees are over; 0 where there are none. */
static guint tree_line(const MeshRunSpec *spec) {
    switch (spec->kind) {
    case MESH_OPERATOR_MESHGEMV:
        return spec->grid.rows;
    case MESH_OPERATOR_TRANSPOSED:
        return spec->grid.columns;
    case MESH_OPERATOR_ALL_REDUCE:
        return spec->algorithm == MESH_REDUCE_TREE ? spec->grid.columns : 0;
    default:
        return 0;
    }
}

guint mesh_run_most_levels(const MeshRunSpec *spec) {
    guint line = tree_line(spec);

    return line == 0 ? 0 : g_bit_storage(line) - 1;
}

static gboolean k_check(const MeshRunSpec *spec, GError **error) {
    guint most = mesh_run_most_levels(spec);

    if (most == 0 || (spec->k_tree >= 1 && spec->k_tree <= most))
        return TRUE;
    return refuse(error, "--k: must be from 1 to %u for lines of %u cores, not %" G_GUINT64_FORMAT,
                  most, tree_line(spec), spec->k_tree);
}

static gboolean numbers_check(const MeshRunSpec *spec, GError **error) {
    guint side = MAX(spec->grid.columns, spec->grid.rows);

    if (!spec->verify)
        return TRUE;
    if (!spec->full)
        return refuse(error, "--verify: numbers need every core, not a folded mesh");
    if (side > VERIFY_SIDE_MAX)
        return refuse(error, "--verify: numbers are computed on at most %d × %d cores, not %u × %u",
                      VERIFY_SIDE_MAX, VERIFY_SIDE_MAX, spec->grid.columns, spec->grid.rows);
    return mesh_numbers_possible(spec, error);
}

static gboolean memory_check(const MeshRunSpec *spec, GError **error) {
    double needed = FULL_CORE_BYTES * spec->grid.columns * spec->grid.rows;
    double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);

    if (!spec->full || needed <= memory)
        return TRUE;
    g_autofree char *needs = units_format_brief(needed, DIMENSION_BYTES);
    g_autofree char *has = units_format_brief(memory, DIMENSION_BYTES);
    return refuse(error, "--full: %u × %u cores take about %s, more than the %s of this machine",
                  spec->grid.columns, spec->grid.rows, needs, has);
}

gboolean mesh_run_check(const MeshRunSpec *spec, const Platform *platform, GError **error) {
    return grid_check(spec, platform, error) && k_check(spec, error) &&
           numbers_check(spec, error) && memory_check(spec, error);
}

/* --- in the child */

typedef struct Run {
    const MeshRunSpec *spec;
    MeshRunResult *result;
    MeshNumbers *numbers; /* NULL without */
    MeshSetup setup;
    MeshGemm gemm;
    MeshGemv gemv;
    MeshReduce reduce;
    gboolean relayed;
    GArray *events;   /* OperatorEvent */
    gboolean crowded; /* there were more than are kept */
} Run;

/* Cores of which a timeline has a lane each. */
static gboolean keeps_events(const MeshRunSpec *spec) {
    return spec->events && (guint64)spec->grid.columns * spec->grid.rows <= MESH_EVENTS_CORES_MAX;
}

static MeshGemm gemm_of(const Run *run) {
    const MeshRunSpec *spec = run->spec;
    MeshGemm gemm = {.kind = (MeshGemmKind)spec->kind,
                     .m = spec->m,
                     .k = spec->k,
                     .n = spec->n,
                     .type = spec->type,
                     .every_step = spec->every_step || spec->verify || keeps_events(spec),
                     .aligned = spec->aligned,
                     .relayed = run->relayed,
                     .k_tree = (guint)spec->k_tree};

    if (run->numbers != NULL)
        mesh_numbers_product(run->numbers, &gemm.a, &gemm.b, &gemm.c);
    return gemm;
}

static MeshGemv gemv_of(const Run *run) {
    const MeshRunSpec *spec = run->spec;
    MeshGemv gemv = {.k = spec->k,
                     .n = spec->n,
                     .type = spec->type,
                     .reduce = operators[spec->kind].reduce,
                     .k_tree = (guint)spec->k_tree,
                     .no_broadcast = spec->no_broadcast};

    if (run->numbers != NULL)
        mesh_numbers_product(run->numbers, &gemv.x, &gemv.b, &gemv.y);
    return gemv;
}

static MeshReduce reduce_of(const Run *run) {
    const MeshRunSpec *spec = run->spec;

    return (MeshReduce){.kind = (MeshReduceKind)spec->algorithm,
                        .k = (guint)spec->k_tree,
                        .no_broadcast = spec->no_broadcast,
                        .elements = spec->elements,
                        .type = spec->type,
                        .values = run->numbers == NULL ? NULL : mesh_numbers_vectors(run->numbers)};
}

static gboolean prepare(Mesh *mesh, gpointer data, GError **error) {
    Run *run = data;

    switch (operators[run->spec->kind].family) {
    case MESH_FAMILY_GEMM:
        return mesh_gemm_start(mesh, &run->gemm, error);
    case MESH_FAMILY_GEMV:
        return mesh_gemv_start(mesh, &run->gemv, error);
    default:
        return mesh_reduce_start(mesh, &run->reduce, error);
    }
}

static double gemv_padding(const MeshRunSpec *spec) {
    double k = (double)(tile_largest(spec->k, spec->grid.rows) * spec->grid.rows);
    double n = (double)(tile_largest(spec->n, spec->grid.columns) * spec->grid.columns);

    return k * n / ((double)spec->k * (double)spec->n) - 1;
}

static void describe(const Run *run, MeshRunResult *result) {
    const MeshRunSpec *spec = run->spec;
    MeshFamily family = operators[spec->kind].family;

    result->relayed = run->relayed;
    if (family == MESH_FAMILY_REDUCE)
        return;
    result->macs =
        (family == MESH_FAMILY_GEMM ? (double)spec->m : 1) * (double)spec->k * (double)spec->n;
    if (family == MESH_FAMILY_GEMV) {
        result->padding = gemv_padding(spec);
        return;
    }
    result->padding = mesh_gemm_padding(&run->gemm, spec->grid.columns, spec->grid.rows);
    result->gemm = mesh_gemm_info(&run->setup, &run->gemm);
}

static guint64 busiest_link(const Mesh *mesh, const MeshCore *core) {
    guint64 most = 0;

    for (guint side = 0; side < 4; side++)
        most = MAX(most, mesh_link_wavelets(mesh, core->x, core->y, side));
    return most;
}

static void keep_heat(Mesh *mesh, GArray *heat) {
    for (guint i = 0; i < mesh_n_cores(mesh); i++) {
        const MeshCore *core = mesh_nth_core(mesh, i);
        MeshCoreHeat kept = {core->x,
                             core->y,
                             core->compute_cycles,
                             core->communication_cycles,
                             core->wait_cycles,
                             busiest_link(mesh, core)};
        g_array_append_val(heat, kept);
    }
}

static void keep_stretch(gpointer data, const MeshStretch *stretch) {
    static const char *const labels[] = {[MESH_COMPUTING] = "compute",
                                         [MESH_COMMUNICATING] = "communicate",
                                         [MESH_WAITING] = "wait"};
    Run *run = data;
    const MeshCore *core = stretch->core;
    double cycle_s = 1 / run->setup.spec->clock_hz;
    OperatorEvent kept = {.lane = core->y * run->setup.columns + core->x,
                          .label = labels[stretch->activity],
                          .start_s = stretch->start_cycles * cycle_s,
                          .end_s = stretch->end_cycles * cycle_s};

    if (run->events->len < MESH_EVENTS_MAX)
        g_array_append_val(run->events, kept);
    else
        run->crowded = TRUE;
}

/* What a child hands back ahead of its arrays. */
typedef struct Reply {
    MeshRunResult result;
    gboolean needs_relay; /* nothing was run: direct paths do not suffice */
    guint n_heat, n_events;
} Reply;

static gboolean simulate(Run *run, GArray *heat, GError **error) {
    g_autoptr(Mesh) mesh = mesh_alone_run(&run->setup, prepare, run, error);

    if (mesh == NULL)
        return FALSE;
    run->result->totals = mesh_totals(mesh);
    run->result->cores = mesh_n_cores(mesh);
    describe(run, run->result);
    if (run->spec->heat)
        keep_heat(mesh, heat);
    if (run->numbers != NULL)
        run->result->check = mesh_numbers_check(run->numbers);
    return TRUE;
}

static gboolean broadcasts(const MeshRunSpec *spec) {
    return spec->kind == MESH_OPERATOR_SUMMA || spec->kind == MESH_OPERATOR_ALLGATHER;
}

typedef struct Batch {
    const MeshRunSpec *specs;
    const Platform *platform;
    MeshRunResult *results; /* of the caller */
    gsize *index;           /* of jobs among the specs */
    gsize *again, n_again;  /* those to run once more, relayed */
    gboolean relayed;
} Batch;

static Run run_new(const Batch *batch, const MeshRunSpec *spec) {
    return (Run){.spec = spec,
                 .setup = {.spec = &batch->platform->mesh,
                           .columns = spec->grid.columns,
                           .rows = spec->grid.rows,
                           .folded = !spec->full,
                           .unlimited = spec->unlimited,
                           .algorithm = mesh_operator_names[spec->kind],
                           .cycle_s = 1},
                 .relayed =
                     broadcasts(spec) && (batch->relayed || spec->routing == MESH_ROUTING_RELAY)};
}

static void reply_append(GByteArray *bytes, const Reply *reply, const GArray *heat,
                         const GArray *events) {
    g_byte_array_append(bytes, (const guint8 *)reply, sizeof *reply);
    g_byte_array_append(bytes, (const guint8 *)heat->data, heat->len * (guint)sizeof(MeshCoreHeat));
    g_byte_array_append(bytes, (const guint8 *)events->data,
                        events->len * (guint)sizeof(OperatorEvent));
}

static gboolean work(gpointer data, gsize job, GByteArray *bytes, GError **error) {
    const Batch *batch = data;
    const MeshRunSpec *spec = &batch->specs[batch->index[job]];
    g_autoptr(GArray) heat = g_array_new(FALSE, FALSE, sizeof(MeshCoreHeat));
    g_autoptr(GArray) events = g_array_new(FALSE, FALSE, sizeof(OperatorEvent));
    g_autoptr(MeshNumbers) numbers = spec->verify ? mesh_numbers_new(spec) : NULL;
    g_autoptr(GError) failure = NULL;
    Reply reply = {0};
    Run run = run_new(batch, spec);

    run.result = &reply.result;
    run.numbers = numbers;
    run.events = events;
    if (keeps_events(spec)) {
        run.setup.listener = keep_stretch;
        run.setup.listener_data = &run;
    }
    run.gemm = gemm_of(&run);
    run.gemv = gemv_of(&run);
    run.reduce = reduce_of(&run);
    if (!simulate(&run, heat, &failure)) {
        reply.needs_relay = broadcasts(spec) && spec->routing == MESH_ROUTING_AUTO &&
                            !batch->relayed && failure->domain == INPUT_ERROR;
        if (!reply.needs_relay) {
            g_propagate_error(error, g_steal_pointer(&failure));
            return FALSE;
        }
    }
    reply.n_heat = heat->len;
    if (run.crowded)
        g_array_set_size(events, 0);
    reply.n_events = events->len;
    reply_append(bytes, &reply, heat, events);
    return TRUE;
}

/* --- in the caller's process */

static GArray *array_read(const GByteArray *bytes, gsize *at, guint n, guint element_bytes) {
    if (n == 0)
        return NULL;
    GArray *array = g_array_new(FALSE, TRUE, element_bytes);
    g_array_set_size(array, n);
    child_reply_read(bytes, at, array->data, (gsize)n * element_bytes);
    return array;
}

static gboolean take(gpointer data, gsize job, const GByteArray *bytes, GError **error) {
    Batch *batch = data;
    MeshRunResult *result = &batch->results[batch->index[job]];
    gsize at = 0;
    Reply reply;

    if (!child_reply_read(bytes, &at, &reply, sizeof reply)) {
        g_set_error_literal(error, G_FILE_ERROR, G_FILE_ERROR_FAILED,
                            "a simulation did not say what it found");
        return FALSE;
    }
    if (reply.needs_relay) {
        batch->again[batch->n_again++] = batch->index[job];
        return TRUE;
    }
    *result = reply.result;
    result->heat = array_read(bytes, &at, reply.n_heat, sizeof(MeshCoreHeat));
    result->events = array_read(bytes, &at, reply.n_events, sizeof(OperatorEvent));
    return TRUE;
}

static int compare_index(gconstpointer a, gconstpointer b) {
    const gsize *left = a, *right = b;

    return *left < *right ? -1 : *left > *right;
}

void mesh_run_result_clear(MeshRunResult *result) {
    g_clear_pointer(&result->heat, g_array_unref);
    g_clear_pointer(&result->events, g_array_unref);
}

/* First all as they are, then those once more whose direct paths a core could not tell apart. */
gboolean mesh_run_all(const MeshRunSpec *specs, gsize n, const Platform *platform,
                      MeshRunResult *results, GError **error) {
    g_autofree gsize *index = g_new(gsize, n), *again = g_new(gsize, n);
    Batch batch = {specs, platform, results, index, again, 0, FALSE};
    ChildJobs jobs = {.n = n, .data = &batch, .work = work, .take = take};

    memset(results, 0, n * sizeof *results);
    for (gsize i = 0; i < n; i++)
        index[i] = i;
    gboolean ran = child_run_all(&jobs, error);
    if (ran && batch.n_again > 0) {
        qsort(again, batch.n_again, sizeof *again, compare_index);
        batch.index = again;
        batch.relayed = TRUE;
        jobs.n = batch.n_again;
        ran = child_run_all(&jobs, error);
    }
    if (ran)
        return TRUE;
    for (gsize i = 0; i < n; i++)
        mesh_run_result_clear(&results[i]);
    return FALSE;
}
